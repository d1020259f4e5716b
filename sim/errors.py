"""What can go wrong in a simulation."""

from hw.isa import CAUSE_DOCS, Cause


__all__ = ["BuildError", "SimulationError", "device_error"]


#: Causes to which ERROR_ADDRESS belongs.
_WITH_ADDRESS = {Cause.FETCH_ACCESS, Cause.LOAD_MISALIGNED, Cause.LOAD_ACCESS,
                 Cause.STORE_MISALIGNED, Cause.STORE_ACCESS}


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
        The counters as they stood, where they could still be read; empty otherwise.
    """

    def __init__(self, kind, message, counters=None):
        super().__init__(message)
        self.kind = kind
        self.counters = counters or {}


def device_error(cause, pc, address, warp) -> str:
    """What the error registers of a GPU say, in words."""
    text = f"unknown cause {cause}"
    if cause in list(Cause):
        text = CAUSE_DOCS[Cause(cause)]
    if cause == Cause.ILLEGAL:
        text += f" (0x{address:08x})"
    elif cause in _WITH_ADDRESS:
        text += f" (address 0x{address:08x})"
    return f"core {warp >> 16}, warp {warp & 0xFFFF} stopped at PC 0x{pc:08x}: {text}"
