"""The runs that figures of CR2 share: how they are spelled, so that equal ones are equal cases."""

from sw import algorithms
from sw.benchmarks.campaign import Case
from sw.benchmarks.schedules import settings


__all__ = ["ALGORITHMS", "SEARCHES", "cluster_text", "directed", "run", "where"]


#: The paper's four, by their names here.
ALGORITHMS = {"pagerank": "PR", "bfs": "BFS", "cc": "CC", "sssp": "SSSP"}

#: Those that have a frontier.
SEARCHES = ("bfs", "sssp")

#: Largest of the random weights of a graph that has none.
_WEIGHTS = 64


def cluster_text(setting, expand=True):
    """CR2 for runs: a warp of the setting's hardware is filled by one record of the largest degree,
    as in the paper, and clusters are as small against the graphs as the paper's are. Bases are
    global IDs, which algorithm 3.4 takes the cluster from."""
    text = f"cr2:cluster_bits=8:warp_bits={min(5, setting.warp_bits)}:bases=global"
    return text if expand else text + ":expand=no"


def run(choice, algorithm, direction, schedule, format, listed=True):
    """A run on a graph: PageRank one iteration, searches from the vertex with the most arcs. A
    search that is not ``listed`` has no list of its frontier's vertices, and looks at all."""
    weighted = algorithms.find(algorithm).weighted
    searches = algorithm in SEARCHES and direction == "push"
    return Case(choice.graph, choice.undirected, algorithm, direction, schedule, format,
                weights=_WEIGHTS if weighted else None, settings=settings(algorithm, 1),
                frontier=None if listed or not searches else "counter")


def directed(choice, algorithm, schedule, format, listed=True):
    """The run in each direction that the algorithm has, by direction."""
    return {direction: run(choice, algorithm, direction, schedule, format, listed)
            for direction in algorithms.find(algorithm).directions}


def where(setting):
    """A sentence on what runs of a setting have in common."""
    config = setting.config
    return (f"Cycles on `{config.name}`: {config.cores} core(s) of {config.warps} warps of "
            f"{config.threads} lanes; every result is that of the golden model, bit by bit.")
