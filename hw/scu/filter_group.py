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


class _Parts:
    """The blocks that several stages use. Each is a submodule of the bank."""
    def __init__(self, m, config, slots, depth, banks, groups):
        m.submodules.hashing = self.hashing = Hashing(config, banks=banks)
        m.submodules.lines = self.lines = TableLines(
            config, slots=slots, elements=depth + 1, under_way=SLOTS // banks)
        m.submodules.queue = self.queue = SyncFIFOBuffered(
            width=waiting_layout(config, slots).size, depth=depth)
        m.submodules.search = self.search = Search(config)
        m.submodules.serializer = self.serializer = Serializer(
            group_limit(config.line_bytes) if groups else 1)


class _Given:
    """The element, or step of a walk through the table, that the first stage takes."""
    def __init__(self, position):
        self.comes, self.blanks, self.walks = (Signal(name=name)
                                               for name in ("comes", "blanks", "walks"))
        self.walked = Signal.like(position, name="walked")
        self.free = Signal(name="free")                 # the first stage takes it


class _Entering:
    """Packet that enters the second stage: an element or a step of a walk, and its line."""
    def __init__(self, waiting_shape, line):
        self.valid, self.goes = Signal(name="entering_valid"), Signal(name="entering_goes")
        self.blank = Signal(name="entering_blank")      # a line of a table that is emptied
        self.element = Signal(waiting_shape, name="entering", reset_less=True)
        self.line = Signal.like(line, name="entering_line", reset_less=True)


class _Decided:
    """Packet that enters the last stage: an element and its set."""
    def __init__(self, config, slots):
        self.valid, self.goes = Signal(name="decided_valid"), Signal(name="decided_goes")
        self.element = Signal(decided_layout(config, slots), name="decided", reset_less=True)


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
        groups = self._bank == 0
        parts = _Parts(m, config, self._slots, self._depth, self._banks, groups)
        connect(m, parts.lines.request, flipped(self.request))
        connect(m, flipped(self.response), parts.lines.response)
        connect(m, parts.serializer.o, flipped(self.o))
        group = Signal()
        m.d.comb += group.eq(self.mode == ScuOutput.GROUP if groups else 0)
        given = _Given(parts.hashing.position)
        number = Signal(32)                             # number of the element, for GROUP
        entering = self._hash(m, parts, group, given)
        self._look_up(m, parts, entering)
        decided = self._read_set(m, parts, group, number)
        self._decide(m, parts, group, decided)
        idle = Signal()
        m.d.comb += idle.eq(~entering.valid & ~parts.queue.r_rdy & ~decided.valid
                            & parts.serializer.empty)
        with m.If(~ResetSignal()):
            m.d.sync += Assert(~self.start | idle, "a start while an operation is under way")
        self._run(m, parts, group, given, number,
                  ~entering.valid & (parts.queue.level == 0) & ~decided.valid)
        return m

    def _hash(self, m, parts, group, given):
        """An element and its line, from outside or from a walk through the table."""
        hashing, element = parts.hashing, self.i.payload
        entering = _Entering(waiting_layout(self._config, self._slots), hashing.line)
        kind = Signal(Kind)
        with m.If(given.walks):
            m.d.comb += kind.eq(Kind.WALK)
        with m.Elif(~element.shown):
            m.d.comb += kind.eq(Kind.DROP)
        with m.Elif(~group & (element.value == EMPTY)):
            m.d.comb += kind.eq(Kind.KEEP)
        m.d.comb += [
            hashing.mode.eq(self.mode), hashing.address.eq(self.address),
            hashing.sets_bits.eq(self.sets_bits), hashing.ways_bits.eq(self.ways_bits),
            hashing.banked.eq(~group),
            hashing.value.eq(element.value), hashing.walks.eq(given.blanks | given.walks),
            hashing.position.eq(given.walked),
            given.free.eq(~entering.valid | entering.goes),
        ]
        with m.If(given.free):
            m.d.sync += [
                entering.valid.eq(given.blanks | given.walks
                                  | given.comes & ~(group & (kind == Kind.DROP))),
                entering.blank.eq(given.blanks), entering.line.eq(hashing.line),
                entering.element.kind.eq(kind), entering.element.key.eq(hashing.key),
                entering.element.cost.eq(element.cost), entering.element.offset.eq(hashing.offset),
                entering.element.number.eq(element.number),
            ]
        return entering

    def _look_up(self, m, parts, entering):
        """Look the line up. Then the element waits in the queue."""
        lines, queue, element = parts.lines, parts.queue, entering.element
        needs_line = Signal()
        queued = Signal(element.shape())
        m.d.comb += [
            needs_line.eq((element.kind == Kind.LOOK_UP) | (element.kind == Kind.WALK)),
            lines.line.eq(entering.line),
            lines.blank.eq(entering.valid & entering.blank),
            lines.look_up.eq(entering.valid & ~entering.blank & needs_line & queue.w_rdy),
            entering.goes.eq(entering.valid & Mux(entering.blank | needs_line, lines.granted,
                                                  queue.w_rdy)),
            queued.eq(element), queued.slot.eq(lines.slot),
            queue.w_data.eq(queued), queue.w_en.eq(entering.goes & ~entering.blank),
            self.fetched.eq(lines.fetched),
        ]

    def _read_set(self, m, parts, group, number):
        """Read the set of the element at the head of the queue, whose line has come."""
        config, lines, queue = self._config, parts.lines, parts.queue
        words, words_bits = config.line_words, word_bits(config)
        decided = _Decided(config, self._slots)
        element = decided.element
        head = data.View(waiting_layout(config, self._slots), queue.r_data)
        head_goes = Signal()
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
                        parts.search.ways.eq(element.ways & starts),
                    ]
        holds_line = (head.kind == Kind.LOOK_UP) | (head.kind == Kind.WALK)
        m.d.comb += [
            lines.read_slot.eq(head.slot),
            head_goes.eq(queue.r_rdy & (lines.readable | ~holds_line)
                         & (~decided.valid | decided.goes)),
            queue.r_en.eq(head_goes),
        ]
        with m.If(head_goes):
            m.d.sync += [
                element.kind.eq(head.kind), element.key.eq(head.key), element.number.eq(number),
                element.cost.eq(head.cost), element.slot.eq(head.slot),
                element.line.eq(lines.read_line),
                element.turn.eq(1 << (head.offset | Mux(head.kind == Kind.WALK, 0, way))),
                number.eq(number + (head.kind != Kind.WALK)),
            ]
            for i in range(words):
                m.d.sync += element.ways[i].eq((head.offset & ~set_mask) == (i & ~set_mask))
        with m.If(~decided.valid | decided.goes):
            m.d.sync += decided.valid.eq(head_goes)
        return decided

    def _decide(self, m, parts, group, decided):
        """Decide on the element, write its set back, and give the decision out."""
        lines, search, serializer = parts.lines, parts.search, parts.serializer
        element = decided.element
        m.submodules.filtering = filtering = Filtering(self._config)
        looks_up, gives, best = (Signal(name=name) for name in ("looks_up", "gives", "best"))
        m.d.comb += [
            best.eq(self.mode == ScuOutput.FILTER_BEST),
            looks_up.eq(element.kind == Kind.LOOK_UP),
            search.line.eq(element.line), search.turn.eq(element.turn),
            search.group.eq(group), search.key.eq(element.key),
            filtering.line.eq(element.line), filtering.found.eq(search.found),
            filtering.way.eq(search.way), filtering.best.eq(best),
            filtering.cost.eq(element.cost),
            decided.goes.eq(decided.valid & (~gives | serializer.ready)
                            & (lines.writable | ~lines.write_words.any())),
            self.looked_up.eq(decided.goes & looks_up),
            self.found.eq(self.looked_up & search.found),
            lines.write_slot.eq(element.slot),
            lines.release.eq(decided.goes & (looks_up | (element.kind == Kind.WALK))),
            serializer.swap.eq(group),
            serializer.load.eq(decided.goes & gives),
            serializer.count.eq(1),
            serializer.values[0].eq(Mux(looks_up, filtering.kept, element.kind == Kind.KEEP)),
        ]
        with m.If(looks_up):
            m.d.comb += lines.write_words.eq(filtering.written)
        for i in range(self._config.line_words):
            m.d.comb += lines.write_line[i].eq(
                Mux(best, element.cost, element.key) if i & 1 else element.key)
        complete = Const(0)
        if self._bank == 0:
            complete = self._group(m, group, element, search, lines, serializer)
        m.d.comb += gives.eq(~group | complete)
        with m.If(decided.goes & group & complete):
            m.d.sync += self.groups.eq(self.groups + 1)

    def _run(self, m, parts, group, given, number, drained):
        """The state machine: it empties the table, takes the elements, walks through the table and
        writes it to memory."""
        hashing, lines, serializer = parts.hashing, parts.lines, parts.serializer
        free, walked, halves = given.free, given.walked, group_bits(self._config)
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
                m.d.comb += given.blanks.eq(~hashing.outside)
                with m.If(free):
                    m.d.sync += walked.eq(walked + (Mux(group, 1, self._banks) << halves))
                    with m.If(hashing.last):
                        m.d.sync += walked.eq(0)
                        m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += [
                    self.i.ready.eq(free),
                    given.comes.eq(self.i.valid & ~self.i.payload.end),
                ]
                with m.If(self.i.valid & self.i.payload.end & free):
                    with m.If(group):
                        m.next = "WALK"
                    with m.Else():
                        m.next = "DRAIN"
            with m.State("WALK"):
                m.d.comb += given.walks.eq(1)
                with m.If(free):
                    m.d.sync += walked.eq(walked + 1)
                    with m.If(hashing.last & walked[:halves].all()):
                        m.next = "DRAIN"
            with m.State("DRAIN"):
                with m.If(drained):
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
