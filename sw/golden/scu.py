"""Reference model of the Stream Compaction Unit: its effect on memory, word for word.

The model follows :mod:`hw.scu.registers`, one element after the other where the order matters. The
model knows nothing of time.
"""

import dataclasses
import operator

import numpy as np

from hw.isa import MemoryMap
from hw.scu.registers import (EMPTY, ScuCommand, ScuCompare, ScuError, ScuOperation, ScuOutput,
                              ScuRegister, entry_bytes, group_limit, hash_set)


__all__ = ["ScuOutcome", "ScuModel"]


_COMPARE = {
    ScuCompare.EQ: operator.eq, ScuCompare.NE: operator.ne, ScuCompare.LT: operator.lt,
    ScuCompare.GE: operator.ge, ScuCompare.LE: operator.le, ScuCompare.GT: operator.gt,
}

_EXPANDS = (ScuOperation.ACCESS_EXPANSION, ScuOperation.STREAM)
_COUNTED = (ScuOperation.REPLICATION, *_EXPANDS)
_INDEXED = (ScuOperation.ACCESS, *_EXPANDS)


@dataclasses.dataclass(frozen=True)
class ScuOutcome:
    """The result registers after an operation; see :class:`~hw.scu.registers.ScuRegister`."""
    result: int = 0
    selected: int = 0
    error: ScuError = ScuError.NONE
    error_address: int = 0


class _Refused(Exception):
    """The registers are wrong. The arguments are an error and its address."""


class ScuModel:
    """The Stream Compaction Unit.

    Parameters
    ----------
    memory : numpy.ndarray
        Global memory, of uint8; byte 0 is address 0x8000_0000.
    line_bytes : int
        Bytes of a cache line.
    """

    def __init__(self, memory, line_bytes):
        self._words = memory.view(np.uint32)
        self._base = int(MemoryMap.GLOBAL)
        self._end = self._base + memory.nbytes
        self._line_bytes = line_bytes

    def run(self, registers) -> ScuOutcome:
        """Perform an operation.

        Parameters
        ----------
        registers : dict of ScuRegister to int
            Values that the host writes. Missing registers are 0.
        """
        self._registers = {name: registers.get(name, 0) & 0xFFFF_FFFF for name in ScuRegister}
        try:
            self._decode()
            self._check()
        except _Refused as refused:
            return ScuOutcome(0, 0, *refused.args)
        if self._output and (self._command & ScuCommand.CLEAR or self._output == ScuOutput.GROUP):
            self._table[:] = EMPTY
        addresses, error = self._elements()
        values = self._read(addresses)
        if self._streams:
            return self._store_stream(values, addresses, error)
        if self._adds and len(values):
            values = values + self._vector(ScuRegister.OPERAND, len(values))
        result, selected, worse = self._store(values)
        return self._finish(result, selected, error if worse is None else worse)

    def _finish(self, result, selected, error):
        """The outcome, after the count was written."""
        count_address = self._get("COUNT_ADDRESS")
        if count_address and error is None:
            self._words[self._index(count_address)] = (
                result + self._get("COUNT_OFFSET") & 0xFFFF_FFFF)
        kind, place = error or (ScuError.NONE, 0)
        return ScuOutcome(result, selected, kind, place)

    def _get(self, name):
        return self._registers[ScuRegister[name]]

    # Before an operation

    def _decode(self):
        """Decode the command. Raises _Refused if there is no such operation."""
        command = self._command = self._get("COMMAND")
        operation = command & ScuCommand.OPERATION
        compare = (command & ScuCommand.COMPARE) >> 8
        self._output = ScuOutput((command & ScuCommand.OUTPUT) >> 4)
        ordered, operand = self._get("ORDER"), self._get("OPERAND")
        if (operation not in list(ScuOperation)
                or (operation == ScuOperation.BITMASK and compare not in list(ScuCompare))
                or (self._output and ordered)
                or (self._output == ScuOutput.FILTER_BEST and not operand
                    and operation != ScuOperation.STREAM)):
            raise _Refused(ScuError.OPERATION, command)
        self._streams = operation == ScuOperation.STREAM
        self._rows, self._looks = (bool(command & flag)
                                   for flag in (ScuCommand.ROWS, ScuCommand.LOOKS))
        if (self._rows and not self._streams) or (self._looks and not self._rows):
            raise _Refused(ScuError.OPERATION, command)
        if self._streams:
            wrong = (self._output == ScuOutput.GROUP or ordered
                     or not (operand or self._looks)
                     or self._get("FILTER") or not self._get("COSTS"))
        else:
            wrong = self._output in (ScuOutput.FILTER_UNIQUE, ScuOutput.GROUP) and operand
        if wrong:
            raise _Refused(ScuError.OPERATION, command)
        self._operation = ScuOperation(operation)
        self._compare = _COMPARE.get(compare)
        self._adds = bool(operand) and self._output == ScuOutput.DATA and not self._streams
        self._bits = not self._streams and (
            self._output in (ScuOutput.FILTER_UNIQUE, ScuOutput.FILTER_BEST)
            or (self._operation == ScuOperation.BITMASK and self._output == ScuOutput.DATA))

    def _check(self):
        """Check addresses and sizes. Raises _Refused for wrong ones."""
        inputs, filters, operands = (self._get(name) for name in
                                     ("LENGTH", "FILTER_LENGTH", "OPERAND_LENGTH"))
        vectors = {"SOURCE": 0, "DESTINATION": 0}
        for name, needed, size in (
                ("BITMASK", False, (inputs + 31) // 32 * 4),
                ("INDEXES", self._operation in _INDEXED, 4 * inputs),
                ("COUNTS", self._operation in _COUNTED and not self._rows, 4 * inputs),
                ("FILTER", False, (filters + 31) // 32 * 4),
                ("ORDER", False, 4 * operands),
                ("OPERAND", False, 4 * (inputs if self._streams else operands)),
                ("COUNT_ADDRESS", False, 4)):
            optional = name not in ("INDEXES", "COUNTS")
            if name == "OPERAND" and self._looks:
                continue
            if needed or (optional and self._get(name)):
                vectors[name] = size
        if self._streams:
            vectors |= {"COSTS": 0, "WEIGHTS": 0}
        for name in vectors:
            if self._get(name) % 4:
                raise _Refused(ScuError.MISALIGNED, self._get(name))
        if self._output:
            self._check_table()
        for name, size in vectors.items():
            self._check_range(self._get(name), size)

    def _check_table(self):
        table, sets, ways = (self._get(name) for name in ("HASH", "HASH_SETS", "HASH_WAYS"))
        entry = entry_bytes(self._output, self._line_bytes)
        if table % self._line_bytes:
            raise _Refused(ScuError.MISALIGNED, table)
        if sets == 0 or sets & sets - 1:
            raise _Refused(ScuError.HASH, sets)
        if ways == 0 or ways & ways - 1 or ways * entry > self._line_bytes:
            raise _Refused(ScuError.HASH, ways)
        size = sets * ways * entry
        size = -(-size // self._line_bytes) * self._line_bytes
        self._check_range(table, size)
        first = self._index(table)
        self._sets, self._ways = sets, ways
        self._table = self._words[first:first + size // 4]
        self._entries = self._table[:sets * ways * entry // 4].reshape(sets, ways, entry // 4)

    def _check_range(self, address, size):
        if size and not self._base <= address <= self._end - size:
            raise _Refused(ScuError.UNMAPPED, address)

    # Memory

    def _index(self, address):
        return (address - self._base) // 4

    def _vector(self, name, count):
        first = self._index(self._registers[name])
        return self._words[first:first + count].copy()

    def _bit_vector(self, name, count):
        words = self._vector(name, -(-count // 32))
        return np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little",
                             count=count).astype(bool)

    def _read(self, addresses):
        return self._words[(addresses - self._base) // 4]

    # The stream

    def _elements(self):
        """The addresses of the elements before the first wrong one, and its error or None."""
        inputs = self._get("LENGTH")
        selected = np.arange(inputs, dtype=np.int64)
        if inputs and self._get("BITMASK"):
            selected = np.flatnonzero(self._bit_vector(ScuRegister.BITMASK, inputs))
        indexes, counts = selected, np.ones(len(selected), np.int64)
        if inputs and self._operation in _INDEXED:
            indexes = self._vector(ScuRegister.INDEXES, inputs).astype(np.int64)[selected]
        error = None
        if inputs and self._rows:
            indexes, counts, error = self._look_up(inputs)
            indexes, counts = indexes[selected], counts[selected]
        elif inputs and self._operation in _COUNTED:
            counts = self._vector(ScuRegister.COUNTS, inputs).astype(np.int64)[selected]
        # No more than this number of elements can be stored.
        room = 32 * (self._end - self._base) // 4 + 1
        first = np.cumsum(counts) - counts
        counts = np.clip(room - first, 0, counts)
        words = np.repeat(indexes, counts)
        self._inputs = np.repeat(selected, counts)
        if self._operation in _EXPANDS:
            words = words + np.arange(len(words)) - np.repeat(first, counts)
        if self._get("FILTER"):
            length = self._get("FILTER_LENGTH")
            if len(words) > length:
                error = ScuError.VECTOR, self._get("FILTER") + length // 32 * 4 & 0xFFFF_FFFF
                words = words[:length]
            if len(words):
                words = words[self._bit_vector(ScuRegister.FILTER, len(words))]
        addresses = self._get("SOURCE") + 4 * words & 0xFFFF_FFFF
        return self._until_wrong(addresses, error)

    def _look_up(self, inputs):
        """The first word and the number of words of each input, and the error of the first input
        outside the memory or None. From this input on, numbers are 0."""
        keys = self._vector(ScuRegister.INDEXES, inputs).astype(np.int64)
        first = keys + self._get("ROWS") & 0xFFFF_FFFC
        places = [first, first + 4 & 0xFFFF_FFFF]
        if self._looks:
            places.append(keys + self._get("OPERAND") & 0xFFFF_FFFC)
        wrong = np.array([(place < self._base) | (place >= self._end) for place in places])
        count, error = inputs, None
        if wrong.any():
            count = int(np.argmax(wrong.any(axis=0)))
            at = places[int(np.argmax(wrong[:, count]))][count]
            error = ScuError.UNMAPPED, int(at)
        words = [np.zeros(inputs, np.int64) for _ in range(3)]
        for found, place in zip(words, places):
            found[:count] = self._read(place[:count])
        begin, end, self._costs = words
        return begin, end - begin & 0xFFFF_FFFF, error

    def _outside(self, addresses):
        """``[(number, error)]`` of the first address outside the memory; empty if there is none."""
        wrong = np.flatnonzero((addresses < self._base) | (addresses >= self._end))[:1]
        return [(number, (ScuError.UNMAPPED, int(addresses[number]))) for number in wrong]

    def _until_wrong(self, addresses, error):
        """The addresses of the elements before the first that cannot be read, lacks an operand or
        has no place; and its error, or else ``error``."""
        count = len(addresses)
        destination = self._get("DESTINATION")
        # (number, order of the check, error)
        places = [addresses]
        if self._streams and self._get("WEIGHTS"):
            places.append(self._weight_addresses(addresses))
        found: list[tuple[int, int, tuple[ScuError, int]]] = [
            (number, check, wrong) for check, each in enumerate(places)
            for number, wrong in self._outside(each)]
        length = self._get("OPERAND_LENGTH")
        for check, name in enumerate(("OPERAND", "ORDER"), 1):
            if self._get(name) and count > length and not self._streams:
                found.append((length, check, (ScuError.VECTOR,
                                              self._get(name) + 4 * length & 0xFFFF_FFFF)))
        outputs = [destination, self._get("COSTS")] if self._streams else [destination]
        if not self._get("ORDER") and count:
            for check, output in enumerate(outputs, 3):
                room = 0
                if self._base <= output < self._end:
                    room = (self._end - output) // 4 * (32 if self._bits else 1)
                if count > room:
                    at = output + 4 * (room // 32 if self._bits else room)
                    found.append((room, check, (ScuError.UNMAPPED, at & 0xFFFF_FFFF)))
        if found:
            number, _, error = min(found)
            addresses = addresses[:number]
        return addresses, error

    def _weight_addresses(self, addresses):
        """The address of the weight beside each element of STREAM."""
        return addresses - self._get("SOURCE") + self._get("WEIGHTS") & 0xFFFF_FFFF

    # Outputs

    def _store_stream(self, values, addresses, error):
        """Store the elements of STREAM, or the kept ones, with their costs."""
        costs = np.zeros(0, np.uint32)
        if len(values):
            costs = (self._costs if self._looks else
                     self._vector(ScuRegister.OPERAND, self._get("LENGTH")))
            costs = costs.astype(np.uint32)[self._inputs[:len(values)]]
            if self._get("WEIGHTS"):
                costs = costs + self._read(self._weight_addresses(addresses))
        kept = np.ones(len(values), bool)
        if self._output:
            kept = self._filter(values, kept, costs)
        for name, words in (("DESTINATION", values[kept]), ("COSTS", costs[kept])):
            first = self._index(self._get(name))
            if len(words):
                self._words[first:first + len(words)] = words
        return self._finish(int(kept.sum()), len(values), error)

    def _store(self, values):
        """Store the elements. Returns result, selected, and the error of a place outside the memory
        or None."""
        chosen = np.ones(len(values), bool)
        if self._operation == ScuOperation.BITMASK:
            kind = np.int32 if self._command & ScuCommand.SIGNED else np.uint32
            reference = np.array([self._get("REFERENCE")], np.uint32).view(kind)
            assert self._compare is not None        # others are refused before
            chosen = self._compare(values.view(kind), reference)
        if self._output == ScuOutput.GROUP:
            return self._group(values[chosen])
        if self._output:
            chosen = self._filter(values, chosen)
        if self._bits:
            places, error = self._places(len(values), 32)
            self._store_bits(chosen[:len(places)], places)
            return len(places), int(chosen[:len(places)].sum()), error
        places, error = self._places(len(values), 1)
        self._words[self._index(self._get("DESTINATION")) + places] = values[:len(places)]
        return len(places), 0, error

    def _places(self, count, unit):
        """The place of each element, in words or bits, up to the first place outside the memory,
        whose error is returned, too."""
        if not self._get("ORDER"):
            return np.arange(count), None
        places = self._vector(ScuRegister.ORDER, count).astype(np.int64) if count else (
            np.zeros(0, np.int64))
        addresses = self._get("DESTINATION") + 4 * (places // unit) & 0xFFFF_FFFF
        # A place may lead around the end of the address space, back to memory.
        places = self._index(addresses) * unit + places % unit - (
            self._index(self._get("DESTINATION")) * unit)
        for number, error in self._outside(addresses):
            return places[:number], error
        return places, None

    def _store_bits(self, bits, places):
        first = self._index(self._get("DESTINATION"))
        if not self._get("ORDER"):
            padded = np.zeros(-(-len(bits) // 32) * 32, bool)
            padded[:len(bits)] = bits
            words = np.packbits(padded, bitorder="little").view("<u4")
            self._words[first:first + len(words)] = words
            return
        for bit, place in zip(bits, places):
            word, mask = first + place // 32, np.uint32(1 << place % 32)
            self._words[word] = self._words[word] | mask if bit else self._words[word] & ~mask

    # The hash table

    def _filter(self, values, shown, costs=None):
        """For each element, whether it is kept."""
        best = self._output == ScuOutput.FILTER_BEST
        if costs is None:
            costs = (self._vector(ScuRegister.OPERAND, len(values)) if best and len(values)
                     else values)
        kept = np.zeros(len(values), bool)
        for k in np.flatnonzero(shown):
            value = int(values[k])
            ways = self._entries[hash_set(value, self._sets)]
            if value == EMPTY:
                kept[k] = True
                continue
            found = np.flatnonzero(ways[:, 0] == value)
            if len(found):
                kept[k] = best and costs[k] < ways[found[0], 1]
                if kept[k]:
                    ways[found[0], 1] = costs[k]
                continue
            way = self._free_way(ways, k)
            kept[k] = True
            ways[way, 0] = value
            if best:
                ways[way, 1] = costs[k]
        return kept

    def _free_way(self, ways, k):
        empty = np.flatnonzero(ways[:, 0] == EMPTY)
        return empty[0] if len(empty) else k & self._ways - 1

    def _group(self, values):
        """Store the place of each element in the new order. Returns as :meth:`_store`."""
        limit = group_limit(self._line_bytes)
        words_bits = (self._line_bytes // 4).bit_length() - 1
        first = self._index(self._get("DESTINATION"))
        place = groups = 0

        def emit(entry):
            nonlocal place, groups
            for member in entry[1:1 + (entry[0] & 15)]:
                self._words[first + member] = place
                place += 1
            groups += 1

        for k, value in enumerate(map(int, values)):
            line = value >> words_bits & 0xFFF_FFFF
            ways = self._entries[hash_set(line, self._sets)]
            found = [way for way in range(self._ways)
                     if ways[way, 0] != EMPTY and ways[way, 0] >> 4 == line]
            if found:
                way = found[0]
                ways[way, 0] += 1
                ways[way, ways[way, 0] & 15] = k
            else:
                way = self._free_way(ways, k)
                if ways[way, 0] != EMPTY:
                    emit(ways[way])
                ways[way, :2] = line << 4 | 1, k
            if ways[way, 0] & 15 == limit:
                emit(ways[way])
                ways[way, 0] = EMPTY
        for ways in self._entries:
            for entry in ways:
                if entry[0] != EMPTY:
                    emit(entry)
        return len(values), groups, None
