"""The promise of the Weaver as assertions: every registered edge once, in order.

The harness holds a Weaver, a model that knows which edges are left, and nothing else; the requests
and the readiness for responses are free. It assumes what a core with a barrier between
registration and distribution does: a warp waits for its answer, nothing is registered while there
is work left of what has begun to be given out, and no skip overtakes a waiting DEC_ID. An entry is
registered with its own number as VID and a degree below 4, at any position.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.isa import WeaverOp
from hw.weaver.interface import request_layout, response_layout
from hw.weaver.weaver import Weaver


__all__ = ["WeaverPromise"]


class WeaverPromise(wiring.Component):
    """A Weaver and what it has to do.

    Parameters
    ----------
    config : HardwareConfig
        A small shape.
    longest_wait : int
        Cycles in which a DEC_ID has to be answered if nothing keeps the response.
    """
    def __init__(self, config, *, longest_wait):
        self._config = config
        self._longest_wait = longest_wait
        super().__init__({
            "request": In(stream.Signature(request_layout(config))),
            "response": Out(stream.Signature(response_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        threads, warps = self._config.threads, self._config.warps
        entries = self._config.weaver_table_entries
        request, response = self.request.payload, self.response.payload
        m.submodules.dut = dut = Weaver(self._config)
        connect(m, flipped(self.request), dut.request)
        connect(m, dut.response, flipped(self.response))

        asked, answered = Signal(), Signal()
        m.d.comb += [
            asked.eq(self.request.valid & self.request.ready),
            answered.eq(self.response.valid & self.response.ready),
        ]

        # What waits: per warp, in the order of asking for DEC_ID.

        waits_id, waits_loc = Signal(warps), Signal(warps)
        rd = Array(Signal(5, name=f"rd_{warp}") for warp in range(warps))
        age = Array(Signal(range(warps + 1), name=f"age_{warp}") for warp in range(warps))
        mask = Array(Signal(threads, name=f"mask_{warp}") for warp in range(warps))
        is_id = answered & response.set_mask
        is_loc = answered & ~response.set_mask
        asks_id = asked & (request.op == WeaverOp.DEC_ID)
        asks_loc = asked & (request.op == WeaverOp.DEC_LOC)
        for warp in range(warps):
            with m.If(is_id & (response.warp == warp)):
                m.d.sync += waits_id[warp].eq(0)
            with m.If(is_loc & (response.warp == warp)):
                m.d.sync += waits_loc[warp].eq(0)
            with m.If(is_id):
                m.d.sync += age[warp].eq(age[warp] + 1)
            with m.If(asked & (request.warp == warp)):
                m.d.sync += [
                    rd[warp].eq(request.rd), mask[warp].eq(request.mask), age[warp].eq(0),
                    waits_id[warp].eq(asks_id), waits_loc[warp].eq(asks_loc),
                ]

        # The edges that are left, and what is in the dense table.

        left = [Signal(2, name=f"left_{entry}") for entry in range(entries)]
        loc = [Signal(32, name=f"loc_{entry}") for entry in range(entries)]
        current = Signal(range(entries))
        begun = Signal()
        dense = Array(Array(Signal(32, name=f"dense_{warp}_{lane}") for lane in range(threads))
                      for warp in range(warps))
        has_work = Array(Signal(threads, name=f"has_work_{warp}") for warp in range(warps))

        now_left, now_loc, last = list(left), list(loc), current
        vids, eids, work = [], [], []
        for lane in range(threads):
            found, vid, eid = 0, 0xFFFFFFFF, 0xFFFFFFFF
            next_left, next_loc = list(now_left), list(now_loc)
            for entry in reversed(range(entries)):
                some = now_left[entry] != 0
                vid, eid = Mux(some, entry, vid), Mux(some, now_loc[entry], eid)
                last = Mux(some, entry, last)
                found = found | some
                lower = Cat(now_left[other] != 0 for other in range(entry)).any()
                next_left[entry] = (now_left[entry] - (some & ~lower))[:2]
                next_loc[entry] = (now_loc[entry] + (some & ~lower))[:32]
            now_left, now_loc = next_left, next_loc
            vids.append(vid)
            eids.append(eid)
            work.append(found)
        work = Cat(work)

        with m.If(is_id):
            m.d.sync += [has_work[response.warp].eq(work), current.eq(last),
                         begun.eq(Cat(now_left).any())]
            m.d.sync += [old.eq(new) for old, new in zip(left + loc, now_left + now_loc)]
            m.d.sync += [dense[response.warp][lane].eq(eids[lane]) for lane in range(threads)]
        with m.If(asked & (request.op == WeaverOp.REG)):
            for entry in range(entries):
                lane = entry % threads
                with m.If((request.warp == entry // threads) & request.mask[lane]):
                    m.d.sync += [left[entry].eq(request.degree[lane]),
                                 loc[entry].eq(request.loc[lane])]
        skips = asked & (request.op == WeaverOp.SKIP) & begun & Cat(
            request.mask[lane] & (request.vid[lane] == current) for lane in range(threads)).any()
        with m.If(skips):
            for entry in range(entries):
                with m.If(current == entry):
                    m.d.sync += left[entry].eq(0)
            m.d.sync += begun.eq(Cat(Mux(current == entry, 0, left[entry])
                                     for entry in range(entries)).any())

        # What the core does not do.

        waits = Signal(warps)
        m.d.comb += [waits.eq(waits_id | waits_loc), dut.reset_table.eq(0), Assume(~ResetSignal())]
        with m.If(self.request.valid):
            m.d.comb += [Assume(~(waits & (1 << request.warp)).any()),
                         Assume(request.warp < warps)]
            with m.If((request.op == WeaverOp.REG) | (request.op == WeaverOp.SKIP)):
                m.d.comb += Assume(~waits_id.any())
            with m.If(request.op == WeaverOp.REG):
                m.d.comb += Assume(~begun)
                for lane in range(threads):
                    m.d.comb += [Assume(request.vid[lane] == request.warp * threads + lane),
                                 Assume(request.degree[lane] < 4)]
            with m.If(request.op == WeaverOp.DEC_LOC):
                m.d.comb += Assume(has_work[request.warp].any())

        # What the Weaver does.

        with m.If(self.response.valid):
            m.d.comb += Assert(response.rd == rd[response.warp])
        with m.If(self.response.valid & response.set_mask):
            m.d.comb += [Assert((waits_id >> response.warp) & 1),
                         Assert(response.mask == Mux(work.any(), work, (1 << threads) - 1))]
            for warp in range(warps):
                m.d.comb += Assert(~waits_id[warp] | (age[warp] <= age[response.warp]))
            for lane in range(threads):
                m.d.comb += Assert(response.data[lane] == vids[lane])
        with m.If(self.response.valid & ~response.set_mask):
            m.d.comb += [Assert((waits_loc >> response.warp) & 1),
                         Assert(response.mask == mask[response.warp])]
            for lane in range(threads):
                m.d.comb += Assert(response.data[lane]
                                   == Mux((has_work[response.warp] >> lane) & 1,
                                          dense[response.warp][lane], 0xFFFFFFFF))

        held, before = Signal(), Signal.like(response.as_value())
        m.d.sync += [held.eq(self.response.valid & ~self.response.ready), before.eq(response)]
        m.d.comb += Assert(~held | (self.response.valid & (before == response.as_value())))

        wait = Signal(range(self._longest_wait + 2))
        with m.If(~waits_id.any() | is_id):
            m.d.sync += wait.eq(0)
        with m.Elif(~self.response.valid | self.response.ready):
            m.d.sync += wait.eq(wait + 1)
        m.d.comb += [
            Assert(wait <= self._longest_wait),
            Assert(dut.waiting == waits_id.any()),
            Assert(dut.decoded == is_id),
        ]

        return m
