"""The promise of the L1 as assertions: every lane of a load is given its words exactly once.

The harness holds an L1. For each slot of the load queue it knows the owed lanes. For each MSHR it
knows whether the L2 owes a line. For each slot and lane it knows whether the L2
owes the answer of an atomic. Passes and answers are free. The harness assumes the behavior of
coalescer, load queue and L2: a lane has one access under way; an atomic whose old value
is wanted belongs to one lane; only requested lines are answered; a launch comes when nothing is
under way. The proof ignores the contents of words.

A line that only loads with the hint have asked for is not kept: no load hits before the first load
without the hint.

The proof has no invariants, so it holds only for the first cycles after reset. These cycles are
enough to fetch, install and hit a line, as the covers show. The assertions inside the L1 and its
MSHRs are checked too.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from checks.formal.harness import Harness
from checks.formal.streams import hold
from hw.core.access import LOCAL, AccessOp, bank_bits, loaded_layout, pass_layout
from hw.core.l1 import L1
from hw.memory.port import LineOp, core_request_layout, core_response_layout


__all__ = ["L1Promise"]


class L1Promise(Harness):
    """A bank of an L1 and its promise.

    Parameters
    ----------
    config : HardwareConfig
        A small shape.
    bank : int
        Number of the bank.
    """
    def __init__(self, config, bank=0):
        self._bank = bank
        super().__init__(config)

    def _ports(self, config):
        return {
            "access": In(stream.Signature(pass_layout(config))),
            "request": Out(stream.Signature(core_request_layout(config))),
            "response": In(stream.Signature(core_response_layout(config))),
            "loaded": Out(loaded_layout(config)), "loaded_valid": Out(1), "flush": In(1),
        }

    def elaborate(self, platform):
        m = Module()
        config = self._config
        slots, lanes = range(config.load_queue), range(config.threads)
        dut = L1(config, self._bank)
        peek = self._place(m, dut)
        connect(m, flipped(self.access), dut.access)
        connect(m, dut.request, flipped(self.request))
        connect(m, flipped(self.response), dut.response)
        access, request, answer = (port.payload for port in
                                   (dut.access, dut.request, dut.response))
        m.d.comb += [
            self.loaded.eq(dut.loaded), self.loaded_valid.eq(dut.loaded_valid),
            dut.flush.eq(self.flush), Assume(~ResetSignal()),
            Assume(~self.flush | (~dut.busy & ~self.access.valid)),
        ]
        hold(m, dut.access, name="access", rule=Assume)
        hold(m, dut.response, name="response", rule=Assume)
        hold(m, dut.request, name="request")

        # The model.

        owed = Array(Signal(len(lanes), name=f"owed_{slot}") for slot in slots)
        fetching = Array(Signal(name=f"fetching_{i}")
                         for i in range(config.l1_mshrs // config.l1_banks))
        atomics = Array(Signal(len(lanes), name=f"atomics_{slot}") for slot in slots)
        takes = dut.access.valid & dut.access.ready
        asks = dut.request.valid & dut.request.ready
        m.d.comb += Assert(~dut.request.valid | (
            request.line[:bank_bits(config)] == self._bank))
        answers = dut.response.valid & dut.response.ready
        is_atomic = access.op == AccessOp.AMO
        owes = ((access.op == AccessOp.LOAD) | (access.op == AccessOp.LOCAL_LOAD)
                | ((is_atomic | (access.op == AccessOp.LOCAL_AMO)) & access.wanted))
        with m.If(dut.access.valid):
            if self._bank:
                m.d.comb += [Assume(access.op != op) for op in LOCAL]
            m.d.comb += [
                Assume(access.op.as_value() <= AccessOp.LOCAL_AMO.value),
                Assume(access.lanes != 0), Assume(access.slot < len(slots)),
                Assume(~owes | ((access.lanes & owed[access.slot]) == 0)),
                Assume(~is_atomic | ~access.wanted | ((access.lanes & (access.lanes - 1)) == 0)),
            ]
        for slot in slots:
            gives = dut.loaded_valid & (dut.loaded.slot == slot)
            m.d.sync += owed[slot].eq(
                owed[slot] & ~Mux(gives, dut.loaded.lanes, 0)
                | Mux(takes & owes & (access.slot == slot), access.lanes, 0))
            with m.If(gives):
                m.d.comb += [Assert((dut.loaded.lanes & ~owed[slot]) == 0),
                             Assert(dut.loaded.lanes != 0)]
        with m.If(dut.response.valid):
            with m.If(answer.tag.atomic):
                m.d.comb += Assume((atomics[answer.tag.slot] >> answer.tag.lane)[0])
            with m.Else():
                m.d.comb += Assume(fetching[answer.tag.mshr])
        with m.If(answers):
            with m.If(answer.tag.atomic):
                m.d.sync += atomics[answer.tag.slot].eq(
                    atomics[answer.tag.slot] & ~(1 << answer.tag.lane)[:len(lanes)])
            with m.Else():
                m.d.sync += fetching[answer.tag.mshr].eq(0)
        with m.If(asks & (request.op == LineOp.READ)):
            m.d.comb += Assert(~fetching[request.tag.mshr])
            m.d.sync += fetching[request.tag.mshr].eq(1)
        with m.If(asks & (request.op == LineOp.ATOMIC) & request.wanted):
            m.d.comb += Assert(~(atomics[request.tag.slot] >> request.tag.lane)[0])
            for slot in slots:
                with m.If(request.tag.slot == slot):
                    m.d.sync += atomics[slot].eq(
                        (atomics[slot] & ~Mux(answers & answer.tag.atomic
                                              & (answer.tag.slot == slot),
                                              (1 << answer.tag.lane)[:len(lanes)], 0))
                        | (1 << request.tag.lane)[:len(lanes)])

        local = Signal(2)               # a wanted atomic of local memory was taken
        m.d.sync += local.eq(Cat(takes & (access.op == AccessOp.LOCAL_AMO) & access.wanted, local))
        hit, stale, replay = (peek.signal(*path) for path in (
            ["hit"], ["misses", "replay_stale"], ["replay"]))
        m.d.comb += [
            Cover(dut.load_hit, "a load hits"),
            Cover(dut.store_access & hit, "a store writes a line in the L1"),
            Cover(dut.atomic_access & hit, "an atomic drops a line"),
            Cover(replay & stale, "a load takes its words from a stale line"),
            Cover(answers & answer.tag.atomic, "an atomic is answered"),
            Cover(dut.loaded_valid & local[config.long], "an atomic of local memory is answered"),
        ]

        if config.load_hints:
            plain = Signal()            # a load without the hint was taken
            m.d.sync += plain.eq(plain | takes & (access.op == AccessOp.LOAD) & ~access.once)
            m.d.comb += [
                Assert(plain | ~dut.load_hit),
                Cover(~plain & dut.loaded_valid & peek.signal("r1_replay"),
                      "a line is given, and not kept"),
            ]

        # No owed lane is forgotten. The load queue, and not the L1, is busy with atomics.
        missing = Cat((owed[slot] & ~atomics[slot]).any() for slot in slots).any()
        m.d.comb += Assert(dut.busy | ~missing)
        return m
