"""Files of formats that are not read: each is refused by the name of its format.

====================================  =========================================================
feature                               tests
====================================  =========================================================
texts and binary files                test_named, test_compressed
formats that are read                 test_not_named
====================================  =========================================================
"""

import gzip
import io
import pathlib
import pickle
import tarfile

import networkx
import numpy as np
import pytest

from base.errors import UserError
from sw.graph import load


def tar(suffix=""):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=f"w{suffix}") as archive:
        info = tarfile.TarInfo("a/a.mtx")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"0 1\n"))
    return file.getvalue()


def npy():
    file = io.BytesIO()
    np.save(file, np.arange(9))
    return file.getvalue()


GRAPH = networkx.path_graph(3)

NAMED = [
    ("a.dot", b"digraph { 0 -> 1; }\n", "a DOT file"),
    ("a.gv", b"/* made by hand */\n// c\nstrict graph \"name\" {\n a -- b\n}\n", "a DOT file"),
    ("a.gexf", "\n".join(networkx.generate_gexf(GRAPH)).encode(), "a GEXF file"),
    ("a.html", b"<!doctype html>\n<html></html>", "an XML or HTML file"),
    ("a.json", b'{"nodes": [], "edges": 0}', "a JSON file"), ("a", b"[[0, 1]]", "a JSON file"),
    ("a.json", b'[["a", "b"]]', "a JSON file"), ("c.json", b'\n [{"source": 0}]', "a JSON file"),
    ("a.col", b"c x\np edge 3 2\ne 1 2\n", "a graph colouring file of DIMACS"),
    ("a.max", b"c\nc x\np max 3 2\nn 1 s\n", "a problem of DIMACS other than shortest paths"),
    ("a.adj", b"AdjacencyGraph\n3\n3\n0\n1\n2\n1\n2\n0\n", "an adjacency file of Ligra"),
    ("b.adj", b"WeightedAdjacencyGraph\n1\n0\n0\n", "an adjacency file of Ligra"),
    ("a.g6", b">>graph6<<Bw\n", "a graph6 or sparse6 file"),
    ("a.gdf", b"nodedef>name VARCHAR\na\n", "a GDF file"),
    ("a.dl", b"DL n=3 format=edgelist1\n", "a DL file"),
    ("a.tar", tar(), "a tar archive"), ("a.tar.gz", tar(":gz"), "a tar archive"),
    ("a.tar.bz2", tar(":bz2"), "a tar archive"), ("a.tgz", tar(":gz"), "a tar archive"),
    ("a.mtx", tar(), "a tar archive"), ("a.el.gz", tar(":gz"), "a tar archive"),
    ("b.tar.gz", gzip.compress(b"a/a.mtx" + bytes(600)), "a tar archive"),
    ("a.el.lz4", b"\x04\x22\x4d\x18" + bytes(9), "a file compressed by lz4"),
    ("a.7z", b"7z\xbc\xaf\x27\x1c\0\4", "a 7-Zip archive"),
    ("a.npy", npy(), "a single array of numpy"),
    ("a.h5", b"\x89HDF\r\n\x1a\n\0", "an HDF5 file"),
    ("a.mat", b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(128), "a MATLAB file"),
    ("a.pickle", pickle.dumps(GRAPH), "a pickle of Python"), ("a.pkl", pickle.dumps([1]), "a pick"),
    ("a.png", b"\x89PNG\r\n\x1a\n", "an image"), ("a.pdf", b"%PDF-1.7\n", "a PDF"),
    ("a.v", b"1\n2\n", "the vertices of an LDBC graph"),
    ("a.txt", b"\0\1\2\3", "a binary file"), ("a.el", b"0 1\n\0\0\0", "a binary file"),
]


@pytest.mark.parametrize("name, content, words", NAMED, ids=range(len(NAMED)))
def test_named(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message and message.isprintable()
    assert message.startswith(f"{path}: is {words}")
    assert "which Graphloom does not read; " in message


def test_compressed(tmp_path):
    """The contents of a compressed file are named."""
    path = tmp_path / "a.dot.gz"
    path.write_bytes(gzip.compress(b"graph { a -- b }"))
    with pytest.raises(UserError, match="is a DOT file"):
        load(path)


@pytest.mark.parametrize("name, text", [
    ("a.txt", "p sp 2 1\na 1 2 3\n"), ("a.csv", "p,q\n1,2\n"),
    ("a.csv", "graph,source,target\n7,0,1\n"),
    ("a.csv", "json,source,target\n{},0,1\n"), ("a.graph", "2 1\n2\n1\n"),
    ("a.txt", "# <xml>\n0 1\n"), ("a.txt", "% *vertices\n0 1\n"),
])
def test_not_named(tmp_path, name, text):
    path = pathlib.Path(tmp_path, name)
    path.write_text(text)
    options = {"columns": "p,q"} if text.startswith("p,q") else {}
    assert load(path, **options).num_edges >= 1
