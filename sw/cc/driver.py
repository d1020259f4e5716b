"""From C files to an ELF file: Clang, the pass, the assembler and the linker of the ziglang wheel.

Nothing of a program escapes the pass but the start-up code: what Clang calls by itself, and what a
program calls of a C library, goes through the pass as well, be it C of ``sw/cc/library`` or of the
wheel (:mod:`sw.cc.runtime`). A function that is missing is an error.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING

from base.errors import UserError
from base.installation import ROOT
from hw.registers import Checks
from sim.toolchain import ToolError, ziglang
from sw.cc import refusals
from sw.cc.assembly import read_unit
from sw.cc.insertion import LEAST_FRAME, Counts, Insertion
from sw.cc.runtime import INCLUDE, ROOTS, ZigLibrary, c_flags, c_sources
from sw.cc.signatures import signatures
from sw.cc.uniformity import WholeProgram

if TYPE_CHECKING:
    from hw.config import HardwareConfig


__all__ = ["LIBRARY", "CompileChoices", "compile_files"]


LIBRARY = ROOT / "sw" / "cc" / "library"
_EXEC = ROOT / "examples" / "exec"

#: The library's C files, and the functions of each. A file is linked if one of them is missing.
_FILES = {
    LIBRARY / "memory.c": ("memcpy", "memmove", "memset", "memcmp", "strlen"),
    LIBRARY / "divide32.c": ("__udivsi3", "__umodsi3", "__divsi3", "__modsi3"),
    LIBRARY / "divide64.c": ("__udivdi3", "__umoddi3", "__divdi3", "__moddi3", "__udivmoddi4"),
    LIBRARY / "errno.c": ("__errno_location",),
    LIBRARY / "bits.c": ("__ashldi3", "__lshrdi3", "__ashrdi3", "__muldi3"),
    _EXEC / "printf.c": ("printf",),
    _EXEC / "console.c": ("each_lane", "_write", "_sbrk", "_read", "_close", "_lseek", "_fstat",
                          "_isatty", "_kill", "_getpid"),
}

#: Comments of Clang show bytes as they are.
_ENCODING = "utf-8", "surrogateescape"

_FLAGS = ("--target=riscv32-unknown-elf", "-mabi=ilp32", "-ffreestanding", "-nostdlibinc",
          "-mno-relax", "-mno-save-restore", "-mno-outline", "-ffixed-x31", "-fno-jump-tables",
          "-fno-optimize-sibling-calls", "-fconvergent-functions", "-fomit-frame-pointer",
          "-fno-stack-protector", "-fno-addrsig", "-fno-common", "-fno-math-errno", "-fwrapv")


@dataclasses.dataclass(frozen=True)
class CompileChoices:
    """How C is compiled.

    Attributes
    ----------
    optimisation : str
        Clang's level: 0, 1, 2, 3, s or z.
    defines : tuple of str
        Macros, as NAME or NAME=VALUE.
    folders : tuple of str
        Where include files are looked for, beside the folder of ``graphloom.h``.
    stack : int
        Bytes of the frames' stack of a lane.
    heap : int
        Bytes between the data and the stacks.
    parted : str
        Which branches are taken as parting lanes: ``"found"`` by the analysis, ``"all"``, which is
        right and slow, or ``"none"``, for programs whose branches never depend on the lane.
    """
    optimisation: str = "2"
    defines: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    stack: int = 2048
    heap: int = 0
    parted: str = "found"

    def __post_init__(self):
        for name, values in (("optimisation", "0 1 2 3 s z"), ("parted", "found all none")):
            if getattr(self, name) not in values.split():
                raise UserError(f"compile: {name} is {getattr(self, name)!r}: must be one of "
                                f"{', '.join(values.split())}, as a string")
        for name in ("defines", "folders"):
            if isinstance(getattr(self, name), str):
                raise UserError(f"compile: {name} is a string: must be a tuple of strings")
        try:
            Checks(stack=self.stack)
        except (TypeError, ValueError):
            raise UserError(f"compile: stack is {self.stack!r}: must be a power of two from "
                            f"{Checks.LEAST_STACK} to {Checks.MOST_STACK}") from None
        if not isinstance(self.heap, int) or not 0 <= self.heap < 1 << 32:
            raise UserError(f"compile: heap is {self.heap!r}: must be a number of bytes")


def compile_files(sources, target, config: HardwareConfig,
                  choices: CompileChoices = CompileChoices(), *,
                  needs_main: bool = True) -> Counts:
    """Make a program from C files.

    Parameters
    ----------
    sources : list of path
    target : path
        The ELF file.
    config : HardwareConfig
        The hardware: how many lanes have stacks, the bytes of memory, and whether it divides and
        has floats.
    choices : CompileChoices
    needs_main : bool
        Whether a program without ``main`` is refused: only the host can start its functions.

    Returns
    -------
    Counts
        What was inserted in all.

    Raises
    ------
    UserError
        A file cannot be read, Clang refuses it, it has something that the pass cannot make right,
        or a function is missing. The messages of Clang come to standard error.
    ToolError
        There is no ziglang for this platform.
    """
    sources = [pathlib.Path(source) for source in sources]
    for source in sources:
        if source.suffix != ".c":
            raise UserError(f"{source}: must be a C file (.c): other code would not go through the "
                            "pass that makes branches right for lanes that part")
        if not source.is_file():
            raise UserError(f"{source}: no such file")
    clang = _Clang(config, choices)
    units = [clang.compile(source) for source in sources]
    if needs_main and not any("main" in unit.shared for unit in units):
        raise UserError(f"{sources[0]}: no function main, with which a program starts in each lane")
    _check_names(units)
    refusals.check_start(units)
    units = _with_library(units, clang)
    total, texts, parts = Counts(), [], 1
    if choices.parted == "none":
        texts = [_text(unit, {}) for unit in units]
    else:
        program = WholeProgram(units, choices.parted == "all")
        refusals.check(program)
        insertions = {function: Insertion(analysis)
                      for function, analysis in program.analyses.items()}
        parts = max((_parts(function, insertion.slots)
                     for function, insertion in insertions.items()), default=1)
        total = Counts(*(sum(values) for values in zip(*(
            dataclasses.astuple(insertion.counts) for insertion in insertions.values()))))
        texts = [_text(unit, insertions) for unit in units]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, pathlib.Path(target).name)
        clang.link(texts, program, parts)
        if needs_main:
            _check_main(sources[0], program)
        shutil.copyfile(program, target)
    return total


def _check_main(source, program):
    """Each lane starts ``main`` with its number, and with nothing else."""
    main = signatures(program)["main"]
    if len(main.parameters) > 1 or any(
            each.pointer or each.dtype is None or each.dtype.kind not in "iu"
            or each.dtype.itemsize != 4 for each in main.parameters):
        raise UserError(f"{source}: {main.text}: main gets the number of the lane and nothing "
                        "else, as in int main(int lane)")


def _text(unit, insertions):
    """The assembly of a unit, with the insertions of its functions."""
    lines = []
    for part in unit.parts:
        if isinstance(part, str):
            lines.append(part)
        elif part in insertions:
            lines += insertions[part].text()
        else:
            lines += [item if isinstance(item, str) else item.text for item in part.items]
    return "\n".join(lines) + "\n"


def _parts(function, slots):
    """How many times the bytes of frames a lane needs, if calls of this function fill its stack:
    the frames themselves, and the slots beside them."""
    frame = next((-int(line.operands[2]) for line in function.lines
                  if line.name == "addi" and line.operands[:2] == ("sp", "sp")), 0)
    return 1 + -(-slots // max(frame, LEAST_FRAME))


def _check_names(units):
    known = {}
    for unit in units:
        for function in unit.functions:
            if function.name in unit.shared:
                if function.name in known:
                    raise UserError(f"{unit.file}: {function.name} is in "
                                    f"{known[function.name]} too")
                known[function.name] = unit.file


def _missing(units):
    """The functions that are called and that no unit has, each with a caller and the call."""
    known = {name for unit in units for name in (
        *unit.aliases, *(function.name for function in unit.functions))}
    missing = {}
    for unit in units:
        for function in unit.functions:
            for line in function.lines:
                if line.callee is not None and line.callee not in known:
                    missing.setdefault(line.callee, (function, line))
    return missing


def _with_library(units, clang):
    """The units, and those of the libraries that they need."""
    own, left, libraries, wanted = list(units), dict(_FILES), {}, set()
    while True:
        units = [*own, *libraries.values()]
        missing = _missing(units)
        named = missing.keys() | set().union(*(unit.taken() for unit in units))
        known = set().union(*(unit.defined for unit in own))
        file = next((file for file, names in left.items() if named & set(names) - known), None)
        if file is not None:
            del left[file]
            own.append(clang.compile(file))
            continue
        if named <= wanted:
            break
        wanted |= named
        for library in clang.libraries:
            unit = library.unit(wanted, known)
            if unit is not None:
                libraries[library] = unit
        for unit in libraries.values():
            known |= unit.defined
        sources = {clang.sources[name] for name in wanted - known if name in clang.sources}
        own += [clang.compile(source) for source in sorted(sources)]
    for name, (function, line) in missing.items():
        raise function.refuse(line, f"calls {name}, which no file defines")
    return units


class _Clang:
    """Clang, its assembler and its linker."""

    def __init__(self, config, choices):
        found = ziglang()
        if found is None:
            raise ToolError("no C compiler for RISC-V: there is no ziglang wheel for this platform")
        self._program, self._config, self._choices = found[0], config, choices
        self._lib = self._program.parent / "lib"
        self._march = "-march=rv32" + ("ia_zmmul" if config.divider == "none" else "ima") \
            + "_zacas" + "_zfinx" * config.floats
        features = ("+zmmul" if config.divider == "none" else "+m") + "+a" \
            + "+zfinx" * config.floats
        # In its small form, the run-time library takes locks in one function and releases them in
        # another, so that lanes of a warp would wait for each other.
        self.libraries = [ZigLibrary(*found, name, features, name != "compiler_rt"
                                     and choices.optimisation in ("s", "z")) for name in ROOTS]

    @functools.cached_property
    def sources(self):
        """C files of the library by the names of their functions."""
        return c_sources(self._lib)

    def _run(self, tool, *words):
        """Run a tool of zig. Returns its exit code and its messages."""
        done = subprocess.run([self._program, tool, *map(str, words)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", check=False)
        return done.returncode, done.stderr

    def compile(self, source):
        """The unit of a C file."""
        choices = self._choices
        own = source in _FILES
        more = c_flags(self._lib) if self._lib in source.parents else []
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder, "unit.s")
            code, messages = self._run(
                "clang", *_FLAGS, *["-g"] * (not own), self._march,
                f"-O{choices.optimisation}", "-resource-dir", self._lib,
                "-I", LIBRARY, *more,
                *(word for folder in choices.folders for word in ("-I", folder)),
                *(word for name in INCLUDE for word in ("-isystem", self._lib / "libc" / name)),
                *(f"-D{define}" for define in choices.defines), "-S", source, "-o", target)
            if code:
                raise UserError(_first_error(messages) or f"{source}: Clang failed")
            return read_unit(target.read_bytes().decode(*_ENCODING), str(source))

    def link(self, texts, target, parts):
        """Assemble the texts and link them with the start-up code."""
        choices = self._choices
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            sources = [LIBRARY / "start.S"]
            for number, text in enumerate(texts):
                sources.append(folder / f"unit{number}.s")
                sources[-1].write_bytes(text.encode(*_ENCODING))
            objects = []
            for number, source in enumerate(sources):
                objects.append(folder / f"{number}.o")
                code, messages = self._run(
                    "clang", "--target=riscv32-unknown-elf", "-mabi=ilp32", "-mno-relax",
                    self._march, "-c", source, "-o", objects[-1])
                if code:
                    raise RuntimeError(f"the assembler refuses what the pass wrote:\n{messages}")
            config = self._config
            lanes = config.cores * config.warps * config.threads
            room = choices.heap + (lanes * parts + 1) * choices.stack
            code, messages = self._run(
                "ld.lld", "-T", _EXEC / "link.ld", f"--defsym=stack_room={room:#x}",
                f"--defsym=memory_bytes={config.memory_bytes:#x}",
                f"--defsym=graphloom_stack_bytes={choices.stack}",
                f"--defsym=graphloom_stack_parts={parts}", *objects, "-o", target)
            if code:
                raise UserError(_first_error(messages) or f"{target}: the linker failed")


def _first_error(messages):
    """The first error of Clang or of the linker in one line."""
    match = re.search(r"^(.*?)(?:fatal )?error: (.*)$", messages, re.MULTILINE)
    return f"{match[1]}{match[2]}" if match else None
