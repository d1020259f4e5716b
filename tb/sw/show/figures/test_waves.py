"""Waveforms are what the units do."""

import json
import pathlib

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sw.show.figures.timing import TIMING
from sw.show.figures.waves import Bench, Row, draw, record


FOLDER = pathlib.Path(__file__).resolve().parents[4] / "docs" / "figures"


@pytest.mark.parametrize("name", TIMING)
def test_records_are_what_the_units_do(name):
    """A run gives what is recorded. Run `./graphloom docs --record` after a change on purpose."""
    assert TIMING[name]() == (FOLDER / f"{name}.json").read_text()


def waves(name):
    """The waveforms of a record by the name of the signal, a letter a cycle."""
    found = {}
    for row in json.loads((FOLDER / f"{name}.json").read_text())["signal"]:
        if row:
            found[row["name"]] = row["wave"]
    return found


def _from(wave, letter, start=0):
    return wave.index(letter, start)


def test_figures_of_the_memory_page():
    """Latencies that docs/memory.md promises of the short pipeline are seen in the pictures."""
    hit, bank = waves("l1-hit"), waves("l2-hit")
    assert _from(hit["loaded_valid"], "1") - _from(hit["access.valid"], "1") == 1
    assert _from(bank["response.valid"], "1") - _from(bank["request.valid"], "1") == 3
    miss = waves("l2-miss")
    assert _from(miss["memory_request"], "3") - _from(miss["request line"], "3") == 3
    assert _from(miss["response line"], "3") - _from(miss["memory_response"], "3") == 3


def test_figures_of_the_weaver_page():
    """Three DEC_IDs on one large entry are answered every two cycles."""
    assert waves("weaver-back-to-back")["response.valid"].endswith("101010.")


class Counter(wiring.Component):
    """Counts from 0, and says whether the number is odd."""
    count: Out(4)
    odd: Out(1)
    unused: In(1)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.count.eq(self.count + 1)
        m.d.comb += self.odd.eq(self.count[0])
        return m


def test_a_record():
    unit = Counter()
    rows = [Row("odd", unit.odd), None, Row("count", unit.count, str, valid=unit.odd),
            Row("half", unit.count[1:], str, plain=True),
            Row("never", unit.count, str, valid=unit.unused), None,
            Row("unused", unit.unused), Row("never", unit.count, str, valid=unit.unused)]
    found = json.loads(record("counting", rows, Bench(unit).run(rows, 2, 6)))
    assert found["head"]["text"] == "counting"
    assert found["signal"] == [
        {"name": "clk", "wave": "p...."}, {"name": "odd", "wave": "01010"}, {},
        {"name": "count", "wave": "x3x4x", "data": ["3", "5"]},
        {"name": "half", "wave": "=.=.=", "data": ["1", "2", "3"]}]


def test_drawing_is_the_same_each_time():
    text = (FOLDER / "l1-miss.json").read_text()
    svg = draw(text)
    assert svg == draw(text)
    assert "access line" in svg and 'fill="#fff"' in svg
    assert draw(text.replace('"0..10', '"0.1.0')) != svg


def test_a_signal_that_an_assignment_makes():
    """The state of the Weaver is found by its name; another name is refused."""
    from amaranth.hdl import Fragment

    from sw.show.figures.module_graph import signal
    fragment = Fragment.get(Counter(), None)
    assert isinstance(signal(fragment, "count"), Signal)
    with pytest.raises(KeyError, match="nothing"):
        signal(fragment, "nothing")
