"""Builds the simulator of a configuration as WebAssembly, for the live page. The cache keeps it.

The Verilog, the harness and the DRAM model are those of :mod:`sim.build`. The hardware has its
trace port, and the signals of :mod:`sim.inside` are visible. Neither changes a cycle. The Clang of
the ``ziglang`` wheel compiles, with the C and C++ library that it brings for ``wasm32-wasi``.

The module has no imports but those of WASI, which a page can answer with 0. It exports the
functions of ``harness/harness.cpp`` and ``harness/page.cpp``, ``malloc`` and its memory.
"""

import concurrent.futures
import dataclasses
import gzip
import inspect
import os
import pathlib
import shutil

from hw.config import ConfigError, HardwareConfig

from . import build, cache, inside, toolchain, wrapper
from .errors import ToolError


__all__ = ["Module", "module", "page_config"]


_EXPORTS = ("gl_create", "gl_power_on", "gl_write", "gl_read", "gl_run", "gl_error", "gl_report",
            "gl_clear_lines", "gl_place_slow", "pg_last_words", "pg_view", "pg_inside", "pg_watch",
            "malloc")

#: ``-fignore-exceptions``: a ``throw`` calls ``__cxa_throw``, which harness/page.cpp has.
_FLAGS = ["-target", "wasm32-wasi", "-std=c++17", "-w", "-fignore-exceptions",
          "-fno-sanitize=undefined", "-ffp-contract=off", "-mbulk-memory", "-msimd128",
          "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0", "-DVL_IGNORE_UNKNOWN_ARCH",
          "-DCLOCK_PROCESS_CPUTIME_ID=CLOCK_MONOTONIC", "-DVL_NO_LEGACY", "-Dthread_local=",
          "-DGPU_PAGE"]

#: Code that runs once. Without optimization, Clang takes minutes for its large functions.
_SLOW = ["-O1"]

#: Size at which Verilator splits a function.
_SPLIT = 8_000

#: Bytes of the module's memory beside the GPU's, for the model, the ring and the overview.
_ROOM = 24 << 20


@dataclasses.dataclass(frozen=True)
class Module:
    """A simulator as WebAssembly.

    Parameters
    ----------
    path : pathlib.Path
        The module, compressed by gzip.
    inside : list of dict
        The visible signals (:meth:`sim.inside.ShownSignal.to_json`), in the order of ``pg_inside``.
    """
    path: pathlib.Path
    inside: list


def page_config(config: HardwareConfig) -> HardwareConfig:
    """The configuration with the trace port. Raises ConfigError for several cores."""
    if config.cores > 1:
        raise ConfigError(f"HardwareConfig: cores = {config.cores}: the live page shows one core; "
                          "must be 1")
    return config.replace(trace=True, name=config.name)


def module(config: HardwareConfig, report=None) -> Module:
    """The simulator of a configuration, built if need be.

    Parameters
    ----------
    config : HardwareConfig
    report : callable, optional
        Called with a line of text before something that takes time.

    Raises
    ------
    BuildError
        With the end of the output of the program that failed.
    ConfigError
        If there are several cores.
    ToolError
        If there is no ``ziglang`` for this platform.
    """
    config = page_config(config)
    verilog, = build.gpu_verilog(config)
    verilog, found = inside.marked(build._checked(verilog), config)
    source = wrapper.gpu_top(config, cores=True) + verilog
    place = cache.entry("wasm", _key(source, config),
                        lambda work: _build(work, source, config, found,
                                            report or (lambda text: None)),
                        what="simulator for the browser")
    return Module(place / "gpu.wasm.gz", [signal.to_json() for signal in found])


def _defines(config):
    return [f"-DGPU_LINE_BYTES={config.line_bytes}", "-DGPU_CORES=0", "-DGPU_TRACE_CORES=1",
            f"-DGPU_TRACE_LANES={config.threads}", f"-DGPU_TRACE_WARPS={config.warps}",
            f"-DGPU_TRACE_DELAY={3 if config.long else 1}"]


def _key(source, config):
    """The name of the module in the cache."""
    own = pathlib.Path(__file__)
    return cache.hashed(
        source, *build.files(build.HARNESS, "*.h"), *build.files(build.HARNESS, "*.cpp"),
        own.read_bytes(), inspect.getsource(inside.header), build.VERILATOR_FLAGS,
        _defines(config), toolchain.verilator().version, _zig()[1])


def _zig():
    found = toolchain._zig()
    if found is None:
        raise ToolError("no compiler for WebAssembly: there is no ziglang wheel for this platform")
    return found


def _build(work, source, config, found, report):
    """Builds ``gpu.wasm.gz`` in an empty folder."""
    verilator = toolchain.verilator()
    report("translating the hardware with Verilator, for the browser")
    (work / "gpu.v").write_text(source)
    build._translate(verilator, work, {"gpu": wrapper.GPU_TOP}, [
        *build.VERILATOR_FLAGS, "--assert", "--output-split-cfuncs", str(_SPLIT)])
    generated = work / "cc"
    (generated / "inside.h").write_text(
        inside.header((generated / "Vgpu___024root.h").read_text(), found))
    report("compiling the simulator to WebAssembly")
    flags = [*_FLAGS, *_defines(config), "-include", build.HARNESS / "wasi.h",
             "-include", build.HARNESS / "print.h", "-I", build.HARNESS, "-I", generated,
             "-isystem", verilator.include, "-isystem", verilator.include / "vltstd"]
    objects = _compile(work, flags, [
        (build.HARNESS / "page.cpp", build.FAST), (verilator.include / "verilated.cpp", build.FAST),
        *_units(work)])
    memory = config.memory_bytes + _ROOM
    _run("-target", "wasm32-wasi", "-mexec-model=reactor", "-O2", "-s", *objects,
         *(f"-Wl,--export={name}" for name in _EXPORTS), f"-Wl,--initial-memory={memory}",
         "-o", work / "gpu.wasm", what="linking the simulator")
    (work / "gpu.wasm.gz").write_bytes(
        gzip.compress((work / "gpu.wasm").read_bytes(), compresslevel=9, mtime=0))
    shutil.rmtree(generated)
    for name in (*work.glob("*.o"), *work.glob("*.cpp"), work / "gpu.wasm", work / "gpu.v"):
        name.unlink()


def _units(work):
    """Sources that each join the files of one kind, and their flags."""
    kinds = {"fast": build.FAST, "slow": _SLOW}
    parts = {kind: [] for kind in kinds}
    for path in sorted((work / "cc").glob("*.cpp")):
        parts["slow" if "__Slow" in path.name else "fast"].append(path.name)
    for kind, names in parts.items():
        unit = work / f"{kind}.cpp"
        unit.write_text("".join(f'#include "{name}"\n' for name in names))
        yield unit, kinds[kind]


def _compile(work, flags, sources):
    """Compiles the sources at once, and returns the object files."""
    def one(source, optimize):
        target = work / f"{source.stem}.o"
        _run(*flags, *optimize, "-c", source, "-o", target, what=f"compiling {source.name}")
        return target

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(one, *zip(*sources)))


def _run(*arguments, what):
    """Runs ``zig c++``, with its own cache in Graphloom's."""
    store = str(cache.folder("toolchain") / "zig")
    build._run([_zig()[0], "c++", *arguments], what=what,
               env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": store, "ZIG_LOCAL_CACHE_DIR": store})
