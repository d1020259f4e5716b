"""The submodules of a component and the ways between them, read from its elaborated RTL.

A block diagram asks here whether what it shows is so.
"""

from typing import Any

from amaranth.hdl import ClockDomain, Fragment
from amaranth.hdl._ast import Assign, SignalDict, SignalSet, Switch
from amaranth.hdl._mem import MemoryInstance
from amaranth.hdl._xfrm import DomainLowerer


__all__ = ["ModuleGraph", "signal"]


class ModuleGraph:
    """The RTL of a component, one level of its hierarchy deep.

    A *node* is the name of a submodule, of a port, or of a signal of the component itself. A port
    that is a stream or another interface is named by its first part.

    Parameters
    ----------
    component : wiring.Component
        It is elaborated, so it can be used for nothing else afterwards.

    Attributes
    ----------
    submodules : tuple of str
        In the order in which the component adds them.
    """
    def __init__(self, component):
        fragment = Fragment.get(component, None)
        fragment._propagate_domains(ClockDomain)
        fragment = DomainLowerer()(fragment)
        self._drives, self._uses = {}, {}
        for part, name, _ in fragment.subfragments:
            self._drives[name], self._uses[name] = _reach(part)
        self.submodules = tuple(self._drives)
        self._next = SignalDict()
        for target, source in _assignments(fragment):
            self._next.setdefault(source, SignalSet()).add(target)
        signals: Any = SignalSet()
        for source, targets in self._next.items():
            signals |= targets
            signals.add(source)
        for signal in signals:
            if signal.name not in self._drives:
                for found in (self._drives, self._uses):
                    found.setdefault(signal.name, SignalSet()).add(signal)
        for path, _, value in component.signature.flatten(component):
            ends = SignalSet(value.as_value()._rhs_signals() if hasattr(value, "as_value")
                             else value._rhs_signals())
            for found in (self._drives, self._uses):
                found[f"port {path[0]}"] = found.get(f"port {path[0]}", SignalSet()) | ends

    def __contains__(self, node):
        return node in self._drives

    def leads(self, source, sink, without=()) -> bool:
        """Whether a value goes from one node to another through the component's own logic.

        Parameters
        ----------
        source, sink : str
            Nodes.
        without : iterable of str
            Nodes that the way must not go through. ``ready`` of a stream is no way.
        """
        barred = SignalSet()
        for name in without:
            if name not in (source, sink):
                barred |= self._drives[name]
        ends = self._uses[sink]
        seen = SignalSet()
        left = [signal for signal in self._drives[source] if not signal.name.endswith("ready")]
        while left:
            signal = left.pop()
            if signal in seen:
                continue
            seen.add(signal)
            if signal in ends:
                return True
            left.extend(target for target in self._next.get(signal, ())
                        if target not in barred and not target.name.endswith("ready"))
        return False


def _assignments(fragment):
    """Pairs of a signal that is assigned, and a signal that the value depends on."""
    for statements in fragment.statements.values():
        yield from _of_statements(statements, SignalSet())


def _of_statements(statements, conditions):
    for statement in statements:
        if isinstance(statement, Assign):
            for target in statement._lhs_signals():
                for source in statement._rhs_signals() | conditions:
                    yield target, source
        elif isinstance(statement, Switch):
            inner = conditions | statement.test._rhs_signals()
            for _, body, _ in statement.cases:
                yield from _of_statements(body, inner)


def _reach(fragment):
    """The signals that a fragment and its parts drive, and those that they use."""
    drives, uses = SignalSet(), SignalSet()
    for target, source in _assignments(fragment):
        drives.add(target)
        uses.add(source)
    if isinstance(fragment, MemoryInstance):
        for port in fragment._read_ports:
            drives |= port._data._lhs_signals()
            uses |= port._addr._rhs_signals() | port._en._rhs_signals()
        for port in fragment._write_ports:
            uses |= (port._addr._rhs_signals() | port._data._rhs_signals()
                     | port._en._rhs_signals())
    for part, _, _ in fragment.subfragments:
        inner = _reach(part)
        drives |= inner[0]
        uses |= inner[1]
    return drives, uses


def signal(fragment, name):
    """The signal of that name that an elaborated component assigns. Raises KeyError."""
    for target, _ in _assignments(fragment):
        if target.name == name:
            return target
    raise KeyError(name)
