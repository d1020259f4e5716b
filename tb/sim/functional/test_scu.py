"""Operations of the SCU on the functional simulator, compared with the golden model.

========================  ========================================================================
random operations         test_random_operations: memory, results and errors, for narrow and wide
                          lines
beside a launch           test_beside_a_launch
no SCU                    test_without
========================  ========================================================================
"""

import random

import numpy as np
import pytest

from checks.campaign.operations import Operations, text
from hw.config import ConfigError, preset
from hw.isa import MemoryMap, encode
from hw.scu.registers import (ScuCommand, ScuOperation, ScuRegister, ScuResult, error_text)
from sim.errors import SimulationError
from sim.functional.machine import FunctionalSimulator
from sw.golden.scu import ScuModel
from tb.seeds import seed


CONFIG = preset("tiny").replace(memory_bytes=1 << 16, scu=4)

#: An operation that copies 16 words.
COPY = {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.DATA), ScuRegister.LENGTH: 16,
        ScuRegister.SOURCE: MemoryMap.GLOBAL, ScuRegister.DESTINATION: MemoryMap.GLOBAL + 0x100}


@pytest.mark.parametrize("threads", [4, 32])
def test_random_operations(threads):
    config = CONFIG.replace(threads=threads, l1_bytes=1 << 12, local_bytes=1 << 11)
    machine, failed = FunctionalSimulator(config), 0
    for number in range(4):
        memory = np.random.default_rng(seed(number)).integers(0, 256, machine.memory.nbytes,
                                                              np.uint8)
        machine.memory[:] = memory
        operations = Operations(random.Random(seed(number)), machine.memory, config.line_bytes)
        for _ in range(150):
            registers = operations.next()
            right = machine.memory.copy()
            expected = ScuModel(right, config.line_bytes).run(registers)
            try:
                got = machine.compact(registers)
            except SimulationError as error:
                assert str(error) == error_text(expected.error, expected.error_address)
                failed += 1
            else:
                assert not expected.error, text(registers)
                assert got == ScuResult(expected.result, expected.selected), text(registers)
            assert np.array_equal(machine.memory, right), text(registers)
    assert 20 < failed < 500


@pytest.mark.parametrize("seed_", [None, 1, 2])
def test_beside_a_launch(seed_):
    """The launch and the operation both happen, in either order."""
    machine = FunctionalSimulator(CONFIG, seed=seed_)
    machine.load_program([encode("lui", rd=1, imm=0x80000), encode("sw", rs1=1, rs2=1, imm=0x200),
                          encode("tmc")])
    machine.memory[:64] = range(64)
    assert machine.launch_beside(0, 0, COPY) == ScuResult(16, 0)
    assert (machine.memory[0x100:0x140] == range(64)).all()
    assert machine.read_memory(MemoryMap.GLOBAL + 0x200, 1)[0] == MemoryMap.GLOBAL
    assert machine.counters()["instructions"] == 3 * CONFIG.warps


def test_without():
    with pytest.raises(ConfigError, match="scu = 0: there is no SCU .* must be 1 or 4"):
        FunctionalSimulator(preset("tiny")).compact(COPY)
