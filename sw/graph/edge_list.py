"""Readers of edge lists: a line for each arc, with its ends and perhaps its weight.

:mod:`sw.graph.layout` finds the values of a line, :mod:`sw.graph.signs` looks for signs that a file
is something else than an edge list.

Edge lists do not give the number of vertices, so it is the largest number plus one. If a graph ends
with isolated vertices, our writer adds a comment ``# graphloom: vertices N``, which the readers
use. In the format ``counted`` the first line has the numbers of vertices and arcs: ``V E``,
``V V E`` or ``V``.
"""

import dataclasses
import re
from typing import Any

import numpy as np

from base.errors import UserError

from .fields import graph_of, is_count, vertex, weight
from .graph import LIMIT, Graph, check_density
from .layout import settle
from .numbering import Numbering
from .signs import IDS, numbered, refuse_other, tell
from .source import beside, opened
from .text import Column, LineForm, quoted, read_table


__all__ = ["read_edges", "read_ldbc"]


_VERTICES = re.compile(rb"^[ \t]*# graphloom: vertices (\d{1,10})[ \t\r]*$", re.MULTILINE)
_BIPARTITE = re.compile(rb"\s*%[ \t]*bip[ \t]")      # KONECT
_COMMENT = re.compile(rb"[#%][^\n]*")
_COMMENT_LINE = re.compile(rb"^[ \t]*(?:[#%]|//|;[ \t])[^\n]*", re.MULTILINE)
_NONE = np.empty(0, np.int64)
_UNREAD = Column("", 0, 0, used=False)
_DATA = re.compile(rb"(?:,[ \t]{0,8})?\{[^{}\n]*\}")
_DATA_WEIGHT = re.compile(rb"['\"]weight['\"]: ?([^\s,{}]+)")


class _EdgeList:
    """The text of an edge list.

    Parameters
    ----------
    path : str
    reading : sw.graph.reading.Reading
    values : int or None
        Values of a line, 2 or 3; None if the lines tell it.
    counted : bool
        Whether the first line has the numbers of vertices and arcs.

    Attributes
    ----------
    said : int or None
        The number of vertices, if a comment gives it.
    sizes : tuple of int, or None
        The numbers of the first line.
    layout : LineLayout or None
        The layout of the lines; None before the first line that has a value.
    numbering : Numbering or None
        The numbering of ids.
    """

    def __init__(self, path, reading, values, counted=False):
        self._path, self._reading, self._values = path, reading, values
        self._counted, self.sizes = counted, None
        self.said = None
        self.layout: Any = None
        self.numbering = Numbering(path) if reading.relabel else None

    def strip(self, piece, line):
        """The piece with white space in place of everything but values; see ``read_table``."""
        if b"{" in piece:
            piece = _DATA.sub(self._data_weight, piece)
        commented = b"#" in piece or b"%" in piece
        if commented:
            self._note_comments(piece)
        if commented or b"//" in piece or b"\n; " in piece or piece.startswith(b" ; "):
            piece = _COMMENT_LINE.sub(b"", piece)
        if self._counted and self.sizes is None and not piece.isspace():
            piece = self._without_sizes(piece, line)
        if self.layout is None:
            if piece.isspace():
                return piece
            piece = self._without_title(piece, line)
        layout: Any = self.layout
        if commented and layout.whole and b'"' not in piece \
                and not (self.numbering and layout.delimiter):
            piece = _COMMENT.sub(b"", piece)
        return piece

    def _note_comments(self, piece):
        if _BIPARTITE.match(piece):
            self._reading.note(f"{self._path}: is bipartite by its first line; equal numbers in "
                               f"both columns are taken for one vertex")
        for match in _VERTICES.findall(piece):
            if self.said not in (None, int(match)):
                raise UserError(f"{self._path}: two comments '# graphloom: vertices N' differ: "
                                f"{self.said} and {int(match)}")
            self.said = int(match)

    @staticmethod
    def _data_weight(match):
        weight = _DATA_WEIGHT.search(match[0])
        return (b"," if match[0].startswith(b",") else b" ") + weight[1] if weight else b""

    def _without_sizes(self, piece, line):
        """The piece without the line of the numbers of vertices and arcs."""
        begin = len(piece) - len(piece.lstrip())
        end = piece.index(b"\n", begin)
        words = piece[begin:end].replace(b",", b" ").split()
        if not 1 <= len(words) <= 3 or not all(map(is_count, words)) \
                or (len(words) == 3 and int(words[0]) != int(words[1])):
            number = line + piece.count(b"\n", 0, begin)
            raise UserError(f"{self._path}: line {number}: {quoted(piece[begin:end])} must be "
                            f"'VERTICES ARCS', 'VERTICES VERTICES ARCS' or 'VERTICES'")
        self.sizes = tuple(map(int, words))
        return piece[:begin] + b" " * (end - begin) + piece[end:]

    def _without_title(self, piece, line):
        """The piece without the line of column names, if there is one."""
        self.layout = settle(piece, line, self._path, self._reading)
        for note in self.layout.notes:
            self._reading.note(f"{self._path}: {note}")
        if self.layout.words and self._values is None and self._reading.first is None:
            self.numbering = self.numbering or Numbering(self._path)
        if self.layout.title is None:
            return piece
        lines = piece.split(b"\n")
        lines[self.layout.title - line] = b""
        return b" " + b"\n".join(lines)

    def lines(self):
        """How the stripped lines are divided."""
        layout, hint = self.layout, "" if self.numbering else IDS
        ends = [vertex(name, self._reading.first or 0, hint=hint, numbering=self.numbering)
                for name in "uv"]
        ends.append(weight(self._reading.weighing, real=self._values is None))
        if layout.whole:
            columns = ends[:self._values or layout.width]
        else:
            columns = [_UNREAD] * layout.width
            for place, column in zip(layout.picks, ends[:self._values]):
                columns[place] = column
        return LineForm(tuple(columns), layout.delimiter, quotes=True, hint=layout.hint)

    def ordered(self, columns):
        """The columns of the table as source, destination and perhaps weight."""
        if self.layout is None or self.layout.whole:
            return columns
        places = sorted(self.layout.picks[:self._values])
        return [columns[places.index(place)] for place in self.layout.picks[:self._values]]


def read_edges(source, path, name, reading, values=None, counted=False):
    """Read an edge list; a reader of :mod:`sw.graph.readers`. ``values`` and ``counted`` are those
    of :class:`_EdgeList`."""
    text = _EdgeList(path, reading, values, counted)
    columns = text.ordered(read_table(source.stream, path, text.lines, strip=text.strip,
                                      most=LIMIT - 1))
    if not columns:                                      # no arc
        columns = [_NONE] * (3 if values == 3 and reading.weighing.used else 2)
    names = None
    if text.numbering is not None:
        ends, columns[:2] = columns[:2], []
        ends, names = text.numbering.settle(ends)
        columns[:0] = ends
    first = reading.first or 0
    found = max((int(column.max()) + 1 - first for column in columns[:2] if len(column)), default=0)
    if counted:
        return _counted(columns, text.sizes, names, found, path, name, reading)
    if text.said is not None and text.said < found:
        raise UserError(f"{path}: '# graphloom: vertices {text.said}' says fewer vertices than "
                        f"there are: an arc has vertex {found - 1 + first}")
    if max(found, text.said or 0) == 0:
        raise UserError(f"{path}: the graph is empty, it must have at least 1 arc")
    if text.said is None and reading.input_format is None and reading.columns is None \
            and text.layout is not None and text.layout.title is None:
        refuse_other(columns, names, text.layout.sample, path, reading.note)
    if names is not None:
        numbered(names, path, reading.note)
        return dataclasses.replace(graph_of(found, columns, 0, name), names=names)
    vertices = text.said or found
    check_density(vertices, len(columns[0]), path, IDS)
    graph = graph_of(vertices, columns, first, name)
    tell(graph, path, reading.note, gaps=text.said is None, first=reading.first)
    return graph


def read_ldbc(source, path, name, reading):
    """Read the edges of an LDBC Graphalytics graph, whose vertices are in the file ``.v`` beside
    it; a reader of :mod:`sw.graph.readers`."""
    vertices, numbering = beside(path, ".v", "the vertices are"), Numbering(path)
    text = _EdgeList(path, reading, None)
    text.numbering = numbering
    ends = read_table(source.stream, path, text.lines, strip=text.strip, most=LIMIT - 1)
    with opened(vertices) as file:
        ids = read_table(file.stream, vertices, LineForm((vertex("id", 0, numbering=numbering),)),
                         most=LIMIT - 1)
    (src, dst, listed), names = numbering.settle([*(ends[:2] or [_NONE, _NONE]), *ids])
    met = np.zeros(len(names), bool)
    met[listed] = True
    if not met.all():
        raise UserError(f"{path}: an arc has vertex {names[np.argmin(met)]}, which {vertices} "
                        f"does not list")
    if np.count_nonzero(met) < len(listed):
        raise UserError(f"{vertices}: a vertex is listed twice")
    numbered(names, path, reading.note)
    return Graph(len(names), src, dst, *ends[2:], name=name, names=names)


def _counted(columns, sizes, names, found, path, name, reading):
    """The graph of a file whose first line has numbers of vertices and arcs."""
    if sizes is None:
        raise UserError(f"{path}: the graph is empty, its first line must be 'VERTICES ARCS'")
    count = len(columns[0])
    vertices, arcs = sizes[0], sizes[-1] if len(sizes) > 1 else count
    if arcs not in (count, 2 * count) and 2 * arcs != count:
        raise UserError(f"{path}: the file has {count} arcs, its first line says {arcs}")
    if names is not None:
        if len(names) > vertices:
            raise UserError(f"{path}: the file has {len(names)} ids, its first line says "
                            f"{vertices} vertices")
        numbered(names, path, reading.note)
        return dataclasses.replace(graph_of(len(names), columns, 0, name), names=names)
    first = reading.first or 0
    if reading.first is None and found == vertices + 1 and count \
            and min(int(column.min()) for column in columns[:2]) > 0:
        first = 1
        reading.note(f"{path}: the first line says {vertices} vertices, so they are numbered from "
                     f"1")
    elif found > vertices:
        raise UserError(f"{path}: an arc has vertex {found - 1 + first}, the first line says "
                        f"{vertices} vertices{IDS}")
    if vertices == 0:
        raise UserError(f"{path}: the graph is empty, it must have at least 1 vertex")
    if vertices >= LIMIT:
        raise UserError(f"{path}: {vertices} vertices are too many, at most {LIMIT - 1}")
    check_density(vertices, count, path)
    return graph_of(vertices, columns, first, name)
