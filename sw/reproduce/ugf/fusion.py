"""Kernel fusion: sections 5.2.1 and 6.1."""

from hw.control import launch_cycles

from ..outcome import Comparison, Outcome, Plot, Table, number, ratio, times
from ..paper import Figure
from ..setting import where
from . import published
from .runs import (absence, balanced, device, is_road, least, not_run, program_times, seconds_text,
                   total)


__all__ = ["KernelFusion"]


#: The algorithms that table A.1 fuses, and CC, which has no host work between its operators either.
_ALGORITHMS = ("bfs", "sssp", "cc")

_BALANCE = "etwc"

#: The cycles of a launch by which totals are shown, beside those of the host port. A GPU's launch
#: takes some 5 microseconds.
_LAUNCHES = (1000, 5000)


class KernelFusion(Figure):
    """Kernel fusion, which the thesis has in its text."""
    name = "sec6.1"
    title = "loops with and without kernel fusion"
    source = "sections 2.5, 5.2.1 and 6.1"
    method = ("BFS, SSSP without delta and CC under etwc, pushing, each with one launch for all "
              "supersteps and with several for each. Totals are the kernels' cycles and, for each "
              "launch, those of the host port, 1,000 or 5,000. On the GraphVM cuda, where a GPU "
              "answers, milliseconds of both, with the fastest of three widths of SSSP's steps. "
              "The thesis has frameworks that do not fuse beside UGF, and no UGF without fusion.")

    @staticmethod
    def _runs(choice, algorithm):
        """{whether loops are fused: case}."""
        return {fused: device(choice, algorithm, schedule=_BALANCE, direction="push", fusion=fused)
                for fused in (False, True)}

    @staticmethod
    def _of_cuda(setting, choice, algorithm):
        return program_times(setting, choice, "cuda", algorithm, {
            **balanced(algorithm, (_BALANCE,), ("push",)),
            **balanced(algorithm, (_BALANCE,), ("push",), fused=True)})

    def cases(self, setting):
        found = [case for algorithm in _ALGORITHMS for choice in setting.crossed
                 for case in self._runs(choice, algorithm).values()]
        if absence() is None:
            found += [self._of_cuda(setting, choice, algorithm) for algorithm in _ALGORITHMS
                      for choice in setting.timed]
        return found

    def outcome(self, setting, results):
        rows, data, gains = [], {}, {}
        port = launch_cycles(setting.config)
        for algorithm in _ALGORITHMS:
            for choice in setting.crossed:
                runs = self._runs(choice, algorithm)
                cycles = [results.cycles(case) for case in runs.values()]
                orders = [results.value(case, "orders") for case in runs.values()]
                totals = [total(results, case, setting.config) for case in runs.values()]
                costly = [ratio(*(None if value is None else value + cost * launches
                                  for value, launches in zip(cycles, orders)))
                          for cost in _LAUNCHES]
                gains[algorithm, choice] = ratio(*totals)
                name = f"{published.ALGORITHMS[algorithm]} {choice.label}"
                rows.append((name, *map(number, (*cycles, *orders)), times(ratio(*totals)),
                             *map(times, costly)))
                data[name] = {"cycles": cycles, "launches": orders, "port": port,
                              "gain": gains[algorithm, choice],
                              **dict(zip(map(str, _LAUNCHES), costly))}
        tables = [Table("Cycles of kernels, launches, and the gain of fusion", (
            "", "cycles", "fused", "launches", "fused",
            f"gain, {port} cycles a launch", *(f"{cost:,} cycles" for cost in _LAUNCHES)),
            tuple(rows))]
        roads = [value for (algorithm, choice), value in gains.items()
                 if algorithm == "sssp" and is_road(choice) and value is not None]
        comparisons = [Comparison(
            "SSSP on roads: without fusion, of the time with fusion",
            ", ".join(f"{name} up to {factor}x" for name, factor in published.FUSION.items()),
            times(max(roads, default=None)))]
        notes = [where(setting)]
        if absence() is None:
            table, data["cuda"] = self._with_cuda(setting, results)
            tables.append(table)
        else:
            notes.append(not_run())
        plot = Plot("kernel fusion", "speedup", tuple(row[0] for row in rows), {
            "cycles of launches as at the host port": tuple(gains.values())}, reference=1.0)
        return Outcome(tuple(tables), (plot,), tuple(comparisons), data, tuple(notes))

    def _with_cuda(self, setting, results):
        rows, data = [], {}
        for algorithm in _ALGORITHMS:
            for choice in setting.timed:
                case = self._of_cuda(setting, choice, algorithm)
                _, plain = least(results, case, lambda text: "fused" not in text)
                way, fused = least(results, case, lambda text: "fused" in text)
                name = f"{published.ALGORITHMS[algorithm]} {choice.label}"
                rows.append((name, seconds_text(plain), seconds_text(fused), way or "",
                             times(ratio(plain, fused))))
                data[name] = {"plain": plain, "fused": fused}
        return Table("The GraphVM cuda, in milliseconds", ("", "without", "fused", "its way",
                                                           "gain"), tuple(rows)), data
