"""The signals that the live page shows: each is in the RTL, under the names of its states.

====================  ============================================
table                 test_units, test_every_row, test_states, test_fields
what is missing       test_what_is_not_there
C++                   test_header, test_words
====================  ============================================
"""

import contextlib
import dataclasses

import pytest
from amaranth.hdl import Fragment, Module

from hw.config import preset
from hw.gather.variants import VARIANTS, component
from hw.scu.scu import Scu
from sim import build, inside
from sim.errors import BuildError
from sim.inside import INSIDE, Inside


#: A unit that hands out edges, and an SCU beside the last one.
UNITS = (*VARIANTS, "scu")


def hardware(unit):
    config = preset("tiny").replace(trace=True, name="tiny")
    return config.replace(scu=1, gather="none", name="tiny") if unit == "scu" else \
        config.replace(gather=unit, name="tiny")


def test_units():
    assert INSIDE.keys() == {*UNITS, "none"}
    assert all(INSIDE[unit] for unit in UNITS)


@pytest.mark.parametrize("unit", UNITS)
def test_every_row(unit):
    """Each row names one register or memory of the Verilog; marking changes nothing else."""
    verilog, = build.gpu_verilog(hardware(unit))
    marked, found = inside.marked(verilog, hardware(unit))
    assert [signal.row for signal in found] == list(INSIDE[unit])
    assert marked.replace(" /*verilator public_flat_rd*/", "") == verilog
    for signal in found:
        assert signal.row.kind != "entries" or signal.width % (32 * len(signal.row.fields)) == 0
        assert signal.row.kind != "state" or signal.width <= 8     # as the ring keeps a byte


@pytest.mark.parametrize("unit", [unit for unit in UNITS
                                  if any(row.kind == "state" for row in INSIDE[unit])])
def test_states(unit, monkeypatch):
    """The names are those of the FSM, in the order of their numbers."""
    machines = []
    original = Module.FSM

    @contextlib.contextmanager
    def spied(self, *arguments, **options):
        with original(self, *arguments, **options) as fsm:
            yield fsm
            machines.append(tuple(fsm.encoding))
    monkeypatch.setattr(Module, "FSM", spied)
    config = hardware(unit)
    Fragment.get(Scu(config) if unit == "scu" else component(config), None)
    for row in INSIDE[unit]:
        assert row.kind != "state" or row.states in machines


def test_fields():
    for rows in INSIDE.values():
        titles = [row.title for row in rows]
        assert len({*titles}) == len(titles)
        for row in rows:
            assert row.valid is None or row.valid in titles
            assert (row.kind == "entries") <= bool(row.fields)
            assert (row.kind == "state") == bool(row.states)


@pytest.mark.parametrize("row, words", [
    (Inside("x", "gathering.unit", "nothing", "number"), "has no register nothing"),
    (Inside("x", "nowhere", "fsm_state", "state"), "there is no module nowhere")])
def test_what_is_not_there(monkeypatch, row, words):
    config = hardware("fsm")
    verilog, = build.gpu_verilog(config)
    monkeypatch.setitem(INSIDE, "fsm", (row,))
    with pytest.raises(BuildError, match=words):
        inside.marked(verilog, config)


def test_header():
    """C++ gives the member that Verilator made of a signal."""
    row = Inside("x", "gathering.unit", "filled", "number")
    found = [inside.ShownSignal(row, 3, 0)]
    text = inside.header("    CData/*2:0*/ graphloom_harness__DOT__model__DOT__core_0__DOT__"
                         "gathering__DOT__unit__DOT__filled;\n", found)
    assert "case 0: return &root.graphloom_harness__DOT__model__DOT__core_0__DOT__gathering" in text
    with pytest.raises(BuildError, match="kept no signal gathering"):
        inside.header("", found)


def test_words():
    """The distance of two rows is that of Verilator's types."""
    row = Inside("x", "gathering.unit", "filled", "number")
    for width, size in ((1, 1), (8, 1), (9, 2), (17, 4), (33, 8), (65, 12), (384, 48)):
        assert inside.ShownSignal(row, width, 2).to_json()["row_bytes"] == size
    assert dataclasses.asdict(row).items() <= inside.ShownSignal(row, 1, 0).to_json().items()
