"""Bare-metal RISC-V programs from ELF files.

The text is linked to instruction memory, which begins at address 0, everything else to global
memory, at 0x8000_0000. All warps begin at the entry point with all lanes; registers are undefined,
so a program that wants a stack sets one up for each lane.
"""

import dataclasses
import pathlib

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from hw.config import HardwareConfig
from hw.isa import MemoryMap
from sw.errors import UserError


__all__ = ["Executable", "load_elf"]


@dataclasses.dataclass(frozen=True)
class Executable:
    """A program as it is to be loaded.

    Parameters
    ----------
    name : str
        The file.
    entry : int
        PC at which it begins.
    words : list of int
        Instruction memory from its start.
    data : list of (int, bytes)
        Contents of global memory by address; what is zero at the start included.
    symbols : dict of str to int
        Addresses of its symbols in global memory.
    """
    name: str
    entry: int
    words: list
    data: list
    symbols: dict

    def fill(self, memory) -> None:
        """Put the data into global memory, an array of bytes that begins at 0x8000_0000."""
        for address, content in self.data:
            place = address - MemoryMap.GLOBAL
            memory[place:place + len(content)] = np.frombuffer(content, np.uint8)

    def symbol(self, name, memory_bytes) -> int:
        """Address of a word in global memory that a symbol names. UserError if it is none."""
        if name not in self.symbols:
            near = ", ".join(sorted(self.symbols)[:12]) or "none"
            raise UserError(f"{self.name}: no symbol {name!r} in global memory; there are: {near}"
                            + (", …" if len(self.symbols) > 12 else ""))
        address = self.symbols[name]
        if address % 4 or address + 4 > MemoryMap.GLOBAL + memory_bytes:
            raise UserError(f"{self.name}: symbol {name!r} is at 0x{address:08x}, which is not a "
                            "word of global memory")
        return address


def load_elf(path, config: HardwareConfig) -> Executable:
    """Read a statically linked RV32 executable.

    Raises
    ------
    UserError
        The file cannot be read, is no such executable, or does not fit in the memories of
        ``config``.
    """
    name = str(path)
    try:
        with open(pathlib.Path(path), "rb") as file:
            return _read(name, ELFFile(file), config)
    except OSError as error:
        raise UserError(f"{name}: {error.strerror}") from None
    except ELFError as error:
        raise UserError(f"{name}: not an ELF file, or a damaged one: {error}") from None
    except (ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError) as error:
        raise UserError(f"{name}: a damaged ELF file: {error}") from None


def _read(name, elf, config):
    header = elf.header
    if elf.elfclass != 32 or not elf.little_endian or header.e_machine != "EM_RISCV":
        raise UserError(f"{name}: an ELF file for {header.e_machine}, {elf.elfclass} bits, must be "
                        "for 32-bit little-endian RISC-V (EM_RISCV)")
    if header.e_type != "ET_EXEC":
        raise UserError(f"{name}: an ELF file of type {header.e_type}, must be a statically linked "
                        "executable (ET_EXEC)")
    imem, data = bytearray(), []
    for index, segment in enumerate(elf.iter_segments("PT_LOAD")):
        # The physical address is where it is loaded.
        start, size = segment["p_paddr"], segment["p_memsz"]
        content = segment.data()
        if len(content) != segment["p_filesz"] or size < len(content):
            raise UserError(f"{name}: segment {index} is cut off")
        if not size:
            continue
        where = f"{name}: segment {index}, 0x{start:08x} to 0x{start + size - 1:08x}"
        if start + size <= config.imem_bytes:
            imem.extend(bytes(max(0, start + size - len(imem))))
            imem[start:start + len(content)] = content
        elif (start >= MemoryMap.GLOBAL
              and start + size <= MemoryMap.GLOBAL + config.memory_bytes):
            data.append((start, content + bytes(size - len(content))))
        else:
            raise UserError(
                f"{where}: must lie in instruction memory (0x00000000 to "
                f"0x{config.imem_bytes - 1:08x}) or in global memory (0x{MemoryMap.GLOBAL:08x} to "
                f"0x{MemoryMap.GLOBAL + config.memory_bytes - 1:08x})")
    entry = header.e_entry
    if not imem:
        raise UserError(f"{name}: has no text in instruction memory, which begins at 0x00000000")
    if entry % 4 or entry >= len(imem):
        raise UserError(f"{name}: the entry point is 0x{entry:08x}, must be a multiple of 4 in the "
                        f"text (0x00000000 to 0x{len(imem) - 1:08x})")
    imem.extend(bytes(-len(imem) % 4))
    symbols = {}
    for section in elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            for symbol in section.iter_symbols():
                label = symbol.name
                if label and label[0] != "$" and symbol["st_value"] >= MemoryMap.GLOBAL:
                    symbols[label] = symbol["st_value"]
    return Executable(name, entry, np.frombuffer(bytes(imem), np.uint32).tolist(), data, symbols)
