"""C++ statements of a part, in the blocks of their conditions."""

from .blocks import known
from .expressions import WORD, ValueExpressions, words_of
from .netlist import cut, width_of


__all__ = ["PartLines"]


class PartLines:
    """Statements of a part, inside of the conditions of their blocks."""

    def __init__(self, netlist, local):
        self._nodes, self._memories = netlist.nodes, netlist.memories
        self._path = []
        self.values = ValueExpressions(netlist.nodes, local)
        self.lines = []

    def add(self, *lines):
        """Adds lines in the open block."""
        indent = "    " * len(self._path)
        self.lines += [indent + line for line in lines]

    def enter(self, block):
        """Closes and opens blocks, so that a block is the open one; None for no block."""
        path = [] if block is None else block.path()
        common = 0
        while common < min(len(path), len(self._path)) and path[common] is self._path[common]:
            common += 1
        while len(self._path) > common:
            self._path.pop()
            self.add("}")
        for inner in path[common:]:
            test = self.values.word((inner.condition,))
            self.add(f"if ({'' if inner.taken else '!'}{test}) {{")
            self._path.append(inner)

    def statement(self, statement, branched):
        """Adds a statement of a schedule. ``branched`` are the nodes with statements for arms."""
        n = statement.node
        node = self._nodes[n]
        self.enter(statement.block)
        names = self.values.names(n)
        if statement.arm is not None:
            self.add(*self._assignment(node, names, statement.arm))
        elif node.kind == "row":
            self._row(node, names)
        elif node.kind == "choose":
            self._set(names, self.values.words(node.args[0]))
        elif n not in branched:
            taken = None if node.kind != "m" else known(statement.block, node.args[0][0])
            if taken is None:
                before, words = self.values.operator(n, node)
                self.add(*before)
            else:
                words = self.values.words(node.args[1 if taken else 2])
            self._set(names, words)

    def _set(self, names, words):
        self.add(*(f"{name} = {text};" for name, text in zip(names, words, strict=True)))

    def _assignment(self, node, names, index):
        """Statements that assign an argument to a choice, or to some of its bits."""
        value = node.args[index]
        if node.kind == "m":
            return [f"{name} = {text};"
                    for name, text in zip(names, self.values.words(value), strict=True)]
        start, size = node.extra[index // 2 - 1]
        result = []
        for word in range(start // WORD, words_of(start + size)):
            low, high = max(start, word * WORD), min(start + size, (word + 1) * WORD)
            text = self.values.word(cut(value, low - start, high - low))
            at, bits, whole = low - word * WORD, high - low, min(WORD, node.width - word * WORD)
            if bits < whole:
                mask = ((1 << whole) - 1) & ~(((1 << bits) - 1) << at)
                text = f"({names[word]} & 0x{mask:x}ull) | " + (f"({text} << {at})" if at else text)
            result.append(f"{names[word]} = {text};")
        return result

    def _row(self, node, names):
        index = node.extra[0]
        depth = self._memories[index].depth
        address = self.values.word(node.args[0])
        test = "" if 1 << width_of(node.args[0]) <= depth else f"{address} >= {depth} ? 0 : "
        for i, name in enumerate(names):
            place = f"s.m{index}[{address}]" + (f"[{i}]" if len(names) > 1 else "")
            self.add(f"{name} = {test}u64({place});")
