"""Equal operations on many values become one operation on an array.

A unit with lanes, entries or ways compares all of them with one value, and takes one of them by an
index or a one-hot mask. In the netlist these are operators for each element. This module finds
them:

- A value of neighbouring bits, each the result of a comparison with the same value, becomes a node
  ``equals``: bit ``i`` tells whether element ``i`` of an array equals the value.
- A tree of choices by the bits of an index becomes a node ``element``: the element of an array.
- An OR of values, each behind a bit that lets the value pass or gives 0, becomes a node
  ``selected``: the OR of the elements of an array whose bits in a mask are set.

The node ``array`` has the elements, each in as many bits as a type of C++. Nodes that read the same
elements share one array. A reader of the new node read all the elements before, so no loop of
combinational logic can come up.
"""

from .netlist import HardwareNetlist, HardwareNode, Slice, constant, joined, width_of


__all__ = ["with_arrays"]


#: Elements that make an array worth while.
FEWEST = 8

#: The bits of a word, and so of a mask and of the largest element.
MOST = 64


def with_arrays(netlist: HardwareNetlist) -> None:
    """Puts operations on arrays into a netlist. Nodes that are no longer read stay."""
    _Arrays(netlist).find()


class _Arrays:
    """Finds the operations of one netlist."""

    def __init__(self, netlist):
        self._netlist, self._nodes = netlist, netlist.nodes
        self._known = {}

    def find(self):
        """Changes the netlist."""
        for node in list(self._nodes.values()):
            node.args = tuple(map(self._with_comparisons, node.args))
        self._netlist.outputs = {name: self._with_comparisons(value)
                                 for name, value in self._netlist.outputs.items()}
        readers = self._count_readers()
        inner = set()
        for n, node in sorted(self._nodes.items(), reverse=True):
            if n in inner or node.width > MOST:
                continue
            if node.kind == "|":
                self._select(node, readers, inner)
            elif node.kind == "m":
                self._index(node, inner)

    def _new(self, kind, width, args, extra, like):
        """The value of a node, which exists once."""
        key = kind, args, extra
        if key not in self._known:
            self._known[key] = self._netlist.add(
                HardwareNode(kind, width, args, extra, like.place, like.module))
        return self._known[key]

    def _array(self, elements, width, like):
        """An array as a value, and the bits of an element. An array is longer than a word, as
        values of a word are variables without an address."""
        bits = next(bits for bits in (8, 16, 32, 64)
                    if bits >= width and bits * len(elements) > MOST)
        value = joined(piece for element in elements
                       for piece in (*element, *constant(0, bits - width)))
        return self._new("array", bits * len(elements), (value,), None, like), bits

    # Comparisons

    def _with_comparisons(self, value):
        """A value with nodes ``equals`` where it has neighbouring results of comparisons."""
        if sum(piece.width for piece in value if self._compared(piece)) < FEWEST:
            return value
        bits = [piece for whole in value for piece in self._single(whole)]
        result, at = [], 0
        while at < len(bits):
            keys, count = self._run(bits[at:at + MOST])
            if sum(piece.node != -1 for piece in bits[at:at + count]) < FEWEST:
                result.append(bits[at])
                at += 1
                continue
            key = min(keys)
            elements = [key if piece.node == -1 else self._other(piece.node, key)
                        for piece in bits[at:at + count]]
            first = next(piece for piece in bits[at:] if piece.node != -1)
            array, size = self._array(elements, width_of(key), self._nodes[first.node])
            result += self._new("equals", count, (array, key), size, self._nodes[first.node])
            at += count
        return joined(result)

    def _compared(self, piece):
        return piece.node != -1 and self._nodes[piece.node].kind == "==" and (
            width_of(self._nodes[piece.node].args[0]) <= MOST)

    def _single(self, piece):
        """A piece as single bits, if it is a constant."""
        if piece.node != -1:
            return [piece]
        return [Slice(-1, piece.low >> bit & 1, 1) for bit in range(piece.width)]

    def _run(self, bits):
        """The values with which all of the first bits compare, and the number of these bits. A
        constant 1 compares the value with itself."""
        keys, count, compared = set(), 0, False
        for piece in bits:
            if piece != Slice(-1, 1, 1):
                if not self._compared(piece):
                    break
                args = set(self._nodes[piece.node].args)
                if compared and not keys & args:
                    break
                keys, compared = keys & args if compared else args, True
            count += 1
        return keys, count

    def _other(self, n, key):
        one, other = self._nodes[n].args
        return other if one == key else one

    # Choices by the bits of an index

    def _index(self, node, inner):
        """Makes a tree of choices one node. The choice at its root is by the highest bit."""
        level, conditions, found, values = [node], [], set(), []
        while level and all(each.kind == "m" and each.args[0] == level[0].args[0]
                            for each in level):
            found.update(value[0].node for value in values)
            conditions.append(level[0].args[0])
            values = [value for each in level for value in (each.args[2], each.args[1])]
            level = [self._nodes[value[0].node] for value in values if self._is_node(value, node)]
            if len(level) < len(values):
                break
        if len(values) < FEWEST:
            return
        inner.update(found)
        array, size = self._array(values, node.width, node)
        index = joined(piece for condition in reversed(conditions) for piece in condition)
        node.kind, node.extra, node.args = "element", size, (index, array)

    def _is_node(self, value, like):
        """Whether a value is a whole node of the width of another."""
        n = value[0].node
        return value == (Slice(n, 0, like.width),) and n != -1 and (
            self._nodes[n].width == like.width)

    # Choices by a mask

    def _count_readers(self):
        count = {}
        values = [value for node in self._nodes.values() for value in node.args]
        for value in (*values, *self._netlist.outputs.values()):
            for piece in value:
                count[piece.node] = count.get(piece.node, 0) + 1
        return count

    def _select(self, node, readers, inner):
        """Makes the last OR of a chain one node, if all terms are values behind bits."""
        passed, found, terms, work = node.width, [], [], [*node.args]
        while work:
            value = work.pop()
            n = value[0].node if value else -1
            source = self._nodes.get(n)
            if source is None or source.width != passed or value != (Slice(n, 0, passed),):
                return
            if source.kind == "|" and readers[n] == 1:
                found.append(n)
                work += source.args
            elif source.kind == "m" and source.args[2] == constant(0, passed):
                terms.append(source)
            else:
                return
        inner.update(found)
        if not FEWEST <= len(terms) <= MOST:
            return
        terms.reverse()
        array, size = self._array([term.args[1] for term in terms], passed, node)
        node.kind, node.extra = "selected", size
        node.args = (joined(term.args[0][0] for term in terms), array)
