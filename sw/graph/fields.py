"""The parts that readers of text files share: columns of vertices and weights, and header lines."""

import numpy as np

from base.errors import UserError

from .graph import LIMIT, WEIGHT_LIMIT, Graph
from .text import Column


__all__ = ["graph_of", "header_line", "is_count", "vertex", "weight"]


_HEADER_LIMIT = 1 << 16  # a header line longer than this is no header line


def vertex(name, first, num_vertices=None, hint="", numbering=None):
    """The column of a vertex, counted from ``first``."""
    return Column(name, first, (LIMIT - 2 if num_vertices is None else num_vertices - 1) + first,
                  hint=hint, numbering=numbering)


def weight(weighing, real=False):
    """The column of weights."""
    return Column("weight", 0, WEIGHT_LIMIT - 1, real, weighing.scale, weighing.used,
                  weighing.hint)


def graph_of(num_vertices, columns, first, name):
    """The graph of columns source, destination and perhaps weight, whose ids are counted from
    ``first``."""
    if first:
        for column in columns[:2]:
            column -= np.uint32(first)
    return Graph(num_vertices, *columns, name=name)


def header_line(stream, path, number):
    """The next line of a stream. Raises UserError if it is too long for a header."""
    line = stream.readline(_HEADER_LIMIT)
    if len(line) == _HEADER_LIMIT:
        raise UserError(f"{path}: line {number}: is too long for a header line")
    return line


def is_count(token):
    """Whether a word is a number of vertices, arcs or entries."""
    return token.isdigit() and len(token) <= 20
