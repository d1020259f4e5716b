"""Effects of loads, stores and atomics: the memory half of :mod:`sw.golden.semantics`.

Each function binds one instruction to one warp and returns the closure that executes it. All
active lanes are checked before any lane's access is made, so a failing instruction has no effect.
The lowest lane that fails is reported, misalignment before access.
"""

import itertools

import numpy as np

from hw.isa import Cause, MemoryMap
from hw.operations import AmoOp


__all__ = ["DISCARD", "WORD", "Trap", "bind_load", "bind_store", "bind_amo", "constant"]


WORD = 0xFFFF_FFFF
DISCARD = 32    # the row for results that are written to x0


class Trap(Exception):
    """An instruction failed.

    Parameters
    ----------
    cause : Cause
        Cause of the failure.
    address : int
        Memory address, PC for a failed fetch, BAR's first operand for barriers; otherwise the
        instruction word.
    lane : int
        The lane of a load, store or atomic; else 0.
    warp, pc : optional
        Warp and PC of the error, if not those of the instruction under execution.
    """

    def __init__(self, cause, address, *, lane=0, warp=None, pc=None):
        super().__init__(cause, address)
        self.cause, self.address, self.lane, self.warp, self.pc = cause, address, lane, warp, pc


def constant(core, value):
    """A row with ``value`` in every lane."""
    return np.full(core.threads, value & WORD, np.uint32)


#: Deletes from a byte string the bytes that are multiples of the access size; by log2 of the size.
_ALIGNED = tuple(bytes(range(0, 256, 1 << size)) for size in range(3))


class _Addressing:
    """The addresses of one memory instruction, as indices into a memory of the right item size.

    The fast path assumes that all active lanes are in global memory. An index out of range raises
    IndexError before anything is transferred. Other cases go lane by lane.
    """

    def __init__(self, core, warp, fields, dtype, misaligned, unmapped):
        self.warp, self.size = warp, fields.row.size
        self.misaligned, self.unmapped = misaligned, unmapped
        self.base = warp.registers[fields.rs1]
        self.imm = fields.imm
        self.offset = constant(core, fields.imm - MemoryMap.GLOBAL)
        self.shift = constant(core, self.size)
        self.relative = np.empty(core.threads, np.uint32)
        self.scaled = np.empty(core.threads, np.uint32)
        self.indices = np.empty(core.threads, np.intp)
        self.memory = core.memory.view(dtype)
        self.local = core.local.view(dtype)

    def global_indices(self):
        """Indices as if every active lane's address were global; checks the alignment."""
        relative, select = self.relative, self.warp.select
        np.add(self.base, self.offset, relative)
        if self.size:
            if relative[select].tobytes()[::4].translate(None, _ALIGNED[self.size]):
                self.fail()
            np.right_shift(relative, self.shift, self.scaled)
            self.indices[:] = self.scaled
        else:
            self.indices[:] = relative
        return self.indices[select]

    def fail(self):
        """Raise the trap of the lowest lane that fails; misalignment comes before access."""
        for lane, address in zip(self.warp.lanes, self.addresses()):
            if address & (1 << self.size) - 1:
                raise Trap(self.misaligned, address, lane=lane)
            self.locate(lane, address)
        raise AssertionError("no lane's address fails")

    def addresses(self):
        """The active lanes' addresses, ascending by lane."""
        return [value + self.imm & WORD for value in self.base[self.warp.select].tolist()]

    def places(self):
        """The memory, and the index of the aligned address, for each active lane, ascending."""
        return [self.locate(*place) for place in zip(self.warp.lanes, self.addresses())]

    def locate(self, lane, address):
        """The memory, and the index of the aligned address, for a lane."""
        for base, memory in ((MemoryMap.GLOBAL, self.memory), (MemoryMap.LOCAL, self.local)):
            index = address - base >> self.size
            if 0 <= index < len(memory):
                return memory, index
        raise Trap(self.unmapped, address, lane=lane)


def bind_load(core, warp, pc, fields):
    row, following = fields.row, pc + 4
    # A load into signed rows extends signed items by their sign, and unsigned items by zeros.
    dtype = np.int32 if row.size == 2 else f"{'i' if row.signed else 'u'}{1 << row.size}"
    result = warp.registers[fields.rd or DISCARD].view(np.int32)
    addressing = _Addressing(core, warp, fields, dtype, Cause.LOAD_MISALIGNED, Cause.LOAD_ACCESS)
    global_indices, memory = addressing.global_indices, addressing.memory

    def load():
        indices = global_indices()
        try:
            result[warp.select] = memory[indices]
        except IndexError:
            result[warp.select] = [elsewhere.item(index)
                                   for elsewhere, index in addressing.places()]
        return following
    return load


def bind_store(core, warp, pc, fields):
    row, following = fields.row, pc + 4
    data = warp.registers[fields.rs2]
    addressing = _Addressing(core, warp, fields, f"u{1 << row.size}", Cause.STORE_MISALIGNED,
                             Cause.STORE_ACCESS)
    global_indices, memory = addressing.global_indices, addressing.memory
    limit = (1 << (8 << row.size)) - 1

    def store():
        indices = global_indices()
        # Among lanes with the same address the highest wins, since numpy assigns in order.
        try:
            memory[indices] = data[warp.select]
        except IndexError:
            for (elsewhere, index), value in zip(addressing.places(), data[warp.select].tolist()):
                elsewhere[index] = value & limit
        if core.effects is not None:
            record()
        return following

    def record():
        values = data[warp.select].tolist()
        for lane, address, value in zip(warp.lanes, addressing.addresses(), values):
            core.effects.append((lane, address, 1 << row.size, value & limit))
    return store


def _signed(value):
    return value - (1 << 32) if value >> 31 else value


_AMO = {
    AmoOp.ADD: lambda old, value: old + value & WORD,
    AmoOp.SWAP: lambda old, value: value,
    AmoOp.XOR: lambda old, value: old ^ value,
    AmoOp.OR: lambda old, value: old | value,
    AmoOp.AND: lambda old, value: old & value,
    AmoOp.MIN: lambda old, value: min(old, value, key=_signed),
    AmoOp.MAX: lambda old, value: max(old, value, key=_signed),
    AmoOp.MINU: min,
    AmoOp.MAXU: max,
    AmoOp.CAS: lambda old, pair: pair[0] if old == pair[1] else old,
}


def bind_amo(core, warp, pc, fields):
    """Lanes go in ascending order: a lane's old value is the value that the lanes below left."""
    row, following = fields.row, pc + 4
    result, data = warp.registers[fields.rd or DISCARD], warp.registers[fields.rs2]
    expected = warp.registers[fields.rd]
    addressing = _Addressing(core, warp, fields, np.uint32, Cause.STORE_MISALIGNED,
                             Cause.STORE_ACCESS)
    global_indices, words, count = addressing.global_indices, core.words, len(core.words)
    returns = fields.rd != 0

    def operands():
        return data[warp.select].tolist()

    def pairs():
        return list(zip(operands(), expected[warp.select].tolist()))

    def atomic(op=_AMO[row.amo], operands=pairs if row.amo is AmoOp.CAS else operands):
        indices = global_indices().tolist()
        if max(indices) < count:
            memories = itertools.repeat(words)
        else:
            memories, indices = zip(*addressing.places())
        old_values, new_values = [], []
        for memory, index, value in zip(memories, indices, operands()):
            old = int(memory[index])
            memory[index] = new = op(old, value)
            old_values.append(old)
            new_values.append(new)
        if core.effects is not None:
            core.effects.extend((lane, address, 4, new) for lane, address, new in
                                zip(warp.lanes, addressing.addresses(), new_values))
        if returns:
            result[warp.select] = old_values
        return following
    return atomic
