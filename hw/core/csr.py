"""Control and status registers (CSRs) of a core.

An illegal access never gets here: the decoder turns the instruction into a trap.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import and_or, index_bits
from hw.config import HardwareConfig
from hw.float.format import FLAGS
from hw.isa import FLOAT_CSRS, Csr
from hw.operations import AluOp, RoundingMode
from hw.timing import Timing


__all__ = ["CsrFile", "raised_layout"]


def raised_layout(config: HardwareConfig):
    """Flags of up to two instructions that end in a cycle: one of the floating-point pipeline, and
    one of the divider."""
    return data.ArrayLayout(data.StructLayout(
        {"valid": 1, "warp": index_bits(config.warps), "flags": FLAGS}), 2)


class CsrFile(wiring.Component):
    """CSRs of a core.

    Latency: ``value`` follows ``reads_number`` by one cycle. Reads see a write in the cycle after
    ``access``, with the long pipeline two cycles after. Throughput: one access a cycle.

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
        rs1 of the lowest active lane, or the immediate; with the long pipeline a cycle after
        ``access``.
    writes : In(1)
        The instruction writes: CSRRW, or a source that is neither x0 nor an immediate of 0.
    reads_number : In(12)
        Number of the CSR that is read in the next cycle.
    reads_warp : In
        The warp that reads, in the cycle of ``value``.
    argument, cycle, instret, active, mask, core : In
        Values of MSCRATCH, CYCLE, INSTRET, ACTIVE_WARPS, ACTIVE_MASK and CORE_ID.
    value : Out(32)
        The value read, except for THREAD_ID.
    is_thread : Out(1)
        THREAD_ID is read: each lane reads its own number.
    phase : Out(3)
        The phase of ``warp``.
    sets_phase : Out(1)
        The phase of a warp is written: in the cycle of ``operand``.
    left_phase : Out(3)
        The phase of ``leaves_warp``, before the write.
    leaves_warp : In
    raises : In(raised_layout)
        Flags that instructions raise; only with ``config.floats``, as the next.
    mode : Out(RoundingMode)
        FRM of ``warp``.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "launch": In(1), "access": In(1), "op": In(AluOp), "number": In(12),
            "warp": In(index_bits(config.warps)), "operand": In(32), "writes": In(1),
            "reads_number": In(12), "reads_warp": In(index_bits(config.warps)),
            "argument": In(32), "cycle": In(64), "instret": In(64),
            "active": In(config.warps), "mask": In(config.threads),
            "core": In(index_bits(config.cores)), "phase": Out(3), "sets_phase": Out(1),
            "left_phase": Out(3), "leaves_warp": In(index_bits(config.warps)),
            "value": Out(32), "is_thread": Out(1),
            **({"raises": In(raised_layout(config)), "mode": Out(RoundingMode)}
               if config.floats else {}),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        phases = [Signal(3, name=f"phase_{i}") for i in range(config.warps)]
        reads_phase = Signal(3)
        values = {
            Csr.MSCRATCH: self.argument,
            Csr.PHASE: reads_phase,
            Csr.CYCLE: self.cycle[:32], Csr.CYCLEH: self.cycle[32:],
            Csr.INSTRET: self.instret[:32], Csr.INSTRETH: self.instret[32:],
            Csr.THREAD_ID: 0,
            Csr.WARP_ID: self.reads_warp,
            Csr.CORE_ID: self.core,
            Csr.ACTIVE_WARPS: self.active[:32], Csr.ACTIVE_MASK: self.mask,
            Csr.NUM_THREADS: config.threads, Csr.NUM_WARPS: config.warps,
            Csr.NUM_CORES: config.cores,
        }
        for warp, target in ((self.warp, self.phase), (self.leaves_warp, self.left_phase),
                             (self.reads_warp, reads_phase)):
            with m.Switch(warp):
                for i, phase in enumerate(phases):
                    with m.Case(i):
                        m.d.comb += target.eq(phase)
        if config.floats:
            values |= self._floats(m)
        reads = {number: Signal(name=f"reads_{number.name.lower()}") for number in values}
        m.d.sync += [read.eq(self.reads_number == number) for number, read in reads.items()]
        m.d.comb += [self.value.eq(and_or(Cat(reads.values()), values.values())),
                     self.is_thread.eq(reads[Csr.THREAD_ID])]

        op = Signal(AluOp)
        warp = Signal.like(self.warp)
        value = Signal(3)
        m.d[Timing(config).later] += [
            self.sets_phase.eq(self.access & self.writes & (self.number == Csr.PHASE)),
            op.eq(self.op), warp.eq(self.warp), value.eq(self.phase),
        ]
        written = Signal(3)
        m.d.comb += written.eq(Mux(op == AluOp.CSRRW, self.operand,
                                   Mux(op == AluOp.CSRRS, value | self.operand,
                                       value & ~self.operand)))
        with m.If(self.launch):
            m.d.sync += [phase.eq(0) for phase in phases]
        with m.Elif(self.sets_phase):
            with m.Switch(warp):
                for i, phase in enumerate(phases):
                    with m.Case(i):
                        m.d.sync += phase.eq(written)
        return m

    def _floats(self, m):
        """FFLAGS and FRM of each warp. Returns the values of their CSRs for ``reads_warp``.

        An access waits until no instruction of its warp may raise a flag, so the two never meet.
        """
        config, later = self._config, Timing(self._config).later
        layout = data.StructLayout({"flags": FLAGS, "mode": RoundingMode})
        fields = [Signal(layout, name=f"fcsr_{i}") for i in range(config.warps)]
        read, old = Signal(layout, name="fcsr"), Signal(layout, name="old_fcsr")
        for warp, target in ((self.reads_warp, read), (self.warp, old)):
            with m.Switch(warp):
                for i, field in enumerate(fields):
                    with m.Case(i):
                        m.d.comb += target.eq(field)
        m.d.comb += self.mode.eq(old.mode)

        number, op = Signal.like(self.number, name="float_number"), Signal(AluOp, name="float_op")
        value, warp = Signal(8, name="float_value"), Signal.like(self.warp, name="float_warp")
        sets, written = Signal(name="sets_float"), Signal(8, name="written_fcsr")
        is_mode = number == Csr.FRM
        m.d[later] += [
            sets.eq(self.access & self.writes
                    & Cat(self.number == csr for csr in FLOAT_CSRS).any()),
            number.eq(self.number), op.eq(self.op), warp.eq(self.warp), value.eq(old),
        ]
        # An operand at the place of the bits that its CSR names.
        placed, mask = Signal(8, name="placed"), Signal(8, name="mask_of_csr")
        m.d.comb += [
            placed.eq(Mux(is_mode, self.operand << FLAGS.size, self.operand)),
            mask.eq(Mux(number == Csr.FCSR, 0xFF, Mux(is_mode, 0xE0, 0x1F))),
            written.eq(value & ~mask | mask & Mux(op == AluOp.CSRRW, placed, Mux(
                op == AluOp.CSRRS, value | placed, value & ~placed))),
        ]
        for i, field in enumerate(fields):
            raised = [Mux(one.valid & (one.warp == i), one.flags.as_value(), 0)
                      for one in (self.raises[0], self.raises[1])]
            with m.If(self.launch):
                m.d.sync += field.eq(0)
            with m.Elif(sets & (warp == i)):
                m.d.sync += field.eq(written)
            with m.Else():
                m.d.sync += field.flags.eq(field.flags.as_value() | raised[0] | raised[1])
        return {Csr.FFLAGS: read.flags, Csr.FRM: read.mode, Csr.FCSR: read}
