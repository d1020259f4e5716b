"""Builds the library of the functional simulator; the cache keeps it.

One library serves all configurations. It is compiled from ``model``, and from headers that are
made here of the tables in :mod:`hw`, so no number of an instruction, register or cause is written
twice.
"""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import subprocess
from typing import TYPE_CHECKING

from hw.config import ConfigError
from hw.gather.variants import VARIANTS
from hw.isa import STACK_POINTER, UNMAPPED, Cause, Csr, MemoryMap
from hw.operations import NONE, REGISTER, EdgeTest, GatherSetting, InputMode
from hw.scu.registers import ScuCommand, ScuCompare, ScuError, ScuOperation, ScuOutput, ScuRegister

from sim import cache, toolchain
from sim.errors import BuildError, ToolError

from .decode import names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


__all__ = ["header", "library", "unit_number", "units"]


MODEL = pathlib.Path(__file__).parent / "model"

#: The units that hand out edges, each in a file, by the name of the variant.
UNITS = [name for name in VARIANTS if (MODEL / "units" / f"{name}.h").exists()]

#: Lanes for which the cores are compiled. A warp of fewer lanes leaves some of them idle.
LANES = (8, 16, 32)

FLAGS = ["-std=c++17", "-O3", "-fPIC", "-w", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
LINK_FLAGS = ["-shared", "-fPIC"]


def header() -> str:
    """The text of ``isa.h``: the numbers that C++ and Python share."""
    parts = ["#pragma once", "#include <cstdint>",
             "enum class Op : std::uint8_t { " + ", ".join(names()) + " };"]
    values: dict[str, Mapping[str, int]] = {
        name: {each: int(value) for each, value in kind.__members__.items()}
        for name, kind in (
            ("cause", Cause), ("csr", Csr), ("setting", GatherSetting), ("input_mode", InputMode),
            ("edge_test", EdgeTest),
            ("scu_register", ScuRegister), ("scu_operation", ScuOperation),
            ("scu_output", ScuOutput), ("scu_compare", ScuCompare), ("scu_error", ScuError),
            ("scu_command", ScuCommand))}
    values |= {"memory_map": {"LOCAL": MemoryMap.LOCAL, "GLOBAL": MemoryMap.GLOBAL,
                              "UNMAPPED": UNMAPPED},
               "abi": {"STACK_POINTER": STACK_POINTER},
               "gather_answer": {"NONE": NONE, "REGISTER": REGISTER}}
    for name, constants in values.items():
        parts.append(f"namespace {name} {{ constexpr std::uint32_t " + ", ".join(
            f"{constant} = {value:#x}" for constant, value in constants.items()) + "; }")
    return "\n".join(parts) + "\n"


def units() -> str:
    """The text of ``units.h``: the function that makes the unit of a configuration."""
    return "\n".join([
        "#pragma once", '#include "gather.h"', *(f'#include "units/{name}.h"' for name in UNITS),
        "std::unique_ptr<GatherUnit> make_gather_unit(const Config& config,"
        " const Memory& memory) {",
        "    switch (config.gather) {",
        *(f"    case {unit_number(name)}: return make_{name}(config, memory);" for name in UNITS),
        "    default: return nullptr;", "    }", "}", ""])


def unit_number(name: str) -> int:
    """The number of a unit in C++, 0 for ``"none"``. Raises ConfigError for a unit without a
    model there."""
    if name != "none" and name not in UNITS:
        raise ConfigError(f"HardwareConfig: gather = {name!r}: the functional simulator has no "
                          f"such unit; must be {' or '.join(map(repr, ('none', *UNITS)))}")
    return 0 if name == "none" else 1 + UNITS.index(name)


def library(report: Callable[[str], object] | None = None) -> pathlib.Path:
    """The path of the shared library, built if need be.

    Parameters
    ----------
    report : callable, optional
        Called with a line of text before something that takes time.

    Raises
    ------
    BuildError
        With the end of the output of the compiler.
    sim.errors.ToolError
        There is no compiler.
    """
    tool, texts = toolchain.compiler(), {"isa.h": header(), "units.h": units()}
    sources = [part for path in sorted(MODEL.rglob("*.*"))
               for part in (path.name, path.read_bytes())]
    key = cache.hashed(*sources, *texts.values(), pathlib.Path(__file__).read_bytes(),
                       tool.identity)

    def make(work: pathlib.Path) -> None:
        if report is not None:
            report("compiling the functional simulator")
        for name, text in texts.items():
            (work / name).write_text(text)
        files = [("library", [])] + [(f"core_{lanes}", [f"-DLANES={lanes}"]) for lanes in LANES]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            jobs = [pool.submit(_compile, tool, work, name, defines) for name, defines in files]
            objects = [job.result() for job in jobs]
        _run(tool, [*tool.link, *LINK_FLAGS, *objects, "-o", work / "functional.so"],
             work / "functional.so")
        for path in objects:
            path.unlink()

    return cache.entry("functional", key, make, what="functional simulator") / "functional.so"


def _compile(tool, work, name, defines):
    """Compiles one file into an object file."""
    target = work / f"{name}.o"
    return _run(tool, [*tool.command, *FLAGS, *defines, "-I", work, "-I", MODEL, "-c",
                       MODEL / f"{name.partition('_')[0]}.cpp", "-o", target], target)


def _run(tool, command, target):
    """Runs the compiler, which has to make a file."""
    try:
        done = subprocess.run([str(word) for word in command], env=tool.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, errors="replace")
    except OSError as error:
        raise BuildError(f"the functional simulator: cannot run {command[0]}: "
                         f"{error.strerror}") from None
    if done.returncode:
        raise BuildError(f"compiling the functional simulator failed with exit code "
                         f"{done.returncode}:\n{done.stdout[-4000:]}")
    if not target.exists():
        raise ToolError(f"{command[0]} is no C++ compiler: it made no {target.name}; install g++ "
                        "or clang++, or correct CXX")
    return target
