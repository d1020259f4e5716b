"""The effect of each instruction: table rows bound to one warp, as closures over numpy rows.

:func:`bind` turns an instruction word at a PC into a function without arguments. This function
executes the instruction for one warp, all active lanes at once, and returns the next PC. Everything
that stays the same from one execution to the next (operand rows, immediates, the operation) is
settled at binding. So a typical execution is one numpy call.

A lane's registers are one column of the warp's register array, and register n is row n. Row 0 is
never written: a result for x0 goes to row 32, which nothing reads. Operations on all lanes are
masked by ``warp.where``. Where lanes have to be gathered, ``warp.select`` picks the active lanes.

An instruction that fails raises :class:`Trap` before it has changed anything. The exceptions are
BAR and TMC: their deadlock is found after they have been executed.
"""

import operator

import numpy as np

from hw.isa import FLOAT_CSRS, STACK_POINTER, Cause, Csr, writable_csrs
from hw.operations import (AluOp, BranchOp, CrossOp, DivOp, GatherOp, MemOp, MulOp, RoundingMode,
                           Unit, WarpOp)
from sw.golden.floating import Arithmetic
from sw.golden.lane_memory import (DISCARD, WORD, Trap, bind_amo, bind_load, bind_store,
                                   constant)
from hw.disassembler import operands


__all__ = ["Trap", "bind"]


_MOVE = np.positive

#: The branches that compare, of words or of rows. Of BLT and BGE both are signed.
_HOLDS = {BranchOp.BEQ: operator.eq, BranchOp.BNE: operator.ne, BranchOp.BLT: operator.lt,
          BranchOp.BLTU: operator.lt, BranchOp.BGE: operator.ge, BranchOp.BGEU: operator.ge}


def bind(core, warp, pc, word):
    """The function that executes ``word`` at ``pc`` for ``warp`` and returns the next PC.

    Raises :class:`Trap` for an illegal instruction.
    """
    fields = operands(word)
    if fields is None:
        raise Trap(Cause.ILLEGAL, word)
    row = fields.row
    if row.branch is not BranchOp.NONE:
        execute = _bind_branch(core, warp, pc, fields)
        return _agreeing(core, warp, pc, fields, execute) if core.checks.lanes else execute
    if row.unit is Unit.ALU and fields.rd == STACK_POINTER and core.checks.stack:
        return _in_stack(core, warp, _bind_alu_unit(core, warp, pc, word, fields))
    if row.unit is Unit.ALU:
        return _bind_alu_unit(core, warp, pc, word, fields)
    if row.unit is Unit.WARP:
        return _bind_warp(core, warp, pc, word, fields)
    binder = {Unit.MUL: _bind_mul, Unit.DIV: _bind_div, Unit.CROSS: _bind_cross,
              Unit.GATHER: _bind_gather}.get(row.unit)
    if row.is_float:
        binder = _bind_float
    if binder is None:
        binder = {MemOp.LOAD: bind_load, MemOp.STORE: bind_store, MemOp.AMO: bind_amo,
                  MemOp.FENCE: _bind_fence}[MemOp(row.op)]
    if not row.exists(core.config):
        raise Trap(Cause.ILLEGAL, word)
    return binder(core, warp, pc, fields)


def _bind_alu_unit(core, warp, pc, word, fields):
    if fields.row.op in (AluOp.CSRRW, AluOp.CSRRS, AluOp.CSRRC):
        return _bind_csr(core, warp, pc, word, fields)
    return _bind_alu(core, warp, pc, fields)


def _bits(values):
    """Bit mask of the lanes whose value is true."""
    return int.from_bytes(np.packbits(values, bitorder="little").tobytes(), "little")


def _agreeing(core, warp, pc, fields, execute):
    """A branch or jump that fails where active lanes disagree. If the lowest lane's jump leaves
    instruction memory, that is the error, and the fetch behind it tells."""
    row, target = fields.row, pc + fields.imm & WORD
    first, second = warp.registers[fields.rs1], warp.registers[fields.rs2]
    if row.branch is BranchOp.JAL:
        return execute
    if row.branch in (BranchOp.BLT, BranchOp.BGE):
        first, second = first.view(np.int32), second.view(np.int32)

    def jump_register():
        destination = first.item(warp.lowest) + fields.imm & WORD - 1
        return first != first[warp.lowest], destination

    def compare():
        holds = _HOLDS[row.branch](first, second)
        taken = holds[warp.lowest]
        return holds != taken, target if taken else 0
    decide = jump_register if row.branch is BranchOp.JALR else compare

    def execute_if_agreed():
        differing, destination = decide()
        lanes = _bits(differing) & warp.mask
        if lanes and core.fetches(destination):
            raise Trap(Cause.LANES_DISAGREE, lanes)
        return execute()
    return execute_if_agreed


def _in_stack(core, warp, execute):
    """An instruction that fails where it moves the stack pointer of an active lane to another
    block of memory of a stack's size."""
    pointer = warp.registers[STACK_POINTER]
    block = np.uint32(core.checks.word & ~1 & core.config.memory_bytes - 1)

    def execute_in_stack():
        before = pointer.copy()
        following = execute()
        lanes = _bits((before ^ pointer) & block) & warp.mask
        if lanes:
            pointer[:] = before
            raise Trap(Cause.LANE_STACK, lanes, lane=(lanes & -lanes).bit_length() - 1)
        return following
    return execute_in_stack


_ALU = {
    AluOp.ADD: np.add, AluOp.SUB: np.subtract, AluOp.XOR: np.bitwise_xor, AluOp.OR: np.bitwise_or,
    AluOp.AND: np.bitwise_and, AluOp.SLL: np.left_shift, AluOp.SRL: np.right_shift,
    AluOp.SRA: np.right_shift,
}
_SHIFTS = (AluOp.SLL, AluOp.SRL, AluOp.SRA)


def _bind_alu(core, warp, pc, fields):
    row, following = fields.row, pc + 4
    result = warp.registers[fields.rd or DISCARD]
    if row.op in (AluOp.LUI, AluOp.AUIPC):
        value = constant(core, (fields.imm << 12) + (pc if row.op is AluOp.AUIPC else 0))

        def load_upper():
            _MOVE(value, result, where=warp.where)
            return following
        return load_upper

    first = warp.registers[fields.rs1]
    immediate = "2" not in row.reads
    second = constant(core, fields.imm) if immediate else warp.registers[fields.rs2]
    if row.op in (AluOp.SLT, AluOp.SLTU):
        if row.op is AluOp.SLT:
            first, second = first.view(np.int32), second.view(np.int32)
        less = np.empty(core.threads, bool)

        def compare(op=np.less, copy=np.copyto):
            op(first, second, less)
            copy(result, less, where=warp.where)
            return following
        return compare

    if row.op is AluOp.SRA:
        first, result = first.view(np.int32), result.view(np.int32)
    if row.op in _SHIFTS and not immediate:
        amounts, low_bits = second, constant(core, 31)
        second = np.empty_like(amounts)
        shifts = second.view(first.dtype)

        def shift(op=_ALU[row.op], combine=np.bitwise_and):
            combine(amounts, low_bits, second)
            op(first, shifts, result, where=warp.where)
            return following
        return shift

    second = second.view(first.dtype)

    def operate(op=_ALU[row.op]):
        op(first, second, result, where=warp.where)
        return following
    return operate


def _bind_mul(core, warp, pc, fields):
    row, following = fields.row, pc + 4
    result = warp.registers[fields.rd or DISCARD]
    first, second = warp.registers[fields.rs1], warp.registers[fields.rs2]
    if row.op is MulOp.MUL:
        def multiply(op=np.multiply):
            op(first, second, result, where=warp.where)
            return following
        return multiply

    if row.op in (MulOp.MULH, MulOp.MULHSU):
        first = first.view(np.int32)
    if row.op is MulOp.MULH:
        second = second.view(np.int32)
    # Signed times unsigned fits in 64 signed bits. The other products fit in 64 bits of their own
    # signedness.
    wide = np.empty(core.threads, np.uint64 if row.op is MulOp.MULHU else np.int64)
    high = wide.view(np.uint32)[1::2]

    def multiply_high(op=np.multiply, dtype=wide.dtype):
        op(first, second, wide, dtype=dtype)
        _MOVE(high, result, where=warp.where)
        return following
    return multiply_high


def _bind_div(core, warp, pc, fields):
    row, following = fields.row, pc + 4
    result = warp.registers[fields.rd or DISCARD]
    # In 64 bits -2**31 / -1 is no overflow, and the low half is the result that RISC-V specifies.
    narrow, wide = ((np.int32, np.int64) if row.op in (DivOp.DIV, DivOp.REM) else
                    (np.uint32, np.uint64))
    first, second = (warp.registers[number].view(narrow) for number in (fields.rs1, fields.rs2))

    def divide(quotient=row.op in (DivOp.DIV, DivOp.DIVU)):
        dividends, by_zero = first.astype(wide), second == 0
        divisors = np.where(by_zero, 1, second).astype(wide)
        # Rounded towards 0: numpy's fmod has the sign of the dividend.
        rests = np.fmod(dividends, divisors)
        if quotient:
            values = np.where(by_zero, WORD, ((dividends - rests) // divisors).astype(np.uint32))
        else:
            values = np.where(by_zero, dividends, rests)
        _MOVE(values.astype(np.uint32), result, where=warp.where)
        return following
    return divide


_FLOATS = Arithmetic()


def _bind_float(core, warp, pc, fields):
    """Flags of the active lanes gather in the warp's FFLAGS."""
    row, following = fields.row, pc + 4
    result = warp.registers[fields.rd or DISCARD]
    sources = [warp.registers[number] for number in (fields.rs1, fields.rs2, fields.rs3)]
    own_mode = RoundingMode(fields.rm) if row.rounds else RoundingMode.NEAREST

    def compute(op=row.op, kind=row.funct3, unsigned=bool(row.second)):
        mode = own_mode
        if mode is RoundingMode.DYNAMIC:
            number = warp.fcsr >> 5
            # The reserved modes round as the first does.
            mode = RoundingMode(number) if number <= 4 else RoundingMode.NEAREST
        values, flags = [], 0
        for a, b, c in zip(*(source[warp.select].tolist() for source in sources)):
            value, raised = _FLOATS.perform(op, mode, a, b, c, kind=kind, unsigned=unsigned)
            values.append(value)
            flags |= raised
        result[warp.select] = values
        warp.fcsr |= flags
        return following
    return compute


def _bind_cross(core, warp, pc, fields):
    row, following, threads = fields.row, pc + 4, core.threads
    result = warp.registers[fields.rd or DISCARD]
    first, second = warp.registers[fields.rs1], warp.registers[fields.rs2]
    if row.op in (CrossOp.ALL, CrossOp.ANY, CrossOp.UNI, CrossOp.BALLOT):
        def vote(op=row.op):
            ayes, all_lanes = _bits(first & 1 != 0) & warp.mask, warp.mask
            result[warp.select] = {CrossOp.ALL: ayes == all_lanes, CrossOp.ANY: ayes != 0,
                                   CrossOp.UNI: ayes in (0, all_lanes), CrossOp.BALLOT: ayes}[op]
            return following
        return vote

    lanes = np.arange(threads)

    def shuffle(op=row.op):
        how = second.astype(np.int64)
        b, c, segment = how & 63, how >> 6 & 63, how >> 12 & 63
        start = lanes & segment
        last = start | c & ~segment
        sources = {CrossOp.UP: lanes - b, CrossOp.DOWN: lanes + b, CrossOp.BFLY: lanes ^ b,
                   CrossOp.IDX: start | b & ~segment}[op]
        reads = (sources >= start if op is CrossOp.UP else sources <= last) & (sources < threads)
        values = first[np.where(reads, sources, lanes)]
        _MOVE(values, result, where=warp.where)
        return following
    return shuffle


def _bind_branch(core, warp, pc, fields):
    row, following, target = fields.row, pc + 4, pc + fields.imm & WORD
    first, second = warp.registers[fields.rs1], warp.registers[fields.rs2]
    if row.branch in (BranchOp.JAL, BranchOp.JALR):
        result, link = warp.registers[fields.rd or DISCARD], constant(core, following)

        def jump():
            _MOVE(link, result, where=warp.where)
            return target

        def jump_register(offset=fields.imm):
            target = first.item(warp.lowest) + offset & WORD - 1
            _MOVE(link, result, where=warp.where)
            return target
        if row.branch is BranchOp.JALR:
            return jump_register
        return jump if fields.rd else lambda: target

    if row.branch in (BranchOp.BLT, BranchOp.BGE):
        first, second = first.view(np.int32), second.view(np.int32)
    first, second = first.item, second.item

    def compare(holds=_HOLDS[row.branch]):
        return target if holds(first(warp.lowest), second(warp.lowest)) else following
    return compare


def _bind_csr(core, warp, pc, word, fields):
    row, following = fields.row, pc + 4
    reader = core.csr_reader(warp, fields.csr)
    register = "1" in row.reads
    writes = row.op is AluOp.CSRRW or (fields.rs1 if register else fields.imm) != 0
    if reader is None or (writes and fields.csr not in writable_csrs(core.config)):
        raise Trap(Cause.ILLEGAL, word)
    result, source = warp.registers[fields.rd or DISCARD], warp.registers[fields.rs1]

    def access(op=row.op):
        value = reader()
        if writes:
            operand = source.item(warp.lowest) if register else fields.imm
            written = (operand if op is AluOp.CSRRW else
                       value | operand if op is AluOp.CSRRS else value & ~operand)
            if fields.csr in FLOAT_CSRS:
                _write_fcsr(warp, fields.csr, written)
            else:
                warp.phase = 7 & written
        result[warp.select] = value if type(value) is int else value[warp.select]
        return following
    return access


def _write_fcsr(warp, csr, value):
    shift, bits = {Csr.FFLAGS: (0, 0x1F), Csr.FRM: (5, 7), Csr.FCSR: (0, 0xFF)}[csr]
    warp.fcsr = warp.fcsr & ~(bits << shift) | (value & bits) << shift


def _bind_fence(core, warp, pc, fields):
    following = pc + 4
    return lambda: following


def _bind_warp(core, warp, pc, word, fields):
    row, following, full = fields.row, pc + 4, core.full
    first, second = warp.registers[fields.rs1], warp.registers[fields.rs2]

    def passing():
        """Bit mask of the active lanes whose rs1 is not 0."""
        return _bits(first != 0) & warp.mask

    def tmc():
        core.set_mask(warp, first.item(warp.lowest) & full)
        return following

    def pred():
        core.set_mask(warp, passing() or second.item(warp.lowest) & full)
        return following

    def split(result=warp.registers[fields.rd or DISCARD]):
        lanes, before = passing(), warp.select
        depth = len(warp.stack)
        if 0 != lanes != warp.mask:
            if depth == core.stack_entries:
                raise Trap(Cause.STACK_OVERFLOW, word)
            warp.stack.append([warp.mask, warp.mask & ~lanes, following, False])
            core.set_mask(warp, lanes)
        result[before] = depth
        return following

    def join():
        if first.item(warp.lowest) == len(warp.stack):
            return following
        if not warp.stack:
            raise Trap(Cause.STACK_UNDERFLOW, word)
        mask, others, resume, switched = entry = warp.stack[-1]
        if switched:
            warp.stack.pop()
            core.set_mask(warp, mask)
            return following
        entry[3] = True
        core.set_mask(warp, others)
        return resume

    def bar():
        number = first.item(warp.lowest)
        if number >= core.barriers:
            raise Trap(Cause.BARRIER_ID, number)
        core.arrive(warp, number, second.item(warp.lowest), pc)
        return following

    def trap():
        raise Trap(Cause.BREAKPOINT if row.funct7 else Cause.ECALL, word)

    return {WarpOp.TMC: tmc, WarpOp.PRED: pred, WarpOp.SPLIT: split, WarpOp.JOIN: join,
            WarpOp.BAR: bar, WarpOp.TRAP: trap}[row.op]


def _bind_gather(core, warp, pc, fields):
    row, following, unit = fields.row, pc + 4, core.gather
    result = warp.registers[fields.rd or DISCARD]
    sources = [warp.registers[n] for n in (fields.rs1, fields.rs2, fields.rs3)]
    no_lanes = np.zeros(core.threads, bool)     # makes an array of True, the mask of all lanes

    def register():
        unit.register(warp.number, warp.where | no_lanes, *sources, distance=fields.imm)
        core.wake()
        return following

    def skip():
        unit.skip(sources[0], warp.where | no_lanes, warp.number)
        core.wake()
        return following

    def set_value():
        if warp.mask & 1:
            unit.set(fields.imm, sources[0].item(0))
            core.wake()
        return following

    def push():
        unit.push(sources[0][warp.select])
        return following

    def hand_out(second=warp.registers[fields.rs2 or DISCARD]):
        """The unit's answer sets the mask; some answers have words for a second register."""
        answer = ask(warp.number)
        if answer is None:
            return core.wait(warp, pc)
        lanes, vids, *addresses = answer
        if addresses:
            second[:], = addresses
        result[:] = vids
        core.set_mask(warp, _bits(lanes))
        return following

    def recall():
        """A part of the warp's last work."""
        result[warp.select] = ask(warp.number)[warp.select]
        return following

    execute, method = {
        GatherOp.SET: (set_value, "set"), GatherOp.REG: (register, "register"),
        GatherOp.SKIP: (skip, "skip"), GatherOp.PUSH: (push, "push"),
        GatherOp.DEC: (hand_out, "decode"), GatherOp.DEC_ID: (hand_out, "decode_id"),
        GatherOp.POP_VERT: (hand_out, "pop_vertices"), GatherOp.DEC_LOC: (recall, "decode_loc"),
        GatherOp.NEIGHBOR: (recall, "neighbor"), GatherOp.WEIGHT: (recall, "weight")}[row.op]
    ask = getattr(unit, method)
    return execute
