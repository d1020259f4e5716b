"""From a component to RTLIL, which is what Yosys works on, and the memories that are in it.

Going through Verilog would cost names, and time on memories.
"""

import re

from amaranth.back import rtlil

from hw.emit import uncollected


__all__ = ["convert", "memories", "plain"]


#: Identifiers with an index in them, and no space before it: fields of arrays.
_INDEXED = re.compile(r"(?<=\s)\\[^\s\[]*\[\S*")


def _without_indexes(text):
    """``\\vid[3]`` as ``\\vid.3``: the fields of an array are signals beside it, and Yosys' ABC9
    flow gives bits of ``\\vid`` names of the first kind, too."""
    return _INDEXED.sub(lambda match: re.sub(r"\[(\d+)\]", r".\1", match[0]), text)


def convert(component, top) -> str:
    """The RTLIL of a component and of its black boxes.

    Parameters
    ----------
    component : wiring.Component
    top : str
        Name of its module.
    """
    modules = {top: component, **getattr(component, "black_boxes", {})}
    with uncollected():
        return "\n".join(_without_indexes(rtlil.convert(part, name=name, emit_src=False))
                         for name, part in modules.items())


def plain(name) -> str:
    """The name of a memory without the number that Amaranth tells it from a signal by."""
    return re.sub(r"(?<!\bU)\$\d+$", "", name)


def memories(text, top) -> set:
    """The memories of a design in RTLIL, as ``cell.cell.memory`` from the top down."""
    modules = {}
    for module in re.split(r"(?m)^(?=module )", text)[1:]:
        name = re.match(r"module \\(\S+)", module)[1]
        modules[name] = (re.findall(r"(?m)^  memory .*\\(\S+)$", module),
                         re.findall(r"(?m)^  cell \\(\S+) \\(\S+)$", module))

    def below(module, prefix):
        names, cells = modules.get(module, ((), ()))
        found = {prefix + plain(name) for name in names}
        for kind, cell in cells:
            found |= below(kind, f"{prefix}{cell}.")
        return found
    return below(top, "")
