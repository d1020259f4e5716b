"""The promise of the Weaver without rounds as assertions: every registered edge once, in order.

The harness follows one registered vertex, of any number, and its edges. All registered vertices
are alike, so what holds for this vertex holds for all. The requests and the readiness for responses
are free. The harness assumes what a kernel keeps:

- a warp waits for its answer;
- all warps that register are open before the first warp asks;
- an open warp registers its next rows when it was told to, each once, and not before;
- two warps do not register the same row of the table;
- a warp closes at most once, and registers nothing afterwards.

A registration's number is its VID, and the upper part of its positions. Its degree is below 4. The
proof is bounded: it holds for the first cycles after reset.
"""

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from checks.formal.streams import hold
from hw.gather.interface import response_layout, warp_shape
from hw.gather.stream.unit import StreamWeaver
from hw.operations import NONE, REGISTER, GatherOp


__all__ = ["StreamWeaverPromise"]


#: Bits of a degree, and of the number of a registered row.
_DEGREE_BITS, _ROW_BITS = 2, 2

#: Registers that a request names: one of two.
_RD, _RD2 = 4, 16


class StreamWeaverPromise(wiring.Component):
    """A Weaver without rounds, and its promise.

    Parameters
    ----------
    config : HardwareConfig
        A small shape, with ``gather="stream"``.

    Attributes
    ----------
    longest_wait : int
        Cycles within which some warp is answered if all open warps wait and the response is not
        held up.
    """
    def __init__(self, config):
        self._config = config
        self._lane_bits = ceil_log2(config.threads)
        self._vid_bits = vid_bits = _ROW_BITS + self._lane_bits
        self.longest_wait = 2 * config.threads + 3
        super().__init__({
            "vertex": In(vid_bits),
            "valid": In(1), "op": In(GatherOp), "warp": In(warp_shape(config)),
            "mask": In(config.threads), "rd": In(1), "rd2": In(1),
            "degree": In(data.ArrayLayout(_DEGREE_BITS, config.threads)),
            "named": In(data.ArrayLayout(vid_bits, config.threads)),   # VIDs of a SKIP
            "none": In(config.threads),                                # ... that are NONE instead
            "response": Out(stream.Signature(response_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        warps, threads = config.warps, config.threads
        everyone = (1 << threads) - 1
        m.submodules.dut = dut = StreamWeaver(config)
        request, response = dut.request.payload, self.response.payload
        connect(m, dut.response, flipped(self.response))
        m.d.comb += [dut.reset.eq(0), Assume(~ResetSignal())]

        def of(bits, warp):
            return bits.bit_select(warp, 1)

        # The request.

        rows = Signal(_ROW_BITS)           # rows registered so far
        is_reg, is_skip = self.op == GatherOp.REG, self.op == GatherOp.SKIP
        asks_both = self.op == GatherOp.DEC
        asks_work = (self.op == GatherOp.DEC_ID) | asks_both
        asked = self.valid & dut.request.ready
        m.d.comb += [
            dut.request.valid.eq(self.valid), request.op.eq(self.op), request.warp.eq(self.warp),
            request.mask.eq(self.mask), request.rd.eq(Mux(is_reg, self.rd, _RD | self.rd)),
            request.rd2.eq(_RD2 | self.rd2),
        ]
        registers = []                     # VIDs of a row that is registered now
        for lane in range(threads):
            vid = Cat(Const(lane, self._lane_bits), rows)
            registers.append(vid)
            m.d.comb += [
                request.vid[lane].eq(Mux(is_reg, vid, Mux(self.none[lane], NONE,
                                                          self.named[lane]))),
                request.loc[lane].eq(vid << _DEGREE_BITS),
                request.degree[lane].eq(self.degree[lane]),
            ]
        closes = is_skip & (self.mask & self.none).any()

        # The warps: each one's last request, and what it may do.

        waits_work, waits_loc = Signal(warps), Signal(warps)
        fused = Signal(warps)              # the last request was a DEC
        rd, rd2 = Signal(warps), Signal(warps)
        masks = Signal(data.ArrayLayout(threads, warps))
        opened, closed = Signal(warps), Signal(warps)
        may = Signal(warps, init=(1 << warps) - 1)       # may register rows
        owned, used = Signal(warps), Signal(warps)       # rows that were registered; ... since told
        owners = Signal(data.ArrayLayout(warp_shape(config), warps))
        into = Signal(range(warps + 1))
        m.d.comb += into.eq(self.warp + self.rd)
        told = Signal(warps)               # told to, and has done nothing about it yet
        barred = Signal(warps)             # asked after the vertex was skipped
        begun = Signal()                   # some warp has asked for work

        with m.If(self.valid):
            m.d.comb += [
                Assume(self.op.as_value() <= GatherOp.DEC.value), Assume(self.warp < warps),
                Assume(~of(waits_work | waits_loc, self.warp)),
                Assume(~is_reg | (of(may & ~closed, self.warp) & (rows != (1 << _ROW_BITS) - 1))),
                Assume(~is_reg | ((into < warps) & of(~used, into)
                                  & (of(~owned, into) | (owners[into] == self.warp)))),
                Assume(~(is_reg & begun) | of(opened, self.warp)),
                Assume(~closes | of(~closed, self.warp)),
            ]
        hold(m, dut.request, name="request", rule=Assume)

        # The vertex, and its edges.

        vertex, steady = Signal.like(self.vertex), Signal()
        m.d.sync += [vertex.eq(self.vertex), steady.eq(1)]
        m.d.comb += Assume(~steady | (self.vertex == vertex))
        degree, given = Signal(_DEGREE_BITS), Signal(_DEGREE_BITS)
        passed = Signal()                  # an entry behind it in its row gave edges
        is_last = Signal()                 # the entry handed out last is the vertex
        skipped, maybe_skipped = Signal(), Signal()
        over = Signal()                    # a work that was not full, or the end, was handed out
        ended = Signal()                   # the end was handed out

        def is_vertex(value):
            return value == self.vertex

        answered = self.response.valid & self.response.ready
        with m.If(asked):
            for warp in range(warps):
                with m.If(self.warp == warp):
                    m.d.sync += [waits_work[warp].eq(asks_work), fused[warp].eq(asks_both),
                                 waits_loc[warp].eq(self.op == GatherOp.DEC_LOC),
                                 rd[warp].eq(self.rd), rd2[warp].eq(self.rd2),
                                 masks[warp].eq(self.mask), barred[warp].eq(skipped)]
                    with m.If(is_reg):
                        m.d.sync += [opened[warp].eq(1), told[warp].eq(0)]
                    with m.If(asks_work):
                        m.d.sync += may[warp].eq(0)
                    with m.If(closes):
                        m.d.sync += [opened[warp].eq(0), closed[warp].eq(1), told[warp].eq(0)]
            with m.If(is_reg):
                m.d.sync += [rows.eq(rows + 1), owned.bit_select(into, 1).eq(1),
                             used.bit_select(into, 1).eq(1), owners[into].eq(self.warp)]
                for lane in range(threads):
                    with m.If(is_vertex(registers[lane]) & self.mask[lane]):
                        m.d.sync += degree.eq(self.degree[lane])
            with m.If(asks_work):
                m.d.sync += begun.eq(1)
        names = Cat(is_vertex(vid) & ~none for vid, none in zip(self.named, self.none))
        with m.If(asked & is_skip & (self.mask & names).any()):
            # An answer of the same cycle may come before or after the SKIP.
            m.d.sync += [skipped.eq(skipped | (is_last & ~answered)),
                         maybe_skipped.eq(maybe_skipped | is_last | answered)]

        # Answers to a DEC_ID, and the first of a DEC.

        is_first, both = Signal(), Signal()
        m.d.comb += [is_first.eq(of(waits_work, response.warp)), both.eq(of(fused, response.warp))]
        ends, asks_row = response.data[0] == NONE, response.data[0] == REGISTER
        works = ~ends & ~asks_row
        has_work = Mux(works, Cat(vid != NONE for vid in response.data), 0)
        mine = Cat(is_vertex(vid) for vid in response.data)
        before, count = [], given
        for lane in range(threads):
            before.append(count)
            count = (count + mine[lane])[:_DEGREE_BITS + 1]

        def row(vid):
            return vid >> self._lane_bits

        behind = Cat((row(vid) == row(self.vertex)) & (vid > self.vertex) for vid in response.data)
        with m.If(self.response.valid):
            m.d.comb += Assert(response.rd == Mux(is_first | ~both, _RD | of(rd, response.warp),
                                                  _RD2 | of(rd2, response.warp)))
        with m.If(self.response.valid & is_first):
            m.d.comb += [Assert(response.set_mask == ~both), Assert(~ended | ends),
                         Assert(~of(told, response.warp) | asks_row)]
            with m.If(works):
                m.d.comb += [
                    # The lowest lanes have work; all of them unless nothing can follow.
                    Assert((has_work & (has_work + 1)[:threads]) == 0),
                    Assert(has_work.all() | ~opened.any()), Assert(~over),
                    Assert(response.mask == Mux(both, everyone, has_work)),
                    Assert(count <= degree), Assert(~passed | ~mine.any()),
                    Assert(~of(barred, response.warp) | ~mine.any()),
                ]
                m.d.comb += [Assert(~has_work[lane] | (response.data[lane] < 1 << self._vid_bits))
                             for lane in range(threads)]
                m.d.comb += [Assert(~(behind[lane] & mine[lane + 1:].any()))
                             for lane in range(threads - 1)]
            with m.Else():
                m.d.comb += [Assert(Cat(vid == response.data[0] for vid in response.data).all()),
                             Assert(response.mask == everyone)]
            with m.If(asks_row):
                m.d.comb += Assert(of(opened, response.warp))
            with m.If(ends):
                m.d.comb += [Assert(~opened.any()), Assert((given == degree) | maybe_skipped)]
        with m.If(answered & is_first):
            for warp in range(warps):
                with m.If(response.warp == warp):
                    m.d.sync += [waits_work[warp].eq(0), waits_loc[warp].eq(both)]
                    with m.If(asks_row):
                        m.d.sync += [may[warp].eq(1), told[warp].eq(1)]
                        for row in range(warps):
                            with m.If(owners[row] == warp):
                                m.d.sync += used[row].eq(0)
            m.d.sync += [over.eq(over | (~asks_row & ~has_work.all())), ended.eq(ended | ends)]
            with m.If(works):
                m.d.sync += [given.eq(count), passed.eq(passed | behind.any())]
                for lane in range(threads):
                    with m.If(has_work[lane]):
                        m.d.sync += is_last.eq(mine[lane])

        # The EIDs belong to the VIDs.

        place = data.StructLayout({"works": 1, "mine": 1, "edge": _DEGREE_BITS})
        places = Signal(data.ArrayLayout(data.ArrayLayout(place, threads), warps))
        known = Signal(warps)
        with m.If(answered & is_first):
            for warp in range(warps):
                with m.If(response.warp == warp):
                    m.d.sync += known[warp].eq(1)
                    for lane in range(threads):
                        m.d.sync += [places[warp][lane].works.eq(has_work[lane]),
                                     places[warp][lane].mine.eq(works & mine[lane]),
                                     places[warp][lane].edge.eq(before[lane])]
        got = places[response.warp]
        with m.If(self.response.valid & ~is_first):
            got_work = Cat(got[lane].works for lane in range(threads))
            m.d.comb += [
                Assert(of(waits_loc, response.warp)), Assert(response.set_mask == both),
                Assert(response.mask == Mux(
                    both, Mux(got_work.any(), got_work, everyone), masks[response.warp])),
            ]
            with m.If(of(known, response.warp)):
                for lane in range(threads):
                    eid = Cat(got[lane].edge, self.vertex)
                    m.d.comb += [
                        Assert(got[lane].works | (response.data[lane] == NONE)),
                        Assert(~got[lane].mine
                               | (response.data[lane] == Mux(both, eid << 2, eid))),
                    ]
        for warp in range(warps):
            with m.If(answered & ~is_first & (response.warp == warp)):
                m.d.sync += waits_loc[warp].eq(0)
        # Nothing comes between the parts of a DEC.
        gave, gave_to = Signal(), Signal.like(response.warp)
        m.d.sync += gave.eq((answered & is_first & both) | (gave & ~answered))
        with m.If(answered):
            m.d.sync += gave_to.eq(response.warp)
        with m.If(gave):
            m.d.comb += [Assert(self.response.valid & ~is_first), Assert(response.warp == gave_to)]

        # No deadlock: if every open warp waits, some warp is answered.

        wait = Signal(range(self.longest_wait + 2))
        stuck = waits_work.any() & ~(opened & ~waits_work).any() & ~self.response.valid
        m.d.sync += wait.eq(Mux(stuck & ~self.valid, wait + 1, 0))
        m.d.comb += Assert(wait <= self.longest_wait)

        hold(m, dut.response, name="response")
        m.d.comb += [
            Assert(dut.events.waiting == waits_work.any()),
            Assert(dut.events.decoded == (answered & is_first)),
            Cover(answered & is_first & works & mine.any() & ~mine.all(),
                  "a work has edges of the vertex and others"),
            Cover(answered & is_first & asks_row & (given != 0), "a warp is told to register"),
            Cover(answered & is_first & ends & (given != 0) & (given == degree), "the end"),
            Cover(answered & is_first & ends & skipped & (given < degree),
                  "the end without skipped edges"),
            Cover(answered & ~is_first & both & got[0].mine, "a DEC gets its EIDs"),
        ]
        return m
