"""The Filtering/Grouping Unit (Segura et al., ISCA 2019, section 4.1 and figure 8)."""

from amaranth.hdl import Assert, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.config import HardwareConfig
from hw.memory.port import line_layout
from hw.util import index_bits

from .filtering import Filtering
from .giving import Giver, given_layout
from .grouping import Grouping
from .hashing import Hashing, group_bits, word_bits
from .interface import TABLE_SLOTS, line_request_layout, line_response_layout
from .lines import TableLines
from .registers import EMPTY, ScuOutput, entry_bytes, group_limit
from .search import Search


__all__ = ["FilterGroup", "Kind", "decided_layout", "element_layout", "waiting_layout"]


#: Numbers of slots that can be told by the requests.
_SLOTS = tuple(1 << bit for bit in range(1, TABLE_SLOTS.bit_length()))


class Kind(enum.Enum, shape=2):
    """What is to be done with what waits in the queue."""
    LOOK_UP = 0     # an element, looked up in the table
    WALK    = 1     # an entry of the table, whose group is complete now
    KEEP    = 2     # an element that is kept without a look-up
    DROP    = 3     # an element that is not


def element_layout():
    """An element, or, after the last one, ``end`` alone. ``shown``: not of a BITMASK whose
    comparison does not hold."""
    return data.StructLayout({"value": 32, "cost": 32, "shown": 1, "end": 1})


def waiting_layout(config: HardwareConfig, slots):
    """An element in the queue: what to do, with what, and where its line is or will be."""
    return data.StructLayout({
        "kind": Kind, "key": 32, "cost": 32, "offset": word_bits(config),
        "slot": index_bits(slots),
    })


def decided_layout(config: HardwareConfig, slots):
    """An element that is decided on: its number, the line that its set is in, the words of that
    which are the set's, and the one that begins the way whose turn it is."""
    return data.StructLayout({
        "kind": Kind, "key": 32, "cost": 32, "slot": index_bits(slots), "number": 32,
        "line": line_layout(config), "ways": config.line_words, "turn": config.line_words,
    })


class FilterGroup(wiring.Component):
    """The Filtering/Grouping Unit.

    Four stages. An element's line in the hash table is computed; the line is looked up among those
    that are held or under way (:class:`~hw.scu.lines.TableLines`); then the element waits in a
    queue, in order, until its line is there. At the head of the queue its set is read, and in the
    next stage it is decided on and the set is written back. What is decided is given out in order.

    At the end all changed lines are written to memory and forgotten. To complete the groups that
    are left, GROUP first walks through the table: its entries pass through the same stages.

    Throughput: an element a cycle whose line is there, or a request (two, with a write-back) for
    one whose line is not; where a line comes, an element that changes its set waits a cycle. Places
    are given out one a cycle beside that; a group that is complete waits for the one before. The
    walk takes a cycle an entry that is empty, else one a member; emptying the table a cycle a line.

    Parameters
    ----------
    config : HardwareConfig
    slots : int, optional
        Lines of the table under way or held, a power of two from 2 to ``TABLE_SLOTS``; by default
        as many as half of ``scu_hash_bytes`` has room for.
    depth : int, optional
        Elements that the queue holds, at least 3; by default as many as the other half has room
        for, at 8 bytes an element.

    Raises
    ------
    ValueError
        For other numbers of slots or a queue too short.

    Members
    -------
    start : In(1)
        Begin, in the cycle before the first element may come. Only after the end of the last
        operation was taken. What follows keeps its value from then on.
    mode : In(2)
        A filter or GROUP, as :class:`~hw.scu.registers.ScuOutput`.
    clear : In(1)
        Empty the table first; GROUP does in any case.
    address : In(32)
        Its address, a multiple of the line size.
    sets_bits, ways_bits : In
        log2 of its sets and of their ways. A set is not larger than a line.
    i : In(stream(element_layout))
        The elements, and then an end. Of GROUP those that are not shown are passed over.
    o : Out(stream(given_layout))
        Filters: ``value`` is bit ``index``, in order. GROUP: ``value`` is the place of element
        ``index``, in the order of places. Then an end, offered when the table is in memory and
        nothing is under way.
    groups : Out(32)
        Groups, since ``start``.
    request : Out(stream(line_request_layout))
        Whole lines. A read sees the writes before it.
    response : In(stream(line_response_layout))
        Lines that were read, in any order; always taken.
    looked_up, found, fetched : Out(1)
        An element was looked up in this cycle; it was there; a line was asked for.
    """
    def __init__(self, config: HardwareConfig, *, slots=None, depth=None):
        self._config = config
        # The buffer's bytes are for elements and for lines, half and half.
        room = config.scu_hash_bytes // 2
        self._slots = slots = (min(1 << (room // config.line_bytes).bit_length() - 1, TABLE_SLOTS)
                               if slots is None else slots)
        self._depth = room // 8 if depth is None else depth
        if slots not in _SLOTS:
            raise ValueError(f"FilterGroup: slots = {slots!r}: must be one of "
                             f"{', '.join(map(str, _SLOTS))}")
        if self._depth < 3:
            raise ValueError(f"FilterGroup: depth = {self._depth!r}: must be at least 3")
        super().__init__({
            "start": In(1), "mode": In(2), "clear": In(1), "address": In(32),
            "sets_bits": In(5), "ways_bits": In(3),
            "i": In(stream.Signature(element_layout())),
            "o": Out(stream.Signature(given_layout())), "groups": Out(32),
            "request": Out(stream.Signature(line_request_layout(config))),
            "response": In(stream.Signature(line_response_layout(config))),
            "looked_up": Out(1), "found": Out(1), "fetched": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        words, words_bits, halves = config.line_words, word_bits(config), group_bits(config)
        m.submodules.hashing = hashing = Hashing(config)
        m.submodules.lines = lines = TableLines(config, slots=self._slots,
                                                elements=self._depth + 1)
        m.submodules.search = search = Search(config)
        m.submodules.filtering = filtering = Filtering(config)
        m.submodules.grouping = grouping = Grouping(config)
        m.submodules.giver = giver = Giver(group_limit(config.line_bytes))
        connect(m, lines.request, flipped(self.request))
        connect(m, flipped(self.response), lines.response)
        connect(m, giver.o, flipped(self.o))
        group = Signal()
        best = Signal()
        m.d.comb += [
            group.eq(self.mode == ScuOutput.GROUP),
            best.eq(self.mode == ScuOutput.FILTER_BEST),
        ]

        # From outside, or of a walk through the table: an element and its line.
        waiting_shape = waiting_layout(config, self._slots)
        entering = Signal(waiting_shape, reset_less=True)
        entering_line = Signal.like(hashing.line, reset_less=True)
        entering_valid = Signal()
        entering_blank = Signal()                       # a line of a table that is emptied
        entering_goes = Signal()
        free = Signal()
        comes = Signal()
        blanks = Signal()
        walks = Signal()
        walked = Signal.like(hashing.position)
        kind = Signal(Kind)
        value = self.i.payload.value
        with m.If(walks):
            m.d.comb += kind.eq(Kind.WALK)
        with m.Elif(~self.i.payload.shown):
            m.d.comb += kind.eq(Kind.DROP)
        with m.Elif(~group & (value == EMPTY)):
            m.d.comb += kind.eq(Kind.KEEP)
        m.d.comb += [
            hashing.mode.eq(self.mode), hashing.address.eq(self.address),
            hashing.sets_bits.eq(self.sets_bits), hashing.ways_bits.eq(self.ways_bits),
            hashing.value.eq(value), hashing.walks.eq(blanks | walks),
            hashing.position.eq(walked),
            free.eq(~entering_valid | entering_goes),
        ]
        with m.If(free):
            m.d.sync += [
                entering_valid.eq(blanks | walks | comes & ~(group & (kind == Kind.DROP))),
                entering_blank.eq(blanks), entering_line.eq(hashing.line),
                entering.kind.eq(kind), entering.key.eq(hashing.key),
                entering.cost.eq(self.i.payload.cost), entering.offset.eq(hashing.offset),
            ]

        # Look-up, and the queue.
        m.submodules.queue = queue = SyncFIFOBuffered(width=waiting_shape.size, depth=self._depth)
        needs_line = Signal()
        queued = Signal(waiting_shape)
        m.d.comb += [
            needs_line.eq((entering.kind == Kind.LOOK_UP) | (entering.kind == Kind.WALK)),
            lines.line.eq(entering_line),
            lines.blank.eq(entering_valid & entering_blank),
            lines.look_up.eq(entering_valid & ~entering_blank & needs_line & queue.w_rdy),
            entering_goes.eq(entering_valid & Mux(entering_blank | needs_line, lines.granted,
                                                  queue.w_rdy)),
            queued.eq(entering), queued.slot.eq(lines.slot),
            queue.w_data.eq(queued), queue.w_en.eq(entering_goes & ~entering_blank),
            self.fetched.eq(lines.fetched),
        ]

        # At the head of the queue the line is read.
        head = data.View(waiting_shape, queue.r_data)
        head_goes = Signal()
        number = Signal(32)                             # of the element
        decided = Signal(decided_layout(config, self._slots), reset_less=True)
        decided_valid = Signal()
        decided_goes = Signal()
        way = Signal(words_bits)                        # first word of the way whose turn it is
        set_mask = Signal(words_bits)                   # bits that tell words of a set apart
        with m.Switch(self.mode):
            for output in (ScuOutput.FILTER_UNIQUE, ScuOutput.FILTER_BEST, ScuOutput.GROUP):
                size = entry_bytes(output, config.line_bytes) // 4
                starts = sum(1 << i for i in range(0, words, size))
                bits = (size - 1).bit_length()
                with m.Case(int(output)):
                    m.d.comb += [
                        set_mask.eq(~(((-1 << bits) & (words - 1)) << self.ways_bits)),
                        way.eq((number << bits) & set_mask),
                        search.ways.eq(decided.ways & starts),
                    ]
        holds_line = (head.kind == Kind.LOOK_UP) | (head.kind == Kind.WALK)
        m.d.comb += [
            lines.read_slot.eq(head.slot),
            head_goes.eq(queue.r_rdy & (lines.readable | ~holds_line)
                         & (~decided_valid | decided_goes)),
            queue.r_en.eq(head_goes),
        ]
        with m.If(head_goes):
            m.d.sync += [
                decided.kind.eq(head.kind), decided.key.eq(head.key),
                decided.number.eq(number), decided.cost.eq(head.cost),
                decided.slot.eq(head.slot), decided.line.eq(lines.read_line),
                decided.turn.eq(1 << (head.offset | Mux(head.kind == Kind.WALK, 0, way))),
                number.eq(number + (head.kind != Kind.WALK)),
            ]
            for i in range(words):
                m.d.sync += decided.ways[i].eq((head.offset & ~set_mask) == (i & ~set_mask))
        with m.If(~decided_valid | decided_goes):
            m.d.sync += decided_valid.eq(head_goes)

        # The decision.
        looks_up = Signal()
        ends = Signal()
        gives = Signal()
        m.d.comb += [
            looks_up.eq(decided.kind == Kind.LOOK_UP),
            ends.eq(decided.kind == Kind.WALK),
            search.line.eq(decided.line), search.turn.eq(decided.turn),
            search.group.eq(group), search.key.eq(decided.key),
            filtering.line.eq(decided.line), filtering.found.eq(search.found),
            filtering.way.eq(search.way), filtering.best.eq(best),
            filtering.cost.eq(decided.cost),
            grouping.line.eq(decided.line), grouping.found.eq(search.found),
            grouping.displaces.eq(search.displaces),
            grouping.way.eq(Mux(ends, decided.turn, search.way)),
            grouping.key.eq(decided.key), grouping.number.eq(decided.number),
            grouping.ends.eq(ends),
            gives.eq(~group | grouping.complete),
            decided_goes.eq(decided_valid & (~gives | giver.ready)
                            & (lines.writable | ~lines.write_words.any())),
            self.looked_up.eq(decided_goes & looks_up),
            self.found.eq(self.looked_up & search.found),

            lines.write_slot.eq(decided.slot),
            lines.release.eq(decided_goes & (looks_up | ends)),
            giver.swap.eq(group),
            giver.load.eq(decided_goes & gives),
            giver.count.eq(Mux(group, grouping.count, 1)),
            giver.values.eq(grouping.members),
        ]
        with m.If(looks_up):
            m.d.comb += lines.write_words.eq(
                Mux(group, grouping.headers | grouping.written, filtering.written))
        for i in range(words):
            filtered = Mux(best, decided.cost, decided.key) if i & 1 else decided.key
            m.d.comb += lines.write_line[i].eq(
                Mux(group, Mux(grouping.headers[i], grouping.header, decided.number), filtered))
        with m.If(~group):
            m.d.comb += giver.values[0].eq(
                Mux(looks_up, filtering.kept, decided.kind == Kind.KEEP))
        with m.If(decided_goes & group & grouping.complete):
            m.d.sync += self.groups.eq(self.groups + 1)

        # What is done when.
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.start):
                    m.d.comb += giver.restart.eq(1)
                    m.d.sync += [number.eq(0), walked.eq(0), self.groups.eq(0)]
                    with m.If(self.clear | group):
                        m.next = "CLEAR"
                    with m.Else():
                        m.next = "RUN"
            with m.State("CLEAR"):
                m.d.comb += blanks.eq(1)
                with m.If(free):
                    m.d.sync += walked.eq(walked + (1 << halves))
                    with m.If(hashing.last):
                        m.d.sync += walked.eq(0)
                        m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += [
                    self.i.ready.eq(free),
                    comes.eq(self.i.valid & ~self.i.payload.end),
                ]
                with m.If(self.i.valid & self.i.payload.end & free):
                    with m.If(group):
                        m.next = "WALK"
                    with m.Else():
                        m.next = "DRAIN"
            with m.State("WALK"):
                m.d.comb += walks.eq(1)
                with m.If(free):
                    m.d.sync += walked.eq(walked + 1)
                    with m.If(hashing.last & walked[:halves].all()):
                        m.next = "DRAIN"
            with m.State("DRAIN"):
                with m.If(~entering_valid & (queue.level == 0) & ~decided_valid):
                    m.next = "FLUSH"
            with m.State("FLUSH"):
                m.d.comb += lines.flush.eq(1)
                with m.If(lines.clean & lines.idle & giver.empty):
                    m.d.comb += lines.forget.eq(1)
                    m.next = "END"
            with m.State("END"):
                m.d.comb += giver.end.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"

        idle = Signal()
        m.d.comb += idle.eq(~entering_valid & ~queue.r_rdy & ~decided_valid & giver.empty)
        with m.If(~ResetSignal()):
            m.d.sync += Assert(~self.start | idle, "a start while an operation is under way")
        return m
