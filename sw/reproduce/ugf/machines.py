"""One program on the CPU and on the GPU: table 6.4."""

import math

from ..outcome import Comparison, Outcome, Plot, Table, geometric_mean, number, ratio, times
from ..paper import Figure
from ..setting import where
from . import published
from .runs import absence, arcs_of, cpu, cuda, directed, is_road, least


__all__ = ["CpuAndGpu", "not_run"]


#: The device's schedules, of which the fastest counts.
_SCHEDULES = ("vm", "em", "etwc", "weaver")

#: The schedules of the GraphVM cuda.
_OF_CUDA = ("vertex_based", "wm", "etwc", "edge_only")


def not_run():
    """A sentence about the GraphVM cuda, for figures that have it; None where it runs."""
    reason = absence()
    return None if reason is None else f"The GraphVM cuda was not run here: {reason}."


class CpuAndGpu(Figure):
    """Table 6.4."""
    name = "table6.4"
    title = "one program on the CPU, on the device and on a GPU"
    source = "table 6.4, section 6.3"
    method = ("The GraphVM cpu on all threads of this computer, by wall time without the vectors' "
              "first words, the least of several runs; the device under the fastest of "
              f"{', '.join(_SCHEDULES)}, in cycles, with one iteration of PageRank; the GraphVM "
              "cuda, where a GPU answers, on larger graphs, under the fastest of "
              f"{', '.join(_OF_CUDA)}. SSSP has the fastest of three widths of its queue's steps. "
              "The clock at which the device takes as long as the CPU is cycles over seconds, for "
              "as many arcs. The thesis has milliseconds of delta-stepping.")

    @staticmethod
    def _device(choice, algorithm):
        found = {}
        for schedule in _SCHEDULES:
            for choices in ({}, {"delta": "auto"}) if algorithm == "sssp" else ({},):
                runs = directed(choice, algorithm, schedule, **choices)
                found |= {" ".join([text, *["delta"] * bool(choices)]): case
                          for text, case in runs.items()}
        return found

    def cases(self, setting):
        found = []
        for algorithm in published.ALGORITHMS:
            for choice in setting.crossed:
                found += [*self._device(choice, algorithm).values(),
                          cpu(setting, choice, algorithm)]
            if absence() is None:
                for choice in setting.timed:
                    found += [cpu(setting, choice, algorithm),
                              cuda(setting, choice, algorithm, _OF_CUDA)]
        return found

    def outcome(self, setting, results):
        rows, data, clocks = [], {}, {}
        for algorithm, short in published.ALGORITHMS.items():
            for choice in setting.crossed:
                case = cpu(setting, choice, algorithm)
                refused = results.value(case, "refused")
                way, seconds = least(results, case)
                arcs = arcs_of(results, case, algorithm)
                runs = self._device(choice, algorithm)
                plan, cycles = results.best(runs)
                if refused:
                    seconds = arcs = cycles = math.nan
                one = results.value(case, "arcs") if not refused else math.nan
                clock = ratio(ratio(cycles, one), ratio(seconds, arcs))
                clocks[algorithm, choice] = clock
                rows.append((f"{short} {choice.label}", _milliseconds(seconds),
                             _millions(ratio(arcs, seconds)), number(cycles), plan or "",
                             _decimal(ratio(cycles, one)), _millions(clock)))
                data.setdefault(algorithm, {})[choice.label] = {
                    "cpu way": way, "seconds": seconds, "arcs": arcs, "cycles": cycles,
                    "plan": plan, "clock": clock}
        tables = [Table("The CPU, and the device", (
            "", "CPU, ms", "million arcs a second", "device, cycles", "its plan", "cycles an arc",
            "clock of equal time, MHz"), tuple(rows))]
        comparisons = [Comparison(
            "SSSP: the device's time over the CPU's, roads over power laws",
            times(self._theirs()), times(ratio(*(geometric_mean(
                clock for (algorithm, choice), clock in clocks.items()
                if algorithm == "sssp" and is_road(choice) == road) for road in (True, False)))))]
        notes = [where(setting)]
        if absence() is None:
            table, comparison, more = self._with_cuda(setting, results)
            tables.append(table)
            comparisons.append(comparison)
            data["cuda"] = more
        else:
            notes.append(not_run())
        names = tuple(row[0] for row in rows)
        plot = Plot("the device beside the CPU", "clock of equal time, MHz", names, {
            "device": tuple(value and value / 1e6 for value in clocks.values())})
        return Outcome(tuple(tables), (plot,), tuple(comparisons), data, tuple(notes))

    @staticmethod
    def _theirs():
        def share(graphs):
            return geometric_mean(published.BOTH[graph][1] / published.BOTH[graph][0]
                                  for graph in graphs)
        roads = [graph for graph in published.BOTH if graph in published.ROADS]
        return share(roads) / share([graph for graph in published.BOTH if graph not in roads])

    @staticmethod
    def _with_cuda(setting, results):
        rows, data, shares = [], {}, {}
        for algorithm, short in published.ALGORITHMS.items():
            for choice in setting.timed:
                case, other = cpu(setting, choice, algorithm), cuda(setting, choice, algorithm,
                                                                    _OF_CUDA)
                _, seconds = least(results, case)
                way, its = least(results, other)
                arcs = arcs_of(results, case, algorithm)
                if results.value(case, "refused"):
                    seconds = its = arcs = math.nan
                shares[algorithm, choice] = share = ratio(its, seconds)
                rows.append((f"{short} {choice.label}", _milliseconds(seconds),
                             _millions(ratio(arcs, seconds)), _milliseconds(its), way or "",
                             _millions(ratio(arcs, its)), times(ratio(seconds, its))))
                data.setdefault(algorithm, {})[choice.label] = {
                    "cpu": seconds, "cuda": its, "arcs": arcs, "way": way, "cuda over cpu": share}
        table = Table("The CPU, and the GPU of the GraphVM cuda", (
            "", "CPU, ms", "million arcs a second", "GPU, ms", "its schedule",
            "million arcs a second", "CPU over GPU"), tuple(rows))
        comparison = Comparison(
            "SSSP: the GPU's time over the CPU's, roads over power laws",
            times(CpuAndGpu._theirs()), times(ratio(*(geometric_mean(
                share for (algorithm, choice), share in shares.items()
                if algorithm == "sssp" and is_road(choice) == road) for road in (True, False)))))
        return table, comparison, data


def _shown(value, text):
    if value is None:
        return number(None)
    return "-" if math.isnan(value) else text(value)


def _milliseconds(value):
    return _shown(value, lambda value: f"{value * 1e3:.3f}")


def _millions(value):
    return _shown(value, lambda value: f"{value / 1e6:,.1f}")


def _decimal(value):
    return _shown(value, lambda value: f"{value:.2f}")
