"""Registers for streams, and assertions for the stream contract."""

from amaranth.hdl import Assert, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


__all__ = ["StreamBuffer", "StreamRegister", "check_stream"]


def check_stream(m, port, *, name):
    """Assert that an offered payload stays valid and unchanged until it is taken.

    The added registers feed only the assertions. A simulation without assertions drops these
    registers, and so does Yosys after ``chformal -remove``.

    Parameters
    ----------
    port
        A stream: ``valid``, ``ready`` and ``payload``, in the clock domain ``sync``.
    name : str
        Name of the stream, for the message.
    """
    payload = Value.cast(port.payload)
    held = Signal(name=f"{name}_held")              # offered in the cycle before, and not taken
    before = Signal(len(payload), name=f"{name}_before", reset_less=True)
    m.d.sync += held.eq(port.valid & ~port.ready)
    with m.If(port.valid & ~port.ready & ~held):
        m.d.sync += before.eq(payload)
    with m.If(held & ~ResetSignal()):
        m.d.sync += [
            Assert(port.valid, f"{name}: valid fell before the payload was taken"),
            Assert(payload == before, f"{name}: the payload changed before it was taken"),
        ]


class _StreamStage(wiring.Component):
    """A component with an input stream and an output stream of the same shape."""
    def __init__(self, shape):
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})


class StreamRegister(_StreamStage):
    """A register in a stream.

    The register cuts the paths of ``valid`` and ``payload``, and with ``cuts_ready`` also the path
    of ``ready``. With ``cuts_ready`` the register is filled only while it is empty.

    Latency: one cycle. Throughput: a payload a cycle; with ``cuts_ready``, a payload every other
    cycle.

    Parameters
    ----------
    shape
        Shape of the payload.
    cuts_ready : bool
        Whether the path of ``ready`` is cut.

    Members
    -------
    i : In(stream)
    o : Out(stream)
    """
    def __init__(self, shape, *, cuts_ready=False):
        self._cuts_ready = cuts_ready
        super().__init__(shape)

    def elaborate(self, platform):
        m = Module()
        held = Signal(self._shape, reset_less=True)
        leaves = 0 if self._cuts_ready else self.o.ready
        m.d.comb += [self.i.ready.eq(~self.o.valid | leaves), self.o.payload.eq(held)]
        with m.If(self.i.ready):
            m.d.sync += [self.o.valid.eq(self.i.valid), held.eq(self.i.payload)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m


class StreamBuffer(_StreamStage):
    """Two registers in a stream, filled and emptied in turn.

    The paths of ``valid``, ``payload`` and ``ready`` are cut. A late ``ready`` drives only the bit
    that selects the register, and not every bit of a wide payload.

    Latency: one cycle. Throughput: a payload a cycle.

    Members
    -------
    i : In(stream)
    o : Out(stream)
    """
    def elaborate(self, platform):
        m = Module()
        filled = Signal(2)
        fills = Signal()
        empties = Signal()
        held = [Signal(self._shape, name=f"held_{i}", reset_less=True) for i in range(2)]
        m.d.comb += [
            self.i.ready.eq(~filled.bit_select(fills, 1)),
            self.o.valid.eq(filled.bit_select(empties, 1)),
            self.o.payload.eq(Mux(empties, held[1], held[0])),
        ]
        for i in range(2):
            with m.If(filled[i]):
                with m.If(self.o.ready & (empties == i)):
                    m.d.sync += filled[i].eq(0)
            with m.Elif(fills == i):
                m.d.sync += [held[i].eq(self.i.payload), filled[i].eq(self.i.valid)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += fills.eq(~fills)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += empties.eq(~empties)
        m.d.sync += [
            Assert((fills == empties) == (filled[0] == filled[1])),
            Assert(self.o.valid | ~filled.any()),
        ]
        return m
