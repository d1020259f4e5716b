"""Collect: brings the decisions of several banks back into the order of the elements."""

from amaranth.hdl import Assert, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from hw.bits import mux_tree

from .beats import beat_layout
from .dispatch import addressed_layout


__all__ = ["Collect", "judged_layout"]


def judged_layout(shape):
    """An element, and whether it is kept."""
    return data.StructLayout({"kept": 1, "element": shape})


class Collect(wiring.Component):
    """Joins elements with the decisions on them.

    Beats of elements wait in a queue. Each bank gives its decisions in the order of its elements,
    and up to ``decisions`` of them wait. A beat leaves when all decisions on its elements are
    there. The last beat also waits for ``ended``.

    Latency: a beat leaves two cycles after its last decision came, and at least three cycles after
    the beat came. Throughput: a beat a cycle.

    Parameters
    ----------
    shape : shape
        Shape of an element.
    width : int
        Elements of a beat.
    banks : int
        Number of banks, a power of two.
    depth : int
        Beats in the queue.
    decisions : int
        Decisions of a bank that can wait, at least ``width``.

    Members
    -------
    i : In(stream(beat_layout(addressed_layout)))
        Beats. Any elements may be valid.
    decisions_0, … : In(stream(1)) of each bank
        Whether each element of the bank is kept.
    ended : In(1)
        The last beat may leave.
    leaves : Out(1)
        The last beat leaves the queue in this cycle.
    o : Out(stream(beat_layout(judged_layout)))
        The same beats with the decisions.
    """
    def __init__(self, shape, width, banks, *, depth, decisions):
        self._shape, self._width, self._banks = shape, width, banks
        self._depth, self._decisions = depth, decisions
        super().__init__({
            "i": In(stream.Signature(beat_layout(addressed_layout(shape, banks), width))),
            **{f"decisions_{bank}": In(stream.Signature(1)) for bank in range(banks)},
            "ended": In(1), "leaves": Out(1),
            "o": Out(stream.Signature(beat_layout(judged_layout(shape), width))),
        })

    @property
    def decisions(self):
        """The decisions of the banks."""
        return [getattr(self, f"decisions_{bank}") for bank in range(self._banks)]

    def elaborate(self, platform):
        m = Module()
        width, banks, most = self._width, self._banks, self._decisions
        layout = self.i.payload.shape()
        m.submodules.queue = queue = SyncFIFOBuffered(width=layout.size, depth=self._depth)
        m.d.comb += [
            queue.w_data.eq(self.i.payload), queue.w_en.eq(self.i.valid),
            self.i.ready.eq(queue.w_rdy),
        ]

        # The decision on an element is behind those on the earlier elements of bank and beat.
        head = data.View(layout, queue.r_data)
        waiting = [Signal(most, name=f"waiting_{bank}") for bank in range(banks)]
        count = [Signal(range(most + 1), name=f"count_{bank}") for bank in range(banks)]
        mine = [[head.valid[k] & (head.elements[k].bank == bank) for k in range(width)]
                for bank in range(banks)]
        there = Signal(width)
        kept = Signal(width)
        for k in range(width):
            before = [Signal(range(width), name=f"before_{bank}_{k}") for bank in range(banks)]
            known = Signal(banks, name=f"known_{k}")
            bits = Signal(banks, name=f"bits_{k}")
            for bank in range(banks):
                m.d.comb += [
                    before[bank].eq(sum(mine[bank][:k])),
                    known[bank].eq(count[bank] > before[bank]),
                    bits[bank].eq(waiting[bank] >> before[bank]),
                ]
            bank = head.elements[k].bank
            m.d.comb += [
                there[k].eq(~head.valid[k] | mux_tree(bank, known)),
                kept[k].eq(mux_tree(bank, bits)),
            ]
        room = Signal()
        goes = Signal()
        m.d.comb += [
            room.eq(~self.o.valid | self.o.ready),
            goes.eq(queue.r_rdy & room & there.all() & (~head.end | self.ended)),
            queue.r_en.eq(goes), self.leaves.eq(goes & head.end),
        ]
        with m.If(room):
            m.d.sync += [self.o.valid.eq(goes), self.o.payload.valid.eq(head.valid),
                         self.o.payload.end.eq(head.end)]
            for k in range(width):
                m.d.sync += [self.o.payload.elements[k].kept.eq(kept[k]),
                             self.o.payload.elements[k].element.eq(head.elements[k].element)]
        for bank, decision in enumerate(self.decisions):
            taken = Signal(range(width + 1), name=f"taken_{bank}")
            rest = Signal(range(most + 1), name=f"rest_{bank}")
            comes = Signal(name=f"comes_{bank}")
            m.d.comb += [
                taken.eq(Mux(goes, sum(mine[bank]), 0)),
                rest.eq(count[bank] - taken),
                decision.ready.eq(count[bank] != most),
                comes.eq(decision.valid & decision.ready),
            ]
            m.d.sync += [
                count[bank].eq(rest + comes),
                waiting[bank].eq(waiting[bank] >> taken
                                 | Mux(comes & decision.payload, 1 << rest, 0)),
            ]
            with m.If(~ResetSignal()):
                m.d.sync += Assert(taken <= count[bank], "a beat leaves without its decisions")
        return m
