"""What C calls and no file defines: the libraries of the ziglang wheel, as assembly for the pass.

The wheel has the run-time library of compilers (doubles, numbers of 64 bits, mathematics) and most
of a C library (strings, sorting, conversions, mathematics) as texts in Zig, and the rest of the
mathematics as texts in C. What is in Zig becomes assembly once for each instruction set, in the
cache; a program gets the functions that it calls, and what these need. A function that asks an
operating system for something is not there.
"""

import functools
import pathlib
import re
import shutil
import subprocess

from sim import cache
from sim.toolchain import ToolError
from sw.cc.assembly import ALIAS, read_unit


__all__ = ["INCLUDE", "ROOTS", "ZigLibrary", "c_flags", "c_sources"]


#: The roots of the libraries, in the wheel's ``lib``.
ROOTS = ("compiler_rt", "c")

#: Folders of include files, in the wheel's ``lib/libc``.
INCLUDE = ("include/riscv32-linux-musl", "include/generic-musl")

#: Folders that the library's own C files need before those.
_INTERNAL = ("musl/arch/riscv32", "musl/arch/generic", "musl/src/include", "musl/src/internal")

#: Attributes for the code of each function, beside those that Zig gives.
_ATTRIBUTES = '"no-jump-tables"="true"'

#: What code for an operating system has: system calls, data of a thread; and exclusive loads, which
#: the hardware lacks.
_FOREIGN = re.compile(r"\s(?:ecall|lr\.w\S*)(?:\s|$)|%tprel|\btp\b")

#: A label of a function or of data, and a name anywhere.
_LABEL = re.compile(r"^(?!\.L(?:BB|func_end|tmp)\d)([\w.$]+):", re.MULTILINE)
_TOKEN = re.compile(r"[\w.$]+")


def c_sources(lib: pathlib.Path) -> dict[str, pathlib.Path]:
    """C files of the library's mathematics, by the names of their functions and tables."""
    folder = lib / "libc" / "musl" / "src" / "math"
    found = {path.stem: path for path in folder.glob("*.c")}
    for path in folder.glob("*_data.c"):
        for name in re.findall(r"^const struct \w+ (\w+)", path.read_text(), re.MULTILINE):
            found[name] = path
    return found


def c_flags(lib: pathlib.Path) -> list[str]:
    """What Clang needs for these files."""
    return ["-w", "-D_XOPEN_SOURCE=700",
            *(word for name in _INTERNAL for word in ("-I", str(lib / "libc" / name)))]


class ZigLibrary:
    """A library in Zig for an instruction set.

    Parameters
    ----------
    zig : pathlib.Path
        The program.
    version : str
    name : str
        One of :data:`ROOTS`.
    features : str
        Extensions in Zig's words, such as ``"+m+a"``.
    small : bool
        Whether code is to be small rather than fast.
    """

    def __init__(self, zig, version, name, features, small):
        self.name, self._zig, self._features, self._small = name, zig, features, small
        self._key = cache.hashed(version, name, features, str(small), _ATTRIBUTES)

    def _make(self, folder):
        """Assembly by way of LLVM's intermediate form, in which calls keep to the C convention:
        that of Zig's own functions needs registers which the pass has reserved."""
        between, target = folder / "library.ll", folder / "library.s"
        self._run("build-obj", self._zig.parent / "lib" / f"{self.name}.zig", "-lc", "-fstrip",
                  "-target", "riscv32-linux-musl", "-fno-emit-bin", f"-femit-llvm-ir={between}",
                  "-mcpu", f"generic_rv32+reserve_x31{self._features}",
                  "-OReleaseSmall" if self._small else "-OReleaseFast",
                  "--cache-dir", folder / "zig", "--global-cache-dir", folder / "zig")
        text = between.read_text()
        for old, new in ((r"^(attributes #\d+ = \{)", rf"\1 {_ATTRIBUTES}"), (r"\bfastcc ", ""),
                         (r"\btail call", "call"), (r'\buwtable\b|"frame-pointer"="all"', "")):
            text = re.sub(old, new, text, flags=re.MULTILINE)
        between.write_text(text)
        self._run("clang", "--target=riscv32-unknown-elf", "-mabi=ilp32", "-mno-relax",
                  "-mno-outline", "-mno-save-restore", "-mno-global-merge",
                  "-ffunction-sections", "-fdata-sections", "-Wno-override-module", "-Xclang",
                  "-disable-llvm-passes", "-O2", "-S", between, "-o", target)
        between.unlink()
        shutil.rmtree(folder / "zig")

    def _run(self, *words):
        done = subprocess.run([self._zig, *map(str, words)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            first = next(iter(done.stderr.splitlines()), f"exit code {done.returncode}")
            raise ToolError(f"the library {self.name} of ziglang cannot be compiled: {first}")

    @functools.cached_property
    def _parts(self):
        """The sections by the functions and data in them, and the other names of functions."""
        place = cache.entry("c-libraries", f"{self.name}-{self._key}", self._make,
                            what=f"C library {self.name}")
        # Functions that only the library sees get names which errors and traces can show.
        text = re.sub(r"\.L(?=[a-z]\w*\.)", "", (place / "library.s").read_text())
        aliases = dict(ALIAS.findall(text))
        text = re.sub(r"^\s*\.(?:option|weak|globl|hidden)\b.*\n", "", ALIAS.sub("", text),
                      flags=re.MULTILINE)
        text = re.sub(r"^\s*\.type\s+([\w.$]+),(.*)\n",
                      lambda match: "" if match[1] in aliases or match[2] != "@function" else
                      match[0], text, flags=re.MULTILINE)
        pieces = {}
        for piece in re.split(r"^(?=\t\.(?:section|text|data|bss)\b)", text, flags=re.MULTILINE):
            pieces |= dict.fromkeys(_LABEL.findall(piece), piece)
        return pieces, aliases

    def unit(self, wanted, known):
        """The unit with those of the wanted names that the library has, and what they need.

        Parameters
        ----------
        wanted : set of str
        known : set of str
            Names that the program has.

        Returns
        -------
        sw.cc.assembly.AsmUnit or None
        """
        pieces, aliases = self._parts
        names = set().union(*(self._needed(name, known) for name in wanted - known))
        if not names:
            return None
        text = [*dict.fromkeys(pieces[name] for name in sorted(names & pieces.keys()))]
        text += [f"\t.weak\t{name}\n\t.type\t{name},@function\n\t.set\t{name}, {aliases[name]}\n"
                 for name in sorted(names & aliases.keys())]
        return read_unit("".join(text), f"library {self.name}")

    def _needed(self, name, known):
        """A name and all that it needs; nothing if the library does not have it."""
        pieces, aliases = self._parts
        found, left = set(), [name]
        while left:
            each = left.pop()
            if each in found or each in known:
                continue
            if each in aliases:
                found.add(each)
                left.append(aliases[each])
            elif each in pieces:
                if _FOREIGN.search(pieces[each]):
                    return set()
                found.add(each)
                left += [token for token in set(_TOKEN.findall(pieces[each]))
                         if token in pieces or token in aliases]
        return found
