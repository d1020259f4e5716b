"""A memory that answers loads in any order at any time, for harnesses of units that read memory."""

from amaranth.hdl import Array, Assume, Cat, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In


__all__ = ["answer_inputs", "answer_loads", "at_most_one", "steady"]


#: Loads that may be under way.
_LOADS = 2


def steady(m, harness, *names):
    """Assume that inputs of the harness never change."""
    begun = Signal()
    m.d.sync += begun.eq(1)
    for name in names:
        value = getattr(harness, name)
        before = Signal.like(value, name=f"was_{name}")
        m.d.sync += before.eq(value)
        m.d.comb += Assume(~begun | (value == before))


def answer_loads(m, harness, port, ready):
    """Take loads from a port, and choose one that is answered.

    The harness has the inputs ``taken``, ``answers``, ``slot`` and ``words``. Data that are not
    ``ready`` to be taken stay. Returns whether a load is answered now, and the load.
    """
    layout = port.payload.shape()
    slots = [(Signal(name=f"used_{i}"), Signal(layout, name=f"load_{i}")) for i in range(_LOADS)]
    free = Cat(~used for used, _ in slots)
    answers = Signal(name="answers_now")
    m.d.comb += port.ready.eq(harness.taken & free.any())
    for i, (used, load) in enumerate(slots):
        fills = port.valid & port.ready & free[i] & ~free[:i].any()
        m.d.sync += used.eq((used | fills) & ~(answers & ready & (harness.slot == i)))
        with m.If(fills):
            m.d.sync += load.eq(port.payload)
    given = Signal(layout, name="given")
    m.d.comb += [
        answers.eq(harness.answers & Array(used for used, _ in slots)[harness.slot]),
        given.eq(Array(load.as_value() for _, load in slots)[harness.slot]),
    ]
    held, slot, words = Signal(), Signal.like(harness.slot), Signal.like(harness.words)
    m.d.sync += [held.eq(answers & ~ready), slot.eq(harness.slot), words.eq(harness.words)]
    m.d.comb += Assume(~held | (harness.answers & (harness.slot == slot)
                                & (harness.words.as_value() == words.as_value())))
    return answers, given


def answer_inputs(config):
    """The inputs of a harness by which :func:`answer_loads` chooses."""
    return {"taken": In(1), "answers": In(1), "slot": In(range(_LOADS)),
            "words": In(data.ArrayLayout(32, config.threads))}


def at_most_one(mask, threads):
    """Whether a mask has one lane at most."""
    return (mask & (mask - 1)[:threads]) == 0
