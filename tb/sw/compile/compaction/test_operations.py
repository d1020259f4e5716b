"""The calls of the Stream Compaction Unit, on the functional machine.

The golden model covers every case of each operation. The tests here check that a call performs the
operation that it names, by results that are known otherwise.
"""

import numpy as np
import pytest

from base.errors import RunError
from hw.config import HardwareConfig
from hw.isa import MemoryMap
from hw.scu.registers import ScuCompare, ScuRegister
from sw.golden.machine import FunctionalMachine
from sw.compile.compaction.operations import (Best, Filter, Group, ScuOperations, StreamRows,
                                              Unique)


CONFIG = HardwareConfig(warps=2, threads=16, memory_bytes=1 << 16, scu=4)


class Memory:
    """Vectors in a machine's memory."""

    def __init__(self):
        self._machine = FunctionalMachine(CONFIG)
        self._words, self._next = self._machine.memory.view(np.uint32), 0
        self.names = []
        self.scu = ScuOperations(self._perform)

    def _perform(self, name, registers):
        self.names.append(name)
        return self._machine.compact(registers)

    def put(self, values):
        """The address of a vector with these words."""
        values = np.array(values, dtype=np.int64).astype(np.uint32)
        place, self._next = self._next, self._next + -(-max(len(values), 1) // 16) * 16
        self._words[place:place + len(values)] = values
        return int(MemoryMap.GLOBAL) + 4 * place

    def bits(self, values):
        """The address of a vector with these bits, at most 32."""
        return self.put([sum(bit << place for place, bit in enumerate(values))])

    def room(self, words):
        """The address of a vector with room for this many words."""
        return self.put([0xDEAD] * words)

    def get(self, address, count, dtype=np.uint32):
        first = (address - int(MemoryMap.GLOBAL)) // 4
        return self._words[first:first + count].view(dtype).tolist()


@pytest.fixture
def memory():
    return Memory()


def test_bitmask_constructor(memory):
    source, out = memory.put([5, 3, -1, 4]), memory.room(1)
    for compare, signed, expected in (
            (ScuCompare.LT, False, 0b0010), (ScuCompare.LT, True, 0b0110),
            (ScuCompare.EQ, False, 0b1000), (ScuCompare.GE, True, 0b1001)):
        result = memory.scu.bitmask_constructor(source, 4, out, compare, 4, signed=signed)
        assert memory.get(out, 1) == [expected]
        assert result == (4, (expected).bit_count())
    memory.scu.bitmask_constructor(source, 4, out, ScuCompare.EQ, -1, signed=True)
    assert memory.get(out, 1) == [0b0100]


def test_compactions(memory):
    data, indexes, counts = memory.put(range(10, 20)), memory.put([7, 2, 5]), memory.put([2, 0, 3])
    mask, out = memory.bits([1, 0, 1]), memory.room(16)
    scu = memory.scu
    for call, expected in (
            (lambda **options: scu.data_compaction(data, 3, out, **options), [10, 12]),
            (lambda **options: scu.access_compaction(data, indexes, 3, out, **options), [17, 15]),
            (lambda **options: scu.replication_compaction(data, counts, 3, out, **options),
             [10, 10, 12, 12, 12]),
            (lambda **options: scu.access_expansion_compaction(data, indexes, counts, 3, out,
                                                               **options),
             [17, 18, 15, 16, 17])):
        before = memory.get(out, 16)
        assert call(bitmask=mask) == (len(expected), 0)
        assert memory.get(out, 16) == expected + before[len(expected):]
    assert scu.data_compaction(data, 3, out).result == 3
    assert memory.get(out, 3) == [10, 11, 12]


def test_options_of_elements(memory):
    """Filter, order, operand, and a count in memory."""
    data, out, count = memory.put([1, 2, 3, 4]), memory.room(8), memory.put([0])
    left, order = memory.bits([1, 0, 1, 1]), memory.put([2, 0, 1])
    operand = memory.put([100, 200, 300])
    result = memory.scu.data_compaction(data, 4, out, filter=Filter(left, 4), order=order,
                                        operand=operand, operands=3, count=(count, 50))
    assert result.result == 3 and memory.get(count, 1) == [53]
    assert memory.get(out, 3) == [203, 304, 101]


def test_tables(memory):
    data, costs = memory.put([7, 8, 7, 9, 7]), memory.put([5, 5, 6, 5, 4])
    out, table = memory.room(8), memory.room(128)
    scu = memory.scu
    unique = Unique(table, 8, 4, clear=True)
    assert scu.data_compaction(data, 5, out, output=unique) == (5, 3)
    assert memory.get(out, 1) == [0b01011]
    # The table keeps its elements unless it is emptied.
    assert scu.data_compaction(data, 5, out, output=Unique(table, 8, 4)).selected == 0
    best = Best(table, 8, 4, clear=True)
    assert scu.data_compaction(data, 5, out, output=best, operand=costs, operands=5) == (5, 4)
    assert memory.get(out, 1) == [0b11011]
    # Words 0 and 1 are in one line; word 16 is in another line.
    data = memory.put([0, 16, 1])
    assert scu.data_compaction(data, 3, out, output=Group(table, 2, 1)) == (3, 2)
    places = memory.get(out, 3)
    assert sorted(places) == [0, 1, 2] and abs(places[0] - places[2]) == 1


def test_stream(memory):
    """Both lists, with weights and a filter; the second 7 is dropped, the third is cheaper."""
    data, weights = memory.put([7, 8, 7, 7]), memory.put([1, 1, 1, 0])
    indexes, counts, given = memory.put([0, 2]), memory.put([2, 2]), memory.put([10, 10])
    out, costs, table = memory.room(8), memory.room(8), memory.room(128)
    args = data, StreamRows(indexes, given, counts), 2, out, costs
    assert memory.scu.stream_expansion(*args) == (4, 4)
    assert memory.get(out, 4) == [7, 8, 7, 7] and memory.get(costs, 4) == [10] * 4
    assert memory.scu.stream_expansion(*args, weights=weights,
                                       output=Best(table, 8, 4, clear=True)) == (3, 4)
    assert memory.get(out, 3) == [7, 8, 7] and memory.get(costs, 3) == [11, 11, 10]


def test_stream_by_rows(memory):
    """The same lists, of inputs whose rows and costs the unit looks up, or whose costs it is given.
    """
    data = memory.put([7, 8, 7, 7])
    first = data // 4
    offsets, words = memory.put([first, first + 2, first + 4]), memory.put([10, 20])
    out, costs = memory.room(8), memory.room(8)
    for keys, given, looks in (([words, words + 4], 0, True),
                               ([words + 4, words], memory.put([5, 6]), False)):
        inputs = StreamRows(memory.put(keys), given, rows=offsets - words, looks=looks)
        assert memory.scu.stream_expansion(0, inputs, 2, out, costs) == (4, 4)
        right = [7, 8, 7, 7] if looks else [7, 7, 7, 8]
        assert memory.get(out, 4) == right
        assert memory.get(costs, 4) == ([10, 10, 20, 20] if looks else [5, 5, 6, 6])
        assert memory.scu.stream_expansion(0, inputs.behind(1), 1, out, costs) == (2, 2)
        assert memory.get(out, 2) == right[2:]
        assert memory.get(costs, 2) == ([20, 20] if looks else [6, 6])


def test_names_and_registers():
    asked = []
    scu = ScuOperations(lambda name, registers: asked.append((name, registers)))
    scu.replication_compaction(8, 12, 3, 16, name="values")
    scu.data_compaction(8, 0, 16)
    assert [name for name, _ in asked] == ["values", "data"]
    assert asked[0][1] == {ScuRegister.SOURCE: 8, ScuRegister.COUNTS: 12, ScuRegister.LENGTH: 3,
                           ScuRegister.DESTINATION: 16, ScuRegister.COMMAND: 3}


def test_of_a_machine():
    machine = FunctionalMachine(CONFIG)
    machine.memory.view(np.uint32)[:3] = [1, 2, 3]
    start = int(MemoryMap.GLOBAL)
    assert ScuOperations.of(machine).data_compaction(start, 3, start + 64).result == 3
    assert machine.memory.view(np.uint32)[16:19].tolist() == [1, 2, 3]
    with pytest.raises(RunError, match="the SCU stopped: an address outside the memory"):
        ScuOperations.of(machine).data_compaction(0, 3, start)
