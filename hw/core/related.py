"""How the lanes of a memory instruction are related: which share a pass, and which come first.

The coalescer compares the addresses of an instruction's lanes once, as the instruction enters, and
makes the passes of the masks that are found here (:mod:`hw.core.coalescer`).
"""

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Mux, Signal
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.operations import AmoOp, MemOp


__all__ = ["Related", "apart", "compare"]


class Related(NamedTuple):
    """Masks of the other lanes, for each lane of an instruction."""
    mates: list[Signal]  #: The lanes that this lane brings into its pass.
    #: The lanes that want the same word of the line, or the same bank, and go before this lane.
    #: Higher lanes go first, since the highest lane's value counts. For narrow stores and atomics
    #: lower lanes go first: the bytes of several lanes may have to be kept side by side, and a
    #: later lane sees the result of an earlier lane's atomic.
    rivals: list[Signal]
    #: The lower lanes that cannot share a pass with this lane. The first lane has none.
    parts: list[Signal]

    @classmethod
    def signals(cls, threads: int, prefix: str = "", suffix: str = "") -> "Related":
        """Signals for the masks."""
        return cls(*([Signal(threads, name=f"{prefix}{name}_{i}{suffix}") for i in range(threads)]
                     for name in ("mates", "rivals")),
                   [Signal(i, name=f"{prefix}parts_{i}{suffix}") for i in range(1, threads)])

    @property
    def all(self) -> list[Signal]:
        """All masks, in one list."""
        return [*self.mates, *self.rivals, *self.parts]


def apart(config: HardwareConfig, operation):
    """Whether an atomic of a whole line serves one lane of each word: operands are not combined.
    Without atomics of whole lines, a pass serves one lane anyway."""
    if config.combines or not config.line_atomics:
        return 0
    return ((operation.op == MemOp.AMO) & ~operation.writes & (operation.amo != AmoOp.CAS))


def compare(m, config: HardwareConfig, head, wanted) -> Related:
    """Compare the lanes of an instruction with each other.

    Parameters
    ----------
    m : Module
    config : HardwareConfig
    head : data.View
        The instruction: Signal(operation_layout).
    wanted : Value
        The masks are wanted. Else they have no meaning.
    """
    threads = config.threads
    is_fence, is_amo, is_cas, narrow, together = (
        Signal(name=name) for name in ("is_fence", "is_amo", "is_cas", "narrow", "together"))
    m.d.comb += [
        is_fence.eq(head.op == MemOp.FENCE), is_amo.eq(head.op == MemOp.AMO),
        is_cas.eq(is_amo & (head.amo == AmoOp.CAS)),
        narrow.eq(is_amo | (head.op == MemOp.STORE) & (head.size != 2)),
        # Lanes of an atomic need no pass of their own, if nobody wants the old value.
        together.eq(is_amo & ~head.writes & ~is_cas),
    ]
    combines = together if config.combines else Const(0)
    spreads = apart(config, head)
    made = Related.signals(threads, "new_")
    every = (1 << threads) - 1
    # The highest bit tells global memory from local.
    mapped = slice(config.line_bits, ceil_log2(config.memory_bytes))
    lines = [Cat(address[mapped], address[-1]) for address in head.address]
    places = [address[2:config.line_bits] for address in head.address]
    with m.If(wanted):
        # In one line both lanes are local, or neither.
        for i in range(threads):
            lined, worded, banked, clash, joined = (
                Signal(threads, name=f"{name}_{i}")
                for name in ("lined", "worded", "banked", "clash", "joined"))
            atomics = Mux(together, every if config.line_atomics
                          else worded if config.combines else 0, 0)
            m.d.comb += [
                lined.eq(Cat(line == lines[i] for line in lines)),
                worded.eq(Cat(place == places[i] for place in places)),
                banked.eq(Mux(head.local[i], head.local, 0)),
                clash.eq(worded & (lined | banked) | Mux(is_cas, banked, 0)),
                joined.eq((banked & Mux(narrow & ~combines, 0, worded)
                           | ~banked & Mux(is_amo, atomics, every)) & lined
                          | Mux(is_fence, every, 0)),
                made.mates[i].eq(joined | 1 << i),
                made.rivals[i].eq(clash & Mux(narrow, (1 << i) - 1, every & (-2 << i))),
            ]
            if i:
                m.d.comb += made.parts[i - 1].eq(~joined & (clash | ~banked) | (
                    ~banked & Mux(narrow & ~is_amo | spreads, clash, 0)))
    return made
