"""The memory of a bench's configuration: the largest on one simulator, a smaller one on the other.

A unit that looks at addresses is so tested with both in a usual run, whichever shapes are drawn: in
the largest memory every address with the highest bit set is legal, and its end does not fit in a
word.
"""

from hw.config import LEGAL


__all__ = ["memory_of"]


def memory_of(simulator):
    """The field of the largest memory on Verilator; on Icarus none."""
    return {"memory_bytes": LEGAL["memory_bytes"].values[-1]} if simulator == "verilator" else {}
