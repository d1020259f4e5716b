"""What an edge of an operator brings, by its facts, for lists of edges.

A list has a word for each edge: the source, or the word that the source sends, plus the weight.
The latter suffices if the function needs nothing else of the source and of the weight.
"""

import numpy as np

from sw.compile.algorithm import SentWord
from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.effects import effects
from sw.lang.facts import known
from sw.lang.uses import written
from sw.lang.passes.early import asks_for_vertices, is_improvement
from sw.lang.types import WORD, Type


__all__ = ["loops_around", "sent_nodes", "sent_word", "sums_fit"]


def sent_nodes(node, function, stamped) -> list:
    """The expressions of an edge operator's function whose value is the word that is sent, plus the
    weight if there are weights; empty if the function needs more. ``stamped(vector)`` tells whether
    the words of a vector are stamps."""
    fact = known(node, facts.Sent)
    load = fact and fact.value
    source, _, *weights = function.parameters
    if not isinstance(load, ir.VectorLoad) or not _is_local(load.index, source):
        return []
    if not any(_is_local(part, name) for name in weights for part in ir.walk(*function.body)):
        wanted = [load]
    elif fact.form == "sum" and not stamped(load.vector):
        wanted = list(dict.fromkeys(
            part for part in ir.walk(*function.body)
            if isinstance(part, ir.Binary) and part.operation == "+" and part.type is Type.UINT
            and any(one == load and _is_local(other, weights[0])
                    for one, other in ((part.left, part.right), (part.right, part.left)))))
    else:
        return []
    rest = _without(function.body, wanted)
    needs_more = any(_is_local(part, name) for part in rest for name in (source, *weights))
    return [] if needs_more else wanted


def _without(nodes, wanted):
    """All nodes below others, without those below the expressions ``wanted``."""
    for node in nodes:
        if node not in wanted:
            yield node
            yield from _without(node.parts(), wanted)


def _is_local(node, name):
    return isinstance(node, ir.Local) and node.name == name


def sent_word(node, function, loops, has_value, **more) -> SentWord:
    """What comes from the source of an operator's edges. Behind its filter, an operator reads a
    list's words only of edges that count.

    Parameters
    ----------
    node : EdgeSetIterator
    function : Function
    loops : list
        As :func:`loops_around` gives them.
    has_value : bool
        Whether a list has the word that is sent.
    **more
        Fields of the record that this does not say.
    """
    fact, fails, found = known(node, facts.Drops), known(node, facts.Fails), effects(function)
    keys = ("any", "value") if has_value else ("any", "source")
    drops = bool(
        fact and fact.by in keys and "elsewhere" not in known(node, facts.Needs).test
        and all(_alike(test, found, function, fact.by)
                for effect in found for test in effect.conditions))
    # A table keeps what it has seen in the rounds of a loop that is performed once.
    forgets = drops and not (fact and fact.ever and fails is not None and len(loops) == 1)
    return SentWord(value=has_value, late=node.to_filter is not None, drops=drops, forgets=forgets,
                    work=f"{function.name} (line {function.position.line})", **more)


def _alike(test, found, function, key):
    """Whether a condition that refuses an edge also refuses edges with the same destination and a
    key that is not smaller. ``found`` has the effects of the edge, which have one key."""
    if key == "value" and any(is_improvement(test, effect) for effect in found):
        return True
    source, _, *weights = function.parameters
    return not any(_is_local(part, name) for part in ir.walk(test) for name in (source, *weights))


def loops_around(program, node) -> list:
    """The loops around an instruction, the outermost first."""
    def find(body):
        for each in body:
            if each is node:
                return []
            if isinstance(each, ir.WhileLoop | ir.ForLoop):
                blocks, here = (each.body,), [each]
            elif isinstance(each, ir.HostBranch):
                blocks, here = (each.then, each.otherwise), []
            else:
                continue
            for block in blocks:
                found = find(block)
                if found is not None:
                    return here + found
        return None

    return find(program.body) or []


def sums_fit(program, node, graph, vector, beginning) -> bool:
    """Whether no sum of a word that is sent and a weight passes 32 bits.

    So it is if such sums alone change the words, early, and only for the better. Then a word is the
    sum of a path that leaves no vertex twice, from a vertex of the first set.

    Parameters
    ----------
    program : GraphProgram
    node : EdgeSetIterator
        Its function brings such sums only.
    graph : Graph
        The graph that it goes through.
    vector : str
        The vector of the word that is sent.
    beginning : callable
        ``beginning(*names)``: the words of ``vector`` that the vertices of sets have when the first
        operator begins.
    """
    loops = loops_around(program, node)
    if known(node, facts.Early) is None or node.tracking != vector or loops != [
            each for each in program.body if each in loops]:
        return False
    before = program.body[:next(at for at, each in enumerate(program.body) if each is loops[0])]
    operators = ir.EdgeSetIterator | ir.VertexSetIterator | ir.VertexFilter
    blocks = ir.WhileLoop | ir.ForLoop | ir.HostBranch
    if any(isinstance(each, operators) for each in ir.instructions(before)) or any(
            vector in written(program, each) for each in ir.instructions(loops[0].body)
            if each is not node and not isinstance(each, blocks)):
        return False
    words = beginning(asks_for_vertices(loops[0].condition), node.input_vset)
    heaviest = np.zeros(graph.num_vertices, np.uint64)
    np.maximum.at(heaviest, graph.src, graph.weights)
    return int(words.max(initial=0)) + int(heaviest.sum()) < WORD - 1
