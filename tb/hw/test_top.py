"""The parts of the GPU's Verilog."""

import re

from hw import top
from hw.config import preset


CONFIG = preset("tiny").replace(cores=2, l2_bytes=1 << 15)


def modules(text):
    return re.findall(r"(?m)^module (\w+)\(", text)


def test_parts():
    gpu, core = top.parts(CONFIG)
    assert modules(gpu) == ["graphloom_gpu"] and modules(core) == ["graphloom_core"]
    assert "core_1__request__payload" in gpu and "core_2__" not in gpu
    assert set(modules(top.verilog(CONFIG))) == {"graphloom_gpu", "graphloom_core"}


def test_large_memories_are_short_in_verilog():
    small, large = (len(top.parts(CONFIG.replace(l2_bytes=size))[0])
                    for size in (1 << 15, 1 << 20))
    assert abs(large - small) < 10_000
