"""Builds the shared library that simulates a Verilog text, with Verilator. The cache keeps the
library.

This library writes waves, and simulates boards and Verilog from elsewhere. All other simulation
has the library of :mod:`sim.compiled`, which is faster.

The key of a library in the cache (:mod:`sim.cache`) is a hash of everything that goes into it: the
Verilog, the C++ harness, this file, Verilator's version and the identity of the compiler. Clang
compiles for the exact processor that it runs on. The compiler's identity then has the kind of
processor, so machines may share a cache folder.

Neither make nor Perl is used: ``verilator_bin`` writes C++ files, and these, the harness and
Verilator's run-time are compiled here, as many at once as there are processors.
"""

import concurrent.futures
import dataclasses
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
from typing import Any

from hw.config import ConfigError, HardwareConfig
from hw.gather.variants import source

from . import cache, toolchain, wrapper
from .errors import BuildError, ToolError


__all__ = ["HARNESS", "WAVE_FORMATS", "SimulatorCompiler", "board_library", "board_verilog",
           "compile_all", "fast", "files", "gpu_verilog", "harness_defines", "library"]


#: Formats of waves, by the end of the file's name.
WAVE_FORMATS = ("fst", "vcd")

HARNESS = pathlib.Path(__file__).parent / "harness"

VERILATOR_FLAGS = ["--cc", "-O3",
                   "--x-assign", "fast", "--x-initial", "fast", "--no-timing",
                   "--timescale", "1ns/1ns", "--output-split", "20000",
                   "-Wno-fatal", "-Wno-lint", "-Wno-style"]

#: Size at which Verilator splits a function. Clang makes faster code of larger functions; GCC does
#: not.
SPLIT, CLANG_SPLIT = 2_000, 8_000

COMPILE_FLAGS = ["-std=c++17", "-fPIC", "-w", "-pthread", "-fvisibility=hidden",
                 "-fvisibility-inlines-hidden", "-ffp-contract=off", "-DVM_COVERAGE=0",
                 "-DVM_SC=0", "-DVM_TIMING=0"]
SLOW = ["-O0"]    # code that runs once
LINK_FLAGS = ["-shared", "-fPIC", "-pthread"]

#: Bytes of C++ that are compiled as one file. Files are larger if there are fewer processors.
UNIT_BYTES = 400_000


_VARIABLE = "GRAPHLOOM_OPTIMIZE"


def fast() -> list:
    """The option of optimization for code that runs every cycle.

    The environment variable ``GRAPHLOOM_OPTIMIZE`` gives the level, 0 to 2; without it, 2. Raises
    ConfigError for another level.
    """
    level = os.environ.get(_VARIABLE, "")
    if level not in ("", "0", "1", "2"):
        raise ConfigError(f"environment variable {_VARIABLE}: unknown level {level!r}; must be 0, "
                          "1 or 2")
    return [f"-O{level or 2}"]


def _waves():
    """The option for code that writes waves: with -O1 it is as fast as with -O2, and built in a
    fifth less time."""
    return [min(*fast(), "-O1")]


def harness_defines(config: HardwareConfig, cores: int) -> list:
    """The definitions for ``harness.cpp`` with a number of cores that are models of their own."""
    ports = ",".join(f"PINS({name})" for name in config.port_names("mem"))
    defines = [*_line_defines(config), f"-DGPU_CORES={cores}", f"-DGPU_PORTS={ports}"]
    if config.trace:
        defines += [f"-DGPU_TRACE_CORES={config.cores}", f"-DGPU_TRACE_LANES={config.threads}",
                    f"-DGPU_TRACE_WARPS={config.warps}"]
    return defines


def _line_defines(config):
    return [f"-DGPU_LINE_BYTES={config.line_bytes}",
            f"-DGPU_SECTOR_BYTES={config.line_bytes // config.sectors}"]


def files(folder, pattern):
    """Names and contents of files, in a fixed order."""
    for path in sorted(folder.rglob(pattern)):
        if path.is_file():
            yield str(path.relative_to(folder))
            yield path.read_bytes()


def _run(command, *, what, text_in="", **options):
    try:
        done = subprocess.run([str(part) for part in command], input=text_in,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, errors="replace", **options)
    except OSError as error:
        raise BuildError(f"{what}: cannot run {command[0]}: {error.strerror}") from None
    if done.returncode:
        how = (f"failed with exit code {done.returncode}" if done.returncode > 0 else
               f"was ended by a signal: {signal.strsignal(-done.returncode)}")
        raise BuildError(f"{what} {how}:\n{done.stdout[-4000:]}")


def gpu_verilog(config: HardwareConfig) -> tuple[str, ...]:
    """The Verilog of a GPU, kept in the cache: one text, or several parts if there are several
    cores.

    A single core is simulated faster in one model with the rest of the GPU, several cores in models
    of their own. The key is the whole of ``hw``, the configuration and the version of Amaranth.
    """
    def make():
        from hw import top
        return (top.verilog(config),) if config.cores == 1 else top.parts(config)
    return _verilog(("gpu",) if config.cores == 1 else ("uncore", "core"), make, config)


def board_verilog(config: HardwareConfig, divisor, clock_hz, *, sdram) -> str:
    """The Verilog of a board (:mod:`hw.link.flat`), kept in the cache."""
    def make():
        from hw.link import flat
        return (flat.verilog(config, divisor, clock_hz, sdram=sdram),)
    return _verilog(("board",), make, config, divisor, clock_hz, sdram)[0]


def _verilog(names, make, config, *more):
    """The texts with these names, which `make` makes if the cache does not have them."""
    import amaranth
    import hw

    fields = dataclasses.asdict(config.replace(name=""))
    key = cache.hashed(*files(pathlib.Path(hw.__file__).parent, "*.py"), source(config.gather),
                       sorted(fields.items()), amaranth.__version__, *more)

    def write(work):
        for name, text in zip(names, make(), strict=True):
            (work / f"{name}.v").write_text(text)
    place = cache.entry("verilog", f"{'-'.join(names)}-{key}", write, what="Verilog")
    return tuple((place / f"{name}.v").read_text() for name in names)


def _checked(verilog):
    """Verilog whose assertions always stop the simulation, without a test of a switch."""
    return re.sub(r"(?m)^(\s*)assert \((.*)\);$", r"\1if (!(\2)) $stop;", verilog)


def library(verilog, config: HardwareConfig, *, waves: str | None = None,
            assertions: bool = True, report=None) -> pathlib.Path:
    """The path of the shared library that simulates a GPU, built if need be.

    Parameters
    ----------
    verilog : tuple of str
        The GPU, in a module ``graphloom_gpu`` with the ports of :class:`hw.top.FlatGpu`. Or the GPU
        without its cores, and a core (:func:`hw.top.parts`).
    config : HardwareConfig
        The configuration from which `verilog` was generated.
    waves : str or None
        The format in which it can write waves, one of :data:`WAVE_FORMATS`; None for no waves.
    assertions : bool
        Whether assertions of the RTL are checked.
    report : callable or None
        Called with a line of text before something that takes time.

    Raises
    ------
    BuildError
        With the end of the output of the program that failed.
    """
    if waves is not None and waves not in WAVE_FORMATS:
        raise ValueError(f"waves are {' or '.join(WAVE_FORMATS)}, not {waves!r}")
    flags = [*VERILATOR_FLAGS, "--assert" if assertions else "--no-assert"]
    if assertions:
        verilog = [_checked(text) for text in verilog]
    gpu, *core = verilog
    sources = {"gpu.v": wrapper.gpu_top(config, cores=not core) + gpu}
    if core:
        sources |= {"core.v": wrapper.core_top(config) + core[0],
                    "links.h": wrapper.links(config)}
    defines = harness_defines(config, len(core) * config.cores)
    if waves:
        flags += [f"--trace-{waves}", "--trace-structs"]
        defines.append(f"-DWAVE_{waves.upper()}")
    tops = {"gpu": wrapper.GPU_TOP, **({"core": wrapper.CORE_TOP} if core else {})}
    return _library(sources, tops, HARNESS / "harness.cpp", flags, defines, waves, report)


def board_library(verilog, config: HardwareConfig, divisor, *, sdram,
                  report=None) -> pathlib.Path:
    """The path of the shared library that simulates a board, built if need be.

    Parameters
    ----------
    verilog : str
        The board, in a module ``graphloom_board`` with the ports of a class of
        :mod:`hw.link.flat`.
    config : HardwareConfig
        The configuration of its GPU.
    divisor : int
        Cycles of a bit on its line.
    sdram : bool
        Whether it has the pins of an SDRAM, or a memory port.
    report : callable or None
        Called with a line of text before something that takes time.

    Raises
    ------
    BuildError
        With the end of the output of the program that failed.
    """
    defines = [*_line_defines(config), f"-DBOARD_DIVISOR={divisor}", *["-DBOARD_SDRAM"] * sdram]
    return _library({"board.v": _checked(verilog)}, {"board": "graphloom_board"},
                    HARNESS / "board.cpp", [*VERILATOR_FLAGS, "--assert"], defines, None, report)


def _library(sources, tops, main, flags, defines, waves, report):
    """The library of models, each a source ``NAME.v`` with a top module, and a main file."""
    compiler = SimulatorCompiler(toolchain.verilator(), waves)
    flags = [*flags, "--output-split-cfuncs",
             str(CLANG_SPLIT if compiler.tool.family in ("clang", "zig") else SPLIT)]
    key = cache.hashed(*sources.items(), *files(HARNESS, "*.h"), main.read_bytes(),
                       pathlib.Path(__file__).read_bytes(), flags, fast(), defines,
                       compiler.identity)

    def make(work):
        _build(work, sources, tops, main, flags, defines, compiler, report or (lambda text: None))
    return cache.entry("simulators", key, make, what="simulator") / "gpu.so"


#: The header that begins every file of a model, and the headers of Verilator that most files read.
_COMMON, _HEADERS = "common.h", '#include "print.h"\n#include "verilated.h"\n'


class SimulatorCompiler:
    """The C++ compiler with the flags of one build.

    Parameters
    ----------
    verilator : toolchain.Verilator or None
        The Verilator whose headers and run-time the models need; None for models without.
    waves : str or None
    """

    def __init__(self, verilator=None, waves=None):
        self.verilator: Any = verilator
        self.waves = waves
        self.tool = toolchain.compiler()
        defines = [f"-DVM_TRACE_{waves.upper()}=1", "-DVM_TRACE=1"] if waves else []
        fst = ["-I", HARNESS / "fst"] if waves == "fst" else []
        self.flags = [*COMPILE_FLAGS, *defines, "-I", HARNESS, *fst]
        self.identity = cache.hashed(self.tool.identity, COMPILE_FLAGS, defines)
        self.runtime = []
        if verilator is not None:
            self.flags += ["-isystem", verilator.include,
                           "-isystem", verilator.include / "vltstd"]
            self.identity = cache.hashed(verilator.version, self.identity)
            self.runtime = ["verilated.cpp", "verilated_threads.cpp"]
        if waves:
            self.runtime.append(f"verilated_{waves}_c.cpp")

    def run(self, command, target, *, what, **options):
        """Runs the compiler, which has to make a file."""
        _run(command, what=what, env=self.tool.environment, **options)
        if not target.exists():
            raise ToolError(f"{command[0]} is no C++ compiler: {what}, it made no {target.name}; "
                            "install g++ or clang++, or correct CXX")
        return target

    def compile(self, source, target, optimize, *more):
        """Compiles one file into an object file."""
        headers = [] if self.verilator is None else self.tool.include(self.headers, *optimize)
        return self.run([*self.tool.command, *headers,
                         *self.flags, *more, *optimize, "-c", source, "-o", target], target,
                        what=f"compiling {source.name}")

    def link(self, objects, target, *more):
        """Links object files into a shared library."""
        return self.run([*self.tool.link, *LINK_FLAGS, *more, *objects, "-o", target], target,
                        what="linking")

    @functools.cached_property
    def headers(self):
        """The headers that begin every file, in the cache. They are precompiled if the compiler can
        do that, which saves a second per file. Builds with waves are few: for them only the level
        of most files is worth it, and GCC, which would make over 100 MB, makes none."""
        text = _HEADERS + (f'#include "verilated_{self.waves}_c.h"\n' if self.waves else "")
        options = {*fast(), *(() if self.waves else SLOW)}
        if self.waves and self.tool.family == "gcc":
            options = set()
        # A compiled header names the folders of its headers, so those folders are in the key.
        key = cache.hashed(text, (HARNESS / "print.h").read_bytes(), self.identity,
                           sorted(options), HARNESS, self.verilator.include, self.tool.command)

        def make(work):
            header = work / _COMMON
            header.write_text(text)
            for option in options:
                target = self.tool.precompiled(header, option)
                if target is not None:
                    target.parent.mkdir(exist_ok=True)
                    self.run([*self.tool.command, *self.flags,
                              *self.tool.precompile(header, option)], target,
                             what=f"compiling {_COMMON}", text_in=text)
        return cache.entry("runtime", key, make, what="headers of the simulator") / _COMMON

    def compile_runtime(self, name):
        """An object file of Verilator's run-time, from the cache if it is there."""
        source = self.verilator.include / name
        key = cache.hashed(name, source.read_bytes(), *files(HARNESS, "*.h"), self.identity,
                           fast())
        place = cache.entry(
            "runtime", key, lambda work: self.compile(source, work / "runtime.o", fast()),
            what="run-time of the simulator")
        return place / "runtime.o"


def _build(work, sources, tops, main, flags, defines, compiler, report):
    """Builds ``gpu.so`` in an empty folder; the sources stay beside it."""
    report("translating the hardware with Verilator")
    for name, text in sources.items():
        (work / name).write_text(text)
    _translate(compiler.verilator, work, tops, flags)
    report("compiling the simulator")
    objects = compile_all(compiler, _units(work, main),
                          [*defines, "-I", work / "cc", "-I", work])
    compiler.link(objects, work / "gpu.so")
    shutil.rmtree(work / "cc")
    for file in (*work.glob("*.o"), *work.glob("*.cpp")):
        file.unlink()


def _translate(verilator, work, tops, flags):
    """Has Verilator write the C++ of each model."""
    def translate(model):
        _run([verilator.path, *flags, "--prefix", f"V{model}", "--top-module", tops[model],
              "--Mdir", "cc", f"{model}.v"], what="Verilator", cwd=work,
             env=verilator.environment)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(translate, tops))


def _units(work, main):
    """The units to compile: source, object file and flags.

    Verilator writes many files, and the files of a model begin with the same long headers. So files
    are joined as long as the result is not too large. Files of one kind never become more units
    than can be compiled at once.
    """
    levels = {"fast": fast(), "waves": _waves(), "slow": SLOW}
    yield main, work / f"{main.stem}.o", levels["fast"]
    groups = {}
    for path in sorted((work / "cc").glob("*.cpp")):
        kind = ("slow" if "__Slow" in path.name else
                "waves" if "__Trace__" in path.name else "fast")
        groups.setdefault((path.name.partition("_")[0].removesuffix(".cpp"), kind), []).append(path)
    for (model, kind), paths in groups.items():
        sizes = {path: path.stat().st_size for path in paths}
        count = min(-(-sum(sizes.values()) // UNIT_BYTES), os.cpu_count() or 1, len(paths))
        parts = [[] for _ in range(count)]
        for path in sorted(paths, key=sizes.__getitem__, reverse=True):
            min(parts, key=lambda part: sum(map(sizes.__getitem__, part))).append(path)
        for index, part in enumerate(parts):
            unit = work / f"{model}_{kind}{index}.cpp"
            unit.write_text("".join(f'#include "{path.name}"\n' for path in sorted(part)))
            yield unit, unit.with_suffix(".o"), levels[kind]


def compile_all(compiler, units, options) -> list:
    """Compiles everything at once and returns the object files; stops at the first failure.

    Parameters
    ----------
    compiler : SimulatorCompiler
    units : iterable
        ``(source, object file, flags)``.
    options : list
        Options of the command line for all of them.
    """
    if compiler.verilator is not None:
        _ = compiler.headers        # once, before they are needed by many
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = [pool.submit(compiler.compile, source, target, flags, *options)
                for source, target, flags in units]
        jobs += [pool.submit(compiler.compile_runtime, name) for name in compiler.runtime]
        try:
            return [job.result() for job in jobs]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
