"""Every instruction of random programs is compared with the simulator's, on several shapes.

===================  =========================================================
the RTL              test_random_programs, test_weaver_race, test_error
groups of warps      test_groups_of_warps
compared fields      test_each_field_is_compared, test_a_lane_outside_the_mask
the report           test_report, test_a_wrong_program
its command          test_command, test_command_reports
===================  =========================================================

The shape 32x32 takes two minutes to build: it is left to ``./graphloom lockstep``.
"""

import functools

import numpy as np
import pytest

from checks.campaign import lockstep
from checks.campaign.machines import Launch, run as run_case
from checks.campaign.random_programs import random_case
from hw.isa import Cause, Csr
from hw.operations import AluOp
from sim.trace import Tracer
from sw.cli.main import main
from sw.golden import semantics
from sw.golden.gather.fsm import WeaverModel
from sw.golden.lockstep import Difference, Lockstep
from sw.golden.simulator import Simulator
from sim.memory import ArrayMemory
from sw.compile.asm.assembler import Assembler, GeneralRegister
from sw.compile.kernels import fusion
from sw.device import Device
from tb import seeds
from tb.sw.graphs import random_graph


#: Shapes, and instructions to compare on each.
SHAPES = {"1x1": 10_000, "1x4": 10_000, "4x1": 10_000, "2x4": 12_000, "8x8": 10_000}

#: The shape of the tests that need only one shape.
SHAPE = "2x4"


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.sample(2)
def test_random_programs(name):
    done, number = lockstep.Run(), 100
    while done.instructions < SHAPES[name] or number < 104:
        seed = seeds.seed(number)
        try:
            lockstep.run(lockstep.shape(name), seed, launches=2, done=done)
        except Difference as difference:
            pytest.fail(f"{name}, seed {seed}: {difference}", pytrace=False)
        number += 1
    # Hardly any result may be taken from the RTL.
    assert done.taken < done.instructions / 100


def _program(build, **changes):
    """A case of an assembled program; ``build`` is given the assembler."""
    a = Assembler()
    build(a)
    return Launch(a.finish().words, **changes)


def _weaver_race(a, fused=False):
    """Warps skip vertices whose work other warps are getting."""
    lane, degree, one, vid, value, eid = a.regs("lane", "degree", "one", "vid", "value", "eid")
    a.csrr(lane, Csr.WARP_ID)
    a.slli(lane, lane, 2)
    a.csrr(value, Csr.THREAD_ID)
    a.add(lane, lane, value)
    a.li(degree, 9)
    a.weaver_reg(lane, lane, degree)
    a.li(one, 0)
    a.csrr(value, Csr.NUM_WARPS)
    a.bar(one, value)
    top, end = a.place("top"), a.label("end")
    if fused:
        a.weaver_dec(vid, eid)
        a.srli(eid, eid, 2)
    else:
        a.weaver_dec_id(vid)
    a.addi(value, vid, 1)
    a.beqz(value, end)
    if not fused:
        a.weaver_dec_loc(eid)
    # Wait for a different time after each decode, so that some skips meet a decode of another warp.
    a.andi(value, eid, 15)
    wait, over = a.place("wait"), a.label("over")
    a.beqz(value, over)
    a.addi(value, value, -1)
    a.j(wait)
    a.place(over)
    a.weaver_skip(vid)
    a.j(top)
    a.place(end)
    a.end_warp()


def test_weaver_race():
    """The work that the Weaver hands out during a skip depends on the time, so the RTL's answer is
    taken."""
    device = lockstep.machine(lockstep.shape(SHAPE), lockstep.memory_of(lockstep.shape(SHAPE), 0))
    done = lockstep.compare(device, [_program(_weaver_race)])
    assert done.taken > 0


@pytest.mark.parametrize("name, schedule", [
    ("4x1", "cm:group=2"), ("8x8", "twc:core=9:group=4:warp=3")])
def test_groups_of_warps(name, schedule):
    """A whole fused loop, in which groups meet at barriers of their own, and all at the core's."""
    config = lockstep.shape(name)
    image = ArrayMemory()
    image.memory = np.zeros(config.memory_bytes, np.uint8)
    with Device.functional(config) as device:
        task = device.plan("pagerank", random_graph(90, 400, 1), iterations=2, schedule=schedule,
                           direction="pull", fusion=True)
    task.build()
    task.buffers.upload(image)
    case = Launch(tuple(task.program.words), task.program.entries[fusion.KERNEL],
                  memory=image.memory.view(np.uint32))
    done = lockstep.compare(lockstep.machine(config, lockstep.memory_of(config, 0)), [case])
    assert done.instructions > 5000 and done.taken < done.instructions / 100


@pytest.mark.parametrize("first, second", [(5, 6), (5, 5), (0, 6), (5, 0), (0, 0)])
def test_two_results(first, second):
    """WEAVER_DEC with two registers, with one twice, and with x0."""
    def build(a):
        vid, place = GeneralRegister(first, "vid"), GeneralRegister(second, "place")
        lane, degree, warps = (GeneralRegister(number, str(number)) for number in (8, 9, 10))
        a.csrr(lane, Csr.THREAD_ID)
        a.li(degree, 3)
        a.weaver_reg(lane, lane, degree)
        a.csrr(warps, Csr.NUM_WARPS)
        a.bar(a.zero, warps)
        for _ in range(4):
            a.mul(GeneralRegister(6, "6"), lane, degree)
            a.weaver_dec(vid, place)
            a.add(GeneralRegister(7, "7"), GeneralRegister(6, "6"), GeneralRegister(5, "5"))
        a.end_warp()
    config = lockstep.shape(SHAPE)
    device = lockstep.machine(config, lockstep.memory_of(config, 0))
    assert lockstep.compare(device, [_program(build)]).instructions


def test_both_results_of_a_race_are_taken(monkeypatch):
    """A model that hands out other edges differs, unless a race has been seen before. Then both
    results of the RTL are taken."""
    program = _program(functools.partial(_weaver_race, fused=True))
    config = lockstep.shape(SHAPE)
    device = lockstep.machine(config, lockstep.memory_of(config, 0))
    assert lockstep.compare(device, [program]).taken == 0
    hand_out, begin = WeaverModel._hand_out, Lockstep.begin

    def other_edges(model, warp):
        filled, vids = hand_out(model, warp)
        model._dense[warp] += np.uint32(filled and vids[0] + 1)
        return filled, vids
    monkeypatch.setattr(WeaverModel, "_hand_out", other_edges)
    with pytest.raises(Difference, match="weaver.dec .*: t1 differs"):
        lockstep.compare(device, [program])

    def raced(comparison, *arguments):
        begin(comparison, *arguments)
        comparison._raced = True
    monkeypatch.setattr(Lockstep, "begin", raced)
    assert lockstep.compare(device, [program]).taken > 0


@pytest.mark.parametrize("build, cause", [
    (lambda a: a.ecall(), Cause.ECALL),
    (lambda a: a.lw(a.reg("x"), a.zero, 1), Cause.LOAD_MISALIGNED),
    (lambda a: a.sw(a.zero, a.zero, 4), Cause.STORE_ACCESS),
])
def test_error(build, cause):
    """An error ends the comparison, and must be the same on both sides."""
    config = lockstep.shape(SHAPE)
    device = lockstep.machine(config, lockstep.memory_of(config, 0))
    case = _program(build)
    assert lockstep.compare(device, [case, case]).launches == 1
    core = Simulator(config)
    core.load_program(case.words)
    comparison = Lockstep(core)
    comparison.begin(0)
    with pytest.raises(Difference, match=f"(?s)simulator: none.*RTL: {cause.name}, warp 0"):
        comparison.finish((cause, 0, 0, 0))


# A recorded launch, and its comparison if a field is wrong

@pytest.fixture(scope="module")
def recorded():
    """A random program that reads INSTRET, and the records of a launch."""
    config = lockstep.shape(SHAPE)
    device = lockstep.machine(config, lockstep.memory_of(config, 0))
    case = next(case for case in (random_case(config, seed) for seed in range(3))
                if any(word >> 20 == Csr.INSTRETH and word & 0x7F == 0x73 for word in case.words))
    chunks = []
    device.power_on()
    device.start_trace(Tracer(chunks.append, lockstep.STREAMS))
    run_case(device, case)
    device.start_trace(None)
    return config, case, {stream: np.concatenate([chunk[stream] for chunk in chunks])
                          for stream in lockstep.STREAMS}


def _compare(recorded, change=lambda records: None, case=None, pieces=1):
    """Compare the records after a change of a copy of them, fed in pieces of equal time."""
    config, recorded_case, records = recorded
    case = case or recorded_case
    records = {stream: array.copy() for stream, array in records.items()}
    change(records)
    core = Simulator(config)
    case.fill(core.memory)
    core.load_program(case.words)
    comparison = Lockstep(core)
    comparison.begin(case.entry, case.argument)
    end = int(records["issue"]["cycle"][-1]) + 1000
    for piece in range(pieces):
        low, high = end * piece // pieces, end * (piece + 1) // pieces
        comparison.feed({stream: array[(array["cycle"] >= low) & (array["cycle"] < high)]
                         for stream, array in records.items()})
    comparison.finish()
    return comparison


@pytest.mark.parametrize("pieces", [1, 2, 37, 1000])
def test_pieces(recorded, pieces):
    assert _compare(recorded, pieces=pieces).instructions == len(recorded[2]["issue"])


def _flip(stream, field, where, bit=1, lane=None):
    """A change of one record. ``where`` picks the record from the stream."""
    def change(records):
        array = records[stream]
        index = np.flatnonzero(where(records))[-1]
        if lane is None:
            array[field][index] ^= bit
        else:
            mask = (array["mask"][index] if "mask" in array.dtype.names else
                    records["issue"]["mask"][records["issue"]["cycle"] == array["cycle"][index]][0])
            lanes = [n for n in range(4) if mask >> n & 1 == (lane == "inside")]
            array[field][index][lanes[0]] ^= bit
    return change


def _drop(stream):
    def change(records):
        records[stream] = np.delete(records[stream], len(records[stream]) // 2)
    return change


def _repeat_write(records):
    middle = len(records["write"]) // 2
    records["write"] = np.insert(records["write"], middle, records["write"][middle])


def _every(stream):
    return lambda records: np.ones(len(records[stream]), bool)


def _stores(records):
    """Accesses of instructions without a result: stores, and atomics whose result is dropped."""
    issue, access = records["issue"], records["access"]
    storing = issue["cycle"][issue["rd"] == 0]
    # A fence has no data.
    return np.isin(access["cycle"], storing) & (access["address"] >= 1 << 28).all(axis=1)


@pytest.mark.parametrize("change, text", [
    (_flip("issue", "pc", _every("issue"), 4), "an instruction that the simulator does not"),
    (_flip("issue", "mask", _every("issue")), "an instruction that the simulator does not"),
    (_flip("issue", "warp", _every("issue")),
     "an instruction that the simulator does not|no such warp"),
    (_flip("issue", "phase", _every("issue")), "an instruction that the simulator does not"),
    (_flip("issue", "rd", lambda records: records["issue"]["rd"] > 1, 1),
     "no write-back|writes .* on the simulator|a write-back without"),
    (_flip("write", "value", _every("write"), 1 << 31, "inside"), "differs"),
    (_flip("write", "mask", _every("write")), "is written in lanes"),
    (_flip("access", "address", _stores, 1 << 12, "inside"), "addresses differ"),
    (_flip("access", "data", _stores, 1 << 5, "inside"), "data to store differ"),
    (_drop("issue"),
     "an instruction that the simulator does not|a write-back without|no write-back"),
    (_drop("write"), "no write-back|differs|is written in lanes"),
    (_drop("access"), "has not reached the load/store unit"),
    (_repeat_write, "a write-back without an instruction|differs|in lanes"),
    (lambda records: records.update(issue=records["issue"][:-1]), "the simulator has not"),
])
def test_each_field_is_compared(recorded, change, text):
    with pytest.raises(Difference, match=text):
        _compare(recorded, change)


def test_a_lane_outside_the_mask(recorded):
    """The value of a lane outside the mask is ignored."""
    partial = _flip("write", "value", lambda records: records["write"]["mask"] < 15, 1, "outside")
    assert _compare(recorded, partial).instructions == len(recorded[2]["issue"])


def _counting(a):
    first, second = a.regs("first", "second")
    a.csrr(first, Csr.INSTRET)
    a.csrr(first, Csr.CYCLE)
    a.csrr(second, Csr.INSTRET)
    a.csrr(second, Csr.CYCLE)
    a.end_warp()


@pytest.mark.parametrize("number", [2, 3])
def test_counts_are_consistent(number):
    """CYCLE and INSTRET are taken from the RTL, but must agree with the cycle and with each
    other."""
    config = lockstep.shape(SHAPE)
    device = lockstep.machine(config, lockstep.memory_of(config, 0))
    case, chunks = _program(_counting), []
    device.power_on()
    device.start_trace(Tracer(chunks.append, lockstep.STREAMS))
    run_case(device, case)
    device.start_trace(None)
    records = {stream: np.concatenate([chunk[stream] for chunk in chunks])
               for stream in lockstep.STREAMS}
    assert _compare((config, case, records)).taken == 4 * config.warps

    def change(records):
        mine = np.flatnonzero(records["write"]["warp"] == 1)
        records["write"]["value"][mine[number]] += 1
    with pytest.raises(Difference, match="reads .* on the RTL, must be"):
        _compare((config, case, records), change)


def test_report(recorded):
    """The report names the place, the difference, both states, and the instructions before."""
    with pytest.raises(Difference) as caught:
        _compare(recorded, _flip("write", "value", _every("write"), 1 << 31, "inside"))
    text = str(caught.value)
    for words in ("cycle ", "warp ", "PC 0x", "mask 0x", "phase ", "simulator: ", "RTL: ",
                  "in lanes", "stack", "last instructions of warp"):
        assert words in text, text


def test_a_wrong_program(recorded):
    """The first instruction that differs is named, not a later one."""
    config, case, records = recorded
    words = list(case.words)
    issue = records["issue"]
    place = next(int(pc) // 4 for pc in issue["pc"] if words[pc // 4] & 0x707F == 0x13)  # addi
    words[place] ^= 1 << 20
    with pytest.raises(Difference, match=f"PC {4 * place:#x},.*addi.* differs"):
        _compare(recorded, case=Launch(tuple(words), case.entry, case.argument, case.memory))


# The command

def test_command(capsys):
    assert main(["lockstep", "--shape", SHAPE, "--seed", "7", "--instructions", "1",
                 "--launches", "1"]) == 0
    assert "of seeds 7 to 7" in capsys.readouterr().out


def test_command_reports(capsys, monkeypatch):
    monkeypatch.setitem(semantics._ALU, AluOp.XOR, np.bitwise_or)
    assert main(["lockstep", "--shape", SHAPE, "--seed", "7", "--instructions", "1",
                 "--size", "60"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{SHAPE}, seed 7: cycle ") and "xor" in lines[0]
    assert lines[-1] == (f"reproduce: ./graphloom lockstep --shape {SHAPE} --seed 7 "
                         "--instructions 1 --size 60 --launches 8")


@pytest.mark.parametrize("arguments, text", [
    (["--shape", "big"], "'big' is not a shape"),
    (["--shape", "3x4"], "warps = 3"),
    (["--set", "trace=false"], "trace port"),
    (["--set", "warps=8"], "1 warps"),
    (["--set", "l1_ways=3"], "l1_ways = 3"),
    (["--instructions", "0"], "0"),
])
def test_command_refuses(capsys, arguments, text):
    assert main(["lockstep", *arguments]) == 2
    error = capsys.readouterr().err
    assert text in error and len(error.splitlines()) == 1
