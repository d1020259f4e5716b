"""The promise of the Weavers with rounds as assertions: every registered edge once, in order.

The harness holds a Weaver and a model of the edges that are left. The requests and the readiness
for responses are free. The harness assumes three things: a warp waits for its answer; no entry is
registered while an entry is being given out; no entry is registered or skipped while a DEC_ID or
DEC waits. A core may also skip while one waits; the benches cover this case. The VID of a
registered entry is the entry's own number. Its degree is below 8, at any position.

A DEC waits for its VIDs like a DEC_ID, and then for its EIDs like a DEC_LOC.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from checks.formal.peek import Peek
from checks.formal.streams import hold
from hw.gather.variants import component
from hw.operations import GatherOp
from hw.gather.interface import request_layout, response_layout, warp_shape


__all__ = ["NONE", "DEGREE_BITS", "Model", "WeaverPromise"]


NONE = 0xFFFFFFFF
DEGREE_BITS = 3


class Model:
    """The state of the model: waiting warps, edges left, and contents of the dense table.

    Parameters
    ----------
    config : HardwareConfig
        Configuration of the Weaver.

    Attributes
    ----------
    waits_id, waits_loc : Signal(warps)
        Warps that wait for VIDs, of a DEC_ID or DEC, or for EIDs, of a DEC_LOC or DEC.
    fused : Signal(warps)
        Warps whose last request was a DEC.
    order, count : Array of Signal, Signal
        The warps in ``waits_id``, in the order of their requests, and their number.
    rd, rd2, mask : Array of Signal
        By warp: ``rd``, ``rd2`` and mask of the warp's last request.
    has_work, dense : Array
        By warp: lanes that got work with the warp's last DEC_ID, and the EIDs by lane.
    left, loc : list of Signal
        By entry: number of edges not given out, and position of the first such edge.
    steps : list of (left, loc)
        Values of ``left`` and ``loc`` if 0, 1, ... lanes were filled now.
    vids, eids, work : list
        By lane: VID and EID due now, and whether the lane gets work.
    last, current : Value, Signal
        The entry of the last lane with work: now, and with the last DEC_ID.
    begun : Signal
        Some edges have been given out and some are left.
    cut : Signal
        Number of edges that a SKIP cut off in the cycle before.
    """
    def __init__(self, config):
        warps, threads, entries = config.warps, config.threads, config.weaver_table_entries
        self.entries = entries

        def by_warp(name, shape):
            return Array(Signal(shape, name=f"{name}_{warp}") for warp in range(warps))
        self.waits_id, self.waits_loc = Signal(warps), Signal(warps)
        self.fused = Signal(warps)
        self.order = by_warp("order", warp_shape(config))
        self.count = Signal(range(warps + 1))
        self.rd, self.rd2 = by_warp("rd", 5), by_warp("rd2", 5)
        self.mask = by_warp("mask", threads)
        self.has_work = by_warp("has_work", threads)
        self.dense = Array(Array(Signal(32, name=f"dense_{warp}_{lane}")
                                 for lane in range(threads)) for warp in range(warps))
        self.left = [Signal(DEGREE_BITS, name=f"left_{entry}") for entry in range(entries)]
        self.loc = [Signal(32, name=f"loc_{entry}") for entry in range(entries)]
        self.current = Signal(max(1, ceil_log2(entries)))
        self.begun = Signal()
        self.cut = Signal(DEGREE_BITS)

        left, loc = list(self.left), list(self.loc)
        self.steps = [(left, loc)]
        self.vids, self.eids, self.work, self.last = [], [], [], self.current
        for _ in range(threads):
            some = [count != 0 for count in left]
            vid, eid = NONE, NONE
            for entry in reversed(range(entries)):
                vid = Mux(some[entry], entry, vid)
                eid = Mux(some[entry], loc[entry], eid)
                self.last = Mux(some[entry], entry, self.last)
            first = [some[entry] & ~Cat(some[:entry]).any() for entry in range(entries)]
            left = [(old - one)[:DEGREE_BITS] for old, one in zip(left, first)]
            loc = [(old + one)[:32] for old, one in zip(loc, first)]
            self.steps.append((left, loc))
            self.vids.append(vid)
            self.eids.append(eid)
            self.work.append(Cat(some).any())


class WeaverPromise(wiring.Component):
    """A Weaver and its promise.

    Parameters
    ----------
    config : HardwareConfig
        A small shape, with a unit that has rounds and hands out edges in order.
    covers : tuple of str, optional
        The covers that the unit can reach; left out, all.
    invariants : callable, optional
        Adds the invariants that make the assertions inductive. Called with the module, the
        configuration, the model, the signal that counts the cycles of waiting, and a ``Peek`` of
        the Weaver.

    Attributes
    ----------
    longest_wait : int or None
        Cycles within which the Weaver must answer a DEC_ID if the response is not held up; of a
        unit outside of the tree, None: there is no bound.
    """
    def __init__(self, config, *, covers=None, invariants=None):
        self._config, self._covers = config, covers
        self._invariants = invariants
        entries = config.weaver_table_entries
        rows = entries // config.threads
        self.longest_wait = {"fsm": 3 * entries + 2 * rows + 4, "scan": rows + 3}.get(config.gather)
        super().__init__({
            "request": In(stream.Signature(request_layout(config))),
            "response": Out(stream.Signature(response_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        dut = component(self._config)
        connect(m, flipped(self.request), dut.request)
        connect(m, dut.response, flipped(self.response))
        m.d.comb += [dut.reset.eq(0), Assume(~ResetSignal())]
        model = Model(self._config)
        self._assume(m, model)
        self._follow(m, model)
        peek = Peek(dut)
        wait = self._assert(m, model, dut, peek)
        if self._invariants:
            self._invariants(m, self._config, model, wait, peek)
        m.submodules.dut = peek.fragment
        return m

    def _assume(self, m, model):
        """Assumptions about the core."""
        request = self.request.payload
        waits = model.waits_id | model.waits_loc
        with m.If(self.request.valid):
            known = [request.op == row.op for row in self._config.unit.instructions]
            m.d.comb += [Assume(Cat(known).any()), Assume(~(waits >> request.warp)[0]),
                         Assume(request.warp < self._config.warps)]
            with m.If((request.op == GatherOp.REG) | (request.op == GatherOp.SKIP)):
                m.d.comb += Assume(~model.waits_id.any())
            with m.If(request.op == GatherOp.REG):
                m.d.comb += Assume(~model.begun)
                for lane in range(self._config.threads):
                    vid = (request.warp + request.rd) * self._config.threads + lane
                    m.d.comb += [Assume(request.vid[lane] == vid),
                                 Assume(request.degree[lane] < 1 << DEGREE_BITS)]
            with m.If(request.op == GatherOp.DEC_LOC):
                m.d.comb += Assume(model.has_work[request.warp].any())

    def _follow(self, m, model):
        """Update the model with the transfers of this cycle."""
        threads, warps = self._config.threads, self._config.warps
        request, response = self.request.payload, self.response.payload
        asked = self.request.valid & self.request.ready
        answered = self.response.valid & self.response.ready
        is_id = answered & (model.waits_id >> response.warp)[0]
        asks_both = asked & (request.op == GatherOp.DEC)
        asks_id = asked & (request.op == GatherOp.DEC_ID) | asks_both
        asks_loc = asked & (request.op == GatherOp.DEC_LOC)

        for warp in range(warps):
            with m.If(answered & (response.warp == warp)):
                m.d.sync += [model.waits_id[warp].eq(model.waits_id[warp] & ~is_id),
                             model.waits_loc[warp].eq(is_id & model.fused[warp])]
            with m.If(asked & (request.warp == warp)):
                m.d.sync += [
                    model.rd[warp].eq(request.rd), model.mask[warp].eq(request.mask),
                    model.rd2[warp].eq(request.rd2), model.fused[warp].eq(asks_both),
                    model.waits_id[warp].eq(asks_id), model.waits_loc[warp].eq(asks_loc),
                ]
        m.d.sync += model.count.eq(model.count + asks_id - is_id)
        with m.If(is_id):
            m.d.sync += [model.order[place].eq(model.order[place + 1])
                         for place in range(warps - 1)]
        with m.If(asks_id):
            m.d.sync += model.order[(model.count - is_id)[:len(model.count)]].eq(request.warp)

        left, loc = model.steps[-1]
        with m.If(is_id):
            m.d.sync += [model.has_work[response.warp].eq(Cat(model.work)),
                         model.current.eq(model.last), model.begun.eq(Cat(left).any())]
            m.d.sync += [old.eq(new) for old, new in zip(model.left + model.loc, left + loc)]
            m.d.sync += [model.dense[response.warp][lane].eq(model.eids[lane])
                         for lane in range(threads)]
        with m.If(asked & (request.op == GatherOp.REG)):
            for entry in range(model.entries):
                row, lane = divmod(entry, threads)
                with m.If((request.warp + request.rd == row) & request.mask[lane]):
                    m.d.sync += [model.left[entry].eq(request.degree[lane]),
                                 model.loc[entry].eq(request.loc[lane])]
        m.d.sync += model.cut.eq(0)
        named = request.mask & Cat(vid == model.current for vid in request.vid)
        with m.If(asked & (request.op == GatherOp.SKIP) & model.begun & named.any()):
            m.d.sync += model.cut.eq(Array(model.left)[model.current])
            left = [Mux(model.current == entry, 0, model.left[entry])
                    for entry in range(model.entries)]
            m.d.sync += [old.eq(new) for old, new in zip(model.left, left)]
            m.d.sync += model.begun.eq(Cat(left).any())

    def _assert(self, m, model, dut, peek):
        """The promise of the Weaver. Returns the number of cycles that a DEC_ID has waited."""
        threads = self._config.threads
        response, valid = self.response.payload, self.response.valid
        work = Cat(model.work)
        everyone = (1 << threads) - 1
        # VIDs or EIDs, and for a DEC or not.
        is_id, fused = Signal(), Signal()
        got_work = model.has_work[response.warp]
        m.d.comb += [is_id.eq(model.waits_id >> response.warp),
                     fused.eq(model.fused >> response.warp)]
        with m.If(valid):
            m.d.comb += [
                Assert(response.rd == Mux(is_id | ~fused, model.rd[response.warp],
                                          model.rd2[response.warp])),
                Assert(response.set_mask == (is_id ^ fused)),
            ]
        with m.If(valid & is_id):
            m.d.comb += [Assert(model.count != 0), Assert(response.warp == model.order[0]),
                         Assert(response.mask == Mux(work.any() & ~fused, work, everyone))]
            m.d.comb += [Assert(response.data[lane] == model.vids[lane])
                         for lane in range(threads)]
        with m.If(valid & ~is_id):
            m.d.comb += [Assert((model.waits_loc >> response.warp)[0]),
                         Assert(response.mask == Mux(fused, Mux(got_work.any(), got_work, everyone),
                                                     model.mask[response.warp]))]
            for lane in range(threads):
                eid = model.dense[response.warp][lane]
                m.d.comb += Assert(response.data[lane] == Mux(
                    (got_work >> lane)[0], Mux(fused, (eid << 2)[:32], eid), NONE))
        # The EIDs of a DEC are on offer in the cycle after its VIDs were taken.
        gave_vids, gave_to = Signal(), Signal.like(response.warp)
        m.d.sync += [gave_vids.eq(valid & self.response.ready & is_id & fused),
                     gave_to.eq(response.warp)]
        with m.If(gave_vids):
            m.d.comb += [Assert(valid & ~is_id), Assert(response.warp == gave_to)]

        skips = (self.request.valid & self.request.ready & model.begun
                 & (self.request.payload.op == GatherOp.SKIP)
                 & (self.request.payload.vid[0] == model.current) & self.request.payload.mask[0])
        events = {
            "an answer has edges of two entries":
                valid & is_id & work.all() & (model.vids[0] != model.vids[-1]),
            "an entry is given out in several answers": valid & is_id & work.all() & model.begun,
            "an EID is reported": valid & ~is_id & ~fused & (response.data[0] != NONE),
            "a DEC gets its EIDs while another warp waits":
                valid & ~is_id & fused & (response.data[0] != NONE) & (model.count != 0),
            "an entry is skipped": skips,
            "two warps wait, and no work is left":
                valid & is_id & ~work.any() & (model.count > 1),
        }
        m.d.comb += [Cover(event, text) for text, event in events.items()
                     if self._covers is None or text in self._covers]

        # A unit outside of the tree may not check its streams itself.
        inside = None if self.longest_wait is None else peek
        hold(m, dut.request, name="request", rule=Assume, peek=inside)
        hold(m, dut.response, name="response", peek=inside)

        wait = Signal(range((self.longest_wait or 0) + 2))
        answered_id = valid & self.response.ready & is_id
        if self.longest_wait is not None:
            with m.If((model.count == 0) | answered_id):
                m.d.sync += wait.eq(0)
            with m.Elif(~valid | self.response.ready):
                m.d.sync += wait.eq(wait + 1)
            m.d.comb += Assert(wait <= self.longest_wait)
        m.d.comb += [
            Assert(dut.events.waiting == (model.count != 0)),
            Assert(dut.events.decoded == answered_id),
            Assert(dut.events.skipped == model.cut),
        ]
        return wait
