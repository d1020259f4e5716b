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
from hw.inside import Inside
from hw.scu.scu import Scu
from sim import compiled, inside
from sim.errors import BuildError


#: A unit that hands out edges, and an SCU beside the last one.
UNITS = (*VARIANTS, "scu")


def hardware(unit):
    config = preset("tiny").replace(trace=True, name="tiny")
    return config.replace(scu=1, gather="none", name="tiny") if unit == "scu" else \
        config.replace(gather=unit, name="tiny")


def rows(unit):
    return inside.shown(hardware(unit))


def test_units():
    assert all(map(rows, UNITS))
    assert not inside.shown(hardware("none"))


#: (bits, rows of a memory) with 2 warps of 4 lanes, which have two rows of vertices; all other
#: numbers have a word, and all other entries a word of each lane for each field.
SIZES = {
    "lanes filled": (3, 0), "entries of rows": (4, 2), "rows of vertices": (3 * 128, 2),
    "fsm": {"state machine": (4, 0), "dense table: lanes": (4, 2),
            "dense table by warp: edge of lane 0": (128, 2)},
    "eghw": {"topology reader": (3, 0)},
    "graphpeg": {"current entry: next edge": (30, 0), "ALWT: start indices": (64, 32),
                 "ALWT: end indices": (64, 32), "edge buffer: neighbours": (128, 32 + 2)},
    "scu": {"SCU: state": (3, 0), "SCU address generator: an entry is expanded": (1, 0),
            "SCU data fetch: free slots": (6, 0), "SCU data fetch: lines that have come": (32, 0),
            "SCU filter: state": (3, 0), "SCU filter: lines of the table": (128, 0),
            "SCU filter: lines under way": (6, 0),
            "SCU output: first element of the beat": (30, 0),
            "SCU data store: words of the line": (4, 0), "SCU port: answers awaited": (9, 0)},
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.sample(3)
def test_every_row(unit):
    """Each row names one register or memory of the netlist, and the page is told its bits and rows.
    """
    netlist = compiled.whole(hardware(unit))
    found = inside.found_in(netlist, hardware(unit))
    assert [signal.row for signal in found] == list(rows(unit))
    sizes = SIZES | SIZES.get(unit, {})
    for signal in found:
        usual = 128 * len(signal.row.fields) if signal.row.kind == "entries" else 32
        assert (signal.width, signal.depth) == sizes.get(signal.row.title, (usual, 0)), signal.row
        told = signal.to_json()
        assert (told["width"], told["depth"]) == (signal.width, signal.depth)
        assert signal.row.kind != "state" or signal.width <= 8     # as the ring keeps a byte


@pytest.mark.parametrize("unit", [unit for unit in UNITS
                                  if any(row.kind == "state" for row in rows(unit))])
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
    for row in rows(unit):
        assert row.kind != "state" or row.states in machines


def test_fields():
    for unit in UNITS:
        titles = [row.title for row in rows(unit)]
        assert len({*titles}) == len(titles)
        for row in rows(unit):
            assert row.valid is None or row.valid in titles
            assert (row.kind == "entries") <= bool(row.fields)
            assert (row.kind == "state") == bool(row.states)
            assert not row.counts or row.states[0] == "IDLE"


@pytest.mark.parametrize("row, words", [
    (Inside("x", "gathering.unit", "nothing", "number"), "has no register nothing"),
    (Inside("x", "gathering.unit", "accepted", "number"), "has no register accepted"),
    (Inside("x", "nowhere", "fsm_state", "state"), "there is no module nowhere")])
def test_what_is_not_there(monkeypatch, row, words):
    config = hardware("fsm")
    netlist = compiled.whole(config)
    monkeypatch.setattr(inside, "shown", lambda config: (row,))
    with pytest.raises(BuildError, match=words):
        inside.found_in(netlist, config)


def test_header():
    """C++ gives the member that holds a signal: a port, or a memory of the state."""
    row = Inside("x", "gathering.unit", "filled", "number")
    text = inside.header([inside.ShownSignal(row, 3, 0, "shown_0"),
                          inside.ShownSignal(row, 96, 4, "state().m7")])
    assert "case 0: return &gpu.shown_0;" in text
    assert "case 1: return &gpu.state().m7;" in text


def test_words():
    """The distance of two rows is that of the types of sim/compiler."""
    row = Inside("x", "gathering.unit", "filled", "number")
    for width, size in ((1, 1), (8, 1), (9, 2), (17, 4), (33, 8), (65, 16), (384, 48)):
        assert inside.ShownSignal(row, width, 2, "m").to_json()["row_bytes"] == size
    assert inside.ShownSignal(row, 65, 0, "m").to_json()["row_bytes"] == 12
    assert dataclasses.asdict(row).items() <= inside.ShownSignal(row, 1, 0, "m").to_json().items()
