"""Each instruction of the simulator against its definition, lane by lane in Python integers."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hw.config import HardwareConfig
from hw.isa import BY_NAME, Format, INSTRUCTIONS, MemOp, Unit, encode
from sw.golden.simulator import Simulator


GLOBAL, LOCAL = 0x8000_0000, 0x1000_0000
CONFIG = HardwareConfig(name="test", warps=2, threads=4, imem_bytes=1 << 12, local_bytes=1 << 8,
                        l1_bytes=1 << 11, l2_bytes=0, memory_bytes=1 << 16, weaver="none")

words = st.one_of(st.integers(0, (1 << 32) - 1),
                  st.sampled_from([0, 1, 2, 31, 32, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF]))
lane_words = st.lists(words, min_size=4, max_size=4)
masks = st.integers(1, 15)


def signed(value, bits=32):
    value %= 1 << bits
    return value - (1 << bits) if value >= 1 << bits - 1 else value


#: Name of each register-register operation: what it makes of two unsigned words.
DEFINITIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "xor": lambda a, b: a ^ b,
    "or": lambda a, b: a | b, "and": lambda a, b: a & b, "sll": lambda a, b: a << b % 32,
    "srl": lambda a, b: a >> b % 32, "sra": lambda a, b: signed(a) >> b % 32,
    "slt": lambda a, b: signed(a) < signed(b), "sltu": lambda a, b: a < b,
    "mul": lambda a, b: a * b, "mulh": lambda a, b: signed(a) * signed(b) >> 32,
    "mulhsu": lambda a, b: signed(a) * b >> 32, "mulhu": lambda a, b: a * b >> 32,
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
    """A simulator about to execute ``program`` with given lanes and registers ``x<n>``."""
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
    """Active lanes of rd hold ``expected``, all else is as before, and the commit says so."""
    after = before.copy()
    for lane in active(mask):
        if rd:
            after[0, rd, lane] = expected[lane] % (1 << 32)
    assert np.array_equal(simulator.registers, after)
    assert commit.mask == mask and commit.rd == (rd or None)
    if rd:
        assert commit.values == tuple(after[0, rd].tolist())


def test_every_instruction_is_tested():
    elsewhere = {row.name for row in INSTRUCTIONS if row.unit in (Unit.WARP, Unit.WEAVER)
                 or row.format in (Format.CSR, Format.CSI)}
    here = {*DEFINITIONS, *BRANCHES, *ATOMICS, "lui", "auipc", "jal", "jalr", "fence", "addi",
            "slti", "sltiu", "xori", "ori", "andi", "slli", "srli", "srai", "lb", "lh", "lw",
            "lbu", "lhu", "sb", "sh", "sw"}
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


@pytest.mark.parametrize("name", ["lb", "lh", "lw", "lbu", "lhu"])
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
    for lane in active(mask):       # ascending: of lanes with the same address the highest stands
        value = b[lane] % (1 << 8 * size)
        memory_bytes(other, addresses[lane], size)[:] = list(value.to_bytes(size, "little"))
        effects.append((lane, addresses[lane], size, value))
    assert np.array_equal(simulator.memory, other.memory)
    assert np.array_equal(simulator.local, other.local)
    assert np.array_equal(simulator.registers, before)
    assert commit.effects == tuple(effects) and commit.rd is None


@pytest.mark.parametrize("name", ATOMICS)
@settings(max_examples=60, deadline=None)
@given(st.data(), lane_words, lane_words, masks, st.sampled_from([0, 1, 2, 3]))
def test_atomics_are_done_in_the_order_of_the_lanes(name, data, b, contents, mask, rd):
    cells = data.draw(st.lists(st.integers(0, 3), min_size=4, max_size=4))
    a = [GLOBAL + 0x800 + 4 * cell if mask >> lane & 1 else data.draw(words)
         for lane, cell in enumerate(cells)]
    simulator = machine(encode(name, rd=rd, rs1=1, rs2=2), mask=mask, x1=a, x2=b)
    memory = simulator.memory.view(np.uint32)[0x200:0x204]
    memory[:] = contents
    before = simulator.registers.copy()
    commit = simulator.step(0)
    old, effects = [0] * 4, []
    for lane in active(mask):
        old[lane] = contents[cells[lane]]
        contents[cells[lane]] = ATOMICS[name](old[lane], b[lane]) % (1 << 32)
        effects.append((lane, a[lane], 4, contents[cells[lane]]))
    check_result(simulator, mask, before, old, commit, rd)
    assert memory.tolist() == contents and commit.effects == tuple(effects)


def test_fence_changes_nothing():
    simulator = machine(encode("fence"))
    before = simulator.registers.copy()
    commit = simulator.step(0)
    assert commit.next_pc == 4 and commit.rd is None and commit.next_mask == 15
    assert np.array_equal(simulator.registers, before)


def test_memory_operations_are_the_table_s():
    assert {row.name for row in INSTRUCTIONS if row.op is MemOp.AMO} == set(ATOMICS)


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
