"""The structured assembler: instructions as methods, registers by name, if and while.

Every row of :data:`hw.isa.INSTRUCTIONS` is a method of :class:`Assembler`, with a dot in the name
as an underscore (``amoadd_w``, ``weaver_dec_id``) and an underscore after a name that Python
reserves (``and_``, ``or_``). Operands come in the order of RISC-V assembly: ``rd`` first, memory as
``lw(rd, base, offset)``, ``sw(value, base, offset)``, ``amoadd_w(rd, value, base)``, CSRs as
``csrrw(rd, csr, rs1)``.

Registers are taken with :meth:`Assembler.reg` and go back when the :meth:`Assembler.scope` they
were taken in ends. No register is ever spilled: a kernel that needs a 32nd register is an error.

Divergence
----------
The lowest active lane decides a branch, so a branch may only be used where all active lanes agree
(:meth:`if_uniform`, :meth:`while_uniform`). Where lanes may differ, there are

- :meth:`if_`, with SPLIT and JOIN: both parts run, one after the other, each with its lanes;
- :meth:`while_`, with PRED: lanes leave as their predicate fails, and the loop's end restores the
  mask of its entry. The predicate's register must belong to the loop alone. A lane that has left
  keeps its zero there, and the branch reads this zero when the last lane leaves.
"""

import contextlib
import functools
import keyword
from typing import TYPE_CHECKING

from hw.isa import Csr, encode
from hw.operations import Format, Unit
from hw.disassembler import DYNAMIC, text
from sw.compile.asm.lines import MNEMONICS, CodeLine, GeneralRegister, Label
from sw.compile.asm.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["AssemblyError", "OutOfReach", "OutOfRegisters", "GeneralRegister", "Label", "Condition",
           "Assembler", "constant_parts"]


class AssemblyError(Exception):
    """A kernel cannot be assembled. This is a defect of the kernel, not of the user's request."""


class OutOfRegisters(AssemblyError):
    """A kernel needs more registers than there are."""


class OutOfReach(AssemblyError):
    """A kernel is so long that a branch does not reach its label."""


def constant_parts(value):
    """The immediates of LUI and ADDI that together load a 32-bit constant: the upper 20 bits, and
    a number from -2048 to 2047."""
    value = (value + (1 << 31)) % (1 << 32) - (1 << 31)
    low = (value & 0xFFF ^ 0x800) - 0x800
    return (value - low) >> 12 & 0xFFFFF, low


@functools.lru_cache(maxsize=1 << 14)           # programs have the same instructions often
def _word(mnemonic, *numbers):
    """The word of an instruction whose operands have these numbers. Raises ValueError if one is out
    of range."""
    return encode(mnemonic.row.name, **dict(zip(mnemonic.names, numbers)))


class Condition:
    """A comparison of two registers that all active lanes decide alike.

    Parameters
    ----------
    kind : str
        ``"eq"``, ``"ne"``, ``"lt"``, ``"ge"``, ``"ltu"`` or ``"geu"``.
    left, right : GeneralRegister
    """
    _OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "ltu": "geu", "geu": "ltu"}

    def __init__(self, kind, left, right):
        if kind not in self._OPPOSITE:
            raise AssemblyError(f"{kind!r} is not a comparison; there are "
                                f"{', '.join(self._OPPOSITE)}")
        self.kind, self.left, self.right = kind, left, right

    def __invert__(self):
        return Condition(self._OPPOSITE[self.kind], self.left, self.right)


class _Choice:
    """The handle of an open ``if``."""
    def __init__(self, assembler, name):
        self._assembler = assembler
        self.other, self.end = assembler.label(f"{name}_else"), assembler.label(f"{name}_end")
        self.has_else = False

    def otherwise(self):
        """Begin the part that runs if the condition does not hold."""
        if self.has_else:
            raise AssemblyError("otherwise() twice in one if")
        self.has_else = True
        self._assembler.j(self.end)
        self._assembler.place(self.other)


class _Loop:
    """The handle of an open loop: its labels."""
    def __init__(self, assembler, name):
        self.top = assembler.label(f"{name}_top")
        self.next = assembler.label(f"{name}_next")
        self.end = assembler.label(f"{name}_end")


class Assembler:
    """Collects instructions; :meth:`finish` makes the :class:`Program`."""

    def __init__(self):
        self.zero = GeneralRegister(0, "zero")
        self._free = list(range(31, 0, -1))
        self._scopes = [[]]
        self._code = []
        self._labels, self._counts = {}, {}     # and how many have each name
        self._entries = {}
        self.most_registers = 0

    if TYPE_CHECKING:
        # The methods of the table's rows, which are added below the class.
        def __getattr__(self, name: str) -> Callable[..., None]: ...

    # Registers

    def reg(self, name) -> GeneralRegister:
        """Take a register until the innermost open scope ends."""
        if not self._free:
            held = ", ".join(register.name for scope in self._scopes for register in scope
                             if register.live)
            raise OutOfRegisters(f"no register left for {name!r}: all 31 are in use ({held})")
        register = GeneralRegister(self._free.pop(), name)
        self._scopes[-1].append(register)
        self.most_registers = max(self.most_registers, 31 - len(self._free))
        return register

    def regs(self, *names):
        """Take several registers."""
        return [self.reg(name) for name in names]

    def free(self, *registers):
        """Give registers back before their scope ends."""
        for register in registers:
            if not register.live or not register.number:
                raise AssemblyError(f"register {register.name!r} is not allocated")
            register.live = False
            self._free.append(register.number)

    @contextlib.contextmanager
    def scope(self, *names):
        """A scope: registers taken within it go back at its end. Gives the registers of ``names``
        as a list."""
        self._scopes.append([])
        try:
            yield self.regs(*names)
        finally:
            self.free(*(register for register in self._scopes.pop() if register.live))

    # Labels and entry points

    def label(self, name) -> Label:
        """A label without a place. A name used before gets a number appended."""
        unique, count = name, self._counts.get(name, 1)
        while unique in self._labels:
            count += 1
            unique = f"{name}_{count}"
        self._counts[name] = count
        label = self._labels[unique] = Label(unique)
        return label

    def place(self, label):
        """Give ``label`` the address of the next instruction. A string makes a label and places it.
        """
        if isinstance(label, str):
            label = self.label(label)
        if label.address is not None:
            raise AssemblyError(f"label {label.name!r} is placed twice")
        label.address = self._address_of(label)
        return label

    def _address_of(self, label):
        """The address of a label that is placed here."""
        return self.here

    @property
    def here(self) -> int:
        """Address of the next instruction."""
        return 4 * len(self._code)

    def entry(self, name):
        """A kernel of that name starts here."""
        if name in self._entries:
            raise AssemblyError(f"two kernels are named {name!r}")
        self._entries[name] = self.place(name)

    # Instructions: the methods for the table's rows are added below the class.

    def emit(self, row, **operands):
        """Add one instruction; registers as :class:`GeneralRegister`, targets as Label."""
        mnemonic = MNEMONICS[row.name]
        self._add(mnemonic, mnemonic.operands(operands))

    def _add(self, mnemonic, operands):
        name = mnemonic.row.name
        for field, is_register, value in zip(mnemonic.names, mnemonic.are_registers, operands):
            if is_register:
                if not isinstance(value, GeneralRegister):
                    raise AssemblyError(f"{name}: {field} is {value!r}, not a register")
                if not value.live:
                    raise AssemblyError(f"{name}: register {value.name!r} ({field}) was freed")
        self._code.append(CodeLine(mnemonic, operands))

    def li(self, rd, value):
        """Load a 32-bit constant, signed or unsigned, in one or two instructions."""
        if not -(1 << 31) <= value < 1 << 32:
            raise AssemblyError(f"li: {value} does not fit in 32 bits")
        high, low = constant_parts(value)
        if high:
            self.lui(rd, high)
        if low or not high:
            self.addi(rd, rd if high else self.zero, low)

    def mv(self, rd, rs):
        """rd = rs"""
        self.addi(rd, rs, 0)

    def nop(self):
        """Do nothing."""
        self.addi(self.zero, self.zero, 0)

    def neg(self, rd, rs):
        """rd = -rs"""
        self.sub(rd, self.zero, rs)

    def seqz(self, rd, rs):
        """rd = rs == 0"""
        self.sltiu(rd, rs, 1)

    def snez(self, rd, rs):
        """rd = rs != 0"""
        self.sltu(rd, self.zero, rs)

    def j(self, target):
        """Jump."""
        self.jal(self.zero, target)

    def beqz(self, rs, target):
        """Branch if rs = 0 (lowest active lane)."""
        self.beq(rs, self.zero, target)

    def bnez(self, rs, target):
        """Branch if rs != 0 (lowest active lane)."""
        self.bne(rs, self.zero, target)

    def csrr(self, rd, csr):
        """rd = CSR"""
        self.csrrs(rd, csr, self.zero)

    def branch(self, condition, target):
        """Branch if a :class:`Condition` holds."""
        getattr(self, "b" + condition.kind)(condition.left, condition.right, target)

    def phase(self, number):
        """Set the phase under which this warp's cycles are counted (hw.isa.PHASES)."""
        self.csrrwi(self.zero, Csr.PHASE, number)

    def end_warp(self):
        """End this warp."""
        self.tmc(self.zero)

    def pop_edge(self, rd):
        """rd = base of this lane's next edge, or -1: WEAVER_DEC_ID of a unit with lists."""
        self.weaver_dec_id(rd)

    def edge_neighbor(self, rd):
        """rd = neighbour of this lane's edge"""
        self.graphpeg_neighbor(rd)

    def edge_weight(self, rd):
        """rd = weight of this lane's edge"""
        self.graphpeg_weight(rd)

    def pop_vert(self, rd):
        """rd = this lane's next vertex of the input list, or -1"""
        self.graphpeg_pop_vert(rd)

    def push_vert(self, rs):
        """Append rs to the output list."""
        self.graphpeg_push_vert(rs)

    # Structure

    @contextlib.contextmanager
    def if_(self, predicate, name="if"):
        """The part for the lanes in which ``predicate`` is not 0. Lanes may diverge.

        ``with a.if_(p) as choice: …; choice.otherwise(); …`` has a part for the others too.
        """
        with self.scope("stack") as (stack,):
            choice = _Choice(self, name)
            self.split(stack, predicate)
            self.beqz(predicate, choice.other)
            yield choice
            if not choice.has_else:
                self.place(choice.other)
            self.place(choice.end)
            self.join(stack)

    @contextlib.contextmanager
    def if_uniform(self, condition, name="if"):
        """The part that runs if ``condition`` holds. All active lanes must agree."""
        choice = _Choice(self, name)
        self.branch(~condition, choice.other)
        yield choice
        if not choice.has_else:
            self.place(choice.other)
        self.place(choice.end)

    @contextlib.contextmanager
    def while_uniform(self, condition, name="while"):
        """Repeat while ``condition`` holds. All active lanes must agree. One branch per turn.

        ``loop.next`` and ``loop.end`` are places to branch to, all active lanes together.
        """
        loop = _Loop(self, name)
        self.branch(~condition, loop.end)
        self.place(loop.top)
        yield loop
        self.place(loop.next)
        self.branch(condition, loop.top)
        self.place(loop.end)

    @contextlib.contextmanager
    def while_(self, test, full, name="while"):
        """Repeat in each lane while its predicate holds. Lanes may diverge. No branch may leave the
        loop.

        Parameters
        ----------
        test : callable
            Adds the code that computes the predicate and returns its register. No other code may
            write the register. Called twice.
        full : GeneralRegister
            The thread mask at the entry of the loop, which is restored after the loop.
        """
        loop = _Loop(self, name)
        predicate = test()
        self.pred(predicate, full)
        self.beqz(predicate, loop.end)
        self.place(loop.top)
        yield loop
        self.place(loop.next)
        predicate = test()
        self.pred(predicate, full)
        self.bnez(predicate, loop.top)
        self.place(loop.end)

    # Result

    def finish(self) -> Program:
        """Resolve the labels and encode everything."""
        words = tuple(self._encode(4 * index, line) for index, line in enumerate(self._code))
        labels = {name: label.address for name, label in self._labels.items()
                  if label.address is not None}
        entries = {name: label.address for name, label in self._entries.items()}
        return Program(words, entries, labels, tuple(self._code))

    @staticmethod
    def _encode(address, line):
        """The word of a line."""
        mnemonic, numbers = line.mnemonic, []
        for is_register, value in zip(mnemonic.are_registers, line.operands):
            if is_register:
                numbers.append(value.number)
            elif isinstance(value, Label):
                if value.address is None:
                    raise AssemblyError(f"label {value.name!r} is used but has no place")
                relative = mnemonic.row.format in (Format.B, Format.J)
                numbers.append(value.address - address if relative else value.address)
            else:
                numbers.append(int(value))
        try:
            return _word(mnemonic, *numbers)
        except ValueError as error:
            far = mnemonic.row.format is Format.B and isinstance(line.operands[2], Label)
            raise (OutOfReach if far else AssemblyError)(
                f"at {address:#06x}: {text(mnemonic.row, line.named)}: {error}") from None


def _method(mnemonic):
    row, names = mnemonic.row, mnemonic.names
    # An offset of 0 and the rounding mode of FRM may be left out.
    optional = ((0,) if row.unit in (Unit.LSU, Unit.GATHER) and "imm" in names else
                (DYNAMIC,) if row.rounds else ())
    count = len(names)

    def method(self, *operands):
        if len(operands) != count:
            operands += optional
            if len(operands) != count:
                given = len(operands) - len(optional)
                raise AssemblyError(f"{row.name} takes {', '.join(names) or 'no operands'}; "
                                    f"{given} given")
        self._add(mnemonic, operands)
    method.__name__ = row.name.replace(".", "_") + "_" * keyword.iskeyword(row.name)
    method.__doc__ = f"``{row.name} {', '.join(names)}``: {row.doc}"
    return method


for _mnemonic in MNEMONICS.values():
    _instruction = _method(_mnemonic)
    setattr(Assembler, _instruction.__name__, _instruction)
