"""The figure of results in README: the schedules against each other on generated graphs.

The cycles are measured by :func:`measure` and kept in ``docs/figures/results.json``. The figure is
drawn from that file alone.
"""

import json
import subprocess

from sw.study.benchmarks import schedules
from sw.study.benchmarks.batch import Batch
from sw.study.benchmarks.executors import Processes
from sw.study.reproduce.outcome import Plot
from sw.study.reproduce.plot import svg


__all__ = ["PAPER", "cases", "draw", "measure"]


#: The graphs, each by the name that the figure shows.
GRAPHS = {
    "R-MAT": "rmat:scale=11,degree=16,seed=1",
    "power law": "powerlaw:vertices=4000,edges=40000,seed=1",
    "communities": "community:vertices=4000,edges=40000,communities=40,seed=1",
    "uniform": "uniform:vertices=4000,edges=40000,seed=1",
    "road": "road:side=64,seed=1",
}

#: Algorithms, each in its own direction.
ALGORITHMS = {"pagerank": "PageRank, pulling, one sweep", "bfs": "BFS, pushing"}

#: Schedules by the name that the figure shows. The fastest of several counts: the figure
#: shows ``vwc`` at its best width.
SCHEDULES = {
    "vm": ("vm",), "vwc, best width": ("vwc:width=2", "vwc:width=4", "vwc:width=8", "vwc:width=16"),
    "em": ("em",), "weaver": ("weaver",), "compact": ("compact",),
}

#: A schedule that has no such direction of the algorithm.
_MISSING = {("pagerank", "compact")}

#: The speedup of the Weaver over VM that the SparseWeaver paper reports (section 4.6.1), for four
#: algorithms on seven graphs.
PAPER = 2.36

COMMAND = "./graphloom docs --record"


def cases() -> list:
    """The runs behind the figure."""
    directions = {name: schedules.DIRECTIONS[name][0] for name in ALGORITHMS}
    names = [name for some in SCHEDULES.values() for name in some]
    found = [case for algorithm, direction in directions.items()
             for case in schedules.grid({
                 "graph": [(graph, False) for graph in GRAPHS.values()], "algorithm": [algorithm],
                 "direction": [direction], "schedule": names}, 1).cases]
    return [case for case in found if (case.plan.algorithm, case.plan.schedule) not in _MISSING]


def _commit(root):
    """The commit of the sources, or ``"unknown"``."""
    done = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], check=False,
                          capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def measure(root, jobs=1, chosen=None) -> str:
    """Run the cases on preset ``default`` and give the record as text.

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
    from hw.config import preset
    from sim.dram import DramConfig
    config = preset("default")
    batch = Batch(cases() if chosen is None else chosen, config, DramConfig())
    batch.run(Processes(jobs), lambda case, record, done, total: None)
    rows = []
    for case in batch.cases:
        record = batch.records[case]
        if not record.get("verified"):
            why = record.get("error") or record.get("refused") or "a wrong result"
            raise RuntimeError(f"{case}: {why}")
        rows.append({"graph": case.graph, "algorithm": case.plan.algorithm,
                     "direction": case.plan.direction, "schedule": case.plan.schedule,
                     "vertices": record["vertices"], "arcs": record["arcs"],
                     "cycles": record["cycles"]})
    head = {"command": COMMAND, "commit": _commit(root), "preset": config.name}
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    return json.dumps(head)[:-1] + ', "rows": [\n' + lines + "\n]}\n"


def draw(text) -> str:
    """The figure as SVG.

    Parameters
    ----------
    text : str
        The record, as :func:`measure` gives it.
    """
    rows = json.loads(text)["rows"]
    cycles = {(row["algorithm"], row["graph"], row["schedule"]): row["cycles"] for row in rows}
    plots = []
    for algorithm, title in ALGORITHMS.items():
        series = {}
        for name, some in SCHEDULES.items():
            if name == "vm" or (algorithm, name) in _MISSING:
                continue
            series[name] = tuple(
                cycles[algorithm, graph, "vm"] / min(cycles[algorithm, graph, each]
                                                     for each in some)
                for graph in GRAPHS.values())
        plots.append(Plot(title, "speedup over vm", tuple(GRAPHS), series, reference=1.0,
                          paper={"Weaver in\nits paper": PAPER}))
    return svg(plots, "Cycles under vm over cycles under other schedules, preset default")
