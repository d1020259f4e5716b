"""Seeded memory traces for DRAM devices: lists of (byte address, 1 for a write, earliest cycle).

The traces and the results in ``dram_reference.csv`` go together. All addresses are in the first GiB
and multiples of 64. A trace depends on the organisation of a device (:data:`LAYOUTS`).
"""

import functools
import itertools
import random


__all__ = ["COUNT", "LAYOUTS", "TRACES", "trace"]


COUNT = 20_000
_GIB = 1 << 30
_LINES = _GIB // 64

#: Of each device: bytes of a row, the fields of a line's number from the lowest bit on with their
#: bits, and cycles from refresh to refresh.
LAYOUTS = {
    "ddr4": (8192, (("column", 7), ("group", 2), ("bank", 2)), 12480),
    "lpddr4": (4096, (("column", 6), ("group", 1), ("bank", 2)), 8660),
    "gddr6": (8192, (("column", 7), ("group", 0), ("bank", 4)), 11862),
    "hbm2": (2048, (("column", 5), ("bank", 2), ("group", 2)), 3900),
}


def _line(rng):
    return rng.randrange(_LINES) * 64


def _gaps(rng, mean):
    """Gaps of a geometric distribution."""
    while True:
        yield next(gap for gap in itertools.count(1) if rng.random() <= 1 / mean)


def _arrivals(rng, mean):
    """The first request comes in cycle 0; a gap is drawn when the next time is asked for."""
    yield 0
    yield from itertools.accumulate(_gaps(rng, mean))


def _random(rng, mean=None, writes=False, count=COUNT):
    times = _arrivals(rng, mean) if mean else itertools.repeat(0)
    for _ in range(count):
        address = _line(rng)
        write = int(writes and rng.random() < 1 / 3)
        yield address, write, next(times)


def _gather(rng, mean=None):
    """A power law over blocks of 4 KiB, whose hot ones are scattered; 70 % stay in the block."""
    blocks = _GIB // 4096
    times = _arrivals(rng, mean) if mean else itertools.repeat(0)

    def block():
        return (int((blocks + 1) ** rng.random()) - 1) * 0x9E3779B1 % blocks

    here = block()
    for _ in range(COUNT):
        if rng.random() >= 0.7:
            here = block()
        yield here * 4096 + rng.randrange(64) * 64, 0, next(times)


def _two(row, writes):
    """Two streams in turn: the second begins five rows into the other half."""
    second = _GIB // 2 + 5 * row
    return ((i // 2 * 64 + i % 2 * second, i % 2 * writes, 0) for i in range(COUNT))


def _bursts(rng):
    for start in range(0, COUNT // 8 * 200, 200):
        start += rng.randrange(50)
        yield from [(_line(rng), 0, start) for _ in range(8)]


def _threads(rng, row):
    """Four streams, picked at random; the last one writes."""
    at = [number * (_GIB // 4 + 3 * row) for number in range(4)]
    for number in (rng.randrange(4) for _ in range(COUNT)):
        yield at[number], int(number == 3), 0
        at[number] += 64


def _refresh(rng, interval):
    """Forty times, 128 reads that begin just before a refresh is due."""
    for number in range(1, 41):
        base = _line(rng) // 8192 * 8192
        for i in range(128):
            yield (base + 64 * i) % _GIB, 0, number * interval - 40 + i // 2


def _rows(place, count, gap):
    """Two rows of a bank in turn."""
    return ((place(i % 2, i // 2 % 32), 0, gap * i) for i in range(count))


#: What ``probe`` accesses, 400 cycles apart: row, column, and whether it is a write.
_PROBED = ((0, 0, 0), (0, 1, 0), (0, 2, 0), (1, 0, 0), (1, 1, 0), (2, 0, 1), (2, 1, 0), (0, 0, 0),
           (0, 5, 0), (3, 0, 0))


def _probe(place):
    return ((place(row, column), write, 400 * i)
            for i, (row, column, write) in enumerate(4 * _PROBED))


#: name: function of a random generator, bytes of a row, function of row and column, and interval
TRACES = {
    "stream1": lambda rng, row, place, every: ((64 * i, 0, 0) for i in range(COUNT)),
    "stream1_write": lambda rng, row, place, every: ((64 * i, 1, 0) for i in range(COUNT)),
    "stream2": lambda rng, row, place, every: _two(row, 0),
    "stride_row": lambda rng, row, place, every: ((i * row % _GIB, 0, 0) for i in range(COUNT)),
    "stride_conflict": lambda rng, row, place, every: (
        (place(i % 1024, 0), 0, 0) for i in range(COUNT)),
    "rand_low": lambda rng, row, place, every: _random(rng, 60),
    "rand_mid": lambda rng, row, place, every: _random(rng, 14),
    "rand_sat": lambda rng, row, place, every: _random(rng),
    "chase": lambda rng, row, place, every: _random(rng, count=COUNT // 4),
    "rw_streams": lambda rng, row, place, every: _two(row, 1),
    "rand_write": lambda rng, row, place, every: (
        (address, 1, 0) for address, _, _ in _random(rng)),
    "rand_rw": lambda rng, row, place, every: _random(rng, writes=True),
    "rand_rw_mid": lambda rng, row, place, every: _random(rng, 18, writes=True),
    "bursts8": lambda rng, row, place, every: _bursts(rng),
    "gather": lambda rng, row, place, every: _gather(rng),
    "gather_w16": lambda rng, row, place, every: _gather(rng),
    "gather_w64": lambda rng, row, place, every: _gather(rng),
    "gather_mid": lambda rng, row, place, every: _gather(rng, 10),
    "threads4": lambda rng, row, place, every: _threads(rng, row),
    "refresh": lambda rng, row, place, every: _refresh(rng, every),
    "pingpong": lambda rng, row, place, every: _rows(place, COUNT, 0),
    "pingpong_slow": lambda rng, row, place, every: _rows(place, COUNT // 10, 150),
    "probe": lambda rng, row, place, every: _probe(place),
}


@functools.cache
def trace(device, name, *, by_line=False) -> list:
    """The requests of a trace. With `by_line`, rows are those of a mapping in which group and bank
    come before the column."""
    row, fields, every = LAYOUTS[device]
    bits = dict(fields)
    column = bits["group"] + bits["bank"] if by_line else 0

    def place(row_number, column_number):
        return 64 * (row_number << sum(bits.values()) | column_number << column)

    seed = "gather" if name in ("gather_w16", "gather_w64") else name
    return list(TRACES[name](random.Random(f"graphloom dram {seed}"), row, place, every))
