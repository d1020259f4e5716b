"""The check of the exercise docs/course/unit.md: the gathering unit ``pair``.

=====================  =============================================================
found by itself        test_it_is_found
answers                test_lockstep: random programs, each answer against the model;
                       test_results: algorithms on the RTL
the promise            test_two_edges_a_cycle, test_an_odd_row
=====================  =============================================================
"""

import pytest
from amaranth.sim import Simulator

from checks.campaign import lockstep
from hw.config import preset
from hw.gather.variants import VARIANTS, component
from hw.operations import GatherOp
from sw.device import Device
from sw.graph.load import load


NAME = "pair"


def config():
    """Hardware with the unit. The test fails if there is none."""
    assert NAME in VARIANTS, "no folder of hw/gather has a record named 'pair'"
    return preset("tiny").replace(gather=NAME)


def test_it_is_found():
    unit = VARIANTS[config().gather]
    assert not unit.reads_memory and unit.answers(GatherOp.REG) and unit.answers(GatherOp.DEC)


def filled_after(degrees):
    """The cycles from a DEC of the tiny GPU's first warp to its answer, and the edges in it, where
    the lanes have registered rows of these degrees."""
    dut, found = component(config()), []

    async def bench(context):
        async def ask(**fields):
            for name, value in fields.items():
                context.set(getattr(dut.request.payload, name), value)
            context.set(dut.request.valid, 1)
            await context.tick().until(dut.request.ready)
            context.set(dut.request.valid, 0)

        context.set(dut.response.ready, 0)
        await ask(op=GatherOp.REG, warp=0, mask=(1 << len(degrees)) - 1, vid=[7, 8, 9, 10],
                  loc=[100, 200, 300, 400], degree=[*degrees] + [0] * (4 - len(degrees)))
        await ask(op=GatherOp.DEC, warp=0, rd=1, rd2=2, mask=15)
        for cycle in range(60):
            if context.get(dut.response.valid):
                break
            await context.tick()
        context.set(dut.response.ready, 1)
        await context.tick()
        assert context.get(dut.response.valid), "the addresses do not follow the vertices"
        found.extend((cycle, context.get(dut.response.payload.mask).bit_count(),
                      [context.get(lane) // 4 for lane in dut.response.payload.data]))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def test_two_edges_a_cycle():
    """Four edges of one vertex fill four lanes two cycles earlier than an edge a cycle would."""
    alone, _, _ = filled_after([1])
    cycles, lanes, edges = filled_after([8])
    assert (lanes, edges) == (4, [100, 101, 102, 103]), f"{lanes} lanes have work: {edges}"
    assert cycles <= alone + 2, f"the answer comes {cycles - alone} cycles after that of one edge"


def test_an_odd_row():
    """Three edges and one: no lane is left empty, and none is filled twice."""
    _, lanes, edges = filled_after([3, 5])
    assert (lanes, edges) == (4, [100, 101, 102, 200]), f"{lanes} lanes have work: {edges}"


@pytest.mark.parametrize("seed", [1, 2])
def test_lockstep(seed):
    """Random programs: each answer of the unit is its model's."""
    config()
    done = lockstep.run(lockstep.shape("2x4", [f"gather={NAME}"]), seed, launches=2)
    assert done.instructions > 400


@pytest.mark.parametrize("algorithm, graph", [
    ("pagerank", "karate"), ("bfs", "road:side=8,seed=1"), ("cc", "karate")])
def test_results(algorithm, graph):
    """Each run equals its reference, or it raises an error."""
    with Device.simulate(config()) as device:
        device.run(algorithm, load(graph), schedule="weaver")
