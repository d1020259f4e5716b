"""Virtual registers: the assembler of kernels, and the allocation of their registers.

A kernel takes as many registers as it likes, and gives none back. When the program is finished,
each kernel's registers get the numbers 1 to 31 (:func:`allocate`):

1. Constants are loaded before the loops in which they are used.
2. Liveness tells which registers hold values at once, and the
   graph of these registers is coloured (Chaitin; Briggs' optimistic order).
3. If 31 colours do not suffice, a constant is recomputed where it is used. If no constant is left,
   a register moves to a slot in local memory. Then step 2 is repeated.

The flow of a lane
------------------
A register has a value for each lane, so liveness follows the path of a single lane. A lane takes
one side of a SPLIT: the branch behind the SPLIT leads to the other side, and JOIN goes on with the
next instruction. While a warp runs the side of other lanes, nothing is written in this lane.

An instruction writes its register in the active lanes only. An inactive lane passes the instruction
and keeps its old value. So a write does not end the life of the old value, unless it is the first
write of the register in the order of the text. A register whose value matters in inactive lanes has
to be written once with all these lanes active. An example is a predicate by which
:meth:`~sw.kernels.kernel.Kernel.narrow` decides: the branch reads it in lane 0, which may be
inactive.

Sections
--------
A kernel may have *sections*, one after the other, each with registers of its own: no register has a
value for another section. So a section has the registers that it would have as a kernel, less those
that are kept (:meth:`VirtualAssembler.keep`), whose values all sections share. A jump may lead to
another section (:meth:`VirtualAssembler.jump_to_section`), and no branch does.
"""

import dataclasses

import numpy as np

from hw.isa import Csr, Instruction
from hw.operations import Format, Unit
from sw.kernels.assembler import (ROWS, Assembler, AssemblyError, GeneralRegister, Label,
                                  OutOfRegisters, constant_parts)


__all__ = ["Constant", "VirtualAssembler"]


#: How many times more often a loop's instructions run than the instructions around it.
_LOOP = 8

#: Bytes that an offset of 12 bits reaches, which bounds the slots of a lane.
_REACH = 2048


class Constant(GeneralRegister):
    """A register that holds a constant throughout a part of a kernel.

    Parameters
    ----------
    name : str
    value : int
        The 32-bit constant.
    kept : bool
        Whether the constant is never recomputed.
    """
    __slots__ = ("value", "kept")

    def __init__(self, name, value, kept):
        super().__init__(None, name)
        self.value, self.kept = value, kept


class _Copy(GeneralRegister):
    """The value of a register that has no number, for one instruction."""
    __slots__ = ()

    def __init__(self, register):
        super().__init__(None, register.name)


class _Part:
    """A mark in the text: a part of a kernel begins, with constants of its own."""


@dataclasses.dataclass(frozen=True)
class _Section:
    """A mark in the text: a section of a kernel begins."""
    name: str


@dataclasses.dataclass(frozen=True)
class _Elsewhere:
    """The target of a jump to another section."""
    label: Label

    @property
    def name(self):
        """The label's name."""
        return self.label.name


@dataclasses.dataclass
class _Line:
    """An instruction of the text.

    Parameters
    ----------
    row : hw.isa.Instruction
    operands : dict
    reads, writes : list of GeneralRegister
        The registers that the instruction reads, and those that it writes, without x0 and kept
        registers.
    """
    row: Instruction
    operands: dict
    reads: list
    writes: list

    @classmethod
    def of(cls, row, operands):
        """The line of an instruction."""
        reads, writes = [], []
        for field, value in operands.items():
            if isinstance(value, GeneralRegister) and value.number is None:
                written = field == "rd" or (field == "rs2" and row.writes_rs2)
                if written:
                    writes.append(value)
                if not written or "d" in row.reads:
                    reads.append(value)
        return cls(row, operands, reads, writes)

    def replaced(self, old, new):
        """The line with another register."""
        return _Line.of(self.row, {field: new if value is old else value
                                   for field, value in self.operands.items()})

    @property
    def masks(self) -> bool:
        """Whether the instruction can change the thread mask."""
        return self.row.unit in (Unit.WARP, Unit.GATHER) and self.row.control


class VirtualAssembler(Assembler):
    """An assembler whose registers are virtual until :meth:`finish`.

    Parameters
    ----------
    reserve : callable
        ``reserve(words)`` gives the address of so many words of local memory for each warp, as
        ``(address, bytes from one warp's words to the next warp's)``. It is called when registers
        do not suffice.
    threads : int
        Lanes of a warp.
    registers : int
        How many registers may be used, from x1 on.

    Attributes
    ----------
    slots : dict of str to int
        For each kernel, or section, whose registers did not suffice, the registers that are in
        local memory.
    argument : GeneralRegister or None
        The kept register with the argument of a superstep, in a fused loop
        (:mod:`sw.kernels.fusion`).
    """

    def __init__(self, reserve=None, threads=1, registers=31):
        super().__init__()
        self._reserve, self._threads, self._registers = reserve, threads, registers
        self.slots = {}
        self.argument = None

    def reg(self, name) -> GeneralRegister:
        """A new virtual register."""
        return GeneralRegister(None, name)

    def constant(self, name, value, kept=False) -> Constant:
        """A register that holds a constant in the open part of the kernel. The constant is loaded
        before the first loop that uses it, with all lanes active."""
        return Constant(name, value & 0xFFFF_FFFF, kept)

    def part(self):
        """A part of a kernel begins, with all lanes active. A constant belongs to one part."""
        self._code.append((None, _Part()))

    def keep(self, name) -> GeneralRegister:
        """A register that keeps its value in all sections, for the whole program. It has a number
        at once, so that no other register gets it."""
        self._registers -= 1
        return GeneralRegister(self._registers + 1, name)

    def section(self, name):
        """A section of a kernel begins, with all lanes active."""
        self._code.append((None, _Section(name)))

    def jump_to_section(self, label):
        """Jump to a label in another section."""
        self.jal(self.zero, _Elsewhere(label))

    def _address_of(self, label):
        self._code.append((None, label))
        return -1                           # known when the program is finished

    def finish(self):
        """Allocate the registers, resolve the labels and encode everything."""
        frames, code = {}, []
        for name, text in self._kernels():
            text, frame = _allocate(name, text, self._threads, self._registers)
            if frame.slots:
                frames[name] = frame
            code += text
        self.slots = {name: frame.size for name, frame in frames.items()}
        if frames:
            words = max(self.slots.values()) * self._threads
            assert self._reserve is not None, "registers do not suffice"
            address, stride = self._reserve(words)
            for frame in frames.values():
                frame.settle(address, stride)
        self._code = []
        for item in code:
            if isinstance(item, _Line):
                self._code.append((item.row, {
                    field: value.label if isinstance(value, _Elsewhere) else value
                    for field, value in item.operands.items()}))
            elif isinstance(item, Label):
                item.address = self.here
        return super().finish()

    def lines(self) -> list:
        """The instructions of a text without labels."""
        return [_Line.of(row, operands) for row, operands in self._code]

    def _kernels(self):
        """The text of each kernel or section, with its name."""
        entries = {id(label): name for name, label in self._entries.items()}
        name, text = "", []
        for row, operands in self._code:
            begun = operands.name if isinstance(operands, _Section) else \
                entries.get(id(operands)) if row is None else None
            if begun is not None:
                if text:
                    yield name, text
                name, text = begun, []
            text.append(operands if row is None else _Line.of(row, operands))
        yield name, text


class _Frame:
    """The slots of one kernel in local memory, by lane. Registers of different parts share slots.

    Parameters
    ----------
    threads : int
        Lanes of a warp.
    parts : dict of GeneralRegister to set of int
        The parts in which each register is used.
    """

    class Pointer(GeneralRegister):
        """The register with the address of the lane's first slot."""
        __slots__ = ()

    def __init__(self, threads, parts):
        self._threads, self._parts = threads, parts
        self.slots = {}                     # by register, its number
        self.pointer = self.Pointer(None, "frame")
        self._late = []                     # operands that settle() completes

    def add(self, register):
        """A slot for a register."""
        most = _REACH // (4 * self._threads)
        taken = {slot for other, slot in self.slots.items()
                 if self._parts[other] & self._parts[register]}
        slot = next(slot for slot in range(most + 1) if slot not in taken)
        if slot == most:
            raise OutOfRegisters(f"register {register.name!r} is one too many: all registers and "
                                 f"{most} slots in local memory are in use")
        self.slots[register] = slot

    @property
    def size(self) -> int:
        """Slots of a lane."""
        return max(self.slots.values()) + 1

    def offset(self, register) -> int:
        """Bytes from the lane's pointer to the register's slot."""
        return 4 * self._threads * self.slots[register]

    def prologue(self) -> list:
        """Lines that make the lane's pointer: the address, plus the warp's and the lane's places.
        """
        a, pointer = VirtualAssembler(), self.pointer
        place, stride = a.regs("place", "stride")
        for register in (pointer, stride):
            a.lui(register, 0)
            a.addi(register, register, 0)
        a.csrr(place, Csr.WARP_ID)
        a.mul(stride, stride, place)
        a.add(pointer, pointer, stride)
        a.csrr(place, Csr.THREAD_ID)
        a.slli(place, place, 2)
        a.add(pointer, pointer, place)
        lines = a.lines()
        self._late = [line.operands for line in lines[:4]]
        return lines

    def settle(self, address, stride):
        """Complete the lines of :meth:`prologue`."""
        for (upper, lower), value in zip((self._late[:2], self._late[2:]), (address, stride)):
            upper["imm"], lower["imm"] = constant_parts(value)


def _allocate(name, text, threads, registers):
    """The text of a kernel with registers from 1 to ``registers``, and its :class:`_Frame`.

    Raises OutOfRegisters, with the kernel's name, if neither registers nor slots suffice.
    """
    frame, recomputed = _Frame(threads, _parts(text)), set()
    hoisted = _hoisted(text)
    while True:
        current = _rewritten(text, hoisted, recomputed, frame)
        flow = _Flow(current, registers)
        colours, stuck = flow.colour()
        if not stuck:
            break
        for register in stuck:
            if isinstance(register, Constant):
                recomputed.add(register)
            else:
                try:
                    frame.add(register)
                except OutOfRegisters as error:
                    raise OutOfRegisters(f"kernel {name!r}: {error}") from None
    for register, colour in colours.items():
        register.number = colour
    return current, frame


def _parts(text):
    """The parts in which each register is used."""
    part, parts = 0, {}
    for item in text:
        if isinstance(item, _Part):
            part += 1
        elif isinstance(item, _Line):
            for register in (*item.reads, *item.writes):
                parts.setdefault(register, set()).add(part)
    return parts


def _lines_of_constant(register, value):
    a = VirtualAssembler()
    a.li(register, value)
    return a.lines()


def _jumps(text):
    """The places of all branches and of their targets, as pairs."""
    places = {id(item): index for index, item in enumerate(text) if isinstance(item, Label)}
    jumps = []
    for index, item in enumerate(text):
        if isinstance(item, _Line):
            for value in item.operands.values():
                if isinstance(value, Label):
                    if id(value) not in places:
                        raise AssemblyError(f"label {value.name!r} is used but has no place")
                    jumps.append((index, places[id(value)]))
    return jumps


def _hoisted(text):
    """The constants that each place of the text loads, as a dict of lists by place.

    A constant is loaded where it is first used, but before the loops around this place, before
    every branch that leads from before this place to a use behind it, and before the first
    instruction of the part that changes the mask.
    """
    jumps = _jumps(text)
    uses, part, first_mask, masks = {}, 0, None, {}
    for index, item in enumerate(text):
        if isinstance(item, _Part):
            part, first_mask = index + 1, None
        elif isinstance(item, _Line):
            for register in item.reads:
                if isinstance(register, Constant):
                    uses.setdefault(register, [index, index, part])[1] = index
                    if uses[register][2] != part:
                        raise AssemblyError(f"constant {register.name!r} is used in two parts")
            if first_mask is None and item.masks:
                first_mask = index
                masks[part] = index
    places = {}
    for register, (first, last, part) in uses.items():
        place = min(first, masks.get(part, first))
        moved = True
        while moved:
            moved = False
            for source, target in jumps:
                if target < place <= source and target >= part:         # a loop around it
                    place, moved = target, True
                elif part <= source < place <= target <= last:          # a branch over it
                    place, moved = source, True
        places.setdefault(place, []).append(register)
    return places


def _rewritten(text, hoisted, recomputed, frame):
    """The text with the loads of constants and the accesses to slots."""
    lines = []
    for index, item in enumerate(text):
        for register in hoisted.get(index, ()):
            if register not in recomputed:
                lines += _lines_of_constant(register, register.value)
        if not isinstance(item, _Line):
            lines.append(item)
            continue
        after = []
        for register in dict.fromkeys(item.reads):
            if register in recomputed:
                copy = _Copy(register)
                lines += _lines_of_constant(copy, register.value)
                item = item.replaced(register, copy)
        for register in dict.fromkeys([*item.reads, *item.writes]):
            if register in frame.slots:
                copy = _Copy(register)
                operands = {"rs1": frame.pointer, "imm": frame.offset(register)}
                if register in item.reads:
                    lines.append(_Line.of(ROWS["lw"], {"rd": copy, **operands}))
                if register in item.writes:
                    after.append(_Line.of(ROWS["sw"], {"rs2": copy, **operands}))
                item = item.replaced(register, copy)
        lines.append(item)
        lines += after
    if frame.slots:
        first = next(index for index, item in enumerate(lines) if isinstance(item, _Line))
        lines[first:first] = frame.prologue()
    return lines


def _bits(bits):
    """The numbers of the bits that are 1."""
    while bits:
        bit = bits & -bits
        yield bit.bit_length() - 1
        bits ^= bit


def _both_ways(rows):
    """The neighbours of each register in ascending order, from rows of bits that may lack half of
    the matrix. Numpy does this in a tenth of the time of single bits."""
    count = len(rows)
    if not count:
        return []
    size = -(-count // 8)
    flat = np.frombuffer(b"".join(row.to_bytes(size, "little") for row in rows), np.uint8)
    matrix = np.unpackbits(flat.reshape(count, size), axis=1, count=count, bitorder="little")
    matrix |= matrix.T
    np.fill_diagonal(matrix, 0)
    ends = np.cumsum(np.count_nonzero(matrix, axis=1)).tolist()
    others = np.nonzero(matrix)[1].tolist()
    return [others[start:end] for start, end in zip([0, *ends], ends)]


class _Flow:
    """The flow of a kernel's text, and which registers are live together.

    Sets of registers are bits of an int.

    Parameters
    ----------
    text : list
        Lines and labels.
    colours : int
        How many registers there are.
    """

    def __init__(self, text, colours):
        self._colours = colours
        self._lines = [item for item in text if isinstance(item, _Line)]
        self._places, self._depths = {}, [0] * (len(self._lines) + 1)
        count = 0
        for item in text:
            if isinstance(item, _Line):
                count += 1
            else:
                self._places[id(item)] = count
        self._number()
        self._blocks()
        self._live()

    def _number(self):
        """Give every register a bit."""
        self._registers, bits = [], {}
        self._uses, self._writes, self._firsts = [], [], []
        for line in self._lines:
            for register in (*line.reads, *line.writes):
                if register not in bits:
                    bits[register] = 1 << len(bits)
                    self._registers.append(register)
        seen = 0
        for line in self._lines:
            uses = 0
            for register in line.reads:
                uses |= bits[register]
            written = 0
            for register in line.writes:
                written |= bits[register]
            self._uses.append(uses)
            self._writes.append(written)
            self._firsts.append(written & ~seen)
            seen |= written

    def _next(self, index):
        """The places of the instructions that may follow."""
        line, after = self._lines[index], [index + 1]
        targets = [self._places[id(value)] for value in line.operands.values()
                   if isinstance(value, Label)]
        if line.row.format is Format.B:
            return after + targets
        if line.row.name == "jal":
            return targets
        if line.row.name == "tmc" and line.operands["rs1"].number == 0:
            return []
        return after

    def _blocks(self):
        """Divide the text into basic blocks."""
        ends: list[list[int] | None] = [None] * len(self._lines)
        starts = {0}
        for index, line in enumerate(self._lines):
            if line.row.format is Format.B or line.row.name in ("jal", "tmc"):
                ends[index] = places = [place for place in self._next(index)
                                        if place < len(self._lines)]
                starts.update((index + 1, *places))
                for place in places:
                    if place <= index:
                        for inside in range(place, index + 1):
                            self._depths[inside] += 1
        starts = sorted(place for place in starts if place < len(self._lines))
        self._ranges = list(zip(starts, [*starts[1:], len(self._lines)]))
        numbers = {start: number for number, start in enumerate(starts)}
        self._following = []
        for _, end in self._ranges:
            places = ends[end - 1]
            if places is None:
                places = [end] if end < len(self._lines) else []
            self._following.append([numbers[place] for place in places])

    def _live(self):
        """The registers that are live behind each block, and that may be written before it."""
        count = len(self._ranges)
        needs, kills, makes = [0] * count, [0] * count, [0] * count
        for number, (start, end) in enumerate(self._ranges):
            for index in range(end - 1, start - 1, -1):
                needs[number] = needs[number] & ~self._firsts[index] | self._uses[index]
                kills[number] |= self._firsts[index]
                makes[number] |= self._writes[index]
        entered, self._behind = [0] * count, [0] * count
        changed = True
        while changed:
            changed = False
            for number in range(count - 1, -1, -1):
                behind = 0
                for following in self._following[number]:
                    behind |= entered[following]
                self._behind[number] = behind
                before = needs[number] | behind & ~kills[number]
                if before != entered[number]:
                    entered[number], changed = before, True
        self._made = [0] * count
        changed = True
        while changed:
            changed = False
            for number in range(count):
                made = self._made[number] | makes[number]
                for following in self._following[number]:
                    if made & ~self._made[following]:
                        self._made[following] |= made
                        changed = True

    def _together(self):
        """For each register, the registers that must not share its number."""
        neighbours = [0] * len(self._registers)
        self._crowds = []
        for number, (start, end) in enumerate(self._ranges):
            made, mades = self._made[number], []
            for index in range(start, end):
                mades.append(made)
                made |= self._writes[index]
            live = self._behind[number]
            for index in range(end - 1, start - 1, -1):
                written = self._writes[index]
                made = mades[index - start]
                if written:
                    there = live & (made | written) | written
                    if there.bit_count() > self._colours:
                        self._crowds.append(there)
                    for number in _bits(written):
                        neighbours[number] |= there
                live = live & ~self._firsts[index] | self._uses[index]
        return _both_ways(neighbours)

    def _costs(self):
        """For each register, the instructions that it costs to keep it in no register; None if it
        must have one."""
        costs = [0] * len(self._registers)
        bound = set()
        for index, line in enumerate(self._lines):
            weight = _LOOP ** min(self._depths[index], 4)
            for bits in (self._uses[index], self._writes[index]):
                for number in _bits(bits):
                    costs[number] += weight
            if line.masks or line.row.unit is Unit.WARP:
                bound.update(line.writes)
            if line.row.unit is Unit.CROSS:
                # A slot would be loaded in the active lanes only, but a shuffle reads others too.
                bound.add(line.operands["rs1"])
        return [None if register in bound or isinstance(register, (_Copy, _Frame.Pointer))
                or (isinstance(register, Constant) and register.kept) else cost
                for register, cost in zip(self._registers, costs)]

    def colour(self):
        """Numbers from 1 on for all registers, as a dict, and the registers that must leave; if
        there are any, the numbers are of no use."""
        neighbours = self._together()
        if self._crowds:
            leaving = self._thinned(self._costs())
            if leaving:
                return {}, leaving
        degrees = [len(others) for others in neighbours]
        left, order, costs = set(range(len(neighbours))), [], None
        easy = [number for number in left if degrees[number] < self._colours]
        while left:
            if easy:
                number = easy.pop()
                if number not in left:
                    continue
            else:
                costs = costs or self._costs()
                number = min(left, key=lambda number: self._urgency(costs, degrees, number))
            left.remove(number)
            order.append(number)
            for other in neighbours[number]:
                degrees[other] -= 1
                if degrees[other] == self._colours - 1:
                    easy.append(other)
        colours = [0] * len(neighbours)
        stuck = []
        for number in reversed(order):
            used = 0
            for other in neighbours[number]:
                used |= 1 << colours[other]
            free = (2 << self._colours) - 1 & ~(used | 1)
            if free:
                colours[number] = self._pick(free)
            else:
                stuck.append(number)
        if stuck:
            costs = costs or self._costs()
            leaving = (self._leaves(number, neighbours, costs) for number in stuck)
            return {}, list(dict.fromkeys(leaving))     # in order: the same program every time
        return dict(zip(self._registers, colours)), []

    def _thinned(self, costs) -> list:
        """The registers that leave so that nowhere more registers are live than there are: those
        that cost least for each crowded place, constants first."""
        places = [0] * len(self._registers)
        for crowd in self._crowds:
            for number in _bits(crowd):
                places[number] += 1
        order = {number: (not isinstance(self._registers[number], Constant),
                          cost / max(1, places[number]))
                 for number, cost in enumerate(costs) if cost is not None and places[number]}
        gone, leaving = 0, []
        for crowd in self._crowds:
            left = crowd & ~gone
            excess = left.bit_count() - self._colours
            if excess > 0:
                for number in sorted((number for number in _bits(left) if number in order),
                                     key=order.__getitem__)[:excess]:
                    gone |= 1 << number
                    leaving.append(self._registers[number])
        return leaving

    @staticmethod
    def _pick(free) -> int:
        """A number of those whose bits are 1: the smallest."""
        return (free & -free).bit_length() - 1

    def _urgency(self, costs, degrees, number):
        """The order in which registers leave: constants first, then what costs least."""
        cost = costs[number]
        if cost is None:
            return 2, 0.0
        return not isinstance(self._registers[number], Constant), cost / (degrees[number] + 1)

    def _leaves(self, number, neighbours, costs):
        """The register that leaves to make room for a register without a number."""
        near = [other for other in (number, *neighbours[number]) if costs[other] is not None]
        if not near:
            raise OutOfRegisters(f"no register is left for {self._registers[number].name!r}")
        degrees = [len(others) for others in neighbours]
        return self._registers[min(near, key=lambda other: self._urgency(costs, degrees, other))]
