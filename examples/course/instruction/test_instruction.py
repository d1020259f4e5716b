"""The check of the exercise docs/course/instruction.md: the instruction ``clz``.

=====================  =============================================================
the table              test_encoding, test_neighbours_are_illegal, test_it_is_documented
the simulator          test_the_simulator
the ALU                test_lockstep, test_random_programs
=====================  =============================================================
"""

import functools

import numpy as np
import pytest

from base.installation import ROOT
from checks.campaign import lockstep
from checks.campaign.machines import Launch
from checks.campaign.random_programs import fitting_case
from hw.isa import BY_NAME, Csr, MemoryMap, decode, encode
from sw.cli import pages
from sw.golden.simulator import Simulator
from sw.compile.asm.assembler import Assembler
from hw.disassembler import disassemble


CONFIG = lockstep.shape("2x4")

VALUES = [0, 1, 2, 3, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x0001_0000, 0x0000_FFFF,
          *(1 << bit for bit in range(2, 31, 4)), 0x00FF_00FF, 0x0800_0001, 0x1234_5678]
VALUES += [0] * (-len(VALUES) % (CONFIG.warps * CONFIG.threads))


def test_encoding():
    """The word is that of the extension Zbb of RISC-V."""
    assert "clz" in BY_NAME, "the table of hw/isa.py has no row 'clz'"
    assert encode("clz", rd=10, rs1=11) == 0x6005_9513
    assert disassemble(0x6005_9513) == "clz a0, a1"


def test_neighbours_are_illegal():
    """Zbb has ``ctz`` and ``cpop`` in the same place, with 1 and 2 in the field of rs2."""
    for number in (1, 2, 31):
        assert decode(0x6005_9513 | number << 20) is None
    assert decode(0x6000_0033) is None


def test_it_is_documented():
    made = pages.pages()["isa.md"]
    assert "| `clz` |" in made
    assert (ROOT / "docs/isa.md").read_text() == made, "run ./graphloom docs"


@functools.cache
def program():
    """Each lane takes every eighth of the values, and stores clz in its place; then it stores the
    number of the highest lane whose value was odd, which takes a vote and a clz."""
    a = Assembler()
    lane, here, value, mask = a.regs("lane", "here", "value", "mask")
    a.csrr(here, Csr.WARP_ID)
    a.slli(here, here, 2)
    a.csrr(lane, Csr.THREAD_ID)
    a.add(here, here, lane)
    a.slli(here, here, 2)
    a.li(value, MemoryMap.GLOBAL)
    a.add(here, here, value)
    for turn in range(len(VALUES) // 8):
        a.lw(value, here, 32 * turn)
        a.vote_ballot(mask, value)
        a.clz(value, value)
        a.sw(value, here, 32 * turn)
        a.clz(mask, mask)
        a.sw(mask, here, 4 * len(VALUES) + 32 * turn)
    a.li(value, 2)
    a.tmc(value)                # lane 1 alone: the other lanes keep their registers
    a.clz(here, a.zero)
    a.clz(a.zero, here)
    a.li(value, -1)
    a.tmc(value)
    a.clz(lane, here)
    a.end_warp()
    return Launch(a.finish().words, memory=np.array(VALUES, np.uint32))


def test_the_simulator():
    simulator = Simulator(CONFIG)
    case = program()
    case.fill(simulator.memory)
    simulator.load_program(case.words)
    simulator.start(0, 0)
    simulator.run(limit=10_000)
    words = simulator.memory.view(np.uint32)
    assert words[:len(VALUES)].tolist() == [32 - value.bit_length() for value in VALUES]
    for row in range(len(VALUES) // 4):
        odd = sum((VALUES[4 * row + lane] & 1) << lane for lane in range(4))
        assert words[len(VALUES) + 4 * row] == 32 - odd.bit_length()
    assert simulator.registers[0, 0].tolist() == [0] * 4


@functools.cache
def machine():
    return lockstep.machine(CONFIG, lockstep.memory_of(CONFIG, 0))


def test_lockstep():
    """The RTL gives the simulator's value in every lane."""
    done = lockstep.compare(machine(), [program()])
    assert done.instructions == CONFIG.warps * len(program().words)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_programs(seed):
    """Random programs have the instruction, and the RTL agrees with the simulator."""
    case = fitting_case(CONFIG, seed, 400)
    row = BY_NAME["clz"]
    assert any(word & row.mask == row.match for word in case.words), \
        "checks/campaign/random_statements.py never emits clz"
    assert lockstep.compare(machine(), [case]).instructions > 400
