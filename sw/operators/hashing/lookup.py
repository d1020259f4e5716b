"""The lookup as an algorithm: which pair of a bucket answers a query.

The answer to a query is the first pair, in the order of insertion, whose key is the query. A bucket
has its pairs in this order, so the answer is the matching pair with the lowest address.

Why every order of the lanes gives the same result
--------------------------------------------------
*A lane has the whole bucket.* The lane goes through the bucket in order and stops at the first
match.

*No key occurs twice.* At most one pair matches, so one lane writes the answer.

*Else* each match puts its address into the query's word by atomic minimum, from an initial 2^32 -
1. The Weaver hands out a bucket's pairs in their order, and so do schedules that share rows. When a
match skips the rest of the bucket, all pairs before the match have been handed out. So skipping
prevents only later matches. The kernel ``fetch`` then loads the values of the answers.
"""

from typing import Any

import numpy as np

from base.errors import UserError
from sw.compile.algorithm import Algorithm
from sw.golden.hashing import lookup
from sw.compile.kernels.kernel import Vertex
from sw.compile.kernels.vertices import each_vertex


__all__ = ["HashLookup", "Queries"]


#: The largest number of comparisons: places of pairs count bytes below 2^31.
_MOST = (1 << 29) - 1


class Queries:
    """The queries of a lookup, and the table: what a graph is for other algorithms.

    Parameters
    ----------
    table : PairTable
    queries : uint32[n]

    Attributes
    ----------
    name : str
    num_vertices : int
        Number of queries.
    num_edges : int
        Number of pairs in the buckets of all queries together, which is the number of comparisons
        if no match ends one early.
    in_degrees : int64[n]
        Number of pairs in the bucket of each query.
    new_ids, names : None
        Queries are never reordered, and have no names.

    Raises
    ------
    UserError
        If there are too many comparisons.
    """

    new_ids = names = None

    def __init__(self, table, queries):
        self.table, self.queries, self.name = table, queries, table.name
        self.in_degrees = table.lengths(queries)
        self.num_vertices, self.num_edges = len(queries), int(self.in_degrees.sum())
        if self.num_edges > _MOST:
            raise UserError(f"{len(queries)} queries have {self.num_edges} pairs in their buckets "
                            f"together, must be at most {_MOST}; look up fewer at a time, or use "
                            "more buckets")


class HashLookup(Algorithm):
    """Answers to the queries of a :class:`Queries`.

    Parameters
    ----------
    graph : Queries
    count : bool
        Whether to count the matches of each query. Then no match ends a bucket early, unless no key
        occurs twice.
    """
    name = "lookup"
    no_frontier = "every query is looked up once"
    ARRAYS = "queries", "found", "answers"
    ITEM = "query", "queries"
    directions = ("pull",)

    def __init__(self, graph, count=False):
        super().__init__(graph)
        self._own: Any = None
        self._count = count
        self._counts = count and not graph.table.unique

    @property
    def subject(self):
        return f"a lookup of {self.graph.num_vertices} queries in a {self.graph.name}"

    def neighbor_array(self, task):
        return "keys"

    def first_only(self, k):
        return not self._counts

    def selective(self, task):
        return True

    def _settles(self, task):
        """Whether the lane of a match knows that no other lane has an earlier one."""
        return task.alone or self.graph.table.unique

    def private(self, task):
        """A lane with the whole bucket counts its matches. Lanes that share it count by atomics:
        matches are few, and to merge registers costs more."""
        return {"found": "min", "counts": "+"} if self._counts and task.alone else {}

    # Memory

    def reserve(self, task):
        super().reserve(task)
        if self._counts:
            task.buffers.reserve("counts", task.vertex_words)

    def init_vertex_value(self, task):
        task.buffers.fill("queries", self.graph.queries)
        task.buffers.fill("found", rest=-1)
        task.buffers.fill("answers")
        if self._counts:
            task.buffers.fill("counts")

    # Kernels

    def kernels(self, task):
        kernels = {"probe": ("gather", None)}
        if not self._settles(task):
            kernels["fetch"] = ("apply", None)
        return kernels

    def prepare(self, k):
        self._own = k.a.reg("own_query") if k.task.schedule.owns_base else None

    def begin(self, k, base):
        k.a.lw(self._own, base.reg)
        k.private.clear()

    def gather(self, k, edges):
        """The keys of the pairs, and the queries."""
        a, keys, queries = k.a, [], []
        for index, edge in enumerate(edges):
            keys.append(a.reg(f"key{index}"))
            a.lw(keys[-1], edge.neighbor.reg)
        for index, edge in enumerate(edges):
            query = self._own
            if query is None:
                query = a.reg(f"query{index}")
                a.lw(query, edge.base.reg)
            queries.append(query)
        return list(zip(keys, queries))

    def accepts(self, k, data, into, counts=True):
        k.a.xor(into, *data)
        (k.a.seqz if counts else k.a.snez)(into, into)

    def sum(self, k, edge, data, predicate):
        a, entry = k.a, edge.neighbor
        if k.private.words:
            k.private.take("found", entry.reg)
            k.private.take("counts", k.constant(1, "one"))
            return
        place = k.pointer(edge.base, "found", a.reg("place"))
        if self._settles(k.task):
            a.sw(entry.reg, place)
            self._fetch(k, entry, edge.base)
            return
        a.amominu_w(a.zero, entry.reg, place)
        if self._counts:
            place = k.pointer(edge.base, "counts", a.reg("place"))
            a.amoadd_w(a.zero, k.constant(1, "one"), place)

    @staticmethod
    def _fetch(k, entry, base):
        """The value of a pair becomes the answer to a query."""
        value = k.a.reg("value")
        k.a.lw(value, k.pointer(entry, "values", value))
        k.a.sw(value, k.pointer(base, "answers", k.a.reg("answer")))

    def finish(self, k, base):
        if not k.private.words:
            return
        found, counts = k.private.words.values()
        k.a.sw(counts, k.pointer(base, "counts", k.a.reg("place")))
        with k.only(counts, "missing"):
            k.a.sw(found, k.pointer(base, "found", k.a.reg("place")))
            self._fetch(k, Vertex(found, "keys"), base)

    def apply(self, k):
        """Load the values of the answers."""
        a = k.a
        distance = k.distance("keys", "values")
        with each_vertex(k, "found", "answers") as pointers:
            entry, some = a.regs("entry", "some")
            a.lw(entry, pointers["found"])
            a.xor(some, entry, k.full)
            a.snez(some, some)
            with k.only(some, "missing"):
                a.add(entry, entry, distance)
                a.lw(entry, entry)
                a.sw(entry, pointers["answers"])

    # Host

    def drive(self, session):
        session.launch("probe")
        if not self._settles(session.task):
            session.launch("fetch")
        return 1

    def outputs(self, session):
        """A word that names no pair gives an index out of range, so that the comparison with the
        reference finds it."""
        table = self.graph.table
        found = session.read_vertices("found")
        place = (found - np.uint32(session.task.buffers.address("keys"))) >> np.uint32(2)
        index = np.full(len(found), len(table.keys), dtype=np.int32)
        known = place < len(table.keys)
        index[known] = table.order[place[known]]
        index[found == 0xFFFF_FFFF] = -1
        outputs = {"index": index, "value": session.read_vertices("answers")}
        if self._counts:
            outputs["count"] = session.read_vertices("counts")
        elif self._count:
            outputs["count"] = (index >= 0).astype(np.uint32)
        return outputs

    def golden(self):
        table = self.graph.table
        keys, values = table.given
        index, value, count = lookup(keys, values, self.graph.queries)
        return {"index": index, "value": value} | ({"count": count} if self._count else {})

    def parameters(self):
        table = self.graph.table
        return {"count": self._count, "pairs": len(table.keys), "buckets": table.buckets,
                "unique": table.unique}
