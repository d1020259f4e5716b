"""Hash lookup: a table whose buckets are rows, so that the schedules of graphs look keys up.

The algorithm is that of SparseWeaver, section 4.7.2 and algorithm 4.1. A query stands for a vertex,
and the pairs of its bucket stand for the vertex's edges. :mod:`sw.operators.hashing.table` builds
the table on the host, :mod:`sw.operators.hashing.buckets` reads the table in kernels, and
:mod:`sw.operators.hashing.lookup` has the work on a pair. Users begin with :class:`HashTable`.
"""

from .hash_table import HashTable


__all__ = ["HashTable"]
