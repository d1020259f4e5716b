"""The functional machine: launches, limits, counters, orders, and the library.

==============================  ==================================================================
registers, local memory         test_state_stays_until_power_on, test_an_error_is_a_power_on
limits and signals              test_limit, test_limit_of_a_later_launch, test_progress_can_stop,
                                test_watch
barriers                        test_a_release_frees_one_barrier
counters                        test_counters_of_cores, test_instret
no end                          test_nothing_left_to_register
orders                          test_any_order_gives_the_same, test_orders_differ
configurations                  test_every_shape
the library                     test_one_library, test_no_compiler
decoding                        test_decoding
==============================  ==================================================================
"""

import subprocess

import numpy as np
import pytest

from checks.campaign.machines import CONFIGS, CORES
from checks.campaign.random_programs import fitting_case
from hw.config import LEGAL, preset
from hw.isa import BY_NAME, INSTRUCTIONS, Csr, MemoryMap, decode, encode
from sim import toolchain
from sim.errors import BuildError, SimulationError
from sim.functional import build
from sim.functional.decode import DISCARD, ILLEGAL, decoded, names
from sim.functional.machine import FunctionalSimulator
from sw.compile.asm.assembler import Assembler, Condition
from hw.disassembler import operands
from tb.seeds import draw, seed


TINY, GLOBAL = preset("tiny"), MemoryMap.GLOBAL


def program(build_):
    """The words of a program that a function of an assembler and two registers writes."""
    a = Assembler()
    build_(a, *a.regs("x", "y"))
    a.end_warp()
    return a.finish().words


#: Adds 1 to the first word of local memory, and copies it and register x9 to global memory.
COUNTING = program(lambda a, x, y: (
    a.li(x, MemoryMap.LOCAL), a.lw(y, x, 0), a.addi(y, y, 1), a.sw(y, x, 0), a.li(x, GLOBAL),
    a.sw(y, x, 0)))

#: Never ends.
ENDLESS = (encode("jal", imm=0),)


def word(machine, index=0):
    return int(machine.memory.view(np.uint32)[index])


def test_state_stays_until_power_on():
    machine = FunctionalSimulator(TINY.replace(warps=1))
    machine.load_program(COUNTING)
    for count in (1, 2, 3):
        machine.launch(0, 0)
        assert word(machine) == count
    assert machine.registers(0, 0).any()
    machine.power_on()
    assert not machine.registers(0, 0).any() and not machine.counters()["instructions"]
    machine.launch(0, 0)
    assert word(machine) == 1


def test_an_error_is_a_power_on():
    """The launch after one that was stopped begins with a new GPU, as on the RTL."""
    machine = FunctionalSimulator(TINY.replace(warps=1))
    machine.load_program(COUNTING)
    machine.launch(0, 0)
    machine.load_program([encode("addi", rd=9, imm=5), encode("ebreak")])
    with pytest.raises(SimulationError, match="warp 0 stopped at PC 0x00000004: EBREAK"):
        machine.launch(0, 0)
    machine.load_program(COUNTING)
    machine.launch(0, 0)
    assert word(machine) == 1 and not machine.registers(0, 0)[9].any()


@pytest.mark.parametrize("limit", [1, 7, 1000])
@pytest.mark.parametrize("seed_", [None, 3])
def test_limit(limit, seed_):
    machine = FunctionalSimulator(CORES["trio"], seed=seed_)
    machine.load_program(ENDLESS)
    with pytest.raises(SimulationError, match=f"not finished after {limit} instructions") as caught:
        machine.launch(0, 0, max_cycles=limit)
    assert caught.value.kind == "limit"
    assert caught.value.counters["instructions"] == limit
    machine.load_program((encode("tmc"),))
    machine.launch(0, 0)


def test_limit_of_a_later_launch():
    """A limit counts from its own launch on, whatever was counted before."""
    machine = FunctionalSimulator(TINY.replace(warps=1))
    machine.load_program([encode("addi")] * 9 + [encode("tmc")])
    for _ in range(3):
        machine.launch(0, 0, max_cycles=11)
    with pytest.raises(SimulationError, match="not finished after 9 instructions"):
        machine.launch(0, 0, max_cycles=9)


def test_a_release_frees_one_barrier():
    """Two warps meet at barrier 0 while a warp waits at barrier 1, for one that stores a word."""
    def text(a, number, other):
        a.csrr(number, Csr.WARP_ID)
        base, one, two = a.regs("base", "one", "two")
        a.li(base, GLOBAL)
        a.li(one, 1)
        a.li(two, 2)
        for warp, barrier in ((1, a.zero), (2, a.zero), (0, one), (3, one)):
            a.li(other, warp)
            with a.if_uniform(Condition("eq", number, other)):
                if warp == 3:
                    for _ in range(60):
                        a.nop()
                    a.sw(two, base, 0)
                a.bar(barrier, two)
                if warp == 0:
                    a.lw(one, base, 0)
                    a.sw(one, base, 4)
                a.end_warp()

    words = program(text)
    for settings in ({}, {"burst": 7}, *({"seed": number} for number in range(4))):
        machine = FunctionalSimulator(TINY.replace(warps=4), **settings)
        machine.load_program(words)
        machine.launch(0, 0)
        assert (word(machine), word(machine, 1)) == (2, 2), settings


def test_progress_can_stop():
    machine, told = FunctionalSimulator(TINY), []
    machine.load_program(ENDLESS)

    def progress(count):
        told.append(count)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        machine.launch(0, 0, progress=progress)
    assert told == sorted(told) and told[0] > 0


def test_watch():
    machine, looks = FunctionalSimulator(TINY), []
    machine.load_program(ENDLESS)
    assert machine.launch(0, 0, watch=lambda: looks.append(1) or len(looks) == 2) is False
    machine.load_program((encode("tmc"),))
    assert machine.launch(0, 0, watch=lambda: True) is True


def test_counters_of_cores():
    """Each core counts what its warps execute; lanes are the active ones."""
    config = CORES["trio"]
    machine = FunctionalSimulator(config)
    machine.load_program([encode("addi"), encode("addi", rd=1, imm=1), encode("tmc", rs1=1),
                          encode("addi"), encode("tmc")])
    machine.launch(0, 0)
    each = machine.core_counters()
    assert [core["instructions"] for core in each] == [5 * config.warps] * 3
    assert [core["lanes"] for core in each] == [(3 * config.threads + 2) * config.warps] * 3
    assert machine.counters() == {name: sum(core[name] for core in each) for name in each[0]}
    machine.clear_counters()
    assert not any(machine.counters().values())


def test_instret():
    """INSTRET and CYCLE: the instructions that the core has executed before, in this launch."""
    machine = FunctionalSimulator(TINY.replace(warps=1))
    machine.load_program(program(lambda a, x, y: (
        a.nop(), a.csrr(x, Csr.INSTRET), a.csrr(y, Csr.CYCLE), a.add(x, x, y), a.li(y, GLOBAL),
        a.sw(x, y, 0))))
    for _ in range(2):
        machine.launch(0, 0)
        assert word(machine) == 1 + 2


def test_nothing_left_to_register():
    """Warps that wait for edges that no warp can start any more: an error, not an endless run."""
    machine = FunctionalSimulator(CONFIGS["graphpeg"])
    machine.load_program((encode("weaver.dec_id", rd=1), encode("tmc")))
    with pytest.raises(SimulationError, match="warps wait for work, and no warp is left"):
        machine.launch(0, 0)


def _memory(case, machine):
    case.fill(machine.memory)
    machine.load_program(case.words)
    machine.launch(case.entry, case.argument)
    return machine.memory.copy(), machine.counters()


@pytest.mark.parametrize("name", ["tiny", "scan", "stream", "pair", "trio"])
def test_any_order_gives_the_same(name):
    config = (CONFIGS | CORES)[name]
    case = fitting_case(config, seed(3), 60)
    right, counters = _memory(case, FunctionalSimulator(config))
    for settings in ({"burst": 5}, {"burst": 1000}, {"seed": 0}, {"seed": 1}, {"seed": 2}):
        memory, counted = _memory(case, FunctionalSimulator(config, **settings))
        assert np.array_equal(memory, right), settings
        assert counted == counters, settings


def test_orders_differ():
    """With a seed registers begin with arbitrary numbers, and the last warp to store differs."""
    words = program(lambda a, x, y: (
        a.csrr(x, Csr.WARP_ID), a.li(y, GLOBAL), a.sw(x, y, 0)))
    found = set()
    for number in range(12):
        machine = FunctionalSimulator(TINY.replace(warps=8), seed=number)
        machine.load_program(words)
        machine.launch(0, 0)
        assert machine.registers(0, 3)[20].any() and not machine.registers(0, 3)[0].any()
        found.add(word(machine))
    assert len(found) > 2


def test_every_shape():
    """Each legal number of lanes, and the most warps and cores, in order and at random: every lane
    of every warp counts once."""
    most = LEGAL["warps"].values[-1], LEGAL["cores"].values[-1]
    for threads in LEGAL["threads"].values:
        for warps, cores, order in ((1, 2, None), (2, 2, 1), (*most, None), (*most, 2)):
            config = TINY.replace(threads=threads, warps=warps, l1_bytes=1 << 12,
                                  local_bytes=1 << 12, cores=cores)
            machine = FunctionalSimulator(config, seed=order)
            machine.load_program(program(lambda a, x, y: (
                a.li(x, GLOBAL), a.csrr(y, Csr.THREAD_ID), a.addi(y, y, 1),
                a.amoadd_w(a.zero, y, x))))
            machine.launch(0, 0)
            assert word(machine) == cores * warps * threads * (threads + 1) // 2


def test_one_library():
    """Nothing is compiled for a configuration."""
    assert build.library() == build.library(report=pytest.fail)
    for config in (TINY, preset("paper"), CONFIGS["graphpeg"]):
        FunctionalSimulator(config, report=pytest.fail).close()


def test_no_compiler(monkeypatch, tmp_path):
    """A compiler that fails ends with the end of what it printed; nothing is kept."""
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GRAPHLOOM_CACHE_SHARED", raising=False)

    def broken(command, **options):
        return subprocess.CompletedProcess(command, 1, "error: no such thing")

    toolchain.compiler()
    monkeypatch.setattr(build.subprocess, "run", broken)
    with pytest.raises(BuildError, match="exit code 1:\nerror: no such thing"):
        build.library()
    assert not list((tmp_path / "cache" / "functional").glob("*[!.tmp]/functional.so"))


def test_decoding():
    """Random words of each row of the table: fields are those of the disassembler."""
    rng, config = draw("decoding"), TINY.replace(gather="fsm")
    words = [word for row in INSTRUCTIONS for _ in range(8)
             if decode(word := row.match | rng.getrandbits(32) & ~row.mask) is row]
    found = decoded(config, words)
    for index, (text, record) in enumerate(zip(words, found)):
        fields = operands(text)
        if record["op"] == ILLEGAL:
            assert not fields.row.exists(config) or fields.row.name.startswith("csr")
            continue
        if fields.row.name == "fence":      # its operands are ignored
            continue
        assert names()[record["op"]] == fields.row.name.upper().replace(".", "_")
        assert record["rd"] == (fields.destinations[0] or DISCARD)
        assert record["rs1"] == fields.rs1 or fields.row.format.name in ("U", "J", "CSI", "N")
        if fields.row.format.name in ("B", "J"):
            assert record["imm"] == 4 * index + fields.imm & 0xFFFF_FFFF
        elif fields.row.format.name in ("I", "S", "SH") or fields.row.numbered:
            assert record["imm"] == fields.imm & 0xFFFF_FFFF
    assert len({int(op) for op in found["op"]}) > 70
    assert decoded(config, [encode("auipc", rd=3, imm=1)] * 2)["imm"].tolist()[:2] == [
        0x1000, 0x1004]
    assert BY_NAME["amocas.w"].reads == "12d"
    assert decoded(config, [encode("amocas.w", rd=7, rs1=1, rs2=2)])["rs3"][0] == 7
