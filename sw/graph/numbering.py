"""Numbers for the ids that occur in a file, whatever they are: sparse, of 64 bits, or words.

Numbers are given in ascending order of the ids: by value if all ids are whole numbers, else by
their letters. So the numbers do not depend on the order of the lines, and ids from 0 without gaps
keep theirs.
"""

import re

import numpy as np

from base.errors import UserError


__all__ = ["SPACE", "Numbering"]


#: Stands for a space within an id, as the tables of :mod:`sw.graph.text` end a value at spaces.
SPACE = b"\0"

#: Characters of an id. The table of ids has so much room for each, see sw.graph.source.EXPANSION.
_LONGEST = 100

_WHOLE = re.compile(rb"-?\d+")


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
        """Provisional numbers of ids, in the order in which they occur first, as int64.

        Parameters
        ----------
        words : list of bytes
        """
        found = self._found
        return np.fromiter((found.setdefault(word, len(found)) for word in words), np.int64,
                           len(words))

    def settle(self):
        """The numbers of all ids that were seen.

        Returns
        -------
        numbers : uint32[n]
            The number of each provisional number.
        names : array
            The id of each number: int64 or uint64 if all ids are whole numbers of 64 bits, else
            text.

        Raises
        ------
        UserError
            If an id is too long.
        """
        words = list(self._found)
        longest = max(words, key=len, default=b"")
        if len(longest) > _LONGEST:
            raise UserError(f"{self._path}: an id has {len(longest)} bytes, at most {_LONGEST}: "
                            f"{longest[:20].decode('utf-8', 'replace')!r}...")
        whole = all(map(_WHOLE.fullmatch, words))
        keys = [int(word) for word in words] if whole else words
        order: list = sorted(set(keys))
        place = {key: number for number, key in enumerate(order)}
        numbers = np.array([place[key] for key in keys], np.uint32)
        if not whole:
            return numbers, np.array([word.replace(SPACE, b" ").decode("utf-8", "replace")
                                      for word in order])
        low, high = (order[0], order[-1]) if order else (0, 0)
        for least, end, kind in ((-1 << 63, 1 << 63, np.int64), (0, 1 << 64, np.uint64)):
            if least <= low and high < end:
                return numbers, np.array(order, kind)
        return numbers, np.array(list(map(str, order)))
