"""Citation graphs as a pair of text files, as Cora and CiteSeer are published.

``NAME.content`` has a line for each paper: its ID, a number for each word of the vocabulary, and a
label, between white space. The lines are the vertices, in their order, and the numbers are the
features. Labels are not used.

``NAME.cites`` has a line for each citation: the ID of the paper that is cited, and the ID of the
paper that cites it. The arc leads from the second to the first. A citation of a paper that has no
line in the other file is left out, and a note tells how many there are.
"""


import numpy as np

from base.errors import UserError

from .features import Features
from .graph import LIMIT, Graph
from .source import beside, opened


__all__ = ["read_cites", "read_content"]


def _lines(stream):
    """``(number, fields)`` of the lines that are not empty."""
    for number, line in enumerate(stream, start=1):
        fields = line.split()
        if fields:
            yield number, fields


def _shown(word):
    return repr(word[:40].decode("utf-8", "replace"))


def _ids(path):
    """The vertex of each ID of a ``.content`` file."""
    found = {}
    with opened(path) as source:
        for number, fields in _lines(source.stream):
            if fields[0] in found:
                raise UserError(f"{path}: line {number}: paper {_shown(fields[0])} is there "
                                "already")
            found[fields[0]] = len(found)
    if not found:
        raise UserError(f"{path}: the file is empty, it must have a line for each paper")
    return found


def read_content(path) -> Features:
    """The features of a ``.content`` file: an entry for each number that is not 0.

    Raises
    ------
    UserError
        If the file cannot be read, a paper is there twice, lines differ in their number of fields,
        or a value is not a number. The error names the line.
    """
    vertices = len(_ids(path))
    rows, columns, values, width = [], [], [], 0
    with opened(path) as source:
        for row, (number, fields) in enumerate(_lines(source.stream)):
            width = width or len(fields)
            if len(fields) != width or width < 3:
                raise UserError(f"{path}: line {number}: has {len(fields)} fields, must have "
                                f"{max(width, 3)}: an ID, a number for each word, and a label")
            try:
                numbers = np.array(fields[1:-1], dtype=np.bytes_).astype(np.float64)
            except ValueError:
                numbers = np.array([np.nan])
            if not np.isfinite(numbers).all():
                raise UserError(f"{path}: line {number}: all fields between the ID and the label "
                                "must be numbers")
            present = np.flatnonzero(numbers)
            rows.append(np.full(len(present), row))
            columns.append(present)
            values.append(numbers[present])
    offsets = np.zeros(vertices + 1, np.int64)
    np.cumsum(np.bincount(np.concatenate(rows), minlength=vertices), out=offsets[1:])
    found = np.concatenate(values)
    if np.array_equal(found, np.trunc(found)) and np.abs(found).max(initial=0) < 1 << 31:
        found = found.astype(np.int64)
    return Features(offsets, np.concatenate(columns), found, width - 2, name=str(path))


def read_cites(source, path, name, reading) -> Graph:
    """The graph of a ``.cites`` file, whose ``.content`` file lies beside it.

    Parameters
    ----------
    source : sw.graph.source.Source
    path, name : str
    reading : sw.graph.reading.Reading
        Its ``note`` is called if citations are left out.

    Raises
    ------
    UserError
        If a file cannot be read, or a line has not two fields. The error names the line.
    """
    content = beside(path, ".content", "the papers are")
    vertices = _ids(content)
    ends, unknown = [], 0
    for number, fields in _lines(source.stream):
        if len(fields) != 2:
            raise UserError(f"{path}: line {number}: has {len(fields)} fields, must have 2: the "
                            "paper that is cited, and the paper that cites it")
        cited, citing = (vertices.get(field) for field in fields)
        if cited is None or citing is None:
            unknown += 1
        else:
            ends.append((citing, cited))
            if len(ends) >= LIMIT:
                raise UserError(f"{path}: there are more than {LIMIT - 1} citations")
    if unknown:
        reading.note(f"{path}: {unknown} citations name papers that {content} does not have; they "
                     "are left out")
    arcs = np.array(ends, np.int64).reshape(-1, 2)
    return Graph(len(vertices), arcs[:, 0], arcs[:, 1], name=name)
