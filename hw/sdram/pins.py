"""The pins of an SDRAM as a controller sees them, and the SDRAM's commands."""

from amaranth.lib import enum
from amaranth.lib.wiring import In, Out, Signature


__all__ = ["ALL_BANKS", "Command", "Pins"]


#: The address bit with which a PRECHARGE closes all banks.
ALL_BANKS = 1 << 10


class Command(enum.Enum, shape=3):
    """A command: ``ras`` in bit 0, ``cas`` in bit 1, ``we`` in bit 2; set where it is asserted."""
    NOP       = 0b000
    WRITE     = 0b110
    READ      = 0b010
    ACTIVATE  = 0b001
    PRECHARGE = 0b101
    REFRESH   = 0b011
    LOAD_MODE = 0b111


#: An SDRAM's pins without the clock. ``cs``, ``ras``, ``cas`` and ``we`` are high when asserted.
#: Logic outside inverts these four for active-low pins. ``dqm`` is high for bytes that must not be
#: written. ``clk_en`` is high from the first cycle on and across resets. ``dq_oe`` drives ``dq_o``
#: onto the data pins. ``dq_i`` is the sampled level of the data pins.
Pins = Signature({
    "clk_en": Out(1),
    "cs": Out(1), "ras": Out(1), "cas": Out(1), "we": Out(1),
    "ba": Out(2), "a": Out(13), "dqm": Out(2, init=3),
    "dq_o": Out(16), "dq_oe": Out(1), "dq_i": In(16),
})
