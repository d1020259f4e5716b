"""The head of a result: what its arrays say, in a few rows.

The kind of an array decides, whichever program has made it. Of fixed point, the largest values with
their vertices. Of vertices, the groups that share a value if each value stands for its own group,
as components do, else the most frequent values. Of numbers, how often each occurs, or how many lie
in each range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sw.lang.types import NONE, Type

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from sw.lang.graph_ir import GraphProgram


__all__ = ["Head", "heads"]


#: Rows of the largest or most frequent values, and of a histogram.
_LARGEST, _ROWS = 5, 10


class Head(NamedTuple):
    """The head of an array."""
    title: str  #: The array, and what the rows are.
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()  #: A text for each column.


def heads(program: GraphProgram | None, outputs: Mapping[str, NDArray[Any]],
          derived: Mapping[str, Any], names: NDArray[Any] | None = None) -> list[Head]:
    """The head of each array of a result.

    Parameters
    ----------
    program : GraphProgram or None
        Says which arrays are numbers of vertices; None for what is no program.
    outputs : dict of str to array
        A row for each vertex.
    derived : dict of str to array
        Has values of fixed point ready to read, as ``NAME_float``.
    names : array, optional
        The names of the vertices, where they have any.
    """
    def shown(vertex):
        return str(vertex if names is None else names[vertex])

    found = []
    for name, words in outputs.items():
        values = derived.get(f"{name}_float", words)
        if not values.size:
            continue
        if values.ndim > 1:
            found.append(Head(f"{name}: {values.shape[1]} values a vertex, from {values.min():.6g} "
                              f"to {values.max():.6g}"))
        elif values.dtype.kind == "f":
            found.append(_largest(name, values, shown))
        elif program is not None and program.vector(name).type is Type.VERTEX:
            found.append(_groups(name, values, shown))
        else:
            found.append(_histogram(name, values))
    return found


def _largest(name, values, shown):
    """The vertices of the largest values; of equal ones, those of the smallest numbers."""
    order = np.argsort(-values, kind="stable")[:_LARGEST]
    return Head(f"{name}: the largest", ("vertex", name),
                tuple((shown(vertex), f"{values[vertex]:.6g}") for vertex in order))


def _groups(name, values, shown):
    """The vertices that occur most often."""
    known = values[values != int(NONE)]
    found, counts = np.unique(known, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_LARGEST]
    apart = len(known) == len(values) and (values[found] == found).all()
    title = (f"{name}: {len(found):,} group{'s' * (len(found) != 1)}, the largest" if apart else
             f"{name}: the most frequent of {len(found):,}")
    rows = [(shown(found[place]), f"{counts[place]:,}") for place in order]
    if len(known) < len(values):
        rows.append((NONE.name, f"{len(values) - len(known):,}"))
    return Head(title, (name, "vertices"), tuple(rows))


def _histogram(name, values):
    """How many vertices have each number, or a number of each range of equal width."""
    known = values[values != int(NONE)]
    found, counts = np.unique(known, return_counts=True)
    rows = [(f"{value:,}", f"{count:,}") for value, count in zip(found.tolist(), counts)]
    if len(found) > _ROWS:
        low, high = int(found[0]), int(found[-1])
        width = -(-(high - low + 1) // _ROWS)
        counts = np.bincount((known.astype(np.int64) - low) // width)
        rows = [(f"{start:,} to {min(start + width - 1, high):,}", f"{count:,}")
                for start, count in zip(range(low, high + 1, width), counts) if count]
    if len(known) < len(values):
        rows.append(("infinity", f"{len(values) - len(known):,}"))
    return Head(f"{name}: vertices with each value", (name, "vertices"), tuple(rows))
