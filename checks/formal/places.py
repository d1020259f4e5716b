"""Where the places of rows are, for proofs of GraphPEG's buffers by induction."""

from amaranth.hdl import Array, Assert, Assume, Mux, Signal


__all__ = ["LoaderPlaces", "QueuedPlaces"]


class LoaderPlaces:
    """The places of a :class:`~hw.gather.graphpeg.places.RowLoader` inside a unit, which is called
    ``loader`` there. Data come once for each load: this is assumed, and the data that each place
    awaits are counted.

    Parameters
    ----------
    m : Module
    peek : Peek
        The unit.
    harness
        Has the inputs ``arrives`` and ``arrival``.
    ask
        The unit's loads.
    rows : range
        The places.
    both : Signal
        Whether a row has two loads.
    kinds : tuple of LoadKind
        Their kinds.

    Attributes
    ----------
    loading : list of Signal
        Whether a place awaits data.
    seconds : Signal
        A row's second load is asked for.
    none : Value
        No place is left.
    """
    def __init__(self, m, peek, harness, ask, rows, both, kinds):
        arrives, arrival, load = harness.arrives, harness.arrival, ask.payload
        asked = ask.valid & ask.ready
        awaited = {kind: [Signal(name=f"awaits_{kind.name.lower()}_{row}") for row in rows]
                   for kind in kinds}
        for kind, bits in awaited.items():
            comes = arrives & (arrival.kind == kind)
            m.d.comb += Assume(~comes | Array(bits)[arrival.place])
            for row, bit in zip(rows, bits):
                with m.If(asked & (load.kind == kind) & (load.place == row)):
                    m.d.sync += bit.eq(1)
                with m.Elif(comes & (arrival.place == row)):
                    m.d.sync += bit.eq(0)
        m.d.comb += [Assume((arrival.kind == kinds[0]) | (arrival.kind == kinds[1])),
                     Assume(arrival.place < len(rows))]
        half, held, self.seconds = (peek.signal("loader", name)
                                    for name in ("half", "held", "seconds"))
        self._free, self._place, self._has_place = (
            peek.signal("loader", "places", name) for name in ("free", "place", "has_place"))
        self.none = ~self._free.any() & ~self._has_place
        self.loading = []
        for row in rows:
            first, other = (awaited[kind][row] for kind in kinds)
            second = self.seconds & (held == row)        # its second load is not asked for
            loads = Signal(name=f"loads_{row}")
            m.d.comb += [
                loads.eq(first | other | second),
                # With two loads, a place has one of its data or none.
                Assert(half[row] == (both & loads & ~first | loads & first & both & ~other
                                     & ~second)),
                Assert(~second | both & ~other), Assert(~other | both),
            ]
            self.loading.append(loads)
        m.d.comb += [Assert(self._place < len(rows)), Assert(~self.seconds | (held < len(rows)))]

    def states(self, row):
        """Whether a place is free, chosen, awaits data."""
        return [self._free[row], self._has_place & (self._place == row), self.loading[row]]


class QueuedPlaces:
    """The places in a queue inside a unit, a SyncFIFO whose entries begin with a place.

    Parameters
    ----------
    m : Module
    peek : Peek
        The unit.
    name : str
        The queue's name there.
    rows : range
        The places, as many as the queue's entries.

    Attributes
    ----------
    level : Signal
        Entries of the queue.
    """
    def __init__(self, m, peek, name, rows):
        self.level, produce, consume = (peek.signal(name, each)
                                        for each in ("level", "produce", "consume"))
        bits = len(consume)
        self._places = [entry[:bits] for entry in peek.memory(name, "storage")]
        self._behind = [Signal(range(len(rows) + 1), name=f"{name}_behind_{row}") for row in rows]
        level, count = self.level, len(rows)
        for row, behind in zip(rows, self._behind):
            m.d.comb += behind.eq(Mux(consume <= row, row - consume, row + count - consume))
        m.d.comb += [
            Assert(level <= count), Assert(consume < count), Assert(produce < count),
            Assert(produce == Mux(consume + level >= count, consume + level - count,
                                  consume + level)),
            *(Assert((behind >= level) | (place < count))
              for behind, place in zip(self._behind, self._places)),
        ]

    def states(self, row):
        """Whether a place is in each entry of the queue."""
        return [(place == row) & (behind < self.level)
                for behind, place in zip(self._behind, self._places)]
