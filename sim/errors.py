"""Errors of a simulation."""

from typing import NamedTuple

from hw.isa import CAUSE_DOCS, Cause


__all__ = ["BuildError", "Fault", "SimulationError", "ToolError"]


#: Causes of loads, stores and atomics, and other causes that fail in a lane.
_OF_ACCESSES = {Cause.LOAD_MISALIGNED, Cause.LOAD_ACCESS, Cause.STORE_MISALIGNED,
                Cause.STORE_ACCESS}
_OF_LANES = _OF_ACCESSES | {Cause.LANE_STACK}

#: The opcode of a jump to an address in a register.
_JALR = 0x67

#: Causes to which ERROR_ADDRESS belongs.
_WITH_ADDRESS = _OF_ACCESSES | {Cause.FETCH_ACCESS}


class ToolError(Exception):
    """A needed program or folder is missing or does not work. The message is one line, which says
    what to do."""


class BuildError(Exception):
    """Verilator, the compiler or the linker refused. The message holds the end of its output."""


class SimulationError(Exception):
    """A launch that did not run to its end.

    Parameters
    ----------
    kind : str
        ``"device"``: the core stopped with an error. ``"limit"``: the cycle limit was reached.
        ``"memory"``: a memory request outside the memory. ``"assertion"``: an assertion of the
        RTL failed, or the RTL broke the rules of the memory port: a bug of the hardware.
        ``"wave"``: the wave file could not be written.
    message : str
        One line that says what happened, and where.
    counters : dict
        The last values of the counters, if they could still be read; else empty.
    fault : Fault or None
        Why and where a core stopped, for the kind ``"device"``.
    """

    def __init__(self, kind: str, message: str, counters: dict[str, int] | None = None,
                 fault: "Fault | None" = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.counters = counters or {}
        self.fault = fault


def _lanes(mask: int) -> str:
    """The lanes of a bit mask that differ, in words."""
    lanes = [str(lane) for lane in range(mask.bit_length()) if mask >> lane & 1]
    return f"lane {lanes[0]} differs" if len(lanes) == 1 else f"lanes {', '.join(lanes)} differ"


class Fault(NamedTuple):
    """Why and where a core stopped, from the error registers (:mod:`hw.registers`).

    ``cause`` is a :class:`hw.isa.Cause`, or a number if the cause is unknown. ``lane`` is None
    unless a load, store or atomic failed, or a stack. ``address`` is a mask of lanes for the
    checks of lanes.
    """
    cause: int
    core: int
    warp: int
    lane: int | None
    pc: int
    address: int

    @classmethod
    def read(cls, cause: int, pc: int, address: int, where: int) -> "Fault":
        """From the words of the error registers."""
        lane = where >> 8 & 0xFF if cause in _OF_LANES else None
        return cls(Cause(cause) if cause in list(Cause) else cause, where >> 16, where & 0xFF, lane,
                   pc, address)

    def describe(self, function: str = "", word: int | None = None) -> str:
        """One line; `function` is the place of the PC in the program, if its names are known, and
        `word` the instruction there."""
        text = (CAUSE_DOCS[Cause(self.cause)] if self.cause in list(Cause)
                else f"unknown cause {self.cause}")
        if self.cause == Cause.ILLEGAL:
            text += f" (0x{self.address:08x})"
        elif self.cause in _WITH_ADDRESS:
            text += f" (address 0x{self.address:08x})"
        elif self.cause == Cause.LANES_DISAGREE:
            what = "branch" if word is None or word & 0x7F != _JALR else "call by a pointer" \
                if word >> 7 & 31 else "return"
            text = (f"lanes of warp {self.warp} disagree at this {what}: "
                    f"{_lanes(self.address)} from the lowest active lane, which would decide for "
                    "all")
        lane = "" if self.lane is None else f", lane {self.lane}"
        place = f", in {function}" if function else ""
        return (f"core {self.core}, warp {self.warp}{lane} stopped at PC 0x{self.pc:08x}{place}: "
                f"{text}")
