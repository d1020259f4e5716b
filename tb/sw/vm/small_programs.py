"""Programs of a few lines."""

from sw.lang.reader import read_text


__all__ = ["program"]


def program(*lines, vectors=(), output="a"):
    """A program of some lines, with vectors ``a`` (uint), ``p`` (vertex), ``x`` (fixed) and more.

    The first of the lines is line 6 of the text.
    """
    head = ["@program", "def tried(edges: edgeset, source: vertex = 0, amount: uint = 3):"]
    own = ["a = vector(uint, lambda v: uint(v))", "p = vector(vertex, none)",
           "x = vector(fixed, 0)", *lines, *vectors]
    return read_text("\n".join([*head, *(f"    {line}" for line in own),
                                f"    return {output}", ""]))
