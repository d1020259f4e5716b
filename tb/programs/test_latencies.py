"""The time that a load takes, by a lane that waits for each of a chain of loads."""

import numpy as np
import pytest

from hw.config import preset
from hw.isa import MemoryMap
from sim.native import NativeMachine
from sw.compile.asm.assembler import Assembler, Condition


#: A core of preset ``gpu`` with one warp, and all that does not make a lane wait as small as it may
#: be, since 32 lanes and eight banks take long to build. Lines have as many sectors.
CONFIG = preset("gpu").replace(cores=1, warps=1, threads=8, group_warps=0, local_bytes=1 << 12,
                               imem_bytes=1 << 12, l1_bytes=1 << 12, l1_mshrs=16, load_queue=16,
                               l2_bytes=1 << 16, l2_banks=1, l2_mshrs=16, memory_ports=1,
                               sector_bytes=8, gather="none", divider="none")


def _cycles(machine, lines, turns):
    """The cycles of a walk through some lines, a word of each, after a walk that warms caches."""
    a = Assembler()
    place, end, left = a.regs("place", "end", "left")
    a.li(left, turns)
    with a.while_uniform(Condition("ne", left, a.zero)):
        a.li(place, MemoryMap.GLOBAL)
        a.li(end, MemoryMap.GLOBAL + lines * CONFIG.line_bytes)
        with a.while_uniform(Condition("ne", place, end)):
            a.lw(place, place)
        a.addi(left, left, -1)
    a.end_warp()
    machine.flush(invalidate=True)
    starts = np.arange(lines) * CONFIG.line_bytes
    machine.memory.view(np.uint32)[starts // 4] = MemoryMap.GLOBAL + starts + CONFIG.line_bytes
    machine.load_program(a.finish().words)
    machine.clear_counters()
    machine.launch(0, 0)
    return machine.counters()["cycles"]


@pytest.fixture(scope="module")
def machine():
    with NativeMachine(CONFIG) as found:
        yield found


@pytest.mark.parametrize("lines, turns, low, high", [
    (64, 2, 30, 40), (1024, 2, 240, 265), (128, 1, 540, 570)], ids=["L1", "L2", "memory"])
def test_loads_of_preset_gpu(machine, lines, turns, low, high):
    """About 33 cycles from the L1, 250 from the L2, and 550 from memory, of which four are a
    step of the loop."""
    before = _cycles(machine, lines, turns - 1) if turns > 1 else 0
    each = (_cycles(machine, lines, turns) - before) / lines
    assert low < each < high
