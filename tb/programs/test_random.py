"""Random programs: the RTL leaves the same memory and registers as the simulator.

``./graphloom lockstep`` runs any number of further programs, and compares every instruction.
"""

import collections

import numpy as np
import pytest

from checks.campaign.machines import CONFIGS, machine, simulate, verify
from checks.campaign.random_programs import fitting_case, random_case
from checks.campaign.random_statements import memory_needed
from hw.operations import GatherSetting
from sw.golden.gather.graphpeg import GraphpegModel
from sw.golden.simulator import Simulator
from tb import runner, seeds
from tb.programs import counts


#: Number of programs for each configuration. Wide warps take longer to simulate. A usual run of the
#: tests does half of them.
COUNTS = {"tiny": 60, "one": 40, "scalar": 40, "wide": 15, "large": 15, "bare": 40, "long": 40,
          "scan": 30, "stream": 30, "eghw": 30, "graphpeg": 30, "late": 30}

#: Memories: quick, and slow with a short queue.
MEMORIES = ({"latency": 20}, {"latency": 3, "queue": 2, "bytes_per_cycle": 4})


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.sample(4)
def test_random_programs(name):
    for number in range(COUNTS[name] if runner.whole else COUNTS[name] // 2):
        seed = seeds.seed(number)
        case = random_case(CONFIGS[name], seed)
        try:
            verify(machine(name, **MEMORIES[number % 2]), case)
        except AssertionError as error:
            raise AssertionError(f"configuration {name}, seed {seed}: {error}") from None


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.sample(4)
def test_counts(name):
    counts.check_programs(name, CONFIGS[name])


def test_long_program():
    verify(machine("tiny"), random_case(CONFIGS["tiny"], 1, size=260))


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.sample(6)
def test_the_programs_do_not_depend_on_the_order_of_warps(name):
    for seed in range(3):
        case = random_case(CONFIGS[name], seed)
        first = simulate(CONFIGS[name], case)
        assert first.failure is None
        for order in range(2):
            other = simulate(CONFIGS[name], case, seed=order)
            assert np.array_equal(first.memory, other.memory)
            assert first.counters == other.counters


def test_programs_for_memories_of_any_size():
    """Programs fit a short instruction memory, use as much global memory as ``memory_needed`` says,
    and use only the end of a large local memory."""
    config = CONFIGS["tiny"].replace(imem_bytes=1 << 10, memory_bytes=1 << 16, local_bytes=1 << 17)
    cases = [fitting_case(config, seed) for seed in range(12)]
    assert len(list(filter(None, cases))) > 8
    for case in filter(None, cases):
        assert 4 * len(case.words) <= config.imem_bytes
        assert 4 * len(case.memory) == memory_needed(config) <= config.memory_bytes
        core = Simulator(config)
        case.fill(core.memory)
        core.load_program(case.words)
        core.start(case.entry, case.argument)
        core.run(limit=1_000_000)
        local = core.local.view(np.uint32)
        assert local[-1024:].any() and not local[:-1024].any()
    assert fitting_case(config.replace(imem_bytes=1 << 15), 1).words == random_case(
        config.replace(imem_bytes=1 << 15), 1).words


def test_programs_push_vertices(monkeypatch):
    """With GraphPEG, programs of all kinds come up: one warp pushes, all push, and nobody does."""
    config, pushes, kinds = CONFIGS["graphpeg"], [], collections.Counter()
    push, settings = GraphpegModel.push, GraphpegModel.set

    def count(self, vertices):
        pushes.append(vertices.tolist())
        push(self, vertices)

    def close(self, number, value):
        settings(self, number, value)
        if number == GatherSetting.CLOSE:
            words = {word for vertices in pushes for word in vertices}
            kinds[min(2, len(words))] += 1
            pushes.clear()
    monkeypatch.setattr(GraphpegModel, "push", count)
    monkeypatch.setattr(GraphpegModel, "set", close)
    for seed in range(20):
        assert simulate(config, random_case(config, seed)).failure is None
    assert all(kinds[words] > 2 for words in range(3)), kinds
