"""The estimate of the timing, on circuits with known levels of logic, and the names in it.

====================  ============================================================
levels and delay      test_chain, test_carry, test_memory, test_select
names                 test_strip, test_names, test_path
loops                 test_loop
====================  ============================================================
"""

import json

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from sim.toolchain import ToolError
from synth.devices import DEVICES
from synth.estimate import LUT, WIRE, estimate
from synth.logic import BLOCK, DISTRIBUTED, synthesize
from synth.netlist import Netlist, strip


CLOCK_TO_Q = 0.52


def lut(name, inputs, output):
    """A LUT4 as Yosys writes it."""
    return {name: {
        "type": "LUT4", "port_directions": {**dict.fromkeys("ABCD", "input"), "Z": "output"},
        "connections": {**{port: [bit] for port, bit in zip("ABCD", inputs)}, "Z": [output]}}}


def flip_flop(name, data, output):
    """A flip-flop as Yosys writes it."""
    return {name: {
        "type": "TRELLIS_FF", "port_directions": {"CLK": "input", "DI": "input", "Q": "output"},
        "connections": {"CLK": [2], "DI": [data], "Q": [output]}}}


def netlist(cells, names=()):
    """A netlist of these cells, with names by bit."""
    return Netlist(json.dumps({"modules": {"top": {
        "ports": {"clk": {"direction": "input", "bits": [2]}}, "cells": cells,
        "netnames": {name: {"bits": [bit]} for bit, name in dict(names).items()}}}}), "top")


@pytest.mark.parametrize("levels", [0, 1, 2, 7])
def test_chain(levels):
    """A chain of LUTs between two flip-flops."""
    cells = flip_flop("first", "0", 10)
    for level in range(levels):
        cells |= lut(f"lut_{level}", [10 + level, "0", "0", "0"], 11 + level)
    cells |= flip_flop("last", 10 + levels, 100)
    found = estimate(netlist(cells, {10: "first", 100: "last"}))
    assert found.levels == levels
    assert found.delay == pytest.approx(CLOCK_TO_Q + levels * (WIRE + LUT) + WIRE, abs=0.02)
    assert found.frequency == pytest.approx(1000 / found.delay)
    assert (found.steps[0].signal, found.steps[-1].signal) == ("first", "last")


def test_select():
    """The longer of two paths into a LUT counts."""
    cells = (flip_flop("a", "0", 10) | flip_flop("b", "0", 11) | lut("slow", [10, "0"], 12)
             | lut("join", [11, 12], 13) | flip_flop("c", 13, 14))
    found = estimate(netlist(cells, {10: "a", 11: "b", 14: "c"}))
    assert found.levels == 2
    assert [step.signal for step in found.steps] == ["a", None, None, "c"]


def test_loop():
    cells = lut("one", [11], 10) | lut("two", [10], 11)
    with pytest.raises(ToolError, match="combinational loop through round"):
        estimate(netlist(cells, {10: "round"}))


def test_nothing():
    assert estimate(netlist({})).steps == ()


class Circuit(wiring.Component):
    """A function between two registers."""
    i: In(64)
    o: Out(32)

    def __init__(self, build):
        super().__init__()
        self._build = build

    def elaborate(self, platform):
        m = Module()
        given = Signal(64)
        made = Signal(32)
        m.d.sync += [given.eq(self.i), made.eq(self._build(m, given))]
        m.d.comb += self.o.eq(made)
        return m


def measured(build):
    logic = synthesize(Circuit(build), DEVICES["ecp5-85k"], top="circuit")
    return logic, estimate(Netlist(logic.netlist.read_text(), "circuit"))


def test_carry():
    """A chain of 16 cells is one level, and faster than 16 LUTs."""
    logic, found = measured(lambda m, given: given[:32] + given[32:])
    assert 16 <= logic.area.carry <= 18
    assert found.levels == 1
    assert 2 < found.delay < 4
    assert found.steps[0].signal.startswith("given[")
    assert found.steps[-1].signal.partition("[")[0] in ("made", "o")  # two names of one register


def test_xor():
    """An exclusive or of 4, 16 and 64 bits takes one, two and three LUT4s in a row, or some LUT4s
    with multiplexers."""
    four, sixteen, all_ = (measured(lambda m, given: given[:bits].xor())[1].levels
                           for bits in (4, 16, 64))
    assert four == 1 and 2 <= sixteen <= 3 and 3 <= all_ <= 5


def _memory(m, given, depth):
    m.submodules.store = store = memory.Memory(shape=32, depth=depth, init=[],
                                               attrs={"no_rw_check": 1})
    write = store.write_port()
    read = store.read_port(domain="comb" if depth == 16 else "sync")
    m.d.comb += [write.addr.eq(given[:10]), write.data.eq(given[10:42]), write.en.eq(given[63]),
                 read.addr.eq(given[42:52])]
    return read.data


def test_memory():
    """LUT RAM is read as fast as a LUT; block RAM takes long."""
    logic, found = measured(lambda m, given: _memory(m, given, 16))
    assert logic.memories == {"store": DISTRIBUTED} and logic.area.lut_ram == 8
    assert found.levels == 1 and found.delay < 3
    logic, found = measured(lambda m, given: _memory(m, given, 512))
    assert logic.memories == {"store": BLOCK} and logic.area.block_ram == 1
    assert found.levels == 0 and 5 < found.delay < 7


@pytest.mark.parametrize("name, own", [
    ("core.l1.tags", "core.l1.tags"),
    ("unit.ced_degree_TRELLIS_FF_Q_17_DI_L6MUX21_Z_D1[4]", "unit.ced_degree"),
    ("request__valid_LUT4_A_Z_PFUMX_BLUT_Z", "request__valid"),
    ("table.st_entries.0.0_DOB5[2]", "table.st_entries"), ("table.entries.0.1",) * 2,
    ("dt_mask.0.0_DI_2_LUT4_Z_C_CCU2C_B1_COUT", "dt_mask"),
    ("LUT4_like", "LUT4_like"),
    ("l1.valid$156", "l1.valid"), ("l1.\\$signal$5[3]", "l1"), ("\\$signal", ""),
])
def test_strip(name, own):
    assert strip(name) == own


def test_names():
    """The innermost of a net's names is its own. Made-up names only tell the place."""
    found = netlist(flip_flop("cell", "0", 10))
    assert found.place(10) is None
    text = {"modules": {"top": {"ports": {}, "cells": {}, "netnames": {
        "alias": {"bits": [10]}, "unit.part.own": {"bits": [9, 10]},
        "x_LUT4_Z": {"bits": [11]}, "$1": {"bits": [12], "hide_name": 1}}}}}
    found = Netlist(json.dumps(text), "top")
    assert found.place(10) == "unit.part.own[1]"
    assert found.place_of("alias") == "unit.part.own[1]"
    assert found.place(11) == "~x"
    assert found.place(12) is None


def test_path():
    """Fields of arrays and structures are shown by name."""
    _, found = measured(lambda m, given: Cat(given[:32] * given[32:40])[:32])
    assert found.steps[0].signal.startswith("given[")
