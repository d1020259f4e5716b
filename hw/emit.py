"""Verilog of components, with memories that begin as zeros written in a line each.

Amaranth gives every memory its first contents bit by bit, and Yosys writes them word by word: a
cache of megabytes takes gigabytes to emit, and Verilator and the C++ compiler minutes to read. So
contents that are all zero are not given to Yosys, and each memory that then has none gets a loop.
"""

import contextlib
import gc
import re
import threading

from amaranth.back import rtlil, verilog as amaranth_verilog


__all__ = ["uncollected", "verilog"]


_MEMORY = re.compile(r"(?m)^ *reg \[\d+:0\] (\S+) +\[(\d+):0\];\n")

_patching = threading.Lock()


@contextlib.contextmanager
def _without_zeros():
    """Amaranth leaves out contents that are all zero. Yields a list of the memories that have
    none, as long as the context is open.

    Nothing public does that; the version of Amaranth is locked.
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


@contextlib.contextmanager
def uncollected():
    """No garbage is collected meanwhile. The millions of objects of a design all live until its end,
    and to look through them again and again would take two fifths of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _convert(component, name):
    """The Verilog of one module and of what is in it."""
    with _without_zeros() as empty, uncollected():
        source = rtlil.convert(component, name=name, emit_src=False)
    # The public function takes a component, not RTLIL.
    modules = re.split(r"(?m)^(?=module )", amaranth_verilog._convert_rtlil_text(source))
    modules, loops = zip(*map(_fill, modules))
    assert sum(loops) == len(empty), \
        f"{len(empty)} memories begin as zeros, but {sum(loops)} have no contents"
    return "".join(modules)


def _fill(text):
    """A module's text with a loop for each memory without contents, and the number of them."""
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
    """The Verilog of several components. The same components, the same text.

    Parameters
    ----------
    components : dict of str to wiring.Component
        By the name of their module.
    """
    return "\n".join(_convert(component, name) for name, component in components.items())
