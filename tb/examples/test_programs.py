"""``examples/programs``: nine programs of a user, against models that share no text with them.

=======================  ==========================================================================
words                    test_words, test_levels_of_arcs_to_larger_numbers: by the interpreter
colours                  test_colours: the definition
scores                   test_rank, test_hits: floating point, with a bound of the error
a limit                  test_many_colours: more colours than a word has bits
the device               test_device: each program on the functional machine
=======================  ==========================================================================
"""

import itertools

import networkx
import numpy as np
import pytest

from base.errors import UserError
from hw.config import preset
from sw.cli.tests import ROOT
from sw.compile import schedules
from sw.compile.schedules import equip
from sw.device import Device
from sw.graph import Graph
from sw.graph.load import load
from sw.lang.reader import read_file
from sw.lang.types import INFINITY, NONE, WORD
from sw.vm import reference


FOLDER = ROOT / "examples" / "programs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def run(name, graph, **given):
    return reference.run(read_file(FOLDER / f"{name}.py"), graph, **given)


def graph_of(seed, vertices, arcs):
    """A graph of random arcs with weights from 1 to 9, self-loops and parallel arcs among them."""
    rng = np.random.default_rng(seed)
    return Graph(vertices, rng.integers(vertices, size=arcs), rng.integers(vertices, size=arcs),
                 rng.integers(1, 10, size=arcs))


def simple(graph):
    """The undirected graph without self-loops and parallel edges."""
    return graph.undirected().simplify()


def nx(graph, kind=networkx.DiGraph):
    """The graph for networkx; of parallel arcs the lightest."""
    made = kind()
    made.add_nodes_from(range(graph.num_vertices))
    weights = graph.weights if graph.weights is not None else np.ones(graph.num_edges, int)
    for start, end, weight in zip(graph.src.tolist(), graph.dst.tolist(), weights.tolist()):
        if weight < made.get_edge_data(start, end, {"weight": INFINITY})["weight"]:
            made.add_edge(start, end, weight=weight)
    return made


# Models: {vector: list of words} of a graph

def triangles(graph):
    return {"found": list(networkx.triangles(nx(graph, networkx.Graph)).values())}


def predecessors(graph):
    far = networkx.single_source_dijkstra_path_length(nx(graph), 0)
    before = [NONE] * graph.num_vertices
    for start, end, weight in zip(graph.src.tolist(), graph.dst.tolist(), graph.weights.tolist()):
        if start in far and far[start] + weight == far[end]:
            before[end] = min(before[end], start)
    return {"distance": [far.get(v, INFINITY) for v in range(graph.num_vertices)],
            "before": before}


def jaccard(graph):
    near = [set(nx(graph)[v]) for v in range(graph.num_vertices)]
    common = [len(near[0] & each) for each in near]
    either = [len(near[0] | each) for each in near]
    return {"common": common,
            "similarity": [min(part * (WORD // max(whole, 1)), WORD - 1) if part else 0
                           for part, whole in zip(common, either)]}


def depths(graph, sources):
    """{vertex: {source: depth}} of the searches that reach a vertex."""
    found = {v: {} for v in range(graph.num_vertices)}
    for source in sources:
        for v, depth in networkx.single_source_shortest_path_length(nx(graph), source).items():
            found[v][source] = depth
    return found


def searches(graph):
    found = depths(graph, range(min(32, graph.num_vertices)))
    return {"seen": [sum(1 << source for source in each) for each in found.values()],
            "depths": [sum(each.values()) for each in found.values()]}


def closeness(graph):
    found = depths(graph, range(graph.num_vertices))
    reached = [len(each) - 1 for each in found.values()]
    far = [sum(each.values()) for each in found.values()]
    return {"reached": reached, "far": far,
            "near": [min(one * (WORD // max(all_, 1)), WORD - 1) if one else 0
                     for one, all_ in zip(reached, far)]}


def levels(graph):
    made = nx(graph)
    cyclic = {v for part in networkx.strongly_connected_components(made) for v in part
              if len(part) > 1 or made.has_edge(v, v)}
    behind = cyclic.union(*(networkx.descendants(made, v) for v in cyclic))
    made.remove_nodes_from(behind)
    found = dict.fromkeys(range(graph.num_vertices), INFINITY)
    for level, part in enumerate(networkx.topological_generations(made)):
        found |= dict.fromkeys(part, level)
    return {"level": list(found.values())}


MODELS = {"triangles": (triangles, simple), "predecessors": (predecessors, None),
          "jaccard": (jaccard, simple), "searches": (searches, None),
          "closeness": (closeness, None), "levels": (levels, None)}

#: Parameters that the models do not have.
START = {"predecessors": {"source": 0}, "jaccard": {"source": 0}, "searches": {"first": 0}}

GRAPHS = [graph_of(seed, vertices, arcs) for seed, (vertices, arcs) in enumerate(
    [(1, 0), (2, 5), (9, 6), (20, 30), (40, 200), (70, 90)])]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("place", range(len(GRAPHS)))
def test_words(name, place):
    model, change = MODELS[name]
    graph = GRAPHS[place] if change is None else change(GRAPHS[place])
    found = run(name, graph, **START.get(name, {})).outputs
    assert {vector: words.tolist() for vector, words in found.items()} == model(graph)


def test_levels_of_arcs_to_larger_numbers():
    graph = GRAPHS[4]
    ascending = graph.src < graph.dst
    graph = Graph(40, graph.src[ascending], graph.dst[ascending])
    found = run("levels", graph).outputs["level"].tolist()
    assert found == levels(graph)["level"] and 5 < max(found) < 40


@pytest.mark.parametrize("graph", GRAPHS)
def test_colours(graph):
    graph = graph.undirected()
    colour = run("colouring", graph, seed=7).outputs["colour"]
    check_colours(graph, colour)


def check_colours(graph, colour):
    """Neighbours differ, and a vertex has neighbours of all smaller colours."""
    assert colour.min() >= 1
    assert all(one == other or colour[one] != colour[other]
               for one, other in zip(graph.src, graph.dst))
    for v in range(graph.num_vertices):
        assert set(range(1, colour[v])) <= set(colour[graph.dst[graph.src == v]].tolist())


def test_many_colours():
    """The vertices of a clique of 70 have 70 colours."""
    pairs = np.array(list(itertools.permutations(range(70), 2)))
    graph = Graph(72, pairs[:, 0], pairs[:, 1])
    colour = run("colouring", graph).outputs["colour"]
    check_colours(graph, colour)
    assert colour.max() == 70


def test_rank():
    graph = graph_of(3, 60, 300)
    found = run("personalised_pagerank", graph, source=5, iterations=30)
    degree, rank = np.maximum(graph.out_degrees, 1), np.zeros(60)
    rank[5] = 1
    for _ in range(30):
        rank = 0.85 * np.bincount(graph.dst, (rank / degree)[graph.src], 60)
        rank[5] += 0.15
    bound = (300 * 2 + 180) * 2.0**-found.fraction_bits / 0.15
    assert np.abs(found.decimal("rank") - rank).max() < bound < 1e-4
    assert 0.15 < found.decimal("rank")[5] < found.decimal("rank").sum() <= 1


def test_hits():
    """By the power method, as networkx has it."""
    graph = simple(graph_of(4, 50, 250))
    graph = Graph(50, graph.src[graph.src % 3 > 0], graph.dst[graph.src % 3 > 0])
    found = run("hits", graph, iterations=60)
    hubs, authorities = networkx.hits(nx(graph), max_iter=500, tol=1e-12)
    for name, wanted in (("hub", hubs), ("authority", authorities)):
        scores = found.decimal(name)
        assert 0.999 < scores.sum() <= 1
        assert np.abs(scores - list(wanted.values())).max() < 1e-4


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", [*NAMES, "../widest_path"])
@pytest.mark.parametrize("schedule", schedules.names())
def test_device(name, schedule):
    """Bit-identical to the interpreter, which the run itself checks."""
    graph = load("powerlaw:vertices=40,edges=120,seed=2,weights=9")
    if read_file(FOLDER / f"{name}.py").needs:
        graph = simple(graph)
    config = equip(preset("tiny").replace(imem_bytes=1 << 16, local_bytes=1 << 12), [schedule])
    with Device.functional(config) as device:
        try:
            task = device.plan(str(FOLDER / f"{name}.py"), graph, schedule=schedule)
        except UserError as error:      # lists of edges have a word beside each
            assert "the list of edges has no room for weights" in str(error)
            return
        assert device.run_task(task).launches > 1
