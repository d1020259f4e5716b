"""Every error: the RTL reports the cause, warp, PC and address that the simulator reports.

Only the last warp executes the failing instruction, with some of its lanes active. The other warps
have ended or wait.
"""

import dataclasses
import pathlib

import numpy as np
import pytest

from checks.campaign.machines import CONFIGS, Launch, machine, run, verify
from hw.isa import STACK_POINTER, Cause, Csr, MemoryMap, encode
from hw.registers import Checks
from sim.errors import SimulationError
from sw.compile.asm.assembler import Assembler, Condition, GeneralRegister


GLOBAL, LOCAL = MemoryMap.GLOBAL, MemoryMap.LOCAL
#: Configurations for errors: with several lanes and warps, and with one lane or one warp.
NAMES = ("tiny", "bare", "one", "scalar")


class Program(Assembler):
    """An assembler that also takes raw words. Only the last warp executes the program's body."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.last = config.warps - 1
        first, self.sp = self.regs("first", "sp")
        assert self.sp.number == STACK_POINTER        # nothing else writes it
        self.free(first)
        warp, last = self.regs("warp", "last")
        self.csrr(warp, Csr.WARP_ID)
        self.li(last, self.last)
        with self.if_uniform(Condition("ne", warp, last)):
            self.end_warp()
        self.free(warp, last)
        self._raw = {}

    def word(self, value):
        """Emit any word as an instruction."""
        self._raw[self.here // 4] = value
        self.nop()

    def case(self):
        words = list(self.finish().words)
        for index, value in self._raw.items():
            words[index] = value
        return Launch((*words, encode("tmc", rs1=0)))


def fails(name, program, cause, address=None):
    """Run a program and compare its failure with the simulator's."""
    case = program.case() if isinstance(program, Program) else program
    got = verify(machine(name), case)
    assert got.failure is not None and got.failure.cause is cause, got.failure
    if address is not None:
        assert got.failure.address == address & 0xFFFF_FFFF, got.failure


def body(name):
    program = Program(CONFIGS[name])
    return program, program.reg("x"), program.reg("y")


@pytest.mark.parametrize("name", NAMES)
def test_traps(name):
    for word, cause in ((encode("ecall"), Cause.ECALL), (encode("ebreak"), Cause.BREAKPOINT)):
        program, x, y = body(name)
        program.addi(x, y, 1)
        program.word(word)
        fails(name, program, cause, word)


ILLEGAL = [0, 0xFFFF_FFFF, 0x0415_C533, 0x0000_100B, encode("csrrs", rd=3, csr=0x300),
           encode("csrrs", rd=0, csr=0xCC5), encode("csrrw", rd=3, csr=Csr.MSCRATCH),
           encode("csrrw", rd=0, rs1=0, csr=Csr.THREAD_ID),
           encode("csrrsi", rd=3, imm=1, csr=Csr.THREAD_ID),
           encode("csrrs", rd=3, rs1=4, csr=Csr.CYCLE), encode("csrrci", imm=31, csr=Csr.NUM_WARPS)]


@pytest.mark.parametrize("name", NAMES)
def test_illegal(name):
    words = list(ILLEGAL)
    if CONFIGS[name].gather == "none":
        words += [encode("weaver.dec_id", rd=3), encode("weaver.reg", rs1=1, rs2=2, rs3=3),
                  encode("weaver.skip", rs1=4), encode("weaver.dec_loc", rd=5),
                  encode("weaver.dec", rd=3, rs2=5)]
    if CONFIGS[name].divider == "none":
        words += [encode(name, rd=3, rs1=1, rs2=2) for name in ("div", "divu", "rem", "remu")]
    for word in words:
        program, x, y = body(name)
        program.word(word)
        fails(name, program, Cause.ILLEGAL, word)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", [2, 0x3E, "end", "beyond", 0x8000_0000, 0xFFFF_FFFC])
def test_jump_to_where_there_is_nothing(name, target):
    size = CONFIGS[name].imem_bytes
    target = {"end": size, "beyond": 4 * size + 8}.get(target, target)
    program, x, y = body(name)
    program.li(x, target | 1)           # JALR clears bit 0
    program.jalr(y, x, 0)
    fails(name, program, Cause.FETCH_ACCESS, target)


@pytest.mark.parametrize("name", NAMES)
def test_branch_and_jump_out_of_memory(name):
    size = CONFIGS[name].imem_bytes
    for word, offset in ((encode("beq", imm=-4096), -4096), (encode("jal", rd=1, imm=-8192), -8192),
                         (encode("jal", imm=size), size), (encode("jal", imm=2), 2),
                         (encode("bgeu", imm=-2), -2)):
        program, x, y = body(name)
        place = program.here
        program.word(word)
        fails(name, program, Cause.FETCH_ACCESS, place + offset)


def test_branch_not_taken_goes_nowhere():
    program, x, y = body("tiny")
    program.word(encode("bne", imm=-4096))
    assert verify(machine("tiny"), program.case()).failure is None


@pytest.mark.parametrize("name", NAMES)
def test_runs_past_the_end_of_memory(name):
    size = CONFIGS[name].imem_bytes
    program, x, y = body(name)
    program.li(x, size - 8)
    program.jalr(program.zero, x, 0)
    case = program.case()
    words = [*case.words, *[0] * (size // 4 - len(case.words))]
    words[-2:] = [encode("addi"), encode("addi")]
    fails(name, Launch(tuple(words)), Cause.FETCH_ACCESS, size)
    words[-1] = encode("beq", imm=8)
    fails(name, Launch(tuple(words)), Cause.FETCH_ACCESS, size + 4)


def test_past_the_program_is_illegal():
    program, x, y = body("tiny")
    program.li(x, 0x1000)
    program.jalr(program.zero, x, 4)
    fails("tiny", program, Cause.ILLEGAL, 0)


def test_what_an_earlier_program_left_is_illegal():
    machine("tiny").load_program([encode("addi")] * 64 + [encode("tmc")])
    fails("tiny", Launch((encode("addi"),)), Cause.ILLEGAL, 0)


#: Instruction, causes of misalignment and of access, and its alignment.
ACCESSES = [(name, Cause.LOAD_MISALIGNED, Cause.LOAD_ACCESS, size)
            for name, size in (("lb", 1), ("lhu", 2), ("lw", 4))]
ACCESSES += [(name, Cause.STORE_MISALIGNED, Cause.STORE_ACCESS, size)
             for name, size in (("sb", 1), ("sh", 2), ("sw", 4), ("amoadd_w", 4),
                                ("amoswap_w", 4), ("amocas_w", 4))]


def access(program, method, address, value):
    """Emit a load, store or atomic. One of the atomics wants its old value."""
    if method.startswith("amo"):
        getattr(program, method)(value if method == "amoadd_w" else program.zero, value, address)
    else:
        getattr(program, method)(value, address, 0)


def lanes_at(program, into, good, bad):
    """Set ``into`` to a bad address in the lanes from the middle on, a different one in each."""
    threads = program.config.threads
    with program.scope("lane", "odd") as (lane, odd):
        program.csrr(lane, Csr.THREAD_ID)
        program.sltiu(odd, lane, threads // 2)      # the lower half
        program.neg(odd, odd)
        program.li(into, good ^ bad)
        program.and_(into, into, odd)
        program.li(odd, bad)
        program.xor(into, into, odd)
        program.slli(lane, lane, 4)
        program.add(into, into, lane)
    return threads // 2


@pytest.mark.parametrize("name", ("tiny", "one"))
@pytest.mark.parametrize("method, misaligned, unmapped, size", ACCESSES)
def test_memory(name, method, misaligned, unmapped, size):
    config = CONFIGS[name]
    limit = GLOBAL + config.memory_bytes
    bad = [(address, unmapped) for address in
           (0, config.imem_bytes, LOCAL - 64, LOCAL + config.local_bytes, 0x2000_0000, GLOBAL - 64,
            limit, 0xFFFF_FF00)]
    bad += [(base + offset, misaligned) for offset in range(1, 4) if offset % size
            for base in (GLOBAL + 64, LOCAL + 64, 0x4000_0000)]
    for address, cause in bad:
        program, x, y = body(name)
        first = lanes_at(program, x, GLOBAL + 256, address)
        access(program, method, x, y)
        fails(name, program, cause, address + 16 * first)


def test_of_many_failing_lanes_the_lowest_is_reported():
    program, x, y = body("tiny")
    program.csrr(y, Csr.THREAD_ID)
    program.li(x, GLOBAL + 0x101)
    program.add(x, x, y)
    program.slli(y, y, 28)
    program.add(x, x, y)                # lane 0 misaligned, the others unmapped as well
    program.li(y, 0b1110)
    program.tmc(y)
    program.lw(y, x, 0)
    fails("tiny", program, Cause.LOAD_MISALIGNED, GLOBAL + 0x102 + (1 << 28))


def test_inactive_lanes_do_not_fail():
    program, x, y = body("tiny")
    program.csrr(x, Csr.THREAD_ID)
    program.slli(x, x, 30)
    program.li(y, GLOBAL)
    program.xor(x, x, y)                # 0x80000000, 0xc0000000, 0x00000000, 0x40000000
    program.li(y, 1)
    program.tmc(y)
    for method in ("lw", "sw", "amoadd_w"):
        access(program, method, x, y)
    assert verify(machine("tiny"), program.case()).failure is None


def deepest(program, x, y, extra):
    """SPLITs as deep as the stack is, and ``extra`` more; each with the mask widened again."""
    threads = program.config.threads
    program.csrr(y, Csr.THREAD_ID)
    program.li(x, -1)
    for _ in range(max(1, threads - 1) + extra):
        program.split(GeneralRegister(9, "x9"), y)
        program.tmc(x)


@pytest.mark.parametrize("name", ("tiny", "bare"))
def test_stack(name):
    program, x, y = body(name)
    deepest(program, x, y, 0)
    assert verify(machine(name), program.case()).failure is None
    program, x, y = body(name)
    deepest(program, x, y, 1)
    fails(name, program, Cause.STACK_OVERFLOW, encode("split", rd=9, rs1=y.number))


@pytest.mark.parametrize("name", NAMES)
def test_join_of_an_empty_stack(name):
    for pointer in (1, -1, 1 << 31):
        program, x, y = body(name)
        program.join(program.zero)      # the pointer is the stack's level: no effect
        program.li(x, pointer)
        program.join(x)
        fails(name, program, Cause.STACK_UNDERFLOW, encode("join", rs1=x.number))


@pytest.mark.parametrize("name", NAMES)
def test_barrier_number(name):
    barriers = CONFIGS[name].barriers
    for number in (barriers, 2 * barriers, 1 << 31, -1):
        program, x, y = body(name)
        program.li(x, number)
        program.li(y, 1)
        program.bar(x, y)
        fails(name, program, Cause.BARRIER_ID, number)


@pytest.mark.parametrize("name", NAMES)
def test_deadlock(name):
    config = CONFIGS[name]
    number = config.barriers - 1
    # The last warp waits for another that has ended.
    program, x, y = body(name)
    program.li(x, number)
    program.li(y, 2)
    program.bar(x, y)
    fails(name, program, Cause.BARRIER_DEADLOCK, number)
    # All warps come here together, and wait for one warp more. The lowest warp is reported.
    program = Assembler()
    x, y = program.regs("x", "y")
    program.li(x, number)
    program.li(y, config.warps + 1)
    program.bar(x, y)
    program.end_warp()
    fails(name, Launch(program.finish().words), Cause.BARRIER_DEADLOCK, number)


def test_deadlock_behind_the_last_word():
    config = CONFIGS["tiny"]
    words = [0] * (config.imem_bytes // 4)
    words[:3] = [encode("addi", rd=1, imm=3), encode("addi", rd=2, imm=9), encode("addi", rd=3)]
    words[3] = encode("jal", imm=config.imem_bytes - 16)
    words[-1] = encode("bar", rs1=1, rs2=2)
    fails("tiny", Launch(tuple(words)), Cause.BARRIER_DEADLOCK, 3)


def test_deadlock_at_different_barriers():
    program = Assembler()
    x, y = program.regs("x", "y")
    program.csrr(x, Csr.WARP_ID)
    program.addi(x, x, 1)
    program.li(y, 2)
    program.bar(x, y)
    program.end_warp()
    fails("tiny", Launch(program.finish().words), Cause.BARRIER_DEADLOCK, 1)


@pytest.mark.parametrize("name", NAMES)
def test_an_error_stops_all_warps_and_the_next_launch_is_good(name):
    config = CONFIGS[name]
    device = machine(name)
    good = Assembler()
    x, y = good.regs("x", "y")
    good.csrr(x, Csr.WARP_ID)
    good.li(y, GLOBAL)
    good.slli(x, x, 2)
    good.add(y, y, x)
    good.li(x, 7)
    good.amoadd_w(good.zero, x, y)
    good.end_warp()
    good = Launch(good.finish().words)
    before = run(device, good)
    # One warp fails while the others loop for ever, on memory and in a nest of their own.
    bad = Assembler()
    x, y, z = bad.regs("x", "y", "z")
    bad.csrr(x, Csr.THREAD_ID)
    bad.split(z, x)
    bad.csrr(y, Csr.WARP_ID)
    with bad.if_uniform(Condition("eq", y, bad.zero)):
        bad.ecall()
    bad.li(y, GLOBAL)
    top = bad.place("top")
    bad.lw(x, y, 64)
    bad.sw(x, y, 128)
    bad.j(top)
    for _ in range(3):
        bad_run = run(device, Launch(bad.finish().words))
        assert bad_run.failure.cause is Cause.ECALL and bad_run.failure.warp == 0
        after = run(device, good)
        assert after.failure is None
        assert np.array_equal(after.memory, before.memory)
        assert after.counters["instructions"] == before.counters["instructions"]
    assert config.warps == 1 or after.memory[1] == 7 * config.threads


# Checks that a launch asks for

#: Branches that part lanes 0 to 3: the operand beside the lane's number, and the lanes that part
#: from the lowest of lanes 0 to 3, and of lanes 2 and 3.
BRANCHES = [("beq", 2, 0b0100, 0b1000), ("bne", 0, 0b1110, 0), ("blt", 2, 0b1100, 0),
            ("bge", 3, 0b1000, 0b1000), ("bltu", 1, 0b1110, 0), ("bgeu", 1, 0b1110, 0),
            ("blt", -1, 0, 0), ("bltu", -1, 0, 0)]

#: Configurations with two pipelines, and with one lane.
CHECKED = ("tiny", "long", "scalar")


def parts(name, words, wrong, mask=-1):
    """Run words behind ``x = lane`` with the lanes of a mask. They fail if lanes are ``wrong`` and
    the launch checks that; the lowest lane decides if it does not."""
    program, x, y = body(name)
    program.csrr(x, Csr.THREAD_ID)
    program.li(y, mask)
    program.tmc(y)
    for word in words(program, x, y):
        program.word(word)
    case, wrong = program.case(), wrong & (1 << program.config.threads) - 1
    assert verify(machine(name), case).failure is None
    case = dataclasses.replace(case, checks=Checks(lanes=True))
    if wrong:
        fails(name, case, Cause.LANES_DISAGREE, wrong)
    else:
        assert verify(machine(name), case).failure is None


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("op, value, wrong, of_two", BRANCHES)
def test_lanes_that_disagree_at_a_branch(name, op, value, wrong, of_two):
    def words(program, x, y):
        program.li(y, value)
        return [encode(op, rs1=x.number, rs2=y.number, imm=8), encode("addi")]
    parts(name, words, wrong)
    if name != "scalar":
        parts(name, words, of_two, mask=0b1100)


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("high", [2, 31])
def test_lanes_that_disagree_at_a_jump(name, high):
    """Lane 1 and others have another target, by a low bit or by one beyond instruction memory."""
    def words(program, x, y):
        program.andi(x, x, 1)
        program.slli(x, x, high)
        program.auipc(y, 0)
        program.add(y, y, x)
        return [encode("jalr", rs1=y.number, imm=16), encode("addi"), encode("addi")]
    parts(name, words, 0b1010)
    parts(name, words, 0, mask=0b0101)


@pytest.mark.parametrize("name", CHECKED)
def test_a_jump_out_of_instruction_memory_goes_first(name):
    """The lowest lane's jump fails, though the other lanes stay."""
    program, x, y = body(name)
    program.csrr(x, Csr.THREAD_ID)
    program.slli(x, x, 3)
    program.li(y, 0x4000_0000)
    program.sub(y, y, x)
    program.word(encode("jalr", rs1=y.number))
    case = dataclasses.replace(program.case(), checks=Checks(lanes=True))
    fails(name, case, Cause.FETCH_ACCESS, 0x4000_0000)


#: Instructions behind which the stack pointer, first 0x8000_8000 - 16, is in its kilobyte or not.
MOVES = [(encode("addi", rd=2, rs1=2, imm=-16), False), (encode("addi", rd=2, rs1=2, imm=16), True),
         (encode("addi", rd=2, rs1=2, imm=-1008), False),
         (encode("addi", rd=2, rs1=2, imm=-1009), True),
         (encode("andi", rd=2, rs1=2, imm=-1024), False),
         (encode("lui", rd=2, imm=0x80007), True), (encode("addi", rd=3, rs1=2, imm=-2000), False)]


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("word, leaves", MOVES)
def test_a_stack_that_is_left(name, word, leaves):
    """A move of the stack pointer within its block is right. Lanes that sleep do not count."""
    threads = CONFIGS[name].threads
    for mask in (-1, 1 << threads - 1):
        program, x, y = body(name)
        program.li(x, 1)
        program.li(y, 0x8000_8000 - 16)
        program.word(encode("mul", rd=2, rs1=x.number, rs2=y.number))
        program.li(y, mask)
        program.tmc(y)
        program.word(word)
        case, lanes = program.case(), mask & (1 << threads) - 1
        assert verify(machine(name), case).failure is None
        case = dataclasses.replace(case, checks=Checks(stack=1024))
        if not leaves:
            assert verify(machine(name), case).failure is None
            continue
        fails(name, case, Cause.LANE_STACK, lanes)
        assert run(machine(name), case).failure.lane == (lanes & -lanes).bit_length() - 1
        larger = dataclasses.replace(case, checks=Checks(lanes=True, stack=1 << 17))
        assert verify(machine(name), larger).failure is None


def test_stack_sizes():
    for size in (-1024, 1, 128, 1000, 1 << 21):
        with pytest.raises(ValueError, match=f"a stack of {size} bytes: must be 0, or a power of "
                                             "two from 256 to 1048576"):
            Checks(stack=size)
    assert Checks(lanes=True, stack=1024).word == 0xFFFF_FC01 and not Checks().word


def test_the_cycle_limit():
    program = Program(CONFIGS["tiny"])
    program.j(program.place("here"))
    case = program.case()
    device = machine("tiny")
    device.load_program(case.words)
    with pytest.raises(SimulationError) as caught:
        device.launch(0, 0, max_cycles=3000)
    assert caught.value.kind == "limit"
    assert 0 < caught.value.counters["cycles"] < 3200
    assert run(device, dataclasses.replace(case, words=(encode("tmc"),))).failure is None


def test_every_cause_is_produced_here():
    text = pathlib.Path(__file__).read_text()
    assert all(f"Cause.{cause.name}" in text for cause in Cause)
