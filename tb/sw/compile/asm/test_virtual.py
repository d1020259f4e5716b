"""Virtual registers: allocated programs compute what a model computes lane by lane.

=====================  =========================================================
random programs        test_random_programs: with 31 registers, and with so few that constants are
                       recomputed and registers lie in local memory; divergent and uniform control
                       flow, several warps
constants              test_constants_leave_loops, test_constants_under_a_mask,
                       test_constants_are_recomputed
liveness               test_sides_of_a_split_share_registers, test_inactive_lanes_keep_values
two results            test_two_results, test_two_results_planted_fault
sections               test_sections
limits                 test_too_many_registers, test_local_memory_is_full
planted faults         test_planted_faults: a fault in each rule of liveness is noticed
=====================  =========================================================
"""

import random

import numpy as np
import pytest

from base.errors import UserError
from hw.config import HardwareConfig
from hw.isa import Csr, MemoryMap
from sw.golden.simulator import Simulator
from sw.compile.asm.assembler import AssemblyError, Condition, OutOfRegisters
from sw.compile.asm.colouring import RegisterFlow
from sw.compile.asm.virtual import VirtualAssembler
from sw.compile.local import LocalAllocator


THREADS, WARPS, VARIABLES = 8, 2, 14

_OPERATIONS = {"add": np.add, "sub": np.subtract, "xor": np.bitwise_xor, "mul": np.multiply,
               "sltu": lambda x, y: (x < y).astype(np.uint32)}


def simulate(assembler, words):
    """Run kernel ``main``; ``words`` words of global memory."""
    program = assembler.finish()
    config = HardwareConfig(warps=WARPS, threads=THREADS, memory_bytes=1 << 16)
    simulator = Simulator(config)
    simulator.load_program(program.words)
    simulator.start(program.entries["main"])
    simulator.run(limit=100_000)
    return simulator.memory[:4 * words].view(np.uint32), program


def assembler(registers=31):
    """An assembler in kernel ``main``."""
    local = LocalAllocator(HardwareConfig(warps=WARPS, threads=THREADS), WARPS)
    a = VirtualAssembler(lambda words: (local.reserve("registers", words, "warp"), 4 * words),
                         THREADS, registers)
    a.entry("main")
    a.part()
    return a


def start(a):
    """Registers with the number of the lane among all lanes, and the address of its word."""
    index, out = a.regs("index", "out")
    a.csrr(index, Csr.WARP_ID)
    a.slli(index, index, 3)
    a.csrr(out, Csr.THREAD_ID)
    a.add(index, index, out)
    a.slli(out, index, 2)
    base = a.reg("base")
    a.li(base, MemoryMap.GLOBAL)
    a.add(out, out, base)
    return index, out


class Random:
    """A random program: emitted, and computed by numpy for each lane.

    Statements are made once, as closures that do both.
    """

    def __init__(self, seed, registers):
        self.rng = random.Random(seed)
        self.a = a = assembler(registers)
        index, out = start(a)
        self.full = a.constant("full", -1, kept=True)
        lanes = np.arange(THREADS * WARPS, dtype=np.uint32)
        self.registers, self.values = a.regs(*(f"v{i}" for i in range(VARIABLES))), []
        for number, register in enumerate(self.registers):
            a.addi(register, index, 7 * number)
            self.values.append(lanes + np.uint32(7 * number))
        for _ in range(self.rng.randrange(4, 10)):
            self.top()
        for number, register in enumerate(self.registers):
            a.sw(register, out, 4 * THREADS * WARPS * number)
        a.end_warp()

    def run(self):
        """The stored words, and the words that the program must store."""
        memory, _ = simulate(self.a, VARIABLES * THREADS * WARPS)
        return memory, np.concatenate(self.values)

    # A statement with all lanes of a warp active

    def top(self):
        kind = self.rng.randrange(6)
        everyone = np.ones(THREADS * WARPS, bool)
        if kind == 0:
            self.uniform_loop(everyone)
        elif kind == 1:
            self.narrowed(everyone)
        elif kind == 2:
            self.lane_loop(everyone)
        elif kind == 3:
            self.chosen(everyone)
        else:
            self.block(everyone, 2)

    def chosen(self, mask):
        """Some lanes go on, and no branch leads around their statements."""
        a, lanes = self.a, self.rng.randrange(1, 1 << THREADS)
        p = a.reg("p")
        a.li(p, lanes)
        a.tmc(p)
        some = np.tile([bool(lanes >> lane & 1) for lane in range(THREADS)], WARPS)
        self.block(mask & some, 1)
        a.tmc(self.full)

    def uniform_loop(self, mask):
        a, turns = self.a, self.rng.randrange(1, 4)
        left = a.reg("left")
        a.li(left, turns)
        body = self.record(lambda: self.block(mask, 1))
        with a.while_uniform(Condition("ne", left, a.zero)):
            a.addi(left, left, -1)
            body.emit()
        for _ in range(turns):
            body.compute()

    def narrowed(self, mask):
        a = self.a
        p, after = a.reg("p"), a.label("after")
        number, bit = self.rng.randrange(VARIABLES), self.rng.randrange(3)
        a.srli(p, self.registers[number], bit)
        a.andi(p, p, 1)
        some = (self.values[number] >> np.uint32(bit) & np.uint32(1)).astype(bool)
        a.pred(p, self.full)
        a.beqz(p, after)
        self.block(mask & some, 1)
        a.tmc(self.full)
        a.place(after)

    def lane_loop(self, mask):
        """Each lane takes as many turns as its own number says."""
        a = self.a
        left, going = a.regs("left", "going")
        number = self.rng.randrange(VARIABLES)
        a.andi(left, self.registers[number], 3)
        turns = self.values[number] & np.uint32(3)

        def test():
            a.snez(going, left)
            return going
        body = self.record(lambda: self.block(None, 1))
        with a.while_(test, self.full):
            a.addi(left, left, -1)
            body.emit()
        for turn in range(3):
            body.compute(mask & (turns > turn))

    # Statements for some lanes

    def block(self, mask, depth):
        for _ in range(self.rng.randrange(1, 5)):
            if depth and self.rng.random() < 0.3:
                self.split(mask, depth - 1)
            else:
                self.assign(mask)

    def split(self, mask, depth):
        a = self.a
        p = a.reg("p")
        number, bit = self.rng.randrange(VARIABLES), self.rng.randrange(3)
        a.srli(p, self.registers[number], bit)
        a.andi(p, p, 1)
        some = (self.values[number] >> np.uint32(bit) & np.uint32(1)).astype(bool)
        # A temporary register that only the second side reads.
        late, (source, target) = a.reg("late"), self.rng.sample(range(VARIABLES), 2)
        a.xori(late, self.registers[source], 5)
        value = self.values[source] ^ np.uint32(5)
        with a.if_(p) as choice:
            self.block(mask & some, depth)
            if self.rng.random() < 0.7:
                choice.otherwise()
                self.block(mask & ~some, depth)
                a.mv(self.registers[target], late)
                self.values[target] = np.where(mask & ~some, value, self.values[target])

    def assign(self, mask):
        rng, a = self.rng, self.a
        name = rng.choice(list(_OPERATIONS))
        target, left, right = (rng.randrange(VARIABLES) for _ in range(3))
        other, value = self.registers[right], self.values[right]
        if rng.random() < 0.4:
            number = rng.choice((3, 100_000, 0x8000_0000, 0xFFFF_F800, rng.getrandbits(32)))
            other, value = a.constant("constant", number), np.uint32(number)
        # By way of temporary registers, which take what is thought to be free.
        chain = a.regs("t0", "t1", "t2")
        a.xori(chain[0], self.registers[left], 1)
        a.xori(chain[1], chain[0], 2)
        a.xori(chain[2], chain[1], 3)
        getattr(a, name)(self.registers[target], chain[2], other)
        with np.errstate(over="ignore"):
            result = _OPERATIONS[name](self.values[left], value)
        self.values[target] = np.where(mask, result, self.values[target])

    def record(self, make):
        """A block that is emitted in one place and computed several times: made from the present
        state of the random numbers."""
        return _Recorded(self, make)


class _Recorded:
    """A block of assignments, without divergence, whose effect can be computed again."""

    def __init__(self, program, make):
        self._program, rng = program, program.rng
        self._steps = []
        for _ in range(rng.randrange(2, 6)):
            target, left, right = (rng.randrange(VARIABLES) for _ in range(3))
            number = rng.getrandbits(32) if rng.random() < 0.5 else None
            self._steps.append((rng.choice(list(_OPERATIONS)), target, left, right, number))

    def emit(self):
        program = self._program
        for name, target, left, right, number in self._steps:
            other = program.registers[right]
            if number is not None:
                other = program.a.constant("constant", number)
            # A constant that this loop alone reads is not free behind its last use in the loop.
            temporary = program.a.reg("temporary")
            program.a.xori(temporary, program.registers[left], 0)
            getattr(program.a, name)(program.registers[target], temporary, other)

    def compute(self, mask=True):
        values = self._program.values
        for name, target, left, right, number in self._steps:
            other = values[right] if number is None else np.uint32(number)
            with np.errstate(over="ignore"):
                result = _OPERATIONS[name](values[left], other)
            values[target] = np.where(mask, result, values[target])


@pytest.mark.parametrize("registers", [31, 16, 9])
def test_random_programs(registers):
    for seed in range(15):
        got, expected = Random(seed, registers).run()
        assert got.tolist() == expected.tolist(), f"seed {seed}"


def words_in(program, first, last):
    """Names of the instructions between two labels."""
    texts = program.lines[program.labels[first] // 4:program.labels[last] // 4]
    return [text.split()[0] for text in texts]


def test_constants_leave_loops():
    """Nested loops, and a branch over the only use."""
    a = assembler()
    index, out = start(a)
    x, left = a.regs("x", "left")
    a.mv(x, a.zero)
    a.li(left, 3)
    skip = a.label("skip")
    a.place("outer")
    a.beqz(index, skip)
    a.add(x, x, a.constant("thousands", 5000))
    a.place(skip)
    a.addi(left, left, -1)
    a.bnez(left, a._labels["outer"])
    a.place("end")
    a.sw(x, out)
    a.end_warp()
    memory, program = simulate(a, THREADS * WARPS)
    assert memory.tolist() == [0] * THREADS + [15000] * THREADS     # as lane 0 of the warp says
    assert words_in(program, "outer", "end") == ["beq", "add", "addi", "bne"]


def test_constants_under_a_mask():
    """A constant that is used first by some lanes and then by all is loaded by all."""
    a = assembler()
    index, out = start(a)
    full, value = a.constant("full", -1, kept=True), a.constant("value", 77_777)
    p, x, after = a.reg("p"), a.reg("x"), a.label("after")
    a.mv(x, a.zero)
    a.andi(p, index, 1)
    a.pred(p, full)
    a.beqz(p, after)
    a.add(x, x, value)
    a.tmc(full)
    a.place(after)
    a.add(x, x, value)
    a.sw(x, out)
    a.end_warp()
    memory, _ = simulate(a, THREADS * WARPS)
    assert memory.tolist() == [77_777 * (1 + lane % 2) for lane in range(THREADS * WARPS)]


def test_constants_are_recomputed():
    """With few registers constants are loaded where they are used, and nothing moves to memory."""
    a = assembler(8)
    index, out = start(a)
    constants = [a.constant(f"c{i}", 100_000 + i) for i in range(12)]
    a.place("top")
    for constant in constants:
        a.add(index, index, constant)
    a.place("end")
    a.sw(index, out)
    a.end_warp()
    memory, program = simulate(a, THREADS * WARPS)
    assert memory.tolist() == [lane + sum(range(100_000, 100_012))
                               for lane in range(THREADS * WARPS)]
    assert not a.slots
    assert words_in(program, "top", "end").count("lui") > 3


def crowd(a, count):
    """Registers that are all live until :func:`settle`."""
    registers = a.regs(*(f"r{i}" for i in range(count)))
    for number, register in enumerate(registers):
        a.li(register, number)
    return registers


def test_sides_of_a_split_share_registers():
    """The lanes of one side may use the numbers that the lanes of the other side read later."""
    a = assembler(6)
    index, out = start(a)
    p, late = a.regs("p", "late")
    a.addi(late, index, 40)
    a.andi(p, index, 1)
    with a.if_(p) as choice:
        early = a.regs("e0", "e1", "e2")
        for number, register in enumerate(early):
            a.addi(register, index, number)
        a.add(early[0], early[0], early[1])
        a.add(early[0], early[0], early[2])
        a.sw(early[0], out)
        choice.otherwise()
        a.sw(late, out)
    a.end_warp()
    memory, _ = simulate(a, THREADS * WARPS)
    assert memory.tolist() == [3 * lane + 3 if lane % 2 else lane + 40
                               for lane in range(THREADS * WARPS)]


def test_inactive_lanes_keep_values():
    """A register that some lanes overwrite keeps its value in the others."""
    a = assembler(5)
    index, out = start(a)
    full = a.constant("full", -1, kept=True)
    x, p, after = a.reg("x"), a.reg("p"), a.label("after")
    a.addi(x, index, 500)
    a.andi(p, index, 1)
    y = a.reg("y")
    a.addi(y, index, 9)
    a.sw(y, out, 4 * THREADS * WARPS)
    a.pred(p, full)
    a.beqz(p, after)
    a.addi(x, index, 700)
    a.tmc(full)
    a.place(after)
    a.sw(x, out)
    a.end_warp()
    memory, _ = simulate(a, THREADS * WARPS)
    assert memory.tolist() == [lane + (700 if lane % 2 else 500)
                               for lane in range(THREADS * WARPS)]


def two_results(registers):
    """The Weaver hands out the edges of all lanes among many values that are live. Returns the sums
    of the edges' vertices, and those values."""
    a = assembler(registers)
    index, out = start(a)
    full = a.constant("full", -1, kept=True)
    values = a.regs(*(f"v{i}" for i in range(VARIABLES)))
    for number, register in enumerate(values):
        a.addi(register, index, 7 * number)
    degree, location, warps, vid, place, unused = a.regs("degree", "location", "warps", "vid",
                                                         "place", "unused")
    a.li(degree, 3)
    a.mul(location, index, degree)
    a.li(warps, (MemoryMap.GLOBAL >> 2) + VARIABLES * THREADS * WARPS)
    a.add(location, location, warps)
    a.weaver_reg(index, location, degree)
    a.li(warps, WARPS)
    a.bar(a.zero, warps)
    top, end = a.place("top"), a.label("end")
    a.weaver_dec(vid, place)
    a.beq(vid, full, end)
    a.amoadd_w(a.zero, vid, place)
    a.j(top)
    a.place(end)
    a.weaver_dec(vid, unused)           # a result that nothing reads needs a register, too
    for number, register in enumerate(values):
        a.sw(register, out, 4 * THREADS * WARPS * number)
    a.end_warp()
    memory, _ = simulate(a, (VARIABLES + 3) * THREADS * WARPS)
    return np.split(memory, [VARIABLES * THREADS * WARPS])


@pytest.mark.parametrize("registers", [31, 13])
def test_two_results(registers):
    lanes = np.arange(THREADS * WARPS)
    values, sums = two_results(registers)
    assert values.tolist() == [lane + 7 * number for number in range(VARIABLES) for lane in lanes]
    assert sums.tolist() == np.repeat(lanes, 3).tolist()


def test_too_many_registers():
    a = assembler(9)
    _, out = start(a)
    registers = crowd(a, 90)
    for register in registers:
        a.sw(register, out)
    a.end_warp()
    with pytest.raises(OutOfRegisters, match=r"kernel 'main': .* one too many: all registers and "
                                             r"64 slots in local memory"):
        a.finish()


def test_local_memory_is_full():
    local = LocalAllocator(HardwareConfig(name="small", local_bytes=256), warps=4)
    local.reserve("ticket", 1)
    assert local.reserve("queue", 8, "warp") == MemoryMap.LOCAL + 4
    assert local.address("queue") == MemoryMap.LOCAL + 4
    with pytest.raises(UserError, match=r"260 bytes needed \(ticket 4, queue 128, sums 128\), "
                                        r"local_bytes is 256 in configuration 'small'"):
        local.reserve("sums", 32)


def test_a_place_that_kernels_share():
    """It has room for whoever needs most, and moves the places behind it."""
    local = LocalAllocator(HardwareConfig(local_bytes=256), warps=4)
    local.share("queue", 3)
    local.share("slots", 2, "warp", align=4)
    local.share("queue", 8)
    local.share("queue", 1)
    assert local.reserve("last", 1) == MemoryMap.LOCAL + 64
    assert local.address("slots") == MemoryMap.LOCAL + 32
    local.release("last")
    assert local.reserve("other", 1) == MemoryMap.LOCAL + 64


def test_a_constant_of_another_part():
    a = assembler()
    value = a.constant("value", 5000)
    x = a.reg("x")
    a.sw(x, value)
    a.part()
    a.sw(x, value)
    a.end_warp()
    with pytest.raises(AssemblyError, match="'value' is used in two parts"):
        a.finish()


def test_what_nobody_reads_is_left_out():
    """Computations, and those that only they read; loads and stores stay, and words of CSRs."""
    a = assembler()
    x, y, z, unread = a.regs("x", "y", "z", "unread")
    a.li(x, 5)
    a.addi(y, x, 1)
    a.mul(z, y, x)
    a.lw(unread, x)
    a.csrr(unread, Csr.WARP_ID)
    a.sw(x, x)
    a.end_warp()
    assert [line.split()[0] for line in a.finish().lines] == ["addi", "lw", "csrrs", "sw", "tmc"]


@pytest.fixture
def any_number(monkeypatch):
    """Registers get any number that is free, so that a number which is not free is soon taken."""
    rng = random.Random(1)

    def pick(free):
        return rng.choice(list(free) or [None])
    monkeypatch.setattr(RegisterFlow, "_pick", staticmethod(pick))


def test_any_free_number_will_do(any_number):
    for seed in range(100, 115):
        got, expected = Random(seed, 31).run()
        assert got.tolist() == expected.tolist(), f"seed {seed}"


def _every_write_ends_the_life(flow):
    flow._firsts = list(flow._writes)


def _branches_are_not_taken(flow):
    flow._next = lambda index: [index + 1]


@pytest.mark.parametrize("fault", [_every_write_ends_the_life, _branches_are_not_taken])
def test_planted_faults(fault, any_number, monkeypatch):
    """The random programs notice a rule of liveness that is wrong."""
    blocks = RegisterFlow._blocks

    def faulty(flow):
        fault(flow)
        blocks(flow)
    monkeypatch.setattr(RegisterFlow, "_blocks", faulty)

    def right(seed):
        try:
            got, expected = Random(seed, 31).run()
        except Exception:
            return False
        return got.tolist() == expected.tolist()
    assert not all(right(seed) for seed in range(25))


def test_two_results_planted_fault(any_number, monkeypatch):
    """``test_two_results`` notices an allocator that forgets one of the two results."""
    for _ in range(5):
        test_two_results(31)
    together = RegisterFlow._together

    def faulty(flow):
        flow._writes = [writes & -writes for writes in flow._writes]
        return together(flow)
    monkeypatch.setattr(RegisterFlow, "_together", faulty)
    with pytest.raises(AssertionError):
        for _ in range(5):
            test_two_results(31)


@pytest.mark.parametrize("names", (("first", "second"), ("same", "same")))
@pytest.mark.parametrize("registers", (31, 6))
def test_sections(registers, names):
    """Each section needs more registers than would be left for both together, and constants of its
    own. A kept register counts the turns of a loop over both sections. Their names do not matter.
    """
    turns, lanes = 3, THREADS * WARPS
    a = assembler(registers)
    kept = a.keep("turn")
    a.mv(kept, a.zero)
    a.section("head")
    a.part()
    top = a.place("top")
    for number, name in enumerate(names):
        a.section(name)
        a.part()
        index, out = start(a)
        values = a.regs(*(f"v{place}" for place in range(9)))
        for place, value in enumerate(values):
            a.addi(value, index, place)
        a.add(values[0], values[0], kept)
        a.add(values[0], values[0], a.constant("many", 1000 + number))
        for value in values[1:]:
            a.add(values[0], values[0], value)
        word = a.reg("word")
        a.lw(word, out, 4 * lanes * number)
        a.add(word, word, values[0])
        a.sw(word, out, 4 * lanes * number)
    a.addi(kept, kept, 1)
    on = a.label("on")
    a.bne(kept, a.constant("turns", turns), on)
    a.end_warp()
    a.place(on)
    a.jump_to_section(top)
    memory, _ = simulate(a, 2 * lanes)
    assert [name for name, _ in a.slots] == (list(names) if registers == 6 else [])
    index = np.arange(lanes)
    for number in range(2):
        once = 9 * index + sum(range(9)) + 1000 + number
        assert np.array_equal(memory[lanes * number:][:lanes], turns * once + sum(range(turns)))
