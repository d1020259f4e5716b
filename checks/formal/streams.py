"""The contract of streams, in two rules.

First, an offered payload stays valid and unchanged until it is taken. Second, an offer never waits
for ``ready``.

Registers of the harness state the first rule. :class:`StreamPromise` states the rule for every
stream of a component, independent of the component's function. The harness assumes that incoming
streams keep the contract. All other inputs are free. The only invariants are those of queues: a
queue's level is the distance of its two pointers, so no waiting entry is overwritten.

The second rule is a property of the structure. :func:`waits_on_ready` follows the circuit backwards
from ``valid`` and ``payload``, through gates and combinational reads of memories, and looks for the
stream's own ``ready``.
"""

from amaranth.hdl import Assert, Assume, Cover, Fragment, Module, Mux, ResetSignal, Signal, Value
from amaranth.hdl._ast import Property, Switch
from amaranth.hdl._ir import PortDirection, build_netlist
from amaranth.hdl._mem import MemoryInstance
from amaranth.hdl._nir import Net
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from checks.formal.peek import Peek


__all__ = ["StreamPromise", "hold", "waits_on_ready"]


def hold(m, port, *, name, rule=Assert, peek=None):
    """State that a stream keeps its offer until it is taken.

    Parameters
    ----------
    m : Module
        The harness.
    port
        A stream: ``valid``, ``ready`` and ``payload``.
    name : str
        Name of the stream.
    rule : Assert or Assume
        Kind of the statement.
    peek : Peek, optional
        A component that checks the stream itself (``hw.streams.check_stream``). If given, the
        registers of this check are proved correct.
    """
    payload = Value.cast(port.payload)
    held, before = Signal(name=f"kept_{name}"), Signal(len(payload), name=f"was_{name}")
    m.d.sync += [held.eq(port.valid & ~port.ready), before.eq(payload)]
    m.d.comb += rule(~held | (port.valid & (payload == before)))
    if peek is not None:
        m.d.comb += [Assert(peek.signal(f"{name}_held") == held),
                     Assert(~held | (peek.signal(f"{name}_before") == before))]


def _streams(component):
    """Name, direction and port of each stream; those of an array have names such as ``i__0``."""
    for name, member in component.signature.members.items():
        if not member.is_signature or {*member.signature.members} != {"valid", "ready", "payload"}:
            continue
        if not member.dimensions:
            yield name, member.flow, getattr(component, name)
        else:
            for i, port in enumerate(getattr(component, name)):
                yield f"{name}__{i}", member.flow, port


def _queues(fragment, path=()):
    """Paths and depths of the ``SyncFIFO`` instances inside a fragment."""
    for inner, name, *_ in fragment.subfragments:
        if isinstance(inner, MemoryInstance):
            continue
        names = {signal.name for statements in inner.statements.values()
                 for signal in statements._lhs_signals()}
        if {"level", "produce", "consume", "r_rdy", "w_rdy"} <= names:
            yield (*path, name), inner.find_subfragment("storage")._data.depth
        yield from _queues(inner, (*path, name))


def _without_assertions(fragment):
    """Remove all assertions from a fragment and its subfragments."""
    def keep(statements):
        kept = type(statements)()
        for statement in statements:
            if isinstance(statement, Property):
                continue
            if isinstance(statement, Switch):
                statement = Switch(statement.test, [
                    (patterns, keep(inner), place) for patterns, inner, place in statement.cases],
                    src_loc=statement.src_loc)
            kept.append(statement)
        return kept
    if not isinstance(fragment, MemoryInstance):
        fragment.statements = {domain: keep(statements)
                               for domain, statements in fragment.statements.items()}
        for inner, *_ in fragment.subfragments:
            _without_assertions(inner)


class StreamPromise(wiring.Component):
    """A component whose streams keep their offers.

    Parameters
    ----------
    component : wiring.Component
        The component, without its own assertions: these need more than the contract of streams.
    """
    def __init__(self, component):
        self._component = component
        super().__init__(component.signature)

    def elaborate(self, platform):
        m = Module()
        dut = self._component
        peek = Peek(dut)
        _without_assertions(peek.fragment)
        m.submodules.dut = peek.fragment
        for path, member, port in self.signature.flatten(self):
            inner = dut
            for step in path:
                inner = inner[step] if isinstance(step, int) else getattr(inner, step)
            m.d.comb += inner.eq(port) if member.flow == In else port.eq(inner)
        m.d.comb += Assume(~ResetSignal())
        for name, flow, port in _streams(dut):
            refused = Signal(name=f"{name}_refused")
            hold(m, port, name=name, rule=Assume if flow == In else Assert)
            m.d.sync += refused.eq(port.valid & ~port.ready)
            m.d.comb += Cover(refused & port.valid & port.ready, f"{name} is refused, then taken")
        for path, depth in _queues(peek.fragment):
            level, produce, consume = (peek.signal(*path, name)
                                       for name in ("level", "produce", "consume"))
            end = consume + level
            m.d.comb += [Assert(level <= depth), Assert(consume < depth), Assert(produce < depth),
                         Assert(produce == Mux(end >= depth, end - depth, end))]
        return m


def waits_on_ready(component):
    """The offers of a component that depend on the stream's ready in the same cycle.

    Returns
    -------
    list of str
        ``"NAME.valid"`` and ``"NAME.payload"`` of outgoing streams that break the rule; empty if
        none does.
    """
    ports = {"__".join(map(str, path)):
             (Value.cast(value), PortDirection.Input if member.flow == In else PortDirection.Output)
             for path, member, value in component.signature.flatten(component)}
    netlist = build_netlist(Fragment.get(component, None), ports=ports)
    inputs, outputs = netlist.top.ports_i, netlist.top.ports_o

    def reaches(nets, goal):
        seen, open_ = set(), list(nets)
        while open_:
            net = open_.pop()
            if net == goal:
                return True
            if net in seen or net.is_const:
                continue
            seen.add(net)
            open_ += [source for source, _ in netlist.cells[net.cell].comb_edges_to(net.bit)]
        return False

    found = []
    for name, flow, _ in _streams(component):
        if flow == In:
            continue
        ready = Net.from_cell(0, inputs[f"{name}__ready"][0])
        found += [f"{name}.{part}" for part in ("valid", "payload")
                  if reaches(outputs[f"{name}__{part}"], ready)]
    return found
