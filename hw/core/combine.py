"""The combining of lanes' operands: the lanes of an atomic that access one word share one operand.

The lanes form a tree of blocks, as the players of a tournament do. On each level two neighboring
blocks become one. A lane of the lower block takes over the operand of the lane of the upper block
that accesses the same word, if there is one. In each block only the lowest lane of a word counts,
so there is at most one such lane. In the end the lowest lane of each word has the operands of all
lanes of the word, combined in lane order. A level needs an ALU for each lane of its lower blocks.
"""

from amaranth.hdl import Cat, Signal

from hw.bits import and_or
from hw.memory.amo import atomic


__all__ = ["combine", "lower_lanes", "partners"]


def lower_lanes(threads, depth):
    """The lanes of the lower blocks of a level. A block has ``1 << depth`` lanes."""
    return [lane for lane in range(threads) if not lane >> depth & 1]


def _upper_block(lane, depth):
    """The lanes of the upper block beside the lower block that has ``lane``."""
    first = (lane >> depth | 1) << depth
    return range(first, first + (1 << depth))


def partners(m, same, threads, depth):
    """For each lane of :func:`lower_lanes`: the lane of the upper block that has its word, one-hot.
    The value of a lane that does not count has no meaning.

    Parameters
    ----------
    m : Module
    same : list of Value
        For each active lane, the active lanes below it that access the same word.
    threads, depth : int

    Returns
    -------
    list of Signal(1 << depth)
    """
    found = []
    for lane in lower_lanes(threads, depth):
        upper = _upper_block(lane, depth)
        found.append(Signal(len(upper), name=f"partner_{depth}_{lane}"))
        m.d.comb += found[-1].eq(Cat(
            same[one][lane] & ~same[one][upper.start:one].any()
            for one in upper))
    return found


def combine(m, control, operands, found, depth, *, name):
    """One level: lanes of the lower blocks take over operands of their :func:`partners`.

    Parameters
    ----------
    m : Module
    control : View(AmoControls)
        Controls of the operation.
    operands : list of 32-bit values
        The operand of each lane, before this level.
    found : list of Value
        The partners. All are 0 if operands are not to be combined.
    depth : int
    name : str
        Prefix of the signals.

    Returns
    -------
    list of 32-bit values
    """
    combined = list(operands)
    for lane, partner in zip(lower_lanes(len(operands), depth), found):
        combined[lane] = taken = Signal(32, name=f"{name}_{depth}_{lane}")
        m.d.comb += taken.eq(operands[lane])
        with m.If(partner.any()):
            other = and_or(partner, [operands[one] for one in _upper_block(lane, depth)])
            m.d.comb += taken.eq(atomic(m, control, operands[lane], other,
                                        name=f"{name}_{depth}_{lane}"))
    return combined
