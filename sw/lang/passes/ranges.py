"""Intervals of the words of vectors, whatever the graph and the parameters.

The interval of a vector has its initial words and all that is written; what depends on intervals of
vectors is computed again until nothing changes. An interval that keeps growing becomes that of all
numbers, or of all words.
"""

from sw.lang import graph_ir as ir
from sw.lang.effects import effects
from sw.lang.facts import Range
from sw.lang.passes.rewrite import with_facts
from sw.lang.predicates import ALL_WORDS, Knowledge
from sw.lang.types import LARGEST, WORD, Type


__all__ = ["ranges"]


#: Times that an interval may grow by computing alone.
_ROUNDS = 4


def ranges(program):
    """Mark vectors with :class:`~sw.lang.facts.Range`."""
    found = _intervals(program)

    def facts(node):
        if isinstance(node, ir.Vector) and found[node.name] != ALL_WORDS:
            low, high = found[node.name]
            yield Range(least=low, most=high, why="the initial words, and all that is written")

    return with_facts(program, facts)


def _intervals(program):
    values = Knowledge(program, {})
    used = {getattr(node, "apply_f", None) for node in ir.instructions(program.body)}
    done = [effect for function in program.functions if function.name in used
            for effect in effects(function)]
    stores = [node for node in ir.instructions(program.body) if isinstance(node, ir.ElementStore)]
    kinds = {vector.name: vector.type for vector in program.vectors}
    found = values.ranges = {vector.name: values.interval(vector.initial)
                             for vector in program.vectors}
    for node in stores:
        value = ir.Uniform(value=node.value, type=kinds[node.vector], position=node.position)
        low, high = found[node.vector]
        least, most = values.interval(value)
        found[node.vector] = min(low, least), max(high, most)
    rounds = 0
    while True:
        rounds += 1
        more = dict(found)
        for effect in done:
            low, high = more[effect.vector]
            new_low, new_high = _after(effect, (low, high), values.interval(effect.value),
                                       kinds[effect.vector])
            more[effect.vector] = min(low, new_low), max(high, new_high)
        if more == found:
            return found
        for name, (low, high) in more.items():
            if (low, high) != found[name] and rounds > _ROUNDS:
                top = high if high == found[name][1] else LARGEST if high <= LARGEST else WORD - 1
                more[name] = low if low == found[name][0] else 0, top
        found = values.ranges = more


def _after(effect, old, new, kind):
    """The interval of words behind an effect."""
    (low, high), (least, most) = old, new
    match effect.kind:
        case "min":
            return min(low, least), min(high, most)
        case "max":
            return max(low, least), max(high, most)
        case "+":
            return low, max(high, WORD - 1 if kind is Type.FIXED else LARGEST)
        case "or":
            return low, high | (1 << most.bit_length()) - 1 if most > high else max(
                high, (1 << high.bit_length()) - 1 if most else high)
    return least, most
