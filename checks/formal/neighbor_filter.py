"""The promises of GraphPEG's filter: an edge whose test is true is given out once, another one not
at all, and the places of rows suffice.

The harness of :class:`KeptEdgePromise` is the edge buffer and the memory. It follows one edge of
one vertex, which comes up once; all else is free, and loads are answered in any order, at any time.
This proof is bounded. :class:`FilterPlacePromise` states where each place is, by induction.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from checks.formal.answering import answer_inputs, answer_loads, at_most_one, steady
from checks.formal.peek import Peek
from checks.formal.places import LoaderPlaces, QueuedPlaces
from hw.gather.graphpeg.accesses import LoadKind, arrival_layout, filter_rows, packed_rows
from hw.gather.graphpeg.filter import EdgeFilter
from hw.gather.interface import warp_shape
from hw.operations import EdgeTest


__all__ = ["FilterPlacePromise", "KeptEdgePromise"]


#: Bits of addresses, and of words and weights, that may be 1: the adders would take most of the
#: time of the proof. Sums of such words still pass 32 bits.
_ADDRESS_BITS, _WORD_BITS = 0x3C, 1 << 31 | 0xF


def _row(config):
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({"base": lanes, "neighbor": lanes, "weight": lanes,
                              "mask": config.threads})


def _give_rows(m, harness, dut):
    """The edge buffer: rows that the harness names are at the filter's inputs behind ``takes``."""
    row = Signal(_row(harness._config), name="row_given")
    with m.If(dut.takes):
        m.d.sync += row.eq(harness.row)
    mask = harness.row.mask
    over = Signal()
    m.d.sync += over.eq(over | harness.drained)
    m.d.comb += [
        Assume(mask.any()), Assume((mask & (mask + 1)[:len(mask)]) == 0),
        # Once nothing comes any more, nothing does.
        Assume(~harness.drained | ~harness.gathered), Assume(~over | harness.drained),
        dut.gathered.eq(harness.gathered), dut.drained.eq(harness.drained),
        dut.row_base.eq(row.base), dut.row_neighbor.eq(row.neighbor),
        dut.row_weight.eq(row.weight), dut.row_mask.eq(row.mask),
    ]


class KeptEdgePromise(wiring.Component):
    """The filter, its memory, and its promise.

    Parameters
    ----------
    config : HardwareConfig
        A small shape, with ``graphpeg_filter``.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "vertex": In(32), "neighbor": In(32), "weight": In(32),     # the edge
            "value": In(32), "own": In(32),                     # the words of both its vertices
            "test": In(5), "weighted": In(1), "bound": In(32), "values": In(32), "bases": In(32),
            "gathered": In(1), "drained": In(1), "row": In(_row(config)),
            "pop": In(1), "popper": In(warp_shape(config)), **answer_inputs(config),
        })

    def elaborate(self, platform):
        m = Module()
        config, threads = self._config, self._config.threads
        m.submodules.dut = dut = EdgeFilter(config)
        settings = ("test", "weighted", "bound", "values", "bases")
        steady(m, self, "vertex", "neighbor", "weight", "value", "own", *settings)
        _give_rows(m, self, dut)
        row, entered = self.row, Signal()
        mine = Cat(row.mask[lane] & (row.base[lane] == self.vertex) for lane in range(threads))
        m.d.sync += entered.eq(entered | dut.takes & mine.any())
        m.d.comb += [
            Assume(~ResetSignal()), Assume(at_most_one(mine, threads)),
            Assume(~dut.takes | ~mine.any() | ~entered), Assume(self.popper < config.warps),
            *(Assume(~mine[lane] | (row.neighbor[lane] == self.neighbor)
                     & (row.weight[lane] == self.weight)) for lane in range(threads)),
            *(Assume((value & ~bits & 0xFFFF_FFFF) == 0) for bits, values in (
                (_ADDRESS_BITS, (self.vertex, self.neighbor, self.values, self.bases)),
                (_WORD_BITS, (self.value, self.own, self.bound, self.weight)))
              for value in values),
            *(getattr(dut, name).eq(getattr(self, name)) for name in settings),
        ]
        self._remember(m, dut)
        self._judge(m, dut, entered)
        return m

    def _remember(self, m, dut):
        """The memory, which has the words of the edge's vertices."""
        answers, given = answer_loads(m, self, dut.ask, 1)
        m.d.comb += [dut.arrives.eq(answers), dut.arrival.data.eq(self.words),
                     dut.arrival.kind.eq(given.kind), dut.arrival.place.eq(given.place)]
        for lane, word in enumerate(self.words):
            address = (given.word[lane] + given.distance)[:32]
            for kind, place, right in (
                    (LoadKind.VALUES, self.neighbor + self.values, self.value),
                    (LoadKind.BASES, self.vertex + self.bases, self.own)):
                m.d.comb += Assume((given.kind != kind) | (address != place[:32])
                                   | (word == right))

    def _counts(self):
        """Whether the edge counts, by the words of its vertices."""
        def bit(flag):
            return (self.test & int(flag)).any()
        limit = (1 << 32) - 1
        added = Mux(bit(EdgeTest.WEIGHT) & self.weighted, self.weight, 0)
        total = Mux(bit(EdgeTest.BASE), self.own, self.bound) + added
        other = Mux(total > limit, limit, total)
        none = (self.test & int(EdgeTest.ABOVE | EdgeTest.BELOW | EdgeTest.EQUAL)) == 0
        return (none | Mux(self.value == other, bit(EdgeTest.EQUAL),
                           Mux(self.value > other, bit(EdgeTest.ABOVE), bit(EdgeTest.BELOW))))

    def _judge(self, m, dut, entered):
        """Pop rows and assert their contents. A warp returns its row in the cycle behind."""
        threads, mask = self._config.threads, dut.mask
        pops, judges, warp = Signal(), Signal(), Signal.like(self.popper)
        m.d.comb += [
            pops.eq(self.pop & dut.complete & ~judges),
            dut.pop.eq(pops), dut.popper.eq(self.popper),
            dut.returns.eq(judges), dut.warp.eq(warp),
        ]
        m.d.sync += [judges.eq(pops), warp.eq(self.popper)]
        counts, times, shares, ended, found = (
            Signal(name="counts"), Signal(2), Signal(), Signal(name="ended"), Signal(threads))
        m.d.comb += [counts.eq(self._counts()), found.eq(
            mask & Cat(base == self.vertex for base in dut.base))]
        with m.If(judges):
            m.d.comb += [
                Assert(mask.any()), Assert((mask & (mask + 1)[:threads]) == 0),
                Assert(at_most_one(found, threads)), Assert(~found.any() | entered & counts),
                *(Assert(~found[lane] | (dut.neighbor[lane] == self.neighbor)
                         & (dut.weight[lane] == self.weight)) for lane in range(threads)),
                # A row that is not full is the last one.
                Assert(mask.all() | self.drained & dut.idle),
            ]
            m.d.sync += [times.eq(times + found.any()),
                         shares.eq(shares | found.any() & (found != mask))]
        m.d.comb += [
            ended.eq(self.drained & dut.idle & ~judges), Assert(times <= 1),
            Assert(~ended | (times == (entered & counts))),
            Cover(ended & entered & ~counts, "the edge is dropped"),
            Cover(ended & entered & counts & self.weighted & self.test[3] & self.test[4],
                  "the edge is kept, by the sum of a word and its weight"),
        ]
        if threads > 1:
            m.d.comb += Cover(ended & shares & self.test[:3].any(),
                              "the edge shares a row with others")


class FilterPlacePromise(wiring.Component):
    """The filter, and where its places are.

    Each place of a row that awaits words is free, chosen, awaits words, or queued; each place of a
    packed row is free, being filled, queued, or a warp's: one of these, once.

    Parameters
    ----------
    config : HardwareConfig
        A small shape, with ``graphpeg_filter``.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "test": In(5), "gathered": In(1), "drained": In(1), "row": In(_row(config)),
            "taken": In(1), "arrives": In(1), "arrival": In(arrival_layout(config)),
            "pop": In(1), "popper": In(warp_shape(config)), "returns": In(1),
            "warp": In(warp_shape(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        dut = EdgeFilter(config)
        peek = Peek(dut)
        m.submodules.dut = peek.fragment
        waits, packed, warps = map(range, (filter_rows(config), packed_rows(config), config.warps))
        steady(m, self, "test")
        _give_rows(m, self, dut)
        owners, owned = peek.signal("owners", "owners"), peek.memory("owners", "owned")
        m.d.comb += [
            Assume(~ResetSignal()), Assume(self.warp < len(warps)),
            Assume(self.popper < len(warps)), dut.test.eq(self.test),
            dut.ask.ready.eq(self.taken), dut.arrives.eq(self.arrives),
            dut.arrival.eq(self.arrival), dut.pop.eq(self.pop), dut.popper.eq(self.popper),
            dut.returns.eq(self.returns), dut.warp.eq(self.warp),
            # Only a complete row is popped, by a warp without a row.
            Assume(~self.pop | dut.complete & ~owners.bit_select(self.popper, 1)),
        ]
        tests = self.test[:3].any()
        loader = LoaderPlaces(m, peek, self, dut.ask, waits, tests & self.test[3],
                              (LoadKind.VALUES, LoadKind.BASES))
        done, ready = QueuedPlaces(m, peek, "done", waits), QueuedPlaces(m, peek, "ready", packed)
        free, place, has_place = (peek.signal("places", name)
                                  for name in ("free", "place", "has_place"))
        held, filled, left, mask = (peek.signal(name)
                                    for name in ("held", "filled", "left", "raw"))
        for row in waits:
            m.d.comb += Assert(sum([*loader.states(row), *done.states(row)]) == 1)
        for row in packed:
            m.d.comb += Assert(sum([
                free[row], has_place & (place == row), *ready.states(row),
                *(owners[warp] & (owned[warp] == row) for warp in warps)]) == 1)
        m.d.comb += [
            *(Assert(~owners[warp] | (owned[warp] < len(packed))) for warp in warps),
            Assert(place < len(packed)), Assert(~filled.any() | has_place),
            Assert(filled < config.threads), Assert(~mask | ~left.any()),
            Assert(~loader.seconds | held),
            Assert(peek.signal("waiting") == sum(loader.loading) + done.level),
            # Nothing is loaded without a test.
            Assert(tests | ~Cat(loader.loading).any()),
            Cover(loader.none & ~free.any() & ~has_place, "all places are taken"),
            Cover(self.pop & ~free.any() & ~has_place, "a row is handed out of a full filter"),
        ]
        return m
