"""Verilog of components, with a short loop for each memory whose initial contents are zero.

Amaranth writes the initial contents of a memory bit by bit, and Yosys writes them word by word. A
cache of megabytes would take gigabytes to emit, and Verilator and the C++ compiler would need
minutes to read the text. So Yosys does not get contents that are all zero. Each memory without
contents gets a loop in the Verilog instead.
"""

import contextlib
import re
import threading

from amaranth.back import rtlil, verilog as amaranth_verilog

from hw.elaboration import elaborating


__all__ = ["verilog"]


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
