"""Planted faults in the exchange of edges: control processor, exchange unit, table and gathering.
"""

from campaign.mutants.mutant import Mutant, Refutation


__all__ = ["MUTANTS"]


_PROCESSOR = ("tb/hw/test_exchange.py::test_directed[icarus]",)
_UNIT = ("tb/hw/gather/test_exchange.py::test_directed[icarus-middle]",)
_RANDOM = ("tb/hw/gather/test_exchange.py::test_random[icarus-tiny-least]",)
_RANDOM_WIDE = ("tb/hw/gather/test_exchange.py::test_random[icarus-fpga-middle]",
                "tb/hw/gather/test_exchange.py::test_random[icarus-one_thread-default]")
_PROGRAMS = "tb/programs/test_exchange.py::"
_PROOF = Refutation("graphpeg", "exchange", "2 cores", 16)


MUTANTS = (
    # Control processor
    Mutant("exchange-starts-at-the-threshold",
           "hw/exchange.py", "ControlProcessor.elaborate",
           "difference > config.exchange_threshold", "difference >= config.exchange_threshold",
           _PROCESSOR),
    Mutant("exchange-takes-the-last-of-equal-donors",
           "hw/exchange.py", "ControlProcessor.elaborate", "refs > most", "refs >= most",
           _PROCESSOR),
    Mutant("exchange-takes-the-last-of-equal-receivers",
           "hw/exchange.py", "ControlProcessor.elaborate", "refs < least", "refs <= least",
           _PROCESSOR),
    Mutant("exchange-gives-to-a-core-without-room",
           "hw/exchange.py", "ControlProcessor.elaborate",
           "opened & room & (~has_receiver | (refs < least))",
           "opened & (~has_receiver | (refs < least))", _PROCESSOR),
    Mutant("exchange-looks-at-closed-cores",
           "hw/exchange.py", "ControlProcessor.elaborate",
           "opened & (~has_donor | (refs > most))", "~has_donor | (refs > most)", _PROCESSOR),
    Mutant("exchange-looks-twice-in-an-interval",
           "hw/exchange.py", "ControlProcessor.elaborate",
           "cycles == 0", "cycles[:5] == 0", _PROCESSOR),
    Mutant("exchange-receives-what-nobody-gave",
           "hw/exchange.py", "ControlProcessor.elaborate",
           "(receiver == c) & (rbs == BalancingState.GIVES)", "receiver == c", _PROCESSOR),
    Mutant("exchange-is-over-with-an-entry-on-its-way",
           "hw/exchange.py", "ControlProcessor.elaborate",
           "dry & ~self.busy & ~over", "dry & ~over", _PROCESSOR),
    Mutant("exchange-is-over-when-one-core-is-dry",
           "hw/exchange.py", "ControlProcessor.elaborate",
           "Cat(core.dry for core in cores).all()", "Cat(core.dry for core in cores).any()",
           proof=_PROOF),
    Mutant("exchange-goes-on-after-a-launch",
           "hw/exchange.py", "ControlProcessor.elaborate",
           "ResetInserter(self.launch)(m)", "m", _PROCESSOR),
    # Exchange unit
    Mutant("exchange-gives-the-whole-entry",
           "hw/gather/graphpeg/exchange.py", "ExchangeUnit.elaborate",
           "self.amount.eq(largest[1:])", "self.amount.eq(largest)", _UNIT),
    Mutant("exchange-prefers-the-smaller-entry",
           "hw/gather/graphpeg/exchange.py", "ExchangeUnit.elaborate",
           "self.largest_size > self.left", "self.largest_size < self.left", _UNIT),
    Mutant("exchange-forgets-edges-that-came",
           "hw/gather/graphpeg/exchange.py", "ExchangeUnit.elaborate",
           "Mux(takes, size, 0)", "0", _UNIT),
    Mutant("exchange-counts-edges-that-went",
           "hw/gather/graphpeg/exchange.py", "ExchangeUnit.elaborate",
           "Mux(given, self.amount, 0)", "0", _UNIT),
    Mutant("exchange-keeps-the-half-that-it-gives",
           "hw/gather/graphpeg/edges.py", "Edges.elaborate",
           "left - self.amount", "left", _UNIT),
    Mutant("exchange-fills-a-row-while-it-gives",
           "hw/gather/graphpeg/edges.py", "Edges.elaborate",
           "left.any() & room.any() & (leaves | ~sealed) & ~gives",
           "left.any() & room.any() & (leaves | ~sealed)", _RANDOM),
    Mutant("exchange-loses-an-entry-that-comes",
           "hw/gather/graphpeg/exchange.py", "ExchangeUnit.elaborate",
           "entry.valid.eq(1)", "entry.valid.eq(0)", proof=_PROOF),
    Mutant("exchange-is-dry-with-an-entry-that-came",
           "hw/gather/graphpeg/exchange.py", "ExchangeUnit.elaborate",
           "registers.open & self.empty & ~entry.valid", "registers.open & self.empty",
           proof=_PROOF),
    # Table
    Mutant("exchange-raises-another-entry",
           "hw/gather/graphpeg/alwt.py", "AdjacencyTable.elaborate",
           "1 << self._best_index", "1", _UNIT),
    Mutant("exchange-searches-entries-that-are-gone",
           "hw/gather/graphpeg/alwt.py", "AdjacencyTable._search",
           "(states[place] != EntryStatus.FE) | (number >= index)", "1", _UNIT),
    Mutant("exchange-gives-out-entries-during-a-search",
           "hw/gather/graphpeg/alwt.py", "AdjacencyTable.elaborate",
           "ready.r_rdy & ~visits", "ready.r_rdy", _RANDOM),
    Mutant("exchange-takes-the-last-of-equal-entries",
           "hw/gather/graphpeg/alwt.py", "AdjacencyTable._search",
           "size > self.largest_size", "size >= self.largest_size", _UNIT),
    Mutant("exchange-raises-while-offsets-come",
           "hw/gather/graphpeg/alwt.py", "AdjacencyTable.elaborate",
           "self.raises & ~(self.arrives & ~is_ends)", "self.raises", _RANDOM_WIDE),
    # Unit
    Mutant("exchange-the-last-row-does-not-wait",
           "hw/gather/graphpeg/unit.py", "GraphPeg._exchange",
           "come | unit.registers.open", "come | unit.entry.valid", _UNIT),
    Mutant("exchange-own-entries-go-first",
           "hw/gather/graphpeg/unit.py", "GraphPeg._exchange",
           "edges.entry.ready & ~unit.entry.valid", "edges.entry.ready", _RANDOM_WIDE),
    Mutant("exchange-a-core-without-warps-holds-up-the-end",
           "hw/core/gathering.py", "Gathering.elaborate",
           "mine.dry | ~self.active", "mine.dry",
           (f"{_PROGRAMS}test_a_core_without_warps[1]",)),
)
