"""Plays memory and neighbours of a Filtering/Grouping Unit. Compares it with the golden model."""

import dataclasses
import random

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, ReadOnly

from hw.config import HardwareConfig
from hw.scu.filter_banks import answer_layout, candidate_layout
from hw.scu.filter_group import element_layout
from hw.scu.serializer import numbered_layout
from hw.scu.interface import SLOTS, line_request_layout, line_response_layout
from hw.scu.registers import (EMPTY, ScuCommand, ScuCompare, ScuOperation, ScuOutput, ScuRegister,
                              entry_bytes)
from sw.golden.scu import ScuModel as Golden
from tb import runner
from tb.clocking import integer, reset, start, tick
from tb.hw.memory.packing import packed
from tb.hw.memory.responders import Responder
from tb.hw.scu.streams import BeatSink, BeatSource, cut
from tb.streams import StreamSink, StreamSource


__all__ = ["BanksBench", "Bench", "Table"]


_BASE = 0x8000_0000

#: Address of the vectors in the golden model's memory. The space below is for tables.
_VECTORS = 1 << 17


class _Lines(Responder):
    """The memory, as far as the unit sees it."""

    def __init__(self, dut, config, rng):
        super().__init__(dut, config, "request", line_request_layout, "response",
                         line_response_layout, rng)

    def perform(self, request):
        if request.write:
            assert request.mask == (1 << len(self.store.line(request.line))) - 1
            self.store.write(request.line, request.data.as_bits(), request.mask)
            return None
        # Two answers may be on their way to the unit.
        assert self.waiting < SLOTS + 2, "more lines are under way than the port has slots"
        return {"slot": request.slot, "data": self.store.value(request.line)}


@dataclasses.dataclass(frozen=True)
class Table:
    """Address and size of a hash table; sets and ways as exponents of two."""
    address: int
    sets_bits: int
    ways_bits: int

    def lines(self, output, line_bytes):
        """Numbers of the lines of the table."""
        size = entry_bytes(output, line_bytes) << self.sets_bits + self.ways_bits
        first = self.address // line_bytes
        return range(first, first + max(1, size // line_bytes))


class Bench:
    """A bank that has the whole table, and a golden model with the same memory.

    Attributes
    ----------
    source, sink : StreamSource, StreamSink
        ``i`` and ``o``.
    memory : Responder
        The memory behind ``request`` and ``response``.
    cycle : int
        Cycles since the start.
    counts : dict
        Cycles in which ``looked_up``, ``found`` and ``fetched`` were high, in the last operation.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = HardwareConfig(**runner.parameters()["config"])
        self.line_bytes = self.config.line_bytes
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self._connect(dut)
        self.memory = _Lines(dut, self.config, self.rng)
        self.cycle = 0
        self.counts = {}
        self._words = np.zeros(1 << 17, np.uint32)
        self._golden = Golden(self._words.view(np.uint8), self.line_bytes)

    def _connect(self, dut):
        self.source = StreamSource(dut, "i")
        self.sink = StreamSink(dut, "o", numbered_layout())

    @staticmethod
    async def start(dut):
        """Reset the design and begin. The parameter ``width`` says that it has banks."""
        await start(dut)
        bench = (BanksBench if "width" in runner.parameters() else Bench)(dut)
        cocotb.start_soon(bench._watch())
        return bench

    async def _watch(self):
        while True:
            await FallingEdge(self.dut.clk)
            await ReadOnly()
            self.cycle += 1
            for name in ("looked_up", "found", "fetched"):
                self.counts[name] = self.counts.get(name, 0) + integer(getattr(self.dut, name))

    def random_table(self, output, *, most_lines=16):
        """A table of a random size at a random place."""
        line_bits = self.line_bytes.bit_length() - 1
        entry_bits = entry_bytes(output, self.line_bytes).bit_length() - 1
        ways_bits = self.rng.randint(0, line_bits - entry_bits)
        most = line_bits - entry_bits - ways_bits + most_lines.bit_length() - 1
        sets_bits = self.rng.randint(0, most)
        return Table(_BASE + self.line_bytes * self.rng.randrange(64), sets_bits, ways_bits)

    def fill(self, output, table, draw):
        """Put a value of ``draw()`` into each word of the table, as if from an earlier use."""
        for number in table.lines(output, self.line_bytes):
            words = [draw() for _ in range(self.line_bytes // 4)]
            self.memory.store.line(number)[:] = np.array(words, "<u4").tobytes()

    def _expected(self, output, table, values, costs, reference, clear):
        """The golden model's answers. The unit has to leave the memory that the model leaves."""
        line_words = self.line_bytes // 4
        lines = table.lines(output, self.line_bytes)
        first = (table.address - _BASE) // 4
        in_table = slice(first, first + len(lines) * line_words)
        self._words[in_table] = np.frombuffer(
            b"".join(bytes(self.memory.store.line(number)) for number in lines), "<u4")
        source, operand, destination = (_VECTORS // 4 + 8192 * vector for vector in range(3))
        assert len(values) <= 8192
        self._words[source:source + len(values)] = values
        self._words[operand:operand + len(costs)] = costs
        registers = {
            "COMMAND": ScuCommand.of(
                ScuOperation.DATA if reference is None else ScuOperation.BITMASK, output,
                ScuCompare.LT, clear=clear),
            "LENGTH": len(values), "SOURCE": _BASE + 4 * source,
            "DESTINATION": _BASE + 4 * destination, "REFERENCE": reference or 0,
            "HASH": table.address, "HASH_SETS": 1 << table.sets_bits,
            "HASH_WAYS": 1 << table.ways_bits,
        }
        if output == ScuOutput.FILTER_BEST:
            registers.update(OPERAND=_BASE + 4 * operand, OPERAND_LENGTH=len(values))
        outcome = self._golden.run({ScuRegister[name]: word for name, word in registers.items()})
        assert not outcome.error
        written = self._words[destination:destination + 8192]
        if output == ScuOutput.GROUP:
            order = sorted((int(place), k) for k, place in enumerate(written[:outcome.result]))
            given = [(k, place) for place, k in order]
        else:
            bits = np.unpackbits(written.view(np.uint8), bitorder="little")[:outcome.result]
            given = [(k, int(bit)) for k, bit in enumerate(bits)]
        return given, outcome.selected, self._words[in_table].copy()

    async def begin(self, output, table, values, costs=None, *, reference=None, clear=False):
        """Start an operation and send its elements.

        Parameters
        ----------
        reference : int, optional
            Elements less than this (unsigned) are shown. If None, all elements are shown.
        """
        costs = values if costs is None else costs
        self.dut.mode.value, self.dut.clear.value = int(output), int(clear)
        self.dut.address.value = table.address
        self.dut.sets_bits.value, self.dut.ways_bits.value = table.sets_bits, table.ways_bits
        self.dut.start.value = 1
        self.counts.clear()
        await tick(self.dut)
        self.dut.start.value = 0
        self._send([(value, cost, int(reference is None or value < reference))
                    for value, cost in zip(values, costs)])

    def _send(self, elements):
        """Send the elements (value, cost, shown) and the end."""
        layout = element_layout()
        self.source.send(packed(layout, {
            "value": value, "cost": cost, "shown": shown, "number": number % 32})
            for number, (value, cost, shown) in enumerate(elements))
        self.source.send([packed(layout, {"end": 1})])

    async def _answers(self, output, values, costs, count, **options):
        """Receive ``count`` answers as pairs of index and value, and the end."""
        got = await self.sink.receive(count + 1, **options)
        assert [item.end for item in got] == [0] * count + [1]
        assert not self.sink.items
        return [(item.index, item.value) for item in got[:-1]]

    async def run(self, output, table, values, costs=None, *, reference=None, clear=False):
        """Perform an operation and compare answers, table and counts. Returns its cycles."""
        costs = values if costs is None else costs
        given, selected, content = self._expected(output, table, values, costs, reference, clear)
        written = len(self.memory.requests)
        began = self.cycle
        await self.begin(output, table, values, costs, reference=reference, clear=clear)
        got = await self._answers(output, values, costs, len(given),
                                  timeout_cycles=400 * len(values) + 20_000)
        cycles = self.cycle - began
        assert got == given
        assert not self.memory.waiting
        if output == ScuOutput.GROUP:
            assert integer(self.dut.groups) == selected
        # The unit writes nothing outside the table, and the table is right.
        lines = table.lines(output, self.line_bytes)
        assert {request.line for request in list(self.memory.requests)[written:]} <= set(lines)
        found = b"".join(bytes(self.memory.store.line(number)) for number in lines)
        assert found == content.astype("<u4").tobytes(), "the table in memory"
        await tick(self.dut)
        shown = [value for value in values if reference is None or value < reference]
        assert self.counts["looked_up"] == (
            len(shown) if output == ScuOutput.GROUP else sum(v != EMPTY for v in shown))
        reads = sum(not request.write for request in list(self.memory.requests)[written:])
        assert self.counts["fetched"] == reads
        return cycles

    async def reset(self):
        """Reset at any time."""
        await tick(self.dut)
        self.source.clear()
        self.memory.forget()
        await reset(self.dut, 1)
        self.sink.items.clear()


class BanksBench(Bench):
    """A unit with its banks, and a golden model with the same memory.

    Attributes
    ----------
    places : StreamSink
        The places of GROUP.
    """
    def _connect(self, dut):
        self.width = runner.parameters()["width"]
        self.source = BeatSource(dut, "i", candidate_layout(), self.width)
        self.sink = BeatSink(dut, "o", answer_layout(), self.width)
        self.places = StreamSink(dut, "places", numbered_layout())

    def _send(self, elements):
        layout = candidate_layout()
        self.source.send(cut([packed(layout, {"value": value, "cost": cost, "shown": shown})
                              for value, cost, shown in elements], self.width, self.rng,
                             element=layout.size))

    async def _answers(self, output, values, costs, count, **options):
        self.places.stall = self.sink.stall
        if output == ScuOutput.GROUP:
            got = await self.places.receive(count + 1, **options)
            assert [item.end for item in got] == [0] * count + [1]
            assert not self.places.items and not self.sink.items
            return [(item.index, item.value) for item in got[:-1]]
        layout = answer_layout()
        got = [layout.from_bits(item) for item in await self.sink.stream(**options)]
        assert [(item.element.value, item.element.cost) for item in got] \
            == [*zip(values, costs)]
        assert not self.places.items and not self.sink.items
        return [(index, item.kept) for index, item in enumerate(got)]

    async def reset(self):
        await super().reset()
        self.places.items.clear()
