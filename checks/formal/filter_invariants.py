"""Invariants of the filters: places of the watched element, and references to slots.

Suppose that the watched element was not kept since the table was emptied. Then the element is
nowhere: not in its line in memory, not on the way from or to memory, not in a slot, and not in the
line under decision. This matters because an element's slot holds the element's line until the
decision. So the invariants follow the elements under way, from the element that is given out to
the element that enters.
"""

from amaranth.hdl import Assert, Cat, Const, Mux, Signal
from amaranth.lib import data

from hw.scu.filter_group import Kind, decided_layout, waiting_layout
from hw.scu.registers import EMPTY


__all__ = ["add_invariants"]


def _one_hot(value):
    return (value & (value - 1)) == 0


class _Stage:
    """A place where an element can be: whether it holds an element, and the element's record."""

    def __init__(self, valid, element):
        self.valid = valid
        self.element = element
        self.looks_up = valid & (element.kind == Kind.LOOK_UP)


def _queued(m, config, slots, peek):
    """The elements in the queue, the oldest first."""
    shape = waiting_layout(config, slots)
    out = peek.signal("queue", "r_rdy")
    level, consume, produce = (peek.signal("queue", name)
                               for name in ("inner_level", "consume", "produce"))
    rows = peek.memory("queue", "storage")
    depth = len(rows)
    end = consume + level
    m.d.comb += [
        Assert(level <= depth), Assert(consume < depth), Assert(produce < depth),
        Assert(produce == Mux(end >= depth, end - depth, end)[:len(produce)]),
    ]
    stages = [_Stage(out, data.View(shape, peek.output("queue", "storage")))]
    for place in range(depth):
        row = Signal(shape, name=f"queued_{place}")
        for first in range(depth):
            with m.If(consume == first):
                m.d.comb += row.eq(rows[(first + place) % depth])
        stages.append(_Stage(place < level, row))
    return stages


def _references(m, stages, slots, peek):
    """Each element under way refers to a slot; the slot knows the number of its last element."""
    entered, released = peek.signal("lines", "entered"), peek.signal("lines", "released")
    referred, held = peek.signal("lines", "referred"), peek.signal("lines", "held")
    last = peek.memory("lines", "last")
    bits = len(entered)
    older, places = 0, []
    for stage in stages:
        places.append(older)
        older = older + stage.looks_up
    m.d.comb += Assert((entered - released)[:bits] == older)
    for slot in range(slots):
        newest = (last[slot] - released)[:bits]
        mine = [stage.looks_up & (stage.element.slot == slot) for stage in stages]
        m.d.comb += Assert(~referred[slot] | Cat(
            here & (newest == place) for here, place in zip(mine, places)).any())
        m.d.comb += Assert(~referred[slot] | held[slot])
        for here, place in zip(mine, places):
            m.d.comb += Assert(~here | (referred[slot] & (newest >= place)))


def add_invariants(m, config, model, dut, peek, bank, banks):
    """Assert the invariants.

    Parameters
    ----------
    m : Module
        The harness.
    config : HardwareConfig
    model : checks.formal.filters.FilterModel
    dut : FilterGroup
    peek : Peek
    bank, banks : int
        As for :class:`~hw.scu.filter_group.FilterGroup`.
    """
    def holds(statement, *, when=Const(1)):
        m.d.comb += Assert(~when | statement, src_loc_at=1)

    state, states = peek.states()

    def in_states(*names):
        return Cat(state == states[name] for name in names).any()

    # The elements, the oldest first.
    slots = len(peek.signal("lines", "held"))
    left, given = peek.signal("serializer", "left"), peek.signal("serializer", "values")[:32]
    enters, blank = peek.signal("entering_valid"), peek.signal("entering_blank")
    decides = peek.signal("decided_valid")
    entering = data.View(waiting_layout(config, slots), peek.signal("entering"))
    decided = data.View(decided_layout(config, slots), peek.signal("decided"))
    queued = _queued(m, config, slots, peek)
    inside = [_Stage(decides, decided), *queued]
    entrant = _Stage(enters & ~blank, entering)
    gives = left != 0
    before = gives
    for stage in [*inside, entrant]:
        flag = (model.flags >> before)[0]
        holds(flag == ((stage.element.kind == Kind.LOOK_UP)
                       & (stage.element.key == model.watched)), when=stage.valid)
        holds(stage.element.kind != Kind.WALK, when=stage.valid)
        before = before + stage.valid
    holds(model.count == before)
    holds((model.flags >> before) == 0)
    holds(left <= 1)
    holds(given <= 1, when=gives)
    _references(m, inside, slots, peek)

    # The unit's actions in each state.
    held, arrived, changed, victim = (peek.signal("lines", name) for name in
                                      ("held", "arrived", "changed", "victim"))
    request, asked = dut.request, dut.request.payload
    empty = ~enters & ~Cat(stage.valid for stage in inside).any()
    holds(state <= max(states.values()))
    holds(~in_states("WALK"))
    holds(model.active == ~in_states("IDLE"))
    holds(empty, when=in_states("IDLE", "FLUSH", "END"))
    holds(~gives & ~request.valid, when=in_states("IDLE", "END"))
    holds(~held.any(), when=in_states("IDLE", "CLEAR", "END"))
    holds(~gives & ~Cat(stage.valid for stage in inside).any(), when=in_states("CLEAR"))
    holds(~enters | blank, when=in_states("CLEAR"))
    holds(in_states("CLEAR", "RUN", "DRAIN"), when=enters)
    holds(~held.any() & ~gives & ~Cat(stage.valid for stage in inside).any(),
          when=enters & blank)

    # Slots and requested lines.
    lines = [peek.signal("lines", f"line_{slot}") for slot in range(slots)]
    numbers = peek.memory("lines", "numbers")
    storage = peek.memory("lines", "storage")
    reads = Mux(request.valid & ~asked.write, 1 << asked.slot, 0)
    holds(_one_hot(victim))
    holds(held & ~arrived & ~peek.signal("lines", "referred") == 0)
    holds(~arrived & changed == 0)
    holds(~held & changed == 0)
    holds(asked.slot < slots, when=request.valid)
    holds(held & ~arrived == model.pending | reads)
    holds(model.pending & reads == 0)
    is_home = Signal(slots)
    for slot in range(slots):
        m.d.comb += is_home[slot].eq(held[slot] & (lines[slot] == model.home))
        holds(numbers[slot] == lines[slot], when=held[slot])
        holds(lines[slot] == asked.line, when=reads[slot])
        holds(is_home[slot] == model.of_home[slot], when=model.pending[slot])
        for other in range(slot):
            holds(lines[slot] != lines[other], when=held[slot] & held[other])
    for stage in inside:
        holds((is_home >> stage.element.slot)[0],
              when=stage.looks_up & (stage.element.key == model.watched))
        holds(stage.element.key != EMPTY, when=stage.looks_up)
    holds(peek.signal("entering_line") == model.home,
          when=entrant.looks_up & (entering.key == model.watched))
    holds(entering.key != EMPTY, when=entrant.looks_up)
    holds((arrived >> decided.slot)[0], when=decides & (decided.kind == Kind.LOOK_UP))
    for path, stream in (("lines", "request"), ("serializer", "o")):
        port = getattr(dut, stream)
        holds(port.valid & (port.payload.as_value() == peek.signal(path, f"{stream}_before")),
              when=peek.signal(path, f"{stream}_held"))

    # Places without the watched element.
    def without(line):
        """Whether no entry of a line is the watched element; every second word may be a cost."""
        words = [line.word_select(i, 32) for i in range(config.line_words)]
        return ~Cat((word == model.watched) & ((i % 2 == 0) | (dut.mode == 1))
                    for i, word in enumerate(words)).any()

    nowhere = model.known & ~model.kept & ~(gives & model.flags[0] & given[0])
    position, line = peek.signal("walked"), peek.signal("entering_line")
    table_line = dut.address[config.line_bits:]
    ahead = (in_states("CLEAR") & ((model.home - table_line)[:len(line)] >= position)
             | enters & blank & (line == model.home)
             | request.valid & asked.write & (asked.line == model.home))
    holds(position == 0, when=~in_states("CLEAR"))
    holds(position << 2 < 1 << dut.sets_bits + dut.ways_bits + (dut.mode == 2),
          when=in_states("CLEAR") & (position != bank))
    holds(position & banks - 1 == bank, when=in_states("CLEAR"))
    holds(without(model.content.as_value()), when=nowhere & ~ahead)
    holds(without(asked.data.as_value()),
          when=nowhere & request.valid & asked.write & (asked.line == model.home))
    holds(without(model.captured.as_value()), when=nowhere & (model.pending & is_home).any())
    for slot in range(slots):
        holds(without(storage[slot]), when=nowhere & is_home[slot] & arrived[slot])
    holds(without(decided.line.as_value()),
          when=nowhere & decides & (is_home >> decided.slot)[0]
          & (decided.kind == Kind.LOOK_UP))
    holds(given[0], when=gives & model.flags[0] & model.known & ~model.kept)
