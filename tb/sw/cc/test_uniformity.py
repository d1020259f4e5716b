"""Which branches may depend on the lane.

========================  ========================================================================
sources                   test_sources
loops, meeting places     test_where_lanes_meet
calls                     test_calls
========================  ========================================================================
"""

import pytest

from sw.cc.assembly import read_unit
from sw.cc.uniformity import WholeProgram


def parted(text, name="main"):
    """How many branches of a function may part lanes, of all its branches."""
    program = WholeProgram([read_unit(text, "f.c")])
    analysis = next(each for each in program.analyses.values() if each.function.name == name)
    return len(analysis.parted), len(analysis.flow.branches)


def function(name, *lines):
    return (f"\t.globl\t{name}\n\t.type\t{name},@function\n{name}:\n"
            + "".join(f"{line}\n" if line.endswith(":") else f"\t{line}\n" for line in lines)
            + f"\t.size\t{name}, .-{name}\n")


BRANCH = ("beqz\ta5, .L1", "nop", ".L1:", "ret")


@pytest.mark.parametrize("lines, differs", [
    (["mv\ta5, a0"], True), (["li\ta5, 3"], False), (["csrr\ta5, 0xCC0"], True),
    (["csrr\ta5, thread_id"], True), (["csrr\ta5, 0xCC1"], False),
    (["lw\ta5, 0(a1)"], False), (["lw\ta5, 0(a0)"], True), (["lw\ta5, 8(sp)"], True),
    (["li\ta4, 1", "sw\ta4, 8(sp)  # 4-byte Folded Spill",
      "lw\ta5, 8(sp)  # 4-byte Folded Reload"], False),
    (["sw\ta0, 8(sp)  # 4-byte Folded Spill", "lw\ta5, 8(sp)  # 4-byte Folded Reload"], True),
    (["amoadd.w\ta5, a1, (a2)"], True), ([".insn r 0x0B, 3, 1, a5, a0, x0"], False),
    ([".insn r CUSTOM_0, 3, 1, a5, a0, x0"], False),
    ([".insn r 0x0B, 7, 1, a5, a1, a2"], True), (["mv\ta5, a1", "add\ta5, a5, a0"], True),
    (["mv\ta5, a0", "mv\ta5, a1"], False), (["call\tunknown", "mv\ta5, a0"], True)])
def test_sources(lines, differs):
    """Argument 0 of ``main`` is the lane; the others are the same in all lanes."""
    assert parted(function("main", *lines, *BRANCH)) == (differs, 1)


def test_where_lanes_meet():
    """What is written between a branch and the meeting place differs there; what is written in a
    loop differs after it, and not in it."""
    written = function("main", "li\ta5, 0", "beqz\ta0, .L0", "li\ta5, 1", ".L0:", *BRANCH)
    assert parted(written) == (2, 2)
    before = function("main", "li\ta5, 0", "beqz\ta0, .L0", "li\ta4, 1", ".L0:", *BRANCH)
    assert parted(before) == (1, 2)
    counted = function("main", "li\ta5, 0", ".L0:", "addi\ta5, a5, 1", "li\ta4, 9",
                       "beq\ta5, a4, .L2", ".L2:", "bne\ta5, a0, .L0", *BRANCH)
    assert parted(counted)[0] == 2


def test_calls():
    callee = function("f", *BRANCH)
    for register, differs in (("a1", False), ("a0", True)):
        caller = function("main", f"mv\ta5, {register}", "call\tf", "ret")
        assert parted(callee + caller, "f")[0] == differs
    result = function("g", "mv\ta0, a1", "ret")
    assert parted(result + function("main", "call\tg", "mv\ta5, a0", *BRANCH))[0] == 0
    assert parted(result + function("main", "mv\ta1, a0", "call\tg", "mv\ta5, a0", *BRANCH))[0] == 1
    # A function whose address is taken may be called with anything.
    assert parted(callee + function("main", "lui\ta1, %hi(f)", "ret"), "f")[0] == 1
    assert parted(callee + "\t.word\tf\n" + function("main", "ret"), "f")[0] == 1
