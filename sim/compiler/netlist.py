"""Netlists of hardware for the compiler: nodes with values of bits, from Amaranth's netlists.

Amaranth elaborates a design into cells whose values are tuples of single bits. This module turns
cells into :class:`HardwareNode` objects and joins neighbouring bits, so a value is a short tuple of
:class:`Slice` objects. A module that a design contains as an instance can be put in its place
(``instances``), as Verilog does with the modules of other files.

Amaranth has no public form of its netlists, so this project locks Amaranth's version.
"""

import dataclasses
from typing import NamedTuple

from amaranth.hdl import Fragment
from amaranth.hdl import _ir as ir
from amaranth.hdl import _nir as nir
from amaranth.hdl._ast import Value
from amaranth.lib.wiring import In

from hw.elaboration import elaborating


__all__ = ["BITWISE", "HardwareMemory", "HardwareNetlist", "HardwareNode", "Slice", "constant",
           "cut", "joined", "netlist", "width_of"]


#: Operators whose bits depend on the same bits of their arguments, besides conditions.
BITWISE = ("&", "|", "^", "~", "m", "choose")


class Slice(NamedTuple):
    """Bits of a node, from ``low`` on. A constant has the node -1, and its value in ``low``."""
    node: int
    low: int
    width: int


@dataclasses.dataclass(slots=True)
class HardwareNode:
    """A value of a design."""
    #: ``input``; ``register``; ``read`` (a register that takes a row of a memory); ``row`` (a row
    #: of a memory, combinational); ``write``, ``check`` (without a value); an operator of
    #: Amaranth's netlists; ``part``, ``matches``, ``lowest`` (the lowest bit that is set),
    #: ``choose`` (a default with conditional assignments); ``array``, ``equals``, ``element``,
    #: ``selected`` (:mod:`sim.compiler.arrays`).
    kind: str
    width: int  #: Bits of the value.
    args: tuple  #: Values that the node reads, each a tuple of slices.
    #: Further facts, by kind: the initial value of a register; the memory of a port; the pieces
    #: ``(start, width)`` of the assignments of a ``choose``, whose arguments are the default and
    #: then a condition and a value each; the bits of an element of an array.
    extra: object = None
    place: str = ""  #: File and line in the source, for messages.
    module: int = 0  #: The module of the design that the node belongs to.


@dataclasses.dataclass
class HardwareMemory:
    """A memory: its size in bits, its initial rows, and its nodes."""
    width: int
    depth: int
    rows: tuple
    name: str
    reads: list = dataclasses.field(default_factory=list)
    writes: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class HardwareNetlist:
    """A design: nodes by number, memories, inputs (name to node) and outputs (name to value).

    ``names`` are the values of signals, and the numbers of memories, by their path: the names of
    the instances from the top on, and the name in the last of them. An instance of a module from
    elsewhere has the name of the module.
    """
    nodes: dict
    memories: list
    inputs: dict
    outputs: dict
    names: dict = dataclasses.field(default_factory=dict)
    free: int = 0               # no node has had this number, or a higher one

    def add(self, node: HardwareNode) -> tuple:
        """Adds a node, and returns its value."""
        self.nodes[self.free] = node
        self.free += 1
        return (Slice(self.free - 1, 0, node.width),)


def width_of(value) -> int:
    """Bits of a value."""
    return sum(piece.width for piece in value)


def constant(number, width) -> tuple:
    """A constant value."""
    return (Slice(-1, number & ((1 << width) - 1), width),) if width else ()


def joined(pieces) -> tuple:
    """A value of slices, with neighbours made one."""
    result = []
    for piece in pieces:
        if not piece.width:
            continue
        if result:
            last = result[-1]
            if last.node == piece.node == -1:
                result[-1] = Slice(-1, last.low | piece.low << last.width,
                                   last.width + piece.width)
                continue
            if last.node == piece.node and last.low + last.width == piece.low:
                result[-1] = Slice(last.node, last.low, last.width + piece.width)
                continue
        result.append(piece)
    return tuple(result)


def cut(value, low, width) -> tuple:
    """Bits of a value, from ``low`` on."""
    pieces, at = [], 0
    for piece in value:
        first, last = max(low, at), min(low + width, at + piece.width)
        if first < last:
            skip = first - at
            pieces.append(Slice(-1, (piece.low >> skip) & ((1 << last - first) - 1), last - first)
                          if piece.node == -1 else
                          Slice(piece.node, piece.low + skip, last - first))
        at += piece.width
    return joined(pieces)


def netlist(component, instances=None) -> HardwareNetlist:
    """The netlist of a component.

    Parameters
    ----------
    component : amaranth.lib.wiring.Component
        Its ports become inputs and outputs, with names joined by two underscores.
    instances : dict or None
        Component of each module that the design contains as an instance.

    Raises
    ------
    NotImplementedError
        For hardware that the compiler does not have: a second clock, an asynchronous reset, an
        unknown instance.
    """
    result = HardwareNetlist({}, [], {}, {})
    result.outputs = _Reader(result, instances or {}).read(component, ())
    return result


def _built(component, ports):
    """Amaranth's netlist of a component, as far as it is read here.

    Amaranth's ``build_netlist`` also looks for combinational loops, which ``optimize.py`` does
    again, and finds the ports of inner modules.
    """
    result = nir.Netlist()
    with elaborating(share=True):
        ir._emit_netlist(result,
                         Fragment.get(component, None).prepare(ports=ports, hierarchy=("top",)))
        result.resolve_all_nets()
    return result


class _Reader:
    """Adds the cells of components to a netlist. A cell becomes the node with its number, counted
    from the component's first number on."""

    def __init__(self, target, instances):
        self._target, self._instances = target, instances
        self._module = 0

    def read(self, component, path, inputs=None):
        """The outputs by name. ``inputs`` are values by name; without them inputs are nodes."""
        ports = {}
        for place, member, value in component.signature.flatten(component):
            ports["__".join(map(str, place))] = (
                Value.cast(value),
                ir.PortDirection.Input if member.flow == In else ir.PortDirection.Output)
        design = _built(component, ports)
        base, module = self._target.free, self._module
        self._target.free += len(design.cells)
        self._module += len(design.modules)
        top = design.top
        aliases = {}                    # number of a cell to [(first bit, value)], in bits' order
        aliases[0] = [(0, (Slice(-1, 2, 2),))]
        for name, (start, width) in top.ports_i.items():
            if inputs is None:
                value = self._target.add(HardwareNode("input", width, ()))
                self._target.inputs[name] = value[0].node
            else:
                value = inputs[name]
            aliases[0].append((start, value))
        for index, cell in enumerate(design.cells):
            if isinstance(cell, nir.Instance):
                aliases[index] = [
                    (start, self._target.add(HardwareNode("alias", width, ())))
                    for start, width in cell.ports_o.values()]
        cells = _Cells(design, base, aliases)
        for index, cell in enumerate(design.cells):
            if isinstance(cell, nir.Instance):
                if cell.type not in self._instances:
                    raise NotImplementedError(f"an instance of {cell.type}")
                outputs = self.read(self._instances[cell.type], (*path, cell.type),
                                    {name: cells.value(v) for name, v in cell.ports_i.items()})
                for name, (_, (alias,)) in zip(cell.ports_o, aliases[index], strict=True):
                    self._target.nodes[alias.node].args = (outputs[name],)
        cells.add_to(self._target, module, path)
        return {name: cells.value(value) for name, value in top.ports_o.items()}


class _Cells:
    """The cells of a component as nodes."""

    def __init__(self, design, base, aliases):
        self._design, self._base = design, base
        self._aliases = {(cell, start + bit): piece
                         for cell, parts in aliases.items() for start, value in parts
                         for bit, piece in enumerate(_bits(value))}
        self._aliased = set(aliases)
        clock = design.top.ports_i.get("clk")
        self._clock = None if clock is None else nir.Net.from_cell(0, clock[0])

    def value(self, nets) -> tuple:
        """The slices of a value of nets."""
        pieces = []
        node, low, width = None, 0, 0
        for net in nets:
            cell, bit = net >> 16, net & 0xffff
            if cell in self._aliased:
                if node is not None:
                    pieces.append(Slice(node, low, width))
                    node = None
                pieces.append(self._aliases[cell, bit] if cell or bit > 1 else Slice(-1, bit, 1))
            elif node == cell + self._base and bit == low + width:
                width += 1
            else:
                if node is not None:
                    pieces.append(Slice(node, low, width))
                node, low, width = cell + self._base, bit, 1
        if node is not None:
            pieces.append(Slice(node, low, width))
        return joined(pieces)

    def add_to(self, target, module, path):
        """Adds a node for each cell to a netlist, and the names of signals and memories."""
        memories = {}
        for index, cell in enumerate(self._design.cells):
            if isinstance(cell, nir.Memory):
                memories[index] = len(target.memories)
                target.memories.append(HardwareMemory(cell.width, cell.depth, cell.init, cell.name))
        for index, cell in enumerate(self._design.cells):
            node = self._node(cell, memories)
            if node is None:
                continue
            number = index + self._base
            node.module = module + cell.module_idx
            if cell.src_loc:
                node.place = f"{cell.src_loc[0]}:{cell.src_loc[1]}"
            target.nodes[number] = node
            if node.kind in ("read", "row"):
                target.memories[memories[cell.memory]].reads.append(number)
            elif node.kind == "write":
                target.memories[memories[cell.memory]].writes.append(number)
        paths = [(*path, *inner.name[1:]) for inner in self._design.modules]
        for inner, where in zip(self._design.modules, paths, strict=True):
            for signal, name in inner.signal_names.items():
                if signal in self._design.signals:
                    target.names[(*where, name)] = self.value(self._design.signals[signal])
        for index, number in memories.items():
            cell = self._design.cells[index]
            target.names[(*paths[cell.module_idx], cell.name)] = number

    def _node(self, cell, memories):
        value, node = self.value, HardwareNode
        if getattr(cell, "arst", 0) != 0:
            raise NotImplementedError("an asynchronous reset")
        if hasattr(cell, "clk") and (cell.clk != self._clock or cell.clk_edge != "pos"):
            raise NotImplementedError("a second clock")
        match cell:
            case nir.Top() | nir.Memory() | nir.Instance():
                return None
            case nir.Operator():
                return node(cell.operator, cell.width, tuple(map(value, cell.inputs)))
            case nir.Part():
                return node("part", cell.width, (value(cell.value), value(cell.offset)),
                            (cell.stride, cell.value_signed))
            case nir.Matches():
                return node("matches", 1, (value(cell.value),), cell.patterns)
            case nir.PriorityMatch():
                return node("lowest", len(cell.inputs), (value([cell.en]), value(cell.inputs)))
            case nir.AssignmentList():
                args = [value(cell.default)]
                for item in cell.assignments:
                    args += [value([item.cond]), value(item.value)]
                return node("choose", len(cell.default), tuple(args),
                            tuple((a.start, len(a.value)) for a in cell.assignments))
            case nir.FlipFlop():
                return node("register", len(cell.data), (value(cell.data),), cell.init)
            case nir.SyncReadPort():
                return node("read", cell.width, (value(cell.addr), value([cell.en])),
                            (memories[cell.memory],
                             tuple(port + self._base for port in cell.transparent_for)))
            case nir.AsyncReadPort():
                return node("row", cell.width, (value(cell.addr),), (memories[cell.memory], ()))
            case nir.SyncWritePort():
                return node("write", 0, (value(cell.addr), value(cell.data), value(cell.en)),
                            (memories[cell.memory], ()))
            case nir.SyncProperty() | nir.AsyncProperty() if cell.kind == "assert":
                return node("check", 0, (value([cell.test]), value([cell.en])),
                            _text(cell.format))
        raise NotImplementedError(f"hardware of the kind {type(cell).__name__}")


def _bits(value):
    """The bits of a value, each a slice."""
    for piece in value:
        for bit in range(piece.width):
            yield (Slice(-1, piece.low >> bit & 1, 1) if piece.node == -1 else
                   Slice(piece.node, piece.low + bit, 1))


def _text(text):
    """The message of an assertion, without values."""
    return "" if text is None else "".join(c for c in text.chunks if isinstance(c, str))
