"""Functions of vertices, one after the other as one function.

A word that a function stores at its own vertex, and that a later function loads there, stays a
local variable. Then some stores may be dead, and are left out.
"""

import dataclasses

from sw.lang import graph_ir as ir


__all__ = ["certain_loads", "chained", "guarded", "loaded_behind", "may_chain",
           "stored_for_sure", "unconditional", "without_stores"]


#: The name of the vertex in a chain.
_VERTEX = "v"


def loaded_behind(body, stored=()) -> set[str]:
    """The vectors that are loaded behind a store into them, on any way through statements."""
    found, stored = set(), set(stored)
    for node in body:
        parts = [node.condition] if isinstance(node, ir.Branch) else [node]
        found |= {part.vector for part in ir.walk(*parts)
                  if isinstance(part, ir.VectorLoad) and part.vector in stored}
        if isinstance(node, ir.VectorStore):
            stored.add(node.vector)
        elif isinstance(node, ir.Branch):
            found |= loaded_behind(node.then, stored) | loaded_behind(node.otherwise, stored)
            stored |= {part.vector for part in ir.walk(node) if isinstance(part, ir.VectorStore)}
    return found


def may_chain(functions):
    """Whether a vertex may go through all functions before another vertex begins."""
    return all(not (one.writes() & other.touched().others
                    or other.writes() & one.touched().others)
               for place, one in enumerate(functions) for other in functions[place + 1:])


@ir.once
def certain_loads(function):
    """The loads of words at the function's own vertex, or at the ends of its edge, that every call
    makes; each once."""
    found, waiting = {}, []
    for node in function.body:
        waiting += [node.condition] if isinstance(node, ir.Branch) else node.parts()
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ir.VectorLoad) and function.parameter(node.index) is not None:
            found[node] = None
        elif isinstance(node, ir.Select):
            waiting.insert(0, node.condition)
        elif isinstance(node, ir.Binary) and node.operation in ("and", "or"):
            waiting.insert(0, node.left)
        else:
            waiting[:0] = node.parts()
    return tuple(found)


def guarded(function):
    """``(condition, body)``: the condition under which a function does anything, or None, and what
    it does then."""
    node, *others = function.body or (None,)
    if isinstance(node, ir.Branch) and not node.otherwise and not others:
        return node.condition, node.then
    return None, function.body


def unconditional(function, tracking):
    """``(always, rest)``: the reductions at the destination that a function of edges performs at
    each edge, by words of its ends, but for those of the tracked vector; and a function with all
    else."""
    def whole(node):
        return (isinstance(node, ir.Reduce) and node.vector != tracking
                and function.parameter(node.index) == 1
                and all(part.name in function.parameters[:2] for part in ir.walk(node.value)
                        if isinstance(part, ir.Local)))

    return tuple(filter(whole, function.body)), dataclasses.replace(
        function, body=tuple(node for node in function.body if not whole(node)))


def stored_for_sure(function):
    """{vector: value} of the stores that every call makes."""
    return {node.vector: node.value for node in function.body if isinstance(node, ir.VectorStore)}


def chained(functions, name="chain"):
    """One function that does what the functions do one after the other."""
    body: list[ir.Node] = []
    known: dict[str, ir.Node] = {}
    for place, function in enumerate(functions):
        names = {function.parameters[0]: _VERTEX} | {
            node.name: f"{node.name}_{place}" for node in ir.walk(*function.body)
            if isinstance(node, ir.Let)}
        for node in function.body:
            body += _statement(node, names, known, f"_{place}")
    return ir.Function(name=name, parameters=(_VERTEX,), body=tuple(body),
                       position=functions[0].position)


def _statement(node, names, known, suffix):
    """A statement of a function in the chain, as a list; ``known`` has the words that the vertex
    has stored."""
    node = _renamed(node, names, known)
    inner = {part.vector for part in ir.walk(node) if isinstance(part, ir.VectorStore)}
    if not isinstance(node, ir.VectorStore):
        for vector in inner:
            known.pop(vector, None)
        return [node]
    if isinstance(node.value, ir.Literal | ir.Uniform):
        known[node.vector] = node.value
        return [node]
    local = ir.Local(name=f"{node.vector}{suffix}", type=node.value.type, position=node.position)
    known[node.vector] = local
    return [ir.Let(name=local.name, value=node.value, position=node.position),
            dataclasses.replace(node, value=local)]


def _renamed(node, names, known):
    """A node with other names of variables, and with words that are known in place of loads."""
    match node:
        case ir.Local():
            return dataclasses.replace(node, name=names.get(node.name, node.name))
        case ir.Let():
            return dataclasses.replace(node, name=names[node.name],
                                       value=_renamed(node.value, names, known))
        case ir.VectorLoad(index=ir.Local(name=name)) if names.get(name) == _VERTEX \
                and node.vector in known:
            return known[node.vector]
        case ir.Branch():
            # A word that is stored inside is not known there from the first such store on.
            inner = {part.vector for part in ir.walk(*node.then, *node.otherwise)
                     if isinstance(part, ir.VectorStore)}
            inside = {vector: word for vector, word in known.items() if vector not in inner}
            return dataclasses.replace(
                node, condition=_renamed(node.condition, names, known),
                then=tuple(_renamed(part, names, inside) for part in node.then),
                otherwise=tuple(_renamed(part, names, inside) for part in node.otherwise))
    return node.with_parts(lambda part: _renamed(part, names, known))


def without_stores(function, dead, results=frozenset()):
    """The function without its stores into the ``dead`` vectors, and without the variables, but for
    the ``results``, and branches that nothing needs then."""
    def block(body, used):
        kept = []
        for node in reversed(body):
            match node:
                case ir.VectorStore() if node.vector in dead:
                    continue
                case ir.Let() if node.name not in used:
                    continue
                case ir.Branch():
                    outside = set(used)
                    then = block(node.then, used)
                    used_then = set(used)
                    used.clear()
                    used.update(outside)
                    otherwise = block(node.otherwise, used)
                    used.update(used_then)
                    if not then and not otherwise:
                        continue
                    node = dataclasses.replace(node, then=then, otherwise=otherwise)
                    used.update(_locals(node.condition))
                    kept.append(node)
                    continue
            used.update(_locals(node))
            kept.append(node)
        return tuple(reversed(kept))

    return dataclasses.replace(function, body=block(function.body, set(results)))


def _locals(node):
    return {part.name for part in ir.walk(node)
            if isinstance(part, ir.Local)}
