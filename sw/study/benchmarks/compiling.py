"""The time that the compiler takes for a program: to read it, to plan it, to make its kernels."""

import statistics
import time

from sw.compile import algorithms
from sw.compile.lower.algorithm import algorithm_of
from sw.device.device import Device
from sw.graph.load import load
from sw.lang import programs
from sw.study.combinations import made


__all__ = ["GRAPH", "STEPS", "measured"]


#: The graph: small, as the time for one grows with the graph, and not with the program.
GRAPH = "rmat:scale=8,degree=8,seed=1,weights=9"

#: What is measured, in milliseconds of the processor.
STEPS = "read", "plan", "kernels"


def measured(name, config, schedule, repeat) -> dict:
    """The median of each of :data:`STEPS` over runs, after one that does not count.

    *read* takes a text to the class of its runs, with all passes. *plan* settles a task on a graph
    of which all is known, *kernels* makes the task's program. Raises UserError if a plan is
    refused.

    Parameters
    ----------
    name : str
        A shipped program.
    config : HardwareConfig
    schedule : str
    repeat : int
    """
    graph = load(GRAPH)
    for method in made(name):
        graph = getattr(graph, method)()
    kind, device = algorithms.find(name), Device.functional(config)
    found = {step: [] for step in STEPS}
    for _ in range(repeat + 1):
        times = [time.process_time()]
        algorithm_of(programs.open_program(name, None)[0])
        times.append(time.process_time())
        task = device.plan(kind.name, graph, schedule=schedule)
        times.append(time.process_time())
        _ = task.program
        times.append(time.process_time())
        for step, begin, end in zip(STEPS, times, times[1:]):
            found[step].append(1000 * (end - begin))
    return {step: round(statistics.median(each[1:]), 3) for step, each in found.items()} | {
        "bytes": task.program.size}
