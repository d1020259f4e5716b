"""Formats of files that are known by their first bytes or by their suffix.

A file of a format that Graphloom does not read is refused by the name of the format, with what
helps.
"""

import os
import re

from base.errors import UserError

from .source import unpacked_name


__all__ = ["by_content", "refuse_unreadable"]


#: Bytes of a text that are looked at.
_START = 4096

_UNPACK = "unpack it and give the graph's file"
_CONVERT = "networkx or igraph can read it and write an edge list"

#: (pattern at the begin of the contents, name, what helps).
_BINARY = tuple((re.compile(pattern, re.DOTALL), name, advice) for pattern, name, advice in (
    (rb".{257}ustar", "a tar archive", _UNPACK),
    (rb"\x1f\x8b\x08|BZh[1-9]1AY|\xfd7zXZ\0|\x28\xb5\x2f\xfd", "a file that is compressed twice",
     "decompress it once"),
    (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (rb"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (rb"\x04\x22\x4d\x18", "a file compressed by lz4", "decompress it, or compress it by gzip"),
    (rb"\x1f\x9d", "a file compressed by compress (.Z)", "decompress it"),
    (rb"\x93NUMPY", "a single array of numpy (.npy)", "numpy.savez writes .npz, docs/graphs.md has "
     "the arrays"),
    (rb"\x89HDF\r\n", "an HDF5 file", "scipy.sparse.save_npz writes its matrix"),
    (rb"MATLAB 5\.0 MAT-file", "a MATLAB file", "scipy.io can read it and write .mtx"),
    (rb"ARROW1", "an Arrow file", "pandas can read it and write Parquet or .csv"),
    (rb"SQLite format 3", "an SQLite database", "write its table of edges as .csv"),
    (rb"\x80[\x02-\x05].{0,9}[\x8c\x95c}\]]", "a pickle of Python", _CONVERT),
    (rb"\x7fELF", "a program", "`graphloom exec` runs programs"),
    (rb"%PDF-", "a PDF", "give a graph's file"),
    (rb"\x89PNG|\xff\xd8\xff|GIF8", "an image", "give a graph's file"),
))

#: The same for texts. White space and comments before are passed over.
_TEXT = tuple((re.compile(pattern, re.IGNORECASE), name, advice) for pattern, name, advice in (
    (rb"(<\?xml[^>]*>)?\s*(<!--.*?-->\s*)*<gexf", "a GEXF file of Gephi",
     "export the edges from Gephi as .csv"),
    (rb"<", "an XML or HTML file", _CONVERT),
    (rb"(strict\s+)?(di)?graph\b[^\[\n]{0,200}\{", "a DOT file of Graphviz",
     "networkx.nx_pydot can read it and write an edge list"),
    (rb"[{\[]\s*[\"{\[]", "a JSON file", _CONVERT),
    (rb"(weighted)?adjacency(graph|hypergraph)\b", "an adjacency file of Ligra",
     "give the edge list from which it was made"),
    (rb"edgearray\b", "an edge array of PBBS", "leave out its first line"),
    (rb"p\s+(edge|col)\b", "a graph colouring file of DIMACS",
     "its lines 'e u v' without the e are an edge list from 1"),
    (rb"p\s+(max|min|asn|aux|mis|tw|cep)\b", "a problem of DIMACS other than shortest paths",
     "'p sp VERTICES ARCS' and lines 'a FROM TO WEIGHT' are read"),
    (rb"(dl|DL)\s+n\s*=", "a DL file of UCINET", _CONVERT),
    (rb">>(graph6|digraph6|sparse6)<<", "a graph6 or sparse6 file", _CONVERT),
    (rb"nodedef>", "a GDF file of GUESS", "export the edges from Gephi as .csv"),
))

#: (pattern, format) of files that are read; white space and comments before are passed over.
_READ = tuple((re.compile(pattern, re.IGNORECASE), name) for pattern, name in (
    (rb"PAR1", "parquet"), (rb"PK", "npz"), (rb"%%matrixmarket", "mtx"),
    (rb"p[ \t]+sp[ \t]", "gr"),
    (rb"(<\?xml[^>]*>)?\s*(<!--.*?-->\s*)*(<!DOCTYPE[^>]*>\s*)?<graphml", "graphml"),
    (rb"((creator|version|comment)\b[^\n]*\n\s*)*graph\s*\[", "gml"),
    (rb"\*(vertices|network|arcs|edges)\b", "pajek"),
))

_BEFORE = re.compile(rb"(?:\s+|c(?:[ \t][^\n]*)?\n|//[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*", re.DOTALL)

#: {suffix: (name, what helps)}, for files without a signature: binary ones, and ``.v``.
_SUFFIXES = {
    **dict.fromkeys((".tar", ".tgz", ".tbz2", ".txz"), ("a tar archive", _UNPACK)),
    ".egr": ("a graph of ECL", "give the file from which it was made"),
    ".vgr": ("a graph of Galois", "graph-convert of Galois writes edge lists"),
    ".v": ("the vertices of an LDBC graph", "give its edges, the file .e beside it"),
    ".bin": ("a binary file", "its format cannot be told; give an edge list or .npz"),
}


def refuse_unreadable(path, head):
    """Refuse a file whose first bytes, or whose suffix, are those of a format that is not read.

    Parameters
    ----------
    path : str
    head : bytes
        The first bytes of the contents.

    Raises
    ------
    UserError
        Naming the format and what helps.
    """
    for name, advice in _recognised(path, head[:_START]):
        raise UserError(f"{path}: is {name}, which Graphloom does not read; {advice}")


def by_content(head):
    """The format that the first bytes of a file tell, or None."""
    start = _text_of(head)
    return next((name for pattern, name in _READ if pattern.match(head, start)), None)


def _text_of(begin):
    """Where a text begins behind its comments."""
    before = _BEFORE.match(begin)
    return before.end() if before else 0


def _recognised(path, begin):
    """The formats that a file may be of, each with what helps."""
    yield from ((name, advice) for pattern, name, advice in _BINARY if pattern.match(begin))
    suffix = os.path.splitext(unpacked_name(path).lower())[1]
    if b"\0" not in begin:
        start = _text_of(begin)
        if suffix == ".v":
            yield _SUFFIXES[suffix]
        if by_content(begin) is None:
            yield from ((name, advice) for pattern, name, advice in _TEXT
                        if pattern.match(begin, start))
    elif not begin.startswith((b"PK", b"PAR1")) and suffix not in (".sg", ".wsg"):
        yield _SUFFIXES.get(suffix, _SUFFIXES[".bin"])
