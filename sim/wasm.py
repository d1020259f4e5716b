"""Builds the simulator of a configuration as WebAssembly, for the live page. The cache keeps it.

The model, the harness and the DRAM model are those of :mod:`sim.compiled`. The hardware has its
trace port, and the signals of :mod:`sim.inside` are visible. Neither changes a cycle. The Clang of
the ``ziglang`` wheel compiles, with the headers that it brings for ``wasm32-wasi``. The few
functions of the C library that are needed are in ``harness/heap.h``.

The module has no imports. It exports the functions of ``harness/harness.cpp`` and
``harness/page.cpp``, ``_initialize``, which comes before all others, ``malloc`` and its memory.
"""

import concurrent.futures
import dataclasses
import gzip
import json
import os
import pathlib

from hw.config import ConfigError, HardwareConfig
from hw.elaboration import elaborating

from . import build, cache, compiled, inside, toolchain
from .errors import BuildError, ToolError


__all__ = ["Module", "linked", "module", "page_config"]


_EXPORTS = ("gl_create", "gl_power_on", "gl_write", "gl_read", "gl_run", "gl_error", "gl_report",
            "gl_clear_lines", "gl_place_slow", "gl_message", "pg_view", "pg_inside", "pg_watch",
            "pg_count", "malloc", "_initialize")

_FLAGS = ["-target", "wasm32-wasi", "-std=c++17", "-O2", "-w", *compiled.ALONE,
          "-fno-sanitize=undefined", "-ffp-contract=off", "-mbulk-memory", "-msimd128",
          "-Dthread_local="]

#: Bytes of the module's memory beside the GPU's, for the model, the ring and the overview.
_ROOM = 24 << 20

_STACK = 1 << 20


@dataclasses.dataclass(frozen=True)
class Module:
    """A simulator as WebAssembly."""
    path: pathlib.Path  #: The module, compressed by gzip.
    #: The visible signals (:meth:`sim.inside.ShownSignal.to_json`), in the order of ``pg_inside``.
    inside: list[dict]


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
    folder = cache.entry(
        "models", _model_key(config), lambda work: _translate(work, config, report),
        what="C++ of the hardware")
    key = cache.hashed(
        *build.files(folder, "*"), *build.files(build.HARNESS, "*.h"),
        *build.files(build.HARNESS, "*.cpp"), pathlib.Path(__file__).read_bytes(),
        _defines(config), _zig()[1])
    place = cache.entry("wasm", key, lambda work: _build(work, folder, config, report),
                        what="simulator for the browser")
    return Module(place / "gpu.wasm.gz", json.loads((folder / "inside.json").read_text()))


def _model_key(config):
    return compiled.key(config, pathlib.Path(inside.__file__).read_bytes(), "live page")


def _translate(work, config, report):
    """Writes the C++ of the hardware, with the shown signals as outputs."""
    if report is not None:
        report("translating the hardware for the browser")
    with elaborating():
        netlist = compiled.whole(config)
        found = inside.found_in(netlist, config)
        compiled.write_model(work, "gpu", netlist)
    (work / "inside.h").write_text(inside.header(found))
    (work / "inside.json").write_text(json.dumps([signal.to_json() for signal in found]))


def _defines(config):
    return [*build.harness_defines(config, 0), "-DCOMPILED", "-DGPU_PAGE",
            f"-DGPU_TRACE_DELAY={3 if config.long else 1}"]


def _zig():
    found = toolchain.ziglang()
    if found is None:
        raise ToolError("no compiler for WebAssembly: there is no ziglang wheel for this platform")
    return found


def _build(work, folder, config, report):
    """Builds ``gpu.wasm.gz`` in an empty folder."""
    if report is not None:
        report("compiling the simulator to WebAssembly")
    text = linked(work, [build.HARNESS / "page.cpp", *sorted(folder.glob("*.cpp"))],
                  [*_defines(config), "-I", folder], _EXPORTS, config.memory_bytes + _ROOM)
    (work / "gpu.wasm.gz").write_bytes(gzip.compress(text, compresslevel=9, mtime=0))


def linked(work, sources, flags, exports, memory) -> bytes:
    """A module of WebAssembly, made in a folder that is empty again afterwards.

    Parameters
    ----------
    work : pathlib.Path
    sources : list of pathlib.Path
        C++, of which one file includes ``harness/heap.h``.
    flags : list
        Options of the compiler, in addition to those of all modules.
    exports : iterable of str
        Names of functions.
    memory : int
        Bytes of memory at first.

    Raises
    ------
    BuildError
        With the end of the output of the program that failed.
    """
    objects = _compile(work, [*_FLAGS, "-I", build.HARNESS, *flags], sources)
    target = work / "linked.wasm"
    _run("wasm-ld", "--no-entry", "--strip-all", "--stack-first", "-z", f"stack-size={_STACK}",
         *objects, *(f"--export={name}" for name in exports), f"--initial-memory={memory}",
         "-o", target, what="linking the simulator")
    text = target.read_bytes()
    for path in (*objects, target):
        path.unlink()
    return text


def _compile(work, flags, sources):
    """Compiles the sources at once, and returns the object files."""
    def one(source):
        target = work / f"{source.stem}.o"
        command = [*flags, "-c", source, "-o", target]
        try:
            _run("c++", *command, what=f"compiling {source.name}")
        except BuildError:
            # Clang 22 ends with an error of its own on some of the vectors that it makes.
            _run("c++", *command, "-fno-slp-vectorize", what=f"compiling {source.name}")
        return target

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(one, sources))


def _run(driver, *arguments, what):
    """Runs a program of ``zig``, with its own cache in Graphloom's."""
    store = str(cache.folder("toolchain") / "zig")
    build._run([_zig()[0], driver, *arguments], what=what,
               env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": store, "ZIG_LOCAL_CACHE_DIR": store})
