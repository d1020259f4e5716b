"""Each instruction of the simulator against its definition, lane by lane in Python integers."""

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from hw.config import HardwareConfig
from hw.isa import BY_NAME, Cause, INSTRUCTIONS, encode
from hw.operations import Format, MemOp, Unit
from sw.golden.simulator import CoreError, Simulator


GLOBAL, LOCAL = 0x8000_0000, 0x1000_0000
CONFIG = HardwareConfig(name="test", warps=2, threads=4, imem_bytes=1 << 12, local_bytes=1 << 8,
                        l1_bytes=1 << 11, l2_bytes=0, memory_bytes=1 << 16, gather="none")

words = st.one_of(st.integers(0, (1 << 32) - 1),
                  st.sampled_from([0, 1, 2, 31, 32, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF]))
lane_words = st.lists(words, min_size=4, max_size=4)
masks = st.integers(1, 15)


def signed(value, bits=32):
    value %= 1 << bits
    return value - (1 << bits) if value >= 1 << bits - 1 else value


def quotient(a, b):
    """The integer of a / b, towards 0."""
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


#: Result of each register-register operation, from two unsigned words.
DEFINITIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "xor": lambda a, b: a ^ b,
    "or": lambda a, b: a | b, "and": lambda a, b: a & b, "sll": lambda a, b: a << b % 32,
    "srl": lambda a, b: a >> b % 32, "sra": lambda a, b: signed(a) >> b % 32,
    "slt": lambda a, b: signed(a) < signed(b), "sltu": lambda a, b: a < b,
    "mul": lambda a, b: a * b, "mulh": lambda a, b: signed(a) * signed(b) >> 32,
    "mulhsu": lambda a, b: signed(a) * b >> 32, "mulhu": lambda a, b: a * b >> 32,
    "div": lambda a, b: quotient(signed(a), signed(b)) if b else -1,
    "divu": lambda a, b: a // b if b else -1,
    "rem": lambda a, b: signed(a) - quotient(signed(a), signed(b)) * signed(b) if b else a,
    "remu": lambda a, b: a % b if b else a,
}
#: Result of each vote, from the votes of the active lanes, by lane.
VOTES = {
    "vote.all": lambda votes: all(votes.values()), "vote.any": lambda votes: any(votes.values()),
    "vote.uni": lambda votes: len(set(votes.values())) == 1,
    "vote.ballot": lambda votes: sum(vote << lane for lane, vote in votes.items()),
}
#: Lane of the segment that each shuffle reads: lane + b, lane - b, lane ^ b or lane b.
SHUFFLES = {
    "shfl.up": lambda lane, b, segment: lane - b, "shfl.down": lambda lane, b, segment: lane + b,
    "shfl.bfly": lambda lane, b, segment: lane ^ b,
    "shfl.idx": lambda lane, b, segment: lane & segment | b & ~segment,
}
BRANCHES = {
    "beq": lambda a, b: a == b, "bne": lambda a, b: a != b, "bltu": lambda a, b: a < b,
    "bgeu": lambda a, b: a >= b, "blt": lambda a, b: signed(a) < signed(b),
    "bge": lambda a, b: signed(a) >= signed(b),
}
ATOMICS = {
    "amoadd.w": lambda m, b: m + b, "amoswap.w": lambda m, b: b, "amoxor.w": lambda m, b: m ^ b,
    "amoor.w": lambda m, b: m | b, "amoand.w": lambda m, b: m & b,
    "amomin.w": lambda m, b: min(signed(m), signed(b)),
    "amomax.w": lambda m, b: max(signed(m), signed(b)),
    "amominu.w": min, "amomaxu.w": max,
}


def machine(*program, mask=15, config=CONFIG, **registers):
    """A simulator ready to execute ``program``, with these lanes and registers ``x<n>``."""
    simulator = Simulator(config)
    simulator.load_program(program)
    simulator.start(0)
    simulator.set_mask(simulator.warps[0], mask)
    for name, values in registers.items():
        simulator.registers[0, int(name[1:])] = values
    return simulator


def active(mask, lanes=4):
    return [lane for lane in range(lanes) if mask >> lane & 1]


def check_result(simulator, mask, before, expected, commit, rd=3):
    """Active lanes of rd hold ``expected``, everything else is unchanged, and the commit agrees."""
    after = before.copy()
    for lane in active(mask):
        if rd:
            after[0, rd, lane] = expected[lane] % (1 << 32)
    assert np.array_equal(simulator.registers, after)
    assert commit.mask == mask and commit.rd == (rd or None)
    if rd:
        assert commit.values == tuple(after[0, rd].tolist())


def test_every_instruction_is_tested():
    elsewhere = {row.name for row in INSTRUCTIONS if row.unit in (Unit.WARP, Unit.GATHER)
                 or row.format in (Format.CSR, Format.CSI) or row.is_float}
    here = {*DEFINITIONS, *BRANCHES, *ATOMICS, *VOTES, *SHUFFLES, "amocas.w", "lui", "auipc",
            "jal", "jalr", "fence", "addi", "slti", "sltiu", "xori", "ori", "andi", "slli",
            "srli", "srai", "lb", "lh", "lw", "lbu", "lhu", "sb", "sh", "sw",
            "lw.nt", "lbu.nt", "lhu.nt"}
    assert here | elsewhere == set(BY_NAME)


@pytest.mark.parametrize("name", DEFINITIONS)
@settings(max_examples=40, deadline=None)
@given(lane_words, lane_words, masks, st.sampled_from([(3, 1, 2), (1, 1, 2), (2, 1, 2), (3, 1, 1),
                                                       (0, 1, 2), (3, 0, 2), (3, 1, 0)]))
def test_register_register(name, a, b, mask, numbers):
    rd, rs1, rs2 = numbers
    simulator = machine(encode(name, rd=rd, rs1=rs1, rs2=rs2), mask=mask, x1=a, x2=b)
    before = simulator.registers.copy()
    commit = simulator.step(0)
    sources = {0: [0] * 4, 1: a, 2: b}
    expected = [int(DEFINITIONS[name](x, y)) for x, y in zip(sources[rs1], sources[rs2])]
    check_result(simulator, mask, before, expected, commit, rd)
    assert commit.next_pc == 4 and commit.next_mask == mask and not commit.effects


@pytest.mark.parametrize("name, a, b, result", [
    ("div", 7, 0, -1), ("divu", 7, 0, -1), ("rem", 7, 0, 7), ("remu", 7, 0, 7),
    ("div", -7, 0, -1), ("rem", -7, 0, -7), ("div", -1 << 31, -1, -1 << 31),
    ("rem", -1 << 31, -1, 0), ("div", -7, 2, -3), ("rem", -7, 2, -1), ("div", 7, -2, -3),
    ("rem", 7, -2, 1), ("divu", -7, 2, 0x7FFF_FFFC), ("remu", -7, 2, 1),
])
def test_divisions_by_hand(name, a, b, result):
    simulator = machine(encode(name, rd=3, rs1=1, rs2=2), x1=a % (1 << 32), x2=b % (1 << 32))
    assert simulator.step(0).values == (result % (1 << 32),) * 4


def test_division_without_a_divider_is_illegal():
    for name in ("div", "divu", "rem", "remu"):
        word = encode(name, rd=3, rs1=1, rs2=2)
        with pytest.raises(CoreError) as caught:
            machine(word, config=CONFIG.replace(divider="none")).step(0)
        assert (caught.value.cause, caught.value.address) == (Cause.ILLEGAL, word)


@pytest.mark.parametrize("name", VOTES)
@settings(max_examples=60, deadline=None)
@given(lane_words, masks, st.sampled_from([0, 1, 3]))
@example([2, 4, 6, 8], 15, 3)
@example([1, 3, 5, 7], 15, 3)
@example([1, 2, 3, 4], 15, 3)
def test_votes(name, a, mask, rd):
    simulator = machine(encode(name, rd=rd, rs1=1), mask=mask, x1=a)
    before = simulator.registers.copy()
    expected = VOTES[name]({lane: a[lane] & 1 for lane in active(mask)})
    check_result(simulator, mask, before, [int(expected)] * 4, simulator.step(0), rd)


@pytest.mark.parametrize("name", SHUFFLES)
@settings(max_examples=100, deadline=None)
@given(lane_words, st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0, 1, 3, 63]),
                                      st.sampled_from([0, 2, 60, 62, 63])),
                            min_size=4, max_size=4), masks,
       st.sampled_from([(3, 1, 2), (1, 1, 2), (2, 1, 2), (0, 1, 2)]))
def test_shuffles(name, a, operands, mask, numbers):
    rd, rs1, rs2 = numbers
    simulator = machine(encode(name, rd=rd, rs1=rs1, rs2=rs2), mask=mask, x1=a,
                        x2=[b | c << 6 | segment << 12 | 0xFFFC_0000 for b, c, segment in operands])
    before = simulator.registers.copy()
    expected = []
    for lane, (b, c, segment) in enumerate(operands):
        source = SHUFFLES[name](lane, b, segment)
        inside = source >= lane & segment if name == "shfl.up" else \
            source <= (lane & segment | c & ~segment)
        expected.append(a[source if inside and source < 4 else lane])
    check_result(simulator, mask, before, expected, simulator.step(0), rd)


def test_shuffles_read_lanes_that_are_not_active():
    full = 63 << 6
    for name, b, expected in (("shfl.up", 1, 10), ("shfl.down", 1, 12), ("shfl.bfly", 3, 12),
                              ("shfl.idx", 3, 13)):
        simulator = machine(encode(name, rd=3, rs1=1, rs2=2), mask=2, x1=[10, 11, 12, 13],
                            x2=b | full)
        assert simulator.step(0).values[1] == expected, name


@pytest.mark.parametrize("name", ["addi", "slti", "sltiu", "xori", "ori", "andi", "slli", "srli",
                                  "srai"])
@settings(max_examples=40, deadline=None)
@given(lane_words, masks, st.integers(-2048, 2047), st.sampled_from([0, 1, 3]))
def test_register_immediate(name, a, mask, imm, rd):
    imm = imm % 32 if BY_NAME[name].format is Format.SH else imm
    simulator = machine(encode(name, rd=rd, rs1=1, imm=imm), mask=mask, x1=a)
    before = simulator.registers.copy()
    commit = simulator.step(0)
    definition = DEFINITIONS["sltu" if name == "sltiu" else name[:-1]]
    check_result(simulator, mask, before,
                 [int(definition(x, imm % (1 << 32))) for x in a], commit, rd)


@settings(max_examples=40, deadline=None)
@given(masks, st.integers(0, (1 << 20) - 1), st.sampled_from([0, 3]), st.booleans())
def test_upper_immediates(mask, imm, rd, relative):
    simulator = machine(0, encode("auipc" if relative else "lui", rd=rd, imm=imm), mask=mask)
    simulator.warps[0].pc = 4
    before = simulator.registers.copy()
    check_result(simulator, mask, before, [(imm << 12) + 4 * relative] * 4, simulator.step(0), rd)


@pytest.mark.parametrize("name", BRANCHES)
@settings(max_examples=40, deadline=None)
@given(lane_words, lane_words, st.booleans(), masks, st.sampled_from([-8, 16, 2]))
@example([1, 0, 2, 0], [2, 0, 1, 0], False, 14, 16)
def test_branches_follow_the_lowest_active_lane(name, a, b, same, mask, offset):
    b = a if same else b
    simulator = machine(0, 0, encode(name, rs1=1, rs2=2, imm=offset), mask=mask, x1=a, x2=b)
    simulator.warps[0].pc = 8
    before = simulator.registers.copy()
    commit = simulator.step(0)
    lowest = active(mask)[0]
    assert commit.next_pc == 8 + (offset if BRANCHES[name](a[lowest], b[lowest]) else 4)
    assert commit.rd is None and np.array_equal(simulator.registers, before)


@settings(max_examples=40, deadline=None)
@given(lane_words, masks, st.integers(-2048, 2047), st.sampled_from([0, 1, 3]))
def test_jumps(a, mask, imm, rd):
    simulator = machine(encode("jal", rd=rd, imm=2 * imm), mask=mask)
    before = simulator.registers.copy()
    commit = simulator.step(0)
    check_result(simulator, mask, before, [4] * 4, commit, rd)
    assert commit.next_pc == 2 * imm % (1 << 32)
    simulator = machine(encode("jalr", rd=rd, rs1=1, imm=imm), mask=mask, x1=a)
    before = simulator.registers.copy()
    commit = simulator.step(0)
    check_result(simulator, mask, before, [4] * 4, commit, rd)
    assert commit.next_pc == (a[active(mask)[0]] + imm) % (1 << 32) & ~1


def places(size):
    """Addresses of four lanes, aligned to ``size``: global, local or both, often the same."""
    item = st.integers(0, 7).map(lambda n: n * size)
    return st.lists(st.one_of(item.map(lambda n: GLOBAL + 0x400 + n),
                              item.map(lambda n: LOCAL + 0xE0 + n)), min_size=4, max_size=4)


def memory_bytes(simulator, address, size):
    memory, base = ((simulator.memory, GLOBAL) if address >= GLOBAL else (simulator.local, LOCAL))
    return memory[address - base:address - base + size]


@pytest.mark.parametrize("name", ["lb", "lh", "lw", "lbu", "lhu", "lw.nt", "lbu.nt", "lhu.nt"])
@settings(max_examples=60, deadline=None)
@given(st.data(), masks, st.integers(-100, 100), st.sampled_from([0, 1, 3]),
       st.sampled_from(["all", "global", "local"]))
def test_loads(name, data, mask, imm, rd, where):
    row = BY_NAME[name]
    size = 1 << row.size
    addresses = data.draw(places(size))
    if where != "all":
        addresses = [address % 256 + (GLOBAL if where == "global" else LOCAL)
                     for address in addresses]
    a = [(address - imm) % (1 << 32) if mask >> lane & 1 else data.draw(words)
         for lane, address in enumerate(addresses)]
    simulator = machine(encode(name, rd=rd, rs1=1, imm=imm), mask=mask, x1=a)
    random = np.random.default_rng(size)
    for memory in (simulator.memory, simulator.local):
        memory[:] = random.integers(256, size=len(memory))
    before = simulator.registers.copy()
    expected = [int.from_bytes(memory_bytes(simulator, address, size).tobytes(), "little",
                               signed=row.signed) for address in addresses]
    commit = simulator.step(0)
    check_result(simulator, mask, before, expected, commit, rd)
    assert commit.next_pc == 4 and not commit.effects


@pytest.mark.parametrize("name", ["sb", "sh", "sw"])
@settings(max_examples=60, deadline=None)
@given(st.data(), lane_words, masks, st.integers(-100, 100))
def test_stores(name, data, b, mask, imm):
    size = 1 << BY_NAME[name].size
    addresses = data.draw(places(size))
    a = [(address - imm) % (1 << 32) if mask >> lane & 1 else data.draw(words)
         for lane, address in enumerate(addresses)]
    simulator = machine(encode(name, rs1=1, rs2=2, imm=imm), mask=mask, x1=a, x2=b)
    other = machine(0)
    before = simulator.registers.copy()
    commit = simulator.step(0)
    effects = []
    for lane in active(mask):       # ascending: of lanes with the same address, the highest wins
        value = b[lane] % (1 << 8 * size)
        memory_bytes(other, addresses[lane], size)[:] = list(value.to_bytes(size, "little"))
        effects.append((lane, addresses[lane], size, value))
    assert np.array_equal(simulator.memory, other.memory)
    assert np.array_equal(simulator.local, other.local)
    assert np.array_equal(simulator.registers, before)
    assert commit.effects == tuple(effects) and commit.rd is None


@pytest.mark.parametrize("name", [*ATOMICS, "amocas.w"])
@settings(max_examples=60, deadline=None)
@given(st.data(), lane_words, lane_words, masks, st.sampled_from([0, 1, 2, 3]),
       st.sampled_from(["both", "global", "local"]))
def test_atomics_are_done_in_the_order_of_the_lanes(name, data, b, contents, mask, rd, where):
    """Lanes use global memory (the first two words, or all words) and local memory (the others)."""
    cells = data.draw(st.lists(st.integers(0, 3), min_size=4, max_size=4))
    bases = {"both": [GLOBAL, GLOBAL, LOCAL, LOCAL], "global": [GLOBAL] * 4,
             "local": [LOCAL] * 4}[where]
    places = [base + 0x80 + 4 * cell for cell, base in enumerate(bases)]
    a = [places[cell] if mask >> lane & 1 else data.draw(words) for lane, cell in enumerate(cells)]
    # x2 is stored; for compare-and-swap, rd is the word to compare with.
    compare = [data.draw(st.sampled_from([contents[cells[lane]], b[lane], 5])) for lane in range(4)]
    registers = {"x3": compare} if rd == 3 else {}
    simulator = machine(encode(name, rd=rd, rs1=1, rs2=2), mask=mask, x1=a, x2=b, **registers)
    compare = {0: [0] * 4, 1: a, 2: b, 3: compare}[rd]
    memories = simulator.memory.view(np.uint32)[0x20:0x24], simulator.local.view(np.uint32)[0x20:]
    for place, word in enumerate(contents):
        for memory in memories:
            memory[place] = word
    before = simulator.registers.copy()
    commit = simulator.step(0)
    old, effects = [0] * 4, []
    for lane in active(mask):
        old[lane] = contents[cells[lane]]
        if name == "amocas.w":
            new = b[lane] if old[lane] == compare[lane] else old[lane]
        else:
            new = ATOMICS[name](old[lane], b[lane]) % (1 << 32)
        contents[cells[lane]] = new
        effects.append((lane, a[lane], 4, new))
    check_result(simulator, mask, before, old, commit, rd)
    assert contents == [int(memories[base == LOCAL][cell]) for cell, base in enumerate(bases)]
    assert commit.effects == tuple(effects)


def test_fence_changes_nothing():
    simulator = machine(encode("fence"))
    before = simulator.registers.copy()
    commit = simulator.step(0)
    assert commit.next_pc == 4 and commit.rd is None and commit.next_mask == 15
    assert np.array_equal(simulator.registers, before)


def test_memory_operations_are_the_table_s():
    assert {row.name for row in INSTRUCTIONS if row.op is MemOp.AMO} == {*ATOMICS, "amocas.w"}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=32, max_size=32), st.integers(1, (1 << 32) - 1),
       st.sampled_from(["sb", "sh", "sw"]), st.sampled_from([GLOBAL, LOCAL]))
def test_the_highest_of_32_lanes_stands(cells, mask, name, base):
    simulator = machine(encode(name, rs1=1, rs2=2), mask=mask, config=CONFIG.replace(threads=32),
                        x1=[base + 4 * cell for cell in cells], x2=np.arange(1, 33))
    simulator.step(0)
    expected = [0] * 16
    for lane in active(mask, 32):
        expected[cells[lane]] = lane + 1
    memory = simulator.memory if base == GLOBAL else simulator.local
    assert memory.view(np.uint32)[:16].tolist() == expected
