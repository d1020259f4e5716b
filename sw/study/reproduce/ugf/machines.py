"""One program on the CPU and on the GPU: table 6.4."""

import math

from sw.study.benchmarks.grid import Grid

from ..outcome import Comparison, Outcome, Plot, by_rows, geometric_mean, number, ratio, times
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

    def grid(self, setting):
        def make(algorithm, choice, machine):
            return cpu(setting, choice, algorithm) if machine == "cpu" \
                else _of_device(choice, algorithm)
        return Grid({"algorithm": published.ALGORITHMS, "graph": setting.crossed,
                     "machine": ("device", "cpu")}, make)

    def further(self, setting):
        if absence() is not None:
            return {}

        def make(algorithm, choice, machine):
            return (cpu if machine == "cpu" else _of_cuda)(setting, choice, algorithm)
        return {"timed": Grid({"algorithm": published.ALGORITHMS, "graph": setting.timed,
                               "machine": ("cpu", "cuda")}, make)}

    def results(self, setting, found, timed=None):
        rows, data = [], {}
        fastest = found.at(machine="device").by(best(setting.config)).best()
        cycles, on_cpu = fastest.map(lambda pair: pair[1]), _times(found, "cpu")
        arcs = on_cpu.map(lambda its: its[2])
        clocks = (cycles / on_cpu.map(lambda its: its[3])) / (
            on_cpu.map(lambda its: its[1]) / arcs)
        for (algorithm, choice), (way, seconds, count, one) in on_cpu.items():
            place = {"algorithm": algorithm, "graph": choice}
            plan, least_cycles = fastest.at(**place)
            clock = clocks.at(**place)
            rows.append((_name(algorithm, choice), seconds_text(seconds),
                         millions(ratio(count, seconds)), number(least_cycles), plan or "",
                         shown(ratio(least_cycles, one), 2), millions(clock)))
            data.setdefault(algorithm, {})[choice.label] = {
                "cpu way": way, "seconds": seconds, "arcs": count, "cycles": least_cycles,
                "plan": plan, "clock": clock}
        tables = [by_rows("The CPU, and the device", (
            "", "CPU, ms", "million arcs a second", "device, cycles", "its plan", "cycles an arc",
            "clock of equal time, MHz"), rows)]
        theirs = _over_power_laws([(graph in published.ROADS, gpu / its)
                                   for graph, (its, gpu, _) in published.BOTH.items()])
        comparisons = [Comparison(
            "SSSP: the device's time over the CPU's, roads over power laws", times(theirs),
            times(_over_power_laws([(is_road(choice), clock) for (algorithm, choice), clock
                                    in clocks.items() if algorithm == "sssp"])))]
        notes = [where(setting)]
        if timed is not None:
            table, share, data["cuda"] = self._with_cuda(timed)
            tables.append(table)
            comparisons.append(Comparison(
                "SSSP: the GPU's time over the CPU's, roads over power laws", times(theirs),
                times(share)))
        else:
            notes.append(not_run())
        plot = Plot("the device beside the CPU", "clock of equal time, MHz",
                    tuple(row[0] for row in rows),
                    {"device": tuple(value and value / 1e6 for value in clocks)})
        return Outcome(tables, (plot,), comparisons, data, notes)

    @staticmethod
    def _with_cuda(found):
        rows, data, shares = [], {}, []
        on_gpu = found.at(machine="cuda").of(least)
        for (algorithm, choice), (_, seconds, arcs, one) in _times(found, "cpu").items():
            way, its = on_gpu.at(algorithm=algorithm, graph=choice)
            if one is not None and math.isnan(one):
                its = math.nan
            if algorithm == "sssp":
                shares.append((is_road(choice), ratio(its, seconds)))
            rows.append((_name(algorithm, choice), seconds_text(seconds),
                         millions(ratio(arcs, seconds)), seconds_text(its), way or "",
                         millions(ratio(arcs, its)), times(ratio(seconds, its))))
            data.setdefault(algorithm, {})[choice.label] = {
                "cpu": seconds, "cuda": its, "arcs": arcs, "way": way}
        return by_rows("The CPU, and the GPU of the GraphVM cuda", (
            "", "CPU, ms", "million arcs a second", "GPU, ms", "its schedule",
            "million arcs a second", "CPU over GPU"), rows), _over_power_laws(shares), data


def _name(algorithm, choice):
    return f"{published.ALGORITHMS[algorithm]} {choice.label}"


def _times(found, machine):
    """(way, seconds, arcs that count, arcs) of each program on a machine; NaN but for the way
    where it is refused."""
    return found.at(machine=machine).of(
        lambda records, case: (least(records, case)[0], *[math.nan] * 3)
        if records.value(case, "refused") else (
            *least(records, case), arcs_of(records, case, case.algorithm),
            records.value(case, "arcs")))
