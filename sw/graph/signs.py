"""Signs in an edge list that it is meant otherwise than its lines say.

Programs write first lines of sizes, lists of neighbours, matrices and times in the same form as
edge lists. Numbers alone cannot tell. A first line that fits the rest of the file as sizes, or
three lines that fit as a matrix, is refused: the error names the format that reads it and the one
that reads it as an edge list. All other signs are notes.
"""

import numpy as np

from base.errors import UserError


__all__ = ["IDS", "has_sizes", "numbered", "refuse_other", "tell"]


#: The end of errors about ids.
IDS = "; --relabel numbers the ids that occur"

#: UNIX times from 1980 to 2038, in seconds.
_TIMES = 315_532_800, 1 << 31

#: Weights in ascending order are taken for times if there are so many different ones.
_ASCENDING = 16

#: Digits of a third value that is looked at.
_DIGITS = 19


def has_sizes(src, dst, weights=None):
    """Whether the first arc of a list of arcs fits the others as ``V E`` or ``V V E``.

    The first number is then no smaller than any other vertex, and the last number is the number of
    the other arcs, or half or twice as many.
    """
    others = len(src) - 1
    if others < 1 or (weights is not None and src[0] != dst[0]):
        return False
    arcs = int(dst[0] if weights is None else weights[0])
    return (arcs in (others, 2 * others) or 2 * arcs == others) \
        and int(src[0]) >= max(int(src[1:].max()), int(dst[1:].max()))


def refuse_other(columns, names, sample, path, note):
    """Refuse an edge list that fits as one behind a line of sizes, or as a matrix. Note one that
    fits as an adjacency list.

    Parameters
    ----------
    columns : list of array[arcs]
        The arcs; only the vertices are looked at, as weights may have been left out.
    names : array or None
        The id of each vertex.
    sample : sequence of sequence of bytes
        The values of the first lines.
    path : str
    note : callable
    """
    src, dst = columns[:2]
    if names is not None:
        if names.dtype.kind not in "iu":
            return
        src, dst = names[src], names[dst]
    third = rows = None
    if len(sample[0]) == 3:
        if not all(row[2].isdigit() and len(row[2]) < _DIGITS for row in sample):
            return
        third, seen = [int(row[2]) for row in sample], len(sample)
        rows = np.stack([src[:seen].astype(object), dst[:seen].astype(object), third], axis=1)
    if rows is not None and len(src) == 3 and (rows.max() <= 1 or not np.diagonal(rows).any()):
        raise UserError(f"{path}: three lines of three values may be a matrix or arcs; "
                        f"--input-format matrix reads a matrix, --input-format edges arcs "
                        f"'u v weight'")
    if has_sizes(src, dst, third):
        words = b" ".join(sample[0]).decode()
        raise UserError(f"{path}: the first line, {words!r}, fits the other {len(src) - 1} as "
                        f"numbers of vertices and arcs; --input-format counted reads it so, "
                        f"--input-format edges as an arc")
    if rows is not None and _like_neighbours(src, rows):
        note(f"{path}: each vertex has one line, and the third values are vertices too; they count "
             f"as weights, --input-format adjlist reads them as neighbours")


def _like_neighbours(src, rows):
    """Whether the first values of all lines are all vertices once, and the third values of the
    first lines could be further neighbours."""
    count = len(src)
    return count > 2 and rows.max() < count and len(set(rows[:, 2])) > 1 \
        and all(len({*row}) == 3 for row in rows) and np.array_equal(np.sort(src), np.arange(count))


def numbered(names, path, note):
    """Note which numbers ids got, unless each has kept its own."""
    kept = names.dtype.kind in "iu" and len(names) and names[0] == 0 \
        and int(names[-1]) == len(names) - 1
    if not kept:
        note(f"{path}: {len(names)} ids are numbered from 0 in ascending order; --source takes an "
             f"id, results have the numbers, and --output the array 'id'")


def tell(graph, path, note, *, gaps, first):
    """Note weights that look like times; and with ``gaps``, vertices without arcs, which are there
    since an arc has a vertex of a larger number. ``first`` is the id of vertex 0, or None."""
    times = _times(graph.weights)
    if times:
        note(f"{path}: the weights {times}; --no-weights leaves them out")
    if gaps:
        _tell_gaps(graph, path, note, first)


def _times(weights):
    """Why weights look like times, or None."""
    if weights is None or len(weights) == 0:
        return None
    if int(weights.min()) >= _TIMES[0] and int(weights.max()) < _TIMES[1]:
        return "look like UNIX times"
    if len(weights) >= _ASCENDING and bool((weights[1:] >= weights[:-1]).all()) \
            and 1 + np.count_nonzero(weights[1:] > weights[:-1]) >= _ASCENDING:
        return "ascend from line to line, as times do"
    return None


def _tell_gaps(graph, path, note, first):
    met = np.zeros(graph.num_vertices, bool)
    met[graph.src] = True
    met[graph.dst] = True
    alone = graph.num_vertices - int(np.count_nonzero(met))
    if alone == 1 and not met[0] and first is None:
        note(f"{path}: vertices seem to be numbered from 1; they are taken as they are, so vertex "
             f"0 has no edge; --first 1 takes id 1 for vertex 0")
    elif alone:
        note(f"{path}: {alone} of {graph.num_vertices} vertices have no edge, since numbers are "
             f"left out{IDS}")
