"""Readers of GraphML, GML and Pajek files, by networkx.

Vertices keep the ids of the file as their names: those of GraphML, the labels of GML if each vertex
has its own, the names of Pajek. An edge without direction is two arcs. Weights are the attribute
``weight``, or else ``value``, of the edges; a Pajek file whose weights are all 1 has none.
"""

import io
import re

import numpy as np

from base.errors import UserError
from base.installation import need

from .graph import Graph


__all__ = ["read_gml", "read_graphml", "read_pajek"]


#: What networkx raises for a wrong file, beside its own exceptions.
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, IndexError, RuntimeError, SyntaxError,
           StopIteration, AssertionError)
_WEIGHTS = ("weight", "value")
_LONGEST = 1 << 16       # bytes of a line of Pajek
_GRAPH = re.compile(rb"((?:^|\n)[ \t]*graph\s*\[)", re.IGNORECASE)
_SECTION = re.compile(rb"^(?=[ \t]*\*)", re.MULTILINE)
_NUMBER = re.compile(r"0|[1-9]\d{0,17}")


def read_graphml(source, path, name, reading):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    return _read(source.stream, "GraphML", path, name, reading)


def read_gml(source, path, name, reading):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    return _read(source.stream, "GML", path, name, reading)


def read_pajek(source, path, name, reading):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    return _read(source.stream, "Pajek", path, name, reading)


def _graphml(stream):
    import networkx
    return networkx.read_graphml(stream)


def _gml(stream):
    """The networkx graph of a GML file, which may have parallel edges and letters of UTF-8."""
    import networkx
    text = stream.read().decode("utf-8", "replace").encode("ascii", "xmlcharrefreplace")
    text = _GRAPH.sub(rb"\1 multigraph 1 ", text, count=1)
    graph = networkx.read_gml(io.BytesIO(text), label="id")
    labels = {node: str(data.get("label", "")) for node, data in graph.nodes(data=True)}
    own = all(labels.values()) and len(set(labels.values())) == len(labels)
    return networkx.relabel_nodes(graph, labels) if own else graph


def _pajek(stream):
    """The networkx graph of a Pajek file, of which one part may have arcs and one edges."""
    import networkx
    text = stream.read()
    for number, line in enumerate(text.split(b"\n"), start=1):
        if len(line) > _LONGEST:                 # networkx takes microseconds for each character
            raise ValueError(f"line {number} is longer than {_LONGEST} bytes")
    parts = [(part.split(None, 1)[0].lower(), part) for part in _SECTION.split(text)
             if part.strip()]
    wrong = {kind.decode() for kind, _ in parts} & {"*arcslist", "*edgeslist", "*matrix"}
    if wrong:
        raise ValueError(f"{min(wrong)} is not read, *arcs and *edges are")
    found = [networkx.read_pajek(io.BytesIO(b"".join(part for kind, part in parts if kind != left)))
             for left, other in ((b"*edges", b"*arcs"), (b"*arcs", b"*edges"))
             if other in dict(parts)]
    if not found:
        raise ValueError("has neither *arcs nor *edges")
    for other in found[1:]:
        found[0].add_edges_from(other.to_directed().edges(data=True))
    return found[0]


_KINDS = {"GraphML": _graphml, "GML": _gml, "Pajek": _pajek}


def _read(stream, kind, path, name, reading):
    need(f"{path}: reading {kind}", "networkx")
    import networkx
    try:
        graph = _KINDS[kind](stream)
    except (networkx.NetworkXException, *_DAMAGE) as error:
        raise UserError(f"{path}: cannot be read as {kind}: {error or type(error).__name__}") \
            from None
    if all(isinstance(node, str) and _NUMBER.fullmatch(node) for node in graph):
        graph = networkx.relabel_nodes(graph, {node: int(node) for node in graph})
    found = {key for *_, data in graph.edges(data=True) for key in data}
    weight = next((key for key in _WEIGHTS if key in found), None)
    ones = kind == "Pajek" and all(data.get(weight) == 1 for *_, data in graph.edges(data=True))
    return _graph_of(graph, None if ones else weight, path, name, reading.weighing)


def _graph_of(graph, weight, path, name, weighing):
    """The graph of a networkx graph."""
    values = None
    if weight is not None:
        edges = [data for *_, data in graph.edges(data=True)]
        values = weighing.apply(np.array([data.get(weight, 1) for data in edges]), path)
        for data, value in zip(edges, [] if values is None else values.tolist()):
            data["weight"] = value
    return Graph.from_networkx(graph, no_weights=values is None, name=name)
