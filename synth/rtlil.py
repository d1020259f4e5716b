"""Conversion of a component to RTLIL, the language of Yosys, and the memories in RTLIL.

A conversion through Verilog would lose names, and take more time on memories.
"""

import re
import threading

from amaranth.back import rtlil

from hw.elaboration import elaborating


__all__ = ["convert", "memories", "plain"]


#: Held while a design is elaborated. Two designs at the same time would take as long as one after
#: the other, and the memory of both.
_ELABORATING = threading.Lock()

#: Identifiers with an index in them, and no space before it: fields of arrays.
_INDEXED = re.compile(r"(?<=\s)\\[^\s\[]*\[\S*")


def _first(pattern, text) -> str:
    """The first group of a pattern that is in ``text``."""
    match = re.search(pattern, text)
    assert match is not None, pattern
    return match[1]


def _without_indexes(text):
    r"""``\vid[3]`` as ``\vid.3``: the fields of an array are signals beside it, and Yosys' ABC9
    flow gives bits of ``\\vid`` names of the first kind, too."""
    return _INDEXED.sub(lambda match: re.sub(r"\[(\d+)\]", r".\1", match[0]), text)


def _without_checks(module):
    """A module in which the attribute ``no_rw_check`` of memories takes effect.

    Yosys uses the attribute when it makes a synchronous read port from an asynchronous port and a
    register. Amaranth's ports are synchronous already. So this function marks that the data which
    they read from a word being written do not matter.
    """
    free = set(re.findall(r"(?m)^  attribute \\no_rw_check 1\n(?:  attribute .*\n)*"
                          r"  memory .*\\(\S+)$", module))

    def port(match):
        name = _first(r'parameter \\MEMID "\\\\(\S+)"', match[0])
        transparent = re.search(r"parameter \\TRANSPARENCY_MASK (\d+)'([01]+)", match[0])
        if name not in free or transparent is None or "CLK_ENABLE 1" not in match[0]:
            return match[0]
        free_of = transparent[2].translate(str.maketrans("01", "10"))
        return re.sub(r"(parameter \\COLLISION_X_MASK).*",
                      rf"\1 {transparent[1]}'{free_of}", match[0])
    return re.sub(r"(?m)^  cell \$memrd_v2 .*\n(?:    .*\n)*", port, module)


def convert(component, top) -> str:
    """The RTLIL of a component and of its black boxes.

    Parameters
    ----------
    component : wiring.Component
    top : str
        Name of its module.
    """
    modules = {top: component, **getattr(component, "black_boxes", {})}
    with _ELABORATING, elaborating():
        text = "\n".join(_without_indexes(rtlil.convert(part, name=name, emit_src=False))
                         for name, part in modules.items())
    return "".join(map(_without_checks, _modules(text)))


def _modules(text):
    return re.split(r"(?m)^(?=module )", text)


def plain(name) -> str:
    """The name of a memory, without the number by which Amaranth tells it from a signal."""
    return re.sub(r"(?<!\bU)\$\d+$", "", name)


def memories(text, top) -> set:
    """The memories of a design in RTLIL, as ``cell.cell.memory`` from the top down."""
    modules = {}
    for module in _modules(text)[1:]:
        name = _first(r"module \\(\S+)", module)
        modules[name] = (re.findall(r"(?m)^  memory .*\\(\S+)$", module),
                         re.findall(r"(?m)^  cell \\(\S+) \\(\S+)$", module))

    def below(module, prefix):
        names, cells = modules.get(module, ((), ()))
        found = {prefix + plain(name) for name in names}
        for kind, cell in cells:
            found |= below(kind, f"{prefix}{cell}.")
        return found
    return below(top, "")
