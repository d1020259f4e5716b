# amaranth: UnusedElaboratable=no
"""Random designs with all that the compiler translates."""

import operator
from functools import reduce

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import mux_tree


__all__ = ["INPUTS", "LaneDesign", "RandomDesign", "RowDesign"]


#: Inputs and their widths: bits, and values of less than a word, a word, and several words.
INPUTS = {"bit": 1, "small": 5, "half": 32, "word": 64, "long_": 65, "line": 200}


class RandomDesign(wiring.Component):
    """Expressions, choices, registers and memories, drawn from a source of random numbers."""

    def __init__(self, rng, *, size=60):
        self._rng, self._size = rng, size
        super().__init__({
            **{name: In(width) for name, width in INPUTS.items()},
            **{f"out_{i}": Out(rng.choice((1, 8, 33, 64, 100, 150))) for i in range(12)},
            "orders": Out(130), "either": Out(64),
        })

    def elaborate(self, platform):
        m = Module()
        rng = self._rng
        self.m, self.pool = m, [getattr(self, name) for name in INPUTS]
        registers = [Signal(width, init=rng.getrandbits(width), name=f"register_{i}")
                     for i, width in enumerate(rng.choices((1, 4, 16, 40, 64, 90), k=10))]
        self.pool += registers
        self._memories(m)
        self._lanes(m)
        for number in range(self._size):
            self._step(number)
        for register in registers:
            self._drive(m.d.sync, register)
        for i in range(12):
            out = getattr(self, f"out_{i}")
            m.d.comb += out.eq(self._pick())
        m.d.comb += [self.orders.eq(self._both_orders(self._pick(), self.half ^ self._pick())),
                     self.either.eq(self._wide_or())]
        return m

    def _pick(self, width=None):
        value = self._rng.choice(self.pool)
        if width is None:
            return value
        low = self._rng.randrange(len(value))
        return value[low:low + width]

    def _step(self, number):
        """Adds a signal with a random expression or random choices."""
        rng = self._rng
        a, b = self._pick(), self._pick()
        kind = rng.randrange(19)
        if kind < 11:
            value = [
                lambda: a + b, lambda: a - b, lambda: a & b, lambda: a | b, lambda: a ^ b,
                lambda: ~a, lambda: Cat(a == b, a != b, a < b, a <= b, a > b, a >= b),
                lambda: Cat(a.any(), a.all(), a.xor(), a.bool(), a[:0].all(), a[:0].any(),
                        a[:0] == b[:0]),
                lambda: a[:40] * b[:24] if rng.random() < 0.5 else a * b,
                lambda: (a << b[:3]) if len(a) < 120 else a >> b[:7],
                lambda: Mux(self._pick(1), a, b)][kind]()
        elif kind == 11:
            value = Cat(a.as_signed() >> b[:7], a.as_signed() < b.as_signed(),
                        a.as_signed() >= b.as_signed(), (-a)[:70])
        elif kind == 12:
            value = a.word_select(b[:2], max(1, len(a) // 4))
        elif kind == 13:
            value = a.bit_select(b[:7], rng.choice((1, 9, 64, 70)))
        elif kind == 16:        # values that only one arm needs
            value = Mux(self._pick(1), ((a + b) ^ (a & ~b)) - (a | b),
                        ((a - b) | (a ^ ~b)) + (b & a))
        elif kind == 17:
            value = Cat((a << Const(rng.randrange(5), 3))[:90], a >> Const(rng.randrange(5), 3))
        elif kind == 14:
            value = Array([self._pick() for _ in range(3)])[b[:2]]
        elif kind == 18:
            value = self._wide_or()
        else:
            value = Cat(a[0].replicate(rng.randrange(1, 70)), Const(rng.getrandbits(9), 9), b)
        signal = Signal(min(len(value), rng.choice((1, 17, 64, 130))), name=f"value_{number}")
        if rng.random() < 0.35:
            self._drive(self.m.d.comb, signal)
        else:
            self.m.d.comb += signal.eq(value)
        self.pool.append(signal)

    def _both_orders(self, a, b):
        """Operators that have two values in both orders, and a value and 0."""
        a, b = Cat(a, self.small)[:9], Cat(b, self.word)[:9]
        return Cat(a - b, b - a, Const(0, 9) - a, a - Const(0, 9), a < b, b < a, a <= b, b <= a,
                   a << b[:3], b << a[:3], a >> b[:3], b >> a[:3])

    def _wide_or(self):
        """An OR of choices, all or all but one of them between a value and 0."""
        rng, width = self._rng, self._rng.choice((1, 6, 20, 64))

        def value():
            return Cat(self._pick(), self._pick(), Const(0, width))[:width]
        odd = rng.randrange(12)             # more than there are choices: all are alike
        return reduce(operator.or_, (Mux(self._pick(1), value(), value() if index == odd else 0)
                                     for index in range(9)))

    def _lanes(self, m):
        """Registers side by side: of each, a part is assigned under a condition of all, and another
        part under one of its own. The same for signals that are no registers."""
        rng, width = self._rng, self._rng.choice((4, 8, 16))
        lanes = range(5)
        registers = [Signal(width, init=rng.getrandbits(width), name=f"lane_{i}") for i in lanes]
        values = [Signal(width, name=f"seen_{i}") for i in lanes]
        low, size = rng.randrange(1, 3), rng.randrange(1, width - 2)
        turn = Signal(3)
        m.d.sync += turn.eq(Mux(turn == 4, 0, turn + 1))
        for i in lanes:
            with m.If(self.bit):
                m.d.sync += registers[i][low:low + size].eq(self.line[i * size:(i + 1) * size])
            with m.Elif(turn == i):
                m.d.sync += registers[i][-1].eq(self.word[i])
            m.d.comb += values[i].eq(registers[i])
            with m.If(self.small[4]):
                m.d.comb += values[i][:size].eq(registers[i][low:low + size])
        self.pool += [Cat(registers), Cat(values)]

    def _drive(self, domain, signal):
        """Assigns to a signal, or to bits of the signal, under conditions."""
        m, rng = self.m, self._rng
        kind = rng.randrange(4)
        low = rng.randrange(len(signal))
        bits = signal[low:low + rng.randrange(1, 40)]
        if kind == 0:
            with m.If(self._pick(1)):
                domain += signal.eq(self._pick())
            with m.Elif(self._pick(1)):
                domain += bits.eq(self._pick() + self._pick())
        elif kind == 1:
            with m.Switch(Cat(self._pick(1), self._pick(1), self._pick(1))[:3]):
                for pattern in ("0-1", "110", "-00"):
                    with m.Case(pattern):
                        domain += [signal.eq(self._pick()), bits.eq(self._pick())]
                with m.Default():
                    domain += bits.eq(~self._pick())
        elif kind == 2:
            with m.If(self._pick(1)):
                domain += signal.eq(self._pick() ^ self._pick())
                with m.If(self._pick(1)):
                    domain += bits.eq(self._pick() - self._pick())
        else:
            domain += signal.eq(self._pick())
        if rng.random() < 0.2:
            domain += signal[:low + 1].eq(self._pick())     # in any case, after the others

    def _memories(self, m):
        """Memories: one with rows of a word, one with wide rows and a depth that is no power of
        two, and one with a single row."""
        rng = self._rng
        for name, shape, depth in (("narrow", 18, 8), ("broad", 96, 5), ("single", 10, 1)):
            m.submodules[name] = store = memory.Memory(
                shape=shape, depth=depth, init=[rng.getrandbits(shape) for _ in range(depth)])
            write = store.write_port(granularity=shape // 2)
            second = store.write_port()
            reads = [store.read_port(), store.read_port(transparent_for=(write,)),
                     store.read_port(domain="comb")]
            m.d.comb += [
                write.addr.eq(self._pick(3)), write.data.eq(self._pick()),
                write.en.eq(self._pick(2)),
                second.addr.eq(self._pick(3)), second.data.eq(self._pick()),
                second.en.eq(self.bit & self.small[0] & (second.addr != write.addr)),
                *(port.addr.eq(self._pick(3)) for port in reads),
                *(port.en.eq(self._pick(1)) for port in reads[:2]),
            ]
            self.pool += [Cat(port.data) for port in reads]


class LaneDesign(wiring.Component):
    """Comparisons of a list of values with one value, and choices of values by masks of bits and by
    the bits of an index, as units with lanes have them.

    Parameters
    ----------
    count : int
        Values of the list.
    width : int
        Bits of a value.
    """

    def __init__(self, count, width):
        self._count, self._width = count, width
        super().__init__({
            **{name: In(bits) for name, bits in INPUTS.items()},
            "equal": Out(2 * count), "constant": Out(count), "chosen": Out(width),
            "halves": Out(width), "indexed": Out(width), "few": Out(width),
            "uneven": Out(width), **{f"row_{i}": Out(count) for i in range(count)},
        })

    def elaborate(self, platform):
        m = Module()
        count, width = self._count, self._width
        values = [Signal(width, name=f"value_{i}") for i in range(count)]
        turn = Signal(range(count))
        m.d.sync += turn.eq(Mux(turn == count - 1, 0, turn + 1))
        for i, value in enumerate(values):
            # Few different values, so that comparisons are true now and then.
            with m.If(turn == i):
                m.d.sync += value.eq(Mux(self.bit, self.word, self.small[:2])[:width])
        mask = Signal(count)
        m.d.comb += mask.eq(self.line)
        for i in range(count):
            m.d.comb += getattr(self, f"row_{i}").eq(Cat(value == values[i] for value in values))
        m.d.comb += [
            self.equal.eq(Cat(*(value == self.small[:2] for value in values),
                              *(value == self.small[2:4] for value in values))),
            self.constant.eq(Cat(value == 1 for value in values)),
            self.chosen.eq(reduce(operator.or_, (Mux(bit, value, 0)
                                                 for bit, value in zip(mask, values)))),
            # Another order of the bits, and an OR that is read elsewhere, too.
            self.halves.eq(reduce(operator.or_, (Mux(bit, value, 0)
                                                 for bit, value in zip(mask[::-1], values)))
                           ^ self.chosen),
            self.indexed.eq(mux_tree(self.small, values[:1 << count.bit_length() - 1][:32])
                            ^ mux_tree(self.line[7:10], values[:8])),
            self.few.eq(mux_tree(self.small, values[4:8])),
            # The two halves have different indexes.
            self.uneven.eq(Mux(self.small[2], mux_tree(self.small, values[:4]),
                               mux_tree(self.line[3:5], values[4:8]))),
        ]
        return m


class RowDesign(wiring.Component):
    """Registers of lanes, and the same operators bit by bit in each lane.

    Parameters
    ----------
    count : int
        Lanes.
    width : int
        Bits of a lane's values.
    """

    def __init__(self, count, width):
        self._count, self._width = count, width
        super().__init__({
            **{name: In(bits) for name, bits in INPUTS.items()},
            "kept": Out(count * width), "mixed": Out(count * width), "passed": Out(count * width),
            "masked": Out(count * width), "flags": Out(count), "chain": Out(count),
        })

    def elaborate(self, platform):
        m = Module()
        lanes, width = range(self._count), self._width
        kept = [Signal(width, init=5 * i + 1 & (1 << width) - 1, name=f"kept_{i}") for i in lanes]
        mixed = [Signal(width, init=~i & (1 << width) - 1, name=f"mixed_{i}") for i in lanes]
        flags = [Signal(name=f"flag_{i}", init=i % 3 == 1) for i in lanes]
        mask = Signal(self._count)
        m.d.comb += mask.eq(self.line)
        carry = self.bit
        for i in lanes:
            # Registers that keep their values, with different sources.
            with m.If(self.small[0]):
                m.d.sync += kept[i].eq(kept[i] + mixed[i - 1] + (i + 1))
            # Operators of one value of each register, and choices under one condition.
            both = Mux(self.small[1], kept[i] ^ mixed[i], ~(kept[i] | mixed[i]))
            other = self.half[:width] if width >= 16 else Const(i, width)
            m.d.sync += mixed[i].eq(Mux(self.small[2], both, other))
            # Single bits: choices under one condition each.
            m.d.sync += flags[i].eq(Mux(mask[i], flags[i] ^ self.line[100 + i], self.bit))
            # Each operator reads the one before.
            carry = flags[i] & carry | mask[i]
            m.d.comb += self.chain[i].eq(carry)
            m.d.comb += self.passed[i * width:(i + 1) * width].eq(
                Mux(self.bit, kept[i] & mixed[i], Const(1, width)))
            m.d.comb += self.masked[i * width:(i + 1) * width].eq(
                Mux(mask[i], kept[i], mixed[i]))
        m.d.comb += [self.kept.eq(Cat(kept)), self.mixed.eq(Cat(mixed)), self.flags.eq(Cat(flags))]
        return m
