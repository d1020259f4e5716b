"""Building a simulation for a cocotb bench, with Verilator or with Icarus Verilog.

cocotb's own runner needs ``make`` and Perl for Verilator. It makes every signal public, which is
several times slower to build and to run. This module calls ``verilator_bin`` and the compiler
directly. Only the ports of the top are public. Verilator's run-time is compiled once for all
benches. The cache directory keeps a build under the content of all its inputs.
"""

import concurrent.futures
import os
import shutil
import subprocess

import cocotb
import cocotb_tools.config

from sim import cache, toolchain


__all__ = ["BuildError", "build"]


#: Changes whenever the commands below change, so that old builds are not used.
_RECIPE = "6"

_FLAGS = ["-std=c++20", "-fPIC", "-w", "-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0",
          "-DVM_TIMING=0"]

#: {part of Verilator's run-time that a bench needs: compiler option}.
_RUNTIME = {"verilated": "-O1", "verilated_vpi": "-O1", "verilated_threads": "-O1",
            "verilated_random": "-O0"}      # only linked


#: The beginning of every part of a model.
_HEADERS = '#include "verilated_vpi.h"\n'

#: Bytes of generated C++ in one compilation; more if there are too few processors.
_PART_BYTES = 400_000


class BuildError(Exception):
    """A program that builds a bench failed. The message holds the program's output."""


def _run(command, *, text_in="", **kwargs):
    done = subprocess.run([str(word) for word in command], input=text_in,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          errors="replace", **kwargs)
    if done.returncode:
        line = " ".join(str(word) for word in command)
        raise BuildError(f"exit code {done.returncode} from\n{line}\n{done.stdout}")


def _includes(verilator):
    return [f"-I{verilator.include}", f"-I{verilator.include / 'vltstd'}"]


def _trace_flags(waves):
    on = int(waves)
    return [f"-DVM_TRACE={on}", f"-DVM_TRACE_VCD={on}", "-DVM_TRACE_FST=0", "-DVM_TRACE_SAIF=0"]


def _compile(verilator, jobs, waves):
    """Run compilations, given as triples (folder, options, text), each in its folder.

    As many run at once as there are processors. The compiler reads the text from standard input.
    The options name the output file.
    """
    compiler = toolchain.compiler()

    def one(job):
        folder, options, text = job
        _run([*compiler.command, *_FLAGS, *_trace_flags(waves), *_includes(verilator), "-I.",
              *options], cwd=folder, text_in=text, env=compiler.environment)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(one, jobs))


def _runtime(verilator, waves):
    """The folder with the object files of Verilator's run-time and the long headers of each part.

    The headers are precompiled if the compiler supports this, which saves a second for every part.
    """
    compiler = toolchain.compiler()
    key = cache.hashed(_RECIPE, verilator, compiler.command, compiler.identity, waves)
    parts = _RUNTIME | ({"verilated_vcd_c": "-O1"} if waves else {})

    def make(work):
        jobs = [(work, [option, "-c", verilator.include / f"{name}.cpp", "-o", f"{name}.o"], "")
                for name, option in parts.items()]
        header = work / "parts.h"
        header.write_text(_HEADERS)
        target = compiler.precompiled(header, "-O0")
        if target is not None:
            target.parent.mkdir(exist_ok=True)
            jobs.append((work, compiler.precompile(header, "-O0"), _HEADERS))
        _compile(verilator, jobs, waves)
    return cache.entry("bench", f"runtime-{key}", make, what="run-time of the benches")


def _parts(paths):
    """Files in groups of some hundred kilobytes, because each compilation reads the long headers.

    There are no more groups than compilations at once.
    """
    sizes = {path: path.stat().st_size for path in paths}
    parts = [[] for _ in range(min(-(-sum(sizes.values()) // _PART_BYTES), os.cpu_count() or 1))]
    for path in sorted(paths, key=sizes.get, reverse=True):
        min(parts, key=lambda part: sum(map(sizes.get, part))).append(path)
    return [sorted(part) for part in parts if part]


def _verilator(design, name, waves):
    verilator, compiler = toolchain.verilator(), toolchain.compiler()
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
        jobs, objects = [], []
        for index, part in enumerate(_parts([*sorted(model.glob("*.cpp")), main])):
            unit = model / f"part_{index}.cpp"
            unit.write_text("".join(f'#include "{path}"\n' for path in part))
            objects.append(unit.with_suffix(".o"))
            # Most of a bench's time goes to Python, so a faster model is not worth its compilation.
            jobs.append((model, ["-O0", *compiler.include(runtime / "parts.h", "-O0"),
                                 "-c", unit, "-o", objects[-1]], ""))
        _compile(verilator, jobs, waves)
        libraries = cocotb_tools.config.libs_dir
        _run([*compiler.link, "-rdynamic", *objects, *sorted(runtime.glob("*.o")),
              f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lcocotbvpi_verilator", "-lpthread",
              "-o", work / "simulation"], env=compiler.environment)
        shutil.rmtree(model)
    place = cache.entry("bench", name, make, what=f"bench of {design.toplevel}")
    return [str(place / "simulation")] + ["--trace"] * waves, place / "top.v"


def _icarus(design, name, waves):
    def make(work):
        dump = ("module graphloom_dump();\n  initial begin\n"
                f'    $dumpfile("dump.vcd"); $dumpvars(0, {design.toplevel});\n'
                "  end\nendmodule\n" if waves else "")
        (work / "top.v").write_text("`timescale 1ns/1ps\n" + design.for_icarus() + dump)
        _run([toolchain.icarus(), "-g2012", "-s", design.toplevel,
              *["-s", "graphloom_dump"] * waves, "-o", "simulation.vvp", "top.v"], cwd=work)
    place = cache.entry("bench", name, make, what=f"bench of {design.toplevel}")
    return ["vvp", "-n", "-m", cocotb_tools.config.lib_entry("vpi", "icarus"),
            str(place / "simulation.vvp"), "-vcd" if waves else "-none"], place / "top.v"


def build(design, simulator, *, waves=False):
    """Build a simulation, unless the cache has a build of the same content.

    Parameters
    ----------
    design : tb.emit.Design
        The design to simulate.
    simulator : str
        ``"verilator"`` or ``"icarus"``.
    waves : bool
        Whether the simulation writes ``dump.vcd`` into its working folder.

    Returns
    -------
    (list of str, pathlib.Path)
        The command that runs the simulation, and the Verilog it was built from.

    Raises
    ------
    BuildError
        A program failed. The message has the program's output.
    """
    make = {"verilator": _verilator, "icarus": _icarus}[simulator]
    if simulator == "verilator":
        tool = (toolchain.verilator(), toolchain.compiler().identity)
    else:
        version = subprocess.run([toolchain.icarus(), "-V"], capture_output=True, text=True,
                                 check=False)
        tool = version.stdout.partition("\n")[0]
    text = design.for_icarus() if simulator == "icarus" else design.text
    key = cache.hashed(_RECIPE, simulator, tool, cocotb.__version__, cocotb_tools.config.libs_dir,
                       waves, design.toplevel, text)
    return make(design, f"{design.toplevel}-{simulator}-{key}", waves)
