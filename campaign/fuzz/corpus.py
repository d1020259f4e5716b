"""Valid files of every kind that Graphloom reads, made anew each time."""

import json
import pathlib
import struct

import scipy.sparse

from hw.isa import MemoryMap
from sw.formats import find_image, image_names
from sw.formats.store import save
from sw.graph.load import load
from sw.graph.save import write


__all__ = ["KINDS", "build", "elf"]


#: Graphs, by the name of their files.
_GRAPHS = {"graph": "rmat:scale=5,degree=3,seed=1", "ring": "uniform:vertices=20,edges=60,seed=1"}

#: Kinds of files, by the end of their names.
KINDS = (".el", ".wel", ".mtx", ".gr", ".npz", ".el.gz", ".mtx.gz", ".gr.gz", ".graph", ".csv",
         ".txt", ".scipy.npz", ".image.npz", ".elf", ".jsonl")


def elf():
    """A program of one instruction (``tmc x0``) and a word of data, ``result``, as ELF bytes."""
    text, data = struct.pack("<I", 0x0000000B), struct.pack("<I", 42)
    strings, names = b"\0result\0", b"\0.symtab\0.strtab\0.shstrtab\0"
    base = int(MemoryMap.GLOBAL)
    symbols = bytes(16) + struct.pack("<IIIBBH", 1, base, 4, 0x11, 0, 0xFFF1)
    place = 52 + 2 * 32
    offsets = {}
    for name, content in (("text", text), ("data", data), ("symbols", symbols),
                          ("strings", strings), ("names", names)):
        offsets[name] = place, len(content)
        place += len(content)

    def section(name, kind, part, link=0, info=0, entry=0):
        return struct.pack("<10I", name, kind, 0, 0, *offsets[part], link, info, 1, entry)
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack(
        "<HHIIIIIHHHHHH", 2, 243, 1, 0, 52, place, 0, 52, 32, 2, 40, 4, 3)
    segments = b"".join(
        struct.pack("<8I", 1, offsets[part][0], address, address, 4, 4, flags, 4)
        for part, address, flags in (("text", 0, 5), ("data", base, 6)))
    sections = (bytes(40) + section(1, 2, "symbols", link=2, info=1, entry=16)
                + section(9, 3, "strings") + section(17, 3, "names"))
    return header + segments + text + data + symbols + strings + names + sections


def _foreign(graph, path):
    """Write a graph as METIS, a comma-separated list, networkx and scipy write it."""
    src, dst, weights = graph.src.tolist(), graph.dst.tolist(), graph.weights.tolist()
    if path.name.endswith(".npz"):
        scipy.sparse.save_npz(path, scipy.sparse.csr_array(
            (graph.weights.astype("int64"), (graph.src, graph.dst)),
            shape=(graph.num_vertices,) * 2))
    elif path.suffix == ".graph":
        pairs = sorted({(u, v) for u, v in zip(src, dst) if u < v})
        near = [[b + 1 for a, b in pairs if a == v] + [a + 1 for a, b in pairs if b == v]
                for v in range(graph.num_vertices)]
        path.write_text(f"{graph.num_vertices} {len(pairs)}\n"
                        + "".join(" ".join(map(str, row)) + "\n" for row in near))
    elif path.suffix == ".csv":
        path.write_text("source,target,weight\n" + "".join(
            f"{u},{v},{w}\n" for u, v, w in zip(src, dst, weights)))
    else:
        path.write_text("# a graph\n" + "".join(
            f"{u} {v} {{'weight': {w}}}\n" for u, v, w in zip(src, dst, weights)))


def build(folder):
    """Write the files into a folder. Returns their paths by kind, lists of :class:`pathlib.Path`.

    Every file is valid: the commands that :mod:`campaign.fuzz.files` names accept it.
    """
    folder, found = pathlib.Path(folder), {kind: [] for kind in KINDS}
    for name, spec in _GRAPHS.items():
        plain, weighted = load(spec), load(spec, weights=9, seed=1)
        for kind in KINDS[:8]:
            path = folder / f"{name}{kind}"
            write(plain if kind.startswith(".el") else weighted, path)
            found[kind].append(path)
        for kind in KINDS[8:12]:
            path = folder / f"{name}{kind}"
            _foreign(weighted, path)
            found[kind].append(path)
    for name in image_names():
        path = folder / f"{name}.image.npz"
        save(find_image(name).build(load(_GRAPHS["graph"])), path)
        found[".image.npz"].append(path)
    path = folder / "program.elf"
    path.write_bytes(elf())
    found[".elf"].append(path)
    path = folder / "figures.jsonl"
    path.write_text("".join(json.dumps({"key": f"case {number}", "cycles": number}) + "\n"
                            for number in range(3)))
    found[".jsonl"].append(path)
    return found
