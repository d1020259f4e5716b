"""Bytes on a serial line: a start bit, eight data bits from the lowest on, and a stop bit."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from hw.link.frames import check_divisor


__all__ = ["UartReceiver", "UartTransmitter"]


_BITS = 10


class UartReceiver(wiring.Component):
    """Converts the line to a stream of bytes.

    The receiver samples each bit once, in the middle of the bit, timed from the beginning of the
    start bit. So the sender's clock may differ by 2 %. The receiver drops a byte without a stop
    bit. A byte that arrives before the last byte was taken is also dropped.

    Latency: a byte is valid three cycles after the middle of its stop bit.

    Parameters
    ----------
    divisor : int
        Cycles of a bit.

    Members
    -------
    rx : In(1)
        The line. Asynchronous; high while the line is idle.
    o : Out(stream(8))
    """
    def __init__(self, divisor):
        check_divisor(divisor)
        self._divisor = divisor
        super().__init__({"rx": In(1, init=1), "o": Out(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        line = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=1)
        left = Signal(range(self._divisor))     # cycles to the middle of the next bit
        index = Signal(range(8))
        received = Signal(8, reset_less=True)
        arrived = Signal()
        m.d.sync += [arrived.eq(0), left.eq(left - 1)]
        with m.FSM(name="state"):
            with m.State("IDLE"):
                m.d.sync += left.eq(self._divisor // 2 - 1)
                with m.If(~line):
                    m.next = "START"
            with m.State("START"):
                with m.If(left == 0):
                    m.d.sync += [left.eq(self._divisor - 1), index.eq(0)]
                    m.next = "DATA"
                    with m.If(line):            # noise, not a start bit
                        m.next = "IDLE"
            with m.State("DATA"):
                with m.If(left == 0):
                    m.d.sync += [left.eq(self._divisor - 1), index.eq(index + 1),
                                 received.eq(Cat(received[1:], line))]
                    with m.If(index == 7):
                        m.next = "STOP"
            with m.State("STOP"):
                with m.If(left == 0):
                    m.d.sync += arrived.eq(line)
                    m.next = "IDLE"
                    with m.If(~line):
                        m.next = "BREAK"
            with m.State("BREAK"):
                with m.If(line):
                    m.next = "IDLE"
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(arrived & (~self.o.valid | self.o.ready)):
            m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(received)]
        return m


class UartTransmitter(wiring.Component):
    """Converts a stream of bytes to the line.

    Throughput: a byte in the time of 10 bits plus a cycle.

    Parameters
    ----------
    divisor : int
        Cycles of a bit.

    Members
    -------
    i : In(stream(8))
    tx : Out(1)
        The line, from a register.
    """
    def __init__(self, divisor):
        check_divisor(divisor)
        self._divisor = divisor
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        left = Signal(range(self._divisor))     # cycles left of the bit
        bits = Signal(range(_BITS + 1))         # bits that have not ended yet
        rest = Signal(_BITS - 1, reset_less=True)
        m.d.comb += self.i.ready.eq(bits == 0)
        with m.If(bits == 0):
            with m.If(self.i.valid):
                m.d.sync += [self.tx.eq(0), rest.eq(Cat(self.i.payload, Const(1, 1))),
                             bits.eq(_BITS), left.eq(self._divisor - 1)]
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += [self.tx.eq(rest[0]), rest.eq(Cat(rest[1:], Const(1, 1))),
                         bits.eq(bits - 1), left.eq(self._divisor - 1)]
        return m
