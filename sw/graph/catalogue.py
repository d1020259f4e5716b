"""The catalogue of graphs that are known by name: ``datasets/catalogue.toml``.

An entry is either a file beside the catalogue or the text of a generator.
"""

import dataclasses
import functools
import pathlib
import tomllib


__all__ = ["Entry", "catalogue"]


_FOLDER = pathlib.Path(__file__).resolve().parents[2] / "datasets"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """A graph of the catalogue."""

    summary: str  #: A description of the graph.
    vertices: int  #: Its vertices, once loaded as ``undirected`` says.
    arcs: int  #: Its arcs, once loaded as ``undirected`` says.
    undirected: bool  #: Whether the file has each edge once, and loading adds the reverse arcs.
    source: str  #: Where the graph comes from.
    licence: str  #: The terms on which the graph may be passed on.
    path: str | None = None  #: The graph's file; None if `generator` is given.
    generator: str | None = None  #: The text of its generator (:mod:`sw.graph.generators`).


@functools.cache
def catalogue() -> dict[str, Entry]:
    """The catalogue, as a dict of name to :class:`Entry`, in its own order."""
    entries: dict[str, Entry] = {}
    for name, fields in tomllib.loads((_FOLDER / "catalogue.toml").read_text("utf-8")).items():
        file = fields.pop("file", None)
        entries[name] = Entry(path=None if file is None else str(_FOLDER / file), **fields)
    return entries
