"""The parts of an operator of edges, as the passes of its facts look at them."""

from sw.lang import graph_ir as ir
from sw.lang.effects import effects
from sw.lang.predicates import predicate


__all__ = ["OperatorParts", "each_operator"]


def each_operator(body, loop=None):
    """(operator, loop, block) of all operators of edges in a list of instructions: the innermost
    loop around each, or None, and the list that it stands in."""
    for node in body:
        match node:
            case ir.EdgeSetIterator():
                yield node, loop, body
            case ir.WhileLoop() | ir.ForLoop():
                yield from each_operator(node.body, node)
            case ir.HostBranch():
                yield from each_operator(node.then, loop)
                yield from each_operator(node.otherwise, loop)


class OperatorParts:
    """One operator while its facts are found.

    Parameters
    ----------
    program : GraphProgram
    values : Knowledge
    node : EdgeSetIterator
    """

    def __init__(self, program, values, node):
        self._program, self._values, self._node = program, values, node
        self._function = program.function(node.apply_f)
        self._source, self._target, *weight = self._function.parameters
        self._weight = weight[0] if weight else None
        self._effects = effects(self._function)
        self._test = () if node.to_filter is None else predicate(program.function(node.to_filter))

    def _at(self, index, name):
        return isinstance(index, ir.Local) and index.name == name

    @property
    def _conditions(self):
        """The conditions under which all effects happen; None if they differ."""
        first, *others = (effect.conditions for effect in self._effects) if self._effects else ((),)
        same = all(len(first) == len(each) and all(a is b for a, b in zip(first, each))
                   for each in others)
        return first if same else None

    def _read(self, *nodes):
        """What expressions read: the names that :class:`~sw.lang.facts.Needs` has."""
        found = set()
        for node in nodes:
            match node:
                case ir.VectorLoad() | ir.Degree():
                    vertex = node.index if isinstance(node, ir.VectorLoad) else node.vertex
                    end = next((end for end, name in (("src", self._source),
                                                      ("dst", self._target))
                                if self._at(vertex, name)), None)
                    if end is None:
                        found |= {"elsewhere"} | self._read(vertex)
                    else:
                        found.add(f"{end} word")
                case ir.Local(name=name):
                    found.add({self._source: "src", self._target: "dst",
                               self._weight: "weight"}.get(name, "elsewhere"))
                case ir.Uniform():
                    pass
                case _:
                    found |= self._read(*node.parts())
        return found
