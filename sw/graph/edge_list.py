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
from .graph import LIMIT, check_density
from .layout import settle
from .numbering import Numbering
from .signs import IDS, numbered, refuse_other, tell
from .text import quoted, read_table


__all__ = ["read_edges"]


_VERTICES = re.compile(rb"^[ \t]*# graphloom: vertices (\d{1,10})[ \t\r]*$", re.MULTILINE)
_BIPARTITE = re.compile(rb"\s*%[ \t]*bip[ \t]")      # KONECT
_COMMENT = re.compile(rb"[#%][^\n]*")
_COMMENT_LINE = re.compile(rb"^[ \t]*[#%][^\n]*", re.MULTILINE)
_DATA = re.compile(rb"(?:,[ \t]{0,8})?\{[^{}\n]*\}")
_DATA_WEIGHT = re.compile(rb"['\"]weight['\"]: ?([^\s,{}]+)")
_EMPTY_FIELD = {mark: re.compile(rb"^[ \t]*%b|%b[ \t]*%b|%b[ \t\r]*$" % ((re.escape(mark),) * 4),
                                 re.MULTILINE) for mark in (b",", b";", b"|")}


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
        self.numbering = Numbering(path) if reading.number_ids else None

    def strip(self, piece, line):
        """The piece with white space in place of everything but values; see ``read_table``."""
        if b"{" in piece:
            piece = _DATA.sub(self._data_weight, piece)
        commented = b"#" in piece or b"%" in piece
        if commented:
            self._note_comments(piece)
            piece = _COMMENT_LINE.sub(b"", piece)
        if self._counted and self.sizes is None and not piece.isspace():
            piece = self._without_sizes(piece, line)
        if self.layout is None:
            if piece.isspace():
                return piece
            piece = self._without_title(piece, line)
        layout: Any = self.layout
        if not layout.whole or b'"' in piece or (self.numbering and layout.delimiter):
            return layout.select(piece, line, self._path)
        if commented:
            piece = _COMMENT.sub(b"", piece)
        mark = layout.delimiter or b","
        if mark in piece:
            empty = _EMPTY_FIELD[mark].search(piece)
            if empty:
                number = line + piece.count(b"\n", 0, empty.start())
                what = {b",": "comma", b";": "semicolon"}.get(mark, mark.decode())
                raise UserError(f"{self._path}: line {number}: a value is missing beside a {what}")
            piece = piece.replace(mark, b" ")
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
        if self.layout.left_out:
            self._reading.note(f"{self._path}: columns that are not read: {self.layout.left_out}")
        if self.layout.title is None:
            return piece
        lines = piece.split(b"\n")
        lines[self.layout.title - line] = b""
        return b" " + b"\n".join(lines)

    def columns(self):
        """The columns of the stripped lines, and a hint for lines of other lengths."""
        hint = "" if self.numbering else IDS
        ends = [vertex(name, 0, hint=hint, numbering=self.numbering) for name in "uv"]
        values = self._values or len(self.layout.picks)
        if values == 3 and len(self.layout.picks) == 2 < self.layout.width:
            values = 2                                   # no weight is chosen
        if values == 3:
            ends.append(weight(self._reading.weighing, real=self._values is None))
        return ends, self.layout.hint


def read_edges(source, path, name, reading, values=None, counted=False):
    """Read an edge list; a reader of :mod:`sw.graph.readers`. ``values`` and ``counted`` are those
    of :class:`_EdgeList`."""
    text = _EdgeList(path, reading, values, counted)
    table = read_table(source.stream, path, text.columns, strip=text.strip, most=LIMIT - 1)
    if text.layout is None and values == 3 and reading.weighing.used:
        table = np.empty((0, 3), np.uint32)              # weights of no arc
    names = None
    if text.numbering is not None:
        numbers, names = text.numbering.settle()
        table[:, :2] = numbers[table[:, :2]]
    found = int(table[:, :2].max()) + 1 if len(table) else 0
    if counted:
        return _counted(table, text.sizes, names, found, path, name, reading)
    if text.said is not None and text.said < found:
        raise UserError(f"{path}: '# graphloom: vertices {text.said}' says fewer vertices than "
                        f"there are: an arc has vertex {found - 1}")
    if max(found, text.said or 0) == 0:
        raise UserError(f"{path}: the graph is empty, it must have at least 1 arc")
    if text.said is None and reading.input_format is None and reading.columns is None \
            and text.layout is not None and text.layout.title is None:
        refuse_other(table, names, text.layout.sample, path, reading.note)
    if names is not None:
        numbered(names, path, reading.note)
        return dataclasses.replace(graph_of(found, table, 0, name), names=names)
    vertices = text.said or found
    check_density(vertices, len(table), path, IDS)
    graph = graph_of(vertices, table, 0, name)
    tell(graph, path, reading.note, gaps=text.said is None)
    return graph


def _counted(table, sizes, names, found, path, name, reading):
    """The graph of a file whose first line has numbers of vertices and arcs."""
    if sizes is None:
        raise UserError(f"{path}: the graph is empty, its first line must be 'VERTICES ARCS'")
    vertices, arcs = sizes[0], sizes[-1] if len(sizes) > 1 else len(table)
    if arcs not in (len(table), 2 * len(table)) and 2 * arcs != len(table):
        raise UserError(f"{path}: the file has {len(table)} arcs, its first line says {arcs}")
    if names is not None:
        if len(names) > vertices:
            raise UserError(f"{path}: the file has {len(names)} ids, its first line says "
                            f"{vertices} vertices")
        numbered(names, path, reading.note)
        return dataclasses.replace(graph_of(len(names), table, 0, name), names=names)
    first = 0
    if found == vertices + 1 and len(table) and int(table[:, :2].min()) > 0:
        first = 1
        reading.note(f"{path}: the first line says {vertices} vertices, so they are numbered from "
                     f"1")
    elif found > vertices:
        raise UserError(f"{path}: an arc has vertex {found - 1}, the first line says {vertices} "
                        f"vertices{IDS}")
    if vertices == 0:
        raise UserError(f"{path}: the graph is empty, it must have at least 1 vertex")
    if vertices >= LIMIT:
        raise UserError(f"{path}: {vertices} vertices are too many, at most {LIMIT - 1}")
    check_density(vertices, len(table), path)
    return graph_of(vertices, table, first, name)
