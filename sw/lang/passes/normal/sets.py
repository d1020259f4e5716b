"""Sets and the operators over them: one name for each set, and one operator where two do the work
of one."""

import dataclasses
import itertools

from sw.lang import graph_ir as ir
from sw.lang.passes.normal.effects import fails, live_names, reads_of
from sw.lang.passes.normal.functions import locals_of, renamed, replaced
from sw.lang.passes.rewrite import changed, changed_blocks
from sw.lang.types import Type
from sw.lang.uses import assigned


__all__ = ["joined_filters", "lifted_guards", "merged_functions", "one_name", "plain_queues",
           "without_results"]


def one_name(program):
    """Sets that have two names get one."""
    live = live_names(program)

    def block(body):
        for place, node in enumerate(body):
            match node:
                case ir.Assign(name=name, value=ir.HostName(name=other, type=Type.VERTEXSET)):
                    found = body[:place] + body[place + 1:] if name == other \
                        else _by_the_later(program, body, place, live) \
                        or _by_the_first(program, body, place, live)
                    if found is not None:
                        return found
        return body

    return changed_blocks(program, block)


def _by_the_first(program, body, place, live):
    """The block without ``name = other``, and with the other name from there on, if neither gets
    another set while the name is live; else None."""
    name, other = body[place].name, body[place].value.name
    rest = body[place + 1:]
    users = [number for number, node in enumerate(rest, 1)
             if any(name in reads_of(program, part) for part in ir.instructions((node,)))]
    if not users or name in live.get(id(rest[users[-1] - 1]), {name}) \
            or {name, other} & assigned(*rest[:users[-1]]):
        return None
    return (*body[:place], *(_with_set(node, name, other) for node in rest[:users[-1]]),
            *rest[users[-1]:])


def _by_the_later(program, body, place, live):
    """The block without ``name = other``, where the other is a result that needs no name of its
    own: it gets the name at once. None if it does."""
    name, other = body[place].name, body[place].value.name
    if other == ir.ALL or other in live[id(body[place])] or {name, other} & _queues(program):
        return None
    made = next((number for number in range(place - 1, -1, -1) if other in assigned(body[number])),
                None)
    if made is None:
        return None
    between = body[made + 1:place]
    if name in assigned(*between) \
            or any(name in reads_of(program, part) for part in ir.instructions(between)):
        return None
    match body[made]:
        case ir.EdgeSetIterator() | ir.VertexFilter() | ir.Dequeue() as node:
            first: ir.Node = dataclasses.replace(node, output_vset=name)
        case ir.NewVertexSet() as node:
            first = dataclasses.replace(node, name=name)
        case _:
            return None
    return (*body[:made], first, *(_with_set(node, other, name) for node in between),
            *body[place + 1:])


def _queues(program):
    return {node.name for node in ir.instructions(program.body) if isinstance(node, ir.NewQueue)}


def _with_set(node, name, other):
    """An instruction that reads a set by its other name."""
    def change(part):
        match part:
            case ir.SetSize() | ir.HostName() if part.name == name:
                return dataclasses.replace(part, name=other)
            case ir.VertexSum() | ir.EdgeSetIterator() | ir.VertexSetIterator() \
                    | ir.VertexFilter() if part.input_vset == name:
                return dataclasses.replace(part, input_vset=other)
        return None

    return replaced(node, change)


# Filters

def _is_own(function):
    """Whether a function of vertices reads and changes words of its own vertex only."""
    return all(function.parameter(part.index) == 0 for part in ir.walk(*function.body)
               if isinstance(part, ir.VectorLoad | ir.VectorStore | ir.Reduce))


def _test(program, name, parameter):
    """The truth value of a filter for the vertex of that name, or None if it has statements before.
    """
    function = program.function(name)
    if len(function.body) != 1:
        return None
    return renamed(function.body[0].value, {function.parameters[0]: parameter})


def _fresh(program, name):
    taken = {function.name for function in program.functions} | assigned(*program.body) | {
        part.name for part in (*program.vectors, *program.arguments)}
    while name in taken:
        name += "_"
    return name


def _with_function(program, function):
    return dataclasses.replace(program, functions=(*program.functions, function))


def _both(one, other):
    return ir.Binary(operation="and", left=one, right=other, type=Type.BOOL, position=one.position)


def joined_filters(program):
    """A set that only the next instruction reads, a filter or a function, and that is made by a
    filter, is not made: ``t = s.where(f)``, ``u = t.where(g)`` is one filter, and ``t.apply(f)`` a
    function with a branch. A function may not change what the filter reads at another vertex."""
    live, made = live_names(program), []

    def block(body):
        for place, (one, other) in enumerate(itertools.pairwise(body)):
            if made or not isinstance(one, ir.VertexFilter) \
                    or getattr(other, "input_vset", None) != one.output_vset:
                continue
            dead = one.output_vset not in live[id(other)] or one.output_vset in assigned(other)
            found = _joined(program, one, other) if dead else None
            if found is not None:
                function, node = found
                made.append(function)
                return (*body[:place], node, *body[place + 2:])
        return body

    program = changed_blocks(program, block)
    return _with_function(program, made[0]) if made else program


def _joined(program, one, other):
    """A function and the instruction that calls it, in place of a filter and what follows."""
    match other:
        case ir.VertexFilter():
            first = program.function(one.filter)
            own = first.parameters[0]
            tests = _test(program, one.filter, own), _test(program, other.filter, own)
            if None in tests:
                return None
            name = _fresh(program, f"{one.filter}_{other.filter}")
            give = ir.Give(value=_both(*tests), position=first.position)
            return dataclasses.replace(first, name=name, body=(give,)), dataclasses.replace(
                other, input_vset=one.input_vset, filter=name)
        case ir.VertexSetIterator():
            function = program.function(other.apply_f)
            test = _test(program, one.filter, function.parameters[0])
            if test is None or not (_is_own(program.function(one.filter)) and _is_own(function)):
                return None
            name = _fresh(program, f"{one.filter}_{other.apply_f}")
            body = (ir.Branch(condition=test, then=function.body, otherwise=(),
                              position=function.position),)
            return dataclasses.replace(function, name=name, body=body), dataclasses.replace(
                other, input_vset=one.input_vset, apply_f=name)
    return None


def lifted_guards(program):
    """A condition of an edge's function that only the destination's words decide is a filter of
    destinations. A filter is evaluated for all vertices, so it may not fail. An operator with
    EdgeBlocking takes no filter, and keeps its condition."""
    made: list = []

    def change(node):
        if made or not isinstance(node, ir.EdgeSetIterator) or _is_blocked(node):
            return node
        function = program.function(node.apply_f)
        match function.body:
            case (ir.Branch(otherwise=()) as branch,):
                pass
            case _:
                return node
        parts, target = _chain(branch.condition), function.parameters[1]
        moved: list = []
        kept: list = []
        for part in parts:
            names = {each.name for each in ir.walk(part) if isinstance(each, ir.Local)}
            # A part behind one that fails is not evaluated for all destinations.
            free = names == {target} and not fails([part, *kept], function.parameters)
            (moved if free else kept).append(part)
        if not moved:
            return node
        inner = branch.then if not kept else (dataclasses.replace(
            branch, condition=_all(kept)),)
        tests = [renamed(part, {target: "v"}) for part in moved]
        if node.to_filter is not None:
            before = _test(program, node.to_filter, "v")
            if before is None:
                return node
            tests.insert(0, before)
        edge = dataclasses.replace(function, name=_fresh(program, f"{function.name}_inner"),
                                   body=inner)
        test = ir.Function(
            name=_fresh(program, f"{function.name}_to"), parameters=("v",),
            body=(ir.Give(value=_all(tests), position=branch.condition.position),),
            position=branch.position)
        made.extend((edge, test))
        return dataclasses.replace(node, apply_f=edge.name, to_filter=test.name)

    program = changed(program, change)
    for function in made:
        program = _with_function(program, function)
    return program


def _is_blocked(node):
    _, _, *parts = node.metadata.get("hybrid", (None, None, node.metadata))
    return any(part.get("edge_blocking") for part in parts)


def _chain(node):
    if isinstance(node, ir.Binary) and node.operation == "and":
        return [*_chain(node.left), *_chain(node.right)]
    return [node]


def _all(parts):
    found = parts[0]
    for part in parts[1:]:
        found = _both(found, part)
    return found


# Functions of vertices

def merged_functions(program):
    """Neighbouring functions over one set are one, if every vertex may go through both before
    another begins: neither changes words that the other reads or changes at other vertices."""
    made: list = []

    def block(body):
        for place, (one, other) in enumerate(itertools.pairwise(body)):
            if made or not (isinstance(one, ir.VertexSetIterator)
                            and isinstance(other, ir.VertexSetIterator)
                            and one.input_vset == other.input_vset
                            and (one.label is None or other.label is None)):
                continue
            first, second = program.function(one.apply_f), program.function(other.apply_f)
            if not _may_merge(first, second):
                continue
            names = {second.parameters[0]: first.parameters[0]}
            taken = {*locals_of(*first.body), *first.parameters}
            own = locals_of(*second.body)
            for name in dict.fromkeys(own):
                fresh = name
                while fresh in taken or (fresh != name and fresh in own):
                    fresh += "_"
                names[name] = fresh
                taken.add(fresh)
            body_of_both = (*first.body, *(renamed(node, names) for node in second.body))
            name = _fresh(program, f"{first.name}_{second.name}")
            made.append(dataclasses.replace(first, name=name, body=body_of_both))
            both = dataclasses.replace(one, apply_f=name, label=one.label or other.label)
            return (*body[:place], both, *body[place + 2:])
        return body

    program = changed_blocks(program, block)
    return _with_function(program, made[0]) if made else program


def _may_merge(first, second):
    """Whether a vertex may go through both functions at once. A function changes a vector in one
    way, so a vector that both change must not be reduced."""
    def elsewhere(function):
        return function.touched().others | function.touched().reduces

    return not (elsewhere(first) & second.writes() or elsewhere(second) & first.writes()
                or first.touched().reduces & second.reads()
                or second.touched().reduces & first.reads())


# Results and queues

def without_results(program):
    """An operator of edges whose result nobody reads has none. One whose schedule says how to make
    the result keeps it."""
    live = live_names(program)
    queues = _queues(program)

    def change(node):
        if isinstance(node, ir.EdgeSetIterator) and node.output_vset is not None \
                and node.output_vset not in queues and id(node) in live \
                and node.output_vset not in live[id(node)] \
                and not {"output_representation", "apply_deduplication", "hybrid"} & set(
                    node.metadata):
            return dataclasses.replace(node, output_vset=None, tracking=None)
        return node

    return changed(program, change)


def plain_queues(program):
    """A queue without ``delta`` is a set: what leaves it are all its vertices, and what enters it
    next is all that it has. So it must be filled once between two times that it is emptied."""
    for queue in sorted(_queues(program)):
        found = _as_set(program, queue)
        if found is not None:
            return found
    return program


def _as_set(program, queue):
    """The program with a set in place of a queue; None if it must be a queue."""
    nodes = list(ir.instructions(program.body))
    if any(isinstance(node, ir.NewQueue) and node.name == queue and node.delta is not None
           for node in nodes):
        return None
    live = live_names(program)
    right = True

    def block(body):
        nonlocal right
        found: list = []
        for node in body:
            before = found[-1] if found else None
            match node:
                case ir.EdgeSetIterator(output_vset=name) if name == queue:
                    right = right and isinstance(before, ir.Dequeue) and before.queue == queue \
                        and before.output_vset == node.input_vset \
                        and node.input_vset not in live[id(node)]
                    if right:
                        found.pop()
                    node = dataclasses.replace(node, input_vset=queue)
                case ir.NewQueue(name=name) if name == queue:
                    node = ir.NewVertexSet(name=queue, vertices=node.vertices,
                                           position=node.position)
            found.append(node)
        return tuple(found)

    made = changed_blocks(program, block)
    left = any(isinstance(node, ir.Dequeue) and node.queue == queue
               for node in ir.instructions(made.body))
    return made if right and not left else None

