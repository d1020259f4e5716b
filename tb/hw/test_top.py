# amaranth: UnusedElaboratable=no
"""The parts of the GPU's Verilog."""

import functools
import re

from amaranth.hdl import Shape

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


def test_memory_ports():
    def ports(count):
        config = CONFIG.replace(cores=1, l2_banks=4, memory_ports=count)
        return {name: member for name, member in top.FlatGpu(config).signature.members.items()
                if name.startswith("mem")}

    one, four = ports(1), ports(4)
    assert set(four) == {f"mem_{port}{name[3:]}" for port in range(4) for name in one}
    for name, member in four.items():
        # The tag does not name the bank: each port has one.
        less = 2 if name.endswith("_tag") else 0
        of_one = one[f"mem{name[5:]}"]
        assert (Shape.cast(member.shape).width == Shape.cast(of_one.shape).width - less
                and member.flow == of_one.flow)
