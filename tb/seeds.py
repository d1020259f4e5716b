"""Seeds of the random tests: always the same seeds, or new seeds for a nightly run.

``./graphloom test --seed N`` sets the environment variable ``GRAPHLOOM_SEED``. Each random bench
and each random program then gets a seed that follows from N and from its own fixed number.
"""

import os
import random
import zlib


__all__ = ["VARIABLE", "draw", "seed"]


#: Name of the environment variable.
VARIABLE = "GRAPHLOOM_SEED"


def seed(number: int) -> int:
    """A seed for a test in which any seed is legal.

    Parameters
    ----------
    number : int
        The seed of every run without ``GRAPHLOOM_SEED``.

    Returns
    -------
    int
        ``number``, or a number of 31 bits made of it and of ``GRAPHLOOM_SEED``.
    """
    fresh = os.environ.get(VARIABLE)
    return zlib.crc32(f"{fresh} {number}".encode()) >> 1 if fresh else number


def draw(*values: object) -> random.Random:
    """A source of random numbers for the test that has these values."""
    return random.Random(seed(zlib.crc32(repr(values).encode()) >> 1))
