"""Timing of the two pipelines.

The long pipeline has more registers than the short one, for the clock of an FPGA. A value
that comes from such a register, or late in its cycle, is too late for some decisions that the short
pipeline makes at once. The long pipeline then decides without it, or a stage later. All blocks ask
:class:`Timing`, which gives each of these choices a name.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from amaranth.hdl import Const
from amaranth.lib import wiring

from hw.streams import StreamBuffer, StreamRegister

if TYPE_CHECKING:
    from hw.config import HardwareConfig


__all__ = ["Timing"]


@dataclasses.dataclass(frozen=True)
class Timing:
    """The choices in which the pipelines differ."""
    config: HardwareConfig

    @property
    def extra(self) -> int:
        """Registers on a path that only the long pipeline cuts: there 1, else 0."""
        return int(self.config.long)

    @property
    def later(self) -> str:
        """Clock domain of signals that have a register only in the long pipeline."""
        return "sync" if self.config.long else "comb"

    @property
    def sooner(self) -> str:
        """Clock domain of operands that have a register only in the short pipeline, where they come
        from memories. In the long pipeline they come from registers."""
        return "comb" if self.config.long else "sync"

    def stage(self, value, next_value):
        """The packet for some work: a stage's, in the long pipeline the next stage's, since there
        is no time for the work before."""
        return next_value if self.config.long else value

    def in_time(self, value):
        """A condition that the long pipeline knows too late in the cycle. There it is 0."""
        return 0 if self.config.long else value

    def only_later(self, value):
        """A condition that arises only from the registers of the long pipeline; else 0."""
        return value if self.config.long else 0

    def needed(self, needed, possible=None):
        """Condition for work, or for the load of a wide register, whose result is harmless when it
        is not ``needed``.

        The short pipeline takes ``needed``, so that a simulator skips the work otherwise. The long
        pipeline knows this too late. It takes ``possible``, by default constant 1.
        """
        return (Const(1) if possible is None else possible) if self.config.long else needed

    def compared(self, bits, set_bits) -> slice:
        """The bits of a line's address that are compared to find a hazard: all, in the long
        pipeline those of the set. There is no time to compare more."""
        return slice(set_bits if self.config.long else bits)

    def levels_in_time(self, levels) -> int:
        """How many of a tree's levels come before the register that only the long pipeline has:
        there half of them, rounded up, else all."""
        return (levels + 1) // 2 if self.config.long else levels

    @property
    def looks_ahead(self) -> bool:
        """Whether ready warps, matching lines and room in queues are found a cycle ahead. The long
        pipeline has no time to find and to use them in one cycle."""
        return self.config.long

    @property
    def hits_late(self) -> bool:
        """Whether the L1 knows too late that a load misses to give an answer in its place."""
        return self.config.long

    @property
    def has_pick_stage(self) -> bool:
        """Whether the coalescer picks lanes in one cycle and puts the pass together in the next."""
        return self.config.long

    @property
    def hands_lines_on(self) -> bool:
        """Whether an atomic of a whole line may follow another one on its line without a gap. The
        long pipeline modifies the line too late to hand it on."""
        return self.config.line_atomics and not self.config.long

    def register(self, shape):
        """A register for a stream, at full throughput. In the long pipeline it also cuts the path
        of ``ready``."""
        return (StreamBuffer if self.config.long else StreamRegister)(shape)

    def cut(self, m, port, *, name):
        """A stream; in the long pipeline, the stream behind a register called ``name``.

        The register cuts all paths of the stream and halves its throughput.
        """
        if not self.config.long:
            return port
        m.submodules[name] = register = StreamRegister(port.payload.shape(), cuts_ready=True)
        wiring.connect(m, port, register.i)
        return register.o

    def buffer(self, m, port, *, name):
        """A stream; in the long pipeline, the stream behind a buffer called ``name``. So no later
        logic waits for the source."""
        if not self.config.long:
            return port
        m.submodules[name] = buffer = StreamBuffer(port.payload.shape())
        wiring.connect(m, port, buffer.i)
        return buffer.o
