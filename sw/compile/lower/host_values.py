"""Expressions of the host as code of the device.

A value is a pair of registers, the lower and the upper word of a signed number; the upper one is
None if the number fits in the lower.
"""

from __future__ import annotations

from typing import Any

from sw.compile.lower.host_ranges import fits
from sw.lang import graph_ir as ir


__all__ = ["HostValues"]


class HostValues:
    """The values that a section of the host has in registers.

    Parameters
    ----------
    k : Kernel
        The section, which begins.
    words : callable
        ``words(k, key, register, place, store)`` loads a word of the host, or stores it.
    program : DeviceProgram

    Attributes
    ----------
    late : list or None
        The stores that are put off, as ``(key, place, register, before)``: a register has the word
        before, unless that is None. None if no store is put off.
    """

    def __init__(self, k, words, program):
        self._k, self._a, self._words = k, k.a, words
        self._ranges, self._pool = program.words.ranges, program.parent.pool
        self._known: dict = {}          # {(key, place): register}: words of the host
        self._sums: dict = {}           # {register: (another one, what it has more)}
        self.late: Any = None

    # The host's words

    def load(self, key, place=0):
        """A register with a word of the host, to be read only."""
        if (key, place) not in self._known:
            self._known[key, place] = self.stored(key, place)
        return self._known[key, place]

    def stored(self, key, place):
        """A new register with a word of the host, without what is put off."""
        into = self._a.reg("word")
        self._words(self._k, key, into, place)
        return into

    def begin(self, key, register, place):
        """A word of the host begins with that of a register, which is not written any more."""
        self.store(key, register, place)
        self._known[key, place] = register

    def store(self, key, register, place=0):
        """Store a word of the host, or put that off."""
        if self.late is None:
            self._words(self._k, key, register, place, True)
        else:
            self.late.append((key, place, register, self._known.get((key, place))))
        self._known[key, place] = register

    def number(self, name):
        """The value of a number of the host."""
        key = "number", name
        return self.load(key), None if fits(self._ranges.numbers[name]) else self.load(key, 1)

    def keep(self, name, value):
        """A number of the host gets a value."""
        low, high = value
        self.store(("number", name), low)
        if not fits(self._ranges.numbers[name]):
            self.store(("number", name), high or self._sign(low), 1)

    def address(self, storage):
        """A register with the address of the block of the pool that a storage's set has."""
        if storage < 2:                                 # of all vertices, and of none
            return self._k.constant(self._pool.address(self._k, 2 * storage))
        return self.load(("block", storage))

    def turn(self, storage):
        """A storage gets a set that is made now, in its other block."""
        block = self._a.reg("block")
        self._a.xori(block, self.address(storage), self._pool.BLOCK)
        self.store(("block", storage), block)

    def slot(self, slot):
        """A register with the word of a slot."""
        return self.load(("slot", slot))

    def keep_slot(self, slot, register):
        """A slot gets a word."""
        self.store(("slot", slot), register)

    def count(self, head):
        """A register with the number of executions of kernels that begin with an operator."""
        return self.load(("count", head))

    # Expressions

    def truth(self, node, sets):
        """A register that is not 0 if a condition holds."""
        if isinstance(node, ir.SetSize):
            return self.some(self.address(sets[node.name]))
        low, high = self.value(node, sets)
        if high is None:
            return low
        into = self._a.reg("truth")
        self._a.or_(into, low, high)
        return into

    def word(self, node, sets):
        """A register with the lower word of an expression."""
        return self.value(node, sets)[0]

    def value(self, node, sets):
        """The value of an expression; ``sets`` has the storages of the sets in it."""
        a = self._a
        match node:
            case ir.Literal():
                value = int(node.value)
                low = self._k.constant(value)
                return low, None if fits((value, value)) else self._k.constant(value >> 32)
            case ir.HostName():
                return self.number(node.name)
            case ir.SetSize():
                size = a.reg("size")
                self._pool.load_size(self._k, self.address(sets[node.name]), size)
                return size, None
            case ir.VertexSum():
                return self.load(("sum", node)), self.load(("sum", node), 1)
            case ir.Unary():
                into = a.reg("not")
                a.seqz(into, self.truth(node.operand, sets))
                return into, None
            case ir.Select():
                mask = self._mask(self.truth(node.condition, sets))
                return self._chosen(mask, self.value(node.then, sets),
                                    self.value(node.otherwise, sets))
            case ir.Binary(operation="and" | "or" as way):
                into, other = a.regs("truth", "other")
                a.snez(into, self.truth(node.left, sets))
                a.snez(other, self.truth(node.right, sets))
                (a.and_ if way == "and" else a.or_)(into, into, other)
                return into, None
        left, right = self.value(node.left, sets), self.value(node.right, sets)
        match node.operation:
            case "+" | "-":
                return self._sum(node, left, right)
            case "min" | "max":
                ends = (left, right) if node.operation == "min" else (right, left)
                return self._chosen(self._mask(self._less(*ends)), left, right)
            case "==" | "!=":
                into = self._differs(left, right)
                if node.operation == "==":
                    a.seqz(into, into)
                return into, None
            case "<" | ">=":
                into = self._less(left, right)
            case _:
                into = self._less(right, left)
        if node.operation in (">=", "<="):
            a.xori(into, into, 1)
        return into, None

    def some(self, address):
        """A register that is not 0 if the set of the block at an address has vertices."""
        some = self._a.reg("some")
        self._pool.load_size(self._k, address, some, exact=False)
        return some

    def _sign(self, low):
        high = self._a.reg("high")
        self._a.srai(high, low, 31)
        return high

    def _wide(self, *values):
        """Values with two words each."""
        return [(low, high or self._sign(low)) for low, high in values]

    def _sum(self, node, left, right):
        a, minus = self._a, node.operation == "-"
        low = a.reg("sum")
        if fits(self._ranges.of(node)) and isinstance(node.right, ir.Literal):
            # A register that is another one and a constant gives no chain of sums.
            base, more = self._sums.get(left[0], (left[0], 0))
            more += -node.right.value if minus else node.right.value
            if not more:
                return base, None
            if -2048 <= more < 2048:
                a.addi(low, base, more)
                self._sums[low] = base, more
                return low, None
        if fits(self._ranges.of(node)):
            (a.sub if minus else a.add)(low, left[0], right[0])
            return low, None
        left, right = self._wide(left, right)
        high, carry = a.regs("high", "carry")
        (a.sub if minus else a.add)(low, left[0], right[0])
        a.sltu(carry, *((left[0], right[0]) if minus else (low, left[0])))
        (a.sub if minus else a.add)(high, left[1], right[1])
        (a.sub if minus else a.add)(high, high, carry)
        return low, high

    def _less(self, left, right):
        """A register: 1 if one value is less than another."""
        a, into = self._a, self._a.reg("less")
        if left[1] is None and right[1] is None:
            a.slt(into, left[0], right[0])
            return into
        (low, high), (other_low, other_high) = self._wide(left, right)
        equal, less = a.regs("equal", "less")
        a.xor(equal, high, other_high)
        a.seqz(equal, equal)
        a.sltu(less, low, other_low)
        a.and_(less, less, equal)
        a.slt(into, high, other_high)
        a.or_(into, into, less)
        return into

    def _differs(self, left, right):
        """A register: not 0 if two values differ."""
        a, into = self._a, self._a.reg("differs")
        a.xor(into, left[0], right[0])
        if left[1] is not None or right[1] is not None:
            left, right = self._wide(left, right)
            high = a.reg("high")
            a.xor(high, left[1], right[1])
            a.or_(into, into, high)
        a.snez(into, into)
        return into

    def _mask(self, truth):
        mask = self._a.reg("mask")
        self._a.snez(mask, truth)
        self._a.neg(mask, mask)
        return mask

    def _chosen(self, mask, this, other):
        """The value ``this`` where the mask is all ones, else ``other``."""
        found = self._a.regs("low", "high")
        if this[1] is None and other[1] is None:
            self._k.select(found[0], mask, this[0], other[0])
            return found[0], None
        for into, *words in zip(found, *self._wide(this, other)):
            self._k.select(into, mask, *words)
        return tuple(found)
