"""The parts of the GPU's Verilog."""

import functools
import re

from hw import top
from hw.config import preset


CONFIG = preset("tiny").replace(cores=2, warps=1, threads=1, gather="none", divider="none",
                                l2_bytes=1 << 15)


@functools.cache
def parts(l2_bytes=CONFIG.l2_bytes):
    return top.parts(CONFIG.replace(l2_bytes=l2_bytes))


def modules(text):
    return re.findall(r"(?m)^module (\w+)\(", text)


def test_parts():
    gpu, core = parts()
    assert modules(gpu) == ["graphloom_gpu"] and modules(core) == ["graphloom_core"]
    assert "core_1__request__payload" in gpu and "core_2__" not in gpu
    assert set(modules(top.verilog(CONFIG))) == {"graphloom_gpu", "graphloom_core"}


def test_large_memories_are_short_in_verilog():
    small, large = (len(each[0]) for each in (parts(), parts(1 << 20)))
    assert abs(large - small) < 10_000
