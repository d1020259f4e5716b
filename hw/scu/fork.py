"""A fork of a stream: every payload goes to each of several branches."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


__all__ = ["Fork"]


class Fork(wiring.Component):
    """Sends each payload of a stream to every enabled branch.

    Branches take a payload in different cycles if they like. The payload is taken from the input
    with the last branch.

    Latency: none. Throughput: a payload a cycle, if all branches are ready.

    Parameters
    ----------
    shape : shape
        Shape of the payload.
    count : int
        Number of branches.

    Members
    -------
    enable : In(count)
        The branches that take part. Holds while a payload is on offer.
    i : In(stream)
    o_0, … : Out(stream) of each branch
    """
    def __init__(self, shape, count):
        self._count = count
        super().__init__({
            "enable": In(count), "i": In(stream.Signature(shape)),
            **{f"o_{k}": Out(stream.Signature(shape)) for k in range(count)},
        })

    @property
    def o(self):
        """The branches."""
        return [getattr(self, f"o_{k}") for k in range(self._count)]

    def elaborate(self, platform):
        m = Module()
        taken = Signal(self._count)         # branches that have the payload already
        takes = Signal(self._count)
        for k, branch in enumerate(self.o):
            m.d.comb += [
                branch.payload.eq(self.i.payload),
                branch.valid.eq(self.i.valid & self.enable[k] & ~taken[k]),
                takes[k].eq(~self.enable[k] | taken[k] | branch.ready),
            ]
        m.d.comb += self.i.ready.eq(takes.all())
        with m.If(self.i.valid):
            m.d.sync += taken.eq(taken | takes)
            with m.If(self.i.ready):
                m.d.sync += taken.eq(0)
        return m
