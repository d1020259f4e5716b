"""The L1: passes that hit, that miss, and that wait."""

from typing import Any

from hw.config import preset
from hw.core.access import AccessOp
from hw.core.l1 import L1
from hw.memory.port import LineOp

from ..waves import Bench, Row, letter_of, record


__all__ = ["RUNS"]


#: The first cycle that is shown: the unit has forgotten its lines after the reset, and has those
#: that a run wants.
_FIRST = 60

#: Cycles from a request to its answer: fewer than a memory takes, for a picture that fits.
_LATENCY = 4


def _passes(text):
    """Passes of a text: a letter is a line; capitals load, small letters store; a dot is none."""
    return [None if letter == "." else {
        "op": AccessOp.LOAD if letter.isupper() else AccessOp.STORE, "lanes": 1, "mask": 0xF,
        "line": ord(letter.upper()) - ord("A")} for letter in text]


def _run(title, text, cycles, *, loaded="", ready=""):
    """Perform passes.

    Parameters
    ----------
    title, text : str
        The passes, one a letter.
    cycles : int
        The number of cycles shown.
    loaded : str
        Lines that are loaded before.
    ready : str
        Whether the L2 takes a request, cycle by cycle.
    """
    config = preset("tiny")
    unit: Any = L1(config)
    bench = Bench(unit)
    bench.feed(unit.access, _passes(loaded), at=30)
    bench.feed(unit.access, _passes(text), at=_FIRST)
    bench.take(unit.request, ready, at=_FIRST)
    bench.answer(unit.request, unit.response, lambda request: {
        "tag": request.tag, "data": [request.line] * config.line_words}
        if request.op == LineOp.READ else None, _LATENCY)
    mapped = (1 << len(unit.access.payload.line)) - 1
    rows = [
        Row("access.valid", unit.access.valid), Row("access.ready", unit.access.ready),
        Row("access line", unit.access.payload.line, letter_of, unit.access), None,
        Row("request.valid", unit.request.valid), Row("request.ready", unit.request.ready),
        Row("request line", unit.request.payload.line,
            lambda line: letter_of(line & mapped), unit.request), None,
        Row("response line", unit.response.payload.data[0],
            lambda line: letter_of(line & mapped), unit.response), None,
        Row("loaded_valid", unit.loaded_valid),
        Row("loaded line", unit.loaded.line[0], lambda line: letter_of(line & mapped),
            valid=unit.loaded_valid),
    ]
    return record(title, rows, bench.run(rows, _FIRST, _FIRST + cycles - 1))


RUNS = {
    "hit": lambda: _run("L1, short pipeline: a load that hits, then three back to back",
                        ".A..ABA", 10, loaded="AB"),
    "miss": lambda: _run("L1, short pipeline: loads of A miss, one request; B hits meanwhile",
                         ".AAB", 14, loaded="B"),
    "stalled": lambda: _run("L1, short pipeline: stores fill the queue of requests while none is "
                            "taken", ".abcdefg", 16, ready="000000000"),
}
