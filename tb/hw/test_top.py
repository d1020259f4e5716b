"""The Verilog of the GPU: its parts, and memories that begin as zeros."""

import re

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

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


class Table(wiring.Component):
    address: In(3)
    value: Out(8)

    def __init__(self, init):
        self._init = init
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=8, init=self._init)
        read = memory.read_port(domain="comb")
        m.d.comb += [read.addr.eq(self.address), self.value.eq(read.data)]
        return m


def test_what_is_not_zero_stays():
    text = top._convert({"table": Table([0, 0, 7])})
    assert re.search(r"\[2\] = 8'h07;", text) and re.search(r"\[3\] = 8'h00;", text)
    assert "zeros_of" not in text
    text = top._convert({"table": Table([])})
    assert "row < 8;" in text and not re.search(r"\[\d\] = 8'h00;", text)
