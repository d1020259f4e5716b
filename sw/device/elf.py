"""Bare-metal RISC-V programs from ELF files.

The text is linked to instruction memory, which begins at address 0. Everything else is linked to
global memory, at 0x8000_0000. All warps begin at the entry point with all lanes. Registers are
undefined, so a program that needs stacks sets up a stack for each lane.

A segment is loaded at its virtual address. The physical address, which a linker script sets with
``AT>``, is ignored: global memory has its contents when the program begins, and no start-up code
has to copy them.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import io
import itertools
import os
from typing import TYPE_CHECKING

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from base.errors import UserError
from base.input import open_file
from hw.config import LEGAL, HardwareConfig
from hw.isa import INSTRUCTIONS, MemoryMap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sim.errors import Fault


__all__ = ["Executable", "Symbol", "load_elf"]


#: Bytes of the largest file that is read: all of global memory, and debug information.
_LARGEST = 1 << 28

#: Bits of e_flags.
_COMPRESSED, _FLOAT_ABI, _EMBEDDED = 0x1, 0x6, 0x8
_FLOAT_ABIS = {0x2: "single", 0x4: "double", 0x6: "quad"}


@dataclasses.dataclass(frozen=True, order=True)
class Symbol:
    """A symbol of a program."""
    address: int
    size: int  #: Size in bytes; 0 if the file does not give the size, as for labels in assembly.
    name: str
    local: bool = False  #: Whether the symbol belongs to one source file.
    file: str = ""  #: The source file of a local symbol, or "".

    def __str__(self) -> str:
        where = f" of {self.file}" if self.file else ""
        return f"{self.name}{where} at 0x{self.address:08x}, {self.size} bytes"


@dataclasses.dataclass(frozen=True)
class Executable:
    """A program, ready to be loaded."""
    name: str  #: The file.
    entry: int  #: PC at which it begins.
    words: list[int]  #: Instruction memory from its start.
    #: list of (int, bytes). Contents of global memory by address, memory that is zero at the start
    #: included.
    data: list[tuple[int, bytes]]
    symbols: list[Symbol]  #: Symbols in global memory, ascending.
    functions: list[Symbol]  #: Symbols in instruction memory, ascending.
    #: Addresses of its instructions, if the file tells them from other contents of text.
    code: list[range]
    elf: ELFFile = dataclasses.field(repr=False)  #: The file, for its debug information.

    def fill(self, memory: NDArray[np.uint8]) -> None:
        """Put the data into global memory, an array of bytes that begins at 0x8000_0000."""
        for address, content in self.data:
            place = address - MemoryMap.GLOBAL
            memory[place:place + len(content)] = np.frombuffer(content, np.uint8)

    def content(self, address: int, count: int) -> bytes:
        """The first bytes of global memory at an address; fewer if the file gives fewer."""
        for start, content in self.data:
            if start <= address < start + len(content):
                return content[address - start:][:count]
        return b""

    def has(self, name: str) -> bool:
        """Whether a symbol in global memory has that name."""
        return any(symbol.name == name for symbol in self.symbols)

    def symbol(self, name: str) -> Symbol:
        """The symbol of that name in global memory; a global one goes before those of files.

        Raises UserError if there is none, or if several files have one.
        """
        found = [symbol for symbol in self.symbols if symbol.name == name]
        if not found:
            names = sorted({symbol.name for symbol in self.symbols})
            near = ", ".join(names[:12]) or "none"
            raise UserError(f"{self.name}: no symbol {name!r} in global memory; there are: {near}"
                            + (", …" if len(names) > 12 else ""))
        of_all = [symbol for symbol in found if not symbol.local]
        found = of_all or found
        if len({(symbol.address, symbol.size) for symbol in found}) > 1:
            raise UserError(f"{self.name}: several symbols are called {name!r}: "
                            + "; ".join(map(str, found)) + "; give the address instead of the name")
        return found[0]

    def describe(self, fault: Fault) -> str:
        """One line for an error of a core, with the names of the program."""
        words = self.words[fault.pc // 4:][:1]
        return fault.describe(self.place(fault.pc), words[0] if words else None)

    def function(self, pc: int) -> str:
        """Where an address is in the program, as in ``main+0x14``; "" if no name is known."""
        index = bisect.bisect(self.functions, pc, key=lambda symbol: symbol.address)
        if not index or pc >= 4 * len(self.words):
            return ""
        symbol = self.functions[index - 1]
        offset = pc - symbol.address
        return f"{symbol.name}+0x{offset:x}" if offset else symbol.name

    def place(self, pc: int) -> str:
        """:meth:`function`, with file and line where the file's debug information has them, as in
        ``main+0x14 (sum.c:7)``."""
        index = bisect.bisect(self._lines, pc, key=lambda entry: entry[0])
        line = self._lines[index - 1][1] if index else ""
        return " ".join(filter(None, (self.function(pc), f"({line})" if line else "")))

    @functools.cached_property
    def _lines(self) -> list[tuple[int, str]]:
        """Addresses from which instructions belong to a line, "" where they belong to none.

        Code that begins at address 0 is left out: linkers give this address to functions that they
        did not link, and else the start-up code is there.
        """
        if not self.elf.has_dwarf_info():
            return []
        found, debug = {}, self.elf.get_dwarf_info()
        try:
            for unit in debug.iter_CUs():
                program = debug.line_program_for_CU(unit)
                if program is None:
                    continue
                files, first = program["file_entry"], program["version"] < 5
                begins = linked = True
                for entry in program.get_entries():
                    state = entry.state
                    if state is None:
                        continue
                    linked = state.address != 0 if begins else linked
                    begins = state.end_sequence
                    # Line 0 is code that Clang made of no line: it counts as the line before.
                    name = files[state.file - first].name.decode(errors="replace")
                    if linked and (state.line or state.end_sequence):
                        found[state.address] = "" if state.end_sequence else f"{name}:{state.line}"
        except (ELFError, AttributeError, IndexError, KeyError, TypeError, ValueError):
            return []       # damaged, and only a help
        return sorted(found.items())

    def check_units(self, config: HardwareConfig) -> None:
        """Raise UserError if the program has an instruction whose unit ``config`` lacks."""
        words = np.array(self.words, np.uint32)
        for row in INSTRUCTIONS:
            if row.option is None or row.exists(config):
                continue
            field, (value, *_) = row.option
            there = np.flatnonzero(words & row.mask == row.match) * 4
            for pc in there.tolist():
                if any(pc in code for code in self.code):
                    place = self.function(pc)
                    raise UserError(
                        f"{self.name}: contains {row.name.upper()} at 0x{pc:08x}"
                        + (f" in {place}" if place else "")
                        + f"; preset {config.name} has {field}={getattr(config, field)}: use "
                        f"--set {field}={value}, or --anyway if the program never gets there")


def load_elf(path: str | os.PathLike[str], config: HardwareConfig) -> Executable:
    """Read a statically linked RV32 executable.

    Raises
    ------
    UserError
        The file cannot be read, is no such executable, or does not fit in the memories of
        ``config``.
    """
    name = str(path)
    try:
        with open_file(path) as file:
            if os.fstat(file.fileno()).st_size > _LARGEST:
                raise UserError(f"{name}: is larger than {_LARGEST >> 20} MiB, which no program "
                                "for this hardware is")
            content = file.read()
        # Read from a file, a segment that claims gigabytes would allocate them first.
        return _read(name, ELFFile(io.BytesIO(content)), config)
    except OSError as error:
        raise UserError(f"{name}: {error.strerror}") from None
    except ELFError as error:
        raise UserError(f"{name}: not an ELF file, or a damaged one: {error}") from None
    except (ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError) as error:
        raise UserError(f"{name}: a damaged ELF file: {error}") from None


def _read(name, elf, config):
    _check_header(name, elf)
    imem, data = bytearray(), []
    before = []
    for index, segment in enumerate(elf.iter_segments("PT_LOAD")):
        start, size = segment["p_vaddr"], segment["p_memsz"]
        content = segment.data()
        if len(content) != segment["p_filesz"] or size < len(content):
            raise UserError(f"{name}: segment {index} is cut off")
        if not size:
            continue
        end = start + size
        where = f"segment {index}, 0x{start:08x} to 0x{end - 1:08x}"
        for other, first, last in before:
            if start < last and first < end:
                raise UserError(f"{name}: {where}, overlaps {other}")
        before.append((where, start, end))
        if end <= config.imem_bytes:
            imem.extend(bytes(max(0, end - len(imem))))
            imem[start:start + len(content)] = content
        elif start >= MemoryMap.GLOBAL and end <= MemoryMap.GLOBAL + config.memory_bytes:
            data.append((start, content + bytes(size - len(content))))
        else:
            raise UserError(f"{name}: {where}: {_misplaced(start, end, config)}")
    entry = elf.header.e_entry
    if not imem:
        raise UserError(f"{name}: has no text in instruction memory, which begins at 0x00000000")
    if entry % 4 or entry >= len(imem):
        raise UserError(f"{name}: the entry point is 0x{entry:08x}, must be a multiple of 4 in the "
                        f"text (0x00000000 to 0x{len(imem) - 1:08x})")
    imem.extend(bytes(-len(imem) % 4))
    symbols, functions, marks = _symbols(elf, len(imem))
    return Executable(name, entry, np.frombuffer(bytes(imem), np.uint32).tolist(), data, symbols,
                      functions, _code(elf, marks, len(imem)), elf)


def _check_header(name, elf):
    """Refuse a file that is no program for this hardware. The error begins with `name`."""
    header = elf.header
    if header.e_machine != "EM_RISCV":
        raise UserError(f"{name}: an ELF file for {header.e_machine}, must be for 32-bit RISC-V "
                        "(EM_RISCV)")
    if elf.elfclass != 32:
        raise UserError(f"{name}: a program for RV64, must be for RV32")
    if not elf.little_endian:
        raise UserError(f"{name}: a big-endian program, must be little-endian")
    if header.e_type != "ET_EXEC":
        raise UserError(f"{name}: an ELF file of type {header.e_type}, must be a statically linked "
                        "executable (ET_EXEC)")
    flags = header.e_flags
    if flags & _COMPRESSED:
        raise UserError(f"{name}: contains compressed instructions (RVC); compile it for an "
                        "architecture without C, as in -march=rv32ima_zicsr")
    if flags & _FLOAT_ABI:
        raise UserError(f"{name}: uses the ABI of {_FLOAT_ABIS[flags & _FLOAT_ABI]}-precision "
                        "floating-point registers, which the hardware lacks; compile it with "
                        "-mabi=ilp32")
    if flags & _EMBEDDED:
        raise UserError(f"{name}: uses the ABI of RVE (16 registers); compile it with -mabi=ilp32")


def _misplaced(start, end, config):
    """The rule that a segment in neither memory breaks, with the legal values."""
    if end <= MemoryMap.LOCAL:
        largest = LEGAL["imem_bytes"].values[-1]
        if end > largest:
            return (f"text is too large: imem_bytes is {config.imem_bytes}, and may be {largest} "
                    "at most")
        least = next(value for value in LEGAL["imem_bytes"].values if value >= end)
        return (f"text is too large: imem_bytes is {config.imem_bytes}; use --set "
                f"imem_bytes={least} (the largest is {largest})")
    if start >= MemoryMap.GLOBAL:
        return (f"data is too large: memory_bytes is {config.memory_bytes}; the largest is "
                f"{LEGAL['memory_bytes'].values[-1]}")
    return (f"must lie in instruction memory (0x00000000 to 0x{config.imem_bytes - 1:08x}) or in "
            f"global memory (0x{MemoryMap.GLOBAL:08x} to "
            f"0x{MemoryMap.GLOBAL + config.memory_bytes - 1:08x})")


def _symbols(elf, text_bytes):
    """The symbols in global memory, the symbols in text, and the marks that tell code from data in
    text, as (address, is code)."""
    symbols, functions, marks = [], [], []
    for section in elf.iter_sections():
        if not isinstance(section, SymbolTableSection):
            continue
        file = ""
        for symbol in section.iter_symbols():
            name, address = symbol.name, symbol["st_value"]
            kind, bind = symbol["st_info"]["type"], symbol["st_info"]["bind"]
            if kind == "STT_FILE":
                file = name
            elif name[:2] in ("$x", "$d"):
                marks.append((address, name[1] == "x"))
            elif name and symbol["st_shndx"] != "SHN_UNDEF" and kind != "STT_SECTION":
                local = bind == "STB_LOCAL"
                found = Symbol(address, symbol["st_size"], name, local, file if local else "")
                if address >= MemoryMap.GLOBAL:
                    symbols.append(found)
                elif address < text_bytes and symbol["st_shndx"] != "SHN_ABS" \
                        and not name.startswith(".L"):
                    functions.append(found)
    return sorted(set(symbols)), sorted(functions), sorted(marks)


def _code(elf, marks, text_bytes):
    """Ranges of the addresses of instructions."""
    executable = [(section["sh_addr"], section["sh_addr"] + section["sh_size"])
                  for section in elf.iter_sections()
                  if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR
                  and section["sh_type"] == "SHT_PROGBITS"]
    ranges = []
    for start, end in executable:
        end = min(end, text_bytes)
        inside = [(address, is_code) for address, is_code in marks if start <= address < end]
        for (first, is_code), (last, _) in itertools.pairwise(
                [(start, True), *inside, (end, True)]):
            if is_code:
                ranges.append(range(first + 3 & ~3, last & ~3, 4))
    return ranges
