"""Verilog of components, with a short loop for each memory whose initial contents are zero.

Amaranth writes the initial contents of a memory bit by bit, and Yosys writes them word by word. A
cache of megabytes would take gigabytes to emit, and Verilator and the C++ compiler would need
minutes to read the text. So Yosys does not get contents that are all zero. Each memory without
contents gets a loop in the Verilog instead.
"""

import contextlib
import re
import threading

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil, verilog as amaranth_verilog

from hw.elaboration import elaborating


__all__ = ["verilog"]


_MEMORY = re.compile(r"(?m)^ *reg \[\d+:0\] (\S+) +\[(\d+):0\];\n")

#: A cell of an assertion, in RTLIL, with its attributes.
_CHECK = re.compile(r"(?m)^(?:  attribute .*\n)*  cell \$(?:check|print) .*\n(?:    .*\n)*  end\n")

#: A process that gives a part of a signal a constant. Nothing that it reads ever changes, so in
#: Verilog it never runs.
_CONSTANT = re.compile(r"(?m)^(  always @\*\n    .* = (\d+)'[bdh]\w+);$")

#: Above the modules of a text that another design takes. Yosys writes ranges of [-1:0] for what has
#: no bits, cases without a default, comparisons that are always true, and operands of other widths
#: than the result: Verilator's lint warns of each. WIDTH and LITENDIAN are the names that old and
#: new versions know.
_PRAGMAS = """\
/* verilator lint_off WIDTH */
/* verilator lint_off LITENDIAN */
/* verilator lint_off CASEINCOMPLETE */
/* verilator lint_off CMPCONST */
/* verilator lint_off UNSIGNED */

"""

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


def _text(source, assertions):
    """The Verilog of RTLIL."""
    if assertions:
        # The public function takes a component, not RTLIL.
        return amaranth_verilog._convert_rtlil_text(source)
    # As that function does, without assertions and what only they need.
    source = _CHECK.sub("", source)
    commands = (f"read_rtlil <<rtlil\n{source}\nrtlil", "proc -nomux -norom", "memory_collect",
                "opt_clean", "write_verilog -norename")
    return find_yosys(lambda version: version >= (0, 40)).run(
        ["-q", "-"], "\n".join(commands), ignore_warnings=True)


def _convert(component, name, assertions):
    """The Verilog of one module and of its submodules."""
    with _without_zeros() as empty, elaborating():
        source = rtlil.convert(component, name=name, emit_src=False)
    modules = re.split(r"(?m)^(?=module )", _text(source, assertions))
    if not assertions:
        modules = map(_with_running_constants, modules)
    modules, loops = zip(*map(_fill, modules))
    assert sum(loops) == len(empty), \
        f"{len(empty)} memories begin as zeros, but {sum(loops)} have no contents"
    return "".join(modules)


def _with_running_constants(text):
    """A module's text in which processes with constants run at the beginning: they read a wire."""
    text, count = _CONSTANT.subn(r"\1 | {\2{constant_0}};", text)
    return re.sub(r"(?m)\);$", ");\n  wire constant_0 = 1'b0;", text, count=1) if count else text


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


def verilog(components, *, assertions=True, header="") -> str:
    """The Verilog of several components. Equal components give equal text.

    Parameters
    ----------
    components : dict of str to wiring.Component
        The components by the name of their module.
    assertions : bool
        Whether the text has the assertions of the components, which make it SystemVerilog. Without
        them it is Verilog-2001, of which Verilator's lint has nothing to say.
    header : str
        Lines of text for a comment at the beginning.
    """
    modules = "\n".join(_convert(component, name, assertions)
                        for name, component in components.items())
    lines = "".join(f"// {line}".rstrip() + "\n" for line in header.splitlines())
    return lines + ("" if assertions else _PRAGMAS) + modules
