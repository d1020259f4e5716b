"""Simplification of netlists: a design becomes a list of nodes in the order of evaluation.

Amaranth gives every operator of the source. Many have constant arguments, equal arguments, or no
reader. A netlist of whole signals can also have cycles that the bits do not have, where a field of
a structure depends on another field of the structure. Nodes of such cycles are split into fields.
"""

import dataclasses
import itertools

from amaranth.hdl import _nir as nir

from .arrays import with_arrays
from .neighbours import with_neighbours
from .netlist import (BITWISE, HardwareNetlist, HardwareNode, Slice, constant, cut, joined,
                      width_of)


__all__ = ["STATE", "Design", "optimized"]


#: Kinds of nodes that have their value from the last clock edge, or from outside.
STATE = ("input", "register", "read")

#: Kinds of nodes that can be split into bits.
_BITWISE = (*BITWISE, "alias")


@dataclasses.dataclass
class Design:
    """A netlist without superfluous nodes."""
    netlist: HardwareNetlist
    #: The combinational nodes, writes and checks, each after the nodes that it reads.
    order: list[int]


def optimized(netlist: HardwareNetlist, *, checks=True) -> Design:
    """The design of a netlist, whose nodes it takes over; ``checks`` keeps the assertions.

    Raises Amaranth's CombinationalCycle, with the places in the source, for a value that depends on
    itself.
    """
    if not checks:
        for n in [n for n, node in netlist.nodes.items() if node.kind == "check"]:
            del netlist.nodes[n]
    _Names(netlist).apply()
    _remove_unread(netlist)
    _split_fields(netlist)
    while True:
        _remove_unread(netlist)
        order = _order(netlist)
        if not _Folder(netlist, order).fold():
            break
    with_neighbours(netlist, order, _Names(netlist))
    _remove_unread(netlist)
    with_arrays(netlist)
    _remove_unread(netlist)
    return Design(netlist, _order(netlist))


class _Names:
    """Values that stand for other values: removes aliases, and splits nodes of false cycles."""

    def __init__(self, netlist):
        self.netlist = netlist
        self.values = {}

    def value(self, value):
        """A value without nodes that have another name."""
        if not any(piece.node in self.values for piece in value):
            return value
        pieces = []
        for piece in value:
            if piece.node in self.values:
                pieces += self.value(cut(self.values[piece.node], piece.low, piece.width))
            else:
                pieces.append(piece)
        return joined(pieces)

    def apply(self):
        nodes = self.netlist.nodes
        for number in [n for n, node in nodes.items() if node.kind == "alias"]:
            self.values[number] = nodes.pop(number).args[0]
        self.rename()
        while cycles := _cycles(nodes):
            self.values = {}
            for members in cycles:
                self._split(members)
            self.rename()

    def rename(self):
        for node in self.netlist.nodes.values():
            node.args = tuple(map(self.value, node.args))
        self.netlist.outputs = {name: self.value(value)
                                for name, value in self.netlist.outputs.items()}

    def _split(self, members):
        """Splits the nodes of a cycle where other nodes of the cycle begin or end to read them."""
        nodes, inside = self.netlist.nodes, set(members)
        edges = {n: {0, nodes[n].width} for n in members}
        for n in members:
            for value in nodes[n].args:
                for piece in value:
                    if piece.node in inside:
                        edges[piece.node] |= {piece.low, piece.low + piece.width}
        for n in members:
            node = nodes[n]
            if node.kind in _BITWISE:
                starts = (0, *(start for start, _ in node.extra)) if node.kind == "choose" else ()
                for index, value in enumerate(node.args):
                    if width_of(value) == 1 and node.width > 1:
                        continue
                    at = starts[(index + 1) // 2] if starts else 0
                    edges[n].add(at)
                    for piece in value:
                        at += piece.width
                        edges[n].add(at)
        done = False
        for n in members:
            node = nodes[n]
            places = sorted(edges[n])
            if node.kind == "lowest" and node.width > 1:
                places = range(node.width + 1)
            elif node.kind not in _BITWISE or len(places) == 2:
                continue
            done = True
            pieces = []
            for low, high in itertools.pairwise(places):
                pieces += self.netlist.add(_field(node, low, high - low))
            self.values[n] = tuple(pieces)
            del nodes[n]
        if not done:
            raise nir.CombinationalCycle("a loop of combinational logic:" + "".join(
                f"\n  {nodes[n].place}: {self._name_of(n)}" for n in members))

    def _name_of(self, n):
        """The name of a signal that has the value of a node, or else the node's operator."""
        for path, value in self.netlist.names.items():
            if isinstance(value, tuple) and any(piece.node == n for piece in value):
                return f"signal {'.'.join(path)}"
        return f"operator {self.netlist.nodes[n].kind}"


def _field(node, low, width):
    """Some bits of a node that can be split."""
    if node.kind == "lowest":
        enable, inputs = node.args
        return HardwareNode("lowest-bit", 1, (enable, cut(inputs, 0, low + 1)), None, node.place,
                    node.module)
    if node.kind == "m":
        args = (node.args[0], *(cut(value, low, width) for value in node.args[1:]))
        return dataclasses.replace(node, width=width, args=args)
    if node.kind != "choose":
        args = tuple(cut(value, low, width) for value in node.args)
        extra = node.extra >> low & ((1 << width) - 1) if node.kind == "register" else None
        return dataclasses.replace(node, width=width, args=args, extra=extra)
    args, extra = [cut(node.args[0], low, width)], []
    for index, (start, size) in enumerate(node.extra):
        first, last = max(start, low), min(start + size, low + width)
        if first < last:
            args += [node.args[2 * index + 1],
                     cut(node.args[2 * index + 2], first - start, last - first)]
            extra.append((first - low, last - first))
    return dataclasses.replace(node, width=width, args=tuple(args), extra=tuple(extra))


#: Nodes wider than this are split into fields.
_WIDE = 64

#: More neighbouring fields of equal width than this are one field, if they are at most a byte: a
#: mask, or the bytes of a line.
_RUN = 3


def _split_fields(netlist):
    """Splits wide nodes into the fields that they are made of.

    Structures are single signals in the source. As one value, a structure would change whenever a
    field changes.
    """
    nodes = netlist.nodes
    wide = {n: {0, node.width} for n, node in nodes.items()
            if node.width > _WIDE and node.kind in (*_BITWISE, "register")}
    links = []                  # (node, bit, source, bit, width): the same bits
    for n in wide:
        node = nodes[n]
        for index, value in enumerate(node.args):
            at = _start(node, index)
            if at is None:
                continue
            for piece in value:
                if piece.node != n:
                    wide[n] |= {at, at + piece.width}
                if piece.node in wide and piece.node != n:
                    links.append((n, at, piece.node, piece.low, piece.width))
                at += piece.width
    changed = True
    while changed:
        changed = False
        for n, at, source, low, width in links:
            edges = {e - low + at for e in wide[source] if low <= e <= low + width}
            if not edges <= wide[n]:
                wide[n] |= edges
                changed = True
    names = _Names(netlist)
    for n, edges in wide.items():
        places = _merged(sorted(edges))
        if len(places) == 2:
            continue
        node = nodes.pop(n)
        pieces = []
        for low, high in itertools.pairwise(places):
            pieces += netlist.add(_field(node, low, high - low))
        names.values[n] = tuple(pieces)
    names.rename()


def _start(node, index):
    """The bit of a node at which an argument begins; None for a condition."""
    if node.kind == "m" and index == 0:
        return None
    if node.kind != "choose" or index == 0:
        return 0
    return node.extra[(index - 1) // 2][0] if index % 2 == 0 else None


def _merged(places):
    """Places without those inside of runs of narrow fields."""
    result, at = [places[0]], 0
    while at + 1 < len(places):
        width = places[at + 1] - places[at]
        end = at + 1
        while end + 1 < len(places) and places[end + 1] - places[end] == width:
            end += 1
        if width <= 8 and end - at > _RUN:
            step = max(1, 64 // width)
            result += places[at + step:end:step]
            result.append(places[end])
        else:
            result += places[at + 1:end + 1]
        at = end
    return result


def _sources(node):
    """Nodes that a node reads."""
    return {piece.node for value in node.args for piece in value if piece.node >= 0}


def _cycles(nodes):
    """Strongly connected combinational nodes, by Tarjan's algorithm."""
    index, low, stack, on_stack, result = {}, {}, [], set(), []
    for root in nodes:
        if root in index or nodes[root].kind in STATE:
            continue
        work = [(root, iter(_sources(nodes[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            n, sources = work[-1]
            for source in sources:
                if nodes[source].kind in STATE:
                    continue
                if source not in index:
                    index[source] = low[source] = len(index)
                    stack.append(source)
                    on_stack.add(source)
                    work.append((source, iter(_sources(nodes[source]))))
                    break
                if source in on_stack:
                    low[n] = min(low[n], index[source])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[n])
                if low[n] == index[n]:
                    members = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        members.append(member)
                        if member == n:
                            break
                    if len(members) > 1 or n in _sources(nodes[n]):
                        result.append(members)
    return result


def _remove_unread(netlist):
    """Removes nodes that no output and no assertion depends on."""
    nodes, live = netlist.nodes, set()
    work = [piece.node for value in netlist.outputs.values() for piece in value if piece.node >= 0]
    work += [n for n, node in nodes.items() if node.kind == "check"]
    while work:
        n = work.pop()
        if n in live:
            continue
        live.add(n)
        work += _sources(nodes[n])
        if nodes[n].kind in ("read", "row"):
            memory, transparent = nodes[n].extra
            work += netlist.memories[memory].writes
            work += transparent
    for n in [n for n, node in nodes.items() if n not in live and node.kind != "input"]:
        del nodes[n]
    for memory in netlist.memories:
        memory.reads = [n for n in memory.reads if n in live]
        memory.writes = [n for n in memory.writes if n in live]


def _order(netlist):
    """The nodes that are no state, each after those that it reads."""
    nodes, done, order = netlist.nodes, set(), []
    for root in nodes:
        if root in done or nodes[root].kind in STATE:
            continue
        work = [(root, iter(_sources(nodes[root])))]
        done.add(root)
        while work:
            n, sources = work[-1]
            for source in sources:
                if source not in done and nodes[source].kind not in STATE:
                    done.add(source)
                    work.append((source, iter(_sources(nodes[source]))))
                    break
            else:
                work.pop()
                order.append(n)
    return order


class _Folder:
    """Replaces nodes by constants, by their arguments, or by equal nodes."""

    def __init__(self, netlist, order):
        self._netlist, self._order = netlist, order
        self._names = _Names(netlist)
        self._known = {}

    def fold(self):
        """Whether anything was replaced."""
        nodes, names = self._netlist.nodes, self._names
        for n, node in nodes.items():
            if node.kind == "register":
                initial = constant(node.extra, node.width)
                if node.args[0] in (initial, (Slice(n, 0, node.width),)):
                    names.values[n] = initial
        for n in self._order:
            node = nodes[n]
            node.args = tuple(map(names.value, node.args))
            value = _folded(node)
            if value is None and node.kind not in ("write", "check"):
                args = sorted(node.args) if node.kind in _COMMUTATIVE else node.args
                key = (node.kind, tuple(args), node.extra)
                other = self._known.setdefault(key, n)
                if other != n:
                    value = (Slice(other, 0, node.width),)
            if value is not None:
                names.values[n] = value
        if not names.values:
            return False
        for n in names.values:
            del nodes[n]
        for memory in self._netlist.memories:
            memory.reads = [n for n in memory.reads if n in nodes]
        names.rename()
        return True


def _constants(node):
    """The arguments of a node as numbers, or None if one is no constant."""
    numbers = []
    for value in node.args:
        if len(value) > 1 or (value and value[0].node != -1):
            return None
        numbers.append(value[0].low if value else 0)
    return numbers


_COMMUTATIVE = ("&", "|", "^", "+", "*", "==", "!=")

_OPERATORS = {
    "~": lambda w, a: ~a, "&": lambda w, a, b: a & b, "|": lambda w, a, b: a | b,
    "^": lambda w, a, b: a ^ b, "+": lambda w, a, b: a + b, "*": lambda w, a, b: a * b,
    "==": lambda w, a, b: a == b, "!=": lambda w, a, b: a != b, "u<": lambda w, a, b: a < b,
    "u<=": lambda w, a, b: a <= b, "u>": lambda w, a, b: a > b, "u>=": lambda w, a, b: a >= b,
    "r|": lambda w, a: a != 0, "b": lambda w, a: a != 0, "<<": lambda w, a, b: a << min(b, w),
    "u>>": lambda w, a, b: a >> b,
}


def _folded(node):
    """The simpler value of a node; None if there is none."""
    args, width = node.args, node.width
    if node.kind == "lowest" and width == 1:
        node.kind = "&"
    if node.kind == "choose":
        return _folded_choose(node)
    if node.kind == "m":
        if args[1] == args[2]:
            return args[1]
        if args[0][0].node == -1:
            return args[1] if args[0][0].low else args[2]
        if width == 1 and (args[1], args[2]) == (constant(1, 1), constant(0, 1)):
            return args[0]
        return None
    if node.kind == "matches":
        return _folded_matches(node)
    if node.kind == "-" and len(args) == 2 and args[1] == constant(0, width):
        return args[0]
    if node.kind == "r&" and not args[0]:
        return constant(1, 1)
    numbers = _constants(node)
    if numbers is not None and node.kind in _OPERATORS:
        return constant(int(_OPERATORS[node.kind](width, *numbers)), width)
    if node.kind in ("&", "|", "^", "+"):
        zero, ones = constant(0, width), constant(-1, width)
        for one, other in (args, args[::-1]):
            if one == zero:
                return zero if node.kind == "&" else other
            if one == ones and node.kind in "&|":
                return other if node.kind == "&" else ones
        if args[0] == args[1] and node.kind in "&|":
            return args[0]
    if node.kind in ("r|", "b", "r&", "r^") and width_of(args[0]) == 1:
        return args[0]
    if node.kind in ("==", "!=") and args[0] == args[1]:
        return constant(node.kind == "==", 1)
    if node.kind in ("==", "!=") and width_of(args[0]) == 1:
        for one, other in (args, args[::-1]):
            if one == constant(node.kind == "==", 1):
                return other
            if one == constant(node.kind != "==", 1):
                node.kind, node.args = "~", (other,)
                return None
    if node.kind in ("<<", "u>>") and len(args[1]) == 1 and args[1][0].node == -1:
        return _shifted(args[0], args[1][0].low, width, left=node.kind == "<<")
    if node.kind in ("lowest", "lowest-bit") and args[0] == constant(0, 1):
        return constant(0, width)
    return None


def _shifted(value, by, width, *, left):
    """A value shifted by a constant."""
    by = min(by, width)
    if left:
        return joined((*constant(0, by), *cut(value, 0, width - by)))
    return joined((*cut(value, by, width - by), *constant(0, by)))


def _folded_matches(node):
    value = node.args[0]
    if not node.extra:
        return constant(0, 1)
    if any(set(pattern) <= {"-"} for pattern in node.extra):
        return constant(1, 1)
    if node.extra == ("1",):
        return value
    if len(value) == 1 and value[0].node == -1:
        return constant(any(all(c == "-" or int(c) == value[0].low >> bit & 1
                                for bit, c in enumerate(reversed(pattern)))
                            for pattern in node.extra), 1)
    return None


def _folded_choose(node):
    """Applies assignments whose condition is constant. Changes the node."""
    default, rest, extra = node.args[0], [], []
    for index, (start, size) in enumerate(node.extra):
        condition, value = node.args[2 * index + 1], node.args[2 * index + 2]
        if condition == constant(0, 1):
            continue
        if condition == constant(1, 1) and not rest:
            default = joined((*cut(default, 0, start), *value,
                              *cut(default, start + size, node.width - start - size)))
            continue
        if (start, size) == (0, node.width) and condition == constant(1, 1):
            default, rest, extra = value, [], []
            continue
        rest += [condition, value]
        extra.append((start, size))
    node.args, node.extra = (default, *rest), tuple(extra)
    return default if not rest else None
