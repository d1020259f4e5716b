"""GCN: its fixed point, its parameters, and its kernels on every kind of schedule.

=====================================================  ==========================================
feature                                                tests
=====================================================  ==========================================
scales are exact                                       test_scales
no sum wraps, and the finest words that do not         test_the_finest_words, test_what_does_not_fit
whole numbers are taken as they are                    test_whole_numbers
numbers of any size, by integers as by reals           test_the_values_decide, test_a_star_of_ones
every dimension from 1 to 64                           test_dimensions
lanes over words                                       test_lanes_over_words, test_accesses
the lanes of a warp together, or each for itself       test_together
sums are cleared where they are added                  test_no_kernel_clears_what_a_lane_owns
rows wider than a line, and features beyond vertices   test_rectangles
coefficients from degrees                              test_coefficients
several launches for many words                        test_launches
rows that warps of a core share                        test_rows_of_a_core
addresses in arrays of several widths                  test_ways_between_arrays
plans share what is drawn for a graph                  test_drawn_once
bad parameters and files                               test_refused, tb/sw/graph/test_features.py
=====================================================  ==========================================
"""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from base.errors import UserError
from hw.config import preset
from sw.compile import algorithms
from sw.compile.algorithms.gcn.fixed_point import Matrices, choose, scales
from sw.golden.gcn import gcn
from sw.golden.results.gcn import gcn_float
from sw.graph import Graph
from sw.graph.features import Features, random_features
from sw.compile.kernels.kernel import Kernel
from sw.compile.asm.virtual import VirtualAssembler
from sw.device import Device
from tb.sw.graphs import random_graph
from tb.sw.compile.kernels.test_programs import GRAPHS, config

HALF = 1 << 31
GRAPH = random_graph(70, 420, 5)


def run(graph=GRAPH, hardware=None, schedule="vm", direction="pull", **options):
    with Device.functional(hardware or config(2, 8), seed=3, max_cycles=5_000_000) as device:
        task = device.plan("gcn", graph, schedule=schedule, direction=direction, **options)
        result = device.run_task(task)
    assert result.verified
    return result


def test_scales():
    degrees = [0, 1, 2, 3, 4, 5, 7, 99, 1000, 65535, 65536, (1 << 31) - 1]
    assert scales(degrees).tolist() == [0, (1 << 32) - 1] + [
        math.isqrt((1 << 64) // degree) for degree in degrees[2:]]
    for degree, scale in zip(degrees[2:], scales(degrees[2:]).tolist()):
        assert scale ** 2 * degree <= 1 << 64 < (scale + 1) ** 2 * degree


def test_drawn_once():
    """Plans on a graph share its matrices if all that they depend on is equal. They are those that
    are drawn for an equal graph."""
    make = algorithms.find("gcn")
    found = [make(GRAPH).matrices]
    assert make(GRAPH, together="no", columns=64).matrices is found[0]
    for changed in ({"dimension": 3}, {"columns": 9}, {"density": 0.5}, {"matrix_seed": 4},
                    {"coefficients": "computed"}):
        mine, other = (make(graph, **changed).matrices
                       for graph in (GRAPH, random_graph(70, 420, 5)))
        assert all(mine is not one for one in found) and mine is not other
        assert np.array_equal(mine.values, other.values)
        assert np.array_equal(mine.weight, other.weight)
        found.append(mine)


@pytest.mark.parametrize("seed", range(5))
def test_the_finest_words(seed):
    """No sum of absolute values reaches 2**31, and with one bit more some sum might."""
    graph = random_graph(30, 200, seed)
    features = random_features(30, 12, 0.4, seed)
    weight = np.random.default_rng(seed).uniform(-4, 4, (12, 5))
    found = choose(graph, features, weight)
    largest = most(graph, features, found)
    assert HALF // 4 < largest < HALF


def most(graph, features, matrices):
    """The largest sum of absolute values."""
    sizes = gcn(graph, features, abs(matrices.values), abs(matrices.weight))
    return max(int(words.max()) for words in sizes)


def test_a_star_grows():
    """Many arcs of weight 1 / sqrt(leaves) meet in the hub: outputs are larger than products."""
    graph = Graph(401, np.arange(1, 401), np.zeros(400, int), name="star")
    features = Features(np.arange(402), np.zeros(401, int), np.ones(401, int), 1)
    found = choose(graph, features, np.array([[1.0]]))
    product, output = gcn(graph, features, found.values, found.weight)
    assert product.max() * 19 < output.max() < HALF and found.weight_bits == 26


def pair(values, weight):
    """Words for two vertices with a feature each, and an arc from the first to the second."""
    features = Features(np.array([0, 1, 2]), np.array([0, 0]), np.array(values), 1)
    return choose(Graph(2, [0], [1], name="pair"), features, np.array(weight))


def test_whole_numbers():
    """They are taken as they are if they are small, or if all numbers are whole."""
    found = pair([3.0, -7.0], [[5, -2]])
    assert found.values.tolist() == [3, -7] and found.value_bits == 0
    assert found.weight.tolist() == [[5 << 25, -2 << 25]] and found.weight_bits == 25
    large = pair([1 << 20, 99_999], [[1 << 9]])
    assert large.values.tolist() == [1 << 20, 99_999] and large.fraction_bits == 1
    halves = pair([0.5, 3.0], [[1]])
    assert halves.values.tolist() == [1 << 12, 3 << 13] and halves.value_bits == 13
    large = pair([1 << 20, 99_999], [[0.1]])
    assert large.value_bits == -6 and large.values.tolist() == [1 << 14, 1562]
    assert large.weight_bits == 20


#: Numbers of each kind: whole numbers from, to, and their unit.
KINDS = {"counts": (0, 9, 1), "signs": (-1, 1, 1), "negative": (-9, -1, 1), "zero": (0, 0, 1),
         "large": (1 << 17, 1 << 18, 1), "millionths": (-100, 100, 1e-6),
         "tiny": (-100, 100, 1e-150), "huge": (-100, 100, 1e150)}


@pytest.mark.parametrize("weights", KINDS)
@pytest.mark.parametrize("values", KINDS)
def test_the_values_decide(values, weights):
    """Numbers of any size are close to those in float64, and integers have the same words as
    reals. Numbers that pass words of 32 bits are refused."""
    rng, graph, entries = np.random.default_rng(7), random_graph(40, 200, 2), \
        random_features(40, 10, 0.3, 3)
    values, weight = (
        rng.integers(*KINDS[kind][:2], shape, endpoint=True) * KINDS[kind][2]
        for kind, shape in ((values, len(entries.values)), (weights, (10, 3))))
    features = dataclasses.replace(entries, values=values)
    sizes = gcn_float(graph, dataclasses.replace(entries, values=abs(values)), abs(weight))
    if not max(each.max() for each in sizes) < HALF:
        with pytest.raises(UserError, match="make the features or the weights smaller"):
            choose(graph, features, weight)
        return
    found = choose(graph, features, weight)
    reals = choose(graph, dataclasses.replace(entries, values=values.astype(np.float64)),
                   weight.astype(np.float64))
    assert np.array_equal(found.values, reals.values)
    assert np.array_equal(found.weight, reals.weight)
    assert found.fraction_bits == reals.fraction_bits and found.value_bits == reals.value_bits
    for words, real, bound, size in zip(
            gcn(graph, features, found.values, found.weight), gcn_float(graph, features, weight),
            found.error_bounds(graph, features, weight), sizes):
        assert (np.abs(found.to_float(words) - real) <= bound).all()
        assert bound.max() <= size.max() * 2.0 ** -12 if size.any() else not words.any()


@pytest.mark.parametrize("one", (1, 1.0, 1e-9))
def test_a_star_of_ones(one):
    """100 leaves with feature 1 and weight 1 give the hub 100 / sqrt(100)."""
    graph = Graph(101, np.arange(1, 101), np.zeros(100, int), name="star")
    features = Features(np.arange(102), np.zeros(101, int), np.full(101, one), 1)
    found = choose(graph, features, np.array([[1]]))
    _, output = gcn(graph, features, found.values, found.weight)
    assert found.to_float(output)[:, 0] / one == pytest.approx([10] + [0] * 100, rel=1e-4)


@pytest.mark.parametrize("values, weight, words", [
    ([1 << 31], [[1]], ["a feature is 2.14748e+09", "below 2147483648"]),
    ([1e200], [[1e200]], ["a feature is 1e+200", "sums reach inf"]),
    ([1 << 20], [[1 << 11]], ["weights up to 2048", "2.15e+09"]),
    ([1.0], [[3e9]], ["weights up to 3e+09"]),
    ([40000], [[40000.0]], None)])
def test_what_does_not_fit(values, weight, words):
    features = Features(np.array([0, 1]), np.array([0]), np.array(values), 1, name="big.npz")
    if words is None:
        found = choose(GRAPHS["single"], features, np.array(weight))
        assert found.weight_bits == 0 and found.weight.tolist() == [[40000]]
        return
    with pytest.raises(UserError) as error:
        choose(GRAPHS["single"], features, np.array(weight))
    assert all(word in str(error.value) for word in ["big.npz", *words])


def test_nothing_at_all():
    features = Features(np.array([0, 0]), np.array([], int), np.array([]), 1)
    assert isinstance(choose(GRAPHS["single"], features, np.zeros((1, 1))), Matrices)


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("schedule", ["vm", "vm:parallel=weights", "vwc:width=4", "weaver"])
@pytest.mark.parametrize("dimension", [1, 2, 5, 16, 17, 33, 64])
@pytest.mark.sample(20)
def test_dimensions(dimension, schedule, direction):
    result = run(schedule=schedule, direction=direction, dimension=dimension, columns=9)
    assert result.outputs["output"].shape == (70, dimension)


@pytest.mark.parametrize("threads", [1, 2, 8, 32])
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("dimension", [1, 3, 8, 20])
@pytest.mark.sample(12)
def test_lanes_over_words(dimension, direction, threads):
    for name in ("random", "star", "loops", "single", "no arcs", "one row"):
        run(GRAPHS[name], config(2, threads, cores=2), "vm:parallel=weights", direction,
            dimension=dimension, columns=7, density=0.5)


@pytest.mark.parametrize("together", ["yes", "no"])
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("schedule", ["em", "wm", "cm", "strict", "weaver", "weaver:works=3"])
@pytest.mark.sample(4)
def test_together(schedule, direction, together):
    for threads, dimension, names in ((4, 16, ("random", "single")), (16, 3, ("one row", "sparse")),
                                      (32, 16, ("random", "one column")), (1, 4, ("star",)),
                                      (8, 8, ("star", "no arcs"))):
        for name, gather in itertools.product(names, ("fsm", "stream")):
            if schedule == "weaver:works=3" and dimension > 2 * threads:
                continue                # so long that a branch does not reach
            if gather == "stream" and not schedule.startswith("weaver"):
                continue
            run(GRAPHS[name], config(4, threads, gather=gather, imem_bytes=1 << 15), schedule,
                direction, dimension=dimension, columns=20, together=together)


@pytest.mark.parametrize("format", ["csr", "ell:width=3", "dia", "g-shards"])
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("schedule", ["vm", "vm:parallel=weights", "vwc:width=4", "em", "weaver"])
@pytest.mark.sample(15)
def test_coefficients(schedule, direction, format):
    """Kernels compute the coefficients of the golden model, and no edge of the padding vertex adds
    anything."""
    if format == "g-shards" and schedule != "em":
        pytest.skip("no rows")
    for name in ("random", "star", "loops", "no arcs"):
        run(GRAPHS[name], schedule=schedule, direction=direction, format=format, dimension=3,
            columns=200, density=0.05, coefficients="computed")


def test_a_product_of_degrees_that_does_not_fit():
    count = 1 << 16
    ends = np.arange(1, count + 1), np.zeros(count, int)
    graph = Graph(count + 1, np.concatenate(ends), np.concatenate(ends[::-1]), name="star")
    loops = Graph(count + 1, np.append(graph.src, 0), np.append(graph.dst, 0), name="star")
    choose(graph, random_features(count + 1, 1, 0.5, 1), np.ones((1, 1)), "computed")
    with pytest.raises(UserError, match=r"star have the product 4295098369, .* below 4294967296"):
        choose(loops, random_features(count + 1, 1, 0.5, 1), np.ones((1, 1)), "computed")


@pytest.mark.parametrize("schedule, direction, clears", [
    ("vm", "pull", False), ("vwc:width=2", "pull", False), ("twc", "pull", False),
    ("vm:parallel=weights", "pull", False), ("vm", "push", True), ("em", "pull", True),
    ("weaver", "pull", True), ("etwc", "pull", True)])
def test_no_kernel_clears_what_a_lane_owns(schedule, direction, clears):
    assert ("init" in run(schedule=schedule, direction=direction, dimension=4).steps) == clears


@pytest.mark.parametrize("format", ["csr", "ell:width=3", "dia", "tigr:k=4", "cr2:cluster_bits=3"])
@pytest.mark.parametrize("columns", [1, 300])
def test_rectangles(columns, format):
    for direction in ("pull", "push"):
        run(hardware=config(2, 8, imem_bytes=1 << 15), schedule="vm", direction=direction,
            format=format, dimension=40, columns=columns, density=0.02)


@pytest.mark.parametrize("direction", ["pull", "push"])
def test_rows_of_a_core(direction):
    """All warps of a core share large rows, and merge several words."""
    for name in ("one row", "one column", "star"):
        run(GRAPHS[name], config(4, 4, imem_bytes=1 << 15), "twc:warp=3:core=9", direction,
            dimension=6, columns=7, density=0.5)


def test_ways_between_arrays():
    """The address of a vertex in an array of any width leads to its address in any other."""
    with Device.functional(config(1, 1, l1_bytes=1 << 8)) as device:
        task = device.plan("gcn", GRAPH, schedule="vm", dimension=40)
    k = Kernel(VirtualAssembler(), task.sides["spmm"], "none", None)
    arrays = (None, "end_in", "end_out", "weight", "product", "output")
    assert {task.buffers.width(array) for array in arrays[1:]} == {4, 256}
    assert all(k.address(array) % k.width(array) == 0 for array in arrays[1:])
    for array, other in itertools.product(arrays, arrays[1:]):
        places, distance = k.way(array, other)
        for vertex in (0, 1, 69):
            here = vertex if array is None else k.address(array) + k.width(array) * vertex
            there = (here << places if places >= 0 else here >> -places) + distance
            assert there & 0xFFFF_FFFF == k.address(other) + k.width(other) * vertex


def test_launches():
    steps = run(schedule="vm", dimension=40).steps
    assert steps["spmm"]["launches"] == steps["graphsum"]["launches"] == 3
    assert run(schedule="vm:parallel=weights", dimension=40).steps["spmm"]["launches"] == 1


def test_a_lane_that_pushes_keeps_its_words():
    """A lane loads the words of its vertex once. So a word more costs an edge three instructions:
    the product, the address and the atomic."""
    few, many = (run(hardware=config(1, 1), direction="push", dimension=dimension)
                 .steps["graphsum"]["instructions"] for dimension in (4, 16))
    assert many - few < 3.5 * (16 - 4) * len(GRAPH.src)


def test_accesses():
    """Lanes over words read the words of a row in one access: fewer lines than a lane a vertex."""
    with Device.simulate(preset("tiny")) as device:
        lines = {schedule: device.run("gcn", GRAPH, schedule=schedule, dimension=4,
                                      columns=9).counters["l1_accesses"]
                 for schedule in ("vm", "vm:parallel=weights")}
    assert 3 * lines["vm:parallel=weights"] < 2 * lines["vm"]


@pytest.mark.parametrize("together", ["yes", "no"])
@pytest.mark.parametrize("schedule, direction", [("vm:parallel=weights", "pull"), ("vwc", "push"),
                                                 ("weaver", "pull"), ("weaver", "push")])
def test_rtl(schedule, direction, together):
    with Device.simulate(preset("tiny").replace(cores=2, name="tiny")) as device:
        result = device.run("gcn", GRAPH, schedule=schedule, direction=direction, dimension=5,
                            columns=9, together=together)
    assert result.verified


@pytest.mark.parametrize("options, words", [
    ({"dimension": 0}, ["dimension is 0", "from 1 to 64"]),
    ({"dimension": 65}, ["dimension is 65", "from 1 to 64"]),
    ({"columns": 0}, ["columns is 0", "from 1"]),
    ({"density": 1.5}, ["density is 1.5", "from 0 to 1"]),
    ({"density": -0.1}, ["density is -0.1"]),
    ({"matrix_seed": -1}, ["matrix_seed is -1"]),
    ({"together": "maybe"}, ["together is 'maybe'", "yes or no"]),
    ({"coefficients": "no"}, ["coefficients is 'no'", "stored or computed"]),
    ({"columns": 1 << 20, "density": 1.0}, ["73400320 entries", "at most 67108864"]),
    ({"features": "a b"}, ["features is 'a b'", "without commas"]),
    ({"features": ""}, ["features is ''"]),
    ({"features": "x.npz", "density": 0.5}, ["density is for features that are drawn"])])
def test_refused(options, words):
    with pytest.raises(UserError) as error:
        run(**options)
    assert all(word in str(error.value) for word in words)


def test_a_program_that_is_too_long(monkeypatch):
    """A branch that does not reach is told as a program that does not fit."""
    monkeypatch.setattr("sw.compile.programs._DIVISORS", (1,))
    with pytest.raises(UserError, match="works=4 .* is too long for its branches"):
        run(hardware=config(2, 16, gather="fsm", imem_bytes=1 << 16), schedule="weaver:works=4",
            dimension=16)


def test_lanes_over_words_need_words():
    with pytest.raises(UserError, match="'pagerank' has one word for a vertex"):
        with Device.functional(config(2, 4)) as device:
            device.plan("pagerank", GRAPH, schedule="vm:parallel=weights")


def test_a_file_with_weights(tmp_path):
    path = tmp_path / "features.npz"
    np.savez(path, indptr=np.arange(71), indices=np.arange(70) % 4, data=np.arange(70),
             shape=(70, 4), weight=np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [-1, -2, -3]]),
             labels=np.array(["a"]))
    result = run(features=str(path))
    vertices = np.arange(70)
    bits = result.derived["fraction_bits"]
    assert result.outputs["product"][:, 0].tolist() == (
        vertices * np.array([1, 4, 7, -1])[vertices % 4] << bits).tolist()
    assert result.parameters["dimension"] == 3 and bits == result.parameters["weight_bits"] > 15
    with pytest.raises(UserError, match="weight has 3 columns, and dimension is 4"):
        run(features=str(path), dimension=4)
    with pytest.raises(UserError, match="has 70 rows, must have 90"):
        run(GRAPHS["random"], features=str(path))
