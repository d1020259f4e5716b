"""Which loops can run on a device as one kernel (UGF, 5.2.1).

The host then does nothing from the loop's first round to its last. So all that it would do in the
loop must be work of a device:

- operators, filters and sums over sets, queues that are there before, branches, and loops in loops;
- whole numbers of 64 bits and truth values: they are compared, chosen, added and subtracted. The
  host's numbers have any size, so a number that the loop changes may be added to numbers that
  stay, but not to another that changes, nor be multiplied. Then it grows by one step a round, and
  fits in 64 bits.

Values that the loop does not change may be anything: the host computes them before.
"""

import dataclasses
from collections.abc import Iterator

from sw.lang import graph_ir as ir
from sw.lang.passes.rewrite import changed, marked
from sw.lang.types import LanguageError, Position, Type
from sw.lang.uses import assigned, calls, choices, values_of


__all__ = ["kernel_fusion", "uniforms", "varies"]


#: Operations of numbers that change in a fused loop.
_OPERATIONS = frozenset({"+", "-", "min", "max", "and", "or", "not",
                         "==", "!=", "<", "<=", ">", ">="})

#: Types of the host's variables that a fused loop may change.
_KINDS = (Type.WHOLE, Type.BOOL, Type.UINT, Type.VERTEX, Type.VERTEXSET)


def kernel_fusion(program):
    """Mark loops with ``can_fuse``.

    Raises
    ------
    LanguageError
        If a schedule asks for the fusion of a loop that cannot be one kernel (``needs_fusion``).
        The place is that of the obstacle.
    """
    def change(node):
        if not isinstance(node, ir.WhileLoop | ir.ForLoop):
            return node
        obstacle = next(_obstacles(program, node), None)
        if node.metadata.get("needs_fusion") and obstacle is not None:
            name = f"{node.label!r} " if node.label else ""
            raise LanguageError(
                obstacle.position, f"{obstacle.why}, so the loop {name}of line "
                f"{node.position.line} cannot be one kernel; use no_fusion")
        return marked(node, can_fuse=obstacle is None)

    return changed(program, change)


@dataclasses.dataclass(frozen=True)
class _Obstacle:
    """Something that only the host can do."""
    position: Position
    why: str


def varies(value, names) -> bool:
    """Whether an expression of the host may change while a loop changes these names. A sum over
    vertices always may."""
    return any(isinstance(part, ir.VertexSum)
               or (isinstance(part, ir.HostName | ir.SetSize) and part.name in names)
               for part in ir.walk(value))


def uniforms(program, node) -> list[ir.Uniform]:
    """The values that the functions of an instruction get from the host."""
    return [part for name in calls(node) for part in ir.walk(*program.function(name).body)
            if isinstance(part, ir.Uniform)]


def _obstacles(program, loop) -> Iterator[_Obstacle]:
    """The obstacles of a loop, those of loops in it among them."""
    names = assigned(loop)
    for node in ir.instructions((loop,)):
        match node:
            case ir.NewQueue():
                yield _Obstacle(node.position, "the host makes a queue here")
            case ir.NewVertexSet():
                yield _Obstacle(node.position, "the host makes a set of vertices here")
            case ir.ElementStore():
                yield _Obstacle(node.position, "the host stores an element here")
            case ir.Assign() if node.value.type not in _KINDS:
                yield _Obstacle(node.value.position, "this is computed with decimals, which only "
                                                     "the host has")
            case ir.Assign() if _moving(node.value, names) > 1:
                yield _Obstacle(node.value.position, "this adds numbers that change in the loop")
        for value in values_of(node):
            yield from _of_value(value, names)
        for uniform in uniforms(program, node):
            if not varies(uniform.value, names):
                continue
            if uniform.type in (Type.FIXED, Type.FRACTION):
                yield _Obstacle(uniform.position, "the host computes this number of fixed point "
                                                  "in each round")
            yield from _of_value(uniform.value, names)


def _of_value(value, names) -> Iterator[_Obstacle]:
    """The obstacles of an expression of the host."""
    if value.type is Type.VERTEXSET or not varies(value, names):
        return
    parts = list(ir.walk(value))
    for part in parts:
        if getattr(part, "type", None) is Type.DECIMAL:
            yield _Obstacle(part.position, "this is computed with decimals, which only the host "
                                           "has")
    for part in parts:
        if isinstance(part, ir.Unary | ir.Binary) and varies(part, names) \
                and part.operation not in _OPERATIONS:
            yield _Obstacle(part.position, f"only the host can compute {part.operation} of a "
                                           "number that changes in the loop")
        for choice in choices(part):
            if any(isinstance(each, ir.VertexSum) for each in ir.walk(choice)):
                yield _Obstacle(choice.position, "the host computes this sum in some rounds only; "
                                                 "give it a name before")


def _moving(value, names) -> int:
    """How many numbers that change in the loop an expression adds up at most."""
    match value:
        case ir.HostName():
            return int(value.name in names and value.type is Type.WHOLE)
        case ir.VertexSum():
            return 1
        case ir.Binary(operation="+" | "-"):
            return _moving(value.left, names) + _moving(value.right, names)
        case ir.Binary(operation="min" | "max"):
            return max(_moving(value.left, names), _moving(value.right, names))
        case ir.Select():
            return max(_moving(value.then, names), _moving(value.otherwise, names))
    return 0
