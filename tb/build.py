"""Building a simulation for a cocotb bench, with Verilator or with Icarus Verilog.

cocotb's own runner needs ``make`` and Perl for Verilator and makes every signal public, which is
several times slower to build and to run. Here ``verilator_bin`` and the compiler are called
directly, only the ports of the top are public, and Verilator's run-time is compiled once for all
benches. A build is kept in the cache directory by the content of all it is made from.
"""

import concurrent.futures
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import cocotb
import cocotb_tools.config

from sim import toolchain


__all__ = ["BuildError", "build"]


#: Changed whenever the commands below change, so that old builds are not used.
_RECIPE = "4"

_FLAGS = ["-std=c++20", "-fPIC", "-w", "-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0",
          "-DVM_TIMING=0"]

#: Parts of Verilator's run-time that a bench needs, and how they are compiled.
_RUNTIME = {"verilated": "-O1", "verilated_vpi": "-O1", "verilated_threads": "-O1",
            "verilated_random": "-O0"}      # only linked


#: What every part of a model includes.
_HEADER = "verilated_vpi.h"

#: Bytes of generated C++ that are compiled at once, unless there are not so many processors.
_PART_BYTES = 400_000



class BuildError(Exception):
    """A program that builds a bench failed; the message holds what it printed."""


def _run(command, **kwargs):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **kwargs)
    if done.returncode:
        line = " ".join(str(word) for word in command)
        raise BuildError(f"exit code {done.returncode} from\n{line}\n{done.stdout}")


def _digest(*parts):
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:32]


def _cached(folder, make):
    """``folder``, made by ``make(temporary folder)`` if it does not exist.

    Of two processes that want the same folder one makes it and the other waits.
    """
    if folder.is_dir():
        with contextlib.suppress(OSError):
            os.utime(folder)
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if folder.is_dir():
            return folder
        work = pathlib.Path(tempfile.mkdtemp(dir=folder.parent, prefix=".work-"))
        try:
            make(work)
            os.rename(work, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    toolchain.forget_unused(folder.parent)
    return folder


def _includes(verilator):
    return [f"-I{verilator.include}", f"-I{verilator.include / 'vltstd'}"]


def _trace_flags(waves):
    on = int(waves)
    return [f"-DVM_TRACE={on}", f"-DVM_TRACE_VCD={on}", "-DVM_TRACE_FST=0", "-DVM_TRACE_SAIF=0"]


def _compile(verilator, jobs, waves):
    """Compile (source, object, options) triples, as many at once as there are processors."""
    def one(job):
        source, result, options = job
        _run([*toolchain.compiler(), *_FLAGS, *_trace_flags(waves), *options,
              *_includes(verilator), "-I.", "-c", source, "-o", result], cwd=result.parent)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(one, jobs))


def _runtime(verilator, waves):
    """The folder with the object files of Verilator's run-time, and if the compiler is GCC, with
    its long headers compiled: they take a second of every part of a model."""
    key = _digest(_RECIPE, verilator, toolchain.compiler(), toolchain.compiler_identity(), waves)
    parts = _RUNTIME | ({"verilated_vcd_c": "-O1"} if waves else {})

    def make(work):
        jobs = [(verilator.include / f"{name}.cpp", work / f"{name}.o", [option])
                for name, option in parts.items()]
        jobs += [(verilator.include / _HEADER, place, ["-x", "c++-header", option])
                 for option, place in toolchain.precompiled(work / _HEADER, ("-O0", "-O1"))]
        _compile(verilator, jobs, waves)
    return _cached(toolchain.cache_dir() / "bench" / f"runtime-{key}", make)


def _parts(paths):
    """Files in groups of some hundred kilobytes, for each compilation reads the same long headers;
    no more groups than can be compiled at once."""
    sizes = {path: path.stat().st_size for path in paths}
    parts = [[] for _ in range(min(-(-sum(sizes.values()) // _PART_BYTES), os.cpu_count() or 1))]
    for path in sorted(paths, key=sizes.get, reverse=True):
        min(parts, key=lambda part: sum(map(sizes.get, part))).append(path)
    return [sorted(part) for part in parts if part]


def _verilator(design, folder, waves):
    verilator = toolchain.verilator()
    runtime = _runtime(verilator, waves)

    def make(work):
        (work / "top.v").write_text(design.text)
        ports = "".join(f'public_flat_rw -module "{design.toplevel}" -var "{port}"\n'
                        for port in (*design.inputs, *design.outputs))
        (work / "ports.vlt").write_text("`verilator_config\n" + ports)
        _run([verilator.path, "--cc", "--vpi", "--assert", "--no-timing", "-Wno-lint", "-Wno-fatal",
              "--timescale", "1ns/1ps", "--prefix", "Vtop", "--Mdir", "model",
              "--output-split", "20000", "--output-split-cfuncs", "2000",
              *["--trace-vcd"] * waves, "--top-module", design.toplevel, "ports.vlt", "top.v"],
             cwd=work, env=verilator.environment)
        model = work / "model"
        main = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
        sources = sorted(model.glob("*.cpp"))
        compiled = ["-include", runtime / _HEADER] * (runtime / f"{_HEADER}.gch").exists()
        jobs = []
        for name, option, paths in (
                ("fast", "-O1", [path for path in sources if "Slow" not in path.name]),
                ("slow", "-O0", [path for path in sources if "Slow" in path.name] + [main])):
            for index, part in enumerate(_parts(paths)):
                unit = model / f"part_{name}_{index}.cpp"
                unit.write_text("".join(f'#include "{path}"\n' for path in part))
                jobs.append((unit, unit.with_suffix(".o"), [option, *compiled]))
        _compile(verilator, jobs, waves)
        libraries = cocotb_tools.config.libs_dir
        _run([*toolchain.compiler(), "-rdynamic", *(result for _, result, _ in jobs),
              *sorted(runtime.glob("*.o")), f"-L{libraries}", f"-Wl,-rpath,{libraries}",
              "-lcocotbvpi_verilator", "-lpthread", "-o", work / "simulation"])
        shutil.rmtree(model)
    _cached(folder, make)
    return [str(folder / "simulation")] + ["--trace"] * waves


def _icarus(design, folder, waves):
    def make(work):
        dump = ("module graphloom_dump();\n  initial begin\n"
                f'    $dumpfile("dump.vcd"); $dumpvars(0, {design.toplevel});\n'
                "  end\nendmodule\n" if waves else "")
        (work / "top.v").write_text("`timescale 1ns/1ps\n" + design.for_icarus() + dump)
        _run([toolchain.icarus(), "-g2012", "-s", design.toplevel,
              *["-s", "graphloom_dump"] * waves, "-o", "simulation.vvp", "top.v"], cwd=work)
    _cached(folder, make)
    return ["vvp", "-n", "-m", cocotb_tools.config.lib_entry("vpi", "icarus"),
            str(folder / "simulation.vvp"), "-vcd" if waves else "-none"]


def build(design, simulator, *, waves=False):
    """Build a simulation, unless there is one of the same content.

    Parameters
    ----------
    design : tb.emit.Design
        What to simulate.
    simulator : str
        ``"verilator"`` or ``"icarus"``.
    waves : bool
        Whether the simulation writes ``dump.vcd`` into the folder it runs in.

    Returns
    -------
    (list of str, pathlib.Path)
        The command that runs the simulation, and the Verilog it was built from.

    Raises
    ------
    BuildError
        With the output of the program that failed.
    """
    make = {"verilator": _verilator, "icarus": _icarus}[simulator]
    if simulator == "verilator":
        tool = (toolchain.verilator(), toolchain.compiler(), toolchain.compiler_identity())
    else:
        version = subprocess.run([toolchain.icarus(), "-V"], capture_output=True, text=True)
        tool = version.stdout.partition("\n")[0]
    text = design.for_icarus() if simulator == "icarus" else design.text
    key = _digest(_RECIPE, simulator, tool, cocotb.__version__, cocotb_tools.config.libs_dir,
                  waves, design.toplevel, text)
    folder = toolchain.cache_dir() / "bench" / f"{design.toplevel}-{simulator}-{key}"
    return make(design, folder, waves), folder / "top.v"
