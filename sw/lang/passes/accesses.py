"""Which words each operator touches, and how."""

from sw.lang import graph_ir as ir
from sw.lang.effects import effects
from sw.lang.facts import Access, AccessSet, Identity
from sw.lang.passes.rewrite import with_facts
from sw.lang.types import WORD
from sw.lang.uses import called


__all__ = ["IDENTITY", "accesses", "accesses_of"]


#: {reduction: the word that changes no word}. That of ``or`` is the one of ``|`` and of bools.
IDENTITY = {"min": WORD - 1, "max": 0, "+": 0, "or": 0}


def accesses(program):
    """Mark operators with :class:`~sw.lang.facts.AccessSet`, and reductions with
    :class:`~sw.lang.facts.Identity`."""
    def facts(node):
        match node:
            case ir.Reduce():
                yield Identity(word=IDENTITY[node.operation],
                               why=f"{node.operation} of words without a sign")
            case ir.EdgeSetIterator() | ir.VertexSetIterator() | ir.VertexFilter():
                name, to_filter = called(node)
                tested = frozenset() if to_filter is None else accesses_of(
                    program.function(to_filter), "dst")
                yield AccessSet(function=accesses_of(program.function(name)), filter=tested,
                               why="the text")

    return with_facts(program, facts)


def accesses_of(function, own="own") -> frozenset[Access]:
    """The accesses of a function; ``own`` is what the vertex of a function of vertices is."""
    ends = ("src", "dst") if function.of_edge else (own,)
    places = dict(zip(function.parameters, ends))

    def place(index):
        return places.get(index.name, "elsewhere") if isinstance(index, ir.Local) else "elsewhere"

    # Indices may be variables, so they are looked up with the variables' values put in.
    found = {Access(effect.vector, effect.kind, place(effect.index))
             for effect in effects(function)}
    names = {node.name: node.value for node in ir.walk(*function.body) if isinstance(node, ir.Let)}
    assigned = [node.name for node in ir.walk(*function.body) if isinstance(node, ir.Let)]

    def known(index):
        while isinstance(index, ir.Local) and assigned.count(index.name) == 1:
            index = names[index.name]
        return index

    return frozenset(found | {Access(node.vector, "load", place(known(node.index)))
                              for node in ir.walk(*function.body)
                              if isinstance(node, ir.VectorLoad)})
