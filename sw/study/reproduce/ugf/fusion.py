"""Kernel fusion: sections 5.2.1 and 6.1."""

from hw.control import launch_cycles
from sw.study.benchmarks.grid import Grid

from ..outcome import Comparison, Outcome, Plot, by_rows, number, ratio, times
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

    def grid(self, setting):
        return Grid({"algorithm": _ALGORITHMS, "graph": setting.crossed, "fused": (False, True)},
                    lambda algorithm, choice, fused: device(
                        choice, algorithm, schedule=_BALANCE, direction="push", fusion=fused))

    def further(self, setting):
        return {} if absence() is not None else {
            "timed": Grid({"algorithm": _ALGORITHMS, "graph": setting.timed},
                          lambda algorithm, choice: program_times(
                              setting, choice, "cuda", algorithm, {
                                  **balanced(algorithm, (_BALANCE,), ("push",)),
                                  **balanced(algorithm, (_BALANCE,), ("push",), fused=True)}))}

    def results(self, setting, found, timed=None):
        rows, data, port = [], {}, launch_cycles(setting.config)
        cycles, launches = found.cycles, found.value("orders")
        totals = found.of(total, setting.config)
        gains = totals.at(fused=False) / totals.at(fused=True)
        costly = {}
        for cost in _LAUNCHES:
            whole = found.of(lambda records, case, cost=cost: records[case].get("cycles") and (
                records[case]["cycles"] + cost * records[case]["orders"]))
            costly[str(cost)] = whole.at(fused=False) / whole.at(fused=True)
        for (algorithm, choice), gain in gains.items():
            place = {"algorithm": algorithm, "graph": choice}
            both, orders = (list(cube.at(**place)) for cube in (cycles, launches))
            more = {cost: each.at(**place) for cost, each in costly.items()}
            name = _name(algorithm, choice)
            rows.append((name, list(map(number, (*both, *orders))), times(gain),
                         list(map(times, more.values()))))
            data[name] = {"cycles": both, "launches": orders, "port": port, "gain": gain, **more}
        tables = [by_rows("Cycles of kernels, launches, and the gain of fusion", (
            "", "cycles", "fused", "launches", "fused",
            f"gain, {port} cycles a launch", *(f"{cost:,} cycles" for cost in _LAUNCHES)), rows)]
        roads = [value for (algorithm, choice), value in gains.items()
                 if algorithm == "sssp" and is_road(choice) and value is not None]
        comparisons = (Comparison(
            "SSSP on roads: without fusion, of the time with fusion",
            ", ".join(f"{name} up to {factor}x" for name, factor in published.FUSION.items()),
            times(max(roads, default=None))),)
        notes = [where(setting)]
        if timed is not None:
            table, data["cuda"] = self._with_cuda(timed)
            tables.append(table)
        else:
            notes.append(not_run())
        plot = Plot("kernel fusion", "speedup", tuple(row[0] for row in rows), {
            "cycles of launches as at the host port": tuple(gains)}, reference=1.0)
        return Outcome(tables, (plot,), comparisons, data, notes)

    @staticmethod
    def _with_cuda(found):
        rows, data = [], {}
        plain = found.of(least, lambda text: "fused" not in text)
        for (algorithm, choice), (way, fused) in found.of(
                least, lambda text: "fused" in text).items():
            name, (_, whole) = _name(algorithm, choice), plain.at(algorithm=algorithm, graph=choice)
            rows.append((name, seconds_text(whole), seconds_text(fused), way or "",
                         times(ratio(whole, fused))))
            data[name] = {"plain": whole, "fused": fused}
        return by_rows("The GraphVM cuda, in milliseconds", ("", "without", "fused", "its way",
                                                             "gain"), rows), data


def _name(algorithm, choice):
    return f"{published.ALGORITHMS[algorithm]} {choice.label}"
