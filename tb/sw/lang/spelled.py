"""Passes over programs as they are spelled."""

from sw.lang.passes import PASSES


__all__ = ["analysed"]


def analysed(program, after=None):
    """The program after all passes, or up to one, but for ``normal``: it leaves little of small
    programs whose results nobody reads, and takes the spellings that a test is about."""
    for name, step in PASSES.items():
        if name != "normal":
            program = step(program)
        if name == after:
            break
    return program
