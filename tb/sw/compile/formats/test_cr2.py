"""CR2: subgraphs, local IDs, the expand list, and edges that are added and deleted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from sw.compile.formats.cr2 import Cr2Image, Geometry, expand
from sw.compile.formats.cr2.geometry import INTER, INTRA
from sw.graph import Graph, generate
from tb.sw.graphs import graphs, random_graph

from .edges import edges_of, listed


@st.composite
def shapes(draw):
    """Options that make small clusters and small warps."""
    return {"cluster_bits": draw(st.sampled_from([1, 2, 3, 16])),
            "warp_bits": draw(st.integers(0, 5)),
            "bases": draw(st.sampled_from(["local", "global"])),
            "reorder": draw(st.sampled_from(["none", "none", "louvain", "rcm"]))}


directions = st.sampled_from(["push", "pull"])


def check_invariants(image):
    """Check the properties that every CR2 image has, however it was made."""
    image.check()
    shape = image.geometry
    local_dtype = np.uint8 if shape.cluster_bits <= 8 else np.uint16
    degrees = np.zeros((2, shape.num_vertices), dtype=int)
    for part, k in image.subgraphs():
        bases = image.global_bases(part, k)
        neighbors = image.of(part, k, "neighbors")
        assert len(neighbors) == len(bases) << k
        assert np.all(bases[1:] >= bases[:-1]), "records are ordered by vertex"
        if k < shape.warp_bits:
            assert np.all(bases[1:] > bases[:-1]), "one record a vertex below the largest degree"
        np.add.at(degrees[part], bases, 1 << k)
        if part == INTRA:
            assert neighbors.dtype == local_dtype
            assert not len(neighbors) or neighbors.max() < 1 << shape.cluster_bits
        else:
            assert neighbors.dtype == np.uint32
            assert np.all(shape.is_inter(np.repeat(bases, 1 << k), neighbors))
    for part, k in image.subgraphs():
        held = np.bincount(image.global_bases(part, k), minlength=shape.num_vertices)
        assert np.array_equal(held, degrees[part] >> k if k == shape.warp_bits
                              else degrees[part] >> k & 1)
    if "expand_offsets" in image.arrays:
        check_expand_list(image)


def check_expand_list(image):
    """Check that every record is pointed to once, by its vertex."""
    offsets, pointers = image.arrays["expand_offsets"], image.arrays["expand_pointers"]
    owners = np.repeat(np.arange(image.num_vertices), np.diff(offsets.astype(int)))
    parts, logs, places = expand.unpack(pointers, image.geometry.warp_bits)
    seen = set()
    for owner, part, k, place in zip(owners.tolist(), parts.tolist(), logs.tolist(),
                                     places.tolist()):
        assert image.global_bases(part, k)[place] == owner
        seen.add((part, k, place))
    assert len(seen) == len(pointers) == sum(image.records(*at) for at in image.subgraphs())


@given(graph=graphs(max_vertices=20, max_edges=90), shape=shapes(), direction=directions)
def test_built(graph, shape, direction):
    image = Cr2Image.build(graph, direction, **shape)
    check_invariants(image)
    assert listed(*image.edges()) == edges_of(graph)


@given(graph=graphs(max_vertices=20, max_edges=90), shape=shapes(), direction=directions)
def test_neighbors(graph, shape, direction):
    image = Cr2Image.build(graph, direction, **shape)
    bases, ends = (graph.src, graph.dst) if direction == "push" else (graph.dst, graph.src)
    for vertex in range(graph.num_vertices):
        neighbors, weights = image.neighbors(vertex)
        own = bases == vertex
        assert listed(neighbors, neighbors, weights) == listed(
            ends[own], ends[own], None if weights is None else graph.weights[own])


def test_sizes():
    """A vertex with 45 edges inside its cluster and 3 beyond, worked out by hand."""
    ends = [1] * 45 + [4, 5, 6]
    image = Cr2Image.build(Graph(8, [0] * 48, ends), cluster_bits=2)
    records = {(row["part"], row["degree"]): row["records"] for row in image.sizes()}
    assert {at for at, count in records.items() if count} == {
        ("intra", 32), ("intra", 8), ("intra", 4), ("intra", 1), ("inter", 2), ("inter", 1)}
    assert image.intra_share == 45 / 48
    assert image.arrays["expand_offsets"].tolist() == [0] + [6] * 8
    # Figure 3.6 with w = 5: 1 bit for the part, 3 for the degree's logarithm, 28 for the offset.
    assert image.arrays["expand_pointers"].tolist() == [
        0x5000_0000, 0x3000_0000, 0x2000_0000, 0x0000_0000, 0x9000_0000, 0x8000_0000]
    assert image.arrays["inter_2_neighbors"].tolist() == [4, 5]
    assert image.expand_nbytes == 4 * (9 + 6)
    # 4 + 2 records of 1 and 4 bytes; 45 neighbours of 1 byte, 3 of 4; 6 x 3 words of starts.
    assert image.nbytes == 4 + 2 * 4 + 45 + 3 * 4 + 6 * 3 * 4 + 60


def test_edges_fill_the_largest_records_first():
    """Algorithm 3.3: 7 edges in ascending order make records of 4, 2 and 1."""
    arrays = Cr2Image.build(Graph(9, [8] * 7, range(7)), cluster_bits=8, warp_bits=2).arrays
    assert arrays["intra_4_neighbors"].tolist() == [0, 1, 2, 3]
    assert arrays["intra_2_neighbors"].tolist() == [4, 5]
    assert arrays["intra_1_neighbors"].tolist() == [6]


@pytest.mark.parametrize("bits, dtype", [(1, np.uint8), (8, np.uint8), (9, np.uint16),
                                         (16, np.uint16)])
def test_local_ids(bits, dtype):
    """Equation 3.1 holds, and the last vertex of a full cluster fits."""
    shape = Geometry(num_vertices=200_000, cluster_bits=bits, warp_bits=5, local_bases=True)
    vertices = np.array([0, (1 << bits) - 1, 1 << bits, 199_999], dtype=np.uint32)
    assert shape.local(vertices).dtype == dtype
    assert np.array_equal(shape.globally(vertices >> bits, shape.local(vertices)), vertices)
    assert shape.clusters == -(-200_000 // (1 << bits))


@given(data=st.data(), warp_bits=st.integers(0, 5), part=st.sampled_from([INTRA, INTER]))
def test_pointers_round_trip(data, warp_bits, part):
    degree_bits, offset_bits = expand.fields(warp_bits)
    assert 1 << degree_bits >= warp_bits + 1 and 1 + degree_bits + offset_bits == 32
    k = data.draw(st.integers(0, warp_bits))
    offset = data.draw(st.integers(0, (1 << offset_bits) - 1))
    pointer = expand.pack(part, k, [offset], warp_bits)
    assert [int(value[0]) for value in expand.unpack(pointer, warp_bits)] == [part, k, offset]


def test_pointer_too_wide():
    with pytest.raises(UserError, match="268435456 records.*expand=no"):
        expand.pack(INTRA, 3, [1 << 28], 5)


@settings(max_examples=60)
@given(data=st.data(), graph=graphs(max_vertices=9, max_edges=40), shape=shapes(),
       direction=directions, listed_too=st.booleans())
def test_updates_equal_rebuilding(data, graph, shape, direction, listed_too):
    """After edges were added and deleted, the image equals the image built from the present edges.
    The arrays are the same, with the neighbours of a vertex in any order."""
    shape = {**shape, "reorder": "none", "expand": listed_too}
    image = Cr2Image.build(graph, direction, **shape)
    edges = edges_of(graph)
    vertex = st.integers(0, graph.num_vertices - 1)
    for _ in range(data.draw(st.integers(1, 12))):
        if edges and data.draw(st.booleans()):
            source, destination, weight = edges.pop(data.draw(st.integers(0, len(edges) - 1)))
            image.delete_edge(source, destination, weight if image.weighted else None)
        else:
            weight = data.draw(st.integers(0, 3)) if image.weighted else 0
            edges.append((data.draw(vertex), data.draw(vertex), weight))
            image.add_edge(*edges[-1][:2], weight if image.weighted else None)
    sources, destinations, weights = zip(*edges) if edges else ((), (), ())
    rebuilt = Cr2Image.build(
        Graph(graph.num_vertices, sources, destinations, weights if image.weighted else None),
        direction, **shape)
    check_invariants(image)
    assert listed(*image.edges()) == sorted(edges)
    assert image.num_edges == rebuilt.num_edges == len(edges)
    for name, array in rebuilt.arrays.items():
        assert image.arrays[name].dtype == array.dtype
        if not name.endswith(("neighbors", "weights")):
            assert np.array_equal(image.arrays[name], array), name


def test_figure_3_7():
    """A vertex of degree 3 has a record of 2 and a record of 1. A fourth edge makes one record of 4
    of them. When an edge goes, both records are back."""
    image = Cr2Image.build(Graph(8, [4, 4, 4, 0], [1, 2, 3, 0]), cluster_bits=4, warp_bits=2)

    def sizes():
        return [image.records(INTRA, k) for k in (2, 1, 0)]

    assert sizes() == [0, 1, 2]
    image.add_edge(4, 7)
    assert sizes() == [1, 0, 1] and sorted(image.neighbors(4)[0]) == [1, 2, 3, 7]
    image.delete_edge(4, 2)
    assert sizes() == [0, 1, 2] and sorted(image.neighbors(4)[0]) == [1, 3, 7]
    check_invariants(image)


def test_updates_of_reordered_vertices():
    graph = random_graph(60, 300, 2, weights=True)
    image = Cr2Image.build(graph, "pull", cluster_bits=3, reorder="louvain")
    edges = edges_of(graph)
    image.add_edge(3, 59, 17)
    image.delete_edge(*edges[5])
    after = sorted(edges[:5] + edges[6:] + [(3, 59, 17)])
    assert listed(*image.edges()) == after
    for vertex in range(60):
        assert sorted(image.neighbors(vertex)[0]) == sorted(u for u, v, _ in after if v == vertex)
    check_invariants(image)


def test_deletes_the_lightest():
    image = Cr2Image.build(Graph(2, [0] * 4, [1] * 4, [7, 3, 9, 3]))
    image.delete_edge(0, 1)
    assert listed(*image.edges()) == [(0, 1, 3), (0, 1, 7), (0, 1, 9)]
    image.delete_edge(0, 1, 9)
    assert listed(*image.edges()) == [(0, 1, 3), (0, 1, 7)]


def test_updates_refused():
    plain = Cr2Image.build(Graph(3, [0], [1], name="three"))
    heavy = Cr2Image.build(Graph(3, [0], [1], [5]))
    without = Cr2Image.build(Graph(3, [0], [1]), expand=False)
    for act, words in [
            (lambda: plain.add_edge(0, 3), "three: destination is 3, must be from 0 to 2"),
            (lambda: plain.add_edge(-1, 0), "source is -1, must be from 0 to 2"),
            (lambda: plain.add_edge(0, 1, 4), "no weights"),
            (lambda: heavy.add_edge(0, 1), "no weight"),
            (lambda: heavy.add_edge(0, 1, 1 << 32), "4294967295"),
            (lambda: heavy.add_edge(0, 1, -1), "-1"),
            (lambda: plain.delete_edge(1, 0), "no edge from 1 to 0"),
            (lambda: heavy.delete_edge(0, 1, 6), "no edge from 0 to 1 of weight 6"),
            (lambda: plain.neighbors(3), "vertex is 3"),
            (lambda: without.neighbors(0), "expand=no")]:
        with pytest.raises(UserError, match=words):
            act()
    assert [image.num_edges for image in (plain, heavy, without)] == [1, 1, 1]
    assert listed(*heavy.edges()) == [(0, 1, 5)]


def test_full_subgraphs_stay_as_they_are(monkeypatch):
    """If a further record could not be pointed to, nothing changes. Here offsets have 2 bits."""
    image = Cr2Image.build(Graph(9, [0, 1, 2, 3], [1, 2, 3, 4]))
    monkeypatch.setattr(expand, "fields", lambda warp_bits: (3, 2))
    before = {name: array.copy() for name, array in image.arrays.items()}
    with pytest.raises(UserError, match="more than 4 records"):
        image.add_edge(4, 5)
    assert image.num_edges == 4
    for name, array in before.items():
        assert np.array_equal(image.arrays[name], array)


def test_reordering_finds_communities():
    """Reordering brings communities together again whose vertices were numbered at random."""
    text = "community:vertices=4000,edges=60000,communities=40,mixing=0.05,shuffle=1,seed=1"
    graph = generate(text)
    plain = Cr2Image.build(graph, cluster_bits=8)
    louvain = Cr2Image.build(graph, cluster_bits=8, reorder="louvain")
    assert plain.intra_share < 0.2 and louvain.intra_share > 0.6
    assert louvain.nbytes < plain.nbytes
