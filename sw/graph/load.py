"""Loading a graph by the text with which a user names it."""

import dataclasses
import os
from collections.abc import Callable

from sw.errors import UserError

from .catalogue import catalogue
from .generators import GENERATORS, generate
from .graph import Graph, check_density
from .readers import SUFFIXES, read
from .reading import Reading
from .source import PACKED, unpacked_name
from .weights import Weighing


__all__ = ["load"]


def _named(name: str) -> Graph:
    entry = catalogue()[name]
    graph = generate(entry.generator or "") if entry.path is None else read(entry.path)
    if entry.undirected:
        graph = graph.undirected()
    return dataclasses.replace(graph, name=name)


def _is_file(spec: str) -> bool:
    """Whether ``spec`` is a file's path, by its suffix or since there is such a file."""
    if spec in catalogue() or spec.partition(":")[0].strip() in GENERATORS:
        return False
    return unpacked_name(spec).lower().endswith(SUFFIXES) or os.path.exists(spec)


def _found(spec: str) -> Graph:
    if spec in catalogue():
        return _named(spec)
    if spec.partition(":")[0].strip() in GENERATORS:
        return generate(spec)
    word, colon, _ = spec.partition(":")
    if colon and "/" not in word and "\\" not in word:
        return generate(spec)  # which refuses the name
    raise UserError(
        f"{spec}: there is no such graph; a graph is a file ({', '.join(SUFFIXES)}, or an edge "
        f"list of any name; each may be {', '.join(PACKED)}), a name of the catalogue "
        f"({', '.join(catalogue())}) "
        f"or a generator ({', '.join(name + ':...' for name in GENERATORS)})")


def _with_reverses(graph: Graph, spec: str, simplify: bool,
                   note: Callable[[str], object]) -> Graph:
    """The graph and the reverse of each arc; ``note`` is told what a file has of them already."""
    found = graph.undirected()
    if found is graph and graph.num_edges:
        note(f"{spec}: has each arc in both directions already; --undirected adds none")
    elif _is_file(spec) and not simplify and graph.num_returned:
        note(f"{spec}: has {graph.num_returned} arcs in both directions already, which "
             "--undirected doubles; --simplify keeps one of each")
    return found


def load(spec: str | os.PathLike[str], *, weights: int | None = None, seed: int | None = None,
         undirected: bool = False, simplify: bool = False, input_format: str | None = None,
         columns: str | None = None, number_ids: bool = False,
         weight_scale: float | None = None, no_weights: bool = False,
         note: Callable[[str], object] | None = None) -> Graph:
    """The graph a user means by ``spec``.

    Parameters
    ----------
    spec : str
        A file's path, a name of the catalogue, or the text of a generator such as
        ``rmat:scale=14,degree=16,seed=1``.
    weights : int, optional
        Largest weight: a graph without weights gets random weights from 1 to this.
    seed : int, optional
        Seed of the random weights; 0 if left out.
    undirected : bool
        Add the reverse of each arc, unless all are there already.
    simplify : bool
        Then drop self-loops, and keep only the lightest of parallel arcs.
    input_format, columns, number_ids : optional
        Only for files; see :class:`sw.graph.reading.Reading`.
    weight_scale : float, optional
        Only for files: multiply weights by this and round to the nearest integer.
    no_weights : bool
        Give the graph without weights. The weights of a file are not read.
    note : callable, optional
        Called with a line of text on anything in a file that looks odd but may be right.

    Returns
    -------
    Graph

    Raises
    ------
    UserError
        If there is no such graph, or something is wrong with it. The error names the file and the
        line, if any.
    """
    spec = os.fspath(spec)
    told = {} if note is None else {"note": note}
    reading = Reading(input_format=input_format, weighing=Weighing(weight_scale, not no_weights),
                      columns=columns, number_ids=number_ids, **told)
    if _is_file(spec):
        graph = read(spec, reading)
    elif input_format is not None or weight_scale is not None or columns is not None or number_ids:
        raise UserError(f"{spec}: is not a file; --input-format, --columns, --number-ids and "
                        f"--weight-scale apply to files only")
    else:
        graph = _found(spec)
        if no_weights:
            graph = dataclasses.replace(graph, weights=None)
    check_density(graph.num_vertices, graph.num_edges, spec)
    if weights is not None:
        graph = graph.weighted(weights, seed or 0)
    if undirected:
        graph = _with_reverses(graph, spec, simplify, note or (lambda text: None))
    if simplify:
        graph = graph.simplify()
    return graph
