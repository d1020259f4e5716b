"""The decoder, made from the instruction table.

The decoder works in two steps. The first step is slow: it finds the instruction that a word
encodes. This step runs when the host writes the word, and instruction memory keeps its result in a
few bits beside the word (:func:`predecoded_layout`). The second step runs when the word is fetched:
it picks the immediate, and turns the numbers of registers into a bit for each register.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import and_or
from hw.config import HardwareConfig
from hw.isa import FLOAT_CSRS, INSTRUCTIONS, Cause, csrs, writable_csrs
from hw.operations import AluOp, AmoOp, BranchOp, Format, RoundingMode, Unit, WarpOp
from hw.timing import Timing


__all__ = ["Decoder", "Immediate", "Predecoder", "decoded_layout", "illegal_word",
           "predecoded_layout", "second_destination"]


class Immediate(enum.Enum, shape=3):
    """The place of the immediate in the word."""
    WORD   = 0     # the whole word, for error reports
    I      = 1
    SHIFT  = 2
    S      = 3
    B      = 4
    U      = 5
    J      = 6
    ZERO   = 7     # no place: the immediate has to be 0


_IMMEDIATES = {Format.I: Immediate.I, Format.SH: Immediate.SHIFT, Format.S: Immediate.S,
               Format.B: Immediate.B, Format.U: Immediate.U, Format.J: Immediate.J,
               Format.AMO: Immediate.ZERO}

#: Fields of both layouts, beside ``unit``.
_COMMON = {
    "op": 4, "branch": BranchOp, "amo": AmoOp, "size": 2, "signed": 1,
    "once": 1, "use_imm": 1, "writes": 1, "changes": 1,
}


def _unit_shape(config):
    """A configuration without floats needs a bit less."""
    return Unit if config.floats else (len(config.units) - 1).bit_length()


def predecoded_layout(config: HardwareConfig):
    """A word of instruction memory: the instruction, and the results of the first step.

    ``named`` has a bit for each of rs1, rs2 and rs3 that names a register. ``third_is_rd`` is high
    if ``rd`` is read in the place of rs3, as by all instructions of the ALU. ``cause`` is the
    cause of a trap. The other fields are as in :func:`decoded_layout`.
    """
    return data.StructLayout({
        "word": 32, "unit": _unit_shape(config), **_COMMON, "immediate": Immediate, "named": 3,
        "third_is_rd": 1, "cause": Cause,
    })


def decoded_layout(config: HardwareConfig):
    """A decoded instruction.

    ``op`` is an ``AluOp``, ``MulOp``, ``DivOp``, ``FloatDivOp``, ``FloatOp``, ``CrossOp``,
    ``MemOp``, ``WarpOp`` or ``GatherOp``, depending on ``unit``. ``needs`` has a bit for each
    register that is read or written, except x0. ``changes`` is high if the PC or the thread mask
    may change, or if an instruction has no result but flags. ``rs3`` is ``rd`` if ``rd`` is read
    as the third source, and the last source of a floating-point instruction with fewer than three.
    ``csr`` is the number of a CSR; ``rs1`` is the immediate of a CSR instruction. ``imm`` of
    instructions without an immediate is the instruction word, for error reports; ``imm`` of atomics
    is 0.

    A ``TRAP`` stands for an illegal instruction, for an access to a CSR that does not exist, and
    for a write to a read-only CSR. The cause of a trap is in ``csr``.
    """
    return data.StructLayout({
        "unit": _unit_shape(config), **_COMMON, "imm": 32, "csr": 12,
        "rd": 5, "rs1": 5, "rs2": 5, "rs3": 5, "needs": 32,
    })


def second_destination(config: HardwareConfig, decoded):
    """The second register that an instruction writes, as a Value of 5 bits; 0 if the instruction
    writes no second one."""
    rows = [row for row in INSTRUCTIONS if row.writes_rs2 and row.exists(config)]
    if not rows:
        return Const(0, 5)
    found = Cat((decoded.unit == row.unit) & (decoded.op == row.op.value) for row in rows).any()
    return Mux(found & (decoded.rs2 != decoded.rd), decoded.rs2, 0)


#: Results of the first step for a word that is no instruction.
_ILLEGAL = {
    "unit": Unit.WARP.value, "op": WarpOp.TRAP.value, "branch": 0, "amo": 0, "size": 0, "signed": 0,
    "once": 0,
    "use_imm": 0, "writes": 0, "changes": 1, "immediate": Immediate.WORD.value, "named": 0,
    "third_is_rd": 0, "cause": Cause.ILLEGAL.value,
}

def illegal_word(config: HardwareConfig):
    """The word 0, which is no instruction, after the first step: a constant."""
    return predecoded_layout(config).const({"word": 0, **_ILLEGAL})


def _said(row):
    """Results of the first step for an instruction, from its row of the table."""
    cause = Cause.ECALL if row.name == "ecall" else Cause.BREAKPOINT
    return {
        "unit": row.unit.value, "op": row.op.value, "branch": row.branch.value,
        "amo": 0 if row.amo is None else row.amo.value, "size": row.size, "signed": row.signed,
        "once": row.once,
        # Branches compare registers and add the immediate to the PC.
        "use_imm": row.format is Format.CSI
        or (row.format in _IMMEDIATES and row.format is not Format.B),
        "writes": row.writes, "changes": row.control,
        "immediate": _IMMEDIATES.get(row.format, Immediate.WORD).value,
        "named": sum(1 << "123".index(source) for source in row.named if source != "d"),
        # The checks of lanes (hw.core.checks) look at the old value of an ALU's destination.
        "third_is_rd": "d" in row.reads or row.unit is Unit.ALU,
        "cause": cause.value if row.op is WarpOp.TRAP else 0,
    }


class Predecoder(wiring.Component):
    """First step: finds the instruction that a word encodes. Combinational; in the long pipeline
    latency is one cycle. Throughput: one word a cycle.

    Members
    -------
    word : In(32)
        The instruction.
    predecoded : Out(predecoded_layout)
        The contents of instruction memory. ``writes`` is low if ``rd`` is x0.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({"word": In(32), "predecoded": Out(predecoded_layout(config))})

    def elaborate(self, platform):
        m = Module()
        word, found = self.word, self.predecoded
        later = Timing(self._config).later
        # rs1 and the immediate have the same bits. A source of x0, or an immediate of 0, writes
        # nothing.
        csr_writes = Signal()
        csr_legal = Signal()
        m.d.comb += csr_writes.eq((word[12:14] == 1) | (word[15:20] != 0))
        with m.Switch(word[20:32]):
            with m.Case(*writable_csrs(self._config)):
                m.d.comb += csr_legal.eq(1)
            with m.Case(*csrs(self._config)):
                m.d.comb += csr_legal.eq(~csr_writes)
        mode_legal = Cat(word[12:15] == mode for mode in RoundingMode).any()
        # At most one row of the table matches, so an AND-OR of all rows gives the result.
        rows = [row for row in INSTRUCTIONS if row.exists(self._config)]
        matches = [Signal(name=f"is_{row.name}") for row in rows]
        illegal = Signal()
        m.d[later] += found.word.eq(word)
        for row, match in zip(rows, matches):
            legal = (csr_legal if row.format in (Format.CSR, Format.CSI) else
                     mode_legal if row.rounds else 1)
            m.d[later] += match.eq(((word & row.mask) == row.match) & legal)
        said = [*map(_said, rows), _ILLEGAL]
        m.d.comb += illegal.eq(~Cat(matches).any())
        for name in _ILLEGAL:
            target = Value.cast(found[name])
            m.d.comb += target.eq(and_or(Cat(matches, illegal),
                                         [Const(one[name], len(target)) for one in said]))
        with m.If(found.word[7:12] == 0):
            m.d.comb += found.writes.eq(0)
            if self._config.floats:
                # Flags without a result: nothing else tells that they have been raised.
                raises = Cat(match for row, match in zip(rows, matches) if row.is_float).any()
                with m.If(raises):
                    m.d.comb += found.changes.eq(1)
        return m


class Decoder(wiring.Component):
    """Second step: decodes an instruction from its word of instruction memory. Combinational.

    Members
    -------
    predecoded : In(predecoded_layout)
    decoded : Out(decoded_layout)
        The decoded instruction. ``rd``, ``rs1`` ... hold encoding bits even if the format has no
        such operand; ``writes`` is low if ``rd`` is x0.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({"predecoded": In(predecoded_layout(config)),
                          "decoded": Out(decoded_layout(config))})

    def elaborate(self, platform):
        m = Module()
        given, decoded = self.predecoded, self.decoded
        word = given.word
        sign = word[31]
        m.d.comb += [decoded[name].eq(given[name]) for name in ("unit", *_COMMON)]
        m.d.comb += [
            decoded.rd.eq(word[7:12]), decoded.rs1.eq(word[15:20]), decoded.rs2.eq(word[20:25]),
            decoded.rs3.eq(Mux(given.third_is_rd, word[7:12], word[27:32])),
            decoded.csr.eq(Mux((given.unit == Unit.WARP) & (given.op == WarpOp.TRAP),
                               given.cause, word[20:32])),
        ]
        immediates = {
            Immediate.WORD: word,
            Immediate.I: Cat(word[20:32], sign.replicate(20)),
            Immediate.SHIFT: word[20:25],
            Immediate.S: Cat(word[7:12], word[25:32], sign.replicate(20)),
            Immediate.B: Cat(Const(0, 1), word[8:12], word[25:31], word[7], sign.replicate(20)),
            Immediate.U: Cat(Const(0, 12), word[12:32]),
            Immediate.J: Cat(Const(0, 1), word[21:31], word[20], word[12:20], sign.replicate(12)),
            Immediate.ZERO: 0,
        }
        with m.Switch(given.immediate):
            for where, value in immediates.items():
                with m.Case(where):
                    m.d.comb += decoded.imm.eq(value)
        m.d.comb += decoded.needs.eq(
            (Mux(given.named[0], 1 << decoded.rs1, 0) | Mux(given.named[1], 1 << decoded.rs2, 0)
             | Mux(given.named[2], 1 << decoded.rs3, 0) | Mux(given.writes, 1 << decoded.rd, 0))
            & 0xFFFF_FFFE)
        if self._config.floats:
            # The pipeline adds its third operand, in whose place it wants the last one. Conversions
            # and classes have only one; no other words have ones in bits 31 and 30.
            with m.If((given.unit == Unit.FLOAT) & word[4]):
                m.d.comb += decoded.rs3.eq(Mux(word[30:32].all(), word[15:20], word[20:25]))
            # Flags come with results. So an access to them waits for the results of all registers.
            with m.If((given.unit == Unit.ALU) & (given.op >= AluOp.CSRRW)
                      & Cat(word[20:32] == csr for csr in FLOAT_CSRS).any()):
                m.d.comb += decoded.needs.eq(0xFFFF_FFFE)
        return m
