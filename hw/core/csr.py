"""Control and status registers as one instruction sees them."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.isa import Csr
from hw.operations import AluOp
from hw.util import index_bits


__all__ = ["CsrFile"]


class CsrFile(wiring.Component):
    """CSRs of a core. Reads are combinational; a write is seen in the next cycle.

    Members
    -------
    launch : In(1)
        The phase of every warp becomes 0.
    access : In(1)
        ``op`` accesses CSR ``number`` for ``warp``.
    op : In(AluOp)
        CSRRW, CSRRS or CSRRC.
    number : In(12)
    warp : In
    operand : In(32)
        rs1 of the lowest active lane, or the immediate.
    writes : In(1)
        The instruction writes: CSRRW, or a source other than x0 or 0.
    argument, cycle, instret, active, mask, core : In
        What MSCRATCH, CYCLE, INSTRET, ACTIVE_WARPS, ACTIVE_MASK and CORE_ID read.
    value : Out(32)
        The value read, but for THREAD_ID.
    is_thread : Out(1)
        THREAD_ID is read: each lane reads its own number.
    phase : Out(3)
        The phase of ``warp``.
    sets_phase : Out(1)
        It is written.
    illegal : Out(1)
        There is no such CSR, or it is read-only and written.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "launch": In(1), "access": In(1), "op": In(AluOp), "number": In(12),
            "warp": In(index_bits(config.warps)), "operand": In(32), "writes": In(1),
            "argument": In(32), "cycle": In(64), "instret": In(64),
            "active": In(config.warps), "mask": In(config.threads),
            "core": In(index_bits(config.cores)), "phase": Out(3), "sets_phase": Out(1),
            "value": Out(32), "is_thread": Out(1), "illegal": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        phases = [Signal(3, name=f"phase_{i}") for i in range(config.warps)]
        values = {
            Csr.MSCRATCH: self.argument,
            Csr.PHASE: None,
            Csr.CYCLE: self.cycle[:32], Csr.CYCLEH: self.cycle[32:],
            Csr.INSTRET: self.instret[:32], Csr.INSTRETH: self.instret[32:],
            Csr.THREAD_ID: 0,
            Csr.WARP_ID: self.warp,
            Csr.CORE_ID: self.core,
            Csr.ACTIVE_WARPS: self.active, Csr.ACTIVE_MASK: self.mask,
            Csr.NUM_THREADS: config.threads, Csr.NUM_WARPS: config.warps,
            Csr.NUM_CORES: config.cores,
        }
        with m.Switch(self.warp):
            for i, phase in enumerate(phases):
                with m.Case(i):
                    m.d.comb += self.phase.eq(phase)
        with m.Switch(self.number):
            for number, value in values.items():
                with m.Case(number):
                    if number is Csr.PHASE:
                        m.d.comb += self.value.eq(self.phase)
                    else:
                        m.d.comb += self.value.eq(value)
                        m.d.comb += self.illegal.eq(self.access & self.writes)
            with m.Default():
                m.d.comb += self.illegal.eq(self.access)
        m.d.comb += [
            self.is_thread.eq(self.number == Csr.THREAD_ID),
            self.sets_phase.eq(self.access & self.writes & (self.number == Csr.PHASE)),
        ]

        written = Signal(3)
        m.d.comb += written.eq(
            Mux(self.op == AluOp.CSRRW, self.operand,
                Mux(self.op == AluOp.CSRRS, self.value | self.operand,
                    self.value & ~self.operand)))
        with m.If(self.launch):
            m.d.sync += [phase.eq(0) for phase in phases]
        with m.Elif(self.sets_phase):
            with m.Switch(self.warp):
                for i, phase in enumerate(phases):
                    with m.Case(i):
                        m.d.sync += phase.eq(written)
        return m
