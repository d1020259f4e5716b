"""The needs that a program can have of its graph, and the check of a graph."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from base.errors import UserError
from sw.graph.graph import Graph
from sw.lang.graph_ir import GraphProgram
from sw.lang.types import LARGEST


__all__ = ["NEEDS", "Need", "check_graph"]


class Need(NamedTuple):
    """A fact about a graph."""
    text: str  #: The fact in words, after "a graph".
    holds: Callable[[Graph], bool]  #: Whether a graph is so.
    example: Callable[[Graph], str]  #: An arc, or arcs, by which a graph is not so, in words.
    #: The option that makes a graph so, and the method of :class:`~sw.graph.graph.Graph`.
    option: str
    method: str  #: See `option`.


def _loop(graph):
    vertex = graph.src[np.flatnonzero(graph.src == graph.dst)[0]]
    return f"an arc from {vertex} to itself"


def _repeated(graph):
    if not graph.loopless:
        return _loop(graph)
    rows, neighbors = graph.arcs_in_rows
    again = np.flatnonzero((rows[1:] == rows[:-1]) & (neighbors[1:] == neighbors[:-1]))[0]
    return f"several arcs from {rows[again]} to {neighbors[again]}"


def _one_way(graph):
    src, dst = graph.one_way
    return f"an arc from {src} to {dst} and none back"


#: The needs that a program can have, by the word of the language.
NEEDS = {
    "symmetric": Need("in which each arc has one back", lambda graph: graph.symmetric, _one_way,
                      "--undirected", "undirected"),
    "simple": Need("without self-loops and parallel arcs", lambda graph: graph.simple, _repeated,
                   "--simplify", "simplify"),
    "loopless": Need("without self-loops", lambda graph: graph.loopless, _loop, "--simplify",
                     "simplify"),
}


def check_graph(program: GraphProgram, graph: Graph) -> None:
    """Refuse a graph that is not what a program needs.

    Raises
    ------
    UserError
        The program takes weights, and the graph has none or one that would be infinity. Or the
        graph has not a fact that the program names. The message names the options that make it so.
    """
    if program.weighted and graph.weights is None:
        raise UserError(f"program {program.name!r} takes the weights of edges, and "
                        f"{graph.name} has none; --weights N gives them random ones from 1 to N")
    if program.weighted:
        _check_weights(program, graph)
    missing = [NEEDS[name] for name in program.needs if not NEEDS[name].holds(graph)]
    if missing:
        options = " ".join(dict.fromkeys(need.option for need in missing))
        methods = "".join(dict.fromkeys(f".{need.method}()" for need in missing))
        raise UserError(
            f"program {program.name!r} needs a graph {' and '.join(n.text for n in missing)}, and "
            f"{graph.name} has {' and '.join(need.example(graph) for need in missing)}; {options} "
            f"makes it so (in Python graph{methods})")


def _check_weights(program, graph):
    heaviest = graph.weights.argmax() if graph.num_edges else None
    if heaviest is not None and graph.weights[heaviest] > LARGEST:
        raise UserError(f"program {program.name!r} takes weights up to {LARGEST}, and the arc from "
                        f"{graph.src[heaviest]} to {graph.dst[heaviest]} of {graph.name} has the "
                        f"weight {graph.weights[heaviest]}, which is infinity in a program")
