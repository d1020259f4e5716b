"""The golden SCU against values worked by hand from Segura et al., sections 3.1 and 4.1, and from
the page on the registers. Commands, addresses and sets of the hash table are literal too."""

import numpy as np
import pytest

from hw.scu.registers import ScuError, ScuRegister as R
from sw.golden.scu import ScuOutcome, ScuModel


BASE = 0x8000_0000
SIZE = 1 << 16

#: Places of vectors, in words from the start of memory, and the first content of DESTINATION.
SOURCE, BITMASK, INDEXES, COUNTS, FILTER, ORDER, OPERAND, DESTINATION, TABLE, COUNT = (
    64 * place for place in range(1, 11))
COSTS, WEIGHTS = 64 * 11, 64 * 12
OLD = 0xEEEE_EEEE
EMPTY = 0xFFFF_FFFF

#: COMMAND: operations, outputs, comparisons, flags.
TO_BITMASK, DATA, ACCESS, REPLICATION, ACCESS_EXPANSION, STREAM = range(6)
UNIQUE, BEST, GROUP = 0x10, 0x20, 0x30
EQ, NE, LT, GE, LE, GT = (code << 8 for code in range(6))
SIGNED, CLEAR = 0x800, 0x1000


class Memory:
    """A memory, and a golden SCU with lines of 16 bytes on it."""

    def __init__(self, line_bytes=16):
        self.bytes = np.zeros(SIZE, np.uint8)
        self.words = self.bytes.view(np.uint32)
        self.words[DESTINATION:DESTINATION + 64] = OLD
        self.scu = ScuModel(self.bytes, line_bytes)

    def run(self, command, length, *, registers=(), **vectors):
        """Put vectors into memory and perform an operation on them."""
        given = {R.COMMAND: command, R.LENGTH: length, R.DESTINATION: BASE + 4 * DESTINATION,
                 R.OPERAND_LENGTH: 64, **dict(registers)}
        for name, values in vectors.items():
            place = globals()[name.upper()]
            self.words[place:place + len(values)] = values
            given[R[name.upper()]] = BASE + 4 * place
        return self.scu.run(given)

    def output(self, count):
        """The first words of DESTINATION."""
        return self.words[DESTINATION:DESTINATION + count].tolist()

    def table(self, count):
        """The first words of the hash table."""
        return self.words[TABLE:TABLE + count].tolist()


def hashed(sets, ways):
    """Registers for a hash table."""
    return {R.HASH: BASE + 4 * TABLE, R.HASH_SETS: sets, R.HASH_WAYS: ways}


def test_data():
    memory = Memory()
    assert memory.run(DATA, 5, source=[5, 6, 7, 8, 9], bitmask=[0b01010]) == ScuOutcome(2)
    assert memory.output(3) == [6, 8, OLD]


def test_access():
    memory = Memory()
    got = memory.run(ACCESS, 4, source=[5, 6, 7, 8], indexes=[3, 99, 0, 3], bitmask=[0b1101])
    assert got == ScuOutcome(3) and memory.output(4) == [8, 5, 8, OLD]


def test_replication():
    memory = Memory()
    got = memory.run(REPLICATION, 4, source=[5, 6, 7, 8], counts=[2, 0, 3, 1], bitmask=[0b0111])
    assert got == ScuOutcome(5) and memory.output(6) == [5, 5, 7, 7, 7, OLD]


def test_access_expansion():
    memory = Memory()
    got = memory.run(ACCESS_EXPANSION, 3, source=[10, 11, 12, 13, 14], indexes=[2, 4, 0],
                     counts=[3, 1, 2])
    assert got == ScuOutcome(6) and memory.output(7) == [12, 13, 14, 14, 10, 11, OLD]


def test_filter_operand_and_count():
    """Bit k of FILTER belongs to element k. OPERAND[k] belongs to element k of those that stay."""
    memory = Memory()
    registers = {R.FILTER_LENGTH: 4, R.COUNT_ADDRESS: BASE + 4 * COUNT, R.COUNT_OFFSET: 0xFFFF_FFFE}
    got = memory.run(DATA, 4, source=[1, 2, 3, 0xFFFF_FFFF], filter=[0b1011],
                     operand=[100, 200, 300], registers=registers)
    assert got == ScuOutcome(3) and memory.output(4) == [101, 202, 299, OLD]
    assert memory.words[COUNT] == 1                 # 3 elements, with an offset of -2


@pytest.mark.parametrize("command, bits", [
    (EQ, 0b00100), (NE, 0b11011), (LT, 0b00011), (GE, 0b11100), (LE, 0b00111), (GT, 0b11000),
    (EQ | SIGNED, 0b00100), (NE | SIGNED, 0b11011), (LT | SIGNED, 0b11011),
    (GE | SIGNED, 0b00100), (LE | SIGNED, 0b11111), (GT | SIGNED, 0b00000)])
def test_comparisons(command, bits):
    memory = Memory()
    got = memory.run(TO_BITMASK | command, 5, source=[0, 6, 7, 0x8000_0000, 0xFFFF_FFFF],
                     registers={R.REFERENCE: 7})
    assert got == ScuOutcome(5, bits.bit_count()) and memory.output(2) == [bits, OLD]


def test_order():
    memory = Memory()
    got = memory.run(DATA, 4, source=[5, 6, 7, 8], order=[3, 0, 5, 0])
    assert got == ScuOutcome(4) and memory.output(7) == [8, OLD, OLD, 5, OLD, 7, OLD]


def test_order_of_bits():
    """Bits that no element goes to keep their values."""
    memory = Memory()
    memory.words[DESTINATION:DESTINATION + 2] = 0, 0xFFFF_FFFF
    got = memory.run(TO_BITMASK | GE, 4, source=[1, 5, 2, 5], order=[33, 31, 63, 2],
                     registers={R.REFERENCE: 3})
    assert got == ScuOutcome(4, 2) and memory.output(3) == [0x8000_0004, 0x7FFF_FFFD, OLD]


def test_order_with_a_bad_place():
    """The elements before the bad place are stored and counted; the elements behind it are not."""
    memory = Memory()
    registers = {R.COUNT_ADDRESS: BASE + 4 * COUNT}
    got = memory.run(DATA, 5, source=[5, 6, 7, 8, 9], order=[2, 0, 0x10000, 1, 3],
                     registers=registers)
    assert got == ScuOutcome(2, 0, ScuError.UNMAPPED, BASE + 4 * DESTINATION + 0x40000)
    assert memory.output(5) == [6, OLD, 5, OLD, OLD] and memory.words[COUNT] == 0


def test_order_of_bits_with_a_bad_place():
    memory = Memory()
    memory.words[DESTINATION:DESTINATION + 2] = 0, 0
    got = memory.run(TO_BITMASK | GE, 5, source=[5, 1, 5, 5, 5],
                     order=[33, 0, 4, 32 * 0x10000, 1], registers={R.REFERENCE: 3})
    assert got == ScuOutcome(3, 2, ScuError.UNMAPPED, BASE + 4 * DESTINATION + 0x40000)
    assert memory.output(3) == [0b10000, 0b10, OLD]


def test_filter_unique():
    """A set of two ways: 5 and 9 fill it, 13 replaces 9 (element 3), 9 replaces 5 (element 4), and
    5 replaces 13 (element 5). The element that marks an empty way is always kept."""
    memory = Memory()
    got = memory.run(DATA | UNIQUE | CLEAR, 8, source=[5, 9, 5, 13, 9, 5, EMPTY, EMPTY],
                     registers=hashed(4, 2))
    assert got == ScuOutcome(8, 7) and memory.output(2) == [0b1111_1011, OLD]
    assert memory.table(8) == [EMPTY, EMPTY, 9, 5, EMPTY, EMPTY, EMPTY, EMPTY]


def test_the_table_keeps_what_it_holds():
    memory = Memory()
    memory.run(DATA | UNIQUE | CLEAR, 2, source=[5, 6], registers=hashed(4, 1))
    got = memory.run(DATA | UNIQUE, 3, source=[6, 5, 7], registers=hashed(4, 1))
    assert got == ScuOutcome(3, 1)
    assert memory.output(1) == [0b100]
    assert memory.table(4) == [EMPTY, 5, 6, 7]


def test_sets_of_the_hash_table():
    """All three terms: the number, the number >> 9 and the number >> 18."""
    memory = Memory()
    values = [16, 1 << 9 | 2, 1 << 18 | 4, 3 << 18 | 2 << 9 | 6, 1 << 27]
    sets = [0, 2 ^ 1, 4 ^ 1, 6 ^ 2 ^ 3, 0]
    assert sets == [0, 3, 5, 7, 0]
    assert memory.run(DATA | UNIQUE | CLEAR, 5, source=values,
                      registers=hashed(8, 1)) == ScuOutcome(5, 5)
    assert memory.table(8) == [1 << 27, EMPTY, EMPTY, values[1], EMPTY, values[2], EMPTY, values[3]]


def test_elements_that_do_not_hold_are_not_looked_up():
    memory = Memory()
    got = memory.run(TO_BITMASK | LT | UNIQUE | CLEAR, 4, source=[2, 9, 2, 1],
                     registers={R.REFERENCE: 5, **hashed(1, 4)})
    assert got == ScuOutcome(4, 2) and memory.output(1) == [0b1001]
    assert memory.table(4) == [2, 1, EMPTY, EMPTY]


def test_filter_best():
    """An element is kept again if its cost is less, and not if its cost is equal."""
    memory = Memory()
    got = memory.run(DATA | BEST | CLEAR, 6, source=[7, 7, 7, 7, 8, 7],
                     operand=[5, 5, 6, 4, 9, 4], registers=hashed(1, 2))
    assert got == ScuOutcome(6, 3) and memory.output(1) == [0b011001]
    assert memory.table(4) == [7, 4, 8, 9]


def test_costs_are_unsigned():
    memory = Memory()
    got = memory.run(DATA | BEST | CLEAR, 4, source=[9, 9, 9, 9],
                     operand=[0x8000_0000, 0xFFFF_FFFF, 0x7FFF_FFFF, 0x8000_0000],
                     registers=hashed(1, 2))
    assert got == ScuOutcome(4, 2) and memory.output(1) == [0b0101]
    assert memory.table(2) == [9, 0x7FFF_FFFF]


def test_group():
    """Lines of four words: elements 0, 2 and 4 are in line 0, 1 in line 1, 3 in line 2. Lines 0 and
    2 have the same set. Element 3 displaces the group of 0 and 2, and element 4 displaces the group
    of 3. Then the groups that are left get their places, in the order of the table."""
    memory = Memory()
    got = memory.run(DATA | GROUP, 5, source=[0, 4, 1, 8, 2], registers=hashed(2, 1))
    assert got == ScuOutcome(5, 4) and memory.output(6) == [0, 4, 1, 2, 3, OLD]


def test_full_groups():
    """With lines of 16 bytes a group has three elements. The third element closes it."""
    memory = Memory()
    got = memory.run(DATA | GROUP, 5, source=[0, 1, 9, 2, 3], registers=hashed(2, 1))
    # Lines 0 and 2 share a set: 9 displaces [0, 1], then 2 displaces 9, and 3 joins 2.
    assert got == ScuOutcome(5, 3) and memory.output(6) == [0, 1, 2, 3, 4, OLD]
    got = memory.run(DATA | GROUP, 5, source=[4, 0, 5, 6, 7], registers=hashed(2, 1))
    # Line 1 is full with elements 0, 2 and 3; at the end line 0 comes first, then element 4.
    assert got == ScuOutcome(5, 3) and memory.output(6) == [0, 3, 1, 2, 4, OLD]


@pytest.mark.parametrize("line_bytes, limit", [(16, 3), (32, 7), (64, 8), (128, 8)])
def test_size_of_groups(line_bytes, limit):
    memory = Memory(line_bytes)
    got = memory.run(DATA | GROUP, 16, source=[1] * 16, registers=hashed(1, 1))
    assert got == ScuOutcome(16, -(-16 // limit)) and memory.output(16) == list(range(16))


def stream(memory, command, length=2, **more):
    """Rows 17, 18 and 15, 16 with costs 5 and 2 a row."""
    vectors = {"source": [15, 16, 17, 18], "indexes": [2, 0], "counts": [2, 2],
               "operand": [5, 2]} | more
    registers = vectors.pop("registers", {})
    vectors = {name: words for name, words in vectors.items() if words is not None}
    memory.words[COSTS:COSTS + 8] = OLD
    got = memory.run(command, length, registers={R.COSTS: BASE + 4 * COSTS, **registers}, **vectors)
    return got, memory.words[COSTS:COSTS + 5].tolist()


def test_stream():
    """The cost of an element is the word of its row, plus its weight if there are weights."""
    memory = Memory()
    got, costs = stream(memory, STREAM)
    assert got == ScuOutcome(4, 4) and memory.output(5) == [17, 18, 15, 16, OLD]
    assert costs == [5, 5, 2, 2, OLD]
    got, costs = stream(memory, STREAM, weights=[10, 20, 30, 0xFFFF_FFFF])
    assert got == ScuOutcome(4, 4) and costs == [35, 4, 12, 22, OLD]
    got, costs = stream(Memory(), STREAM, bitmask=[0b10], counts=[99, 1])
    assert got == ScuOutcome(1, 1) and costs[:2] == [2, OLD]


def test_stream_with_a_filter():
    """Only kept elements are stored, one behind the other. An element is kept again if its cost is
    less. SELECTED counts the elements before the filter."""
    memory = Memory()
    rows = {"source": [7, 8, 7, 7], "registers": hashed(1, 2) | {R.COUNT_ADDRESS: BASE + 4 * COUNT}}
    got, costs = stream(memory, STREAM | BEST | CLEAR, weights=[4, 0, 0, 0], **rows)
    # Costs are 5, 5, 6, 2. The row of 7, 7 comes first; 8 follows the second 7 of its own row.
    assert got == ScuOutcome(2, 4) and memory.output(3) == [7, 8, OLD]
    assert costs[:3] == [5, 2, OLD] and memory.table(4) == [7, 5, 8, 2]
    assert memory.words[COUNT] == 2
    memory = Memory()
    got, costs = stream(memory, STREAM | BEST | CLEAR, **rows)
    assert got == ScuOutcome(3, 4) and memory.output(4) == [7, 7, 8, OLD]
    assert costs[:4] == [5, 2, 2, OLD]
    memory = Memory()
    got, costs = stream(memory, STREAM | UNIQUE | CLEAR, **rows)
    assert got == ScuOutcome(2, 4) and memory.output(3) == [7, 8, OLD]
    assert costs[:3] == [5, 2, OLD] and memory.table(2) == [7, 8]


ROWS, LOOKS = 0x2000, 0x4000

#: Three words that lead to two rows, and the distance from a key to them.
OFFSETS, FROM_KEY = 64 * 13, 4 * 64 * 13 - 4 * INDEXES


def by_rows(memory, command, keys, **more):
    """Rows 15, 16 and 17, 18 of the keys 0 and 1, which are addresses of INDEXES."""
    memory.words[OFFSETS:OFFSETS + 3] = [0, 2, 4]
    registers = {R.ROWS: FROM_KEY} | more.pop("registers", {})
    return stream(memory, command | ROWS, len(keys), counts=[9, 9], registers=registers,
                  indexes=[BASE + 4 * (INDEXES + key) for key in keys], **more)


def test_rows():
    """A key leads to two offsets, and to a cost if costs are looked up. The two lowest bits of a
    place do not count."""
    memory = Memory()
    got, costs = by_rows(memory, STREAM, [1, 0])
    assert got == ScuOutcome(4, 4) and memory.output(5) == [17, 18, 15, 16, OLD]
    assert costs == [5, 5, 2, 2, OLD]
    looks = {R.OPERAND: 4 * COUNT - 4 * INDEXES, R.ROWS: FROM_KEY + 3}
    memory.words[COUNT:COUNT + 2] = [30, 40]
    for weights, right in (({}, [40, 40, 30, 30]), ({"weights": [1, 2, 3, 4]}, [43, 44, 31, 32])):
        got, costs = by_rows(memory, STREAM | LOOKS, [1, 0], registers=looks | (
            {R.WEIGHTS: BASE + 4 * WEIGHTS} if weights else {}), operand=None, **weights)
        assert got == ScuOutcome(4, 4) and costs == [*right, OLD]
    # Costs at the keys: each key is the address of a key, here of its own and of the one before.
    got, costs = by_rows(memory, STREAM | LOOKS, [1, 0], operand=None, registers={R.OPERAND: 0})
    assert costs == [BASE + 4 * INDEXES] * 2 + [BASE + 4 * INDEXES + 4] * 2 + [OLD]
    # A bitmask selects inputs, after all are looked up.
    got, costs = by_rows(memory, STREAM, [1, 0], bitmask=[0b10])
    assert got == ScuOutcome(2, 2) and costs[:3] == [2, 2, OLD]


def test_rows_outside_the_memory():
    """The first such input ends the inputs. Elements before it are stored."""
    last = SIZE // 4 - 1 - OFFSETS
    for keys, result, error in (([0, 1, last, 0], 4, SIZE), ([last + 1, 0], 0, SIZE),
                                ([0, -OFFSETS - 1], 2, -4)):
        got, _ = by_rows(Memory(), STREAM, keys, operand=[1] * len(keys))
        assert got == ScuOutcome(result, result, ScuError.UNMAPPED, BASE + error)
    got, _ = by_rows(Memory(), STREAM | LOOKS, [1, 0], operand=None,
                     registers={R.OPERAND: SIZE - 4 * INDEXES - 4})
    assert got == ScuOutcome(0, 0, ScuError.UNMAPPED, BASE + SIZE)
    for wrong in (STREAM | LOOKS, ACCESS_EXPANSION | ROWS, DATA | ROWS, DATA | LOOKS):
        got, _ = stream(Memory(), wrong)
        assert got == ScuOutcome(0, 0, ScuError.OPERATION, wrong)
    got, _ = by_rows(Memory(), STREAM, [0], operand=None, registers={R.OPERAND: 0})
    assert got == ScuOutcome(0, 0, ScuError.OPERATION, STREAM | ROWS)


@pytest.mark.parametrize("command, more, outcome", [
    (STREAM | GROUP, {"registers": hashed(1, 1)}, (0, 0, ScuError.OPERATION, STREAM | GROUP)),
    (STREAM, {"order": [0]}, (0, 0, ScuError.OPERATION, STREAM)),
    (STREAM, {"filter": [7]}, (0, 0, ScuError.OPERATION, STREAM)),
    (STREAM, {"registers": {R.COSTS: 0}}, (0, 0, ScuError.OPERATION, STREAM)),
    (STREAM, {"registers": {R.COSTS: BASE + 1}}, (0, 0, ScuError.MISALIGNED, BASE + 1)),
    (STREAM, {"registers": {R.WEIGHTS: 2}}, (0, 0, ScuError.MISALIGNED, 2)),
    (STREAM, {"registers": {R.COSTS: BASE + SIZE - 12}},
     (3, 3, ScuError.UNMAPPED, BASE + SIZE)),
    (STREAM, {"registers": {R.WEIGHTS: BASE + SIZE - 12}},
     (1, 1, ScuError.UNMAPPED, BASE + SIZE)),
])
def test_errors_of_stream(command, more, outcome):
    got, _ = stream(Memory(), command, **more)
    assert got == ScuOutcome(*outcome)


@pytest.mark.parametrize("command, registers, outcome", [
    (5, {}, ScuOutcome(0, 0, ScuError.OPERATION, 5)),
    (6, {}, ScuOutcome(0, 0, ScuError.OPERATION, 6)),
    (TO_BITMASK | 0x600, {}, ScuOutcome(0, 0, ScuError.OPERATION, 0x600)),
    (DATA | BEST, hashed(1, 2), ScuOutcome(0, 0, ScuError.OPERATION, 0x21)),
    (DATA, {R.DESTINATION: BASE + 2}, ScuOutcome(0, 0, ScuError.MISALIGNED, BASE + 2)),
    (DATA | UNIQUE, {**hashed(1, 2), R.HASH: BASE + 4},
     ScuOutcome(0, 0, ScuError.MISALIGNED, BASE + 4)),
    (DATA | UNIQUE, hashed(3, 2), ScuOutcome(0, 0, ScuError.HASH, 3)),
    (DATA | UNIQUE, hashed(1, 8), ScuOutcome(0, 0, ScuError.HASH, 8)),
    (DATA, {R.BITMASK: BASE + SIZE}, ScuOutcome(0, 0, ScuError.UNMAPPED, BASE + SIZE)),
    (DATA, {R.SOURCE: BASE + SIZE - 8}, ScuOutcome(2, 0, ScuError.UNMAPPED, BASE + SIZE)),
    (DATA, {R.DESTINATION: BASE + SIZE - 4}, ScuOutcome(1, 0, ScuError.UNMAPPED, BASE + SIZE)),
    (DATA, {R.ORDER: BASE + 4 * ORDER, R.OPERAND_LENGTH: 2},
     ScuOutcome(2, 0, ScuError.VECTOR, BASE + 4 * ORDER + 8)),
    (DATA, {R.FILTER: BASE, R.FILTER_LENGTH: 1}, ScuOutcome(0, 0, ScuError.VECTOR, BASE)),
])
def test_errors(command, registers, outcome):
    memory = Memory()
    assert memory.run(command, 3, registers={R.SOURCE: BASE, **registers}) == outcome
