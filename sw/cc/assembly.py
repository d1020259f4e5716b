"""Assembly of Clang: functions, their instructions, and what each of these reads and writes.

Everything outside functions stays text. In a function, a line is text (labels, directives, empty
lines) or an :class:`AsmLine`, an instruction.
"""

import dataclasses
import functools
import re

from base import numbers
from base.errors import UserError
from hw.instruction import CUSTOM_0, CUSTOM_1
from hw.isa import INSTRUCTIONS, Csr
from hw.operations import Unit


__all__ = ["AGREE", "ALIAS", "ARGUMENTS", "AsmFunction", "AsmLine", "AsmUnit", "CALLER_SAVED",
           "GLOBAL_SCRATCH", "REGISTERS", "SCRATCH", "SLOTS", "read_unit"]


REGISTERS = ("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1",
             *(f"a{number}" for number in range(8)), *(f"s{number}" for number in range(2, 12)),
             *(f"t{number}" for number in range(3, 7)))

ARGUMENTS = tuple(f"a{number}" for number in range(8))

#: What a call may change, as far as Clang uses it.
CALLER_SAVED = ("ra", "t0", "t1", "t2", "t3", "t4", "t5", *ARGUMENTS)

#: Registers that Clang leaves alone: two of the pass, and the pointer to its second stack.
SCRATCH, GLOBAL_SCRATCH, SLOTS = "t6", "gp", "tp"

#: Conditional branches: the branch with two operands that has the same meaning, as (name, whether
#: the operands change places).
BRANCHES = {name: (name, False) for name in ("beq", "bne", "blt", "bge", "bltu", "bgeu")} | {
    "bgt": ("blt", True), "ble": ("bge", True), "bgtu": ("bltu", True), "bleu": ("bgeu", True)}

#: Those that compare with 0; 0 is the second operand before the places change.
ZERO_BRANCHES = {"beqz": ("beq", False), "bnez": ("bne", False), "bltz": ("blt", False),
                 "bgez": ("bge", False), "bgtz": ("blt", True), "blez": ("bge", True)}

#: Stands before a call by a pointer: lanes whose register has the value of the first active lane go
#: on, the others come to it again. Operands: the register, the place behind the call, the label
#: before it. The pass writes it out where lanes may have different values, and else leaves it out.
AGREE = "agree"

_STORES = ("sb", "sh", "sw")
_LOADS = ("lb", "lh", "lw", "lbu", "lhu")
_SILENT = ("fence", "nop", "unimp", "ebreak", "ecall", "csrw", "csrs", "csrc", "csrwi", "csrsi",
           "csrci")
_NUMBERS = {f"x{number}": name for number, name in enumerate(REGISTERS)} | {"fp": "s0"}
_OPCODES = {"CUSTOM_0": CUSTOM_0, "CUSTOM_1": CUSTOM_1}
#: Another name of a function.
ALIAS = re.compile(r"^(?:\s*\.set\s+)?([\w.$]+)(?: =|,) ([\w.$]+)$", re.MULTILINE)

_THREAD_ID = ("thread_id", int(Csr.THREAD_ID))


@dataclasses.dataclass(eq=False)
class AsmLine:
    """An instruction.

    Attributes
    ----------
    spills : bool
        Whether Clang's comment says that it saves a register to the stack or brings it back.
    inline : bool
        Whether it comes from the C program's own assembly.
    moved : bool
        Whether the second scratch register stands for the first in it.
    """
    text: str
    name: str
    operands: tuple[str, ...]
    file: str = ""  #: Where it comes from in the C program; line 0 if that is not known.
    line: int = 0
    spills: bool = False
    inline: bool = False
    moved: bool = False

    @property
    def where(self):
        """File and line of the C program, or the text."""
        return f"{self.file}:{self.line}" if self.line else f"{self.text.split('#')[0].strip()!r}"

    @property
    def is_branch(self):
        return self.name in BRANCHES or self.name in ZERO_BRANCHES or self.name == AGREE

    @property
    def is_call(self):
        return self.name in ("call", "jalr", "jal", "tail")

    @property
    def ends_block(self):
        """Whether the next instruction does not follow, or not always."""
        return self.is_branch or self.name in ("j", "jr", "ret", "tail", "unimp", "ebreak")

    @property
    def pointer(self):
        """The register of a call by a pointer, or None."""
        if not self.is_call or self.callee is not None:
            return None
        return re.sub(r".*\((\w+)\)", r"\1", self.operands[-1])

    @property
    def callee(self):
        """The name of the function that it calls; None for a pointer and for all else."""
        return self.operands[-1] if self.is_call and self.operands[-1] not in REGISTERS and \
            "(" not in self.operands[-1] else None

    @functools.cached_property
    def row(self):
        """The row of :data:`hw.isa.INSTRUCTIONS` of an ``.insn``, or None."""
        if self.name != ".insn":
            return None
        kind, _, fields = self.operands[0].partition(" ")
        numbered = [_OPCODES.get(field) if field in _OPCODES else numbers.integer(field)
                    for field in (fields, *self.operands[1:3])]
        fixed = {"r": 3, "r4": 3, "i": 2}.get(kind, 0)
        if not fixed or None in numbered[:fixed]:
            return None
        for row in INSTRUCTIONS:
            if [row.opcode, row.funct3, row.funct7][:fixed] == numbered[:fixed] and \
                    (row.funct7 is None or kind != "i") and \
                    (kind == "r4") == ("R4" in row.format.name):
                return row
        return None

    @property
    def _fields(self):
        """Operands of an ``.insn`` that follow the fixed fields."""
        kind = self.operands[0].partition(" ")[0]
        return self.operands[{"r": 3, "r4": 3, "i": 2}.get(kind, 1):]

    @property
    def slot(self):
        """A name for the place in the frame where a register is saved, or None."""
        return self.operands[1] if self.spills else None

    @property
    def stores(self):
        return self.name in _STORES

    def mentioned(self):
        """The registers that stand in it."""
        return set(re.findall(r"\b[a-z]+\d*\b", ",".join(self.operands))).intersection(REGISTERS)

    @functools.cached_property
    def written(self):
        """The registers, and places of saved registers, whose values change."""
        if self.is_call:
            return CALLER_SAVED
        if self.is_branch or self.ends_block or self.name in _SILENT:
            return ()
        if self.stores:
            return (self.slot,) if self.slot else ()
        if self.name == ".insn":
            row, fields = self.row, self._fields
            found = fields[:1] if row is None or row.writes else ()
            if row is not None and row.writes_rs2:
                found += fields[2:3]
            return tuple(name for name in found if name in REGISTERS and name != "zero")
        return tuple(name for name in self.operands[:1] if name in REGISTERS and name != "zero")

    @functools.cached_property
    def read(self):
        """The registers, and places of saved registers, on which its results depend."""
        if self.slot and self.name in _LOADS:
            return (self.slot,)
        if self.stores or self.name == AGREE:
            return self.operands[:1]
        used = self.operands[:-1] if self.is_branch else self.operands[1:]
        if self.is_call:
            used = self.operands[-1:]
        return tuple(name for text in used for name in re.findall(r"\b[a-z]+\d*\b", text)
                     if name in REGISTERS and name != "zero")

    @property
    def reads_lane(self):
        """Whether its result depends on the lane by itself: the lane's number, the result of an
        atomic, a value from another lane or of a unit."""
        if self.name.startswith("csrr"):
            return any(operand.lower() == _THREAD_ID[0] or numbers.integer(operand) == _THREAD_ID[1]
                       for operand in self.operands)
        if self.name == ".insn":
            return not self.agrees
        return self.name.startswith(("amo", "lr.", "sc."))

    @property
    def agrees(self):
        """Whether its result is the same in all active lanes, whatever it reads: a vote."""
        return self.row is not None and self.row.name.startswith("vote.")

    @property
    def sets_mask(self):
        """Whether it is an instruction of a unit that changes the warp's mask."""
        return self.row is not None and self.row.sets_mask

    @property
    def by_warp(self):
        """Whether it acts once for the warp, so that it needs all lanes: a barrier, or a request to
        a unit that answers all lanes."""
        return self.row is not None and (self.row.name == "bar" or self.row.sets_mask)

    @property
    def acquires(self):
        """Whether it is an atomic with acquire order."""
        return self.name.startswith("amo") and ".aq" in self.name

    @property
    def releases(self):
        """Whether it is an atomic with release order, or the fence of a store with that order."""
        return (self.name, *self.operands) == ("fence", "rw", "w") or (
            self.name.startswith("amo") and self.name.endswith("rl"))

    @property
    def changes_flow(self):
        """Whether a program's own assembly must not have it: the pass would not see where lanes go.
        """
        if self.row is not None and self.row.unit is Unit.WARP:
            return self.row.name != "bar"
        return self.is_branch or self.is_call or self.name in (
            "j", "jr", "ret", "mret", "sret", ".word", ".4byte", ".long", ".half", ".2byte",
            ".byte") or (self.name == ".insn" and self.row is None)


@dataclasses.dataclass(eq=False)
class AsmFunction:
    """A function: its label, its lines, and everything up to its size."""
    name: str
    file: str  #: The C file.
    items: list  #: str or AsmLine.
    moved: bool = False  #: Whether Clang's values in the scratch register were moved to a slot.

    @property
    def lines(self):
        """Its instructions."""
        return [item for item in self.items if isinstance(item, AsmLine)]

    def free_scratch(self):
        """Let the second scratch register stand for the first where Clang has values in it, which
        it does for floats though it is told not to. The values lie in a slot."""
        for number, item in enumerate(self.items):
            if isinstance(item, AsmLine) and not item.inline and SCRATCH in item.mentioned():
                def other(text):
                    return re.sub(rf"\b{SCRATCH}\b", GLOBAL_SCRATCH, text)
                self.items[number] = dataclasses.replace(
                    item, text=other(item.text), operands=tuple(map(other, item.operands)),
                    moved=True)
                self.moved = True

    def guard_pointers(self):
        """Put an :data:`AGREE` before each call by a pointer, and labels around both."""
        items = []
        for item in self.items:
            if isinstance(item, str) or item.pointer is None or item.inline:
                items.append(item)
                continue
            label, behind = (f".Lsimt_{what}{len(items)}_{self.name}"
                             for what in ("call", "called"))
            guard = dataclasses.replace(item, text="", name=AGREE,
                                        operands=(item.pointer, behind, label))
            items += [f"{label}:", guard, item, f"{behind}:"]
        self.items = items

    def refuse(self, line, reason):
        """The error for an instruction that cannot be made right."""
        return UserError(f"{line.where}: in {self.name}: {reason}")


@dataclasses.dataclass(eq=False)
class AsmUnit:
    """The assembly of a C file."""
    file: str
    parts: list  #: str or AsmFunction, in the order of the file.
    shared: frozenset[str]  #: Names that other files see.
    aliases: dict[str, str]  #: Other names of functions.

    @property
    def functions(self):
        return [part for part in self.parts if isinstance(part, AsmFunction)]

    @functools.cached_property
    def defined(self):
        """The names of its functions and of its data."""
        return {*self.aliases, *(function.name for function in self.functions)}.union(
            *(re.findall(r"^\s*\.type\s+([\w.$]+),\s*@object", part, re.MULTILINE)
              for part in self.parts if isinstance(part, str)))

    def taken(self):
        """Names whose addresses are in registers or in memory, among them functions."""
        found = set()
        for part in self.parts:
            if isinstance(part, str):
                match = re.match(r"\s*\.(?:word|4byte|long)\s+([\w.$]+)", part)
                found.update(match.groups() if match else ())
            else:
                for line in part.lines:
                    if not line.is_call and not line.is_branch:
                        found.update(re.findall(r"[\w.$]+", ",".join(line.operands)))
        return found


def _operands(text):
    """The operands of an instruction, with the usual names of registers."""
    if not text.strip():
        return ()
    return tuple(re.sub(r"\b(x\d+|fp)\b", lambda match: _NUMBERS.get(match[0], match[0]),
                        operand.strip()) for operand in text.split(","))


def _directory(text):
    """The last quoted name of a ``.file`` that has a number, and the number."""
    match = re.match(r'\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"', text)
    return {int(match[1]): match[2]} if match else {}


class _Reader:
    """Reads the lines of one function."""

    def __init__(self, files):
        self._files = files
        self._file, self._line, self._inline = "", 0, False

    def item(self, text):
        """A line of a function as text or as an instruction."""
        stripped = text.strip()
        if stripped.startswith("#APP"):
            self._inline = True
        elif stripped.startswith("#NO_APP"):
            self._inline = False
        code = text.partition("#")[0].strip()
        match = re.match(r"\.loc\s+(\d+)\s+(\d+)", code)
        if match:
            self._file = self._files.get(int(match[1]), self._file)
            self._line = int(match[2]) or self._line
        name, _, rest = code.partition("\t") if "\t" in code else code.partition(" ")
        directive = name.startswith(".") and name != ".insn" and not (
            self._inline and re.fullmatch(r"\.(word|[24]?byte|long|half)", name))
        if not code or code.endswith(":") or directive:
            return text
        return AsmLine(text, name, _operands(rest), self._file, self._line,
                       "Folded Spill" in text or "Folded Reload" in text, self._inline)


def read_unit(text: str, file: str) -> AsmUnit:
    """Read the assembly that Clang made of a C file."""
    lines = text.split("\n")
    kinds = dict(re.findall(r"^\s*\.type\s+([\w.$]+),\s*@(\w+)", text, re.MULTILINE))
    shared = frozenset(re.findall(r"^\s*\.(?:globl|weak)\s+([\w.$]+)", text, re.MULTILINE))
    aliases = dict(ALIAS.findall(text))
    files, parts, function, reader = {}, [], None, _Reader({})
    for line in lines:
        files |= _directory(line)
        label = re.match(r"([\w.$]+):", line)
        if function is None and label and kinds.get(label[1]) == "function" and \
                label[1] not in aliases:
            function, reader = AsmFunction(label[1], file, []), _Reader(files)
            parts.append(function)
        if function is None:
            parts.append(line)
            continue
        function.items.append(reader.item(line))
        if re.match(rf"\s*\.size\s+{re.escape(function.name)},", line):
            function = None
    return AsmUnit(file, parts, shared, aliases)
