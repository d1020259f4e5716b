"""The simulator's warps: divergence, barriers, CSRs, interleaving, the Weaver."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from base.errors import LimitError, RunError
from hw.config import PRESETS
from hw.isa import Csr, encode
from hw.operations import GatherSetting
from sw.golden.machine import FunctionalMachine
from sw.golden.simulator import InstructionLimit, Simulator
from sw.compile.asm.assembler import Assembler
from tb.sw.golden.simt_programs import (END, VARIABLES, compile_program, depth_of, interpret,
                                        programs, shape, started)


GLOBAL = 0x8000_0000


# Divergence

@settings(max_examples=150, deadline=None)
@given(programs(3), st.sampled_from([1, 2, 4, 8]), st.randoms(use_true_random=False),
       st.sampled_from([None, 1, 2]))
def test_nests_of_divergent_code(program, threads, random, seed):
    config = shape(threads=threads)
    values = [[[random.choice([0, 0, 1, 2, random.getrandbits(32)]) for _ in range(VARIABLES)]
               for _ in range(threads)] for _ in range(config.warps)]
    simulator = started(*compile_program(program), config=config, seed=seed)
    simulator.stack_entries = depth_of(program)
    variables = simulator.registers[:, 10:10 + VARIABLES]
    variables[:] = np.array(values).transpose(0, 2, 1)
    simulator.run(limit=100_000)
    for lane in itertools.chain.from_iterable(values):
        interpret(program, lane)
    assert variables.transpose(0, 2, 1).tolist() == values


def test_split_and_join_step_by_step():
    simulator = started(encode("split", rd=3, rs1=1), encode("join", rs1=3), x1=[0, 5, 0, 7])
    split = simulator.step(0)
    assert split.mask == 15 and split.values == (0, 0, 0, 0)  # to all lanes that were active before
    assert (split.next_mask, split.next_pc) == (0b1010, 4)
    first = simulator.step(0)
    assert (first.mask, first.next_mask, first.next_pc) == (0b1010, 0b0101, 4)   # SPLIT's PC + 4
    second = simulator.step(0)
    assert (second.mask, second.next_mask, second.next_pc) == (0b0101, 15, 8)
    assert simulator.step(0).next_mask == 0 and not simulator.warps[0].ready


@pytest.mark.parametrize("predicate", [[0] * 4, [1, 2, 3, 4]])
def test_uniform_split_pushes_nothing(predicate):
    simulator = started(encode("split", rd=3, rs1=1), encode("join", rs1=3), x1=predicate)
    assert simulator.step(0).next_mask == 15 and not simulator.warps[0].stack
    join = simulator.step(0)
    assert (join.next_mask, join.next_pc) == (15, 8)


def test_split_is_uniform_if_the_active_lanes_agree():
    simulator = started(encode("split", rd=3, rs1=1), x1=[0, 5, 0, 7])
    simulator.set_mask(simulator.warps[0], 0b1010)
    assert simulator.step(0).next_mask == 0b1010 and not simulator.warps[0].stack


def test_inner_split_returns_the_depth():
    simulator = started(encode("split", rd=3, rs1=1), encode("split", rd=4, rs1=2),
                        x1=[1, 1, 1, 0], x2=[1, 0, 0, 1])
    simulator.registers[0, 4] = 9
    simulator.step(0)
    inner = simulator.step(0)
    assert inner.values == (1, 1, 1, 9) and inner.mask == 0b0111 and inner.next_mask == 1
    assert len(simulator.warps[0].stack) == 2


@pytest.mark.parametrize("mask, x1, x2, expected", [
    (15, [1, 0, 2, 0], [8, 8, 8, 8], 0b0101), (14, [1, 0, 0, 3], [0] * 4, 0b1000),
    (15, [0, 0, 0, 0], [6, 1, 1, 1], 6), (12, [1, 1, 0, 0], [1, 1, 0xF3, 1], 3),
    (15, [0, 0, 0, 0], [0x10, 1, 1, 1], 0),
])
def test_pred(mask, x1, x2, expected):
    simulator = started(encode("pred", rs1=1, rs2=2), x1=x1, x2=x2)
    simulator.set_mask(simulator.warps[0], mask)
    assert simulator.step(0).next_mask == expected
    assert simulator.warps[0].ready == (expected != 0)


def test_tmc_takes_the_lowest_active_lane():
    simulator = started(encode("tmc", rs1=1), x1=[1, 0xFFFF_FFF3, 1, 1])
    simulator.set_mask(simulator.warps[0], 0b1110)
    assert simulator.step(0).next_mask == 3
    assert simulator.warps[1].mask == 15 and simulator.running


# Barriers

@pytest.mark.parametrize("seed", [None, *range(4)])
def test_barrier_orders_phases(seed):
    # Every warp stores its number, waits, and adds up the numbers of all warps.
    config = shape(warps=4)
    program = [encode("csrrs", rd=5, csr=Csr.WARP_ID), encode("slli", rd=6, rs1=5, imm=2),
               encode("lui", rd=7, imm=GLOBAL >> 12), encode("add", rd=6, rs1=6, rs2=7),
               encode("sw", rs1=6, rs2=5), encode("addi", rd=8, rs1=0, imm=4),
               encode("addi", rd=9, rs1=0, imm=1), encode("bar", rs1=9, rs2=8),
               *(word for i in range(4) for word in (
                   encode("lw", rd=11, rs1=7, imm=4 * i), encode("slli", rd=10, rs1=10, imm=4),
                   encode("add", rd=10, rs1=10, rs2=11)))]
    simulator = started(*program, config=config, seed=seed)
    simulator.registers[:, 10] = 0
    simulator.run(limit=1000)
    assert (simulator.registers[:, 10] == 0x0123).all()
    assert simulator.counters() == {"instructions": 4 * 21, "lanes": 16 * 21}


def test_barrier_is_released_by_the_last_of_its_count():
    simulator = started(encode("bar", rs1=1, rs2=2), config=shape(warps=4), x1=2, x2=3)
    for warp in (3, 1):
        assert simulator.step(warp).next_pc == 4
        assert not simulator.warps[warp].ready
    with pytest.raises(ValueError, match="warp 1 waits at barrier 2"):
        simulator.step(1)
    simulator.step(0)
    assert all(warp.ready for warp in simulator.warps)
    simulator.registers[2, 2] = 1       # the last warp waits for no other
    simulator.step(2)
    simulator.run()
    assert not simulator.running
    with pytest.raises(ValueError, match="warp 0 has ended"):
        simulator.step(0)


# CSRs

CSR_VALUES = {
    Csr.MSCRATCH: 0x8000_1234, Csr.PHASE: 0, Csr.CYCLE: 2, Csr.INSTRET: 2, Csr.CYCLEH: 0,
    Csr.INSTRETH: 0, Csr.THREAD_ID: [0, 1, 2, 3], Csr.WARP_ID: 1, Csr.CORE_ID: 0,
    Csr.ACTIVE_WARPS: 2, Csr.ACTIVE_MASK: 0b0110, Csr.NUM_THREADS: 4, Csr.NUM_WARPS: 2,
    Csr.NUM_CORES: 1,
}


@pytest.mark.parametrize("csr", CSR_VALUES)
def test_csr_read(csr):
    simulator = Simulator(shape())
    simulator.load_program([encode("csrrs", rd=3, csr=csr), encode("tmc", rs1=0),
                            encode("addi")])
    simulator.start(4, 0x8000_1234)
    simulator.step(0)
    simulator.warps[1].pc = 8
    simulator.step(1)
    simulator.warps[1].pc = 0
    simulator.set_mask(simulator.warps[1], 0b0110)
    simulator.registers[1, 3] = 77
    expected = np.full(4, CSR_VALUES[csr]) if csr != Csr.THREAD_ID else np.arange(4)
    assert simulator.step(1).values == (77, expected[1], expected[2], 77)


def test_instret_counts_from_the_launch_whatever_happens_to_the_counters():
    simulator = started(encode("addi"), encode("csrrs", rd=3, csr=Csr.INSTRET))
    simulator.step(0)
    simulator.clear_counters()
    simulator.step(1)
    assert simulator.step(0).values == (2,) * 4
    assert simulator.counters() == {"instructions": 2, "lanes": 8}


def test_phase_is_written_by_the_lowest_lane_and_is_one_a_warp():
    simulator = started(encode("csrrw", rd=3, rs1=1, csr=Csr.PHASE),
                        encode("csrrsi", rd=3, imm=1, csr=Csr.PHASE),
                        encode("csrrci", rd=3, imm=4, csr=Csr.PHASE),
                        encode("csrrs", rd=1, rs1=1, csr=Csr.PHASE),
                        encode("csrrc", rd=3, rs1=2, csr=Csr.PHASE),
                        encode("csrrwi", rd=0, imm=5, csr=Csr.PHASE),
                        x1=[1, 4, 2, 2], x2=[0, 1, 2, 3])
    simulator.set_mask(simulator.warps[0], 0b1110)
    seen = [(simulator.step(0).values[1:2], simulator.warps[0].phase) for _ in range(6)]
    assert seen == [((0,), 4), ((4,), 5), ((5,), 1), ((1,), 5), ((5,), 4), ((), 5)]
    assert simulator.warps[1].phase == 0
    simulator.start(0)
    assert simulator.warps[0].phase == 0


# Whole runs

def test_endless_loop_reaches_the_limit():
    simulator = started(encode("jal", rd=0, imm=0))
    reports = []
    with pytest.raises(InstructionLimit, match="not finished after 100000 instr.*0: 0x0") as error:
        simulator.run(limit=100_000, progress=reports.append)
    assert 100_000 <= error.value.counters["instructions"] < 100_002
    assert reports[0] == 0 and len(reports) == 2


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("seed", [None, 2])
def test_limit_of_a_later_launch(cores, seed):
    """A limit counts from its own launch on, whatever was counted before."""
    machine = FunctionalMachine(shape(1, 4).replace(cores=cores), seed=seed)
    machine.load_program([encode("addi")] * 99 + [END])
    for _ in range(3):
        machine.launch(0, 0, max_cycles=100 * cores + 1)
    with pytest.raises(LimitError, match="not finished after 50 instructions"):
        machine.launch(0, 0, max_cycles=50)
    simulator = machine.simulators[0]
    for _ in range(2):
        simulator.start(0)
        simulator.run(limit=101)
    simulator.start(0)
    with pytest.raises(InstructionLimit, match="not finished after 50 instructions"):
        simulator.run(limit=50)


def test_trace_is_of_the_same_run():
    program = compile_program([("if", 0, [("addi", 1, 1, 3)], [("xor", 1, 2, 3)]),
                               ("repeat", 2, [("add", 3, 3, 1)])])
    traced, plain = started(*program), started(*program)
    commits = []
    traced.run(trace=commits.append)
    plain.run()
    assert np.array_equal(traced.registers, plain.registers)
    assert traced.counters() == plain.counters()
    assert len(commits) == plain.instructions
    assert sum(commit.mask.bit_count() for commit in commits) == plain.lanes
    state = {}
    for commit in commits:
        assert state.get(commit.warp, (0, 15)) == (commit.pc, commit.mask)
        state[commit.warp] = commit.next_pc, commit.next_mask
    simulator = started(encode("addi", rd=5, rs1=0, imm=-1), encode("sw", rs1=1, rs2=5, imm=8),
                        x1=GLOBAL)
    simulator.set_mask(simulator.warps[0], 1)
    assert str(simulator.step(0)) == "w0 0x1 0x0000 addi t0, zero, -1; t0 = ffffffff - - -"
    assert str(simulator.step(0)) == "w0 0x1 0x0004 sw t0, 8(ra); [0x80000008] = ffffffff"


def test_registers_are_arbitrary_at_each_launch_but_runs_repeat():
    first, second = started(), started()
    assert np.array_equal(first.registers, second.registers)
    second.start(0)
    assert not np.array_equal(first.registers[:, 1:], second.registers[:, 1:])
    assert not second.registers[:, 0].any()


def test_wrong_arguments():
    with pytest.raises(ValueError, match="4097 words does not fit in 16384 bytes"):
        Simulator(shape()).load_program([0] * 4097)
    with pytest.raises(ValueError, match=r"not uint8 of shape \(65536,\)"):
        Simulator(shape(), memory=np.zeros(8, np.uint8))


@pytest.mark.parametrize("warps, threads", [(1, 1), (4, 1), (1, 32), (32, 32), (8, 16)])
@pytest.mark.parametrize("seed", [None, 3])
def test_shapes(warps, threads, seed):
    # Histogram by atomics, and a ticket for each lane; all tickets are different.
    config = shape(warps, threads).replace(local_bytes=1 << 12, l1_bytes=1 << 13)
    machine = FunctionalMachine(config, seed=seed)
    machine.load_program([
        encode("csrrs", rd=5, csr=Csr.THREAD_ID), encode("csrrs", rd=6, csr=Csr.MSCRATCH),
        encode("andi", rd=7, rs1=5, imm=3), encode("slli", rd=7, rs1=7, imm=2),
        encode("add", rd=7, rs1=7, rs2=6), encode("addi", rd=8, rs1=0, imm=1),
        encode("amoadd.w", rd=0, rs1=7, rs2=8), encode("addi", rd=9, rs1=6, imm=16),
        encode("amoadd.w", rd=9, rs1=9, rs2=8), encode("slli", rd=9, rs1=9, imm=2),
        encode("add", rd=9, rs1=9, rs2=6), encode("sw", rs1=9, rs2=8, imm=32), END])
    machine.launch(0, GLOBAL + 64)
    machine.flush(invalidate=True)
    lanes = warps * threads
    result = machine.memory[64:].view(np.uint32)
    assert result[:4].tolist() == [warps * len(range(n, threads, 4)) for n in range(4)]
    assert result[4] == lanes and (result[8:8 + lanes] == 1).all() and not result[8 + lanes]
    assert machine.counters() == {"instructions": 13 * warps, "lanes": 13 * lanes}
    machine.clear_counters()
    assert machine.counters() == {"instructions": 0, "lanes": 0}
    machine.close()


def test_machine_reports_errors_and_limits():
    machine = FunctionalMachine(PRESETS["tiny"])
    machine.load_program([encode("jal", rd=0, imm=0)])
    with pytest.raises(RunError) as caught:
        machine.launch(0, 0, max_cycles=50)
    assert caught.value.counters["instructions"] >= 50
    with pytest.raises(RunError, match="illegal instruction"):
        machine.launch(4, 0)


# The Weaver

@pytest.mark.parametrize("seed", [None, *range(5)])
@pytest.mark.parametrize("warps, threads", [(1, 1), (2, 4), (4, 8)])
def test_weaver_gives_every_edge_out_once(warps, threads, seed):
    config = shape(warps, threads, gather="fsm")
    lanes = warps * threads
    degrees = np.random.default_rng(7).integers(0, 12, lanes)
    machine = FunctionalMachine(config, seed=seed)
    memory = machine.memory.view(np.uint32)
    memory[:lanes] = degrees
    offsets = np.concatenate([[0], np.cumsum(degrees)])
    memory[256:256 + lanes] = offsets[:-1]
    program = [
        encode("csrrs", rd=5, csr=Csr.WARP_ID), encode("csrrs", rd=6, csr=Csr.NUM_THREADS),
        encode("mul", rd=5, rs1=5, rs2=6), encode("csrrs", rd=6, csr=Csr.THREAD_ID),
        encode("add", rd=5, rs1=5, rs2=6), encode("lui", rd=7, imm=GLOBAL >> 12),
        encode("slli", rd=6, rs1=5, imm=2), encode("add", rd=6, rs1=6, rs2=7),
        encode("lw", rd=8, rs1=6), encode("lw", rd=9, rs1=6, imm=1024),
        encode("weaver.reg", rs1=5, rs2=9, rs3=8),
        encode("csrrs", rd=10, csr=Csr.NUM_WARPS), encode("bar", rs1=0, rs2=10),
        encode("addi", rd=11, rs1=0, imm=-1), encode("addi", rd=15, rs1=0, imm=1),
        encode("lui", rd=16, imm=(GLOBAL >> 12) + 1),
        # The loop counts visits of an edge at 4096 + 4 edge, and notes its VID 2000 bytes further.
        encode("weaver.dec_id", rd=12), encode("beq", rs1=12, rs2=11, imm=4 * 7),
        encode("weaver.dec_loc", rd=13), encode("slli", rd=13, rs1=13, imm=2),
        encode("add", rd=13, rs1=13, rs2=16), encode("sw", rs1=13, rs2=12, imm=2000),
        encode("amoadd.w", rd=0, rs1=13, rs2=15), encode("jal", rd=0, imm=-4 * 7), END]
    machine.load_program(program)
    machine.launch(0, 0, max_cycles=100_000)
    edges = int(offsets[-1])
    assert memory[1024:1024 + edges].tolist() == [1] * edges and not memory[1024 + edges]
    assert memory[1524:1524 + edges].tolist() == np.repeat(np.arange(lanes), degrees).tolist()


def test_weaver_gives_two_results():
    config = shape(1, 4, gather="fsm")
    simulator = started(
        encode("weaver.reg", rs1=1, rs2=2, rs3=3), encode("weaver.dec", rd=4, rs2=5),
        encode("weaver.dec", rd=0, rs2=6), encode("weaver.dec", rd=7, rs2=7),
        encode("weaver.dec", rd=8, rs2=0), config=config, x1=[7, 8, 9, 10], x2=[70, 80, 90, 100],
        x3=[6, 3, 2, 4])
    none = 0xFFFF_FFFF
    simulator.set_mask(simulator.warps[0], 0b1101)
    assert simulator.step(0).rd2 is None
    decode = simulator.step(0)          # lane 1 had not registered
    assert decode.mask == 15 and (decode.rd, decode.values) == (4, (7,) * 4)
    assert (decode.rd2, decode.values2) == (5, (280, 284, 288, 292)) and decode.next_mask == 15
    assert str(decode).endswith("tp = 7 7 7 7; t0 = 118 11c 120 124")
    decode = simulator.step(0)
    assert decode.rd is None and decode.values2 == (296, 300, 360, 364)
    decode = simulator.step(0)          # one register keeps the VIDs
    assert decode.values == (10,) * 4 and decode.rd2 is None
    decode = simulator.step(0)
    assert decode.values == (none,) * 4 and decode.rd2 is None and decode.next_mask == 15


@pytest.mark.parametrize("warps", [1, 32, 64])
def test_active_warps_fill_a_word(warps):
    simulator = started(encode("csrrs", rd=1, rs1=0, csr=Csr.ACTIVE_WARPS), config=shape(warps, 1))
    for warp in simulator.warps:
        simulator.set_mask(warp, 1)
    assert simulator.step(0).values == ((1 << min(warps, 32)) - 1,)


def test_weaver_masks():
    config = shape(1, 4, gather="fsm")
    simulator = started(
        encode("weaver.reg", rs1=1, rs2=2, rs3=3), encode("weaver.dec_id", rd=4),
        encode("weaver.dec_loc", rd=5), encode("weaver.skip", rs1=4),
        encode("weaver.dec_id", rd=4), config=config, x1=[7, 8, 9, 10], x2=[70, 80, 90, 100],
        x3=[6, 3, 2, 1])
    none = 0xFFFF_FFFF
    simulator.set_mask(simulator.warps[0], 0b1101)
    assert simulator.step(0).rd is None
    decode = simulator.step(0)          # all lanes are active from now on
    assert decode.mask == 15 and decode.values == (7, 7, 7, 7) and decode.next_mask == 15
    assert simulator.step(0).values == (70, 71, 72, 73)
    simulator.step(0)                   # skips the rest of vertex 7
    decode = simulator.step(0)
    assert decode.values == (9, 9, 10, none)
    assert decode.mask == 15 and decode.next_mask == 0b0111
    simulator.warps[0].pc = 4
    decode = simulator.step(0)
    assert decode.values == (none,) * 4 and decode.next_mask == 15


@pytest.mark.parametrize("mask, closed", [(0b1110, False), (0b1111, True), (0b0001, True)])
def test_lane_0_sets(mask, closed):
    """A setting comes from lane 0: without it a list is not closed, and its number not stored."""
    place = GLOBAL + 64
    simulator = started(
        encode("gather.set", rs1=1, imm=GatherSetting.COUNT),
        encode("gather.set", rs1=1, imm=GatherSetting.CLOSE),
        config=shape(1, 4, gather="graphpeg"), x1=[place] * 4)
    simulator.store_word(place, 7, 0)
    simulator.set_mask(simulator.warps[0], mask)
    simulator.step(0)
    simulator.step(0)
    assert simulator.load_word(place, 0) == (0 if closed else 7)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_graphpeg_hands_out_the_edges_of_a_list(seed):
    """A warp starts the unit while the others wait with pops. All push the neighbours of edges with
    a weight above 10, and the list is closed behind a barrier."""
    config = shape(4, 4, gather="graphpeg")
    weights, rows = 0x400, ((), (3, 4, 5, 6, 7), (1,), (9, 9))
    memory = np.zeros(config.memory_bytes // 4, np.uint32)
    edges = [neighbor for row in rows for neighbor in row]
    first = GLOBAL // 4 + 64                        # the number of the first edge's word
    memory[16:21] = first + np.cumsum([0, *map(len, rows)])
    memory[64:64 + len(edges)] = edges
    memory[64 + weights // 4:64 + weights // 4 + len(edges)] = np.arange(8) + 7
    memory[32:36] = GLOBAL + 4 * np.array([3, 0, 1, 2])
    a = Assembler()
    word, base, neighbor, weight, warp = a.regs("word", "base", "neighbor", "weight", "warp")
    pop, end, done = a.label("pop"), a.label("end"), a.label("done")
    a.csrr(warp, Csr.WARP_ID)
    a.bnez(warp, pop)
    for setting, value in ((GatherSetting.OFFSETS, 64), (GatherSetting.WEIGHTS, weights),
                           (GatherSetting.INPUT, GLOBAL + 4 * 32), (GatherSetting.LIMIT, 8),
                           (GatherSetting.OUTPUT, GLOBAL + 4 * 48),
                           (GatherSetting.COUNT, GLOBAL + 4 * 40), (GatherSetting.START, 4)):
        a.li(word, value)
        a.gather_set(word, setting)
    a.place(pop)
    a.pop_edge(base)
    a.addi(word, base, 1)
    a.beqz(word, end)
    a.edge_neighbor(neighbor)
    a.edge_weight(weight)
    a.sltiu(weight, weight, 11)
    a.xori(weight, weight, 1)
    with a.if_(weight):
        a.push_vert(neighbor)
    a.j(pop)
    a.place(end)
    a.li(word, 4)
    a.bar(a.zero, word)
    a.bnez(warp, done)
    a.gather_set(word, GatherSetting.CLOSE)
    a.place(done)
    a.end_warp()
    machine = FunctionalMachine(config, seed=seed)
    found = machine.memory.view(np.uint32)
    found[:] = memory
    machine.load_program(a.finish().words)
    machine.launch(0, 0, max_cycles=10_000)
    assert found[40] == 4 and sorted(found[48:52].tolist()) == [1, 7, 9, 9] and not found[52]


def test_graphpeg_waits_for_ever_without_a_start():
    machine = FunctionalMachine(shape(1, 4, gather="graphpeg"))
    machine.load_program([encode("weaver.dec_id", rd=1), END])
    with pytest.raises(LimitError, match="warps wait for work"):
        machine.launch(0, 0, max_cycles=100)


def test_graphpeg_reports_a_list_that_is_too_long():
    machine = FunctionalMachine(shape(1, 4, gather="graphpeg"))
    machine.load_program([encode("graphpeg.push_vert", rs1=1), END])
    with pytest.raises(RunError, match=r"push_vert ra\): a store .* address 0x7ffffffc"):
        machine.launch(0, 0, max_cycles=100)
