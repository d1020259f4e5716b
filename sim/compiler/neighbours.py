"""Equal operations on neighbouring values become one operation on a wider value.

A unit with lanes, warps or ways has the same operator for each of them. If the operator works bit
by bit, and the arguments of all lanes are neighbouring bits of the same values, then one operator
on all these bits does the work of all lanes. A choice is such an operator if all lanes have the
same condition. Registers that the source declares side by side become one register, so the values
of lanes are neighbours from register to register.

Only operators of the same depth are joined: the depth is the length of the longest way from a
state. So an operator still has a greater depth than those that it reads, and no loop of
combinational logic can come up.
"""

import itertools

from .netlist import BITWISE, HardwareNetlist, HardwareNode, Slice, joined


__all__ = ["with_neighbours"]


#: Operators or registers that are worth joining.
FEWEST = 4

#: Widths of values that are joined. A word then has whole values.
WIDTHS = (1, 2, 4, 8, 16, 32)

#: The bits of the widest values that are made.
MOST = 512

#: The narrowest value that all lanes read and that is repeated for them, besides single bits.
REPEATED = 16


def with_neighbours(netlist: HardwareNetlist, order, names) -> None:
    """Joins operators and registers of a netlist.

    Parameters
    ----------
    netlist : HardwareNetlist
    order : list of int
        The nodes that are no state, each after those that it reads.
    names : object
        Gives values in place of nodes (``_Names`` of :mod:`sim.compiler.optimize`): ``values``,
        ``value(value)`` and ``rename()``.
    """
    _Joiner(netlist, names).join(order)


class _Joiner:
    """Joins the operators and registers of one netlist."""

    def __init__(self, netlist, names):
        self._netlist, self._nodes, self._names = netlist, netlist.nodes, names

    def join(self, order):
        """Changes the netlist."""
        self._join_registers()
        for level in self._levels(order):
            for (kind, width, *_), members in self._classes(level).items():
                self._join_class(kind, width, members)
        for n in self._names.values:
            del self._nodes[n]
        self._names.rename()

    def _put(self, kind, width, args, extra, like):
        """The value of a new node."""
        return self._netlist.add(
            HardwareNode(kind, width, args, extra, like.place, like.module))

    def _replace(self, members, value):
        """Gives each of some nodes its bits of a value."""
        (number, _, width), count = value[0], len(members)
        for index, n in enumerate(members):
            self._names.values[n] = (Slice(number, index * width // count, width // count),)

    # Registers

    def _join_registers(self):
        groups = {}
        for n, node in self._nodes.items():
            if node.kind == "register" and node.width in WIDTHS:
                groups.setdefault((node.module, node.place, node.width), []).append(n)
        for (_, _, width), group in groups.items():
            for at in range(0, len(group), MOST // width):
                members = group[at:at + MOST // width]
                if len(members) >= FEWEST:
                    self._join_group(members, width)

    def _join_group(self, members, width):
        nodes = [self._nodes[n] for n in members]
        initial = sum(node.extra << index * width for index, node in enumerate(nodes))
        self._replace(members, self._put(
            "register", width * len(members), (_row(node.args[0] for node in nodes),), initial,
            nodes[0]))

    # Operators

    def _levels(self, order):
        """The operators that can be joined, by their depth, the least depth first."""
        depth, levels = {}, {}
        for n in order:
            node = self._nodes[n]
            depth[n] = 1 + max((depth.get(piece.node, 0) for value in node.args
                                for piece in value), default=0)
            whole = node.kind != "choose" or set(node.extra) == {(0, node.width)}
            if node.kind in BITWISE and node.width in WIDTHS and whole:
                levels.setdefault(depth[n], []).append(n)
        return [levels[number] for number in sorted(levels)]

    def _classes(self, level):
        """Operators that differ in their arguments only, as ``(arguments, number)`` in the order of
        the arguments."""
        classes = {}
        for n in level:
            node = self._nodes[n]
            args = tuple(map(self._names.value, node.args))
            # Single bits may be chosen by a mask.
            same = () if node.kind == "m" and node.width == 1 else _conditions(node.kind, len(args))
            key = (node.kind, node.width, node.module, node.extra, len(args),
                   *(args[index] for index in same))
            classes.setdefault(key, []).append((args, n))
        return {key: sorted(members) for key, members in classes.items()}

    def _join_class(self, kind, width, members):
        """Joins the members of a class that stand in a row.

        An argument of a choice may be different values, which are then put together: before, the
        readers of the choices did this. So a register that keeps its value remains one register.
        """
        for different in (0, 1) if kind == "choose" and width > 1 else (0,):
            at, left = 0, []
            while at < len(members):
                count = _count_in_a_row(members[at:at + MOST // width], width, different)
                if count >= FEWEST:
                    self._join_row(kind, width, members[at:at + count])
                else:
                    left += members[at:at + count]
                at += count
            members = left

    def _join_row(self, kind, width, members):
        numbers = [n for _, n in members]
        first, columns = self._nodes[numbers[0]], list(zip(*(args for args, _ in members)))
        total = width * len(members)
        same = [index for index in _conditions(kind, len(columns))
                if len(set(columns[index])) == 1]
        args = tuple(column[0] if index in same else _row(column)
                     for index, column in enumerate(columns))
        if kind == "m" and not same:            # single bits, with a condition each
            mask, yes, no = args
            args = (self._put("&", total, (mask, yes), None, first),
                    self._put("&", total, (self._put("~", total, (mask,), None, first), no), None,
                              first))
            kind = "|"
        extra = ((0, total),) * len(first.extra) if kind == "choose" else None
        self._replace(numbers, self._put(kind, total, args, extra, first))


def _row(values):
    """Values side by side."""
    return joined(piece for value in values for piece in value)


def _conditions(kind, count):
    """The arguments of an operator that are conditions."""
    return {"m": (0,), "choose": range(1, count, 2)}.get(kind, ())


def _count_in_a_row(members, width, different):
    """How many of the first members stand in a row, but for so many arguments."""
    count, ways = 1, None
    for (before, _), (args, _) in itertools.pairwise(members):
        found = [_ways(a, b, width) for a, b in zip(before, args, strict=True)]
        ways = found if ways is None else [a & b for a, b in zip(ways, found, strict=True)]
        if sum(not each for each in ways) > different:
            break
        count += 1
    return count


def _ways(before, value, width):
    """The ways in which an argument follows the argument of the lane before."""
    ways = set()
    is_bit = len(value) == 1 and value[0].width == 1
    if before == value and (is_bit or width >= REPEATED):
        ways.add("same")
    if len(before) == len(value) == 1:
        (node, low, size), (other, next_low, _) = before[0], value[0]
        if node == other == -1:
            ways.add("constant")
        elif node == other and low + size == next_low:
            ways.add("neighbours")
    return ways
