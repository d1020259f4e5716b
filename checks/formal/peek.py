"""Access to the registers and memories inside a component, for the invariants of a proof."""

from amaranth.hdl import Const, Fragment, Signal
from amaranth.hdl._mem import MemoryInstance


__all__ = ["Peek"]


class Peek:
    """A component whose internal signals are accessible.

    Parameters
    ----------
    component : wiring.Component
        The component. Peek elaborates it; the design must contain :attr:`fragment` instead.

    Attributes
    ----------
    fragment : Fragment
        The elaborated component.
    """
    def __init__(self, component):
        self.fragment = Fragment.get(component, None)

    def _find(self, path):
        fragment = self.fragment
        for name in path:
            fragment = fragment.find_subfragment(name)
        return fragment

    def signal(self, *path) -> Signal:
        """A signal by the names of its submodules and the signal's own name."""
        *path, name = path
        fragment = self._find(path)
        found = {id(signal): signal for statements in fragment.statements.values()
                 for signal in statements._lhs_signals() if signal.name == name}
        if len(found) != 1:
            raise NameError(f"{len(found)} signals {name!r} are driven in {path}")
        return next(iter(found.values()))

    def memory(self, *path) -> list:
        """The rows of a memory in this cycle."""
        memory = self._memory(path)
        rows = []
        for address in range(memory._data.depth):
            row = Signal(len(memory._write_ports[0]._data), name=f"{path[-1]}_{address}")
            memory.read_port(domain="comb", addr=Const(address, len(memory._write_ports[0]._addr)),
                             data=row, en=Const(1), transparent_for=())
            rows.append(row)
        return rows

    def output(self, *path, number=0):
        """The output register of a memory: the data of a read port, by default of the first."""
        return self._memory(path)._read_ports[number]._data

    def _memory(self, path):
        memory = self._find(path)
        assert isinstance(memory, MemoryInstance), f"{path} is not a memory"
        return memory

    def states(self, *path):
        """The state register of a submodule's FSM, and the numbers of the states."""
        register = self.signal(*path, "fsm_state")
        numbers = {}
        for number in range(1 << len(register)):
            try:
                numbers[register.decoder(number).partition("/")[0]] = number
            except KeyError:
                break
        return register, numbers
