"""Combinations on the RTL, drawn anew in each test run, and the graphs that they run on.

``./graphloom list combinations --run`` runs all of them. Here some are drawn, with a new seed each
time. The environment variable GRAPHLOOM_SEED sets the seed, to repeat a run that failed. Planning
all of them takes minutes, so tests of many plan a sample, and with ``--full`` all.
"""

import dataclasses
import functools
import itertools
import os
import random
import re
import secrets

import numpy as np
import pytest

from base.errors import RunError, UserError
from checks.campaign.machines import CONFIGS
from sim.dram import DramConfig
from sw.study.benchmarks import combinations as trying
from sw.study.benchmarks.combinations import CombinationCase, draw, trials
from sw.golden.machine import FunctionalMachine
from sw.graph.load import load
from sw.graph.order import ORDERS
from sw.compile.kernels.split import SPLITS
from sw.compile.asm.virtual import VirtualAssembler
from sw.device import Device, as_plan
from sw.study.combinations import (
    AXES, FURTHER, GRAPHS, HARDWARE, choices, combinations, planned)
from tb import runner, seeds


#: Combinations that are drawn, each on every graph; and the parts in which they run.
DRAWN, PARTS = 40, 20

#: Combinations of a sample, of which a third work.
SAMPLE = 2_500

CONFIG = CONFIGS["large"]

#: For runs on the RTL: as much room for programs and queues, and few lanes, which take less time.
SMALL = CONFIGS["tiny"].replace(name="small", imem_bytes=CONFIG.imem_bytes,
                                local_bytes=CONFIG.local_bytes)


def every():
    """All combinations, or a sample of them, in their order."""
    return _planned(runner.whole)


@functools.cache
def _planned(whole):
    found = list(choices())
    if not whole:
        drawn = seeds.draw("combinations").sample(range(len(found)), SAMPLE)
        found = [found[index] for index in sorted(drawn)]
    return tuple(planned(CONFIG, found))


def working(number, seed, chosen):
    """So many of the combinations of some choices, drawn of those that work. Not all are
    planned."""
    chosen = list(chosen)
    random.Random(seed).shuffle(chosen)
    return [*itertools.islice((each for each in planned(CONFIG, chosen) if each.works), number)]


def ordered(case, index):
    """The case with the vertices in another order, if its schedule and its algorithm can."""
    plan = case.plan
    if plan.algorithm == "gcn" or (plan.algorithm, plan.schedule) == ("bfs", "scu-enhanced"):
        return case
    text = f"{plan.format}:reorder={list(ORDERS)[index % len(ORDERS)]}"
    return dataclasses.replace(case, plan=as_plan(plan, format=text))


@pytest.fixture(scope="module")
def seed():
    given = os.environ.get("GRAPHLOOM_SEED")
    return secrets.randbelow(1 << 32) if given is None else int(given)


def _split(case, split):
    """The case with a split; as it is for the counter, where sets of a program are lists, whose
    places no counter knows beforehand."""
    if split == "counter" and any(plan.kind.has_sets and plan.frontier == "queue"
                                  for plan in case.plan.sides.values()):
        return case
    return dataclasses.replace(case, plan=as_plan(case.plan, split=split))


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.sample(1)
def test_some_on_the_rtl(seed, part):
    """The runs split their work in one way or the other, and take turns with the orderings."""
    failed, large = [], 0
    cases = [ordered(_split(case, SPLITS[index % 2]), index)
             for index, case in enumerate(trials(working(DRAWN, seed, choices())))][part::PARTS]
    for case in cases:
        record = case.run(SMALL, DramConfig())
        if case.REFUSED in record:          # planning makes no program
            assert re.search("imem_bytes is|local memory is full", record[case.REFUSED])
            large += 1
        elif not record.get("verified"):
            failed.append(f"{case.describe()}: {case.plan.text}: {record['error']}")
        else:
            assert record["cycles"] > 0
    assert len(cases) == 3 * DRAWN // PARTS and large <= DRAWN // PARTS
    if failed:
        pytest.fail(f"{len(failed)} of {len(cases)} runs; repeat with GRAPHLOOM_SEED={seed}, and "
                    "name this test:\n" + "\n".join(failed), pytrace=False)


def test_what_is_listed_is_what_runs():
    assert not [each for each in every() if each.fault is not None]
    works = [each for each in every() if each.reason is None]
    cases = trials(every())
    assert len(cases) == len(set(cases)) == len(GRAPHS) * len(works)
    assert {case.choice for case in cases} == {tuple(each.choice.items()) for each in works}
    assert {case.ground for case in cases} == set(GRAPHS)


def test_a_trial_is_its_combination():
    """A run has the values of its combination, and options that divide a small graph."""
    for case in trials(draw(every(), 200, 3)):
        choice = dict(case.choice)
        block = choice.pop("block")
        assert ("block=16" in case.plan.format) == (block == "16")
        for axis, value in choice.items():
            plan = case.plan.first if axis == "frontier" and case.plan.direction == "auto" \
                else case.plan
            assert getattr(plan, axis).partition(":")[0] == value if value else \
                getattr(plan, axis) is None
        unblocked = case.plan.format.replace(":block=16", "")
        assert (":" in unblocked) <= (case.ground != "road")
    assert any(":" in case.plan.format for case in trials(every()))


def test_a_frontier_that_is_offered_works():
    offered = {}
    for each in every():
        names = re.search("cannot have frontier .*; it can have (.*)", each.reason or "")
        for name in names[1].split(" or ") if names else ():
            choice = each.choice | {"frontier": name}
            offered[tuple(choice.values())] = choice, each.reason
    assert offered
    chosen, reasons = zip(*offered.values())
    for each, reason in zip(planned(CONFIG, chosen), reasons):
        # There may be no room for any frontier.
        assert each.works or "local memory is full" in each.reason, reason


def test_no_further_value_helps():
    """A combination that is refused though it leaves deduplication and near and far open is not
    planned again. The planner would refuse it with any value of these axes."""
    device, draw_ = Device.functional(CONFIG), random.Random(5)
    refused = [each for each in every() if each.reason is not None]
    for each in draw_.sample(refused, 500):
        further = {axis: draw_.choice(FURTHER[axis]()) for axis in ("deduplicate", "delta")}
        with pytest.raises(UserError):
            for ground in GRAPHS.values():
                asked = ground.asked(each.choice | further)
                algorithm = asked.pop("algorithm")
                device.plan(algorithm, ground.load(algorithm), **asked)


def test_further_axes_are_planned():
    """A combination with further values is refused exactly if the planner refuses it."""
    only = {"algorithm": ["bfs"], "format": ["csr"], "schedule": ["wm"], "block": ["none"]}
    found = list(combinations(CONFIG, only, further=True))
    assert len(found) == 12 * len(list(combinations(CONFIG, only)))
    assert not any(each.choice["delta"] and each.reason is None for each in found)
    assert any("delta" in each.reason for each in found if each.reason)
    works = {(each.choice["deduplicate"], each.choice["warps"]) for each in found
             if each.reason is None}
    assert len(works) == 6


def test_drawn():
    drawn = draw(every(), 50, 7)
    assert drawn == draw(every(), 50, 7) != draw(every(), 50, 8)
    order = [every().index(each) for each in drawn]
    assert order == sorted(set(order)) and all(each.reason is None for each in drawn)
    works = sum(each.reason is None for each in every())
    assert len(draw(every(), works, 1)) == works
    with pytest.raises(UserError, match=f"--sample {works + 1}: only {works} combi"):
        draw(every(), works + 1, 1)


def test_the_graphs():
    """Each graph has its special properties. A search reaches most vertices in several supersteps.
    """
    loaded = {name: load(ground.graph) for name, ground in GRAPHS.items()}
    assert all(graph.weights is not None and graph.num_vertices <= 64
               for graph in loaded.values())
    skewed, road, odd = loaded["skewed"], loaded["road"], loaded["odd"]
    assert skewed.out_degrees.max() > 5 * skewed.out_degrees.mean()
    assert road.out_degrees.max() <= 5
    assert road.num_edges == len(set(zip(road.src.tolist(), road.dst.tolist())))
    pairs = list(zip(odd.src.tolist(), odd.dst.tolist()))
    assert len(pairs) - len(set(pairs)) >= 10 and np.count_nonzero(odd.src == odd.dst) >= 3
    assert np.count_nonzero(odd.out_degrees + odd.in_degrees == 0) >= 5
    weights = {}
    for pair, weight in zip(pairs, odd.weights.tolist()):
        weights.setdefault(pair, set()).add(weight)
    assert max(map(len, weights.values())) > 1
    device = Device.functional(CONFIG)
    for graph in loaded.values():
        found = device.run("bfs", graph, schedule="vm", source=int(np.argmax(graph.out_degrees)))
        assert np.count_nonzero(found.outputs["depth"] + 1) > graph.num_vertices // 2
        assert found.supersteps >= 4


def test_changing_directions_does_change():
    """On one of these graphs, ``auto`` runs both directions, not only one."""
    class Recorder:
        """Keeps the names of the kernels that are launched."""
        kernels = []

        def launched(self, kernel, words):
            self.kernels.append(kernel)

    graph = load(GRAPHS["skewed"].graph)
    with Device(CONFIG, lambda: FunctionalMachine(CONFIG), recorder=Recorder()) as device:
        device.run("bfs", graph, direction="auto", source=int(np.argmax(graph.out_degrees)))
    assert {kernel.partition("_")[0] for kernel in Recorder.kernels} >= {"push", "pull"}


@pytest.mark.parametrize("frontier", ("bitmap", "bytemap"))
def test_with_the_fewest_registers(frontier):
    """The options that need most registers: virtual warps, many clusters, weights, a map, and a
    counter that answers."""
    only = {"algorithm": ["sssp"], "format": ["cr2"], "schedule": ["vwc"], "direction": ["push"],
            "frontier": [frontier]}
    for case in trials(combinations(CONFIG, only)):
        assert _split(case, "counter").run(CONFIG, DramConfig())["verified"]


def test_a_failure_is_told(monkeypatch):
    """The result is not golden's, or the run does not end."""
    only = {"algorithm": ["sssp"], "format": ["coo"], "block": ["none"], "schedule": ["vm"],
            "direction": ["push"], "frontier": [None]}
    case, = [case for case in trials(combinations(CONFIG, only), functional=True)
             if case.ground == "road"]
    assert case.describe() == "sssp coo none vm push own on road"
    assert case.run(CONFIG, DramConfig())["verified"]
    monkeypatch.setattr(trying, "_LIMIT", 10)
    assert "not finished after 10 instructions" in case.run(CONFIG, DramConfig())["error"]

    def wrong(*arguments):
        raise RunError("the result differs", {})
    monkeypatch.undo()
    monkeypatch.setattr("sw.device.device._verify", wrong)
    assert case.run(CONFIG, DramConfig())["error"] == "the result differs"

    def late(*arguments):
        raise UserError("too late")
    monkeypatch.setattr(Device, "run_task", late)       # what was planned is not refused any more
    record = case.run(CONFIG, DramConfig())
    assert record["error"] == "refused while it ran: too late" and "refused" not in record


def test_the_command_that_repeats_it():
    plan = as_plan("sssp", source="hub", direction="push", format="cr2:cluster_bits=4",
                   frontier="queue")
    assert CombinationCase("karate", False, plan, ground="odd").command(["--preset", "tiny"]) == (
        "./graphloom run karate --plan 'sssp(source=hub) format=cr2:cluster_bits=4 direction=push "
        "frontier=queue' --preset tiny")


def test_some_on_every_unit_and_several_cores(seed):
    """The axes of the hardware: 1, 2 and 6 cores, and every unit for the schedule that uses one.
    ``docs/kernels.md`` has the commands that run all of them."""
    plain = {"block": ["none"], "frontier": [None]}
    software = [name for name in AXES["schedule"]() if name != "weaver"]
    found = [each for cores in ("1", "2", "6") for each in working(4, seed, (
        choice for only in ({"schedule": software},
                            {"schedule": ["weaver"], "gather": HARDWARE["gather"]()})
        for choice in choices(plain | {"cores": [cores]} | only)))]
    cases = trials(found, functional=True)
    assert len(cases) == 12 * len(GRAPHS)
    failed = []
    for case in cases:
        hardware, choice = case.hardware(CONFIG), dict(case.choice)
        assert hardware.cores == int(choice["cores"])
        assert hardware.gather == choice.get("gather", CONFIG.gather)
        record = case.run(CONFIG, DramConfig())
        if case.REFUSED not in record and not record.get("verified"):
            failed.append(f"{case.describe()}: {record['error']}; {case.command()}")
    assert not failed, f"repeat with GRAPHLOOM_SEED={seed}:\n" + "\n".join(failed)


#: Registers with which most kernels of fused loops keep values in local memory.
_FEW = 12


@pytest.fixture
def few_registers(monkeypatch):
    """Kernels get :data:`_FEW` registers. Gives a list for each program: the names of its kernels
    or sections that keep values in local memory.
    """
    spilled = []

    class Few(VirtualAssembler):
        def __init__(self, reserve, threads):
            super().__init__(reserve, threads, _FEW)

        def finish(self):
            program = super().finish()
            spilled.append([name for name, _ in self.slots])
            return program

    monkeypatch.setattr("sw.compile.programs.VirtualAssembler", Few)
    return spilled


@pytest.mark.parametrize("registers", ("all", "few"))
def test_some_in_one_launch(seed, registers, request):
    """Whatever loop the planner fuses gives the same results, on 1 and 6 cores, also where the
    registers of most of its sections do not suffice."""
    spilled = request.getfixturevalue("few_registers") if registers == "few" else []
    only = {"algorithm": ["bfs", "sssp", "cc", "pagerank"], "format": ["csr"], "block": ["none"],
            "direction": ["push", "pull"], "frontier": [None, "bitmap"], "fusion": ["yes"],
            "cores": ["1", "6"]}
    found = list(combinations(CONFIG, only))
    failed, refused = [], 0
    roomy = CONFIG.replace(imem_bytes=1 << 16, local_bytes=1 << 15)
    for case in trials(draw(found, 12, seed), functional=True):
        record = case.run(roomy, DramConfig())
        if case.REFUSED not in record and not record.get("verified"):
            failed.append(f"{case.describe()}: {record['error']}; {case.command()}")
        assert case.REFUSED in record or record["orders"] == 1
        refused += case.REFUSED in record
    assert not failed, f"repeat with GRAPHLOOM_SEED={seed}:\n" + "\n".join(failed)
    assert refused <= 12 and (registers == "all" or sum(map(bool, spilled)) >= 12)
    fused = {each.choice["schedule"] for each in found if each.reason is None}
    assert fused == {"vm", "vwc", "em", "wm", "cm", "twc", "strict", "compact", "tile",
                     "weaver"}


def test_a_run_names_its_hardware():
    """The commands that repeat a run on other hardware, and the reason of a refusal there."""
    only = {"algorithm": ["cc"], "format": ["csr"], "block": ["none"], "schedule": ["weaver"],
            "direction": ["push"], "frontier": [None], "cores": ["2"], "gather": ["scan"]}
    case, *_ = trials(combinations(CONFIG, only))
    assert case.command().endswith("--set gather=scan --set cores=2")
    case, *_ = trials(combinations(CONFIG, only), functional=True)
    assert "--only gather=scan --only cores=2" in case.command()
    wrong = only | {"schedule": ["weaver", "scu"]}
    reasons = {each.choice["schedule"]: each.reason for each in combinations(CONFIG, wrong)}
    assert reasons["weaver"] is None and "needs a Stream Compaction Unit" in reasons["scu"]
