"""The Filtering/Grouping Unit (Segura et al., ISCA 2019, section 4.1 and figure 8)."""

from amaranth.hdl import Assert, Const, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.memory.port import line_layout

from .filtering import Filtering
from .grouping import Grouping
from .hashing import Hashing, group_bits, word_bits
from .interface import SLOTS, TABLE_SLOTS, line_request_layout, line_response_layout
from .lines import TableLines
from .registers import EMPTY, ScuOutput, entry_bytes, group_limit
from .search import Search
from .serializer import Serializer, numbered_layout


__all__ = ["FilterGroup", "Kind", "decided_layout", "element_layout", "waiting_layout"]


#: Legal numbers of slots. A request has room for their indexes.
_SLOTS = tuple(1 << bit for bit in range(1, TABLE_SLOTS.bit_length()))


class Kind(enum.Enum, shape=2):
    """Action for an element in the queue."""
    LOOK_UP = 0     # look the element up in the table
    WALK    = 1     # complete the group of an entry of the table
    KEEP    = 2     # keep the element without a look-up
    DROP    = 3     # drop the element without a look-up


def element_layout():
    """An element, or, after the last element, ``end`` alone. ``shown`` is 0 for an element of
    BITMASK whose comparison does not hold. ``number`` is the element's number in the stream, modulo
    the most ways of a set; GROUP numbers the elements itself."""
    return data.StructLayout({"value": 32, "cost": 32, "shown": 1, "number": 5, "end": 1})


def waiting_layout(config: HardwareConfig, slots):
    """An element in the queue: its action and data, its number, the first word of its set, and the
    slot of the set's line."""
    return data.StructLayout({
        "kind": Kind, "key": 32, "cost": 32, "number": 5, "offset": word_bits(config),
        "slot": index_bits(slots),
    })


def decided_layout(config: HardwareConfig, slots):
    """An element to decide on: its action, data and number, and the line of its set. ``ways`` marks
    the words of the set, and ``turn`` the first word of the way whose turn it is."""
    return data.StructLayout({
        "kind": Kind, "key": 32, "cost": 32, "slot": index_bits(slots), "number": 32,
        "line": line_layout(config), "ways": config.line_words, "turn": config.line_words,
    })


class FilterGroup(wiring.Component):
    """A bank of the Filtering/Grouping Unit, for the lines of the table whose numbers have one
    remainder.

    The bank has four stages. The first stage computes an element's line in the hash table. The
    second looks the line up among the lines held or under way
    (:class:`~hw.scu.lines.TableLines`). The element then waits in a queue, in order, until its line
    has arrived. The third stage reads the element's set at the head of the queue. The last stage
    decides on the element and writes the set back. Decisions are given out in order.

    At the end, all changed lines are written to memory, and no line is held any more. GROUP first
    walks through the table to complete the groups that are left. The entries of the table pass
    through the same stages.

    Throughput: an element a cycle if its line is held. An element whose line is missing takes a
    cycle of ``request``, or two with a write-back. When a line arrives, an element that changes its
    set waits a cycle. Meanwhile places are given out, one a cycle; a complete group waits for the
    group before. The walk takes one cycle for an empty entry, and one for each member of a group.
    Emptying the table takes a cycle a line of the bank.

    Parameters
    ----------
    config : HardwareConfig
    slots : int
        Lines of the table held or under way, a power of two from 2 to ``TABLE_SLOTS``.
    depth : int
        Elements in the queue, at least 3.
    bank, banks : int
        Number of this bank, and number of banks, a power of two. The elements that come to a filter
        are in lines of the table whose numbers, counted from the first line, have the remainder
        ``bank``. Only bank 0 takes GROUP, and then all lines are bank 0's.

    Raises
    ------
    ValueError
        If ``slots`` is another number, or ``depth`` is below 3.

    Members
    -------
    start : In(1)
        Begin. The first element may come in the next cycle. Only after the end of the last
        operation was taken. The next five inputs hold from now on.
    mode : In(2)
        A filter or GROUP, as :class:`~hw.scu.registers.ScuOutput`.
    clear : In(1)
        Empty the table first. GROUP always empties it.
    address : In(32)
        Address of the table, a multiple of the line size.
    sets_bits : In(5)
        log2 of the number of sets of the table.
    ways_bits : In(3)
        log2 of the number of ways of a set. A set is not larger than a line.
    i : In(stream(element_layout))
        The elements, then an end. GROUP passes over the elements that are not shown.
    o : Out(stream(numbered_layout))
        Filters: ``value`` is bit ``index``, in order. GROUP: ``value`` is the place of element
        ``index``, in the order of places. Then an end, offered when the table is in memory and
        nothing is under way.
    groups : Out(32)
        Number of groups since ``start``.
    request : Out(stream(line_request_layout))
        Reads and writes of whole lines. A read sees the writes before it.
    response : In(stream(line_response_layout))
        Lines that were read, in any order. Always ready.
    looked_up : Out(1)
        An element was looked up in this cycle.
    found : Out(1)
        The element looked up was in the table.
    fetched : Out(1)
        A line of the table was requested in this cycle.
    """
    def __init__(self, config: HardwareConfig, *, slots, depth, bank=0, banks=1):
        self._config, self._slots, self._depth = config, slots, depth
        self._bank, self._banks = bank, banks
        if slots not in _SLOTS:
            raise ValueError(f"FilterGroup: slots = {slots!r}: must be one of "
                             f"{', '.join(map(str, _SLOTS))}")
        if self._depth < 3:
            raise ValueError(f"FilterGroup: depth = {self._depth!r}: must be at least 3")
        super().__init__({
            "start": In(1), "mode": In(2), "clear": In(1), "address": In(32),
            "sets_bits": In(5), "ways_bits": In(3),
            "i": In(stream.Signature(element_layout())),
            "o": Out(stream.Signature(numbered_layout())), "groups": Out(32),
            "request": Out(stream.Signature(line_request_layout(config))),
            "response": In(stream.Signature(line_response_layout(config))),
            "looked_up": Out(1), "found": Out(1), "fetched": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        words, words_bits, halves = config.line_words, word_bits(config), group_bits(config)
        groups = self._bank == 0
        m.submodules.hashing = hashing = Hashing(config, banks=self._banks)
        m.submodules.lines = lines = TableLines(
            config, slots=self._slots, elements=self._depth + 1,
            under_way=SLOTS // self._banks)
        m.submodules.search = search = Search(config)
        m.submodules.filtering = filtering = Filtering(config)
        m.submodules.serializer = serializer = Serializer(
            group_limit(config.line_bytes) if groups else 1)
        connect(m, lines.request, flipped(self.request))
        connect(m, flipped(self.response), lines.response)
        connect(m, serializer.o, flipped(self.o))
        group = Signal()
        best = Signal()
        m.d.comb += [
            group.eq(self.mode == ScuOutput.GROUP if groups else 0),
            best.eq(self.mode == ScuOutput.FILTER_BEST),
        ]

        # An element and its line, from outside or from a walk through the table.
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
            hashing.banked.eq(~group),
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
                entering.number.eq(self.i.payload.number),
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

        # The line of the element at the head of the queue is read.
        head = data.View(waiting_shape, queue.r_data)
        head_goes = Signal()
        number = Signal(32)                             # number of the element, for GROUP
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
                        way.eq((Mux(group, number, head.number) << bits) & set_mask),
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
            decided_goes.eq(decided_valid & (~gives | serializer.ready)
                            & (lines.writable | ~lines.write_words.any())),
            self.looked_up.eq(decided_goes & looks_up),
            self.found.eq(self.looked_up & search.found),

            lines.write_slot.eq(decided.slot),
            lines.release.eq(decided_goes & (looks_up | ends)),
            serializer.swap.eq(group),
            serializer.load.eq(decided_goes & gives),
            serializer.count.eq(1),
            serializer.values[0].eq(Mux(looks_up, filtering.kept, decided.kind == Kind.KEEP)),
        ]
        with m.If(looks_up):
            m.d.comb += lines.write_words.eq(filtering.written)
        for i in range(words):
            m.d.comb += lines.write_line[i].eq(
                Mux(best, decided.cost, decided.key) if i & 1 else decided.key)
        complete = Const(0)
        if groups:
            complete = self._group(m, group, decided, search, lines, serializer)
        m.d.comb += gives.eq(~group | complete)
        with m.If(decided_goes & group & complete):
            m.d.sync += self.groups.eq(self.groups + 1)

        # The state machine.
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.start):
                    m.d.comb += serializer.restart.eq(1)
                    m.d.sync += [number.eq(0), walked.eq(0), self.groups.eq(0)]
                    with m.If(self.clear | group):
                        m.d.sync += walked.eq(Mux(group, 0, self._bank << halves))
                        m.next = "CLEAR"
                    with m.Else():
                        m.next = "RUN"
            with m.State("CLEAR"):
                m.d.comb += blanks.eq(~hashing.outside)
                with m.If(free):
                    m.d.sync += walked.eq(walked + (Mux(group, 1, self._banks) << halves))
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
                with m.If(lines.clean & lines.idle & serializer.empty):
                    m.d.comb += lines.forget.eq(1)
                    m.next = "END"
            with m.State("END"):
                m.d.comb += serializer.end.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"

        idle = Signal()
        m.d.comb += idle.eq(~entering_valid & ~queue.r_rdy & ~decided_valid & serializer.empty)
        with m.If(~ResetSignal()):
            m.d.sync += Assert(~self.start | idle, "a start while an operation is under way")
        return m

    def _group(self, m, group, decided, search, lines, serializer):
        """Write and give out groups instead of decisions. Returns whether a group is complete."""
        m.submodules.grouping = grouping = Grouping(self._config)
        ends = Signal()
        m.d.comb += [
            ends.eq(decided.kind == Kind.WALK),
            grouping.line.eq(decided.line), grouping.found.eq(search.found),
            grouping.displaces.eq(search.displaces),
            grouping.way.eq(Mux(ends, decided.turn, search.way)),
            grouping.key.eq(decided.key), grouping.number.eq(decided.number),
            grouping.ends.eq(ends),
        ]
        with m.If(group):
            m.d.comb += [serializer.count.eq(grouping.count),
                         serializer.values.eq(grouping.members)]
            for i in range(self._config.line_words):
                m.d.comb += lines.write_line[i].eq(
                    Mux(grouping.headers[i], grouping.header, decided.number))
            with m.If(decided.kind == Kind.LOOK_UP):
                m.d.comb += lines.write_words.eq(grouping.headers | grouping.written)
        return grouping.complete
