"""The runs that figures of CR2 share. One spelling makes equal runs equal cases."""

from sw.study.benchmarks.schedules import DIRECTIONS

from ..runs import on_graph


__all__ = ["ALGORITHMS", "SEARCHES", "cluster_text", "directed", "run"]


#: The paper's four algorithms, by their names here.
ALGORITHMS = {"pagerank": "PR", "bfs": "BFS", "cc": "CC", "sssp": "SSSP"}

#: The algorithms with a frontier.
SEARCHES = ("bfs", "sssp")


def cluster_text(setting, expand=True):
    """CR2 for runs. As in the paper, one record of the largest degree fills a warp of the setting's
    hardware, and clusters are about as small in relation to the graphs. Bases are global IDs, from
    which algorithm 3.4 takes the cluster."""
    text = f"cr2:cluster_bits=8:warp_bits={min(5, setting.warp_bits)}:bases=global"
    return text if expand else text + ":expand=no"


def run(choice, algorithm, direction, schedule, format, listed=True):
    """A run on a graph: PageRank one iteration, searches from the vertex with the most arcs. A
    search that is not ``listed`` has no list of its frontier's vertices, and looks at all
    vertices."""
    searches = algorithm in SEARCHES and direction == "push"
    return on_graph(choice, algorithm, direction=direction, schedule=schedule, format=format,
                    frontier=None if listed or not searches else "counter")


def directed(choice, algorithm, schedule, format, listed=True):
    """The run in each direction that the algorithm has, by direction."""
    return {direction: run(choice, algorithm, direction, schedule, format, listed)
            for direction in DIRECTIONS[algorithm]}
