"""Votes and shuffles: data exchange between the lanes of a warp.

A vote is on bit 0 of each active lane's value. A shuffle gives each lane the value of another lane.
Each lane names that lane by its own operand, as in Vortex 2.x:

=========  ====  ===================================================================
``b``      5:0   distance, bits to flip, or number of a lane
``c``      11:6  clamp: number, within the segment, of the last lane to read
``mask``   17:12 bits of a lane's number that give the number of its segment
=========  ====  ===================================================================

With ``first`` = lane & mask and ``last`` = first | c & ~mask, lane ``l`` reads

=======  =====================  ================
``UP``   l - b                  if >= ``first``
``DOWN`` l + b                  if <= ``last``
``BFLY`` l ^ b                  if <= ``last``
``IDX``  first | b & ~mask      if <= ``last``
=======  =====================  ================

If the condition does not hold, or there is no such lane, the lane reads its own value. A lane that
is not active is read like any other: it gives the value of its register.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import index_bits, mux_tree
from hw.config import HardwareConfig
from hw.operations import CrossOp
from hw.timing import Timing


__all__ = ["CrossLane"]


class CrossLane(wiring.Component):
    """Votes and shuffles of a warp. Combinational; in the long pipeline latency is one cycle.
    Throughput: one operation a cycle.

    Members
    -------
    enable : In(1)
        There is an operation. Without it, ``result`` is 0.
    op : In(CrossOp)
    mask : In(threads)
        Active lanes; at least one.
    a : In(ArrayLayout(32, threads))
        Values of the lanes; bit 0 is the vote.
    b : In(ArrayLayout(32, threads))
        For a shuffle: the operand by which each lane names a lane.
    result : Out(ArrayLayout(32, threads))
        The result of a vote is the same in all lanes.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        lanes = data.ArrayLayout(32, config.threads)
        super().__init__({
            "enable": In(1), "op": In(CrossOp), "mask": In(config.threads),
            "a": In(lanes), "b": In(lanes), "result": Out(lanes),
        })

    def elaborate(self, platform):
        m = Module()
        threads = self._config.threads
        lanes = range(threads)
        ayes = Signal(threads)
        noes = Signal(threads)
        vote = Signal(32)
        m.d.comb += [
            ayes.eq(Cat(self.a[i][0] for i in lanes) & self.mask),
            noes.eq(~Cat(self.a[i][0] for i in lanes) & self.mask),
        ]
        with m.Switch(self.op):
            with m.Case(CrossOp.ALL):
                m.d.comb += vote.eq(~noes.any())
            with m.Case(CrossOp.ANY):
                m.d.comb += vote.eq(ayes.any())
            with m.Case(CrossOp.UNI):
                m.d.comb += vote.eq(~noes.any() | ~ayes.any())
            with m.Default():
                m.d.comb += vote.eq(ayes)

        is_shuffle = Signal()
        m.d.comb += is_shuffle.eq(self.op.as_value()[2])
        # Inputs of the second half: the vote, or for each lane the lane that it reads.
        shuffles = Signal()
        voted = Signal(32)
        values = Signal(self.a.shape(), reset_less=True)
        sources = [Signal(index_bits(threads), name=f"source_{i}") for i in lanes]
        m.d[Timing(self._config).later] += [
            shuffles.eq(self.enable & is_shuffle),
            voted.eq(Mux(self.enable & ~is_shuffle, vote, 0)), values.eq(self.a),
        ]
        operand = data.StructLayout({"b": 6, "c": 6, "mask": 6})
        for i in lanes:
            how = Signal(operand, name=f"how_{i}")
            first, last = (Signal(6, name=f"{name}_{i}") for name in ("first", "last"))
            # The lane to read, for each operation; the operation itself is known late. With 7 bits,
            # numbers below 0 and beyond 63 are noticed.
            up, down, flipped, indexed = (Signal(7, name=f"{name}_{i}")
                                          for name in ("up", "down", "flipped", "indexed"))
            source = Signal.like(sources[i], name=f"found_{i}")
            lane = Const(i, 6)

            def read(target, may):
                return Mux(may & (target < threads), target, i)
            # This is the largest part of the unit.
            with m.If(Timing(self._config).needed(self.enable & is_shuffle)):
                m.d.comb += [
                    how.eq(self.b[i]), first.eq(lane & how.mask),
                    last.eq(first | how.c & ~how.mask),
                    up.eq(lane - how.b), down.eq(lane + how.b), flipped.eq(lane ^ how.b),
                    indexed.eq(first | how.b & ~how.mask),
                ]
                with m.Switch(self.op):
                    with m.Case(CrossOp.UP):
                        m.d.comb += source.eq(read(up, ~up[6] & (up[:6] >= first)))
                    with m.Case(CrossOp.DOWN):
                        m.d.comb += source.eq(read(down, down <= last))
                    with m.Case(CrossOp.BFLY):
                        m.d.comb += source.eq(read(flipped, flipped <= last))
                    with m.Default():
                        m.d.comb += source.eq(read(indexed, indexed <= last))
            m.d[Timing(self._config).later] += sources[i].eq(source)
            with m.If(shuffles):
                m.d.comb += self.result[i].eq(mux_tree(sources[i], [values[j] for j in lanes]))
            with m.Else():
                m.d.comb += self.result[i].eq(voted)
        return m
