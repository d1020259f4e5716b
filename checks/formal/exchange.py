"""The promise of GraphPEG's exchange: no edge is lost, none is on two cores, and the exchange is
over only when all edges are in rows.

Two cores' exchange units and the control processor are whole. The table and the parts that gather
are free, but for what they owe: an entry that is given has edges that the core has. The harness
follows one edge of one vertex. All edges are alike, so what holds for it holds for all. The proof
is by induction: it holds for runs of any length, with any interval and any number of exchanges.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, connect

from checks.formal.answering import steady
from checks.formal.peek import Peek
from hw.exchange import ControlProcessor
from hw.gather.graphpeg.exchange import ExchangeUnit
from hw.gather.interface import BalancingControl, BalancingState, entry_layout


__all__ = ["ExchangePromise"]


#: Bits of the numbers of edges: the adders would take most of the time of the proof.
_EDGE_BITS = 4

_CORES = 2


class ExchangePromise(wiring.Component):
    """Two cores' exchange units, the control processor, and their promise.

    Parameters
    ----------
    config : HardwareConfig
        With two cores that exchange edges.
    """
    def __init__(self, config):
        self._config = config
        entries = {f"{name}_{core}": In(entry_layout()) for core in range(_CORES)
                   for name in ("largest", "current")}
        flags = {f"{name}_{core}": In(1) for core in range(_CORES)
                 for name in ("start", "empty", "searched", "raised", "taken", "rows", "born")}
        counts = {f"{name}_{core}": In(32) for core in range(_CORES)
                  for name in ("came", "popped")}
        super().__init__({"vertex": In(32), "edge": In(32), "restart": In(1), **entries, **flags,
                          **counts})

    def elaborate(self, platform):
        m = Module()
        processor = ControlProcessor(self._config)
        control = Peek(processor)
        m.submodules.control = control.fragment
        units = [ExchangeUnit() for _ in range(_CORES)]
        peeks = [Peek(unit) for unit in units]
        steady(m, self, "vertex", "edge")
        m.d.comb += Assume(~ResetSignal())
        state, states = control.states()
        places = []                    # where the edge is: one signal a place
        unborn, rowed, in_flight = Signal(init=1), Signal(), Signal()
        for c, (unit, peek) in enumerate(zip(units, peeks)):
            m.submodules[f"unit_{c}"] = peek.fragment
            connect(m, unit.registers, processor.core[c])
            places += self._core(m, c, unit, unborn, rowed)
        donor, receiver = control.signal("donor"), control.signal("receiver")
        has_donor, has_receiver = control.signal("has_donor"), control.signal("has_receiver")
        looked = control.signal("looked")
        entry = data.View(entry_layout(), control.signal("entry"))
        over = control.signal("over")
        opens = Array(unit.registers.open for unit in units)
        slots = Array(unit.entry.valid for unit in units)
        commands = Array(core.rbc for core in (processor.core[c] for c in range(_CORES)))
        donates, receives = state == states["DONATE"], state == states["RECEIVE"]

        # Any interval: its counter begins anew while the control processor waits.
        m.d.comb += [processor.launch.eq(self.restart),
                     Assume(~self.restart | (state == states["WAIT"]))]

        # The edge is in one place, and no place has it twice.
        m.d.comb += in_flight.eq(receives & (commands[receiver] == BalancingControl.ER)
                                 & self._covers(entry))
        for c, unit in enumerate(units):
            registers = unit.registers
            working = Signal(name=f"working_{c}")
            m.d.comb += working.eq(donates & (donor == c)
                                   & (registers.rbs == BalancingState.GIVES)
                                   & self._covers(registers.rbw))
            places.append(working)
        places += [unborn, rowed, in_flight]
        m.d.comb += [
            Assert(sum(places) == 1),
            # The end: no core has the edge in an entry, and it is not on its way.
            Assert(~over | unborn | rowed),
            Assert(~over | ~donates & ~receives),
        ]

        # The states of the units follow that of the control processor.
        for c, (unit, peek) in enumerate(zip(units, peeks)):
            registers = unit.registers
            mine, numbers = peek.states()
            gives = donates & (donor == c)
            m.d.comb += [
                Assert((registers.rbs == BalancingState.IDLE) | (mine == numbers["ANSWER"])),
                Assert((mine != numbers["ANSWER"]) | (registers.rbs != BalancingState.IDLE)),
                Assert((mine != numbers["SEARCH"]) | gives),
                Assert((mine != numbers["ANSWER"]) | gives | receives & (donor == c)),
                Assert(registers.rbs.as_value() <= BalancingState.NOTHING.value),
                Assert(mine <= numbers["ANSWER"]),
                Assert((registers.rbs != BalancingState.GIVES) | ~gives
                       | (registers.rbw.sindex <= registers.rbw.eindex)),
                Assert(registers.rbc.as_value() == Mux(
                    gives, BalancingControl.ED, Mux(
                        donates & (receiver == c), BalancingControl.ERS, Mux(
                            receives & (receiver == c) & (registers.rbc == BalancingControl.ER),
                            BalancingControl.ER, BalancingControl.IDLE)))),
            ]
        m.d.comb += [
            Assert(state <= states["RECEIVE"]),
            Assert(~(donates | receives) | (donor != receiver) & opens[receiver] & ~slots[receiver]
                   & ~over),
            Assert(~(has_donor & has_receiver) | (donor != receiver)
                   | (control.signal("most") == control.signal("least"))),
            Assert((state != states["LOOK"]) | (~has_donor | (donor < looked))
                   & (~has_receiver | (receiver < looked))),
            Cover(in_flight, "the edge goes to another core"),
            Cover(rowed & over, "the exchange is over"),
            Cover(Cat(unit.registers.rbs == BalancingState.NOTHING for unit in units).any(),
                  "a core has nothing to give"),
        ]
        return m

    def _covers(self, entry):
        """Whether the edge is one of an entry's."""
        return ((entry.vertex == self.vertex) & (entry.sindex <= self.edge)
                & (self.edge < entry.eindex))

    def _core(self, m, c, unit, unborn, rowed):
        """The rest of a core, which has the edge or not. Returns the places of the core."""
        def own(name):
            return getattr(self, f"{name}_{c}")
        registers = unit.registers
        largest, current = own("largest"), own("current")
        has = Signal(name=f"has_{c}")
        slot = Signal(name=f"slot_{c}")
        held = Signal.like(largest.as_value(), name=f"held_{c}")
        waits = Signal(name=f"waits_{c}")
        gone, comes, born = (Signal(name=f"{name}_{c}") for name in ("gone", "comes", "born"))
        m.d.comb += [
            unit.start.eq(own("start")), unit.empty.eq(own("empty")),
            unit.searched.eq(own("searched")), unit.raised.eq(own("raised")),
            unit.entry.ready.eq(own("taken")),
            # REFS, which only decide when there is an exchange, may be anything.
            unit.came.eq(own("came")), unit.popped.eq(own("popped")),
            unit.largest.eq(largest), unit.current.eq(current),
            unit.largest_size.eq(largest.eindex - largest.sindex),
            unit.left.eq(current.eindex - current.sindex),
            *(Assume(value[_EDGE_BITS:] == 0) for entry in (largest, current)
              for value in (entry.sindex, entry.eindex)),
            *(Assume(entry.sindex <= entry.eindex) for entry in (largest, current)),
            # The core owes what it gives, and has nothing when it says so.
            *(Assume(~self._covers(entry) | has) for entry in (largest, current)),
            Assume(~(self._covers(largest) & self._covers(current))),
            Assume(~own("empty") | ~has & (unit.left == 0) & (unit.largest_size == 0)),
            Assume(~own("raised") | unit.raises), Assume(~own("searched") | unit.search),
            # The table waits until the entry is raised.
            Assume(~waits | (largest.as_value() == held) & own("searched")),
            # A START comes when the exchange of the last is over.
            Assume(~own("start") | ~registers.open),
        ]
        m.d.sync += [waits.eq(unit.raises & ~own("raised")), held.eq(largest)]
        given = Signal(name=f"given_{c}")
        chosen = Mux(unit.gives, current.as_value(), largest.as_value())
        part = Signal(entry_layout(), name=f"part_{c}")
        m.d.comb += [
            slot.eq(unit.entry.valid & self._covers(unit.entry.payload)),
            part.eq(chosen),
            given.eq((unit.gives | own("raised")) & (part.vertex == self.vertex)
                     & (part.sindex <= self.edge) & (self.edge < unit.sindex)),
            gone.eq(has & (given | own("rows"))),
            comes.eq(unit.entry.valid & own("taken") & slot),
            born.eq(own("start") & own("born") & unborn),
            Assume(~(given & own("rows"))),
            Assume(~born | ~Cat(getattr(self, f"born_{other}") & getattr(self, f"start_{other}")
                                for other in range(c)).any()),
        ]
        with m.If(born):
            m.d.sync += unborn.eq(0)
        with m.If(has & own("rows")):
            m.d.sync += rowed.eq(1)
        m.d.sync += has.eq((has | comes | born) & ~gone)
        # A unit that has closed has no edge in an entry, so its rows are the last.
        m.d.comb += Assert(~(has | slot) | registers.open)
        return [has, slot]
