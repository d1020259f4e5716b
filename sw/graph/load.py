"""From what a user names a graph by to the graph."""

import dataclasses
import os

from sw.errors import UserError

from .catalogue import catalogue
from .generators import GENERATORS, generate
from .readers import SUFFIXES, read


__all__ = ["load"]


def _named(name):
    entry = catalogue()[name]
    graph = generate(entry.generator) if entry.path is None else read(entry.path)
    if entry.undirected:
        graph = graph.undirected()
    return dataclasses.replace(graph, name=name)


def _found(spec):
    if spec in catalogue():
        return _named(spec)
    if spec.partition(":")[0].strip() in GENERATORS:
        return generate(spec)
    lower = spec.lower()
    if lower.endswith(SUFFIXES) or lower.endswith(tuple(suffix + ".gz" for suffix in SUFFIXES)):
        return read(spec)
    if os.path.exists(spec):
        return read(spec)  # which refuses the suffix
    word, colon, _ = spec.partition(":")
    if colon and "/" not in word and "\\" not in word:
        return generate(spec)  # which refuses the name
    raise UserError(
        f"{spec}: there is no such graph; a graph is a file ({', '.join(SUFFIXES)}, or one of "
        f"these with .gz), a name of the catalogue ({', '.join(catalogue())}) or a generator "
        f"({', '.join(name + ':...' for name in GENERATORS)})")


def load(spec, *, weights=None, seed=None, undirected=False, simplify=False):
    """The graph a user means by ``spec``.

    Parameters
    ----------
    spec : str
        A file's path, a name of the catalogue, or the text of a generator such as
        ``rmat:scale=14,degree=16,seed=1``.
    weights : int, optional
        Give a graph that has no weights random ones from 1 to this.
    seed : int, optional
        For these; 0 if left out.
    undirected : bool
        Add the reverse of each arc.
    simplify : bool
        Then drop self-loops, and of parallel arcs all but the lightest.

    Returns
    -------
    Graph

    Raises
    ------
    UserError
        If there is no such graph, or something is wrong with it; the file and line are named where
        there are any.
    """
    graph = _found(os.fspath(spec))
    if weights is not None:
        graph = graph.weighted(weights, seed or 0)
    if undirected:
        graph = graph.undirected()
    if simplify:
        graph = graph.simplify()
    return graph
