"""The check of the exercise docs/course/counter.md: the counter ``divergences``.

=====================  =============================================================
the table              test_it_is_in_the_table, test_it_is_documented
known counts           test_by_hand, test_what_does_not_count
the model              test_the_model_agrees
the trace              test_the_trace_agrees
=====================  =============================================================
"""

import functools
import itertools

import pytest

from base.installation import ROOT
from checks.campaign.machines import Launch, run, simulate, verify
from checks.campaign.random_programs import random_case
from hw.config import preset
from hw.isa import BY_NAME, Csr, decode
from hw.registers import CORE_COUNTERS
from sim.native import NativeMachine
from sw.cli import pages
from sw.graph.load import load
from sw.compile.asm.assembler import Assembler
from sw.device import Device
from sw.device.trace.recorder import Recorder


CONFIG = preset("tiny").replace(trace=True)
NAME = "divergences"


@functools.cache
def machine():
    return NativeMachine(CONFIG)


def test_it_is_in_the_table():
    assert NAME in CORE_COUNTERS, "CORE_COUNTERS of hw/registers.py has no row 'divergences'"


def test_it_is_documented():
    made = pages.pages()["registers.md"]
    assert f"`{NAME}`" in made
    assert (ROOT / "docs/registers.md").read_text() == made, "run ./graphloom docs"


def program(build):
    """A program of each warp. ``build`` gets the assembler, the mask of all lanes, the lane's
    number and two registers to use."""
    a = Assembler()
    full, lane, x, y = a.regs("full", "lane", "x", "y")
    a.csrr(full, Csr.ACTIVE_MASK)
    a.csrr(lane, Csr.THREAD_ID)
    build(a, full, lane, x, y)
    a.end_warp()
    return Launch(a.finish().words)


def split_within_a_split(a, full, lane, x, y):
    """Lanes 0 and 1 part from lanes 2 and 3, then 0 from 1 and 2 from 3: three divergences, one
    for each pair of sides. No JOIN counts."""
    a.slti(x, lane, 2)
    a.split(y, x)
    a.andi(x, lane, 1)
    outer, inner = y, x
    a.split(inner, x)
    a.join(inner)
    a.join(outer)


def leaving_and_returning(a, full, lane, x, y):
    """Lanes leave by PRED and by TMC; a TMC and a PRED bring all back."""
    a.slti(x, lane, 3)
    a.pred(x, full)             # lane 3 leaves: counts
    a.slti(x, lane, 1)
    a.pred(x, full)             # lanes 1 and 2 leave: counts
    a.tmc(full)                 # all lanes are back
    a.li(x, 6)
    a.tmc(x)                    # lanes 1 and 2 stay: counts
    a.li(x, 0)
    a.pred(x, full)             # no lane passes, so all lanes are back


def all_agree(a, full, lane, x, y):
    """No lane goes another way than the others."""
    a.split(y, full)
    a.join(y)
    a.split(y, a.zero)
    a.join(y)
    a.pred(full, full)
    a.tmc(full)


def others_go_on(a, full, lane, x, y):
    """A TMC to lanes of which some were off is no divergence."""
    a.li(x, 3)
    a.tmc(x)                    # counts
    a.li(x, 6)
    a.tmc(x)                    # lane 2 was off


@pytest.mark.parametrize("build, count", [
    (split_within_a_split, 3), (leaving_and_returning, 3)])
def test_by_hand(build, count):
    counted = run(machine(), program(build)).counters
    assert counted[NAME] == count * CONFIG.warps, build.__doc__


@pytest.mark.parametrize("build, count", [(all_agree, 0), (others_go_on, 1)])
def test_what_does_not_count(build, count):
    counted = run(machine(), program(build)).counters
    assert counted[NAME] == count * CONFIG.warps, build.__doc__


@pytest.mark.parametrize("seed", range(3))
def test_the_model_agrees(seed):
    """Random programs: :func:`checks.campaign.machines.verify` compares each counter that the
    instruction-set simulator has with the RTL's."""
    case = random_case(CONFIG, seed)
    assert NAME in simulate(CONFIG, case).counters, \
        "counters() of sw/golden/simulator.py has no 'divergences'"
    assert verify(machine(), case).counters[NAME] > 0


def divergences(recorder):
    """Divergences that a trace shows: a SPLIT, PRED or TMC after which the warp's next instruction
    runs in some of the lanes, in no others, and not in all."""
    count, issue = 0, recorder.records["issue"]
    narrowing = {BY_NAME[name] for name in ("split", "pred", "tmc")}
    for launch, _, _ in recorder.launches():
        for warp in range(recorder.config.warps):
            own = issue[recorder.instructions(launch, 0, warp)]
            for before, after in itertools.pairwise(own):
                lanes, left = int(before["mask"]), int(after["mask"])
                count += (decode(recorder.word(int(before["pc"]))) in narrowing
                          and left != lanes and not left & ~lanes)
    return count


@pytest.mark.parametrize("schedule", ["vm", "weaver"])
def test_the_trace_agrees(schedule):
    recorder = Recorder(CONFIG, (0, 20_000))
    with Device.simulate(CONFIG, recorder=recorder) as device:
        counters = device.run("bfs", load("karate"), schedule=schedule).counters
    assert counters["cycles"] < 20_000
    assert counters[NAME] == divergences(recorder) > 0
