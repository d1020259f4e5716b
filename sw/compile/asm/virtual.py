"""Virtual registers: the assembler of kernels, and the allocation of their registers.

A kernel takes as many registers as it likes, and gives none back. When the next kernel begins or
the program is finished, the registers get the numbers 1 to 31 (:func:`_allocate`):

1. Computations that nobody reads are left out, and constants are loaded before the loops in which
   they are used.
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
:meth:`~sw.compile.kernels.kernel.Kernel.narrow` decides: the branch reads it in lane 0, which may
be inactive.

Sections
--------
A kernel may have *sections*, one after the other, each with registers of its own: no register has a
value for another section. So a section has the registers that it would have as a kernel, less those
that are kept (:meth:`VirtualAssembler.keep`), whose values all sections share. A jump may lead to
another section (:meth:`VirtualAssembler.jump_to_section`), and no branch does. Sections may have
the same name: a fused loop emits a kernel once for each superstep that it writes out.
"""

import dataclasses
import functools

from hw.isa import Csr
from sw.compile.asm.assembler import Assembler, AssemblyError, OutOfRegisters, constant_parts
from sw.compile.asm.colouring import RegisterFlow
from sw.compile.asm.lines import (MNEMONICS, Constant, Elsewhere, GeneralRegister, Label, Mark,
                                  Pinned, RegisterCopy, VirtualLine)


__all__ = ["VirtualAssembler"]


#: Bytes that an offset of 12 bits reaches, which bounds the slots of a lane.
_REACH = 2048

_ZERO = GeneralRegister(0, "zero")


@dataclasses.dataclass(frozen=True)
class _AddressPart:
    """The upper or the lower part of the address of a label, as of ``constant_parts``."""
    label: Label
    part: int

    @property
    def name(self):
        """The label's name."""
        return self.label.name

    def __int__(self):
        return constant_parts(self.label.address)[self.part]


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
    slots : list of (str, int)
        The name of each kernel, or section, whose registers did not suffice, and how many of its
        registers are in local memory; complete when the program is finished.
    argument : GeneralRegister or None
        The kept register with the argument of a superstep, in a fused loop
        (:mod:`sw.compile.kernels.fusion`).
    record : int or None
        The argument is then the address of a record (:class:`~sw.compile.frontiers.pool.Record`),
        and the superstep's number is as many bytes behind.
    """

    def __init__(self, reserve=None, threads=1, registers=31):
        super().__init__()
        self._reserve, self._threads, self._registers = reserve, threads, registers
        self.slots = []
        self._name, self._done, self._frames = "", [], []
        self.argument = self.record = None

    def reg(self, name) -> GeneralRegister:
        """A new virtual register."""
        return GeneralRegister(None, name)

    def constant(self, name, value, kept=False) -> Constant:
        """A register that holds a constant in the open part of the kernel. The constant is loaded
        before the first loop that uses it, with all lanes active."""
        return Constant(name, value & 0xFFFF_FFFF, kept)

    def part(self):
        """A part of a kernel begins, with all lanes active. A constant belongs to one part."""
        self._code.append(Mark())

    def keep(self, name) -> GeneralRegister:
        """A register that keeps its value in all sections, for the whole program. It has a number
        at once, so that no other register gets it."""
        assert not self._done, "a kernel has all registers"
        self._registers -= 1
        return GeneralRegister(self._registers + 1, name)

    def entry(self, name):
        self._begin(name)
        super().entry(name)

    def section(self, name):
        """A section of a kernel begins, with all lanes active."""
        self._begin(name)

    def jump_to_section(self, label, link=None):
        """Jump to a label in another section. ``link``, a kept register, gets the address of the
        next instruction, where a section must begin."""
        self.jal(link or self.zero, Elsewhere(label))

    def section_address(self, rd, label):
        """rd = the address of a label in another section."""
        self.lui(rd, _AddressPart(label, 0))
        self.addi(rd, rd, _AddressPart(label, 1))

    def _add(self, mnemonic, operands):
        try:
            self._code.append(VirtualLine(mnemonic, operands))
        except AttributeError:
            super()._add(mnemonic, operands)    # says which operand is no register
            raise

    def _address_of(self, label):
        self._code.append(Mark(label))
        return -1                           # known when the program is finished

    def _begin(self, name):
        """A kernel or a section begins: the registers of the last one get their numbers."""
        if self._code:
            text, frame = _allocate(self._name, self._code, self._threads, self._registers)
            if frame.slots:
                self._frames.append(frame)
                self.slots.append((self._name, frame.size))
            for item in text:
                item.reads = item.writes = ()           # most of what a line takes of memory
            self._done += text
        self._name, self._code = name, []

    def finish(self):
        """Allocate the registers, resolve the labels and encode everything."""
        self._begin("")
        if self._frames:
            words = max(frame.size for frame in self._frames) * self._threads
            assert self._reserve is not None, "registers do not suffice"
            address, stride = self._reserve(words)
            for frame in self._frames:
                frame.settle(address, stride)
        for item in self._done:
            if item.mnemonic is not None:
                self._code.append(item)
            elif item.label is not None:
                item.label.address = self.here
        program = super().finish()
        self._code, self._done = [], []     # kernels know the assembler, and may be known for long
        return program

    @property
    def text(self) -> list:
        """The instructions and marks of the kernel until now."""
        return self._code


class _Frame:
    """The slots of one kernel in local memory, by lane. Registers of different parts share slots.

    Parameters
    ----------
    threads : int
        Lanes of a warp.
    text : list of VirtualLine and Mark
        The kernel's text.
    """

    class Pointer(Pinned):
        """The register with the address of the lane's first slot."""
        __slots__ = ()

    def __init__(self, threads, text):
        self._threads, self._text = threads, text
        self.slots = {}                     # by register, its number
        self.pointer = self.Pointer(None, "frame")
        self._late = []                     # lines that settle() completes

    @functools.cached_property
    def _parts(self):
        """The parts in which each register is used."""
        part, parts = 0, {}
        for item in self._text:
            part += item.mnemonic is None and item.label is None
            for register in (*item.reads, *item.writes):
                parts.setdefault(register, set()).add(part)
        return parts

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
        self._late = a.text[:4]
        return a.text

    def settle(self, address, stride):
        """Complete the lines of :meth:`prologue`."""
        for (upper, lower), value in zip((self._late[:2], self._late[2:]), (address, stride)):
            for line, part in zip((upper, lower), constant_parts(value)):
                line.operands = *line.operands[:-1], part


def _allocate(name, text, threads, registers):
    """The text of a kernel with registers from 1 to ``registers``, and its :class:`_Frame`.

    Raises OutOfRegisters, with the kernel's name, if neither registers nor slots suffice.
    """
    text = _without_unread(text)
    frame, recomputed = _Frame(threads, text), set()
    hoisted = _hoisted(text)
    while True:
        current = _rewritten(text, hoisted, recomputed, frame)
        flow = RegisterFlow(current, registers)
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


def _without_unread(text):
    """The text without computations that nobody reads."""
    while True:
        read = {register for item in text for register in item.reads}
        left = [item for item in text if not (
            item.writes and item.mnemonic.only_writes and read.isdisjoint(item.writes))]
        if len(left) == len(text):
            return text
        text = left


def _load(register, value):
    """The lines that load a constant."""
    high, low = constant_parts(value)
    upper = [VirtualLine(MNEMONICS["lui"], (register, high))] if high else []
    return upper + [VirtualLine(MNEMONICS["addi"], (register, register if high else _ZERO, low))
                    ] * bool(low or not high)


def _hoisted(text):
    """The constants that each place of the text loads, as a dict of lists by place.

    A constant is loaded where it is first used, but before the loops around this place, before
    every branch that leads from before this place to a use behind it, and before the first
    instruction of the part that changes the mask.
    """
    labels, branches = {}, []
    uses, part, first_mask, masks = {}, 0, None, {}
    for index, item in enumerate(text):
        mnemonic = item.mnemonic
        if mnemonic is None:
            if item.label is None:
                part, first_mask = index + 1, None
            else:
                labels[item.label] = index
            continue
        for register in item.reads:
            if isinstance(register, Constant):
                uses.setdefault(register, [index, index, part])[1] = index
                if uses[register][2] != part:
                    raise AssemblyError(f"constant {register.name!r} is used in two parts")
        if mnemonic.row.control:
            if item.target is not None:
                branches.append((index, item.target))
            if first_mask is None and mnemonic.masks:
                masks[part] = first_mask = index
    for _, label in branches:
        if label not in labels:
            raise AssemblyError(f"label {label.name!r} is used but has no place")
    jumps = [(index, labels[label]) for index, label in branches]
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
    lines, done = [], 0
    for place in sorted(hoisted):
        lines += text[done:place]
        done = place
        for register in hoisted[place]:
            if register not in recomputed:
                lines += _load(register, register.value)
    lines += text[done:]
    if not recomputed and not frame.slots:
        return lines
    text, lines = lines, []
    for item in text:
        after = []
        for register in dict.fromkeys(item.reads):
            if register in recomputed:
                copy = RegisterCopy(register)
                lines += _load(copy, register.value)
                item = item.replaced(register, copy)
        for register in dict.fromkeys([*item.reads, *item.writes]):
            if register in frame.slots:
                copy = RegisterCopy(register)
                operands = copy, frame.pointer, frame.offset(register)
                if register in item.reads:
                    lines.append(VirtualLine(MNEMONICS["lw"], operands))
                if register in item.writes:
                    after.append(VirtualLine(MNEMONICS["sw"], operands))
                item = item.replaced(register, copy)
        lines.append(item)
        lines += after
    if frame.slots:
        first = next(index for index, item in enumerate(lines) if item.mnemonic is not None)
        lines[first:first] = frame.prologue()
    return lines
