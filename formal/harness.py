"""What the harnesses of units have in common."""

from amaranth.lib import wiring

from formal.peek import Peek


__all__ = ["Harness"]


class Harness(wiring.Component):
    """A unit, and what it has to do, as assertions about it.

    A harness's ports are the inputs that are left free, and what is worth seeing in a
    counterexample.

    Parameters
    ----------
    config : HardwareConfig
        A small shape.
    """
    def __init__(self, config):
        self._config = config
        super().__init__(self._ports(config))

    def _ports(self, config) -> dict:
        """Its members, by name."""
        raise NotImplementedError

    @staticmethod
    def _place(m, dut) -> Peek:
        """Put the unit into the harness, open to be looked into."""
        peek = Peek(dut)
        m.submodules.dut = peek.fragment
        return peek
