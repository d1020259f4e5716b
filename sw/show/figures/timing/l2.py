"""A bank of the L2: reads that hit, that miss, and whose answers wait."""

from typing import Any

from hw.config import preset
from hw.memory.port import LineOp
from hw.memory.l2_bank import L2Bank

from ..waves import Bench, Row, letter_of, record


__all__ = ["RUNS"]


#: The first cycle that is shown: the unit is empty, and has the lines that a run wants.
_FIRST = 120

#: Cycles from a request to memory to its answer: fewer than a memory takes, for a picture that
#: fits.
_LATENCY = 4


def _reads(text):
    """Reads of lines, a letter each; a dot is a cycle without."""
    return [None if letter == "." else {"op": LineOp.READ, "line": ord(letter) - ord("A")}
            for letter in text]


def _run(title, text, cycles, *, loaded="", ready=""):
    """Read lines; the parameters are those of the L1's runs, but ``ready`` is of the answers."""
    config = preset("tiny").replace(l2_bytes=1 << 11, l2_ways=2)
    unit: Any = L2Bank(config)
    bench = Bench(unit)
    bench.feed(unit.request, _reads(loaded), at=60)
    bench.feed(unit.request, _reads(text), at=_FIRST)
    bench.take(unit.response, ready, at=_FIRST)
    bench.take(unit.memory_request)
    bench.answer(unit.memory_request, unit.memory_response, lambda request: {
        "tag": request.tag, "data": [request.line] * config.line_words}, _LATENCY)
    rows = [
        Row("request.valid", unit.request.valid), Row("request.ready", unit.request.ready),
        Row("request line", unit.request.payload.line, letter_of, unit.request), None,
        Row("memory_request", unit.memory_request.payload.line, letter_of, unit.memory_request),
        Row("memory_response", unit.memory_response.payload.data[0], letter_of,
            unit.memory_response), None,
        Row("response.valid", unit.response.valid), Row("response.ready", unit.response.ready),
        Row("response line", unit.response.payload.data[0], letter_of, unit.response),
    ]
    return record(title, rows, bench.run(rows, _FIRST, _FIRST + cycles - 1))


RUNS = {
    "hit": lambda: _run("L2 bank, short pipeline: a read that hits, then three back to back",
                        ".A..ABC", 12, loaded="ABC"),
    "miss": lambda: _run("L2 bank, short pipeline: a read of A misses; B hits meanwhile", ".AB",
                         14, loaded="B"),
    "stalled": lambda: _run("L2 bank, short pipeline: the core takes no answer for a while",
                            ".ABCABCABC", 22, loaded="ABC", ready="000000000000"),
}
