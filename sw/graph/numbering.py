"""Numbers for the ids that occur in a file, whatever they are: sparse, of 64 bits, or words.

Numbers are given in ascending order of the ids: by value if all ids are whole numbers, else by
their letters. So the numbers do not depend on the order of the lines, and ids from 0 without gaps
keep theirs.

Until all ids are known, a whole number stands for itself, and every other word for -1, -2 and so
on in the order in which they occur first.
"""

import re

import numpy as np

from base.errors import UserError


__all__ = ["Numbering"]


#: Bytes of an id. The table of ids has so much room for each, see sw.graph.source.EXPANSION.
_LONGEST = 100

#: Whole numbers below this many times their count are sorted by marks.
_MARKS = 16

_PART = 1 << 20      # numbers that are placed at a time

_WHOLE = re.compile(rb"-?\d+")


def _distinct(columns):
    """The distinct whole numbers of columns, ascending."""
    top = max((int(column.max(initial=-1)) for column in columns), default=-1)
    if top < _MARKS * sum(map(len, columns)):
        met = np.zeros(top + 1, bool)
        for column in columns:
            met[column[column >= 0] if column.min(initial=0) < 0 else column] = True
        return np.flatnonzero(met)
    keys = np.empty(0, np.int64)
    for column in columns:
        keys = np.sort(np.concatenate([keys, _without_repeats(np.sort(column))]), kind="stable")
        keys = _without_repeats(keys)
    return keys[np.searchsorted(keys, 0):]


def _without_repeats(values):
    """Sorted values, each once."""
    return values[np.append(values[1:] != values[:-1], True)] if len(values) else values


def _placed(columns, keys, places):
    """The place of each whole number of columns, which are given up one by one; ``places`` are
    those of the keys. Negative numbers get any."""
    dense = len(keys) and int(keys[-1]) < _MARKS * sum(map(len, columns))
    if dense:
        table = np.zeros(int(keys[-1]) + 1, np.uint32)
        table[keys] = places
    found = []
    while columns:
        column = columns.pop(0)
        numbers = np.zeros(len(column), np.uint32)
        for at in range(0, len(column) if len(keys) else 0, _PART):
            part = column[at:at + _PART]
            if dense:
                numbers[at:at + _PART] = table[np.maximum(part, 0)]
            else:
                order = np.argsort(part)           # neighbours are then found near each other
                near = np.minimum(np.searchsorted(keys, part[order]), len(keys) - 1)
                numbers[at + order] = places[near]
        found.append(numbers)
    return found


class Numbering:
    """The ids of a graph's vertices.

    Parameters
    ----------
    path : str
        The file's name in errors.
    """

    def __init__(self, path):
        self._path, self._found = path, {}

    def of(self, words):
        """What stands for ids that are not all whole numbers of at most 18 digits, as int64.

        Parameters
        ----------
        words : list of bytes
        """
        found = self._found
        return np.fromiter((~found.setdefault(word, len(found)) for word in words), np.int64,
                           len(words))

    def settle(self, columns):
        """The numbers of all ids.

        Parameters
        ----------
        columns : list of int32[n] or int64[n]
            What stands for the ids. The list is emptied, to take little memory.

        Returns
        -------
        numbers : list of uint32[n]
            The columns with the numbers of the ids.
        names : array
            The id of each number: int64 or uint64 if all ids are whole numbers of 64 bits, else
            text. Text that is not UTF-8 is taken for Windows-1252.

        Raises
        ------
        UserError
            If an id is too long.
        """
        keys = _distinct(columns)
        if not self._found:
            return _placed(columns, keys, np.arange(len(keys), dtype=np.uint32)), keys
        numbers, names = self._sorted([*self._found, *(b"%d" % key for key in keys.tolist())])
        words, others = np.split(numbers, [len(self._found)])
        signs = [np.flatnonzero(column < 0) for column in columns]
        provisional = [~column[at] for column, at in zip(columns, signs)]
        found = _placed(columns, keys, others)
        for column, at, place in zip(found, signs, provisional):
            column[at] = words[place]
        return found, names

    def _sorted(self, words):
        """The number of each word, and the names by number."""
        longest = max(words, key=len)
        if len(longest) > _LONGEST:
            raise UserError(f"{self._path}: an id has {len(longest)} bytes, at most {_LONGEST}: "
                            f"{longest[:20].decode('utf-8', 'replace')!r}...")
        whole = all(map(_WHOLE.fullmatch, words))
        keys = [int(word) for word in words] if whole else words
        order: list = sorted(set(keys))
        place = {key: number for number, key in enumerate(order)}
        numbers = np.array([place[key] for key in keys], np.uint32)
        if not whole:
            return numbers, np.array(_decoded(order))
        for least, end, kind in ((-1 << 63, 1 << 63, np.int64), (0, 1 << 64, np.uint64)):
            if least <= order[0] and order[-1] < end:
                return numbers, np.array(order, kind)
        return numbers, np.array(list(map(str, order)))


def _decoded(words):
    try:
        return [word.decode() for word in words]
    except UnicodeDecodeError:
        return [word.decode("cp1252", "replace") for word in words]
