"""Valid files of every kind that Graphloom reads, made again each time."""

import bz2
import dataclasses
import json
import lzma
import pathlib
import struct

import numpy as np
import scipy.sparse

from checks.campaign.elf_files import elf
from hw.isa import MemoryMap, encode
from sw.compile.formats import find_image, image_names
from sw.compile.formats.store import save
from sw.graph.load import load
from sw.graph.save import write


__all__ = ["KINDS", "build", "serialized"]


#: Graphs, by the name of their files.
_GRAPHS = {"graph": "rmat:scale=5,degree=3,seed=1", "ring": "uniform:vertices=20,edges=60,seed=1"}

#: Kinds of files, by the end of their names.
KINDS = (".el", ".wel", ".mtx", ".gr", ".npz", ".el.gz", ".mtx.gz", ".gr.gz", ".graph", ".csv",
         ".txt", ".scipy.npz", ".array.mtx", ".complex.mtx", ".gephi.csv", ".ids.csv", ".adjlist",
         ".matrix", ".counted", ".el.bz2", ".csv.xz", ".gml", ".graphml", ".net", ".sg",
         ".wsg", ".image.npz", ".features.npz", ".elf",
         ".jsonl")

#: Kinds that programs other than Graphloom write.
_FOREIGN = KINDS[8:26]


def _dense(graph):
    """The weights of a graph as a matrix, 0 where there is no arc."""
    rows = [[0] * graph.num_vertices for _ in range(graph.num_vertices)]
    for u, v, w in zip(graph.src.tolist(), graph.dst.tolist(), graph.weights.tolist()):
        rows[u][v] = w
    return rows


def _lines(head, arcs, pattern):
    return head + "".join(pattern.format(u, v, w) for u, v, w in arcs)


#: {suffix: text of a graph and its arcs}; the first suffix that fits is taken.
_TEXTS = {
    ".gephi.csv": lambda graph, arcs: _lines("Source,Target,Type,Id,Label,Weight\n", arcs,
                                             '{},{},Directed,,"a, b",{}\n'),
    ".ids.csv": lambda graph, arcs: _lines("from;to;cost\n", arcs, "vertex {};vertex {};{}\n"),
    ".csv": lambda graph, arcs: _lines("source,target,weight\n", arcs, "{},{},{}\n"),
    ".csv.xz": lambda graph, arcs: _lines("source,target,weight\n", arcs, "{},{},{}\n"),
    ".el.bz2": lambda graph, arcs: _lines("# a graph\n", arcs, "{} {}\n"),
    ".counted": lambda graph, arcs: _lines(f"{graph.num_vertices} {len(arcs)}\n", arcs,
                                           "{} {} {}\n"),
    ".adjlist": lambda graph, arcs: "".join(
        " ".join(map(str, [vertex, *(v for u, v, _ in arcs if u == vertex)])) + "\n"
        for vertex in range(graph.num_vertices)),
    ".matrix": lambda graph, arcs: "".join(",".join(map(str, row)) + "\n"
                                           for row in _dense(graph)),
    ".gml": lambda graph, arcs: _lines(
        "graph [\n directed 1\n" + "".join(f' node [ id {vertex} label "v {vertex}" ]\n'
                                           for vertex in range(graph.num_vertices)),
        arcs, " edge [ source {} target {} weight {} ]\n") + "]\n",
    ".graphml": lambda graph, arcs: _lines(
        '<graphml><key id="w" for="edge" attr.name="weight" attr.type="int"/>\n<graph '
        'edgedefault="directed">\n', arcs, '<edge source="{}" target="{}"><data key="w">{}</data>'
        '</edge>\n') + "</graph></graphml>\n",
    ".net": lambda graph, arcs: _lines(
        f"*Vertices {graph.num_vertices}\n" + "".join(
            f'{vertex + 1} "v {vertex}"\n' for vertex in range(graph.num_vertices)) + "*Arcs\n",
        ((u + 1, v + 1, w) for u, v, w in arcs), "{} {} {}\n"),
    ".array.mtx": lambda graph, arcs: (
        f"%%MatrixMarket matrix array real general\n{graph.num_vertices} {graph.num_vertices}\n"
        + "".join(f"{value:.1f}\n" for row in zip(*_dense(graph)) for value in row)),
    ".complex.mtx": lambda graph, arcs: (
        f"%%MatrixMarket matrix coordinate complex general\n{graph.num_vertices} "
        f"{graph.num_vertices} {len(arcs)}\n"
        + "".join(f"{u + 1} {v + 1} {w} 0.5\n" for u, v, w in arcs)),
}


def serialized(graph, directed):
    """The bytes of a serialized graph of the GAP benchmarks, with weights if the graph has any."""
    text = struct.pack("<?qq", directed, graph.num_edges, graph.num_vertices)
    for reverse in (False, True)[:1 + directed]:
        offsets, neighbors, weights = graph.csr(reverse=reverse)
        ends = [neighbors] if weights is None else [neighbors, weights]
        text += offsets.astype("<i8").tobytes() + np.stack(ends, axis=1).astype("<i4").tobytes()
    return text


def _foreign(graph, path):
    """Write a graph in the form of another program, by the suffix of the path."""
    src, dst, weights = graph.src.tolist(), graph.dst.tolist(), graph.weights.tolist()
    if path.name.endswith(".npz"):
        scipy.sparse.save_npz(path, scipy.sparse.csr_array(
            (graph.weights.astype("int64"), (graph.src, graph.dst)),
            shape=(graph.num_vertices,) * 2))
    elif path.suffix in (".sg", ".wsg"):
        plain = dataclasses.replace(graph, weights=None)
        path.write_bytes(serialized(plain if path.suffix == ".sg" else graph, True))
    elif path.suffix == ".graph":
        pairs = sorted({(u, v) for u, v in zip(src, dst) if u < v})
        near = [[b + 1 for a, b in pairs if a == v] + [a + 1 for a, b in pairs if b == v]
                for v in range(graph.num_vertices)]
        path.write_text(f"{graph.num_vertices} {len(pairs)}\n"
                        + "".join(" ".join(map(str, row)) + "\n" for row in near))
    elif path.name.endswith(tuple(_TEXTS)):
        suffix = next(suffix for suffix in _TEXTS if path.name.endswith(suffix))
        text = _TEXTS[suffix](graph, list(zip(src, dst, weights))).encode()
        pack = {".bz2": bz2.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
        path.write_bytes(pack(text))
    else:
        path.write_text("# a graph\n" + "".join(
            f"{u} {v} {{'weight': {w}}}\n" for u, v, w in zip(src, dst, weights)))


def build(folder):
    """Write the files into a folder. Returns {kind: list of :class:`pathlib.Path`}.

    Every file is valid: the commands that :mod:`checks.campaign.fuzz.files` names accept it.
    """
    folder, found = pathlib.Path(folder), {kind: [] for kind in KINDS}
    for name, spec in _GRAPHS.items():
        plain, weighted = load(spec), load(spec, weights=9, seed=1)
        for kind in KINDS[:8]:
            path = folder / f"{name}{kind}"
            write(plain if kind.startswith(".el") else weighted, path)
            found[kind].append(path)
        for kind in _FOREIGN:
            path = folder / f"{name}{kind}"
            _foreign(weighted, path)
            found[kind].append(path)
    for name in image_names():
        path = folder / f"{name}.image.npz"
        save(find_image(name).build(load(_GRAPHS["graph"])), path)
        found[".image.npz"].append(path)
    for name, weights in (("entries", {}), ("weighted", {"weight": np.ones((5, 2))})):
        path = folder / f"{name}.features.npz"
        np.savez(path, indptr=np.arange(35), indices=np.arange(34) % 5,
                 data=np.linspace(-1, 1, 34), shape=(34, 5), labels=np.arange(34), **weights)
        found[".features.npz"].append(path)
    path, base = folder / "program.elf", int(MemoryMap.GLOBAL)
    path.write_bytes(elf([(0, encode("tmc").to_bytes(4, "little")), (base, b"\x2a\0\0\0")],
                         [("_start", 0, 4), ("result", base, 4)]))
    found[".elf"].append(path)
    path = folder / "figures.jsonl"
    path.write_text("".join(json.dumps({"key": f"case {number}", "cycles": number}) + "\n"
                            for number in range(3)))
    found[".jsonl"].append(path)
    return found
