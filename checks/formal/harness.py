"""Common base of the harnesses of units."""

from amaranth.lib import wiring

from checks.formal.peek import Peek


__all__ = ["Harness"]


class Harness(wiring.Component):
    """A unit, with its promise as assertions.

    The ports of a harness are the free inputs, and outputs that help to read a counterexample.

    Parameters
    ----------
    config : HardwareConfig
        A small shape.
    """
    def __init__(self, config):
        self._config = config
        super().__init__(self._ports(config))

    def _ports(self, config) -> dict:
        """The harness's members by name."""
        raise NotImplementedError

    @staticmethod
    def _place(m, dut) -> Peek:
        """Add the unit to the harness; the result gives access to the unit's registers."""
        peek = Peek(dut)
        m.submodules.dut = peek.fragment
        return peek
