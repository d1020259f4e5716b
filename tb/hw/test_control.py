"""The control port with an SCU.

====================  ======================================================================
accesses of the SCU   accesses: its registers and nothing else; values come a cycle later,
                      from the right place after any earlier read
busy                  busy: high while the SCU is busy and until its events are counted;
                      commands are ignored meanwhile
====================  ======================================================================

test_gpu.py tests the rest of the control port with the whole GPU.
"""

import random

import cocotb
from cocotb.triggers import ReadOnly

from hw.config import HardwareConfig
from hw.control import ControlPort
from hw.counters import counting_cycles
from hw.registers import CORE_BASE, CORE_STRIDE, GPU_BASE, Control, Register, Status
from hw.scu.registers import SCU_BASE, SCU_REGISTERS
from tb import runner
from tb.clocking import integer, start, tick


FIELDS = {"cores": 2, "warps": 1, "threads": 4, "scu": 4}


def expected(address):
    """Source of the value at an address: the SCU, a counter, or neither."""
    if SCU_BASE <= address < SCU_BASE + SCU_REGISTERS:
        return "scu"
    return "counter" if GPU_BASE <= address < CORE_BASE + 2 * CORE_STRIDE else None


@cocotb.test()
async def accesses(dut):
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    edges = (SCU_BASE, SCU_BASE + SCU_REGISTERS, GPU_BASE, CORE_BASE, Register.ENTRY)
    dut.write.value, dut.address.value, dut.write_data.value = 1, Register.ARGUMENT, 0x1234
    await tick(dut)
    before = None
    for _ in range(2000):
        address = rng.choice((rng.choice(edges) + 4 * rng.randint(-2, 2),
                              SCU_BASE + 4 * rng.randrange(SCU_REGISTERS // 4),
                              Register.ARGUMENT, 4 * rng.randrange(1 << 14))) & 0xFFFC
        if address == Register.CONTROL:
            continue
        values = {"scu": rng.getrandbits(32), "counter": rng.getrandbits(32), None: None}
        read, write = rng.choice([(0, 0), (1, 0), (0, 1)])
        if address == Register.ARGUMENT:
            write = 0
        dut.read.value, dut.write.value, dut.address.value = read, write, address
        dut.write_data.value = rng.getrandbits(32)
        dut.scu_value.value, dut.counter_value.value = values["scu"], values["counter"]
        await ReadOnly()
        of_scu = expected(address) == "scu"
        assert integer(dut.scu_read) == (read and of_scu), hex(address)
        assert integer(dut.scu_write) == (write and of_scu), hex(address)
        reads_counter = integer(dut.gpu_read) | integer(dut.core_read)
        assert reads_counter == (read and expected(address) == "counter"), hex(address)
        if of_scu:
            assert integer(dut.offset) == address - SCU_BASE
        # The value read in the cycle before.
        if before is not None:
            right = values[expected(before)]
            if right is None and before == Register.ARGUMENT:
                right = 0x1234
            if right is not None:
                assert integer(dut.read_data) == right, hex(before)
        before = address if read else None
        await tick(dut)


@cocotb.test()
async def busy(dut):
    await start(dut)
    counting = counting_cycles(HardwareConfig(**FIELDS)) + 1
    assert counting > 20
    await tick(dut, counting + 1)
    await ReadOnly()
    assert not integer(dut.busy)
    await tick(dut)
    dut.scu_busy.value = 1
    for cycle in range(20):
        dut.write.value = cycle % 2
        dut.address.value, dut.write_data.value = Register.CONTROL, (
            Control.LAUNCH | Control.FLUSH | Control.CLEAR)
        dut.read.value = 0
        await ReadOnly()
        assert integer(dut.busy)
        assert not integer(dut.launch) | integer(dut.flush) | integer(dut.clear)
        await tick(dut)
    dut.write.value, dut.read.value, dut.address.value = 0, 1, Register.STATUS
    await tick(dut)
    await ReadOnly()
    assert integer(dut.read_data) == Status.BUSY
    await tick(dut)
    dut.scu_busy.value, dut.read.value = 0, 0
    for _ in range(counting):           # the SCU's last events are being counted
        await ReadOnly()
        assert integer(dut.busy)
        await tick(dut)
    await ReadOnly()
    assert not integer(dut.busy)


def test_control(simulator):
    runner.run_bench(ControlPort(HardwareConfig(**FIELDS)), "control", __name__,
                     simulator=simulator)
