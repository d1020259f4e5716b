"""The control processor of GraphPEG: it balances the edges of the cores' units."""

from amaranth.hdl import (Array, Assert, Cat, Module, Mux, ResetInserter, ResetSignal, Signal,
                          Value)
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import index_bits
from hw.gather.interface import BalancingControl, BalancingState, entry_layout, exchange_signature
from hw.state_text import state_text


__all__ = ["ControlProcessor", "event_layout"]


def event_layout():
    """Events in a cycle, for the performance counters of the same names.

    Members
    -------
    exchange_looks : unsigned(1)
        A look at all cores has ended, and a unit has edges.
    exchange_difference : unsigned(32)
        With a look: the difference of the largest and the smallest REFS.
    exchange_entries : unsigned(1)
        An entry goes to another core.
    exchange_edges : unsigned(32)
        Its edges.
    """
    return data.StructLayout({"exchange_looks": 1, "exchange_difference": 32,
                              "exchange_entries": 1, "exchange_edges": 32})


class ControlProcessor(wiring.Component):
    """Lets one core give an entry to another, and tells all cores when the exchange is over.

    Every ``exchange_interval`` cycles it looks at REFS of one core after the other. If the largest
    is more than ``exchange_threshold`` above the smallest, the core with the largest donates (ED),
    and the core with the smallest stands by (ERS). When the donor's working registers have the
    entry, they are copied, and the other core receives it (ER). So one entry moves in an interval.
    Among equal cores the lowest is taken. (GraphPEG, lightweight load balancing.)

    The exchange is over when each core has all its edges in rows, or has no warp, and no entry is
    on its way. All cores are told in the same cycle. From then on no core can get edges, so each
    core tells its end by itself. (The paper's notes do not say how the end is found.)

    Latency: a look takes a cycle a core, and one to decide; an exchange takes the donor's time and
    two cycles. The cores are told a cycle after the last one is dry.

    Parameters
    ----------
    config : HardwareConfig
        With ``exchanges``.

    Members
    -------
    launch : In(1)
        Forget everything.
    core : In(exchange_signature) of each core
        All outputs to a core are registers.
    busy : Out(1)
        An entry is on its way.
    events : Out(event_layout)
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "launch": In(1), "core": In(exchange_signature()).array(config.cores),
            "busy": Out(1), "events": Out(event_layout()),
        })

    def elaborate(self, platform):
        m = Module()
        config, cores = self._config, [self.core[c] for c in range(self._config.cores)]
        number = index_bits(len(cores))

        def of(number, member):
            """A register of the core with this number."""
            return Array([Value.cast(getattr(core, member)) for core in cores])[number]

        dry, over, open_ = (Signal(name=name) for name in ("dry", "over", "open"))
        entry = Signal(entry_layout())
        m.d.comb += [open_.eq(Cat(core.open for core in cores).any()),
                     dry.eq(Cat(core.dry for core in cores).all() & open_)]
        for core in cores:
            m.d.comb += [core.over.eq(over), core.received.eq(entry)]

        # A look goes from core to core.
        cycles = Signal(range(config.exchange_interval))
        looked = Signal(number)
        refs, opened, room = (of(looked, member) for member in ("refs", "open", "room"))
        most, least, difference = (Signal(32, name=name)
                                   for name in ("most", "least", "difference"))
        donor, receiver = (Signal(number, name=name) for name in ("donor", "receiver"))
        has_donor, has_receiver, starts, gives = (
            Signal(name=name) for name in ("has_donor", "has_receiver", "starts", "gives"))
        rbs = Signal(BalancingState)
        m.d.comb += [
            difference.eq(most - least),
            # The cores' states may have changed since the look.
            starts.eq(has_donor & has_receiver & (difference > config.exchange_threshold)
                      & of(donor, "open") & of(receiver, "open") & of(receiver, "room")
                      & ~dry & ~over),
            rbs.eq(of(donor, "rbs")),
            gives.eq(Cat(core.rbc == BalancingControl.ER for core in cores).any()),
            self.events.exchange_entries.eq(gives),
            self.events.exchange_edges.eq(Mux(gives, entry.eindex - entry.sindex, 0)),
        ]
        m.d.sync += [cycles.eq(cycles + 1), over.eq(dry & ~self.busy & ~over)]
        with m.FSM() as fsm:
            with m.State("WAIT"):
                m.d.sync += [looked.eq(0), has_donor.eq(0), has_receiver.eq(0)]
                with m.If((cycles == 0) & open_):
                    m.next = "LOOK"
            with m.State("LOOK"):
                m.d.sync += looked.eq(looked + 1)
                with m.If(opened & (~has_donor | (refs > most))):
                    m.d.sync += [has_donor.eq(1), donor.eq(looked), most.eq(refs)]
                with m.If(opened & room & (~has_receiver | (refs < least))):
                    m.d.sync += [has_receiver.eq(1), receiver.eq(looked), least.eq(refs)]
                with m.If(looked == len(cores) - 1):
                    m.next = "DECIDE"
            with m.State("DECIDE"):
                m.d.comb += [self.events.exchange_looks.eq(has_donor & has_receiver),
                             self.events.exchange_difference.eq(
                                 Mux(has_donor & has_receiver, difference, 0))]
                m.next = "WAIT"
                with m.If(starts):
                    for c, core in enumerate(cores):
                        m.d.sync += core.rbc.eq(Mux(
                            donor == c, BalancingControl.ED,
                            Mux(receiver == c, BalancingControl.ERS, BalancingControl.IDLE)))
                    m.next = "DONATE"
            with m.State("DONATE"):
                m.d.comb += self.busy.eq(1)
                m.d.sync += entry.eq(of(donor, "rbw"))
                with m.If(rbs != BalancingState.IDLE):
                    for c, core in enumerate(cores):
                        m.d.sync += core.rbc.eq(Mux(
                            (receiver == c) & (rbs == BalancingState.GIVES),
                            BalancingControl.ER, BalancingControl.IDLE))
                    m.next = "RECEIVE"
            with m.State("RECEIVE"):
                m.d.comb += self.busy.eq(1)
                for core in cores:
                    m.d.sync += core.rbc.eq(BalancingControl.IDLE)
                m.next = "WAIT"
        state_text(m, fsm, name="state")
        for core in cores:
            receives = ((core.rbc == BalancingControl.ERS) | (core.rbc == BalancingControl.ER))
            m.d.sync += Assert(~(~ResetSignal() & receives & ~core.room & core.open),
                               "a core without room receives")
        return ResetInserter(self.launch)(m)
