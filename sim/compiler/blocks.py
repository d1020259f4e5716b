"""The order of a part's statements, and the conditions under which they run.

A value that only one arm of a choice reads is computed only if the choice takes the arm. The nodes
that are needed under the same conditions are in a :class:`ConditionBlock`. Many choices have the
same condition, so a block serves all choices with its condition. Statements are put in an order
that keeps those of a block together, so that a condition is tested once.
"""

import dataclasses

from .netlist import HardwareNode, Slice


__all__ = ["BLOCK", "ConditionBlock", "Statement", "arms_of", "known", "schedule"]


#: Operators that make a condition worth a test. For fewer, a branch that the processor predicts
#: wrongly costs more than the operators.
BLOCK = 4


class ConditionBlock:
    """Nodes that are needed under the same conditions.

    Attributes
    ----------
    parent : ConditionBlock or None
    condition : Slice
        The bit that must have the value `taken`, besides the conditions of the parent.
    taken : bool
    nodes : list of int
    """
    def __init__(self, parent=None, condition=None, taken=True):
        self.parent, self.condition, self.taken = parent, condition, taken
        self.depth = 0 if parent is None else parent.depth + 1
        self.nodes = []
        self.inner = {}

    def child(self, condition, taken):
        """The block inside of this one under one more condition."""
        if known(self, condition) == taken:
            return self
        if (condition, taken) not in self.inner:
            self.inner[condition, taken] = ConditionBlock(self, condition, taken)
        return self.inner[condition, taken]

    def path(self):
        """This block and those around it, the outermost first."""
        return [] if self.parent is None else [*self.parent.path(), self]


@dataclasses.dataclass
class Statement:
    """A statement of a part."""
    block: ConditionBlock
    node: int
    #: The argument that is assigned; None for the statement that defines the node.
    arm: int | None = None


def known(block, condition):
    """The value of a condition inside of a block, or None."""
    while block is not None:
        if block.condition == condition:
            return block.taken
        block = block.parent
    return None


def arms_of(node: HardwareNode):
    """The arguments of a node that are taken under a condition: ``(argument, condition, value of
    the condition)``."""
    if node.kind == "m":
        condition = node.args[0]
        arms = ((1, condition, True), (2, condition, False))
    elif node.kind == "choose":
        arms = tuple((index, node.args[index - 1], True) for index in range(2, len(node.args), 2))
    elif node.kind == "check":              # the test of an assertion, while it is enabled
        arms = ((0, node.args[1], True),)
    else:
        return ()
    return tuple((index, condition[0], taken) for index, condition, taken in arms
                 if isinstance(condition[0], Slice) and condition[0].node != -1)


def _common(a, b):
    """The innermost block around two blocks."""
    while a is not b:
        if a.depth < b.depth:
            a, b = b, a
        a = a.parent
    return a


def _assign_blocks(nodes, numbers, needed):
    """The block of each node; ``needed`` nodes are needed in any case."""
    root, inside, uses, block_of = ConditionBlock(), set(numbers), {}, {}
    for n in reversed(numbers):
        node = nodes[n]
        block = root
        if n not in needed and n in uses:
            block = uses[n][0]
            for other in uses[n][1:]:
                block = _common(block, other)
        block_of[n] = block
        places = {index: block.child(condition, taken)
                  for index, condition, taken in arms_of(node)}
        for index, value in enumerate(node.args):
            place = places.get(index, block)
            for piece in value:
                if piece.node in inside:
                    uses.setdefault(piece.node, []).append(place)
    for n in numbers:
        block_of[n].nodes.append(n)
    _dissolve(nodes, root)
    return root


def _work(node):
    """The work of a node, in simple operators: a value is put together of slices."""
    return max(1, sum(map(len, node.args)) // 2)


def _dissolve(nodes, block):
    """Moves the nodes of small blocks to the blocks around them. Returns the work of a block."""
    count = sum(_work(nodes[n]) for n in block.nodes)
    for inner in list(block.inner.values()):
        count += _dissolve(nodes, inner)
    if count < BLOCK and block.parent is not None:
        parent = block.parent
        parent.nodes += block.nodes
        del parent.inner[block.condition, block.taken]
    return count


def schedule(nodes, numbers, needed):
    """The statements of a part in order.

    Parameters
    ----------
    nodes : dict
        Nodes by number.
    numbers : list of int
        The nodes of the part, each after those that it reads.
    needed : set of int
        Nodes whose values are needed in any case.

    Returns
    -------
    list of Statement
        A choice with an arm in a block of its own, or with assignments, has a statement that
        defines the node, and one for each assignment that can be reached.
    """
    root = _assign_blocks(nodes, numbers, needed)
    blocks = {}
    work = [root]
    while work:
        block = work.pop()
        work += block.inner.values()
        for n in block.nodes:
            blocks[n] = block
    statements, first, last = [], {}, {}
    for n in numbers:
        first[n] = len(statements)
        statements.append(Statement(blocks[n], n))
        statements += [Statement(place, n, index)
                       for index, place in _branches(nodes[n], blocks[n])]
        last[n] = len(statements) - 1
    return _joined_by_block(statements, [
        _before(nodes[statement.node], statement, range(first[statement.node], number), last)
        for number, statement in enumerate(statements)])


def _before(node, statement, own, last):
    """The numbers of the statements that must come before a statement: the node's own, those of the
    values that the statement reads, and those of the conditions of its blocks."""
    if statement.arm is not None:
        condition = statement.arm - 1 if node.kind == "choose" else 0
        values = [node.args[statement.arm], node.args[condition]]
    elif node.kind == "choose":
        values = [node.args[0]]
    else:
        values = list(node.args)
    values += [(block.condition,) for block in statement.block.path()]
    return {*own, *(last[piece.node] for value in values for piece in value
                    if piece.node in last)}


def _branches(node, block):
    """The arms of a node in a block that are statements: ``(argument, block)``."""
    if node.kind == "m":
        inner = [(index, block.inner.get((condition, taken)))
                 for index, condition, taken in arms_of(node)]
        if known(block, node.args[0][0]) is not None or not any(b for _, b in inner):
            return []
        return [(index, block.child(condition, taken))
                for index, condition, taken in arms_of(node)]
    if node.kind != "choose":
        return []
    places = {index: (condition, taken) for index, condition, taken in arms_of(node)}
    result = []
    for index in range(2, len(node.args), 2):
        if index not in places:                     # a constant condition
            if node.args[index - 1][0].low:
                result.append((index, block))
            continue
        if known(block, places[index][0]) is not False:
            result.append((index, block.child(*places[index])))
    return result


def _joined_by_block(statements, waits):
    """The statements in an order that seldom changes the block."""
    behind = [[] for _ in statements]
    open_ = [len(before) for before in waits]
    for number, before in enumerate(waits):
        for other in before:
            behind[other].append(number)
    ready = [number for number, count in enumerate(open_) if not count]
    result, path = [], []

    def distance(number):
        other = paths[number]
        common = 0
        for a, b in zip(path, other, strict=False):
            if a is not b:
                break
            common += 1
        return len(path) - common, len(other) - common, number

    paths = [statement.block.path() for statement in statements]
    while ready:
        number = min(ready, key=distance)
        ready.remove(number)
        path = paths[number]
        result.append(statements[number])
        for other in behind[number]:
            open_[other] -= 1
            if not open_[other]:
                ready.append(other)
    assert len(result) == len(statements), "a condition depends on a value that it guards"
    return result
