"""Verilog with loops for memories whose initial contents are zero (``hw.emit``).

====================  ============================================================
initial contents      contents: every word of each kind of memory is read;
                      test_words: words of 32 bits, which Yosys writes in decimal
size of the text      test_size: does not grow with the memories
modules               test_modules, test_every_memory_has_contents
====================  ============================================================
"""

import re

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.config import preset
from hw.emit import verilog
from hw.top import verilog as gpu_verilog
from tb import runner
from tb.clocking import integer, start, tick


#: {name of a memory: initial contents}.
CONTENTS = {"zeros": [0] * 16, "words": [n * n + 1 for n in range(16)],
            "mixed": [0, 0, 0, 7] * 4, "others": [0] * 16}


class Memories(wiring.Component):
    """A read port and a write port of each memory."""
    def __init__(self, depth=16):
        self._depth = depth
        super().__init__({"address": In(4), "write": In(1),
                          **{name: Out(16) for name in CONTENTS}})

    def elaborate(self, platform):
        m = Module()
        for name, words in CONTENTS.items():
            memory = Memory(shape=16, depth=self._depth, init=words if any(words) else [])
            m.submodules[f"memory_{name}"] = memory
            read, write = memory.read_port(), memory.write_port()
            m.d.comb += [read.addr.eq(self.address), write.addr.eq(self.address),
                         write.en.eq(self.write), write.data.eq(0xFFFF),
                         getattr(self, name).eq(read.data)]
        return m


class Pair(wiring.Component):
    """Two modules."""
    address: In(4)
    sum: Out(16)

    def elaborate(self, platform):
        m = Module()
        m.submodules.first, m.submodules.second = first, second = Memories(), Memories()
        m.d.comb += [first.address.eq(self.address), second.address.eq(self.address),
                     self.sum.eq(first.zeros + second.words)]
        return m


@cocotb.test()
async def contents(dut):
    await start(dut)
    for address in range(16):
        dut.address.value = address
        await tick(dut)
        for name, words in CONTENTS.items():
            value = integer(getattr(dut, name))
            assert value == words[address], f"{name}[{address}] = {value}"


def test_contents(simulator):
    runner.run_bench(verilog({"memories": Memories()}), "memories", __name__, simulator=simulator,
                     seed=1)


def test_size():
    """Only nonzero contents are written word by word."""
    for depth in (16, 1 << 10):
        text = verilog({"memories": Memories(depth)})
        assert len(re.findall(r"initial for", text)) == 2
        assert len(re.findall(r"\[\d+\] = 16'h", text)) == 2 * depth


def test_modules():
    text = verilog({"pair": Pair(), "single": Memories()})
    assert len(re.findall(r"initial for", text)) == 3 * 2
    assert len(re.findall(r"(?m)^module (?:pair|single)\b", text)) == 2


def test_every_memory_has_contents():
    """Memories of the GPU: between sizes of caches, only numbers in the text differ."""
    tiny = preset("tiny")
    texts = [gpu_verilog(tiny.replace(l2_bytes=size)) for size in (1 << 10, 1 << 23)]
    assert abs(len(texts[1]) - len(texts[0])) < len(texts[0]) / 20
    for text in texts:
        memories = re.findall(r"(?m)^ *reg \[\d+:0\] \S+ +\[\d+:0\];", text)
        assert len(memories) > 40
        assert len(re.findall(r"(?m)^  initial for ", text)) == len(memories)


@pytest.mark.parametrize("fields", [
    {}, {"pipeline": "long"}, {"l2_bytes": 1 << 10, "scu": 4}, {"gather": "scan"},
    {"gather": "stream", "table_latency": 10}, {"gather": "eghw"}, {"gather": "graphpeg"},
    {"gather": "graphpeg", "cores": 2, "exchange_interval": 64},
    {"l2_bytes": 1 << 10, "threads": 8, "sector_bytes": 8}])
@pytest.mark.sample(2)
def test_every_signal_has_its_name(fields):
    """No signal is called "$signal", as Amaranth does for ``a, b = Signal(), Signal()``.

    Such a name says nothing in waveforms and in reports of synthesis.
    """
    config = preset("tiny").replace(l2_banks=2 if "l2_bytes" in fields else 1, **fields)
    assert not re.findall(r"\$signal\S*", gpu_verilog(config))


def test_words():
    class Words(wiring.Component):
        address: In(2)
        word: Out(32)

        def elaborate(self, platform):
            m = Module()
            m.submodules.memory = memory = Memory(shape=32, depth=4, init=[7, 0, 0, 9])
            read = memory.read_port()
            m.d.comb += [read.addr.eq(self.address), self.word.eq(read.data)]
            return m
    text = verilog({"words": Words()})
    assert re.search(r"\[3\] = 32'[dh]0*9;", text) and "for (" not in text
