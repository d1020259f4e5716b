"""Readers of graph files, one a format; each file may be compressed by gzip, bzip2, xz or
zstd.

===========  ===================================================================================
format       contents
===========  ===================================================================================
``el``       a line ``u v`` an arc, vertices from 0; ``#`` and ``%`` begin comments
``wel``      the same with ``u v w``
``edges``    an edge list of one of these kinds: its first lines tell its columns, and their names
             if there are any; networkx's data ``{'weight': 3}`` may stand behind an edge
``counted``  an edge list whose first line has the numbers of vertices and arcs;
             :mod:`sw.graph.edge_list` has these four
``adjlist``  a line a vertex and its neighbours: :mod:`sw.graph.adjacency`
``matrix``   a line a row of a matrix: :mod:`sw.graph.dense`
``mtx``      Matrix Market: :mod:`sw.graph.matrix_market`
``gr``       DIMACS shortest paths: :mod:`sw.graph.dimacs`
``metis``    METIS: a line ``n m [fmt [ncon]]``, then a line a vertex with its neighbours, from 1;
             :mod:`sw.graph.metis`
``cites``    citations between the papers of a ``.content`` file beside it, as Cora is published:
             :mod:`sw.graph.citations`
``ldbc``     the edges of LDBC Graphalytics, whose vertices are in a ``.v`` file beside it:
             :mod:`sw.graph.edge_list`
``graphml``  GraphML; ``gml`` GML; ``pajek`` Pajek: :mod:`sw.graph.foreign`
``parquet``  a table of Parquet: :mod:`sw.graph.parquet`
``sg``       a serialized graph of the GAP benchmarks; ``wsg`` one with weights:
             :mod:`sw.graph.gapbs`
``npz``      our own arrays, or a matrix of scipy's ``save_npz``: :mod:`sw.graph.archive`
===========  ===================================================================================

The suffix of a file tells its format. The contents tell the format of a file with another suffix:
the first bytes tell those that have a signature, and formats that are not read
(:mod:`sw.graph.signatures`). Every other file is read as ``edges``.
"""

import dataclasses
import functools
import os

from base.errors import UserError

from .adjacency import read_adjacency
from .archive import NPZ_VERSION, read_npz
from .citations import read_cites
from .dense import read_matrix
from .dimacs import read_gr
from .edge_list import read_edges, read_ldbc
from .foreign import read_gml, read_graphml, read_pajek
from .gapbs import read_sg
from .graph import Graph
from .matrix_market import read_mtx
from .metis import read_metis
from .parquet import read_parquet
from .reading import PLAIN, Reading
from .signatures import by_content, refuse_unreadable
from .source import opened, unpacked_name


__all__ = ["FORMATS", "NPZ_VERSION", "SUFFIXES", "read", "suffix_of"]


def suffix_of(path):
    """The format in which to write ``path``, as ``(suffix, compressed)``: ``(".el", True)``.

    Raises
    ------
    UserError
        If Graphloom does not write this format.
    """
    lower = os.fspath(path).lower()
    compressed = lower.endswith(".gz")
    suffix = os.path.splitext(lower[:-3] if compressed else lower)[1]
    if suffix not in _WRITTEN:
        raise UserError(f"{path}: cannot tell the format from the name, it must end in "
                        f"{', '.join(_WRITTEN)}, or one of these followed by .gz")
    return suffix, compressed


_READERS = {"mtx": read_mtx, "el": functools.partial(read_edges, values=2),
            "wel": functools.partial(read_edges, values=3), "gr": read_gr, "npz": read_npz,
            "metis": read_metis, "edges": read_edges,
            "counted": functools.partial(read_edges, counted=True), "adjlist": read_adjacency,
            "matrix": read_matrix, "cites": read_cites, "ldbc": read_ldbc,
            "graphml": read_graphml, "gml": read_gml, "pajek": read_pajek,
            "parquet": read_parquet, "sg": read_sg,
            "wsg": functools.partial(read_sg, weighted=True)}

#: The formats that can be asked for.
FORMATS = tuple(_READERS)

_WRITTEN = (".mtx", ".el", ".wel", ".gr", ".npz")

_BY_SUFFIX = {suffix: suffix[1:] for suffix in _WRITTEN} | {
    ".graph": "metis", ".e": "ldbc",
    **{f".{name}": name for name in ("metis", "cites", "adjlist", "graphml", "gml", "parquet", "sg",
                                     "wsg")}}

#: Suffixes that tell the format of a file.
SUFFIXES = tuple(_BY_SUFFIX)

#: Formats whose columns can be chosen, and those whose ids can be numbered.
_WITH_COLUMNS = ("el", "wel", "edges", "counted", "parquet")
_WITH_IDS = (*_WITH_COLUMNS, "adjlist")


def _check_options(path, found, reading):
    """Refuse options that do not apply to a format."""
    for option, given, formats in (("--columns", reading.columns is not None, _WITH_COLUMNS),
                                   ("--relabel", reading.relabel, _WITH_IDS),
                                   ("--first", reading.first is not None, _WITH_IDS)):
        if given and found not in formats:
            raise UserError(f"{path}: is read as {found}; {option} is for {', '.join(formats)}")


def read(path: str | os.PathLike[str], reading: Reading = PLAIN) -> Graph:
    """Read a graph file.

    Parameters
    ----------
    path : str or path
        The file.
    reading : Reading
        How to read it. If it names no format, the suffix or else the contents tell the format.

    Returns
    -------
    Graph
        The graph of the file, named after the file.

    Raises
    ------
    UserError
        If the file cannot be read or has a fault. The error names the line, if any.
    """
    path = os.fspath(path)
    if reading.input_format is not None and reading.input_format not in FORMATS:
        raise UserError(f"there is no input format {reading.input_format!r}; there are "
                        f"{', '.join(FORMATS)}")
    base = os.path.basename(unpacked_name(path))
    stem, suffix = os.path.splitext(base)
    name = "".join(letter if letter.isprintable() else "?" for letter in stem or base)
    chosen = reading.input_format or _BY_SUFFIX.get(suffix.lower())
    with opened(path) as source:
        refuse_unreadable(path, source.head)
        found = chosen or by_content(source.head) or "edges"
        _check_options(path, found, reading)
        try:
            graph = _READERS[found](source, path, name, reading)
        except UserError as error:
            if chosen is None and found == "edges" and "; --" not in str(error):
                raise UserError(f"{error} (read as an edge list; --input-format names another "
                                f"format)") from None
            raise
    scale = reading.weighing.scale
    if scale is not None and reading.weighing.used and graph.weights is None:
        raise UserError(f"{path}: has no weights to multiply by {scale:g}")
    return dataclasses.replace(graph, name=name)
