"""Every error of the simulator: its cause, the reported place, and an unchanged state."""

import numpy as np
import pytest

from base.errors import RunError
from hw.isa import CAUSE_DOCS, Cause, Csr, encode
from sw.golden.simulator import CoreError
from tb.sw.golden.simt_programs import END, shape, started


GLOBAL, LOCAL = 0x8000_0000, 0x1000_0000


def fails(cause, address, *program, pc=0, warp=0, text="", config=None, **registers):
    simulator = started(*program, config=config, **registers)
    before = [simulator.memory.copy(), simulator.local.copy(), simulator.registers.copy()]
    with pytest.raises(CoreError) as caught:
        simulator.run(limit=1000)
    error = caught.value
    assert (error.cause, error.core, error.warp, error.pc, error.address) == (
        cause, 0, warp, pc, address)
    assert isinstance(error, RunError) and error.counters == simulator.counters()
    for part in (f"warp {warp}", f"{pc:#010x}", f"{address:#010x}", CAUSE_DOCS[cause], text):
        assert part in str(error)
    assert not simulator.running
    return simulator, before


def unchanged(result):
    simulator, before = result
    for array, old in zip((simulator.memory, simulator.local, simulator.registers), before):
        assert np.array_equal(array, old)


NOP = encode("addi")


@pytest.mark.parametrize("word", [0, 0xFFFF_FFFF, 0x0415_C533, encode("weaver.dec_id", rd=3),
                                  encode("weaver.reg"), encode("csrrs", rd=3, csr=0x300),
                                  encode("csrrw", rd=3, csr=Csr.MSCRATCH),
                                  encode("csrrsi", rd=3, imm=1, csr=Csr.THREAD_ID),
                                  encode("csrrs", rd=3, rs1=4, csr=Csr.CYCLE)])
def test_illegal_instruction(word):
    fails(Cause.ILLEGAL, word, NOP, word, pc=4)


def test_ecall_and_ebreak():
    fails(Cause.ECALL, encode("ecall"), NOP, encode("ecall"), pc=4, text="(ecall)")
    fails(Cause.BREAKPOINT, encode("ebreak"), encode("ebreak"))


@pytest.mark.parametrize("target", [2, 0x4000, 0xFFFF_FFFC, GLOBAL])
def test_fetch_from_where_there_is_nothing(target):
    fails(Cause.FETCH_ACCESS, target, encode("jalr", rs1=1), x1=target, pc=target)


def test_fetch_past_the_program_is_illegal():
    fails(Cause.ILLEGAL, 0, encode("jalr", rs1=1), x1=0x100, pc=0x100)


@pytest.mark.parametrize("name, load", [("lw", True), ("lhu", True), ("sw", False), ("sh", False),
                                        ("amoadd.w", False)])
@pytest.mark.parametrize("base", [GLOBAL, LOCAL, 0])
def test_misaligned(name, load, base):
    # Two lanes fail. The lowest is reported.
    cause = Cause.LOAD_MISALIGNED if load else Cause.STORE_MISALIGNED
    addresses = [GLOBAL, base + 0x41, base + 0x43, GLOBAL]
    unchanged(fails(cause, base + 0x41, encode(name, rs1=1), x1=addresses))


@pytest.mark.parametrize("name", ["lb", "lw", "sb", "sw", "amoswap.w", "amocas.w"])
@pytest.mark.parametrize("address", [0, 0x3FFC, LOCAL - 4, LOCAL + 0x400, 0x2000_0000, GLOBAL - 4,
                                     GLOBAL + 0x1_0000, 0xFFFF_FFFC])
@pytest.mark.parametrize("good", [GLOBAL + 0xFFFC, LOCAL + 0x3FC])
def test_unmapped(name, address, good):
    cause = Cause.LOAD_ACCESS if name[0] == "l" else Cause.STORE_ACCESS
    unchanged(fails(cause, address, encode(name, rs1=1), x1=[good, good, address, 1 << 20]))


def test_inactive_lanes_do_not_fail():
    simulator = started(encode("lw", rd=3, rs1=1), encode("sw", rs1=1, rs2=3),
                        encode("amoadd.w", rd=3, rs1=1, rs2=3), x1=[1, GLOBAL, 3, 0])
    simulator.set_mask(simulator.warps[0], 2)
    simulator.step(0), simulator.step(0), simulator.step(0)


@pytest.mark.parametrize("threads", [2, 4, 8])
def test_stack_overflow(threads):
    # Each SPLIT leaves the lowest lane behind. The last of threads - 1 SPLITs is the deepest
    # possible. A further SPLIT would need a predicate that cannot arise, so the test takes a
    # smaller stack.
    config = shape(threads=threads)
    lanes = np.arange(threads)
    program = [word for depth in range(threads - 1) for word in (
        encode("sltiu", rd=4, rs1=1, imm=depth + 1), encode("xori", rd=4, rs1=4, imm=1),
        encode("split", rd=3, rs1=4))]
    simulator = started(*program, config=config, x1=lanes)
    simulator.run()
    simulator = started(*program, config=config, x1=lanes)
    simulator.stack_entries = threads - 2
    with pytest.raises(CoreError) as caught:
        simulator.run()
    assert caught.value.cause is Cause.STACK_OVERFLOW
    assert caught.value.pc == 4 * (len(program) - 1)


def test_stack_overflow_after_masks_were_widened():
    simulator = started(*[encode("split", rd=3, rs1=1), encode("tmc", rs1=2)] * 4,
                        x1=[0, 1, 1, 1], x2=15)
    with pytest.raises(CoreError) as caught:
        simulator.run()
    assert caught.value.cause is Cause.STACK_OVERFLOW and caught.value.pc == 3 * 8


def test_stack_underflow():
    fails(Cause.STACK_UNDERFLOW, encode("join", rs1=1), encode("join", rs1=1), x1=1,
          text="(join ra)")


def test_barrier_number():
    fails(Cause.BARRIER_ID, 4, encode("bar", rs1=1, rs2=2), x1=4, x2=1)


def test_deadlock_when_all_wait():
    fails(Cause.BARRIER_DEADLOCK, 1, NOP, encode("bar", rs1=1, rs2=2), x1=1, x2=3, pc=4)


def test_deadlock_when_the_last_runner_ends():
    # Warp 0 ends at once; warp 1 waits for it. In the other order the end of warp 0 finds the
    # error.
    program = [encode("csrrs", rd=3, csr=Csr.WARP_ID), encode("beq", rs1=3, rs2=0, imm=8),
               encode("bar", rs1=1, rs2=2)]
    fails(Cause.BARRIER_DEADLOCK, 0, *program, x1=0, x2=2, pc=8, warp=1)
    simulator = started(*program, x1=0, x2=2)
    for warp in (1, 1, 1, 0, 0):
        simulator.step(warp)
    with pytest.raises(CoreError) as caught:
        simulator.step(0)
    assert (caught.value.warp, caught.value.pc) == (1, 8)


def test_first_error_stops_all_warps():
    simulator, _ = fails(Cause.ECALL, encode("ecall"), encode("ecall"))
    assert simulator.counters()["instructions"] == 1
    simulator.load_program([END])
    simulator.start(0)
    simulator.run()
