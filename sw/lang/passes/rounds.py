"""What the rounds of a loop do as a whole: vectors that each round writes anew, and rounds that can
be counted before."""

from sw.lang import graph_ir as ir
from sw.lang.effects import conjuncts, effects, stored
from sw.lang.facts import Counted, Covered
from sw.lang.passes.rewrite import with_facts
from sw.lang.predicates import names_in
from sw.lang.uses import assigned, values_of


__all__ = ["rounds"]


def rounds(program):
    """Mark loops with :class:`~sw.lang.facts.Covered` and :class:`~sw.lang.facts.Counted`."""
    def facts(node):
        if not isinstance(node, ir.WhileLoop | ir.ForLoop):
            return
        sure, kept, writers = _covered(program, node)
        if writers:
            yield Covered(sure=sure, kept=kept, writers=writers,
                          why="written by one function of all vertices, in each round")
        unless = _unless(program, node)
        if unless is not None:
            yield Counted(unless=unless, why="neither a set nor a sum over one decides")

    return with_facts(program, facts)


def _covered(program, loop):
    writes: dict[str, list] = {}
    for node in ir.instructions(loop.body):
        if isinstance(node, ir.ElementStore):
            writes.setdefault(node.vector, []).append(node)
        elif isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator):
            for vector in program.function(node.apply_f).writes():
                writes.setdefault(vector, []).append(node)
    sure, kept, writers = set(), set(), []
    for vector, (node, *others) in sorted(writes.items()):
        if others or not isinstance(node, ir.VertexSetIterator) or node.input_vset != ir.ALL \
                or not any(node is each for each in loop.body):
            continue
        function = program.function(node.apply_f)
        if any(effect.kind != "store" for effect in effects(function)
               if effect.vector == vector):
            continue
        (sure if stored(function)[vector][1] else kept).add(vector)
        writers.append((vector, node.apply_f))
    return frozenset(sure), frozenset(kept), tuple(writers)


def _unless(program, loop):
    """Conditions of the host under which the rounds of a loop cannot be counted before; None if
    they never can."""
    if isinstance(loop, ir.ForLoop):
        return ()
    changing = assigned(loop)
    deciding, unless = {loop.condition: None}, []
    parameters = {argument.name for argument in program.arguments} - {
        node.name for node in ir.instructions(program.body)
        if isinstance(node, ir.Assign | ir.ForLoop)}

    def asks_device(value):
        return any(isinstance(part, ir.SetSize | ir.VertexSum) for part in ir.walk(value))

    def gather(body):
        """Whether all assignments of deciding names are found; adds what they read."""
        for node in body:
            match node:
                case ir.Assign() if node.name in names_in(*deciding):
                    deciding[node.value] = None
                case ir.HostBranch():
                    inner = assigned(node)
                    if not inner & names_in(*deciding):
                        continue
                    tests = conjuncts(node.condition)
                    given = [test for test in tests if not asks_device(test)
                             and names_in(test) <= parameters]
                    if not node.otherwise and asks_device(node.condition) and given:
                        if given not in unless:
                            unless.append(given)
                        continue
                    deciding[node.condition] = None
                    gather((*node.then, *node.otherwise))
                case ir.WhileLoop() | ir.ForLoop():
                    if assigned(node) & names_in(*deciding):
                        for value in values_of(node):
                            deciding[value] = None
                        gather(node.body)

    size = -1
    while size != len(deciding):
        size = len(deciding)
        gather(loop.body)
    if any(asks_device(value) for value in deciding) or not names_in(*deciding) & changing:
        return None
    return tuple(_all(tests) for tests in unless)


def _all(tests):
    node, *others = tests
    for other in others:
        node = ir.Binary(operation="and", left=node, right=other, type=node.type,
                         position=node.position)
    return node
