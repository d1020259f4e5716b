"""The hash table as the host builds it.

==========  ========================================================================
buckets     test_groups: against the reference model, at random; test_default
hash        test_hash: against the reference model
words       test_words, test_wrong_words
refused     test_wrong_tables
==========  ========================================================================
"""

import numpy as np
import pytest

from base.errors import UserError
from sw.golden.hashing import bucket, grouped, mixed
from sw.operators.hashing.table import PairTable, buckets_of, hashes, words
from tb.seeds import seed


WORD = (1 << 32) - 1


def test_hash():
    rng = np.random.default_rng(seed(3))
    keys = np.concatenate([rng.integers(1 << 32, size=500), [0, 1, WORD, 1 << 31]])
    keys = keys.astype(np.uint32)
    assert hashes(keys).tolist() == [mixed(key) for key in keys.tolist()]
    for buckets in (1, 2, 3, 1000, (1 << 31) - 1):
        assert buckets_of(keys, buckets).tolist() == [bucket(key, buckets) for key in keys.tolist()]
    assert keys[:4].tolist() != hashes(keys)[:4].tolist()       # the argument is unchanged


@pytest.mark.parametrize("pairs, buckets", [(0, 1), (0, 5), (1, 1), (40, 1), (40, 7), (40, 300)])
def test_groups(pairs, buckets):
    rng = np.random.default_rng(seed(pairs + buckets))
    keys, values = rng.integers(30, size=pairs), rng.integers(1 << 32, size=pairs)
    table = PairTable(keys, values, buckets)
    groups = grouped(keys, buckets)
    assert np.diff(table.offsets).tolist() == [len(group) for group in groups]
    assert table.offsets[0] == 0 and len(table.offsets) == buckets + 1
    assert table.order.tolist() == [number for group in groups for number in group]
    assert (table.keys == keys[table.order]).all() and (table.values == values[table.order]).all()
    assert table.unique == (len(set(keys.tolist())) == pairs)
    queries = rng.integers(60, size=50)
    assert table.lengths(queries).tolist() == [len(groups[bucket(int(query), buckets)])
                                               for query in queries]


def test_default():
    """A bucket for every 8 keys, and at least one."""
    for pairs, buckets in ((0, 1), (1, 1), (8, 1), (9, 2), (800, 100)):
        assert PairTable(range(pairs), range(pairs)).buckets == buckets


def test_words():
    for given in ([0, 7, WORD], (0, 7, WORD), np.array([0, 7, WORD]), iter([0, 7, WORD]),
                  np.array([0, 7, WORD], np.uint32), [np.int64(0), 7, np.uint32(WORD)],
                  np.array([0, 7, WORD], object), np.array([0, 7, WORD], np.uint64)):
        found = words(given, "keys")
        assert found.dtype == np.uint32 and found.tolist() == [0, 7, WORD]
    for given in ([], (), np.array([], np.int32), np.array([])):
        assert words(given, "keys").tolist() == []
    given = np.array([1], np.uint32)
    words(given, "keys")[0] = 2
    assert given[0] == 1


@pytest.mark.parametrize("given, message", [
    ([1, -1], "number 1 of the keys is -1, must be from 0 to 4294967295"),
    ([1 << 32], "number 0 of the keys is 4294967296, must be from 0 to 4294967295"),
    ([0, 1 << 80], f"number 1 of the keys is {1 << 80}, must be from 0"),
    (np.array([3, -2], np.int8), "number 1 of the keys is -2, must be from 0"),
    (np.array([1 << 63], np.uint64), f"number 0 of the keys is {1 << 63}, must be"),
    ([1, 2.0], "number 1 of the keys is 2.0, must be an integer from 0 to 4294967295"),
    (np.array([1.5]), "number 0 of the keys is .*1.5.*, must be an integer"),
    (np.array([True]), "number 0 of the keys is .*True.*, must be an integer"),
    ([False], "number 0 of the keys is False, must be an integer"),
    ("12", "number 0 of the keys is '1', must be an integer"),
    ([None], "number 0 of the keys is None, must be an integer"),
    (np.zeros((2, 2), int), "the keys have 2 dimensions, must have one"),
    (np.int64(3), "the keys are .*3.*, must be a sequence of integers"),
    (3, "the keys are 3, must be a sequence of integers"),
])
def test_wrong_words(given, message):
    with pytest.raises(UserError, match=message):
        words(given, "keys")


@pytest.mark.parametrize("keys, values, buckets, message", [
    ([1, 2], [3], None, "there are 2 keys and 1 values, must be as many"),
    ([1], [-3], None, "number 0 of the values is -3"),
    ([1], [3], 0, "buckets is 0, must be an integer from 1 to 2147483647"),
    ([1], [3], -4, "buckets is -4, must be"),
    ([1], [3], 1 << 31, "buckets is 2147483648, must be"),
    ([1], [3], 2.0, "buckets is 2.0, must be"),
    ([1], [3], "2", "buckets is '2', must be"),
    ([1], [3], True, "buckets is True, must be"),
    ([1], [3], (1 << 31) - 1, "a hash table of 1 pairs in 2147483647 buckets does not fit in "
                              "device memory: 8589934600 bytes needed, memory_bytes is 65536"),
])
def test_wrong_tables(keys, values, buckets, message):
    with pytest.raises(UserError, match=message):
        PairTable(keys, values, buckets, memory=1 << 16)


def test_a_table_may_fill_the_memory():
    assert PairTable([1], [3], 4, memory=28).buckets == 4
    with pytest.raises(UserError, match="28 bytes needed, memory_bytes is 27"):
        PairTable([1], [3], 4, memory=27)
