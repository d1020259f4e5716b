"""Every format: its arrays hold exactly the graph, and are as its page says."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UserError
from sw.compile import formats
from sw.study.benchmarks.formats import measure
from sw.compile.formats.image import ABSENT, METHODS, Image
from sw.graph import Graph, generate, load
from sw.graph.order import ORDERS
from tb.sw.graphs import graphs, random_graph, real_graph

from .edges import edges_of, listed


#: Formats with options that change the stored arrays.
VARIANTS = [
    "csr", "coo", "coo:offsets=no", "ell", "ell:width=1", "ell:width=7:rest=csr", "dia",
    "dia:diagonals=5:choose=full", "dia:diagonals=1", "g-shards", "g-shards:shard=3",
    "block-coo", "block-coo:block=3", "coo:block=1:offsets=no", "tigr", "tigr:k=1", "tigr:k=3",
    "csr:block=5:reorder=rcm", "ell:width=2:block=3", "dia:block=4", "tigr:k=2:block=6", "cr2",
    "cr2:cluster_bits=2", "cr2:cluster_bits=1:warp_bits=0:bases=global",
    "cr2:cluster_bits=3:warp_bits=2:expand=no", "cr2:cluster_bits=2:warp_bits=1:reorder=louvain",
]


def test_every_format_has_a_variant():
    names = {text.partition(":")[0] for text in VARIANTS}
    assert names == {
        *formats.image_names(), *formats.ALIASES}


#: Formats whose arrays have clusters, shards and virtual vertices on a small graph.
SMALL = {"cr2": "cr2:cluster_bits=2:warp_bits=2", "ell": "ell:width=2",
         "g-shards": "g-shards:shard=4", "tigr": "tigr:k=2"}

BLOCKED = [name for name in formats.image_names()
           if formats.find_image(name).UNBLOCKED is None]

orders = st.sampled_from(list(ORDERS))


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("text", VARIANTS)
@given(graph=graphs())
@pytest.mark.sample(13)
def test_edges_come_back(text, direction, graph):
    image = formats.build_image(graph, text, direction)
    image.check()
    assert listed(*image.edges()) == edges_of(graph)
    assert (image.edges()[2] is None) == (graph.weights is None)
    assert image.nbytes == sum(array.nbytes for array in image.arrays.values())
    assert (image.num_vertices, image.num_edges) == (graph.num_vertices, graph.num_edges)


@pytest.mark.parametrize("text", VARIANTS)
@pytest.mark.parametrize("graph", [
    Graph(1, [], []), Graph(1, [0, 0], [0, 0]), Graph(9, [], [], []),
    Graph(5, [4] * 70, [4, 3] * 35, range(70)), random_graph(700, 9000, 3),
    random_graph(300, 20, 4, weights=True),
], ids=["one vertex", "one vertex, loops", "no arcs", "parallel arcs", "large", "isolated"])
def test_shapes(text, graph):
    for direction in ("push", "pull"):
        image = formats.build_image(graph, text, direction)
        image.check()
        assert listed(*image.edges()) == edges_of(graph)


@given(graph=graphs())
def test_csr(graph):
    """The arrays are those of Graph.csr, with weights of parallel arcs in any order."""
    for direction in ("push", "pull"):
        image = formats.build_image(graph, "csr", direction)
        offsets, neighbors, _ = graph.csr(reverse=direction == "pull")
        assert np.array_equal(image.arrays["offsets"], offsets)
        assert np.array_equal(image.arrays["neighbors"], neighbors)


def test_figure_3_1():
    """The thesis's example graph in the formats of its figure 3.1. Tigr splits a vertex of 5 edges
    into 2 and 3 in the figure, and into 3 and 2 here."""
    offsets = [0, 2, 3, 4, 6, 8, 10, 11, 12, 17, 18, 19, 24]
    ends = [1, 7, 7, 10, 2, 4, 6, 10, 2, 10, 5, 1, 0, 1, 7, 9, 11, 6, 3, 1, 2, 5, 7, 9]
    graph = Graph(12, np.repeat(range(12), np.diff(offsets)), ends)
    csr = formats.build_image(graph, "csr").arrays
    assert csr["offsets"].tolist() == offsets and csr["neighbors"].tolist() == ends
    tigr = formats.build_image(graph, "tigr:k=3").arrays
    assert tigr["bases"].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10, 11, 11]
    assert tigr["offsets"].tolist() == [0, 2, 3, 4, 6, 8, 10, 11, 12, 15, 17, 18, 19, 22, 24]
    shards = formats.build_image(graph, "g-shards:shard=4").arrays
    assert shards["shard_offsets"].tolist() == [0, 9, 18, 24]
    assert shards["dest_ids"][:9].tolist() == [1, 2, 2, 1, 0, 1, 3, 1, 2]
    assert shards["src_ids"][:9].tolist() == [0, 3, 5, 7, 8, 8, 10, 11, 11]
    assert shards["dest_ids"][18:].tolist() == [10, 10, 10, 9, 11, 9]
    assert shards["src_ids"][18:].tolist() == [2, 4, 5, 8, 8, 11]
    assert formats.build_image(graph, "g-shards").scratch == {"src_values": (np.uint32, 24)}


@given(graph=graphs(), k=st.integers(1, 5))
def test_tigr(graph, k):
    image = formats.find_image("tigr").build(graph, k=k)
    lengths = np.diff(image.arrays["offsets"].astype(int))
    assert lengths.size == 0 or 1 <= lengths.min() <= lengths.max() <= k
    degrees = graph.out_degrees
    assert len(lengths) == int((-(-degrees // k)).sum())


@pytest.mark.parametrize("name", BLOCKED)
@given(graph=graphs(), order=orders, block=st.sampled_from([1, 3, 16, (1 << 31) - 1]))
def test_blocks_and_orderings(name, graph, order, block):
    """The edges come back with every block and ordering, in both directions."""
    text = f"{SMALL.get(name, name)}:reorder={order}:block={block}"
    for direction in ("push", "pull"):
        image = formats.build_image(graph, text, direction)
        image.check()
        assert listed(*image.edges()) == edges_of(graph)
        assert image.virtual and "getNeighbor" not in image.lacks


@pytest.mark.parametrize("name", formats.image_names())
@given(graph=graphs(), order=orders)
def test_orderings(name, graph, order):
    """The edges come back, the image's bytes are those of its arrays, and the new numbers make the
    same image as a graph with these numbers."""
    text = SMALL.get(name, name)
    for direction in ("push", "pull"):
        image = formats.build_image(graph, f"{text}:reorder={order}", direction)
        image.check()
        assert listed(*image.edges()) == edges_of(graph)
        ids = image.new_ids
        assert (ids is None) == (order == "none") == (not image.host)
        if ids is not None:
            again = formats.build_image(
                Graph(graph.num_vertices, ids[graph.src], ids[graph.dst], graph.weights), text,
                direction)
            assert image.nbytes == again.nbytes and list(image.arrays) == list(again.arrays)
            assert all(np.array_equal(array, again.arrays[at])
                       for at, array in image.arrays.items())


@given(graph=graphs(), block=st.integers(1, 13))
def test_blocks(graph, block):
    """Blocks are ranges of neighbours, one after another. A row has the edges of a vertex in one
    block; the vertices of a block ascend, and the neighbours of a row."""
    image = formats.build_image(graph, f"csr:block={block}")
    offsets, bases, neighbors = (image.arrays[name].astype(int)
                                 for name in ("offsets", "row_bases", "neighbors"))
    assert np.all(np.diff(neighbors // block) >= 0) and np.all(np.diff(offsets) > 0)
    rows = [(int(neighbors[first]) // block, int(base)) for base, first in zip(bases, offsets)]
    assert rows == sorted(set(rows))
    for first, end in itertools.pairwise(offsets):
        assert len(set(neighbors[first:end] // block)) == 1
        assert np.all(np.diff(neighbors[first:end]) >= 0)


@given(graph=graphs(), block=st.integers(1, 13))
def test_one_blocking(graph, block):
    """Every format that has blocks has the same rows; the widest row of ELL has all of its edges.
    Block-COO is COO with blocks."""
    csr, coo, ell, tigr, named = (
        formats.build_image(graph, f"{text}:block={block}").arrays
        for text in ("csr", "coo", "ell:width=30", "tigr:k=65536", "block-coo"))
    for arrays in (coo, named):
        assert np.array_equal(arrays["bases"],
                              csr["row_bases"].repeat(np.diff(csr["offsets"].astype(int))))
    for arrays in (coo, tigr, named):
        for name in ("neighbors", "offsets"):
            assert np.array_equal(arrays[name], csr[name])
    for bases in (coo["row_bases"], named["row_bases"], ell["row_bases"], tigr["bases"]):
        assert np.array_equal(bases, csr["row_bases"])
    longest = int(np.diff(csr["offsets"].astype(int)).max(initial=0))
    if longest <= 30:
        assert np.array_equal(ell["data"][ell["data"] != ABSENT], csr["neighbors"])


def test_diagonals_are_not_blocked():
    """Only the rest of DIA is in blocks."""
    graph = Graph(8, [0, 1, 2, 0, 1, 2], [1, 2, 3, 7, 4, 0])
    arrays = formats.build_image(graph, "dia:block=4").arrays
    assert arrays["present"].reshape(-1, 2).sum() == 3
    assert list(zip(arrays["rest_bases"], arrays["rest_neighbors"])) == [(2, 0), (0, 7), (1, 4)]
    assert arrays["row_bases"].tolist() == [2, 0, 1]
    assert arrays["rest_offsets"].tolist() == [0, 1, 2, 3]


@given(graph=graphs(), width=st.integers(1, 6))
def test_ell(graph, width):
    image = formats.find_image("ell").build(graph, width=width)
    data = image.arrays["data"].reshape(-1, width)
    counts = image.arrays["counts"]
    assert np.array_equal(counts, np.minimum(graph.out_degrees, width))
    for row, count in zip(data, counts):
        assert ABSENT not in row[:count] and set(row[count:]) <= {ABSENT}
    rest = np.diff(image.arrays["rest_offsets"].astype(int))
    assert np.array_equal(rest, np.maximum(graph.out_degrees - width, 0))


def test_ell_width_rule():
    """A third of the vertices fill the width: 4 of 12 vertices have 5 edges or more here."""
    degrees = [9, 7, 6, 5, 4, 4, 3, 2, 1, 1, 0, 0]
    graph = Graph(12, np.repeat(range(12), degrees), np.zeros(sum(degrees), dtype=int))
    assert formats.build_image(graph, "ell").options["width"] == 5
    assert formats.build_image(Graph(3, [], []), "ell").options["width"] == 1


def test_dia_takes_the_diagonals():
    line = Graph(6, [0, 1, 2, 3, 4, 1, 1, 5], [1, 2, 3, 4, 5, 0, 0, 2])
    near = formats.build_image(line, "dia").arrays
    assert near["diagonals"].tolist() == [1, -1]
    assert near["present"].reshape(-1, 2).tolist() == [[1, 0], [1, 1], [1, 0], [1, 0], [1, 0],
                                                       [0, 0]]
    assert list(zip(near["rest_bases"], near["rest_neighbors"])) == [(1, 0), (5, 2)]
    full = formats.build_image(Graph(9, [0, 1, 2, 3], [4, 5, 6, 2]), "dia:choose=full")
    assert full.arrays["diagonals"].tolist() == [4, -1]


@pytest.mark.parametrize("text, words", [
    ("zip", ["zip", "csr", "cr2"]),
    ("csr:k=3", ["csr", "no option 'k'", "reorder, rounds, sample, block"]),
    ("tigr:j=3", ["tigr", "j", "k"]),
    ("tigr:k=0", ["tigr", "k is '0'", "1 to 65536"]),
    ("tigr:k=many", ["k is 'many'", "1 to 65536"]),
    ("tigr:k", ["OPTION=VALUE"]),
    ("tigr:k=2:k=3", ["k", "twice"]),
    ("ell:width=0", ["width", "1 to 65536"]),
    ("ell:rest=dia", ["rest", "coo or csr"]),
    ("coo:offsets=2", ["offsets", "yes or no"]),
    ("dia:diagonals=65", ["diagonals", "1 to 64"]),
    ("g-shards:shard=0", ["shard", "1 to 2147483647"]),
    ("block-coo:block=0", ["coo: block is '0'", "1 to 2147483647"]),
    ("csr:block=0", ["csr: block is '0'", "1 to 2147483647"]),
    ("csr:block=2147483648", ["block is '2147483648'", "1 to 2147483647"]),
    ("csr:block=", ["block is ''", "1 to 2147483647"]),
    ("dia:block=none", ["block is 'none'", "1 to 2147483647"]),
    ("g-shards:block=8", ["g-shards has no option 'block'", "shard=N sets"]),
    ("cr2:block=8", ["cr2 has no option 'block'", "cluster_bits sets"]),
    ("csr:reorder=sort", ["csr: reorder is 'sort'", "none or louvain or rcm"]),
    ("block-coo:virtual=no", ["coo has no option 'virtual'", "offsets, reorder, rounds"]),
    ("cr2:cluster_bits=17", ["cluster_bits", "17", "1 to 16"]),
    ("cr2:cluster_bits=0", ["cluster_bits", "1 to 16"]),
    ("cr2:warp_bits=6", ["warp_bits", "0 to 5"]),
    ("cr2:bases=wide", ["bases", "local or global"]),
    ("cr2:reorder=sort", ["reorder", "none or louvain or rcm or gorder or sage"]),
    ("csr:reorder=sage:rounds=0", ["rounds is '0'", "an integer from 1 to 100"]),
    ("csr:reorder=sage:sample=101", ["sample is '101'", "an integer from 1 to 100"]),
    ("csr:rounds=2", ["reorder=none takes no rounds", "reorder=sage does"]),
    ("ell:reorder=rcm:sample=50", ["reorder=rcm takes no rounds and no sample"]),
])
def test_options_refused(text, words):
    with pytest.raises(UserError) as error:
        formats.build_image(Graph(1, [], []), text)
    for word in words:
        assert word in str(error.value)


def test_no_blocks_unless_a_format_says_so():
    class Plain(Image):
        """A format that knows nothing of blocks."""
        format = "plain"

    assert list(Plain.OPTIONS) == ["reorder", "rounds", "sample"]
    with pytest.raises(UserError, match="plain has no option 'block': its rows are not divided"):
        Plain.settle({"block": 3})


def test_larger_than_the_device():
    graph = Graph(20_000_000, [0], [1])
    with pytest.raises(UserError, match="ell would take 5,242,880,000,000 bytes.*2,147,483,648"):
        formats.build_image(graph, "ell:width=65536")


def test_too_little_memory(monkeypatch):
    def fill(image, bases, neighbors, weights):
        raise MemoryError

    monkeypatch.setattr(formats.find_image("ell"), "fill", fill)
    with pytest.raises(UserError, match="karate: .* too little memory to build format ell"):
        formats.build_image(load("karate"), "ell")


def test_direction_refused():
    with pytest.raises(UserError, match="sideways.*push or pull"):
        formats.build_image(Graph(1, [], []), "csr", "sideways")


@pytest.mark.parametrize("text", VARIANTS)
def test_what_a_format_lacks_has_a_reason(text):
    image = formats.build_image(random_graph(20, 50, 1), text)
    assert set(image.lacks) <= set(METHODS)
    for method in METHODS:
        if method not in image.lacks:
            image.require(method)
            continue
        with pytest.raises(UserError) as error:
            image.require(method)
        assert image.lacks[method] in str(error.value) and image.format in str(error.value)
    with pytest.raises(ValueError):
        image.require("getWeight")


def test_an_image_is_made_once():
    """For each graph, format and direction."""
    one, other = random_graph(9, 20, 1), random_graph(9, 20, 1)
    asked = list(itertools.product((one, other), ("csr", "coo"), ("push", "pull")))
    images = [formats.image_of(*each) for each in asked]
    assert len(set(map(id, images))) == len(asked)
    assert [formats.image_of(*each) for each in asked] == images
    assert formats.build_image(*asked[0]) is not images[0]


def test_what_is_offered():
    def lacks(text):
        return set(formats.build_image(Graph(1, [], []), text).lacks)

    virtual = {"initTopology", "topologyGather"}
    assert lacks("csr") == lacks("coo") == lacks("ell") == lacks("dia") == lacks("tigr") == virtual
    assert lacks("coo:offsets=no") == virtual | {"getNeighbor"}
    assert lacks("g-shards") == {"getNeighbor"}
    assert lacks("block-coo") == lacks("csr:block=3") == lacks("ell:block=1") == virtual
    assert lacks("coo:block=2:offsets=no") == virtual | {"getNeighbor"}
    assert lacks("cr2") == {"topologyGather"} and lacks("cr2:expand=no") == virtual


def test_build_cost():
    """Memory above the graph's own is less than 2 GiB for 10 million edges. The test has a fortieth
    of the size."""
    rng = np.random.default_rng(1)
    graph = Graph(12_500, rng.integers(12_500, size=250_000), rng.integers(12_500, size=250_000))
    names = [*formats.image_names(), "cr2:cluster_bits=8"]
    for figure in measure(graph, names, repeat=1, memory=True):
        assert figure.nbytes < figure.peak < (2 << 30) / 40, figure.text


def test_memory_of_cr2():
    """CR2 takes less than Tigr, and less than CSR if communities are pronounced."""
    graph = generate("community:vertices=70000,edges=700000,communities=70,mixing=0.1,seed=1")
    csr, tigr, cr2, louvain = (figure.nbytes for figure in measure(
        graph, ["csr", "tigr", "cr2", "cr2:reorder=louvain"], repeat=1))
    assert cr2 < csr < tigr and louvain < csr


@pytest.mark.parametrize("file", ["facebook-combined.el.gz", "email-enron.el.gz",
                                  "road-rome99.wel", "road-bay.el.gz"])
def test_memory_of_real_graphs(file):
    """docs/formats.md: CR2 takes less than Tigr everywhere, roads included."""
    graph = load(real_graph(file), undirected=file != "road-rome99.wel")
    graph = Graph(graph.num_vertices, graph.src, graph.dst)
    csr, tigr, cr2 = (figure.nbytes for figure in measure(graph, ["csr", "tigr", "cr2"], repeat=1))
    assert cr2 < tigr and (cr2 < csr) == (not file.startswith("road"))
