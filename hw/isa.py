"""The one instruction table.

The decoder (:mod:`hw.core.decode`), the assembler (:mod:`sw.compile.asm.assembler`), the
instruction-set simulator (:mod:`sw.golden.simulator`) and the generated ISA page all use
:data:`INSTRUCTIONS`. The encoding of an instruction is written only here.

RV32IM, Zaamo, AMOCAS.W of Zacas, FENCE, Zicsr and Zfinx follow the RISC-V unprivileged
specification; the SIMT instructions follow Vortex 2.x; the Weaver instructions follow SparseWeaver,
table 4.2.
"""

import dataclasses
import functools

from amaranth.lib import enum

from hw.gather.variants import VARIANTS
from hw.instruction import (AMO, AUIPC, BRANCH, CUSTOM_0, CUSTOM_1, JAL, JALR, LOAD, LUI,
                            MADD, MISC_MEM, MSUB, NMADD, NMSUB, OP, OP_FP, OP_IMM, STORE, SYSTEM,
                            Instruction)
from hw.operations import (AluOp, AmoOp, BranchOp, CrossOp, DivOp, FloatDivOp, FloatOp, Format,
                           MemOp, MulOp, RoundingMode, Unit, WarpOp)


__all__ = [
    "Instruction", "INSTRUCTIONS", "BY_NAME", "Csr", "Cause", "MemoryMap", "UNMAPPED", "CSR_DOCS",
    "CAUSE_DOCS", "FLOAT_CSRS", "PHASES", "STACK_POINTER", "encode", "decode", "immediate",
]


class Cause(enum.IntEnum):
    """Reason why a core stopped with an error. Values below 16 are RISC-V's ``mcause`` values."""
    FETCH_ACCESS     = 1
    ILLEGAL          = 2
    BREAKPOINT       = 3
    LOAD_MISALIGNED  = 4
    LOAD_ACCESS      = 5
    STORE_MISALIGNED = 6
    STORE_ACCESS     = 7
    ECALL            = 11
    STACK_OVERFLOW   = 16
    STACK_UNDERFLOW  = 17
    BARRIER_ID       = 18
    BARRIER_DEADLOCK = 19
    LANES_DISAGREE   = 20
    LANE_STACK       = 21


CAUSE_DOCS = {
    Cause.FETCH_ACCESS: "the PC is misaligned or outside instruction memory",
    Cause.ILLEGAL: "illegal instruction, or the configuration lacks the instruction's unit",
    Cause.BREAKPOINT: "EBREAK",
    Cause.LOAD_MISALIGNED: "a load's address is not a multiple of its size",
    Cause.LOAD_ACCESS: "a load from an unmapped address",
    Cause.STORE_MISALIGNED: "a store's or atomic's address is not a multiple of its size",
    Cause.STORE_ACCESS: "a store or atomic to an unmapped address",
    Cause.ECALL: "ECALL",
    Cause.STACK_OVERFLOW: "SPLIT with a full divergence stack",
    Cause.STACK_UNDERFLOW: "JOIN with an empty divergence stack and rs1 other than 0",
    Cause.BARRIER_ID: "BAR with a barrier number that does not exist",
    Cause.BARRIER_DEADLOCK: "every warp that has not ended waits at a barrier that cannot be "
                            "released",
    Cause.LANES_DISAGREE: "active lanes disagree at this branch or jump, which the lowest would "
                          "decide for all",
    Cause.LANE_STACK: "the stack pointer leaves the lane's stack",
}


class Csr(enum.IntEnum):
    """Control and status registers. Vortex 2.x defines the numbers of all but ``PHASE``."""
    FFLAGS       = 0x001
    FRM          = 0x002
    FCSR         = 0x003
    MSCRATCH     = 0x340
    PHASE        = 0x7C0
    CYCLE        = 0xC00
    INSTRET      = 0xC02
    CYCLEH       = 0xC80
    INSTRETH     = 0xC82
    THREAD_ID    = 0xCC0
    WARP_ID      = 0xCC1
    CORE_ID      = 0xCC2
    ACTIVE_WARPS = 0xCC3
    ACTIVE_MASK  = 0xCC4
    NUM_THREADS  = 0xFC0
    NUM_WARPS    = 0xFC1
    NUM_CORES    = 0xFC2


CSR_DOCS = {
    Csr.FFLAGS: "exception flags of this warp (read and write): bit 0 inexact, 1 underflow, 2 "
                "overflow, 3 division by zero, 4 invalid",
    Csr.FRM: "rounding mode of this warp (read and write): 0 to nearest, ties to even; 1 to zero; "
             "2 down; 3 up; 4 to nearest, ties away from zero; others as 0",
    Csr.FCSR: "`frm` in bits 7:5 and `fflags` in bits 4:0 (read and write)",
    Csr.MSCRATCH: "kernel argument pointer, set by the launch (read-only)",
    Csr.PHASE: "phase of this warp, 0 to 5 (read and write); cycle counters are split by phase",
    Csr.CYCLE: "cycles since the launch, low half",
    Csr.INSTRET: "warp instructions issued by this core since the launch, low half",
    Csr.CYCLEH: "cycles since the launch, high half",
    Csr.INSTRETH: "warp instructions issued since the launch, high half",
    Csr.THREAD_ID: "lane number within the warp (differs by lane)",
    Csr.WARP_ID: "warp number within the core",
    Csr.CORE_ID: "core number",
    Csr.ACTIVE_WARPS: "bit mask of the warps that have not ended, of the first 32",
    Csr.ACTIVE_MASK: "thread mask of this warp",
    Csr.NUM_THREADS: "lanes per warp",
    Csr.NUM_WARPS: "warps per core",
    Csr.NUM_CORES: "cores",
}

#: The CSRs that only a configuration with floating point has.
FLOAT_CSRS = (Csr.FFLAGS, Csr.FRM, Csr.FCSR)


def csrs(config) -> tuple[Csr, ...]:
    """The CSRs of a configuration."""
    return tuple(csr for csr in Csr if config.floats or csr not in FLOAT_CSRS)


def writable_csrs(config) -> tuple[Csr, ...]:
    """Those of them that an instruction may write."""
    return (Csr.PHASE, *FLOAT_CSRS) if config.floats else (Csr.PHASE,)


#: Number of the register that the ABI of RISC-V makes the stack pointer.
STACK_POINTER = 2

#: Names of the values of the PHASE CSR. SparseWeaver, figure 4.17, defines all but value 5.
PHASES = ("init", "registration", "work ID", "edge access", "gather and sum", "apply")


class MemoryMap:
    """First addresses of the regions of the 32-bit address space (docs/isa.md)."""
    INSTRUCTION = 0x0000_0000
    LOCAL       = 0x1000_0000
    DEVICE      = 0x2000_0000
    GLOBAL      = 0x8000_0000


#: The address of a word that no configuration maps: a unit's access to it fails. (The top of the
#: address space is no such place: the largest memory reaches it.)
UNMAPPED = MemoryMap.GLOBAL - 4


def _alu_imm(name, op, funct3, doc):
    return Instruction(name, Format.I, Unit.ALU, op, OP_IMM, funct3, None, "1", True, doc=doc)


def _shift_imm(name, op, funct3, funct7, doc):
    return Instruction(name, Format.SH, Unit.ALU, op, OP_IMM, funct3, funct7, "1", True, doc=doc)


def _alu(name, op, funct3, funct7, doc):
    return Instruction(name, Format.R, Unit.ALU, op, OP, funct3, funct7, "12", True, doc=doc)


def _mul(name, op, doc):
    return Instruction(name, Format.R, Unit.MUL, op, OP, op.value, 1, "12", True, doc=doc)


def _div(name, op, doc):
    return Instruction(name, Format.R, Unit.DIV, op, OP, 4 + op.value, 1, "12", True, doc=doc)


def _float(name, op, reads, funct7, doc, *, funct3=None, second=0):
    unit = Unit.DIV if isinstance(op, FloatDivOp) else Unit.FLOAT
    return Instruction(name, Format.R, unit, op, OP_FP, funct3, funct7, reads, True, second=second,
                       doc=doc)


def _fused(name, op, opcode, doc):
    return Instruction(name, Format.R4, Unit.FLOAT, op, opcode, None, 0, "123", True, doc=doc)


def _cross(name, op, reads, doc):
    return Instruction(name, Format.R, Unit.CROSS, op, CUSTOM_0, op.value, 1, reads, True, doc=doc)


def _branch(name, op, doc):
    return Instruction(name, Format.B, Unit.BRANCH, AluOp.SUB, BRANCH, op.value, None, "12",
                       branch=op, control=True, doc=doc)


def _load(name, funct3, size, signed, doc):
    return Instruction(name, Format.I, Unit.LSU, MemOp.LOAD, LOAD, funct3, None, "1", True,
                       size=size, signed=signed, doc=doc)


def _load_once(name, funct3, size, doc):
    return Instruction(name, Format.I, Unit.LSU, MemOp.LOAD, CUSTOM_1, funct3, None, "1", True,
                       size=size, once=True, doc=f"{doc}; the line is not wanted again soon")


def _store(name, funct3, size, doc):
    return Instruction(name, Format.S, Unit.LSU, MemOp.STORE, STORE, funct3, None, "12",
                       size=size, doc=doc)


def _amo(name, funct5, op, doc, *, reads="12"):
    return Instruction(name, Format.AMO, Unit.LSU, MemOp.AMO, AMO, 2, funct5 << 2, reads, True,
                       amo=op, doc=doc)


def _csr(name, format, op, funct3, reads, doc):
    return Instruction(name, format, Unit.ALU, op, SYSTEM, funct3, None, reads, True, doc=doc)


def _warp(name, op, reads, doc, *, writes=False):
    return Instruction(name, Format.R, Unit.WARP, op, CUSTOM_0, op.value, 0, reads, writes,
                       control=True, doc=doc)


#: The instructions of the core, whatever unit hands out edges.
_ROWS = (
    Instruction("lui", Format.U, Unit.ALU, AluOp.LUI, LUI, writes=True,
                doc="rd = imm << 12"),
    Instruction("auipc", Format.U, Unit.ALU, AluOp.AUIPC, AUIPC, writes=True,
                doc="rd = PC + (imm << 12)"),
    Instruction("jal", Format.J, Unit.BRANCH, AluOp.LINK, JAL, writes=True,
                branch=BranchOp.JAL, control=True, doc="rd = PC + 4; jump"),
    Instruction("jalr", Format.I, Unit.BRANCH, AluOp.LINK, JALR, 0, None, "1", True,
                branch=BranchOp.JALR, control=True, doc="rd = PC + 4; jump to rs1 + imm"),
    _branch("beq", BranchOp.BEQ, "branch if rs1 = rs2 (lowest active lane decides)"),
    _branch("bne", BranchOp.BNE, "branch if rs1 != rs2"),
    _branch("blt", BranchOp.BLT, "branch if rs1 < rs2, signed"),
    _branch("bge", BranchOp.BGE, "branch if rs1 >= rs2, signed"),
    _branch("bltu", BranchOp.BLTU, "branch if rs1 < rs2, unsigned"),
    _branch("bgeu", BranchOp.BGEU, "branch if rs1 >= rs2, unsigned"),
    _load("lb", 0, 0, True, "load byte, sign-extended"),
    _load("lh", 1, 1, True, "load halfword, sign-extended"),
    _load("lw", 2, 2, True, "load word"),
    _load("lbu", 4, 0, False, "load byte, zero-extended"),
    _load("lhu", 5, 1, False, "load halfword, zero-extended"),
    _load_once("lw.nt", 2, 2, "load word"),
    _load_once("lbu.nt", 4, 0, "load byte, zero-extended"),
    _load_once("lhu.nt", 5, 1, "load halfword, zero-extended"),
    _store("sb", 0, 0, "store byte"),
    _store("sh", 1, 1, "store halfword"),
    _store("sw", 2, 2, "store word"),
    _alu_imm("addi", AluOp.ADD, 0, "rd = rs1 + imm"),
    _alu_imm("slti", AluOp.SLT, 2, "rd = rs1 < imm, signed"),
    _alu_imm("sltiu", AluOp.SLTU, 3, "rd = rs1 < imm, unsigned"),
    _alu_imm("xori", AluOp.XOR, 4, "rd = rs1 ^ imm"),
    _alu_imm("ori", AluOp.OR, 6, "rd = rs1 | imm"),
    _alu_imm("andi", AluOp.AND, 7, "rd = rs1 & imm"),
    _shift_imm("slli", AluOp.SLL, 1, 0x00, "rd = rs1 << shamt"),
    _shift_imm("srli", AluOp.SRL, 5, 0x00, "rd = rs1 >> shamt, logical"),
    _shift_imm("srai", AluOp.SRA, 5, 0x20, "rd = rs1 >> shamt, arithmetic"),
    _alu("add", AluOp.ADD, 0, 0x00, "rd = rs1 + rs2"),
    _alu("sub", AluOp.SUB, 0, 0x20, "rd = rs1 - rs2"),
    _alu("sll", AluOp.SLL, 1, 0x00, "rd = rs1 << rs2[4:0]"),
    _alu("slt", AluOp.SLT, 2, 0x00, "rd = rs1 < rs2, signed"),
    _alu("sltu", AluOp.SLTU, 3, 0x00, "rd = rs1 < rs2, unsigned"),
    _alu("xor", AluOp.XOR, 4, 0x00, "rd = rs1 ^ rs2"),
    _alu("srl", AluOp.SRL, 5, 0x00, "rd = rs1 >> rs2[4:0], logical"),
    _alu("sra", AluOp.SRA, 5, 0x20, "rd = rs1 >> rs2[4:0], arithmetic"),
    _alu("or", AluOp.OR, 6, 0x00, "rd = rs1 | rs2"),
    _alu("and", AluOp.AND, 7, 0x00, "rd = rs1 & rs2"),
    _mul("mul", MulOp.MUL, "rd = low half of rs1 x rs2"),
    _mul("mulh", MulOp.MULH, "rd = high half of rs1 x rs2, signed"),
    _mul("mulhsu", MulOp.MULHSU, "rd = high half, rs1 signed, rs2 unsigned"),
    _mul("mulhu", MulOp.MULHU, "rd = high half of rs1 x rs2, unsigned"),
    _div("div", DivOp.DIV, "rd = rs1 / rs2, signed, rounded towards 0; -1 if rs2 = 0"),
    _div("divu", DivOp.DIVU, "rd = rs1 / rs2, unsigned; all ones if rs2 = 0"),
    _div("rem", DivOp.REM, "rd = remainder of rs1 / rs2, signed as rs1; rs1 if rs2 = 0"),
    _div("remu", DivOp.REMU, "rd = remainder of rs1 / rs2, unsigned; rs1 if rs2 = 0"),
    Instruction("fence", Format.I, Unit.LSU, MemOp.FENCE, MISC_MEM, 0,
                doc="order this warp's accesses and invalidate the L1 (operands ignored)"),
    Instruction("ecall", Format.N, Unit.WARP, WarpOp.TRAP, SYSTEM, 0, 0, control=True,
                doc="stop the GPU with cause 11"),
    Instruction("ebreak", Format.N, Unit.WARP, WarpOp.TRAP, SYSTEM, 0, 1, control=True,
                doc="stop the GPU with cause 3"),
    _csr("csrrw", Format.CSR, AluOp.CSRRW, 1, "1", "rd = CSR; CSR = rs1 (lowest active lane)"),
    _csr("csrrs", Format.CSR, AluOp.CSRRS, 2, "1",
         "rd = CSR; set the CSR's bits that are 1 in rs1"),
    _csr("csrrc", Format.CSR, AluOp.CSRRC, 3, "1",
         "rd = CSR; clear the CSR's bits that are 1 in rs1"),
    _csr("csrrwi", Format.CSI, AluOp.CSRRW, 5, "", "rd = CSR; CSR = imm"),
    _csr("csrrsi", Format.CSI, AluOp.CSRRS, 6, "",
         "rd = CSR; set the CSR's bits that are 1 in imm"),
    _csr("csrrci", Format.CSI, AluOp.CSRRC, 7, "",
         "rd = CSR; clear the CSR's bits that are 1 in imm"),
    _amo("amoadd.w", 0x00, AmoOp.ADD, "rd = memory word; word += rs2"),
    _amo("amoswap.w", 0x01, AmoOp.SWAP, "rd = memory word; word = rs2"),
    _amo("amoxor.w", 0x04, AmoOp.XOR, "rd = memory word; word ^= rs2"),
    _amo("amoor.w", 0x08, AmoOp.OR, "rd = memory word; word |= rs2"),
    _amo("amoand.w", 0x0C, AmoOp.AND, "rd = memory word; word &= rs2"),
    _amo("amomin.w", 0x10, AmoOp.MIN, "rd = memory word; word = min(word, rs2), signed"),
    _amo("amomax.w", 0x14, AmoOp.MAX, "rd = memory word; word = max(word, rs2), signed"),
    _amo("amominu.w", 0x18, AmoOp.MINU, "rd = memory word; word = min(word, rs2), unsigned"),
    _amo("amomaxu.w", 0x1C, AmoOp.MAXU, "rd = memory word; word = max(word, rs2), unsigned"),
    _amo("amocas.w", 0x05, AmoOp.CAS, "rd = memory word; word = rs2 if word was equal to rd",
         reads="12d"),
    _warp("tmc", WarpOp.TMC, "1", "thread mask = rs1 (lowest active lane); 0 ends the warp"),
    _warp("split", WarpOp.SPLIT, "1", "lanes with rs1 != 0 go on; the other lanes resume at PC "
          "+ 4 on JOIN; rd = stack pointer before the push", writes=True),
    _warp("join", WarpOp.JOIN, "1", "reconverge the SPLIT that returned rs1; does "
          "nothing if the stack has rs1 entries, as with x0 and an empty stack"),
    _warp("bar", WarpOp.BAR, "12", "wait at barrier rs1 until rs2 warps have arrived"),
    _warp("pred", WarpOp.PRED, "12", "thread mask = lanes with rs1 != 0; rs2 if there is none"),
    _cross("vote.all", CrossOp.ALL, "1", "rd = 1 if bit 0 of rs1 is set in all active lanes"),
    _cross("vote.any", CrossOp.ANY, "1", "rd = 1 if bit 0 of rs1 is set in any active lane"),
    _cross("vote.uni", CrossOp.UNI, "1", "rd = 1 if bit 0 of rs1 is the same in all active "
           "lanes"),
    _cross("vote.ballot", CrossOp.BALLOT, "1", "rd = bit mask of the active lanes in which bit "
           "0 of rs1 is set"),
    _cross("shfl.up", CrossOp.UP, "12", "rd = rs1 of the lane b lanes below, see Shuffles"),
    _cross("shfl.down", CrossOp.DOWN, "12", "rd = rs1 of the lane b lanes above, see Shuffles"),
    _cross("shfl.bfly", CrossOp.BFLY, "12", "rd = rs1 of the lane whose number is this lane's "
           "^ b, see Shuffles"),
    _cross("shfl.idx", CrossOp.IDX, "12", "rd = rs1 of lane b of the segment, see Shuffles"),
    _fused("fmadd.s", FloatOp.MADD, MADD, "rd = rs1 x rs2 + rs3, rounded once"),
    _fused("fmsub.s", FloatOp.MSUB, MSUB, "rd = rs1 x rs2 - rs3, rounded once"),
    _fused("fnmsub.s", FloatOp.NMSUB, NMSUB, "rd = -(rs1 x rs2) + rs3, rounded once"),
    _fused("fnmadd.s", FloatOp.NMADD, NMADD, "rd = -(rs1 x rs2) - rs3, rounded once"),
    _float("fadd.s", FloatOp.ADD, "12", 0x00, "rd = rs1 + rs2"),
    _float("fsub.s", FloatOp.SUB, "12", 0x04, "rd = rs1 - rs2"),
    _float("fmul.s", FloatOp.MUL, "12", 0x08, "rd = rs1 x rs2"),
    _float("fdiv.s", FloatDivOp.DIV, "12", 0x0C, "rd = rs1 / rs2"),
    _float("fsqrt.s", FloatDivOp.SQRT, "1", 0x2C, "rd = square root of rs1"),
    _float("fsgnj.s", FloatOp.SIGN, "12", 0x10, "rd = rs1 with the sign of rs2", funct3=0),
    _float("fsgnjn.s", FloatOp.SIGN, "12", 0x10, "rd = rs1 with the opposite sign of rs2",
           funct3=1),
    _float("fsgnjx.s", FloatOp.SIGN, "12", 0x10, "rd = rs1, negated if rs2 is negative", funct3=2),
    _float("fmin.s", FloatOp.SELECT, "12", 0x14, "rd = min(rs1, rs2); the other one of a NaN",
           funct3=0),
    _float("fmax.s", FloatOp.SELECT, "12", 0x14, "rd = max(rs1, rs2); the other one of a NaN",
           funct3=1),
    _float("fle.s", FloatOp.COMPARE, "12", 0x50, "rd = rs1 <= rs2; invalid with a NaN", funct3=0),
    _float("flt.s", FloatOp.COMPARE, "12", 0x50, "rd = rs1 < rs2; invalid with a NaN", funct3=1),
    _float("feq.s", FloatOp.COMPARE, "12", 0x50, "rd = rs1 = rs2", funct3=2),
    _float("fclass.s", FloatOp.CLASS, "1", 0x70, "rd = a bit for the class of rs1", funct3=1),
    _float("fcvt.w.s", FloatOp.TO_INT, "1", 0x60, "rd = signed integer of rs1"),
    _float("fcvt.wu.s", FloatOp.TO_INT, "1", 0x60, "rd = unsigned integer of rs1", second=1),
    _float("fcvt.s.w", FloatOp.FROM_INT, "1", 0x68, "rd = float of rs1, a signed integer"),
    _float("fcvt.s.wu", FloatOp.FROM_INT, "1", 0x68, "rd = float of rs1, an unsigned integer",
           second=1),
)


def _gather_rows():
    """The instructions of the units that hand out edges, each with the units that have it."""
    rows = {row.name: row for unit in VARIANTS.values() for row in unit.instructions}
    return tuple(dataclasses.replace(row, variants=tuple(
        name for name, unit in VARIANTS.items() if row in unit.instructions))
        for row in sorted(rows.values(), key=lambda row: row.funct7))


INSTRUCTIONS = (*_ROWS, *_gather_rows())
BY_NAME = {row.name: row for row in INSTRUCTIONS}


def _signed_field(value, bits, what, *, even=False):
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{what} {value} does not fit in {bits} bits")
    if even and value & 1:
        raise ValueError(f"{what} {value} is odd")
    return value & (1 << bits) - 1


def encode(name, *, rd=0, rs1=0, rs2=0, rs3=0, imm=0, csr=0,
           rm=RoundingMode.DYNAMIC.value) -> int:
    """Encode one instruction as a 32-bit word.

    ``imm`` is the value in assembler text: a 12-bit immediate or offset, a shift amount, the byte
    offset of a branch or jump from its own PC, the upper 20 bits of LUI/AUIPC, the 5-bit CSR
    immediate, or the number in the place of ``rd``. ``rm`` is the value of a rounding mode.

    Raises
    ------
    KeyError
        No such instruction.
    ValueError
        An operand is out of range.
    """
    row = BY_NAME[name]
    for label, register in (("rd", rd), ("rs1", rs1), ("rs2", rs2), ("rs3", rs3)):
        if not 0 <= register < 32:
            raise ValueError(f"{name}: {label} is {register}, not a register number (0..31)")
    word = row.match | rd << 7
    if row.rounds:
        if not _legal_mode(rm):
            raise ValueError(f"{name}: rounding mode {rm} is not 0 to 4, or 7 for that of frm")
        word |= rm << 12
    match row.format:
        case Format.R | Format.AMO:
            word |= rs1 << 15 | rs2 << 20
        case Format.R4:
            if row.numbered and not 0 <= imm < 32:
                raise ValueError(f"{name}: number {imm} is not in 0..31")
            word |= rs1 << 15 | rs2 << 20 | rs3 << 27 | row.numbered * imm << 7
        case Format.I:
            word |= rs1 << 15 | _signed_field(imm, 12, f"{name}: immediate") << 20
        case Format.SH:
            if not 0 <= imm < 32:
                raise ValueError(f"{name}: shift amount {imm} is not in 0..31")
            word |= rs1 << 15 | imm << 20
        case Format.S:
            field = _signed_field(imm, 12, f"{name}: offset")
            word = row.match | (field & 0x1F) << 7 | rs1 << 15 | rs2 << 20 | (field >> 5) << 25
        case Format.B:
            field = _signed_field(imm, 13, f"{name}: branch offset", even=True)
            word = (row.match | (field >> 11 & 1) << 7 | (field >> 1 & 0xF) << 8 | rs1 << 15
                    | rs2 << 20 | (field >> 5 & 0x3F) << 25 | (field >> 12) << 31)
        case Format.U:
            if not -(1 << 19) <= imm < 1 << 20:
                raise ValueError(f"{name}: upper immediate {imm} does not fit in 20 bits")
            word |= (imm & 0xFFFFF) << 12
        case Format.J:
            field = _signed_field(imm, 21, f"{name}: jump offset", even=True)
            word |= ((field >> 12 & 0xFF) << 12 | (field >> 11 & 1) << 20
                     | (field >> 1 & 0x3FF) << 21 | (field >> 20) << 31)
        case Format.CSR:
            word |= rs1 << 15 | csr << 20
        case Format.CSI:
            if not 0 <= imm < 32:
                raise ValueError(f"{name}: immediate {imm} is not in 0..31")
            word |= imm << 15 | csr << 20
    return word


def _legal_mode(rm):
    return rm in [mode.value for mode in RoundingMode]


@functools.lru_cache(maxsize=1 << 16)
def decode(word: int) -> Instruction | None:
    """The table's row for a 32-bit instruction word, or ``None`` if the word is illegal."""
    for row in INSTRUCTIONS:
        if word & row.mask == row.match and (not row.rounds or _legal_mode(word >> 12 & 7)):
            return row
    return None


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def immediate(form: Format, word: int) -> int:
    """The immediate of an instruction word with a format, as assembly text has it: a constant, an
    offset in bytes, or a number in the place of a register; 0 if the format has none."""
    match form:
        case Format.I:
            return _signed(word >> 20, 12)
        case Format.SH:
            return word >> 20 & 0x1F
        case Format.S:
            return _signed((word >> 25) << 5 | word >> 7 & 0x1F, 12)
        case Format.B:
            return _signed((word >> 31) << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 0x3F) << 5
                           | (word >> 8 & 0xF) << 1, 13)
        case Format.U:
            return word >> 12
        case Format.J:
            return _signed((word >> 31) << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11
                           | (word >> 21 & 0x3FF) << 1, 21)
        case Format.CSI:
            return word >> 15 & 0x1F
        case Format.R4:
            return word >> 7 & 0x1F
        case _:
            return 0
