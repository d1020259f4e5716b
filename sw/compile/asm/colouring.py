"""The colouring of a kernel's registers: which of them hold values at once, and numbers for all.

:mod:`sw.compile.asm.virtual` says how a lane flows through the text, and what comes before and
after.
"""

import functools
import itertools
import operator

import numpy as np

from hw.operations import Format, Unit
from sw.compile.asm.assembler import OutOfRegisters
from sw.compile.asm.lines import Constant, Pinned


__all__ = ["RegisterFlow"]


#: How many times more often a loop's instructions run than the instructions around it.
_LOOP = 8


def _bits(bits):
    """The numbers of the bits that are 1."""
    while bits:
        bit = bits & -bits
        yield bit.bit_length() - 1
        bits ^= bit


def _matrix(rows, count):
    """Sets of so many registers as rows of 0 and 1. Numpy does in a tenth of the time what can be
    done with all rows at once."""
    size = -(-count // 8)
    flat = np.frombuffer(b"".join(row.to_bytes(size, "little") for row in rows), np.uint8)
    return np.unpackbits(flat.reshape(len(rows), size), axis=1, count=count, bitorder="little")


def _both_ways(rows):
    """From rows of bits that may lack half of the matrix, the whole of it, without the diagonal, as
    rows of 0 and 1."""
    matrix = _matrix(rows, len(rows))
    matrix |= matrix.T
    np.fill_diagonal(matrix, 0)
    return matrix


class RegisterFlow:
    """The flow of a kernel's text, and which registers are live together.

    Sets of registers are bits of an int.

    Parameters
    ----------
    text : list
        Lines and labels.
    colours : int
        How many registers there are.
    """

    def __init__(self, text, colours):
        self._colours = colours
        self._lines, self._places = [], {}
        for item in text:
            if item.mnemonic is None:
                self._places[item.label] = len(self._lines)
            else:
                self._lines.append(item)
        self._number()
        self._blocks()
        self._live()

    def _number(self):
        """Give every register a bit."""
        self._uses, self._writes, self._firsts = [], [], []
        bits, seen = {}, 0
        for line in self._lines:
            used = written = 0
            for register in line.reads:
                used |= bits.get(register) or bits.setdefault(register, 1 << len(bits))
            for register in line.writes:
                written |= bits.get(register) or bits.setdefault(register, 1 << len(bits))
            self._uses.append(used)
            self._writes.append(written)
            self._firsts.append(written & ~seen)
            seen |= written
        self._registers = list(bits)

    def _next(self, index):
        """The places of the instructions that may follow."""
        line, after = self._lines[index], [index + 1]
        targets = [] if line.target is None else [self._places[line.target]]
        row = line.mnemonic.row
        if row.format is Format.B:
            return after + targets
        if row.name == "jal":
            return targets
        if row.name == "jalr" or (row.name == "tmc" and line.named["rs1"].number == 0):
            return []
        return after

    def _blocks(self):
        """Divide the text into basic blocks."""
        self._ends = ends = {}
        starts = {0}
        for index, line in enumerate(self._lines):
            if line.mnemonic.ends_block:
                ends[index] = places = [place for place in self._next(index)
                                        if place < len(self._lines)]
                starts.update((index + 1, *places))
        starts = sorted(place for place in starts if place < len(self._lines))
        self._ranges = list(zip(starts, [*starts[1:], len(self._lines)]))
        numbers = {start: number for number, start in enumerate(starts)}
        self._following = []
        for _, end in self._ranges:
            places = ends.get(end - 1, [end] if end < len(self._lines) else [])
            self._following.append([numbers[place] for place in places])

    def _live(self):
        """The registers that are live behind each block, and that may be written before it."""
        count = len(self._ranges)
        needs, kills, makes = [0] * count, [0] * count, [0] * count
        for number, (start, end) in enumerate(self._ranges):
            firsts, need = self._firsts[start:end], 0
            for first, used in zip(reversed(firsts), reversed(self._uses[start:end])):
                need = need & ~first | used
            needs[number] = need
            kills[number] = functools.reduce(operator.or_, firsts)
            makes[number] = functools.reduce(operator.or_, self._writes[start:end])
        entered, self._behind = [0] * count, [0] * count
        changed = True
        while changed:
            changed = False
            for number in range(count - 1, -1, -1):
                behind = 0
                for following in self._following[number]:
                    behind |= entered[following]
                self._behind[number] = behind
                before = needs[number] | behind & ~kills[number]
                if before != entered[number]:
                    entered[number], changed = before, True
        self._made = [0] * count
        changed = True
        while changed:
            changed = False
            for number in range(count):
                made = self._made[number] | makes[number]
                for following in self._following[number]:
                    if made & ~self._made[following]:
                        self._made[following] |= made
                        changed = True

    def _together(self):
        """For each register, registers that must not share its number, as bits. One of two such
        registers knows of the other, and may know of itself."""
        neighbours = [0] * len(self._registers)
        self._crowds = []
        for number, (start, end) in enumerate(self._ranges):
            lines, writes = slice(start, end), self._writes[start:end]
            mades = list(itertools.accumulate(writes, operator.or_))
            before, live = self._made[number], self._behind[number]
            for written, made, first, used in zip(
                    reversed(writes), reversed(mades), reversed(self._firsts[lines]),
                    reversed(self._uses[lines])):
                if written:
                    there = live & (before | made) | written
                    if there.bit_count() > self._colours:
                        self._crowds.append(there)
                    while written:
                        bit = written & -written
                        neighbours[bit.bit_length() - 1] |= there
                        written ^= bit
                live = live & ~first | used
        return neighbours

    def _costs(self):
        """For each register, the instructions that it costs to keep it in no register; None if it
        must have one."""
        costs, depths = [0] * len(self._registers), [0] * len(self._lines)
        for index, places in self._ends.items():
            for place in places:
                for inside in range(place, index + 1):
                    depths[inside] += 1
        bound = set()
        for index, line in enumerate(self._lines):
            weight = _LOOP ** min(depths[index], 4)
            for bits in (self._uses[index], self._writes[index]):
                for number in _bits(bits):
                    costs[number] += weight
            if line.mnemonic.masks or line.mnemonic.row.unit is Unit.WARP:
                bound.update(line.writes)
            if line.mnemonic.row.unit is Unit.CROSS:
                # A slot would be loaded in the active lanes only, but a shuffle reads others too.
                bound.add(line.named["rs1"])
        return [None if register in bound or isinstance(register, Pinned)
                or (isinstance(register, Constant) and register.kept) else cost
                for register, cost in zip(self._registers, costs)]

    def colour(self):
        """Numbers from 1 on for all registers, as a dict, and the registers that must leave; if
        there are any, the numbers are of no use."""
        rows = self._together()
        if self._crowds:
            leaving = self._thinned(self._costs())
            if leaving:
                return {}, leaving
        order, neighbours, costs = range(len(rows)), [], None
        if len(rows) > self._colours:
            matrix = _both_ways(rows)
            degrees = matrix.sum(axis=0, dtype=int).tolist()
            if max(degrees) >= self._colours:
                neighbours = [row.nonzero()[0].tolist() for row in matrix]
                order, costs = self._order(neighbours, degrees)
        # Of each colour: the registers that have it, and those that must not have it.
        having, barred = [0] * (self._colours + 1), [0] * (self._colours + 1)
        numbers, stuck = range(1, self._colours + 1), []
        colours = [0] * len(rows)
        for register in order:
            bit, row = 1 << register, rows[register]
            colour = self._pick(number for number in numbers
                                if not (row & having[number] or barred[number] & bit))
            if colour is None:
                stuck.append(register)
            else:
                colours[register] = colour
                having[colour] |= bit
                barred[colour] |= row
        if stuck:
            costs = costs or self._costs()
            leaving = (self._leaves(number, neighbours, costs) for number in stuck)
            return {}, list(dict.fromkeys(leaving))     # in order: the same program every time
        return dict(zip(self._registers, colours)), []

    def _order(self, neighbours, degrees):
        """The order in which registers get colours, the reverse of that in which they leave the
        graph; and :meth:`_costs` if they were asked for, as a register had to leave that had too
        many neighbours."""
        left, order, costs = set(range(len(neighbours))), [], None
        easy = [number for number in left if degrees[number] < self._colours]
        while left:
            if easy:
                number = easy.pop()
                if number not in left:
                    continue
            else:
                costs = costs or self._costs()
                number = min(left, key=lambda number: self._urgency(costs, degrees, number))
            left.remove(number)
            order.append(number)
            for other in neighbours[number]:
                degrees[other] = degree = degrees[other] - 1
                if degree == self._colours - 1:
                    easy.append(other)
        return order[::-1], costs

    def _thinned(self, costs) -> list:
        """The registers that leave so that nowhere more registers are live than there are: those
        that cost least for each crowded place, constants first."""
        places = _matrix(self._crowds, len(self._registers)).sum(axis=0, dtype=int).tolist()
        order = {number: (not isinstance(self._registers[number], Constant),
                          cost / max(1, places[number]))
                 for number, cost in enumerate(costs) if cost is not None and places[number]}
        gone, leaving = 0, []
        for crowd in self._crowds:
            left = crowd & ~gone
            excess = left.bit_count() - self._colours
            if excess > 0:
                for number in sorted((number for number in _bits(left) if number in order),
                                     key=order.__getitem__)[:excess]:
                    gone |= 1 << number
                    leaving.append(self._registers[number])
        return leaving

    @staticmethod
    def _pick(free):
        """One of the numbers that are free: the first. None if there is none."""
        return next(free, None)

    def _urgency(self, costs, degrees, number):
        """The order in which registers leave: constants first, then what costs least."""
        cost = costs[number]
        if cost is None:
            return 2, 0.0
        return not isinstance(self._registers[number], Constant), cost / (degrees[number] + 1)

    def _leaves(self, number, neighbours, costs):
        """The register that leaves to make room for a register without a number."""
        near = [other for other in (number, *neighbours[number]) if costs[other] is not None]
        if not near:
            raise OutOfRegisters(f"no register is left for {self._registers[number].name!r}")
        degrees = [len(others) for others in neighbours]
        return self._registers[min(near, key=lambda other: self._urgency(costs, degrees, other))]
