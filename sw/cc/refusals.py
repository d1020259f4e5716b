"""What the pass cannot make right, and refuses by function and line."""

import re

from base.errors import UserError
from sw.cc.assembly import GLOBAL_SCRATCH, SCRATCH, SLOTS
from sw.cc.float_atomics import rounding_atomic


__all__ = ["check", "check_start"]


_RESERVED = (SCRATCH, GLOBAL_SCRATCH, SLOTS)


def check(program):
    """Look at all functions of a program.

    Parameters
    ----------
    program : sw.cc.uniformity.WholeProgram

    Raises
    ------
    UserError
        For the first instruction that cannot be made right.
    """
    for analysis in program.analyses.values():
        for line in analysis.function.lines:
            reason = _reason(line)
            if reason:
                raise analysis.function.refuse(line, reason)
        _check_labels(analysis.function)
        line = rounding_atomic(analysis.flow)
        if line is not None:
            raise analysis.function.refuse(
                line, "arithmetic of floats by an atomic: the last bits would depend on the order "
                "in which lanes come; let one lane own the sum, or add integers")
    _check_warps(program)


def check_start(units):
    """Refuse what a file wants to have called before ``main`` or after it: nothing does so."""
    for unit in units:
        for part in unit.parts:
            match = isinstance(part, str) and re.match(
                r"\s*\.section\s+\.(init|fini)_array", part)
            if match:
                kind = {"init": "constructor", "fini": "destructor"}[match[1]]
                raise UserError(f"{unit.file}: a {kind}, which nothing would call: call it from "
                                "main")


def _reason(line):
    """Why an instruction is refused, whatever is around it."""
    if line.name.startswith(("lr.", "sc.")):
        return (f"{line.name}: the hardware has no such instruction; atomics of 8 and 16 bits need "
                "it, those of 32 bits do not")
    if line.inline and line.changes_flow:
        return (f"assembly that changes the PC or the lanes ({line.text.strip()!r}): the pass "
                "would not know where lanes are")
    if line.inline and "sp" in line.written:
        return "assembly that moves the stack pointer"
    if "%tprel" in line.text:
        return "thread-local data: take an array with a place for each lane"
    if line.inline and any(name in _RESERVED for name in line.written):
        return f"assembly that writes {', '.join(_RESERVED)}, which the pass uses"
    taken = not line.inline and not line.moved and not line.mentioned().isdisjoint(_RESERVED)
    if taken or (line.moved and (line.ends_block or line.is_call)):
        return f"Clang uses one of {', '.join(_RESERVED)} here, which the pass needs"
    return None


def _check_labels(function):
    inline = False
    for item in function.items:
        text = item.strip() if isinstance(item, str) else ""
        if text.startswith("#"):
            inline = (inline and not text.startswith("#NO_APP")) or text.startswith("#APP")
        elif inline and text.partition("#")[0].strip().endswith(":"):
            raise UserError(f"{function.file}: in {function.name}: assembly with a label "
                            f"({text!r}): the pass would not know where lanes are")


def _check_warps(program):
    """Instructions that need all lanes of a warp must not stand where lanes may have parted."""
    parted, pointer = {}, None      # functions that may be called by a part of the lanes, and why
    left = []

    def call(function, why):
        if function not in parted:
            parted[function] = why
            left.append(function)

    def follow(analysis, nodes, why):
        nonlocal pointer
        for node in nodes:
            for line in analysis.flow.blocks[node].lines:
                if not line.is_call:
                    continue
                if line.callee is None:
                    pointer = pointer or f"by a pointer at {line.where}"
                    continue
                callee = program.find(analysis.function, line.callee)
                if callee is not None:
                    call(callee, why or f"at {line.where}")

    for analysis in program.analyses.values():
        follow(analysis, _apart(analysis), None)
    while left or pointer:
        if not left:
            for other in program.analyses.values():
                if other.taken:
                    call(other, pointer)
            if not left:
                break
        analysis = left.pop()
        follow(analysis, analysis.flow.targets, parted[analysis])
    for analysis in program.analyses.values():
        apart = _apart(analysis)
        for node in analysis.flow.targets:
            for line in analysis.flow.blocks[node].lines:
                if line.by_warp and (node in apart or analysis in parted):
                    where = f"; the function is called {parted[analysis]}" if node not in apart \
                        else ""
                    raise analysis.function.refuse(
                        line, f"{line.row.name} where the lanes of a warp may have parted{where}")


def _apart(analysis):
    """The blocks in which only some lanes may be active."""
    return set().union(*(analysis.flow.region(branch) for branch in analysis.parted))
