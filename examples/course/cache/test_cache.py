"""The check of the exercise docs/course/cache.md: replacement of the least recently used way.

=====================  =============================================================
the policy             test_least_recently_used: against a model, in each cycle
answers.json           test_counters, test_unchanged: against runs on this hardware
=====================  =============================================================
"""

import json
import pathlib
import random

import pytest
from amaranth.sim import Simulator

from checks.course.answers import judge
from hw.config import preset
from hw.memory.replacement import Replacement
from sw.graph.load import load
from sw.device import Device


ANSWERS = pathlib.Path(__file__).parent / "answers.json"
CONFIG = preset("tiny").replace(l1_ways=4)

#: The runs of the page: algorithm, graph, schedule and parameters, by the name of the answer.
RUNS = {"pagerank rmat": ("pagerank", "rmat:scale=8,degree=8,seed=1", "weaver", {"iterations": 2}),
        "pagerank road": ("pagerank", "road:side=16,seed=1", "vm", {"iterations": 2}),
        "bfs karate": ("bfs", "karate", "vm", {})}

#: Cycles of the runs with the tree's own replacement. A test of the tree compares them with runs.
BEFORE = {"pagerank rmat": 112_352, "pagerank road": 36_597, "bfs karate": 10_995}


@pytest.mark.parametrize("sets, ways, passing", [(1, 2, False), (4, 4, False), (2, 8, False),
                                                 (4, 4, True)])
def test_least_recently_used(sets, ways, passing):
    dut = Replacement(sets=sets, ways=ways, passing=passing)
    rng = random.Random(5)
    # After power on, the ways were used in the order of their numbers.
    order, passed = [list(range(ways)) for _ in range(sets)], {}

    async def bench(context):
        for turn in range(600):
            number, touched = rng.randrange(sets), rng.randrange(sets)
            valid = (1 << ways) - 1 if rng.random() < 0.7 else rng.getrandbits(ways)
            way = rng.randrange(ways) if rng.random() < 0.6 else None
            once = passing and rng.random() < 0.3
            context.set(dut.set, number)
            context.set(dut.valid, valid)
            context.set(dut.touched_set, touched)
            context.set(dut.touch, 0 if way is None else 1 << way)
            if passing:
                context.set(dut.once, once)
            invalid = [each for each in range(ways) if not valid >> each & 1]
            expected = invalid[0] if invalid else passed.get(number, order[number][0])
            victim = context.get(dut.victim)
            assert victim == 1 << expected, (
                f"cycle {turn}: victim {victim:#x}, must be way {expected}; the ways of set "
                f"{number} were used in the order {order[number]}")
            await context.tick()
            if way is not None and once:
                passed[touched] = way
            elif way is not None:
                order[touched].remove(way)
                order[touched].append(way)
                if passed.get(touched) == way:
                    del passed[touched]

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.fixture(scope="module")
def results():
    """The results of the runs on this hardware. Each equals golden, or the run fails."""
    with Device.simulate(CONFIG) as device:
        return {name: device.run(algorithm, load(graph), schedule=schedule, **parameters)
                for name, (algorithm, graph, schedule, parameters) in RUNS.items()}


@pytest.mark.parametrize("name", ["cycles", "l1_load_hits", "dram_reads", "stall_memory"])
def test_counters(name, results):
    judge(name, json.loads(ANSWERS.read_text()), [results["pagerank rmat"].counters[name]],
          "It is the counter of the first run of the page, on your hardware with four ways.")


def test_unchanged(results):
    """One of the runs takes exactly as many cycles as before."""
    same = [name for name, result in results.items() if result.cycles == BEFORE[name]]
    if len(same) != 1:
        pytest.fail(f"{len(same)} of the runs take as many cycles as before, must be 1: look at "
                    "the policy first", pytrace=False)
    judge("unchanged", json.loads(ANSWERS.read_text()), same,
          "Run the three command lines of the page again, and compare the cycles.")
