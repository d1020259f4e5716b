"""What parts of a program read, change, and may fail at: the side conditions of the rewrites."""

from sw.lang import graph_ir as ir
from sw.lang.faults import candidates, is_candidate, kinds_of
from sw.lang.types import Named, Type
from sw.lang.uses import assigned, calls, values_of


__all__ = ["drops", "fails", "has_sum", "host_fails", "is_plain", "live_names", "own_fails",
           "plain_names", "reads_of", "sure_names", "used_names"]


#: Operations of the host's numbers that refuse ``infinity``.
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"})

#: A number of fixed point up to this fits with every number of fraction bits.
_SURELY_FITS = 3

#: A number with which a counter may begin, so that it is a word as long as a run may last.
_FEW = 1 << 30


# Words

def fails(nodes, parameters=(), candidate=False) -> bool:
    """Whether expressions or statements of a function may fail (:mod:`sw.lang.faults`), lost
    candidates among it.

    Parameters
    ----------
    nodes : iterable of Node
    parameters : tuple of str
        The function's parameters.
    candidate : bool
        Whether the nodes are candidates.
    """
    for node in nodes:
        if own_fails(node, parameters, candidate):
            return True
        inner = candidates(node) if candidate else ()
        if isinstance(node, ir.Reduce) and is_candidate(node):
            inner = (node.value,)
        if candidate and isinstance(node, ir.Binary) and node.operation in ("+", "*") and inner:
            return True
        # The host computes its values before, for all calls.
        for part in () if isinstance(node, ir.Uniform) else node.parts():
            if fails((part,), parameters, any(part is each for each in inner)):
                return True
    return False


@ir.once
def sure_names(program) -> frozenset[str]:
    """The host's variables and parameters whose numbers are words: as a parameter, or as the number
    of a round, or as they begin with one and grow by a constant a round, of which a run has not so
    many."""
    sure = {argument.name for argument in program.arguments
            if argument.type in (Type.UINT, Type.VERTEX, Type.BOOL)}
    values: dict[str, list] = {}
    for node in ir.instructions(program.body):
        match node:
            case ir.Assign():
                values.setdefault(node.name, []).append(node.value)
            case ir.ForLoop():
                values.setdefault(node.name, [])
    return frozenset(sure - values.keys()) | {
        name for name, given in values.items() if all(_grows(value, name) for value in given)}


def _grows(value, name):
    match value:
        case ir.Literal(type=Type.WHOLE, value=number):
            return 0 <= number < _FEW
        case ir.Binary(operation="+", left=ir.HostName(name=left),
                       right=ir.Literal(type=Type.WHOLE, value=number)):
            return left == name and 0 <= number < 32
    return False


def drops(program, nodes, parameters=()) -> bool:
    """Whether expressions or statements of a function may be left out: they do not fail, and the
    values of the host that they read are words."""
    sure = sure_names(program)
    return not fails(nodes, parameters) and all(
        isinstance(part.value, ir.HostName) and part.value.name in sure
        and part.type in (Type.UINT, Type.VERTEX, Type.BOOL)
        for part in ir.walk(*nodes) if isinstance(part, ir.Uniform))


def own_fails(node, parameters=(), candidate=False) -> bool:
    """As :func:`fails`, for one node without those below it."""
    small = isinstance(node, ir.Literal) and node.value <= _SURELY_FITS
    return not small and bool(kinds_of(node, parameters, candidate))


# Numbers of the host

@ir.once
def plain_names(program) -> frozenset[str]:
    """The host's variables and parameters whose numbers are whole and never a named one, such as
    ``infinity``, for which arithmetic fails."""
    plain = {argument.name for argument in program.arguments if argument.type is Type.WHOLE}
    values: dict[str, list] = {}
    for node in ir.instructions(program.body):
        match node:
            case ir.Assign() if node.value.type is Type.WHOLE:
                values.setdefault(node.name, []).append(node.value)
            case ir.ForLoop():
                values.setdefault(node.name, [])
    plain |= values.keys()
    while True:
        kept = {name for name in plain
                if all(is_plain(value, plain) for value in values.get(name, ()))}
        if kept == plain:
            return frozenset(plain)
        plain = kept


def is_plain(node, plain) -> bool:
    """Whether an expression of the host is a whole number that is no named one."""
    match node:
        case ir.Literal():
            return node.type is Type.WHOLE and not isinstance(node.value, Named)
        case ir.HostName():
            return node.type is Type.WHOLE and node.name in plain
        case ir.Binary(operation="min" | "max"):
            return is_plain(node.left, plain) and is_plain(node.right, plain)
        case ir.Select():
            return is_plain(node.then, plain) and is_plain(node.otherwise, plain)
    return node.type is Type.WHOLE


def host_fails(program, node, plain) -> bool:
    """Whether an expression of the host may fail. A number grows by a sum or a difference with one
    that stays, or with a size, so it never has too many bits."""
    for part in ir.walk(node):
        match part:
            case ir.VertexSum():
                function = program.function(part.function)
                if not drops(program, function.body, function.parameters):
                    return True
            case ir.Binary(operation="+" | "-"):
                steady = [isinstance(each, ir.Literal | ir.SetSize | ir.GraphSize)
                          for each in (part.left, part.right)]
                if not any(steady) or not (is_plain(part.left, plain)
                                           and is_plain(part.right, plain)):
                    return True
            case ir.Binary() if part.operation in _ARITHMETIC:
                return True
    return False


def has_sum(node) -> bool:
    """Whether an expression of the host has a sum over a set: an operator, which a loop that is one
    kernel must perform in each round. So it stays where it is."""
    return any(isinstance(part, ir.VertexSum) for part in ir.walk(node))


# Instructions

def used_names(value) -> set[str]:
    """The names of the host in an expression, or anything below a node."""
    names = {part.name for part in ir.walk(value) if isinstance(part, ir.HostName | ir.SetSize)}
    return names | {part.input_vset for part in ir.walk(value) if isinstance(part, ir.VertexSum)}


def reads_of(program, node) -> set[str]:
    """The names of the host that an instruction reads, also for its functions; without the
    instructions in it."""
    names = set()
    for value in values_of(node):
        names |= used_names(value)
    for name in calls(node):
        for part in program.function(name).body:
            names |= used_names(part)
    names |= {getattr(node, field, None) for field in ("input_vset", "queue")} - {None}
    if isinstance(node, ir.EdgeSetIterator) and node.output_vset in _queues(program):
        names.add(node.output_vset)
    return names


@ir.once
def _queues(program):
    return {node.name for node in ir.instructions(program.body) if isinstance(node, ir.NewQueue)}


# What is live

@ir.once
def live_names(program) -> dict[int, frozenset[str]]:
    """The names of the host that are live behind each instruction, by the instruction's ``id``. A
    number that only decides about a dead number, such as a counter that nobody reads, is dead."""
    plain, found = plain_names(program), {}

    def block(body, live):
        for node in reversed(body):
            found[id(node)] = frozenset(live) | found.get(id(node), frozenset())
            match node:
                case ir.WhileLoop() | ir.ForLoop():
                    around = live | reads_of(program, node)
                    while True:
                        inside = block(node.body, around) - (
                            {node.name} if isinstance(node, ir.ForLoop) else set())
                        if inside <= around:
                            break
                        around = around | inside
                    live = around
                case ir.HostBranch():
                    live = (block(node.then, live) | block(node.otherwise, live)
                            | reads_of(program, node))
                case ir.Assign() if node.name not in live \
                        and not host_fails(program, node.value, plain):
                    pass
                case _:
                    live = (live - assigned(node)) | reads_of(program, node)
        return live

    block(program.body, set())
    return found
