"""Random operations of the Stream Compaction Unit, for comparisons with its golden model.

    operations = Operations(random.Random(seed), memory, config.line_bytes)
    for _ in range(100):
        registers = operations.next()           # its vectors are in ``memory`` now
        right = memory.copy()
        outcome = ScuModel(right, config.line_bytes).run(registers)
        ...                                     # let the unit do it, and flush
        assert (memory == right).all(), text(registers)

Whole memories can be compared. Fill the memory at random before the first operation. Vectors lie
anywhere in memory. A written vector overlaps another vector only where :mod:`hw.scu.registers`
allows it. Most operations are right. The others are wrong in every possible way, from the registers
to the last element. Everything that an operation does not use is garbage: unused registers,
elements that are not selected, the ends of vectors that are longer than needed. ``next`` writes to
memory, so no cache may hold a line of the memory at this time.

Memory of 64 KiB suffices.
"""

import dataclasses

import numpy as np

from hw.isa import MemoryMap
from hw.scu.registers import (EMPTY, ScuCommand, ScuCompare, ScuOperation, ScuOutput, ScuRegister,
                              entry_bytes, hash_set)


__all__ = ["Operations", "text"]


WORD = 0xFFFF_FFFF

_COUNTED = (ScuOperation.REPLICATION, ScuOperation.ACCESS_EXPANSION, ScuOperation.STREAM)
_INDEXED = (ScuOperation.ACCESS, ScuOperation.ACCESS_EXPANSION, ScuOperation.STREAM)
_FILTERS = (ScuOutput.FILTER_UNIQUE, ScuOutput.FILTER_BEST)

#: Elements of an operation, except for one long row and for endless operations.
_ELEMENTS = 1500

#: Words of a memory whose size the golden model may make elements of.
_SMALL = 1 << 18


def text(registers) -> str:
    """An operation as readable text, for the message of a failed test."""
    command = registers[ScuRegister.COMMAND]
    names = [f"{kind(value).name}" if value in list(kind) else str(value) for kind, value in (
        (ScuOperation, command & ScuCommand.OPERATION),
        (ScuOutput, (command & ScuCommand.OUTPUT) >> 4))]
    return " ".join(names + [f"{name.name}={value:#x}" for name, value in registers.items()])


@dataclasses.dataclass
class _Plan:
    """An operation without places in memory: its vectors by the names of their registers."""
    operation: ScuOperation
    output: ScuOutput
    length: int
    registers: dict = dataclasses.field(default_factory=dict)
    vectors: dict = dataclasses.field(default_factory=dict)     # arrays of words
    room: dict = dataclasses.field(default_factory=dict)        # words kept free
    shift: dict = dataclasses.field(default_factory=dict)       # words a register is too low
    last: str | None = None         # vector at the end of memory ...
    cut: int = 0                    # ... and number of words that it lacks
    selected: np.ndarray | None = None
    count: int = 0                  # elements that reach the output

    @property
    def bits(self):
        """Whether the output consists of bits."""
        return (self.output in _FILTERS and not self.streams) or (
            self.operation == ScuOperation.BITMASK and self.output == ScuOutput.DATA)

    @property
    def streams(self):
        """Whether elements and costs are stored."""
        return self.operation == ScuOperation.STREAM


def _extra(rng):
    """Number of words by which a vector is longer than needed."""
    return rng.choice([0, 0, rng.randint(1, 50)])


class Operations:
    """Random operations on one memory.

    Parameters
    ----------
    rng : random.Random
    memory : numpy.ndarray
        Global memory, of uint8, at least 64 KiB.
    line_bytes : int
        Bytes of a cache line.
    longest : int
        Inputs of an operation, at most.
    errors : float
        Share of operations with an error.
    operations, outputs : tuple
        Operations and outputs to choose from.
    """

    def __init__(self, rng, memory, line_bytes, *, longest=300, errors=0.2,
                 operations=tuple(ScuOperation), outputs=tuple(ScuOutput)):
        if memory.nbytes < 1 << 16:
            raise ValueError(f"memory of {memory.nbytes} bytes is too small; at least 65536")
        self._rng, self._words = rng, memory.view(np.uint32)
        self._base, self._end = int(MemoryMap.GLOBAL), int(MemoryMap.GLOBAL) + memory.nbytes
        self._line_words, self._longest, self._errors = line_bytes // 4, longest, errors
        self._operations, self._outputs = operations, outputs

    def next(self) -> dict:
        """Put the vectors of another operation into memory and return its registers."""
        plan = self._plan()
        wrong = self._rng.random() < self._errors
        spoiled = wrong and self._rng.random() < 0.6 and self._spoil_vectors(plan)
        if plan.streams and self._rng.random() < 0.5:
            spoiled |= self._by_rows(plan, wrong and not spoiled)
        registers = self._place(plan)
        if wrong and not spoiled:
            self._spoil_registers(plan, registers)
        return registers

    # Function of the operation

    def _plan(self):
        rng = self._rng
        plan = _Plan(rng.choice(self._operations), rng.choice(self._outputs), self._length())
        if plan.streams and plan.output == ScuOutput.GROUP:
            plan.output = ScuOutput.FILTER_BEST
        self._inputs(plan)
        elements = len(plan.selected)
        if plan.operation in _COUNTED:
            elements = int(plan.vectors["COUNTS"][plan.selected].sum(dtype=np.int64))
        if rng.random() < 0.4 and not plan.streams:
            elements = self._filter(plan, elements)
        plan.count = elements
        self._source(plan)
        self._outcome(plan)
        if rng.random() < 0.1:
            plan.last = rng.choice(["SOURCE", "DESTINATION", *(
                name for name in ("COSTS", "WEIGHTS") if name in {*plan.room, *plan.vectors})])
        return plan

    def _length(self):
        rng, longest = self._rng, self._longest
        return min(longest, rng.choice([rng.randint(0, 1), rng.randint(1, 8), rng.randint(1, 40),
                                        longest, *(rng.randint(0, longest) for _ in range(4))]))

    def _random_words(self, count, below=1 << 32):
        return np.array([self._rng.randrange(below) for _ in range(count)], np.uint32)

    def _random_bits(self, count):
        """Bits as words, with random bits behind the last one, and the positions of the ones."""
        rng = self._rng
        share = rng.choice([rng.choice([0.0, 0.05]), 0.5, 0.5, 0.9, 1.0])
        bits = np.array([rng.random() < share for _ in range(count)], bool)
        padded = np.array([rng.random() < 0.5 for _ in range(-count % 32)], bool)
        words = np.packbits(np.concatenate((bits, padded)), bitorder="little").view("<u4")
        return words.astype(np.uint32), np.flatnonzero(bits)

    def _inputs(self, plan):
        """The selected inputs, and the number of elements that each input gives."""
        rng, length = self._rng, plan.length
        plan.selected = np.arange(length)
        if rng.random() < 0.6:
            plan.vectors["BITMASK"], plan.selected = self._random_bits(length)
        if plan.operation in _COUNTED:
            counts = self._random_words(length)
            most = min(rng.choice([1, 3, 3, 10, 40]), _ELEMENTS // max(1, len(plan.selected)))
            for i in plan.selected:
                counts[i] = rng.randint(0, most) if rng.random() < 0.9 else 0
            if len(plan.selected) and rng.random() < 0.3:
                counts[rng.choice(plan.selected)] = rng.randint(0, 400)
            plan.vectors["COUNTS"] = counts

    def _filter(self, plan, elements):
        length = elements + _extra(self._rng)
        words, ones = self._random_bits(length)
        plan.vectors["FILTER"] = words
        plan.registers["FILTER_LENGTH"] = length
        return int((ones < elements).sum())

    def _source(self, plan):
        """The data, and the word of the data that each input names."""
        rng = self._rng
        size = plan.length
        if plan.operation in _INDEXED:
            counts = plan.vectors.get("COUNTS", np.ones(plan.length, np.uint32))[plan.selected]
            size = max([rng.randint(1, 400), *map(int, counts)])
            shift = rng.choice([0, 0, rng.randrange(1 << 30), rng.randrange(1 << 32)])
            plan.shift["SOURCE"] = shift
            plan.vectors["INDEXES"] = indexes = self._random_words(plan.length)
            near = rng.random() < 0.3       # neighbours, one after the other
            for i, count in zip(plan.selected, map(int, counts)):
                first = (i if near else rng.randrange(1 << 20)) % (size - count + 1)
                indexes[i] = min(first, size - 1) + shift & WORD
        plan.vectors["SOURCE"] = self._data(size)

    def _data(self, size):
        """Words of a kind on which comparisons, filters and groups have an effect."""
        rng = self._rng
        match rng.randrange(5):
            case 0:
                return self._random_words(size)
            case 1:         # few values, with the value of an empty way
                pool = [*map(int, self._random_words(rng.randint(1, 20))), 0, EMPTY]
                return np.array([rng.choice(pool) for _ in range(size)], np.uint32)
            case 2:         # vertices
                return self._random_words(size, rng.choice([10, 100, 1000, 10_000]))
            case 3:         # in clusters
                first = self._random_words(4)
                return np.array([int(rng.choice(first)) + rng.randrange(2 * self._line_words)
                                 & WORD for _ in range(size)], np.uint32)
            case 4:         # both signs
                return self._random_words(size, 21) - np.uint32(10)

    def _outcome(self, plan):
        """The output: operands, order, hash table and destination."""
        rng, registers = self._rng, plan.registers
        source = plan.vectors["SOURCE"]
        compare = rng.choice(list(ScuCompare))
        signed, clear = rng.random() < 0.5, rng.random() < 0.5
        registers["COMMAND"] = ScuCommand.of(
            plan.operation, plan.output, compare, signed=signed, clear=clear)
        registers["REFERENCE"] = (int(rng.choice(source)) if len(source) and rng.random() < 0.8
                                  else rng.getrandbits(32))
        operands = plan.count + _extra(rng)
        if plan.streams:
            below = rng.choice([4, 100, 1 << 32])
            plan.vectors["OPERAND"] = self._random_words(plan.length + _extra(rng), below)
            plan.room["COSTS"] = plan.count
            if rng.random() < 0.6:
                plan.vectors["WEIGHTS"] = self._random_words(len(source), below)
                plan.shift["WEIGHTS"] = plan.shift["SOURCE"]
        elif plan.output == ScuOutput.FILTER_BEST:
            plan.vectors["OPERAND"] = self._random_words(operands, rng.choice([4, 100, 1 << 32]))
        elif plan.output == ScuOutput.DATA and rng.random() < 0.3:
            plan.vectors["OPERAND"] = self._random_words(operands)
        unit = 32 if plan.bits else 1
        room = plan.count
        if plan.output == ScuOutput.DATA and rng.random() < 0.3 and not plan.streams:
            plan.vectors["ORDER"], room = self._order(plan, operands)
        registers["OPERAND_LENGTH"] = operands
        plan.room["DESTINATION"] = -(-room // unit)
        if plan.output != ScuOutput.DATA:
            self._table(plan, clear)
        if rng.random() < 0.4:
            plan.room["COUNT_ADDRESS"] = 1

    def _order(self, plan, operands):
        """A place for each element, and the number of places."""
        rng = self._rng
        places = operands + rng.choice([0, 0, rng.randint(0, 40)])
        order = list(range(places))
        if rng.random() < 0.8:
            rng.shuffle(order)
        order = order[:operands]
        if operands and rng.random() < 0.2:         # the last element for a place stays
            order = [rng.choice(order) for _ in order]
        if not plan.bits and rng.random() < 0.3:    # around the end of the address space
            plan.shift["DESTINATION"] = rng.randrange(1 << 32)
        shift = plan.shift.get("DESTINATION", 0)
        return np.array([place + shift & WORD for place in order], np.uint32), places

    def _table(self, plan, clear):
        """The hash table: garbage if the operation clears it, else some earlier elements."""
        rng, registers = self._rng, plan.registers
        entry = entry_bytes(plan.output, 4 * self._line_words) // 4
        sets = rng.choice([1, 2, 4, 16, 64])
        ways = rng.choice([way for way in (1, 2, 4, 8, 16, 32) if way * entry <= self._line_words])
        registers["HASH_SETS"], registers["HASH_WAYS"] = sets, ways
        size = -(-sets * ways * entry // self._line_words) * self._line_words
        table = self._random_words(size)
        if not clear and plan.output in _FILTERS:
            table[:] = EMPTY
            entries = table[:sets * ways * entry].reshape(sets, ways, entry)
            values = set(map(int, plan.vectors["SOURCE"])) - {EMPTY}
            for value in sorted(values):
                if rng.random() < 0.3:
                    way = entries[hash_set(value, sets), rng.randrange(ways)]
                    way[0] = value
                    way[1:] = rng.randrange(100)
        plan.vectors["HASH"] = table

    def _by_rows(self, plan, wrong):
        """Let the operation look up its rows, and sometimes their costs. Returns whether an input
        is wrong, which is so only if it may be."""
        rng, vectors = self._rng, plan.vectors
        vectors["INDEXES"], rows = vectors["INDEXES"].copy(), vectors["INDEXES"]
        ends = rows + vectors.pop("COUNTS")
        plan.registers["COMMAND"] |= ScuCommand.ROWS
        slots = list(range(plan.length))
        rng.shuffle(slots)
        shift = plan.shift["ROWS"] = rng.randrange(1 << 30)
        vectors["ROWS"] = self._random_words(2 * plan.length)
        looked = {"ROWS": (rows, ends)}
        if rng.random() < 0.5:
            plan.registers["COMMAND"] |= ScuCommand.LOOKS
            looked["OPERAND"] = (vectors["OPERAND"],)
            vectors["OPERAND"] = self._random_words(2 * plan.length)
            plan.shift["OPERAND"] = shift
        for i, slot in enumerate(slots):
            vectors["INDEXES"][i] = (4 * (shift + 2 * slot) + rng.randrange(4)) & WORD
            for name, words in looked.items():
                for place, values in enumerate(words):
                    vectors[name][2 * slot + place] = values[i]
        if not wrong or not plan.length or rng.random() < 0.5:
            return False
        i = rng.randrange(plan.length)
        vectors["INDEXES"][i] = int(vectors["INDEXES"][i]) + rng.choice(
            [1 << 29, 4 * len(self._words), WORD - 4 * len(self._words)]) & WORD
        return True

    # Places in memory

    def _place(self, plan):
        """Write the vectors and return the registers."""
        rng = self._rng
        sizes = {name: len(words) for name, words in plan.vectors.items()} | plan.room
        shared = self._in_place(plan, sizes)
        names = [name for name in sizes if name != plan.last]
        rng.shuffle(names)
        if plan.last:
            names.append(plan.last)
            sizes[plan.last] -= plan.cut
        gap = rng.choice([0, 1, 2 * self._line_words])
        places, at = {}, 0
        for name in names:
            at += rng.randint(0, gap)
            if name == "HASH":
                at += -at % self._line_words
            places[name] = at
            at += sizes[name]
        free = len(self._words) - at
        if free < 0:
            raise ValueError(f"the memory has no room for {at} words")
        begin = rng.choice([0, rng.randint(0, free), rng.randint(0, free)])
        begin -= begin % self._line_words
        registers = dict.fromkeys(ScuRegister, 0)
        for name, place in places.items():
            place += free if name == plan.last else begin
            words = plan.vectors.get(name, ())[:sizes[name]]
            self._words[place:place + len(words)] = words
            registers[ScuRegister[name]] = (self._base + 4 * place
                                            - 4 * plan.shift.get(name, 0)) & WORD
        if shared:
            registers[ScuRegister.DESTINATION] = registers[ScuRegister[shared]]
        for name, value in plan.registers.items():
            registers[ScuRegister[name]] = value
        registers[ScuRegister.LENGTH] = plan.length
        self._garbage(plan, registers)
        for name in ("STATUS", "RESULT", "SELECTED", "ERROR", "ERROR_ADDRESS"):
            del registers[ScuRegister[name]]
        return registers

    def _in_place(self, plan, sizes):
        """Sometimes the output goes where its operands or, of DATA, its elements are: where."""
        if "ORDER" in plan.vectors or plan.streams or plan.last or self._rng.random() < 0.8:
            return None
        if "OPERAND" in plan.vectors:
            shared = "OPERAND"
        elif plan.operation == ScuOperation.DATA and plan.output != ScuOutput.GROUP:
            shared = "SOURCE"
        else:
            return None
        del sizes["DESTINATION"]
        return shared

    def _garbage(self, plan, registers):
        """Fill the registers that the operation does not use with anything."""
        rng = self._rng
        used = {*plan.vectors, *plan.room}
        idle = ["COUNT_OFFSET"]
        idle += [name for name in ("INDEXES", "COUNTS") if name not in used]
        if plan.output == ScuOutput.DATA:
            idle += ["HASH", "HASH_SETS", "HASH_WAYS"]
        if "FILTER" not in used:
            idle.append("FILTER_LENGTH")
        if plan.streams or not used & {"ORDER", "OPERAND"}:
            idle.append("OPERAND_LENGTH")
        if not plan.streams:
            idle += ["COSTS", "WEIGHTS"]
        if "ROWS" not in used:
            idle.append("ROWS")
        for name in idle:
            if rng.random() < 0.5:
                registers[ScuRegister[name]] = rng.getrandbits(32)

    # Errors

    def _spoil_vectors(self, plan):
        """Make an element wrong, if there is an element. Returns whether an element is wrong."""
        rng, registers, vectors = self._rng, plan.registers, plan.vectors
        ways = {"SOURCE": len(plan.selected) and plan.operation not in _INDEXED,
                "INDEX": len(plan.selected) and plan.operation in _INDEXED,
                "ENDLESS": len(plan.selected) and plan.operation in _COUNTED,
                "ROOM": plan.count and "ORDER" not in vectors,
                "PLACE": plan.count and "ORDER" in vectors,
                "FILTER": registers.get("FILTER_LENGTH"),
                "OPERANDS": plan.count and not plan.streams
                and {"OPERAND", "ORDER"} & {*vectors},
                "WEIGHT": plan.count and "WEIGHTS" in vectors,
                "COSTS": plan.count and plan.streams}
        ways = [way for way, possible in ways.items() if possible]
        if not ways:
            return False
        match rng.choice(ways):
            case "SOURCE":
                plan.last, plan.cut = "SOURCE", rng.randint(1, len(vectors["SOURCE"]))
            case "INDEX":
                i = int(rng.choice(plan.selected))
                vectors["INDEXES"][i] = (int(vectors["INDEXES"][i])
                                         + rng.choice([len(self._words), 1 << 29]) & WORD)
            case "ENDLESS":
                self._endless(plan)
            case "ROOM":
                plan.last = "DESTINATION"
                plan.cut = rng.randint(1, plan.room["DESTINATION"])
            case "COSTS":
                plan.last = "COSTS"
                plan.cut = rng.randint(1, plan.room["COSTS"])
            case "WEIGHT":
                plan.last = "WEIGHTS"
                plan.cut = rng.randint(1, len(vectors["WEIGHTS"]))
            case "PLACE":
                order, k = vectors["ORDER"], rng.randrange(plan.count)
                order[k] = int(order[k]) + 32 * len(self._words) & WORD
            case "FILTER":
                registers["FILTER_LENGTH"] = rng.randrange(registers["FILTER_LENGTH"])
            case "OPERANDS":
                registers["OPERAND_LENGTH"] = rng.randrange(plan.count)
        return True

    def _endless(self, plan):
        """Make one input give more elements than any vector has room for."""
        rng = self._rng
        small = len(self._words) <= _SMALL
        plan.vectors["COUNTS"][rng.choice(plan.selected)] = rng.choice(
            [WORD, 20_000] if small else [20_000])
        if plan.operation == ScuOperation.REPLICATION:
            plan.last = "DESTINATION"
            plan.cut = rng.randint(0, plan.room["DESTINATION"])
        else:
            plan.last = "SOURCE"
            for name in {"DESTINATION", "COSTS"} & {*plan.room}:
                plan.room[name] += len(plan.vectors["SOURCE"])

    def _spoil_registers(self, plan, registers):
        """Make a register wrong."""
        rng, names = self._rng, ScuRegister
        match rng.choice(["command", "misaligned", "unmapped", "table"]):
            case "command":
                match rng.randrange(6):
                    case 5:
                        registers[names.COMMAND] |= rng.choice([ScuCommand.ROWS, ScuCommand.LOOKS])
                    case 0:
                        registers[names.COMMAND] |= rng.choice([6, 7])
                    case 4:
                        registers[names.COSTS] = 0
                    case 1:
                        registers[names.COMMAND] |= rng.choice([0x600, 0x700])
                    case 2:
                        registers[names.ORDER] = registers[names.OPERAND] = self._base
                        registers[names.OPERAND_LENGTH] = 0
                    case 3:
                        registers[names.OPERAND] = 0
            case "misaligned":
                name = rng.choice([*plan.vectors, *plan.room])
                registers[names[name]] += rng.randint(1, 3)
            case "unmapped":
                sizes = {"COUNT_ADDRESS": 1} | {
                    name: 1 if name == "HASH" else len(words)
                    for name, words in plan.vectors.items() if len(words) and name != "SOURCE"}
                name = rng.choice([*sizes])
                registers[names[name]] = rng.choice([
                    self._end - 4 * rng.randrange(sizes[name]), self._base - 4 * self._line_words,
                    4 * self._line_words, WORD - 4 * self._line_words + 1])
            case "table":
                name, value = rng.choice([
                    (names.HASH, registers[names.HASH] + 4), (names.HASH_SETS, 0),
                    (names.HASH_SETS, 6), (names.HASH_SETS, 1 << 31), (names.HASH_WAYS, 0),
                    (names.HASH_WAYS, 3), (names.HASH_WAYS, 2 * self._line_words)])
                registers[name] = value
