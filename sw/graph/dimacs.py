"""Reader of DIMACS shortest-path files: ``c`` comments, one line ``p sp VERTICES ARCS``, then lines
``a FROM TO WEIGHT``, vertices from 1."""

import re

from base.errors import UserError

from .fields import graph_of, header_line, is_count, vertex, weight
from .graph import LIMIT
from .text import LineForm, read_table


__all__ = ["read_gr"]


_COMMENT = re.compile(rb"^[ \t]*c[^\n]*", re.MULTILINE)
_ARC = re.compile(rb"^[ \t]*a(?=[ \t])", re.MULTILINE)


def read_gr(source, path, name, reading):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    number, problem = 0, None
    while problem is None:
        number += 1
        line = header_line(source.stream, path, number)
        if not line:
            raise UserError(f"{path}: line {number}: the file ends before 'p sp VERTICES ARCS'")
        if line.lstrip()[:1] in (b"", b"c"):
            continue
        problem = line.split()
    if (len(problem) != 4 or problem[:2] != [b"p", b"sp"]
            or not all(map(is_count, problem[2:]))):
        raise UserError(f"{path}: line {number}: must be 'p sp VERTICES ARCS' before any arc")
    num_vertices, arcs = int(problem[2]), int(problem[3])
    if num_vertices == 0:
        raise UserError(f"{path}: line {number}: the graph is empty, it must have at least 1 "
                        f"vertex")
    if max(num_vertices, arcs) >= LIMIT:
        raise UserError(f"{path}: line {number}: {max(num_vertices, arcs)} is too large, vertices "
                        f"and arcs are at most {LIMIT - 1}")

    def strip(piece, first_line):
        lines = piece.count(b"\n")
        if b"c" in piece:
            piece = _COMMENT.sub(b"", piece)
        framed = b"\n" + piece[1:]
        if framed.count(b"\na ") == lines:  # nothing but arcs
            return framed.replace(b"\na ", b"\n  ")[1:]
        for index, line in enumerate(piece.split(b"\n")):
            if line.strip() and line.split()[0] != b"a":
                raise UserError(f"{path}: line {first_line + index}: must begin with 'a' (an "
                                f"arc: a FROM TO WEIGHT) or 'c' (a comment)")
        return _ARC.sub(b" ", piece)

    table = read_table(source.stream, path, LineForm((vertex("from", 1, num_vertices),
                                                      vertex("to", 1, num_vertices),
                                                      weight(reading.weighing))),
                       first_line=number + 1, strip=strip, rows=arcs)
    return graph_of(num_vertices, table, 1, name)
