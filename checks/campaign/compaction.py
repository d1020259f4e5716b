"""Random operations of the SCU on a machine, compared with the golden model.

After each operation, the whole memory and the result registers are compared. The counters are
compared with the operation's work. Only the first part of a large memory is used and compared.
"""

import random

import numpy as np

from checks.campaign.machines import check_counters, differences
from checks.campaign.operations import Operations, text
from hw.registers import Register, Status
from hw.scu.registers import (SCU_BASE, ScuCommand, ScuOutput, ScuRegister, ScuResult, ScuStatus,
                              error_text)
from sim.errors import SimulationError
from sim.native import NativeMachine
from sw.golden.scu import ScuOutcome, ScuModel


__all__ = ["LARGEST", "LIMIT", "perform", "perform_random"]


#: Used bytes of memory, at most.
LARGEST = 1 << 22

#: Cycles after which an operation is stopped.
LIMIT = 5_000_000


def perform(machine: NativeMachine, registers) -> ScuOutcome:
    """Perform an operation on a machine and compare with the golden model.

    Memory, registers and counters are compared. The machine's caches must be empty. In a memory
    larger than :data:`LARGEST`, the operation must stay within the first :data:`LARGEST` bytes.
    Raises AssertionError at a difference.
    """
    config, memory = machine.config, machine.memory[:LARGEST]
    right = memory.copy()
    expected = ScuModel(right, config.line_bytes).run(registers)
    what = text(registers)
    machine.clear_counters()
    try:
        got = machine.compact(registers, max_cycles=LIMIT)
    except SimulationError as error:
        if error.kind != "device":
            raise AssertionError(f"{what}: {error}") from error
        assert expected.error, f"{what}: {error}"
        assert str(error) == error_text(expected.error, expected.error_address), what
    else:
        assert not expected.error, f"{what}: no error, expected {expected}"
        assert got == ScuResult(expected.result, expected.selected), what
    for _ in range(10):
        assert not machine._read(Register.STATUS)[0] & Status.BUSY, f"{what}: busy after its end"
    status, *found = machine._read(SCU_BASE + ScuRegister.STATUS, 5)
    assert status == (ScuStatus.ERROR if expected.error else ScuStatus.DONE), what
    assert ScuOutcome(*found) == expected, f"{what}: {ScuOutcome(*found)}, expected {expected}"
    counters = machine.counters()
    machine.flush(invalidate=True)
    if not np.array_equal(memory, right):
        raise AssertionError(f"{what}: " + differences(right.view(np.uint32),
                                                       memory.view(np.uint32)))
    check_counters(config, counters)
    if config.counters:
        assert counters["scu_operations"] == 1, what
        assert counters["l2_accesses"] == counters["scu_reads"] + counters["scu_writes"], what
        output = (registers[ScuRegister.COMMAND] & ScuCommand.OUTPUT) >> 4
        if not expected.error and output == ScuOutput.DATA:
            assert counters["scu_elements"] == expected.result, what
    return expected


def perform_random(machine: NativeMachine, seed, count, **settings) -> list:
    """Perform random operations on random memory. Returns the outcome of each operation.

    ``settings`` are those of :class:`~checks.campaign.operations.Operations`. If the memory is
    larger than :data:`LARGEST`, no operation has errors.
    """
    machine.flush(invalidate=True)
    memory = machine.memory[:LARGEST]
    if memory.nbytes < machine.memory.nbytes:
        settings["errors"] = 0
    memory[:] = np.random.default_rng(seed).integers(0, 256, memory.nbytes, np.uint8)
    operations = Operations(random.Random(seed), memory, machine.config.line_bytes, **settings)
    return [perform(machine, operations.next()) for _ in range(count)]
