"""Names of vertices: from a name to its vertex, and names as files hold them."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from base import numbers
from base.errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["place", "storable"]


def storable(names: NDArray[Any]) -> NDArray[Any]:
    """The names of vertices as an array that a file can hold: integers or text."""
    return names if names.dtype.kind in "iuU" else np.array([str(name) for name in names.tolist()])


def place(names: NDArray[Any] | None, name: Any, count: int, graph_name: str) -> int | None:
    """The number of the vertex that ``name`` means, by its name or else by its number.

    Parameters
    ----------
    names : array or None
        The name of each vertex.
    name : object
        A name or its text. A number counts where names are no integers.
    count : int
        Vertices of the graph.
    graph_name : str
        The graph's name in errors.

    Returns
    -------
    int or None
        None if there is no such vertex.

    Raises
    ------
    UserError
        If several vertices have this name.
    """
    try:
        number = numbers.integer(name) if isinstance(name, str) else operator.index(name)
    except TypeError:
        number = None
    whole = names is not None and names.dtype.kind in "iu"
    if names is not None:
        found = np.flatnonzero(names == number if whole else storable(names) == str(name))
        if len(found) > 1:
            raise UserError(f"{graph_name}: {len(found)} vertices have the name {str(name)!r}")
        if len(found):
            return int(found[0])
    return number if not whole and number is not None and 0 <= number < count else None
