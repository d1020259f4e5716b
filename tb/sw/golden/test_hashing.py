"""The reference model of the hash lookup.

=========  =========================================================================
hash       test_hash: MurmurHash3, of which the hash is the last part, on published
           values; test_bijection
buckets    test_buckets: by hand
answers    test_by_hand; test_scan: against a scan of all pairs
=========  =========================================================================
"""

import numpy as np
import pytest

from sw.golden.hashing import bucket, grouped, lookup, mixed


WORD = (1 << 32) - 1


def murmur3(text, seed):
    """MurmurHash3_x86_32, with the finalizer of the model."""
    hashed = seed
    for start in range(0, len(text), 4):
        part = text[start:start + 4]
        word = int.from_bytes(part, "little") * 0xCC9E2D51 & WORD
        word = (word << 15 | word >> 17) & WORD
        hashed ^= word * 0x1B873593 & WORD
        if len(part) == 4:
            hashed = (hashed << 13 | hashed >> 19) & WORD
            hashed = hashed * 5 + 0xE6546B64 & WORD
    return mixed(hashed ^ len(text))


@pytest.mark.parametrize("text, seed, expected", [
    (b"", 0, 0), (b"", 1, 0x514E28B7), (b"", WORD, 0x81F16F39), (b"test", 0, 0xBA6BD213),
    (b"aaaa", 0x9747B28C, 0x5A97808A), (b"abc", 0x9747B28C, 0xC84A62DD),
    (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    (b"The quick brown fox jumps over the lazy dog", 0x9747B28C, 0x2FA826CD)])
def test_hash(text, seed, expected):
    assert murmur3(text, seed) == expected


def test_bijection():
    """No two of these keys, which differ in a few bits, have the same hash."""
    keys = {1 << bit for bit in range(32)} | set(range(5000)) | {WORD - n for n in range(5000)}
    assert len({mixed(key) for key in keys}) == len(keys)


def test_buckets():
    """The hash of 1 is 0x514E28B7, which is 0.3176 of 2^32."""
    assert [bucket(1, buckets) for buckets in (1, 2, 3, 4, 100, 1000)] == [0, 0, 0, 1, 31, 317]
    assert [bucket(0, buckets) for buckets in (1, 100)] == [0, 0]
    assert bucket(WORD, 100) == 0x81F16F39 * 100 // (1 << 32) == 50
    assert grouped([0, 1, WORD, 1], 4) == [[0], [1, 3], [2], []]


def test_by_hand():
    index, value, count = lookup([5, 9, 5, 0], [50, 90, 51, WORD], [9, 5, 7, 0, 9])
    assert index.tolist() == [1, 0, -1, 3, 1]
    assert value.tolist() == [90, 50, 0, WORD, 90]
    assert count.tolist() == [1, 2, 0, 1, 1]
    for answers in (lookup([], [], [3]), lookup([3], [4], [])):
        assert [len(each) for each in answers] == ([1] * 3 if answers[0].size else [0] * 3)
    assert lookup([], [], [3])[0].tolist() == [-1]


def test_scan():
    rng = np.random.default_rng(7)
    keys, values = rng.integers(30, size=80), rng.integers(WORD, size=80)
    queries = rng.integers(40, size=200)
    index, value, count = lookup(keys, values, queries)
    for query, *answer in zip(queries, index, value, count):
        where = np.flatnonzero(keys == query)
        assert answer == ([where[0], values[where[0]], len(where)] if len(where) else [-1, 0, 0])
