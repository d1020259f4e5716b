"""Builds the shared library that simulates one Verilog text, once: what is built is cached.

The cache is by content. The name of a library is a hash of everything that goes into it: the
Verilog, the C++ harness, this file, Verilator's version, the compiler's own description and the
kind of processor. Nothing is compiled for the exact processor it runs on, so that a cache folder
may be shared between machines. A build happens in a temporary folder beside its place and is
renamed when it is complete; a lock makes a second process wait for the first instead of doing the
same work, and dies with its process.

Neither make nor Perl is used: ``verilator_bin`` writes C++ files, and these, the harness and
Verilator's run-time are compiled here, as many at once as there are processors.
"""

import concurrent.futures
import contextlib
import dataclasses
import functools
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

from hw.config import HardwareConfig

from . import toolchain, wrapper
from .errors import BuildError


__all__ = ["WAVE_FORMATS", "board_library", "board_verilog", "gpu_verilog", "library"]


#: Formats of waves, by the end of the file's name.
WAVE_FORMATS = ("fst", "vcd")

HARNESS = pathlib.Path(__file__).parent / "harness"

VERILATOR_FLAGS = ["--cc", "-O3",
                   "--x-assign", "fast", "--x-initial", "fast", "--no-timing",
                   "--timescale", "1ns/1ns", "--output-split", "20000",
                   "--output-split-cfuncs", "2000", "-Wno-fatal", "-Wno-lint", "-Wno-style"]

COMPILE_FLAGS = ["-std=c++17", "-fPIC", "-w", "-pthread", "-fvisibility=hidden",
                 "-fvisibility-inlines-hidden", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0"]
FAST = ["-O2"]    # what runs every cycle
WAVES = ["-O1"]   # what writes waves: runs as fast as with -O2, and builds in a fifth less time
SLOW = ["-O0"]    # what runs once
LINK_FLAGS = ["-shared", "-fPIC", "-pthread"]

#: Bytes of C++ that are compiled as one file, unless there are not so many processors.
UNIT_BYTES = 400_000


def _hash(*parts):
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def _files(folder, pattern):
    """Names and contents of files, in a fixed order."""
    for path in sorted(folder.rglob(pattern)):
        if path.is_file():
            yield str(path.relative_to(folder))
            yield path.read_bytes()


@contextlib.contextmanager
def _lock(path):
    """Holds a lock file, where the platform has locks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        try:
            import fcntl
            fcntl.flock(file, fcntl.LOCK_EX)
        except (ImportError, OSError):
            pass    # both then do the work, and the first to finish wins
        yield


def _run(command, *, what, **options):
    try:
        done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", **options)
    except OSError as error:
        raise BuildError(f"{what}: cannot run {command[0]}: {error.strerror}") from None
    if done.returncode:
        raise BuildError(f"{what} failed with exit code {done.returncode}:\n"
                         f"{done.stdout[-4000:]}")


def gpu_verilog(config: HardwareConfig) -> tuple[str, ...]:
    """The Verilog of a GPU, kept in the cache: all of it, or if it has several cores, its parts.

    One core is simulated faster in one model with the rest of the GPU, several in models of their
    own. The key is the whole of ``hw``, the configuration and the version of Amaranth.
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
    """Texts of these names, which `make` makes if the cache does not have them."""
    import amaranth
    import hw

    fields = dataclasses.asdict(config.replace(name=""))
    key = _hash(*_files(pathlib.Path(hw.__file__).parent, "*.py"), sorted(fields.items()),
                amaranth.__version__, *more)
    folder = toolchain.cache_dir() / "verilog"
    paths = [folder / f"{key}.{name}.v" for name in names]
    with contextlib.suppress(OSError):
        return tuple(path.read_text() for path in paths)
    texts = make()
    for path, text in zip(paths, texts):
        toolchain.write_atomically(path, text)
    return texts


def _checked(verilog):
    """Verilog whose assertions stop the simulation without asking whether they are switched on."""
    return re.sub(r"(?m)^(\s*)assert \((.*)\);$", r"\1if (!(\2)) $stop;", verilog)


def library(verilog, config: HardwareConfig, *, waves: str | None = None,
            assertions: bool = True, report=None) -> pathlib.Path:
    """The path of the shared library that simulates a GPU, built if need be.

    Parameters
    ----------
    verilog : tuple of str
        The GPU, in a module ``graphloom_gpu`` with the ports of :class:`hw.top.FlatGpu`; or that
        without its cores, and a core (:func:`hw.top.parts`).
    config : HardwareConfig
        What it is the Verilog of.
    waves : str or None
        Whether it can write waves, and in which of :data:`WAVE_FORMATS`.
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
    defines = [f"-DGPU_LINE_BYTES={config.line_bytes}"]
    if assertions:
        verilog = [_checked(text) for text in verilog]
    gpu, *core = verilog
    sources = {"gpu.v": wrapper.gpu_top(config, cores=not core) + gpu}
    if core:
        sources |= {"core.v": wrapper.core_top(config) + core[0],
                    "links.h": wrapper.links(config)}
    defines.append(f"-DGPU_CORES={config.cores if core else 0}")
    if config.trace:
        defines += [f"-DGPU_TRACE_CORES={config.cores}", f"-DGPU_TRACE_LANES={config.threads}",
                    f"-DGPU_TRACE_WARPS={config.warps}"]
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
        What its GPU is.
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
    defines = [f"-DGPU_LINE_BYTES={config.line_bytes}", f"-DBOARD_DIVISOR={divisor}",
               *["-DBOARD_SDRAM"] * sdram]
    return _library({"board.v": _checked(verilog)}, {"board": "graphloom_board"},
                    HARNESS / "board.cpp", [*VERILATOR_FLAGS, "--assert"], defines, None, report)


def _library(sources, tops, main, flags, defines, waves, report):
    """The library of models, each a source ``NAME.v`` with a top module, and a main file."""
    compiler = _Compiler(toolchain.verilator(), waves)
    key = _hash(*sources.items(), *_files(HARNESS, "*.h"), main.read_bytes(),
                pathlib.Path(__file__).read_bytes(), flags, defines, compiler.identity)
    folder = toolchain.cache_dir() / "simulators"
    place = folder / key
    result = place / "gpu.so"
    if not result.exists():
        with _lock(folder / f"{key}.lock"):
            if not result.exists():
                _build(place, sources, tops, main, flags, defines, compiler,
                       report or (lambda text: None))
                toolchain.forget_unused(folder)
    with contextlib.suppress(OSError):
        os.utime(place)
    return result


#: What every file of a model begins with, and the headers of Verilator that most of them read.
_COMMON, _HEADERS = "common.h", '#include "print.h"\n#include "verilated.h"\n'


class _Compiler:
    """The C++ compiler with the flags of one build."""

    def __init__(self, verilator, waves):
        self.verilator, self.waves = verilator, waves
        self.command = toolchain.compiler()
        defines = [f"-DVM_TRACE_{waves.upper()}=1", "-DVM_TRACE=1"] if waves else []
        fst = ["-I", HARNESS / "fst"] if waves == "fst" else []
        self.flags = [*COMPILE_FLAGS, *defines, "-I", HARNESS, *fst, "-isystem",
                      verilator.include, "-isystem", verilator.include / "vltstd"]
        self.identity = _hash(verilator.version, toolchain.compiler_identity(),
                              platform.system(), platform.machine(), COMPILE_FLAGS, defines)
        self.runtime = ["verilated.cpp", "verilated_threads.cpp"]
        if waves:
            self.runtime.append(f"verilated_{waves}_c.cpp")

    def compile(self, source, target, optimize, *more):
        """Compiles one file into an object file."""
        _run([*self.command, "-include", self.headers, *self.flags, *more, *optimize, "-c", source,
              "-o", target], what=f"compiling {source.name}")
        return target

    @functools.cached_property
    def headers(self):
        """The headers that every file begins with, in the cache; if the compiler is GCC, compiled,
        which takes a second off each file. Not for waves: those are over 100 MB, for few builds."""
        key = _hash(_HEADERS, (HARNESS / "print.h").read_bytes(), self.identity, FAST, SLOW)
        folder = toolchain.cache_dir() / "runtime" / key
        with _lock(folder.with_suffix(".lock")):
            if not folder.exists():
                with tempfile.TemporaryDirectory(dir=folder.parent) as work:
                    header = pathlib.Path(work) / "made" / _COMMON
                    header.parent.mkdir()
                    header.write_text(_HEADERS)
                    for option, place in ([] if self.waves else
                                          toolchain.precompiled(header, (*FAST, *SLOW))):
                        _run([*self.command, *self.flags, option, "-x", "c++-header", header, "-o",
                              place], what=f"compiling {_COMMON}")
                    os.replace(header.parent, folder)
                toolchain.forget_unused(folder.parent)
        with contextlib.suppress(OSError):
            os.utime(folder)
        return folder / _COMMON

    def compile_runtime(self, name):
        """An object file of Verilator's run-time, from the cache if it is there."""
        source = self.verilator.include / name
        key = _hash(name, source.read_bytes(), *_files(HARNESS, "*.h"), self.identity, FAST)
        target = toolchain.cache_dir() / "runtime" / f"{key}.o"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=target.parent, suffix=".o")
            os.close(handle)
            try:
                self.compile(source, temporary, FAST)
                os.replace(temporary, target)
            finally:
                pathlib.Path(temporary).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            os.utime(target)
        return target


def _build(place, sources, tops, main, flags, defines, compiler, report):
    """Builds into a temporary folder and renames it to its place. Needs the lock of the key."""
    for left in place.parent.glob(f"{place.name}.*.tmp"):
        shutil.rmtree(left, ignore_errors=True)
    work = pathlib.Path(tempfile.mkdtemp(dir=place.parent, prefix=f"{place.name}.",
                                         suffix=".tmp"))
    try:
        report("translating the hardware with Verilator")
        for name, text in sources.items():
            (work / name).write_text(text)
        _translate(compiler.verilator, work, tops, flags)
        report("compiling the simulator")
        objects = _compile_all(compiler, work, main, defines)
        _run([*compiler.command, *LINK_FLAGS, *objects, "-o", work / "gpu.so"], what="linking")
        shutil.rmtree(work / "cc")
        for file in (*work.glob("*.o"), *work.glob("*.cpp")):
            file.unlink()
        if place.exists():
            shutil.rmtree(place)    # left incomplete by something else than this function
        os.replace(work, place)
    except OSError as error:
        if not (place / "gpu.so").exists():
            raise BuildError(f"cannot build in {place.parent}: {error}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _translate(verilator, work, tops, flags):
    """Has Verilator write the C++ of each model."""
    def translate(model):
        _run([verilator.path, *flags, "--prefix", f"V{model}", "--top-module", tops[model],
              "--Mdir", "cc", f"{model}.v"], what="Verilator", cwd=work,
             env=verilator.environment)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(translate, tops))


def _units(work, main):
    """What to compile: source, object file and flags.

    Verilator's files are many, and those of a model begin with the same long headers: so they are
    joined as long as the result is not too large, and never cut in more than can be compiled at
    once.
    """
    yield main, work / f"{main.stem}.o", FAST
    groups = {}
    for path in sorted((work / "cc").glob("*.cpp")):
        kind = ("slow" if "__Slow" in path.name else
                "waves" if "__Trace__" in path.name else "fast")
        groups.setdefault((path.name.partition("_")[0].removesuffix(".cpp"), kind), []).append(path)
    for (model, kind), paths in groups.items():
        sizes = {path: path.stat().st_size for path in paths}
        count = min(-(-sum(sizes.values()) // UNIT_BYTES), os.cpu_count() or 1, len(paths))
        parts = [[] for _ in range(count)]
        for path in sorted(paths, key=sizes.get, reverse=True):
            min(parts, key=lambda part: sum(map(sizes.get, part))).append(path)
        for index, part in enumerate(parts):
            unit = work / f"{model}_{kind}{index}.cpp"
            unit.write_text("".join(f'#include "{path.name}"\n' for path in sorted(part)))
            yield unit, unit.with_suffix(".o"), {"fast": FAST, "waves": WAVES, "slow": SLOW}[kind]


def _compile_all(compiler, work, main, defines):
    """Compiles everything at once and returns the object files; stops at the first failure."""
    generated = ["-I", work / "cc", "-I", work]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = [pool.submit(compiler.compile, source, target, flags, *defines, *generated)
                for source, target, flags in _units(work, main)]
        jobs += [pool.submit(compiler.compile_runtime, name) for name in compiler.runtime]
        try:
            return [job.result() for job in jobs]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
