"""The promise of the unit that generates edges as assertions: each edge's record comes once.

The harness follows one vertex, which is registered at most once, and one of its edges. All vertices
and all edges are alike, so what holds for these holds for all. The harness is the memory: it gives
the vertex its offsets, and the edge's neighbour and weight a value that no other word has. All else
that it gives is free. Loads are answered in any order, at any time.

The harness assumes what a kernel keeps: a warp waits for its answer, and stores a row's IDs before
it registers the row. The settings are those after a launch, so an ID is the address of the vertex's
offset. With weights the first request is a SET. The proof is bounded: it holds for the first cycles
after reset.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from formal.streams import hold
from hw.gather.eghw import EdgeGenerator
from hw.gather.interface import (AccessTag, access_layout, request_layout, response_layout,
                                 warp_shape)
from hw.operations import NONE, GatherOp, GatherSetting


__all__ = ["EghwPromise"]


#: Bits of the vertex's degree.
_DEGREE_BITS = 2


class EghwPromise(wiring.Component):
    """A unit that generates edges, its memory, and its promise.

    Parameters
    ----------
    config : HardwareConfig
        A small shape, with ``gather="eghw"``.
    weighted : bool
        Whether edges have weights.
    """
    def __init__(self, config, *, weighted=False):
        self._config, self._weighted = config, weighted
        super().__init__({
            "vertex": In(32), "first": In(32), "degree": In(_DEGREE_BITS),
            "edge": In(_DEGREE_BITS),                    # the edge's number among the vertex's
            "row": In(warp_shape(config)),               # the row in which the vertex may be
            "distance": In(32),                          # from a neighbour to its weight
            "request": In(stream.Signature(request_layout(config))),
            "response": Out(stream.Signature(response_layout(config))),
            "taken": In(1),                              # the memory takes an access
            "slot": In(range(max(2, config.eghw_requests))), "answers": In(1),
            "words": In(data.ArrayLayout(32, config.threads)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.dut = dut = EdgeGenerator(config)
        connect(m, flipped(self.request), dut.request)
        connect(m, dut.response, flipped(self.response))
        m.d.comb += [dut.reset.eq(0), Assume(~ResetSignal())]
        self._keep_steady(m)
        waits, complete, skipped = self._follow_requests(m)
        rows, registered = self._remember(m, dut)
        self._judge(m, waits, complete, skipped, rows, registered)
        hold(m, dut.response, name="response")
        hold(m, dut.access, name="access")
        return m

    def _keep_steady(self, m):
        """The vertex, its edges and the edge that is followed never change."""
        begun = Signal()
        m.d.sync += begun.eq(1)
        for name in ("vertex", "first", "degree", "edge", "row", "distance"):
            value = getattr(self, name)
            before = Signal.like(value, name=f"was_{name}")
            m.d.sync += before.eq(value)
            m.d.comb += Assume(~begun | (value == before))
        m.d.comb += [Assume(self.vertex != NONE), Assume(self.edge < self.degree)]

    def _follow_requests(self, m):
        """Which warps wait, which of them asked behind the last REG of the vertex's row, and
        whether the vertex was skipped."""
        config, request = self._config, self.request.payload
        waits, complete = Signal(config.warps), Signal(config.warps)
        skipped = Signal()
        started = Signal(init=not self._weighted)
        op = request.op
        m.d.comb += [
            Assume(~self.request.valid | started | (
                (op == GatherOp.SET) & request.mask[0] & (request.rd == GatherSetting.WEIGHTS)
                & (request.vid[0] == self.distance))),
            Assume(~self.request.valid | ~started | (op == GatherOp.REG) | (op == GatherOp.SKIP)
                   | (op == GatherOp.DEC_ID)),
            Assume(~self.request.valid | (request.warp < config.warps)),
            Assume(~self.request.valid | ~waits.bit_select(request.warp, 1)),
            Assume(~self.request.valid | request.mask.any()),
        ]
        if self._weighted:
            m.d.comb += Assume(self.distance.any())
        hold(m, self.request, name="request", rule=Assume)
        accepted = self.request.valid & self.request.ready
        asks = accepted & (op == GatherOp.DEC_ID)
        answered = self.response.valid & self.response.ready
        one = self.response.payload.warp
        m.d.sync += waits.eq((waits | Mux(asks, 1 << request.warp, 0))
                             & ~Mux(answered, 1 << one, 0))
        with m.If(accepted):
            m.d.sync += started.eq(1)
        with m.If(asks):
            m.d.sync += complete.eq(complete | 1 << request.warp)
        with m.If(accepted & (op == GatherOp.REG) & (request.warp + request.rd == self.row)):
            m.d.sync += complete.eq(0)
        with m.If(accepted & (op == GatherOp.SKIP) & (request.mask & Cat(
                vid == self.vertex for vid in request.vid)).any()):
            m.d.sync += skipped.eq(1)
        return waits, complete, skipped

    def _remember(self, m, dut):
        """The memory: it takes accesses, and gives data of loads.

        Returns for each warp the lanes in which the edge's records lie, of neighbours and of
        weights; and whether the vertex was read in its row.
        """
        config, threads = self._config, self._config.threads
        access, fetched = dut.access.payload, dut.fetched.payload
        slots = [(Signal(name=f"used_{i}"), Signal(access_layout(config), name=f"load_{i}"))
                 for i in range(config.eghw_requests)]
        takes = dut.access.valid & dut.access.ready
        m.d.comb += dut.access.ready.eq(self.taken)
        free = [~used for used, _ in slots]
        for i, (used, load) in enumerate(slots):
            fills = takes & ~access.store & free[i] & ~Cat(free[:i]).any()
            gives = dut.fetched.valid & (self.slot == i)
            m.d.sync += used.eq((used | fills) & ~gives)
            with m.If(fills):
                m.d.sync += load.eq(access)
        m.d.comb += Assert(~(dut.access.valid & ~access.store) | Cat(free).any())

        # An answer.
        given = Signal(access_layout(config))
        is_used = Array(used for used, _ in slots)[self.slot]
        m.d.comb += [
            Assume(self.slot < config.eghw_requests), dut.fetched.valid.eq(self.answers & is_used),
            given.eq(Array(load.as_value() for _, load in slots)[self.slot]),
            fetched.tag.eq(given.tag), fetched.warp.eq(given.warp), fetched.mask.eq(given.mask),
            fetched.data.eq(self.words), Assert(dut.fetched.ready),
        ]
        place = Signal(32)
        m.d.comb += place.eq((self.first + self.edge) << 2)
        registered = Signal()
        for lane in range(threads):
            address, word = given.address[lane], self.words[lane]
            of = given.tag
            is_edge = Mux(of == AccessTag.WEIGHTS, address == (place + self.distance)[:32],
                          address == place)
            m.d.comb += [
                Assume(~((of == AccessTag.BEGINS) & (address == self.vertex))
                       | (word == self.first)),
                Assume(~((of == AccessTag.ENDS) & (address == (self.vertex + 4)[:32]))
                       | (word == (self.first + self.degree)[:32])),
                # A word that says whether it is the edge's: bit 0.
                Assume(~((of == AccessTag.NEIGHBORS) | (of == AccessTag.WEIGHTS))
                       | (word[0] == is_edge)),
            ]
        shift = (threads * 4).bit_length() - 1
        hits = Cat(word == self.vertex for word in self.words) & given.mask
        reads = dut.fetched.valid & (given.tag == AccessTag.IDS)
        with m.If(reads & hits.any()):
            m.d.sync += registered.eq(1)
        m.d.comb += Assume(~(reads & hits.any()) | ((hits & (hits - 1)[:threads]) == 0)
                           & ~registered & (given.address[0] >> shift == self.row))

        # The records: which words that were stored are the edge's.
        parts = 1 + self._weighted
        rows = [[Signal(threads, name=f"record_{warp}_{part}") for part in range(parts)]
                for warp in range(config.warps)]
        with m.If(dut.access.valid & access.store):
            number = access.address[0] >> shift
            m.d.comb += [Assert(~access.mask[lane] | (access.address[lane] == (
                (number << shift) + 4 * lane))) for lane in range(threads)]
            m.d.comb += Assert(number < config.warps * parts)
            for warp in range(config.warps):
                for part in range(parts):
                    with m.If(number == warp * parts + part):
                        m.d.sync += rows[warp][part].eq(
                            access.mask & Cat(word[0] for word in access.data))
        return rows, registered

    def _judge(self, m, waits, complete, skipped, rows, registered):
        """What the answers must be."""
        threads = self._config.threads
        response, one = self.response.payload, self.response.payload.warp
        answered = self.response.valid & self.response.ready
        mine = Cat(vid == self.vertex for vid in response.data)
        works = Cat(vid != NONE for vid in response.data)
        found = [Signal(threads, name=f"found_{part}") for part in range(len(rows[0]))]
        for part, mask in enumerate(found):
            m.d.comb += mask.eq(Array(row[part] for row in rows)[one] & mine & response.mask)
        lanes = sum(mine[lane] & response.mask[lane] for lane in range(threads))
        given = Signal(range(1 << _DEGREE_BITS + 2))     # edges of the vertex
        times = Signal(2)                                # records of the edge
        shares = Signal()                                # a work had edges of others beside
        with m.If(self.response.valid):
            m.d.comb += [
                Assert(waits.bit_select(one, 1)), Assert(response.set_mask),
                Assert((works & (works + 1)[:threads]) == 0) if threads > 1 else [],
                Assert(response.mask == Mux(works.any(), works, (1 << threads) - 1)),
                *(Assert(mask == found[0]) for mask in found),
                Assert((found[0] & (found[0] - 1)[:threads]) == 0) if threads > 1 else [],
            ]
        with m.If(answered):
            m.d.sync += [given.eq(given + lanes), times.eq(times + found[0].any()),
                         shares.eq(shares | (mine.any() & (works & ~mine).any()))]
        # -1 tells that no edge was left. A work of another warp may still be on its way.
        ended = (self.response.valid & ~works.any() & complete.bit_select(one, 1)
                 & ~(waits & ~(1 << one)).any())
        m.d.comb += [
            Assert(times <= 1), Assert(given <= self.degree),
            Assert(~registered | skipped | (given != self.degree) | times.any()),
            Assert(~(ended & registered & ~skipped) | (given == self.degree)),
            Cover(times.any() & (given == self.degree) & (given > 1), "all edges of the vertex"),
            Cover(ended & times.any(), "the end behind the edge"),
            *([Cover(shares, "a work has edges of the vertex and others")] if threads > 1 else []),
        ]
