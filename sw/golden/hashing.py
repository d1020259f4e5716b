"""Hash lookup: the bucket of a key, the pairs of each bucket, and the answers to queries.

Everything here is plain Python on integers and dictionaries. The answers do not depend on the hash.
"""

import numpy as np


__all__ = ["bucket", "grouped", "lookup", "mixed"]


_WORD = 0xFFFF_FFFF


def mixed(key):
    """The finalizer of MurmurHash3 on a word."""
    key ^= key >> 16
    key = key * 0x85EBCA6B & _WORD
    key ^= key >> 13
    key = key * 0xC2B2AE35 & _WORD
    return key ^ key >> 16


def bucket(key, buckets):
    """The bucket of ``key``: its hash times ``buckets``, without the lower 32 bits."""
    return mixed(key) * buckets >> 32


def grouped(keys, buckets):
    """The numbers of the pairs in each bucket, in the order of the pairs: a list of lists."""
    found = [[] for _ in range(buckets)]
    for number, key in enumerate(keys):
        found[bucket(int(key), buckets)].append(number)
    return found


def lookup(keys, values, queries):
    """The answer to each query.

    Parameters
    ----------
    keys, values : sequence of int
        The pairs, in the order in which they were inserted.
    queries : sequence of int

    Returns
    -------
    index : int32[queries]
        The number of the first pair with the key; -1 if there is none.
    value : uint32[queries]
        The value of this pair; 0 if there is none.
    count : uint32[queries]
        How many pairs have the key.
    """
    first, count = {}, {}
    for number, key in enumerate(map(int, keys)):
        first.setdefault(key, number)
        count[key] = count.get(key, 0) + 1
    index = [first.get(int(query), -1) for query in queries]
    return (np.array(index, dtype=np.int32),
            np.array([0 if number < 0 else int(values[number]) for number in index], np.uint32),
            np.array([count.get(int(query), 0) for query in queries], np.uint32))
