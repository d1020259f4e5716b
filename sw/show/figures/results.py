"""The figure of results in README: every unit and the best software, on generated graphs.

The cycles are measured by :func:`measure` and kept in ``docs/figures/results.json``. The figure is
drawn from that file alone.
"""

import contextlib
import itertools
import json
import subprocess

from base.errors import UserError
from hw.config import preset
from hw.gather.variants import VARIANTS
from sim.dram import DramConfig
from sw.compile import schedules as known_schedules
from sw.show.colours import of_series
from sw.study.benchmarks.batch import Batch
from sw.study.benchmarks.executors import Processes
from sw.study.benchmarks.schedules import plan
from sw.study.benchmarks.system import System
from sw.study.benchmarks.units import UnitRun, schedule_of, weaver
from sw.study.reproduce.outcome import Plot
from sw.study.reproduce.plot import svg


__all__ = ["cases", "draw", "measure"]


#: The graphs, each by the name that the figure shows.
GRAPHS = {
    "R-MAT": "rmat:scale=11,degree=16,seed=1",
    "power law": "powerlaw:vertices=4000,edges=40000,seed=1",
    "communities": "community:vertices=4000,edges=40000,communities=40,seed=1",
    "uniform": "uniform:vertices=4000,edges=40000,seed=1",
    "road": "road:side=64,seed=1",
}

#: Algorithms, each in its own direction; schedules of stream compaction push.
ALGORITHMS = {"pagerank": "PageRank, one sweep", "bfs": "BFS"}

#: Choices beside each schedule's own, for schedules that have them. The fastest counts.
_CHOICES: dict = {"pagerank": ({},), "bfs": ({}, {"direction": "auto"})}

#: Schedules in software that run with several options. The fastest counts.
_OPTIONS = {"vwc": ("vwc:width=2", "vwc:width=4", "vwc:width=8", "vwc:width=16")}

#: The best of all schedules in software: the rival of each bar.
_RIVAL = "the best software"

#: A schedule in software with bars of its own: SAGE's.
_SHOWN = "tile"

COMMAND = "./graphloom docs --record"


def columns() -> dict:
    """{name in the figure: pairs of a schedule and the hardware that it runs on}. The fastest pair
    counts."""
    config = preset("baseline")
    software = [each for name in known_schedules.names() if known_schedules.in_software(name)
                for each in _OPTIONS.get(name, (name,))]
    of_scu = [name for name in known_schedules.names() if known_schedules.make(name).needs_scu]
    return {
        _RIVAL: [(name, config) for name in software], _SHOWN: [(_SHOWN, config)],
        **{weaver(unit): [(schedule_of(unit), known_schedules.equipped(config, unit))]
           for unit in VARIANTS},
        "scu": [(name, known_schedules.equip(config, [name])) for name in of_scu],
    }


def cases() -> list:
    """The runs behind the figure."""
    found, chosen = [], dict.fromkeys(pair for pairs in columns().values() for pair in pairs)
    for algorithm, graph, (schedule, config) in itertools.product(
            ALGORITHMS, GRAPHS.values(), chosen):
        for choice in _CHOICES[algorithm]:
            with contextlib.suppress(UserError):        # the schedule does not have the choice
                found.append(UnitRun(graph, False, plan(algorithm, 1, schedule=schedule, **choice),
                                     None, system=System(config, DramConfig())))
    return found


def _schedule(plan):
    """The one schedule of a plan."""
    name, = {side.schedule for side in plan.sides.values()}
    return name


def _commit(root):
    """The commit of the sources, or ``"unknown"``."""
    done = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], check=False,
                          capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def measure(root, jobs=1, chosen=None) -> str:
    """Run the cases on preset ``baseline`` and give the record as text.

    Parameters
    ----------
    root : path
        The project's folder.
    jobs : int
        Processes.
    chosen : list of Case, optional
        All by default.

    Raises
    ------
    RuntimeError
        If a run fails.
    """
    config = preset("baseline")
    batch = Batch(cases() if chosen is None else chosen, config, DramConfig())
    batch.run(Processes(jobs), lambda case, record, done, total: None)
    rows = []
    for case in batch.cases:
        record = batch.records[case]
        if UnitRun.REFUSED in record:       # the schedule does not have the direction
            continue
        if not record.get("verified"):
            raise RuntimeError(f"{case}: {record.get('error') or 'a wrong result'}")
        rows.append({"graph": case.graph, "algorithm": case.plan.algorithm,
                     "schedule": _schedule(case.plan), "plan": case.plan.text,
                     "hardware": case.system.name, "vertices": record["vertices"],
                     "arcs": record["arcs"], "cycles": record["cycles"]})
    head = {"command": COMMAND, "commit": _commit(root), "preset": config.name}
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    return json.dumps(head)[:-1] + ', "rows": [\n' + lines + "\n]}\n"


def draw(text) -> str:
    """The figure as SVG: the cycles of the best software over those of each unit, so that a bar
    below 1 loses.

    Parameters
    ----------
    text : str
        The record, as :func:`measure` gives it.
    """
    cycles: dict = {}
    for row in json.loads(text)["rows"]:
        key = tuple(row[name] for name in ("algorithm", "graph", "schedule", "hardware"))
        cycles[key] = min(row["cycles"], cycles.get(key, row["cycles"]))
    plots = []
    for algorithm, title in ALGORITHMS.items():
        series = {name: [min(cycles[key] for schedule, config in pairs
                             if (key := (algorithm, graph, schedule, config.name)) in cycles)
                         for graph in GRAPHS.values()] for name, pairs in columns().items()}
        rival = series.pop(_RIVAL)
        plots.append(Plot(title, "speedup over the\nbest software", tuple(GRAPHS),
                          {name: tuple(best / own for best, own in zip(rival, values))
                           for name, values in series.items()}, reference=1.0))
    return svg(plots, "Cycles of the best software over those of each unit, preset baseline",
               colours=of_series(plots[0].series))
