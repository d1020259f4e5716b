"""The hash table in the device's memory, as a storage format whose rows are the queries' buckets.

The host places the table: the offset of each bucket, and keys and values by bucket. Kernels find
the bucket of a query by its hash (SparseWeaver, algorithm 4.1, lines 2 and 3). So nothing that
depends on the queries is made beforehand.

Lookups by edges
----------------
Schedules that go by rows hash a query where they load its row. Edge mapping needs all comparisons
as one sequence, whose order is that of the queries. Three kernels make it, and their cycles count:

``lengths``
    A lane hashes a query. The kernel keeps where the bucket begins, and adds up the lengths of the
    buckets of a *chunk*, the queries of a warp's lanes.
``scan``
    One warp adds up the chunks.
``places``
    A lane adds what is before its chunk. The kernel keeps the place of the query's first
    comparison, and for each block of edge mapping the query of its first comparison.

A lane then finds the query of a comparison by binary search among the queries of its block. These
arrays take two words a query, a word a chunk and a word a block. A list with the query of each
comparison, as edge mapping has for graphs, would take a word a comparison, to be written and read.
"""

from hw.isa import Csr
from sw.compile.formats.storage_format import Layout, StorageFormat
from sw.compile.asm.assembler import Condition
from sw.compile.kernels.distribution import Scan
from sw.compile.kernels.kernel import log2
from sw.compile.kernels.passes import Pass
from sw.compile.kernels.prefix import padded, prefix_sums
from sw.compile.kernels.vertices import each_vertex

from .table import emit_bucket


__all__ = ["BucketComparisons", "BucketFormat", "BucketRows"]


#: For lookups by edges: the place of each query's first comparison; the location of the bucket's
#: first pair, less this place; the comparisons of the chunks, and then the comparisons before them;
#: for each block its first query, as the address of its place; the number of all comparisons in
#: bytes.
_PLACES, _STARTS, _CHUNKS = "places", "starts", "chunks"
_FIRSTS, _TOTAL = "block_firsts", "comparisons"


def _to_word(k, into, number, array):
    """``into`` = the address of the word of that number."""
    k.a.slli(into, number, 2)
    k.a.add(into, into, k.constant(k.address(array), array))


class BucketRows(Layout):
    """A row is a query, and has the pairs of the query's bucket. An edge's neighbour is the address
    of a key in the table.

    Parameters
    ----------
    task : sw.compile.task.Task
    work : sw.operators.hashing.lookup.Queries
    """
    row_array = "queries"
    prefetches = False

    def __init__(self, task, work):
        super().__init__(task)
        self._table = work.table
        self.rows, self.edges = work.num_vertices, work.num_edges

    @property
    def places(self):
        return self._table.keys.size + self._over

    @property
    def _over(self):
        """Pairs behind the last that may be read."""
        return max(1, self.task.schedule.overread(self.task))

    def reserve(self):
        buffers = self.task.buffers
        buffers.reserve("offsets", len(self._table.offsets))
        buffers.reserve("keys", self.places)
        buffers.reserve("values", len(self._table.values))

    def build(self):
        buffers, table = self.task.buffers, self._table
        first = buffers.address("keys")
        if self.task.schedule.counts_edges:
            buffers.fill("offsets", table.offsets + table.offsets.dtype.type(first // 4))
        else:
            buffers.fill("offsets", 4 * table.offsets + table.offsets.dtype.type(first))
        buffers.fill("keys", table.keys)
        buffers.fill("values", table.values)

    def get_neighbor(self, k, row, begin, end):
        """A row behind the last is empty, whatever the bucket."""
        a = k.a
        query, inside = a.regs("query", "inside")
        a.lw(query, row)
        emit_bucket(k, query, begin, self._table.buckets)
        _to_word(k, end, begin, "offsets")
        a.lw(begin, end)
        a.lw(end, end, 4)
        a.sltu(inside, row, k.constant(k.address("queries") + 4 * self.rows, "queries_end"))
        a.sub(end, end, begin)
        k.masked(end, inside)
        a.add(end, end, begin)

    def get_edge(self, k, place, edges):
        for index, edge in enumerate(edges):
            k.a.addi(edge.neighbor.reg, place, self.spacing(k) * index)


class BucketComparisons(BucketRows):
    """Comparisons as edges. A location is four times the number of a comparison."""
    active = based = True

    @property
    def _over(self):
        return self._block

    @property
    def _block(self):
        """Comparisons of a block."""
        return self.task.schedule.edge_block(self.task)

    @property
    def _chunks(self):
        """Chunks, with those of queries behind the last."""
        return -(-self.task.vertex_words // self.task.config.threads)

    def reserve(self):
        super().reserve()
        buffers, task = self.task.buffers, self.task
        for name in (_PLACES, _STARTS):
            buffers.reserve(name, task.vertex_words)
        buffers.reserve(_CHUNKS, padded(task, self._chunks))
        buffers.reserve(_FIRSTS, self.edges // self._smallest_block + 2)
        buffers.reserve(_TOTAL, 1)

    @property
    def _smallest_block(self):
        """The block of a schedule that takes one edge a lane, in case the program is large."""
        return self.task.config.threads

    def build(self):
        super().build()
        buffers = self.task.buffers
        buffers.fill(_FIRSTS, rest=buffers.address(_PLACES) + 4 * max(0, self.rows - 1))

    def passes(self) -> list:
        """The kernels that arrange the comparisons."""
        return [Pass("lengths", self._lengths), Pass("scan", self._scan),
                Pass("places", self._find_places)]

    def _to_chunk(self, k, place, array):
        """``place``, the address of a query's word in ``array``, becomes the address of the word of
        the query's chunk."""
        k.a.sub(place, place, k.constant(k.address(array), array))
        k.shifted(place, place, -log2(k.config.threads) - 2)
        _to_word(k, place, place, _CHUNKS)

    def _lengths(self, k):
        a = k.a
        scan = Scan(k)
        with each_vertex(k, "queries", _PLACES, _STARTS) as pointers:
            begin, end, upto, total, chunk = a.regs("begin", "end", "upto", "total", "chunk")
            self.get_neighbor(k, pointers["queries"], begin, end)
            a.sub(end, end, begin)
            scan.sums(upto, end)
            scan.last(total, upto)
            a.sw(begin, pointers[_STARTS])
            a.sw(upto, pointers[_PLACES])
            a.mv(chunk, pointers["queries"])
            self._to_chunk(k, chunk, "queries")
            a.sw(total, chunk)

    def _scan(self, k):
        a = k.a
        warp, end, total = a.regs("warp", "chunks_end", "total")
        done = a.label("scan_done")
        k.lane_index(warp, per_warp=1)
        a.branch(Condition("ltu", a.zero, warp), done)      # one warp of the device
        k.phase(1)
        a.li(end, k.address(_CHUNKS) + 4 * self._chunks)
        a.mv(total, prefix_sums(k, _CHUNKS, end))
        a.sw(total, k.constant(k.address(_TOTAL), "total"))
        a.place(done)

    def _find_places(self, k):
        a, block = k.a, 4 * self._block
        first = a.reg("not_first")
        a.csrr(first, Csr.THREAD_ID)
        a.snez(first, first)
        a.neg(first, first)
        with each_vertex(k, _PLACES, _STARTS) as pointers:
            place, end, before, start = a.regs("place", "end", "before", "start")
            a.mv(before, pointers[_PLACES])
            self._to_chunk(k, before, _PLACES)
            a.lw(before, before)
            a.lw(end, pointers[_PLACES])
            a.lw(start, pointers[_STARTS])
            a.shfl_up(place, end, k.constant(1))
            a.and_(place, place, first)                     # sums of the lanes below
            a.add(place, place, before)
            a.add(end, end, before)
            a.sw(place, pointers[_PLACES])
            a.sub(start, start, place)
            a.sw(start, pointers[_STARTS])
            for register in (place, end):                   # the first block that begins here
                k.step(register, block - 1)
                k.shifted(register, register, -log2(block))
                _to_word(k, register, register, _FIRSTS)
            more, top, out = a.reg("more"), a.label("blocks"), a.label("blocks_end")
            a.sltu(more, place, end)
            k.narrow(more, out)
            a.place(top)
            a.sw(pointers[_PLACES], place)
            a.addi(place, place, 4)
            a.sltu(more, place, end)
            a.pred(more, k.full)
            a.bnez(more, top)
            a.place(out)

    # By edges

    def first_edge(self, k):
        return 0

    def edges_end(self, k):
        end, place = k.a.regs("comparisons_end", "place")
        k.a.li(place, k.address(_TOTAL))
        k.a.lw(end, place)
        return end

    def search_vid(self, k, location, bases):
        """The bases are the queries of the comparisons: each is the last query among those of the
        block whose place is not behind the comparison's."""
        a = k.a
        first, left, half = a.regs("block_first", "left", "half")
        wheres = [location, *a.regs(*(f"where{index}" for index in range(1, len(bases))))]
        places = a.regs(*(f"place{index}" for index in range(len(bases))))
        a.srli(first, location, log2(4 * self._block))
        _to_word(k, first, first, _FIRSTS)
        a.lw(left, first, 4)
        a.lw(first, first)
        a.sub(left, left, first)                # bytes of the words to search, less one word
        for base in bases:
            a.mv(base, first)
        for index, where in enumerate(wheres[1:], 1):
            a.addi(where, location, self.spacing(k) * index)
        with a.while_uniform(Condition("ltu", a.zero, left), "search"):
            # Half of the n + 1 queries are left out: the first (n + 1) / 2, or the others.
            a.addi(half, left, 4)
            a.srli(half, half, 3)
            a.slli(half, half, 2)
            for base, place in zip(bases, places):
                a.add(place, base, half)
                a.lw(place, place)
            for base, place, where in zip(bases, places, wheres):
                a.sltu(place, where, place)
                a.addi(place, place, -1)
                a.and_(place, place, half)
                a.add(base, base, place)
            a.sub(left, left, half)
        for base in bases:
            a.add(base, base, k.distance(_PLACES, "queries"))

    def get_edge(self, k, place, edges):
        a = k.a
        for index, edge in enumerate(edges):
            a.add(edge.neighbor.reg, edge.base.reg, k.distance("queries", _STARTS))
            a.lw(edge.neighbor.reg, edge.neighbor.reg)
        for index, edge in enumerate(edges):
            a.add(edge.neighbor.reg, edge.neighbor.reg, place)
            if index:
                a.addi(edge.neighbor.reg, edge.neighbor.reg, self.spacing(k) * index)


class BucketFormat(StorageFormat):
    """The format of lookups.

    Parameters
    ----------
    image : sw.operators.hashing.lookup.Queries
    """
    name = "buckets"

    def check(self, task):
        """Every schedule that goes by rows or by edges can be served."""

    def layouts(self, task):
        kind = BucketRows if task.schedule.needs == "rows" else BucketComparisons
        return [kind(task, self.image)]

    def passes(self, task):
        return task.layouts[0].passes() if task.schedule.needs == "edges" else []
