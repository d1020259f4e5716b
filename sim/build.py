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
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import time

from hw.config import HardwareConfig
from hw.memory.port import memory_tag_bits

from . import toolchain, trace
from .errors import BuildError


__all__ = ["WAVE_FORMATS", "gpu_verilog", "library"]


#: Formats of waves, by the end of the file's name.
WAVE_FORMATS = ("fst", "vcd")

HARNESS = pathlib.Path(__file__).parent / "harness"

VERILATOR_FLAGS = ["--cc", "--prefix", "Vgpu", "--top-module", "graphloom_harness", "-O3",
                   "--x-assign", "fast", "--x-initial", "fast", "--no-timing",
                   "--timescale", "1ns/1ns", "--output-split", "20000",
                   "--output-split-cfuncs", "2000", "-Wno-fatal", "-Wno-lint", "-Wno-style"]

COMPILE_FLAGS = ["-std=c++17", "-fPIC", "-w", "-pthread", "-fvisibility=hidden",
                 "-fvisibility-inlines-hidden", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0"]
FAST = ["-O2"]    # what runs every cycle
SLOW = ["-O1"]    # what runs once
LINK_FLAGS = ["-shared", "-fPIC", "-pthread"]

#: Bytes of C++ that are compiled as one file.
UNIT_BYTES = 400_000

#: Libraries that nobody loaded for so long are deleted when another is built.
KEEP_SECONDS = 60 * 24 * 3600


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


def gpu_verilog(config: HardwareConfig) -> str:
    """``hw.top.verilog(config)``, kept in the cache.

    The key is the whole of ``hw``, the configuration and the version of Amaranth.
    """
    import amaranth
    import hw

    fields = dataclasses.asdict(config.replace(name=""))
    key = _hash(*_files(pathlib.Path(hw.__file__).parent, "*.py"), sorted(fields.items()),
                amaranth.__version__)
    path = toolchain.cache_dir() / "verilog" / f"{key}.v"
    with contextlib.suppress(OSError):
        return path.read_text()
    from hw import top
    text = top.verilog(config)
    toolchain.write_atomically(path, text)
    return text


def library(verilog: str, config: HardwareConfig, *, waves: str | None = None,
            assertions: bool = True, report=None) -> pathlib.Path:
    """The path of the shared library that simulates a Verilog text, built if need be.

    Parameters
    ----------
    verilog : str
        Holds a module ``graphloom_gpu`` with the ports of the GPU's top.
    config : HardwareConfig
        Its line size and tags, and what is in its trace.
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
    verilator = toolchain.verilator()
    flags = [*VERILATOR_FLAGS, "--assert" if assertions else "--no-assert"]
    defines = [f"-DGPU_LINE_BYTES={config.line_bytes}"]
    flags += [f"-GLINE_BYTES={config.line_bytes}",
              f"-GTAG_BITS={memory_tag_bits(config)}"]
    if config.trace:
        trace_bits = trace.record_words(config) * 32 * config.cores
        flags.append(f"-DGPU_TRACE_BITS={trace_bits}")
        defines += [f"-DGPU_TRACE_CORES={config.cores}", f"-DGPU_TRACE_LANES={config.threads}",
                    f"-DGPU_TRACE_WARPS={config.warps}"]
    if waves:
        flags += [f"--trace-{waves}", "--trace-structs"]
        defines += ["-DVM_TRACE=1", f"-DVM_TRACE_{waves.upper()}=1", f"-DWAVE_{waves.upper()}"]
    compiler = _Compiler(verilator, defines, waves)
    key = _hash(verilog, *_files(HARNESS, "*"), pathlib.Path(__file__).read_bytes(), flags,
                compiler.identity)
    folder = toolchain.cache_dir() / "simulators"
    place = folder / key
    result = place / "gpu.so"
    if not result.exists():
        with _lock(folder / f"{key}.lock"):
            if not result.exists():
                _build(place, verilog, flags, compiler, report or (lambda text: None))
                _prune(folder, place)
    with contextlib.suppress(OSError):
        os.utime(place)
    return result


class _Compiler:
    """The C++ compiler with the flags of one build."""

    def __init__(self, verilator, defines, waves):
        self.verilator = verilator
        self.command = toolchain.compiler()
        fst = ["-I", HARNESS / "fst"] if waves == "fst" else []
        self.flags = [*COMPILE_FLAGS, *defines, "-I", HARNESS, *fst, "-isystem",
                      verilator.include, "-isystem", verilator.include / "vltstd",
                      "-include", HARNESS / "print.h"]
        self.identity = _hash(verilator.version, toolchain.compiler_identity(),
                              platform.system(), platform.machine(), COMPILE_FLAGS, defines)
        self.runtime = ["verilated.cpp", "verilated_threads.cpp"]
        if waves:
            self.runtime.append(f"verilated_{waves}_c.cpp")

    def compile(self, source, target, optimize, *more):
        """Compiles one file into an object file."""
        _run([*self.command, *self.flags, *more, *optimize, "-c", source, "-o", target],
             what=f"compiling {source.name}")
        return target

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
        return target


def _build(place, verilog, flags, compiler, report):
    """Builds into a temporary folder and renames it to its place. Needs the lock of the key."""
    for left in place.parent.glob(f"{place.name}.*.tmp"):
        shutil.rmtree(left, ignore_errors=True)
    work = pathlib.Path(tempfile.mkdtemp(dir=place.parent, prefix=f"{place.name}.",
                                         suffix=".tmp"))
    try:
        report("translating the hardware with Verilator")
        (work / "gpu.v").write_text(verilog)
        verilator = compiler.verilator
        _run([verilator.path, *flags, "--Mdir", "cc", HARNESS / "harness.v", "gpu.v"],
             what="Verilator", cwd=work, env=verilator.environment)
        report("compiling the simulator")
        objects = _compile_all(compiler, work)
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


def _units(work):
    """Files to compile, each of which includes a part of what Verilator wrote, and their flags.

    Verilator's files are many, and each, like the harness, begins with the same long headers: so
    they are joined as long as the result is not too large.
    """
    fast, slow = [], []
    for path in sorted((work / "cc").glob("*.cpp")):
        (slow if "__Slow" in path.name else fast).append(path)
    for name, paths, flags in (("fast", fast, FAST), ("slow", slow, SLOW)):
        sizes = {path: path.stat().st_size for path in paths}
        count = max(-(-sum(sizes.values()) // UNIT_BYTES), 1)
        parts = [[] for _ in range(min(count, len(paths)))]
        for path in sorted(paths, key=sizes.get, reverse=True):
            min(parts, key=lambda part: sum(map(sizes.get, part))).append(path)
        for index, part in enumerate(parts):
            unit = work / f"{name}{index}.cpp"
            names = [path.name for path in sorted(part)]
            if flags is FAST and index == 0:
                names.insert(0, "harness.cpp")
            unit.write_text("".join(f'#include "{name}"\n' for name in names))
            yield unit, flags


def _compile_all(compiler, work):
    """Compiles everything at once and returns the object files; stops at the first failure."""
    generated = ["-I", work / "cc"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = [pool.submit(compiler.compile, unit, unit.with_suffix(".o"), flags, *generated)
                for unit, flags in _units(work)]
        jobs += [pool.submit(compiler.compile_runtime, name) for name in compiler.runtime]
        try:
            return [job.result() for job in jobs]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _prune(folder, keep):
    """Deletes what was not used for long."""
    oldest = time.time() - KEEP_SECONDS
    for place in folder.iterdir():
        with contextlib.suppress(OSError):
            if place != keep and place.stat().st_mtime < oldest:
                if place.is_dir():
                    shutil.rmtree(place, ignore_errors=True)
                else:
                    place.unlink()
