"""Programs of the GraphVM ``cuda`` where no GPU answers: a C++ compiler makes their libraries from
the same text, in which the lanes of a CTA take turns (``cuda_runtime.h``)."""

import pathlib
import re
import subprocess

from sim import cache, toolchain
from sw.vm.cuda import nvcc


__all__ = ["without_gpu"]


_HEADER = pathlib.Path(__file__).with_name("cuda_runtime.h")

#: What only a compiler of CUDA reads: launches, and the clock of the GPU.
_CHANGES = [
    (r"kernel<Phase><<<(.*), CTA>>>\(call\);", r"lanes::run(\1, [&] { kernel<Phase>(call); });"),
    (r"error = cudaLaunchCooperativeKernel\(.*?;", "lanes::run(1, [&] { loop(call, state, numbers, "
                                                   "places); });"),
    (r'asm volatile\("mov.u64 %0, %globaltimer;" : "=l"\((\w+)\)\);',
     r"\1 = lanes::nanoseconds();"),
    (r'asm volatile\("red.release.*?;\n', "++*place;\n"),
    (r'asm volatile\("ld.acquire.*?;\n', "found = *place;\n"),
    (r'asm\("ld.global.nc.*?;\n', "found = *place;\n"),
    (r"int error = cudaOccupancy\w*\(.*?;", "int error = 0; fitting = 1;"),
    (r"void \*arguments\[\] = .*?;", "")]


def _library(text, architectures, what):
    """As :func:`sw.vm.cuda.nvcc.library`."""
    for old, new in _CHANGES:
        text, count = re.subn(old, new, text, flags=re.DOTALL if ".*?" in old else 0)
        assert count, f"no {old} in {what}"
    tool = toolchain.compiler()

    def make(work):
        (work / "program.cpp").write_text(text)
        (work / _HEADER.name).write_bytes(_HEADER.read_bytes())
        for command in ([*tool.command, "-std=c++17", "-fPIC", "-w", "-O1", "-I.", "-c",
                         "program.cpp", "-o", "program.o"],
                        [*tool.link, "-shared", "program.o", "-o", "program.so"]):
            done = subprocess.run(command, cwd=work, env=tool.environment, check=False,
                                  capture_output=True, text=True)
            assert not done.returncode, done.stderr[-4000:]

    key = cache.hashed(text, _HEADER.read_bytes(), tool.identity)
    return cache.entry("lanes", key, make, what="program") / "program.so"


def without_gpu(monkeypatch):
    """Run programs of the GraphVM ``cuda`` on this computer."""
    monkeypatch.setattr(nvcc, "library", _library)
    monkeypatch.setattr(nvcc, "gpu_absence", lambda: None)
