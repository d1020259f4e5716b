"""Where the parts of a program stand, in the words of whoever has written it."""

from sw.lang.schedule import labelled


__all__ = ["place_of"]


def place_of(program, node) -> str:
    """The scoped label of an instruction of a program, as ``s0:s1``; its line if it has none."""
    for label, other in labelled(program).items():
        if other is node:
            return label
    return f"line {node.position.line}"
