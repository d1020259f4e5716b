"""A hash table as the host builds it: pairs grouped by bucket, and the bucket of a key.

The hash is the finalizer of MurmurHash3 (fmix32, A. Appleby), a bijection of 32-bit words. The
bucket is the upper word of hash times number of buckets (D. Lemire, "Fast random integer generation
in an interval", 2019). So any number of buckets is legal, and a kernel needs no division.
"""

import operator

import numpy as np

from base.errors import UserError


__all__ = ["PairTable", "buckets_of", "emit_bucket", "hashes", "words"]


#: The steps of the hash: right shifts whose result is XORed in, and factors between them.
_SHIFTS, _FACTORS = (16, 13, 16), (0x85EB_CA6B, 0xC2B2_AE35)

#: Keys of a bucket, on average, if the user does not say how many buckets there are.
_MEAN = 8

_LARGEST = (1 << 32) - 1


def words(given, what) -> np.ndarray:
    """A sequence of unsigned words as an array.

    Parameters
    ----------
    given : array or sequence of int
    what : str
        The plural name of an entry, for messages.

    Returns
    -------
    uint32[n]
        A copy.

    Raises
    ------
    UserError
        If there is not one dimension, or an entry is no integer from 0 to 2^32 - 1.
    """
    if isinstance(given, np.ndarray) and given.ndim != 1:
        raise UserError(f"the {what} have {given.ndim} dimensions, must have one")
    if not (isinstance(given, np.ndarray) and given.dtype.kind in "iu"):
        given = _integers(given, what)
    wrong = np.flatnonzero((given < 0) | (given > _LARGEST))
    if len(wrong):
        raise UserError(f"number {wrong[0]} of the {what} is {given[wrong[0]]}, must be from 0 to "
                        f"{_LARGEST}")
    return given.astype(np.uint32)


def _integers(given, what):
    """Any sequence as an array of Python's integers."""
    try:
        entries = list(given)
    except TypeError:
        raise UserError(f"the {what} are {given!r}, must be a sequence of integers") from None
    found = np.empty(len(entries), dtype=object)
    for number, entry in enumerate(entries):
        try:
            if isinstance(entry, (bool, np.bool_)):
                raise TypeError
            found[number] = operator.index(entry)
        except TypeError:
            raise UserError(f"number {number} of the {what} is {entry!r}, must be an integer "
                            f"from 0 to {_LARGEST}") from None
    return found


def hashes(keys) -> np.ndarray:
    """The hash of each key; uint32 to uint32."""
    mixed = np.array(keys, dtype=np.uint32)
    for number, shift in enumerate(_SHIFTS):
        if number:
            mixed *= np.uint32(_FACTORS[number - 1])
        mixed ^= mixed >> np.uint32(shift)
    return mixed


def buckets_of(keys, buckets) -> np.ndarray:
    """The bucket of each key, of so many buckets; uint32 to int64."""
    return (hashes(keys).astype(np.uint64) * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)


def emit_bucket(k, key, into, buckets):
    """Code of a kernel: ``into`` = the bucket of the key in the register ``key``, as
    :func:`buckets_of` has it. ``into`` is another register than ``key``."""
    a, part, source = k.a, k.a.reg("hash_part"), key
    for number, shift in enumerate(_SHIFTS):
        if number:
            a.mul(into, into, k.constant(_FACTORS[number - 1], "hash_factor"))
            source = into
        a.srli(part, source, shift)
        a.xor(into, source, part)
    a.mulhu(into, into, k.constant(buckets, "buckets"))


class PairTable:
    """Pairs of a key and a value, grouped by the bucket of the key.

    The pairs of a bucket are in the order in which they were given. A key may occur several times.

    Parameters
    ----------
    keys, values : array or sequence of int
        Unsigned words, as many values as keys.
    buckets : int, optional
        Number of buckets, from 1 to 2^31 - 1; left out, one for every 8 keys.
    memory : int, optional
        Bytes of memory, of which the table must not take more.

    Attributes
    ----------
    given : (uint32[pairs], uint32[pairs])
        Keys and values in the order in which they were given.
    keys, values : uint32[pairs]
        In the order of the buckets.
    order : int64[pairs]
        The number, as the pairs were given, of each pair.
    offsets : uint32[buckets + 1]
        Where the pairs of each bucket begin, and the end of the last bucket.
    unique : bool
        Whether no key occurs twice.

    Raises
    ------
    UserError
        Keys or values that are no unsigned words, or not equally many; a number of buckets that is
        not legal; too many pairs and buckets for the memory.
    """

    def __init__(self, keys, values, buckets=None, memory=None):
        keys, values = words(keys, "keys"), words(values, "values")
        if len(keys) != len(values):
            raise UserError(f"there are {len(keys)} keys and {len(values)} values, must be as many")
        self.given = keys, values
        self.buckets = self._number(buckets, len(keys))
        needed = 8 * len(keys) + 4 * (self.buckets + 1)
        if memory is not None and needed > memory:
            raise UserError(f"a hash table of {len(keys)} pairs in {self.buckets} buckets does not "
                            f"fit in device memory: {needed} bytes needed, memory_bytes is "
                            f"{memory}")
        owners = buckets_of(keys, self.buckets)
        self.order = np.argsort(owners, kind="stable")
        self.keys, self.values = keys[self.order], values[self.order]
        self.offsets = np.zeros(self.buckets + 1, dtype=np.uint32)
        np.cumsum(np.bincount(owners, minlength=self.buckets), out=self.offsets[1:])
        self.unique = len(np.unique(keys)) == len(keys)

    @staticmethod
    def _number(buckets, pairs):
        if buckets is None:
            return max(1, -(-pairs // _MEAN))
        try:
            number = 0 if isinstance(buckets, bool) else operator.index(buckets)
        except TypeError:
            number = 0
        if not 1 <= number < 1 << 31:
            raise UserError(f"buckets is {buckets!r}, must be an integer from 1 to {(1 << 31) - 1}")
        return number

    @property
    def name(self) -> str:
        """A description in a few words."""
        return f"hash table of {len(self.keys)} pairs in {self.buckets} buckets"

    def lengths(self, queries) -> np.ndarray:
        """The number of pairs in the bucket of each query; int64."""
        owners = buckets_of(queries, self.buckets)
        return np.diff(self.offsets.astype(np.int64))[owners]
