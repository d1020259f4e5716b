"""Verilog of components, with a short loop for each memory whose initial contents are zero.

Amaranth writes the initial contents of a memory bit by bit, and Yosys writes them word by word. A
cache of megabytes would take gigabytes to emit, and Verilator and the C++ compiler would need
minutes to read the text. So Yosys does not get contents that are all zero. Each memory without
contents gets a loop in the Verilog instead.
"""

import contextlib
import contextvars
import gc
import re
import threading

from amaranth.back import rtlil, verilog as amaranth_verilog
from amaranth.hdl import _ast as ast, _nir as nir, _xfrm as xfrm


__all__ = ["elaborating", "verilog"]


_MEMORY = re.compile(r"(?m)^ *reg \[\d+:0\] (\S+) +\[(\d+):0\];\n")

_patching = threading.Lock()


@contextlib.contextmanager
def _without_zeros():
    """Make Amaranth leave out contents that are all zero, while the context is open.

    Yields a list that collects the memories left without contents. Amaranth has no public function
    for this, so this project locks Amaranth's version.
    """
    emit = rtlil.ModuleEmitter.emit_memory
    empty = []

    def emit_memory(self, index, cell):
        if any(cell.init):
            emit(self, index, cell)
        else:
            empty.append(cell)

    with _patching:
        rtlil.ModuleEmitter.emit_memory = emit_memory
        try:
            yield empty
        finally:
            rtlil.ModuleEmitter.emit_memory = emit


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


#: (class, name of a method, the method while a context of :func:`elaborating` is open).
_FASTER = ((nir.Value, "__new__", _value), (xfrm.ValueTransformer, "on_value", _transformed),
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
    scanning them again and again would take two fifths of the time. Amaranth does not check the
    type of each bit of each value, which would take a fifth, and computes the shape of each value
    once, instead of from all parts of the value whenever it is asked for, which would take another
    fifth.

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


def _convert(component, name):
    """The Verilog of one module and of its submodules."""
    with _without_zeros() as empty, elaborating():
        source = rtlil.convert(component, name=name, emit_src=False)
    # The public function takes a component, not RTLIL.
    modules = re.split(r"(?m)^(?=module )", amaranth_verilog._convert_rtlil_text(source))
    modules, loops = zip(*map(_fill, modules))
    assert sum(loops) == len(empty), \
        f"{len(empty)} memories begin as zeros, but {sum(loops)} have no contents"
    return "".join(modules)


def _fill(text):
    """A module's text with a loop for each memory without contents, and the number of loops."""
    filled = set(re.findall(r"(?m)^ +(\S+) *\[0\] = \d+'[dh]", text))
    loops = 0

    def declare(match):
        nonlocal loops
        memory, last = match.groups()
        if memory in filled:
            return match[0]
        index = f"fill_{loops}"
        loops += 1
        # The space ends an escaped name.
        return (f"{match[0]}  integer {index};\n"
                f"  initial for ({index} = 0; {index} <= {last}; {index} = {index} + 1)\n"
                f"    {memory} [{index}] = 0;\n")
    return _MEMORY.sub(declare, text), loops


def verilog(components) -> str:
    """The Verilog of several components. Equal components give equal text.

    Parameters
    ----------
    components : dict of str to wiring.Component
        The components by the name of their module.
    """
    return "\n".join(_convert(component, name) for name, component in components.items())
