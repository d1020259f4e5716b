"""The exchange unit: edges go to other cores, and come from other cores."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gather.interface import (BalancingControl, BalancingState, entry_layout,
                                 exchange_signature)


__all__ = ["ExchangeUnit"]


class ExchangeUnit(wiring.Component):
    """Gives edges of the largest entry, takes an entry, and counts the edges that are left.

    The control processor (:mod:`hw.exchange`) commands it by RBC. Upon ED the unit searches the
    table. It compares the table's largest entry with the one whose edges are being gathered, and
    gives the first half of the larger one; if they are equal, of the latter. An entry of ER waits
    in a register until its edges can be gathered.

    Latency: an answer to ED comes after a cycle for each ready entry of the table, one for each
    group without, and two. A write of the table by memory delays it by a cycle. An entry of ER is
    on offer in the next cycle.

    Members
    -------
    registers : Out(exchange_signature)
        The registers; ``open`` and ``dry`` are the unit's.
    start : In(1)
        The unit starts to gather edges.
    empty : In(1)
        The input and the table have nothing, and no edge waits for a row.
    came : In(32)
        Edges that came from the input. REFS counts them from the next cycle on.
    popped : In(32)
        Edges that were handed out.
    search, searched, largest, largest_size, raises, sindex, raised
        The table's search, as in :class:`~hw.gather.graphpeg.alwt.AdjacencyTable`.
    current, left, gives, amount
        The entry whose edges are gathered, as in :class:`~hw.gather.graphpeg.edges.Edges`.
    entry : Out(stream(entry_layout))
        The entry of ER.
    """
    def __init__(self):
        super().__init__({
            "registers": Out(exchange_signature()),
            "start": In(1), "empty": In(1), "came": In(32), "popped": In(32),
            "search": Out(1), "searched": In(1), "largest": In(entry_layout()),
            "largest_size": In(32), "raises": Out(1), "sindex": Out(32), "raised": In(1),
            "current": In(entry_layout()), "left": In(32), "gives": Out(1), "amount": Out(32),
            "entry": Out(stream.Signature(entry_layout())),
        })

    def elaborate(self, platform):
        m = Module()
        registers, entry = self.registers, self.entry
        received = registers.received
        size = Signal(32)              # edges of the entry of ER
        takes = Signal()
        m.d.comb += [
            takes.eq(registers.rbc == BalancingControl.ER),
            size.eq(received.eindex - received.sindex),
            registers.room.eq(~entry.valid),
            registers.dry.eq(registers.open & self.empty & ~entry.valid),
        ]

        # The exchange is over in all cores at the same time.
        with m.If(self.start):
            m.d.sync += registers.open.eq(1)
        with m.Elif(registers.over):
            m.d.sync += registers.open.eq(0)

        # Take an entry.
        with m.If(takes):
            m.d.sync += [entry.valid.eq(1), entry.payload.eq(received)]
        with m.Elif(entry.ready):
            m.d.sync += entry.valid.eq(0)

        # Give the first half of an entry.
        from_table, given = (Signal(name=name) for name in ("from_table", "given"))
        chosen = Signal(entry_layout())
        largest = Signal(32)
        m.d.comb += [
            from_table.eq(self.largest_size > self.left),
            chosen.eq(Mux(from_table, self.largest.as_value(), self.current.as_value())),
            largest.eq(Mux(from_table, self.largest_size, self.left)),
            self.amount.eq(largest[1:]), self.sindex.eq(chosen.sindex + self.amount),
        ]
        with m.FSM():
            with m.State("IDLE"):
                with m.If(registers.rbc == BalancingControl.ED):
                    m.next = "SEARCH"
            with m.State("SEARCH"):
                m.d.comb += self.search.eq(1)
                with m.If(self.searched):
                    m.d.comb += [
                        self.gives.eq(~from_table & self.amount.any()),
                        self.raises.eq(from_table & self.amount.any()),
                        given.eq(self.gives | self.raised),
                    ]
                    m.d.sync += [registers.rbw.vertex.eq(chosen.vertex),
                                 registers.rbw.sindex.eq(chosen.sindex),
                                 registers.rbw.eindex.eq(self.sindex)]
                    with m.If(given):
                        m.d.sync += registers.rbs.eq(BalancingState.GIVES)
                        m.next = "ANSWER"
                    with m.Elif(~self.amount.any()):
                        m.d.sync += registers.rbs.eq(BalancingState.NOTHING)
                        m.next = "ANSWER"
            with m.State("ANSWER"):
                with m.If(registers.rbc == BalancingControl.IDLE):
                    m.d.sync += registers.rbs.eq(BalancingState.IDLE)
                    m.next = "IDLE"

        m.d.sync += registers.refs.eq(registers.refs + self.came + Mux(takes, size, 0)
                                      - self.popped - Mux(given, self.amount, 0))
        return m
