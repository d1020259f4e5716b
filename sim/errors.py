"""What can go wrong in a simulation."""

__all__ = ["SimulationError", "BuildError"]


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
    message : str
        One line that says what happened, and where.
    counters : dict
        The counters as they stood, where they could still be read; empty otherwise.
    """

    def __init__(self, kind, message, counters=None):
        super().__init__(message)
        self.kind = kind
        self.counters = counters or {}
