"""Generators and the catalogue: their promises and their refusals."""

import dataclasses
import zlib

import numpy as np
import pytest

from base.errors import UserError
from sw.graph import describe, generate, load
from sw.graph.catalogue import catalogue
from sw.graph.generators import GENERATORS, seeded


def checksum(graph):
    arrays = [graph.src, graph.dst] + ([] if graph.weights is None else [graph.weights])
    return zlib.crc32(b"".join(array.astype("<u4").tobytes() for array in arrays))


@pytest.mark.parametrize("text, expected", [
    ("rmat:scale=8,degree=16,seed=1", 0x50497090),
    ("uniform:vertices=1000,edges=5000,seed=1", 0x0c1bedd9),
    ("powerlaw:vertices=1000,edges=5000,seed=1", 0x9b9a3fe1),
    ("road:side=32,seed=1", 0x60eda25d),
    ("rmat:scale=8,degree=16,seed=1,weights=255", 0x2f01d30a),
    ("community:vertices=1000,edges=5000,communities=9,seed=1", 0x72a7bd5e),
])
def test_reproducible(text, expected):
    """The same text gives the same graph, in this and any later version."""
    assert checksum(generate(text)) == expected


@pytest.mark.parametrize("name", GENERATORS)
def test_seed(name):
    text = {"rmat": "rmat:scale=6,degree=8", "road": "road:side=9",
            "community": "community:vertices=70,edges=500,communities=7"}.get(
        name, f"{name}:vertices=70,edges=500")
    assert checksum(generate(text)) == checksum(generate(text + ",seed=1"))
    assert checksum(generate(text)) != checksum(generate(text + ",seed=2"))
    assert generate(text).name == text


def test_rmat():
    graph = generate("rmat:scale=12,degree=16,seed=3")
    assert (graph.num_vertices, graph.num_edges) == (4096, 65536)
    facts = describe(graph)
    assert facts["degree_gini"] > 0.7 and facts["max_out_degree"] > 500
    # Labels are permuted: the busiest vertices are not the first ones.
    assert np.argsort(graph.out_degrees)[-10:].mean() > 500


def test_rmat_quadrants():
    """Before labels are permuted, each bit is 1 with the chances C + D and B + D. The distribution
    of degrees shows these chances. The largest expected out-degree is arcs * (A + B) ** scale."""
    arcs, scale = 1 << 18, 8
    graph = generate(f"rmat:scale={scale},degree={arcs >> scale},seed=4")
    for degrees in (graph.out_degrees, graph.in_degrees):
        expected = np.sort([arcs * 0.76 ** (scale - ones) * 0.24 ** ones
                            for ones in map(int.bit_count, range(1 << scale))])
        assert np.abs(np.sort(degrees) - expected).max() < 5 * np.sqrt(expected.max())
    loops = int(np.count_nonzero(graph.src == graph.dst))
    expected = arcs * 0.62 ** scale  # both bits alike: A + D
    assert abs(loops - expected) < 5 * np.sqrt(expected)


def test_uniform():
    graph = generate("uniform:vertices=50,edges=100000,seed=1")
    assert (graph.num_vertices, graph.num_edges) == (50, 100000)
    for degrees in (graph.out_degrees, graph.in_degrees):
        assert np.abs(degrees - 2000).max() < 5 * np.sqrt(2000)


def test_powerlaw():
    graph = generate("powerlaw:vertices=10000,edges=190000,seed=1")
    assert (graph.num_vertices, graph.num_edges) == (10000, 190000)
    degrees = np.sort(graph.out_degrees)[::-1]
    # A vertex's expected degree is proportional to its rank to the power -1 / (exponent - 1).
    slope = np.polyfit(np.log(np.arange(10, 1000)), np.log(degrees[10:1000]), 1)[0]
    assert slope == pytest.approx(-1 / 1.5, abs=0.05)
    steeper = generate("powerlaw:vertices=10000,edges=190000,exponent=2.1,seed=1")
    assert steeper.out_degrees.max() > graph.out_degrees.max()


def test_community():
    text = "community:vertices=9999,edges=200000,communities=100,seed=1"
    graph = generate(f"{text},mixing=0.2")
    assert (graph.num_vertices, graph.num_edges) == (9999, 200000)
    homes = [ends.astype(int) * 100 // 9999 for ends in (graph.src, graph.dst)]
    assert set(np.bincount(np.arange(9999) * 100 // 9999)) == {99, 100}
    # Some arcs that may go anywhere stay in the community by chance.
    stays = np.mean(homes[0] == homes[1])
    chance = np.sum((np.bincount(homes[0]) / 200000) ** 2)
    assert stays == pytest.approx(0.8 + 0.2 * chance, abs=0.01)
    degrees = np.sort(graph.out_degrees)[::-1]
    slope = np.polyfit(np.log(np.arange(10, 1000)), np.log(degrees[10:1000]), 1)[0]
    assert slope == pytest.approx(-1 / 1.5, abs=0.05)
    # The same graph with random numbers: neighbours are as far apart as any two vertices.
    shuffled = generate(f"{text},mixing=0.2,shuffle=1")
    assert np.array_equal(np.sort(shuffled.out_degrees), np.sort(graph.out_degrees))
    distance = np.abs(shuffled.src.astype(int) - shuffled.dst.astype(int)).mean()
    assert distance == pytest.approx(9999 / 3, rel=0.1)
    apart = generate(f"{text},mixing=0")
    assert np.all(apart.src.astype(int) * 100 // 9999 == apart.dst.astype(int) * 100 // 9999)
    with pytest.raises(UserError, match="8 communities are too many for 7 vertices"):
        generate("community:vertices=7,edges=9,communities=8")


def test_road():
    graph = generate("road:side=64,seed=1")
    assert graph.num_vertices == 64 * 64
    facts = describe(graph)
    assert facts["self_loops"] == facts["parallel_arcs"] == 0
    assert facts["max_out_degree"] <= 8 and 3 < facts["mean_degree"] < 4
    assert (facts["min_weight"], facts["max_weight"]) == (1, 16)
    there = sorted(zip(graph.src.tolist(), graph.dst.tolist(), graph.weights.tolist()))
    back = sorted(zip(graph.dst.tolist(), graph.src.tolist(), graph.weights.tolist()))
    assert there == back


def test_road_whole():
    graph = generate("road:side=5,removed=0,diagonals=0,longest=1")
    assert graph.num_edges == 2 * 2 * 5 * 4 and set(graph.weights) == {1}
    assert sorted(set(graph.out_degrees)) == [2, 3, 4]
    assert generate("road:side=5,removed=1,diagonals=0").num_edges == 0
    assert generate("road:side=5,removed=1,diagonals=1").num_edges == 2 * 4 * 4
    assert generate("road:side=1").num_vertices == 1


def test_weights():
    graph = generate("uniform:vertices=10,edges=5000,weights=7")
    assert set(graph.weights) == set(range(1, 8))
    plain = generate("uniform:vertices=10,edges=5000")
    assert plain.weights is None and np.array_equal(plain.src, graph.src)


def test_spaces():
    assert generate(" rmat: scale = 3 , degree=2 ").num_edges == 16


@pytest.mark.parametrize("text, words", [
    ("lattice:side=3", "there is no generator 'lattice', there are rmat, uniform, powerlaw, "
     "community, road"),
    ("rmat", "rmat needs scale, an integer from 0 to 30"),
    ("rmat:", "rmat needs scale"),
    ("rmat:scale=3", "rmat needs degree"),
    ("rmat:scale=3,degree=2,sed=1", "rmat has no parameter 'sed', it has scale, degree, seed"),
    ("rmat:scale=3,degree=2,scale=3", "scale is given twice"),
    ("rmat:scale=x,degree=2", "scale is 'x', must be an integer from 0 to 30"),
    ("rmat:scale=,degree=2", "scale is '', must be an integer"),
    ("rmat:scale=3.5,degree=2", "scale is '3.5', must be an integer"),
    ("rmat:scale=-3,degree=2", "scale is '-3', must be an integer from 0 to 30"),
    ("rmat:scale=31,degree=2", "scale is '31', must be an integer from 0 to 30"),
    ("rmat:scale=3,degree=2,seed=18446744073709551616", "seed is '18446744073709551616'"),
    (f"rmat:scale={'9' * 5000},degree=2", "scale is '999"),
    ("rmat:scale=30,degree=16", "17179869184 arcs are too many, at most 2147483647"),
    ("rmat:scale", "'scale' must be PARAMETER=VALUE"),
    ("uniform:vertices=0,edges=0", "vertices is '0', must be an integer from 1"),
    ("powerlaw:vertices=5,edges=5,exponent=1", "exponent is '1', must be a number from 1.5 to 10"),
    ("powerlaw:vertices=5,edges=5,exponent=nan", "exponent is 'nan', must be a number"),
    ("road:side=4,removed=1.1", "removed is '1.1', must be a number from 0.0 to 1.0"),
])
def test_refused(text, words):
    for function in (generate, load) if ":" in text else (generate,):
        with pytest.raises(UserError) as caught:
            function(text)
        assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", catalogue())
def test_catalogue(name):
    entry, graph = catalogue()[name], load(name)
    assert (graph.num_vertices, graph.num_edges) == (entry.vertices, entry.arcs)
    assert graph.name == name and entry.summary and entry.source and entry.licence
    assert (entry.path is None) != (entry.generator is None)


def test_karate():
    graph = load("karate")
    assert sorted(graph.out_degrees.tolist(), reverse=True)[:5] == [17, 16, 12, 10, 9]
    assert describe(graph)["components"] == 1


def test_load_options():
    graph = load("rmat-10", undirected=True, simplify=True)
    facts = describe(graph)
    assert facts["self_loops"] == facts["parallel_arcs"] == 0
    assert np.array_equal(graph.out_degrees, graph.in_degrees)


def test_load_unknown():
    for spec in ("karat", "some/folder:x"):
        with pytest.raises(UserError, match="there is no such graph; .*karate.*rmat:"):
            load(spec)


@pytest.mark.parametrize("text, expected", [
    ("rmat:scale=4,degree=2", "rmat:scale=4,degree=2,seed=7"), ("rmat:", "rmat:seed=7"),
    ("rmat", "rmat:seed=7"), (" road : side=3", " road : side=3,seed=7"),
    ("road:side=3,seed=1", None), ("road: seed = 1", None), ("karate", None), ("a.el", None),
    ("seed=3", None), ("", None)])
def test_seeded(text, expected):
    assert seeded(text, 7) == expected


@pytest.mark.parametrize("text", [
    "rmat:scale=20,degree=16", "rmat:scale=24,degree=1", "uniform:vertices=10,edges=20000000",
    "powerlaw:vertices=20000000,edges=1000000", "community:vertices=9,edges=20000000,communities=2",
    "road:side=3000"])
def test_a_graph_that_the_machine_cannot_hold(monkeypatch, text):
    """Such a graph is refused before any part of it is made."""
    monkeypatch.setattr("sw.graph.generators._memory", lambda: 1 << 27)
    name = text.partition(":")[0]
    monkeypatch.setitem(GENERATORS, name, dataclasses.replace(GENERATORS[name], make=None))
    with pytest.raises(UserError, match=r"vertices and \d+ arcs need \d\.\d GB of memory to be "
                                        r"made, this machine has 0\.1 GB"):
        generate(text)


@pytest.mark.parametrize("text", [
    "rmat:scale=8,degree=3", "uniform:vertices=70,edges=300", "powerlaw:vertices=70,edges=300",
    "community:vertices=70,edges=300,communities=5", "road:side=20",
    "road:side=20,diagonals=1,removed=0", "road:side=1"])
def test_sizes(text):
    """A generator's estimate of its size is at least the real size, and the number of vertices is
    exact."""
    name, _, rest = text.partition(":")
    values = {key: parameter.default for key, parameter in GENERATORS[name].parameters.items()}
    values |= {key: int(value) for key, value in (item.split("=") for item in rest.split(","))}
    for key in ("seed", "weights"):
        values.pop(key, None)
    graph = generate(text)
    vertices, arcs = GENERATORS[name].size(**values)
    assert vertices == graph.num_vertices and arcs >= graph.num_edges
    if name != "road":
        assert arcs == graph.num_edges
