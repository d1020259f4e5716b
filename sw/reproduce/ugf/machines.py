"""One program on the CPU and on the GPU: table 6.4."""

import math

from ..outcome import Comparison, Outcome, Plot, Table, geometric_mean, number, ratio, times
from ..paper import Figure
from ..setting import where
from . import published
from .runs import (absence, arcs_of, balanced, best, cpu, directed, is_road, least, millions,
                   not_run, program_times, seconds_text, shown)


__all__ = ["CpuAndGpu"]


#: The device's schedules, of which the fastest counts.
_SCHEDULES = ("vm", "em", "etwc", "weaver")

#: The ways of the GraphVM cuda to balance the load, of which the fastest counts.
_OF_CUDA = ("vertex_based", "wm", "cm", "strict", "twc", "etwc", "edge_only")


def _of_device(choice, algorithm):
    """{text: run}: the device's schedules in all directions, for SSSP also near before far."""
    found = {}
    for schedule in _SCHEDULES:
        found |= directed(choice, algorithm, schedule)
        if algorithm == "sssp":
            near = directed(choice, algorithm, schedule, delta="auto")
            found |= {f"{text} delta": case for text, case in near.items()}
    return found


def _of_cuda(setting, choice, algorithm):
    ways = balanced(algorithm, _OF_CUDA)
    if algorithm != "pagerank":
        ways |= balanced(algorithm, ("etwc",), ("push",), fused=True)
    return program_times(setting, choice, "cuda", algorithm, ways)


def _over_power_laws(shares):
    """Mean over roads, of the mean over the other graphs: of {graph or choice: (road, value)}."""
    return ratio(*(geometric_mean(value for is_one, value in shares if is_one == road)
                   for road in (True, False)))


class CpuAndGpu(Figure):
    """Table 6.4."""
    name = "table6.4"
    title = "one program on the CPU, on the device and on a GPU"
    source = "table 6.4, section 6.3"
    method = ("The GraphVM cpu on all threads of this computer, by wall time without the vectors' "
              "first words, the least of several runs; the device under the fastest of "
              f"{', '.join(_SCHEDULES)}, in cycles, with one iteration of PageRank; the GraphVM "
              "cuda, where a GPU answers, on larger graphs, under the fastest of "
              f"{', '.join(_OF_CUDA)} and of ETWC with fused loops. SSSP has the fastest of three "
              "widths of its queue's steps. The clock of equal time is the cycles of an arc over "
              "its seconds on the CPU. The thesis has milliseconds of delta-stepping.")

    def cases(self, setting):
        found = []
        for algorithm in published.ALGORITHMS:
            for choice in setting.crossed:
                found += [*_of_device(choice, algorithm).values(), cpu(setting, choice, algorithm)]
            if absence() is None:
                for choice in setting.timed:
                    found += [cpu(setting, choice, algorithm), _of_cuda(setting, choice, algorithm)]
        return found

    def outcome(self, setting, results):
        rows, data, clocks = [], {}, {}
        for algorithm, short in published.ALGORITHMS.items():
            for choice in setting.crossed:
                case = cpu(setting, choice, algorithm)
                way, seconds = least(results, case)
                plan, cycles = best(results, _of_device(choice, algorithm), setting.config)
                arcs, one = arcs_of(results, case, algorithm), results.value(case, "arcs")
                if results.value(case, "refused"):
                    seconds = arcs = one = math.nan
                clock = ratio(ratio(cycles, one), ratio(seconds, arcs))
                clocks[algorithm, choice] = clock
                rows.append((f"{short} {choice.label}", seconds_text(seconds),
                             millions(ratio(arcs, seconds)), number(cycles), plan or "",
                             shown(ratio(cycles, one), 2), millions(clock)))
                data.setdefault(algorithm, {})[choice.label] = {
                    "cpu way": way, "seconds": seconds, "arcs": arcs, "cycles": cycles,
                    "plan": plan, "clock": clock}
        tables = [Table("The CPU, and the device", (
            "", "CPU, ms", "million arcs a second", "device, cycles", "its plan", "cycles an arc",
            "clock of equal time, MHz"), tuple(rows))]
        theirs = _over_power_laws([(graph in published.ROADS, gpu / its)
                                   for graph, (its, gpu, _) in published.BOTH.items()])
        comparisons = [Comparison(
            "SSSP: the device's time over the CPU's, roads over power laws", times(theirs),
            times(_over_power_laws([(is_road(choice), clock) for (algorithm, choice), clock
                                    in clocks.items() if algorithm == "sssp"])))]
        notes = [where(setting)]
        if absence() is None:
            table, share, data["cuda"] = self._with_cuda(setting, results)
            tables.append(table)
            comparisons.append(Comparison(
                "SSSP: the GPU's time over the CPU's, roads over power laws", times(theirs),
                times(share)))
        else:
            notes.append(not_run())
        plot = Plot("the device beside the CPU", "clock of equal time, MHz",
                    tuple(row[0] for row in rows),
                    {"device": tuple(value and value / 1e6 for value in clocks.values())})
        return Outcome(tuple(tables), (plot,), tuple(comparisons), data, tuple(notes))

    @staticmethod
    def _with_cuda(setting, results):
        rows, data, shares = [], {}, []
        for algorithm, short in published.ALGORITHMS.items():
            for choice in setting.timed:
                case = cpu(setting, choice, algorithm)
                _, seconds = least(results, case)
                way, its = least(results, _of_cuda(setting, choice, algorithm))
                arcs = arcs_of(results, case, algorithm)
                if results.value(case, "refused"):
                    seconds = its = arcs = math.nan
                if algorithm == "sssp":
                    shares.append((is_road(choice), ratio(its, seconds)))
                rows.append((f"{short} {choice.label}", seconds_text(seconds),
                             millions(ratio(arcs, seconds)), seconds_text(its), way or "",
                             millions(ratio(arcs, its)), times(ratio(seconds, its))))
                data.setdefault(algorithm, {})[choice.label] = {
                    "cpu": seconds, "cuda": its, "arcs": arcs, "way": way}
        table = Table("The CPU, and the GPU of the GraphVM cuda", (
            "", "CPU, ms", "million arcs a second", "GPU, ms", "its schedule",
            "million arcs a second", "CPU over GPU"), tuple(rows))
        return table, _over_power_laws(shares), data
