"""The divider: a warp's quotients and remainders, a bit a cycle in all lanes at once.

Each lane divides magnitudes by restoring division. The dividend is shifted out of one register
into the partial remainder. If the divisor fits, it is subtracted from the partial remainder. A bit
of the quotient enters the first register from the other side. The signs are corrected as the result
leaves.

A division by zero needs no logic of its own. A divisor of 0 always fits, so the quotient is all
ones and the remainder is the dividend. Only the sign of this quotient must not be changed. The
overflow -2**31 / -1 divides 2**31 by 1, and RISC-V specifies the quotient 2**31.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.core.loads import writeback_layout
from hw.operations import DivOp
from hw.timing import Timing


__all__ = ["Divider"]


class Divider(wiring.Component):
    """Serial divider of all lanes of a warp.

    Latency: the result is on offer 33 cycles after ``start``, whatever the operands. Throughput:
    one instruction at a time; the next may start in the cycle after the result was taken.

    Members
    -------
    start : In(1)
        Take the operands. Only while not ``busy``.
    op : In(DivOp)
    warp, rd, mask : In
        Destination of the result.
    a, b : In(ArrayLayout(32, threads))
        Dividends and divisors.
    busy : Out(1)
        A division is under way, or its result has not been taken.
    result : Out(stream(writeback_layout))
        Quotients or remainders.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        lanes = data.ArrayLayout(32, config.threads)
        super().__init__({
            "start": In(1), "op": In(DivOp), "warp": In(index_bits(config.warps)), "rd": In(5),
            "mask": In(config.threads), "a": In(lanes), "b": In(lanes),
            "busy": Out(1), "result": Out(stream.Signature(writeback_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        result = self.result.payload
        owner_shape = data.StructLayout({
            "warp": index_bits(config.warps), "rd": 5, "mask": config.threads})
        owner = Signal(owner_shape, reset_less=True)
        left = Signal(range(33))            # bits of the quotient that are still to come
        dividing = Signal()
        done = Signal()
        wants_rest = Signal()
        is_signed = Signal()
        m.d.comb += [
            dividing.eq(left != 0),
            self.result.valid.eq(done),
            result.warp.eq(owner.warp), result.rd.eq(owner.rd), result.mask.eq(owner.mask),
            is_signed.eq((self.op == DivOp.DIV) | (self.op == DivOp.REM)),
        ]
        with m.If(self.start):
            m.d.sync += self.busy.eq(1)
        with m.Elif(done & self.result.ready):
            m.d.sync += self.busy.eq(0)
        with m.If(self.start):
            m.d.sync += [
                left.eq(32), wants_rest.eq((self.op == DivOp.REM) | (self.op == DivOp.REMU)),
                owner.warp.eq(self.warp), owner.rd.eq(self.rd), owner.mask.eq(self.mask),
            ]
        with m.Elif(dividing):
            m.d.sync += [left.eq(left - 1), done.eq(left == 1)]
        with m.Elif(self.result.ready):
            m.d.sync += done.eq(0)

        for i in range(config.threads):
            # ``quotient`` holds the bits left of the dividend above the bits of the quotient. The
            # divisor's magnitude is subtracted: a negative divisor is added instead.
            quotient, rest = (Signal(32, name=f"{name}_{i}", reset_less=True)
                              for name in ("quotient", "rest"))
            divisor = Signal(33, name=f"divisor_{i}", reset_less=True)
            quotient_negative, rest_negative = (Signal(name=f"{name}_negative_{i}")
                                                for name in ("quotient", "rest"))
            a_negative, b_negative = (Signal(name=f"{name}_negative_{i}") for name in "ab")
            shifted, difference, subtrahend = (Signal(33, name=f"{name}_{i}")
                                               for name in ("shifted", "difference", "subtrahend"))
            subtracts = Signal(name=f"subtracts_{i}")
            magnitude = Signal(32, name=f"magnitude_{i}")
            fits = Signal(name=f"fits_{i}")
            a, b = self.a[i], self.b[i]
            m.d.comb += [a_negative.eq(is_signed & a[31]), b_negative.eq(is_signed & b[31])]
            with m.If(self.start):
                m.d.sync += [
                    quotient.eq(Mux(a_negative, -a, a)), rest.eq(0),
                    divisor.eq(Cat(b, b_negative)),
                    quotient_negative.eq((a_negative ^ b_negative) & (b != 0)),
                    rest_negative.eq(a_negative),
                ]
            with m.Elif(dividing):
                m.d.sync += [
                    rest.eq(Mux(fits, difference, shifted)), quotient.eq(Cat(fits, quotient)),
                ]
            with m.If(Timing(config).needed(dividing)):
                m.d.comb += [
                    shifted.eq(Cat(quotient[31], rest)),
                    subtracts.eq(~divisor[32]),
                    subtrahend.eq(divisor ^ subtracts.replicate(33)),
                    # The carry in is the carry out of an extra bit below the lowest.
                    difference.eq((Cat(1, shifted) + Cat(subtracts, subtrahend))[1:]),
                    # A remainder is smaller than the divisor, or below 2**32 if the divisor is 0.
                    fits.eq(~difference[32]),
                ]
            with m.If(Timing(config).needed(done)):
                m.d.comb += [
                    magnitude.eq(Mux(wants_rest, rest, quotient)),
                    result.data[i].eq(Mux(Mux(wants_rest, rest_negative, quotient_negative),
                                          -magnitude, magnitude)),
                ]

        started = Signal()
        m.d.sync += started.eq(1)
        with m.If(started):
            m.d.sync += Assert(~self.start | ~self.busy, "a division starts during another")
        return m
