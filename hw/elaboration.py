"""Quick elaboration of components.

Amaranth checks each bit of each value, asks for the shape of a value again and again, and leaves
netlists to the garbage collector. While a context of :func:`elaborating` is open, it does so once
or not at all. Results are the same. Amaranth has no options for this, so this project locks
Amaranth's version.
"""

import contextlib
import contextvars
import gc
import threading

from amaranth.hdl import _ast as ast, _dsl as dsl, _ir as ir, _nir as nir, _xfrm as xfrm


__all__ = ["elaborating"]


def _value(cls, nets=()):
    """``_nir.Value.__new__`` without a check of each bit."""
    return tuple.__new__(cls, (nets,) if isinstance(nets, nir.Net) else nets)


def _once(shape):
    """A method ``shape`` that is computed once for each value."""
    def once(self):
        try:
            return self._graphloom_shape
        except AttributeError:
            self._graphloom_shape = shape(self)
            return self._graphloom_shape
    return once


#: Whether values are shared (:func:`elaborating`).
_sharing = contextvars.ContextVar("sharing", default=False)

_visited = xfrm.ValueVisitor.on_value


def _parts(value):
    """The values in a value; None if a transformer may change the value itself."""
    kind = type(value)
    if kind is ast.Operator:
        return value.operands
    if kind is ast.Slice:
        return (value.value,)
    if kind is ast.Concat:
        return value.parts
    if kind is ast.SwitchValue:
        return (value.test, *(case for _, case in value.cases))
    if kind is ast.Part:
        return (value.value, value.offset)
    return () if kind in (ast.Const, ast.Signal, ast.AnyValue, ast.Initial) else None


def _stays(value):
    """Whether transformers leave a value as it is: it has no clock and no reset of a domain."""
    try:
        return value._graphloom_stays
    except AttributeError:
        parts = _parts(value)
        value._graphloom_stays = parts is not None and all(map(_stays, parts))
        return value._graphloom_stays


def _transformed(self, value):
    """``ValueTransformer.on_value``."""
    return value if _sharing.get() and _stays(value) else _visited(self, value)


_check = dsl._check_rhs


def _checked(value):
    """``_dsl._check_rhs``, once for each value."""
    if not _stays(value):
        _check(value)


_collect = ir.Design._collect_used_signals_value


def _collected(self, fragment, value):
    """``Design._collect_used_signals_value``, once for each value of a fragment. The fragment keeps
    its values, so no two of them have the same id."""
    seen = vars(self.fragments[fragment]).setdefault("_graphloom_seen", set())
    if id(value) in seen:
        return
    seen.add(id(value))
    parts = _parts(value)
    if parts:
        for part in parts:
            _collected(self, fragment, part)
    elif type(value) is ast.Signal:
        self._use_signal(fragment, value)
    else:
        _collect(self, fragment, value)


def _key(signal):
    """The key of a signal in a ``SignalDict``, made once."""
    try:
        return signal._graphloom_key
    except AttributeError:
        signal._graphloom_key = ast.SignalKey(signal)
        return signal._graphloom_key


def _add_value_cell(self, width, cell):
    """``Netlist.add_value_cell``, without a check of each bit."""
    first = self.add_cell(cell) << 16
    return tuple.__new__(nir.Value, map(nir.Net, range(first, first + width)))


def _emit_netlist(netlist, design, *, all_undef_to_ff=False):
    """``_ir._emit_netlist``. Afterwards the emitter, which is in a cycle, no longer holds the
    netlist, whose millions of bits would wait for the garbage collector."""
    emitter = ir.NetlistEmitter(netlist, design, all_undef_to_ff=all_undef_to_ff)
    emitter.emit_fragment(design.fragment, None)
    vars(emitter).clear()


_find_cycle = nir.Netlist.check_comb_cycles

#: Operators whose bits do not all read the same bits.
_BITWISE = ("~", "&", "|", "^", "m")


def _check_cycles(self):
    """``Netlist.check_comb_cycles``. All bits of a sum, a comparison or a row of a memory read the
    same bits, so such a cell counts as one bit. If there is a cycle, Amaranth's search names it."""
    cells, connections = self.cells, self.connections
    alike = {index for index, cell in enumerate(cells)
             if type(cell) in (nir.Part, nir.Matches, nir.AsyncReadPort)
             or (type(cell) is nir.Operator and cell.operator not in _BITWISE)}

    def sources(net):
        if net < 0:
            yield connections[net]
        elif net > 1:
            for source, _ in cells[net >> 16].comb_edges_to(net & 0xffff):
                yield source & ~0xffff if source >> 16 in alike else source

    starts = [net for index, cell in enumerate(cells) for net in cell.output_nets(index)]
    starts += [net for value in self.signals.values() for net in value]
    done, busy = set(), set()
    for start in starts:
        if start in done or (start >> 16 in alike and start & 0xffff):
            continue
        busy.add(start)
        path = [(start, sources(start))]
        while path:
            net, rest = path[-1]
            for source in rest:
                if source in busy:
                    return _find_cycle(self)
                if source not in done:
                    busy.add(source)
                    path.append((source, sources(source)))
                    break
            else:
                path.pop()
                busy.remove(net)
                done.add(net)


def _resolved(self, value):
    """``Netlist.resolve_value``, without a call for each bit."""
    if min(value, default=0) >= 0:
        return value
    connections, nets = self.connections, []
    for net in value:
        while net < 0:
            net = connections[net]
        nets.append(net)
    return tuple.__new__(nir.Value, nets)


#: (class, name of a method, the method while a context of :func:`elaborating` is open).
_FASTER = ((nir.Value, "__new__", _value), (xfrm.ValueTransformer, "on_value", _transformed),
           (dsl, "_check_rhs", _checked), (ir.Design, "_collect_used_signals_value", _collected),
           (ast.SignalDict, "_map_key", staticmethod(_key)),
           (ir, "_emit_netlist", _emit_netlist), (nir.Netlist, "add_value_cell", _add_value_cell),
           (nir.Netlist, "check_comb_cycles", _check_cycles),
           (nir.Netlist, "resolve_value", _resolved),
           *((kind, "shape", _once(kind.shape))
             for kind in (ast.Concat, ast.Operator, ast.Signal, ast.Slice, ast.SwitchValue)))
_USUAL = tuple((kind, name, getattr(kind, name)) for kind, name, _ in _FASTER)

#: How many contexts of :func:`elaborating` are open.
_elaborating = 0
_counting = threading.Lock()


def _use(methods):
    for kind, name, method in methods:
        setattr(kind, name, method)


@contextlib.contextmanager
def elaborating(*, share=False):
    """Make elaboration faster while the context is open.

    The garbage collector is off: the millions of objects of a design all live until the end, and
    scanning them again and again would take two fifths of the time. A fifth each is saved because
    Amaranth does not check the type of each bit of each value, and computes the shape of each value
    once instead of from all parts of the value whenever it is asked for. Another fifth of the rest
    is saved because a netlist's bits do not wait for the garbage collector, values are checked and
    searched for signals once, and a signal has one key.

    With `share`, Amaranth does not copy the values that it finds in statements. So a value in two
    statements stays one, and the netlist has its cells once. This is for netlists: Verilog stays as
    it is without the context.
    """
    global _elaborating
    was, before = gc.isenabled(), _sharing.set(share)
    gc.disable()
    with _counting:
        _elaborating += 1
        _use(_FASTER)
    try:
        yield
    finally:
        _sharing.reset(before)
        with _counting:
            _elaborating -= 1
            if not _elaborating:
                _use(_USUAL)
        if was:
            gc.enable()
