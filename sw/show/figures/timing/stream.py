"""A stream register: valid, ready and payload, with and without back-pressure."""

from typing import Any

from hw.streams import StreamRegister

from ..waves import Bench, Row, record


__all__ = ["RUNS"]


def _run(title, items, ready):
    unit: Any = StreamRegister(8)
    bench = Bench(unit)
    bench.feed(unit.i, [None if item == "." else ord(item) for item in items])
    bench.take(unit.o, ready)
    rows = []
    for name, port in (("i", unit.i), ("o", unit.o)):
        rows += [Row(f"{name}.valid", port.valid), Row(f"{name}.ready", port.ready),
                 Row(f"{name}.payload", port.payload, chr, port), None]
    return record(title, rows[:-1], bench.run(rows[:-1], 0, len(ready) - 1))


RUNS = {
    "back-to-back": lambda: _run("A stream register: one payload, then three back to back",
                                 ".A..BCD", "1111111111"),
    "stalled": lambda: _run("A stream register: the receiver is not ready for three cycles",
                            ".ABC", "1110001111"),
}
