"""The decoder, made from the instruction table."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.core.csr import READABLE, WRITABLE
from hw.isa import INSTRUCTIONS, Cause
from hw.operations import AmoOp, BranchOp, Format, Unit, WarpOp


__all__ = ["Decoder", "decoded_layout"]


def decoded_layout():
    """A decoded instruction.

    ``op`` is an ``AluOp``, ``MulOp``, ``DivOp``, ``CrossOp``, ``MemOp``, ``WarpOp`` or
    ``WeaverOp``, by ``unit``. ``needs`` has a bit for each register that is read or written, but
    for x0. ``changes`` is high if the PC or the thread mask may change. ``rs3`` is ``rd`` where
    that is read as the third source. A CSR's number is in ``csr``; its immediate is ``rs1``. An
    illegal instruction is a ``TRAP``, as is an access to a CSR that there is not, or a write to one
    that is read-only; a trap's cause is in ``csr``. ``imm`` of instructions that
    have none is the instruction word, for error reports; of atomics, 0.
    """
    return data.StructLayout({
        "unit": Unit, "op": 4, "branch": BranchOp, "amo": AmoOp, "size": 2, "signed": 1,
        "use_imm": 1, "imm": 32, "csr": 12,
        "rd": 5, "rs1": 5, "rs2": 5, "rs3": 5, "writes": 1, "changes": 1, "needs": 32,
    })


def _pattern(row):
    """The table row's encoding as an Amaranth match pattern."""
    return "".join("-" if not row.mask >> bit & 1 else str(row.match >> bit & 1)
                   for bit in reversed(range(32)))


class Decoder(wiring.Component):
    """Instruction decoder. Combinational.

    Members
    -------
    word : In(32)
        The instruction.
    decoded : Out(decoded_layout)
        What it is. ``rd``, ``rs1`` ... hold encoding bits also where the format has no such
        operand; ``writes`` is low if ``rd`` is x0.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({"word": In(32), "decoded": Out(decoded_layout())})

    def elaborate(self, platform):
        m = Module()
        word, decoded = self.word, self.decoded
        reads = Signal(3)
        writes = Signal()
        m.d.comb += [
            decoded.rd.eq(word[7:12]), decoded.rs1.eq(word[15:20]),
            decoded.rs2.eq(word[20:25]), decoded.rs3.eq(word[27:32]),
            decoded.csr.eq(word[20:32]), decoded.imm.eq(word),
            decoded.writes.eq(writes & (decoded.rd != 0)),
        ]
        immediate = {
            Format.I: Cat(word[20:32], word[31].replicate(20)),
            Format.SH: word[20:25],
            Format.S: Cat(word[7:12], word[25:32], word[31].replicate(20)),
            Format.B: Cat(Const(0, 1), word[8:12], word[25:31], word[7], word[31].replicate(20)),
            Format.U: Cat(Const(0, 12), word[12:32]),
            Format.J: Cat(Const(0, 1), word[21:31], word[20], word[12:20],
                          word[31].replicate(12)),
            Format.AMO: Const(0, 32),
        }
        absent = {unit for unit, kind in ((Unit.WEAVER, self._config.weaver),
                                          (Unit.DIV, self._config.divider)) if kind == "none"}
        # A source of x0, or an immediate of 0, stands at the same place: it writes nothing.
        csr_writes, csr_illegal = Signal(), Signal()
        m.d.comb += csr_writes.eq((word[12:14] == 1) | (word[15:20] != 0))
        with m.Switch(word[20:32]):
            with m.Case(*WRITABLE):
                m.d.comb += csr_illegal.eq(0)
            with m.Case(*READABLE):
                m.d.comb += csr_illegal.eq(csr_writes)
            with m.Default():
                m.d.comb += csr_illegal.eq(1)
        illegal = [
            decoded.unit.eq(Unit.WARP), decoded.op.eq(WarpOp.TRAP),
            decoded.csr.eq(Cause.ILLEGAL), decoded.changes.eq(1),
        ]
        with m.Switch(word):
            for row in INSTRUCTIONS:
                if row.unit in absent:
                    continue
                with m.Case(_pattern(row)):
                    m.d.comb += [
                        decoded.unit.eq(row.unit), decoded.op.eq(row.op),
                        decoded.branch.eq(row.branch), decoded.size.eq(row.size),
                        decoded.signed.eq(row.signed), decoded.changes.eq(row.control),
                        reads.eq(sum(1 << "123".index(source) for source in row.reads
                                     if source != "d")),
                        writes.eq(row.writes),
                        # Branches compare registers and add the immediate to the PC.
                        decoded.use_imm.eq(row.format is Format.CSI
                                           or row.format in immediate
                                           and row.format is not Format.B),
                    ]
                    if row.amo is not None:
                        m.d.comb += decoded.amo.eq(row.amo)
                    if "d" in row.reads:
                        m.d.comb += decoded.rs3.eq(decoded.rd)
                    if row.op is WarpOp.TRAP:
                        m.d.comb += decoded.csr.eq(
                            Cause.ECALL if row.name == "ecall" else Cause.BREAKPOINT)
                    elif row.format in immediate:
                        m.d.comb += decoded.imm.eq(immediate[row.format])
                    if row.format in (Format.CSR, Format.CSI):
                        with m.If(csr_illegal):
                            m.d.comb += [*illegal, reads.eq(0), writes.eq(0)]
            with m.Default():
                m.d.comb += illegal
        m.d.comb += decoded.needs.eq(
            (Mux(reads[0], 1 << decoded.rs1, 0) | Mux(reads[1], 1 << decoded.rs2, 0)
             | Mux(reads[2], 1 << decoded.rs3, 0) | Mux(writes, 1 << decoded.rd, 0))
            & 0xFFFF_FFFE)
        return m
