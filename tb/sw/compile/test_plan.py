"""Plans: their text, their records, their errors, and what runs of them.

======================  ==========================================================
text and record         test_round_trip, test_one_text, test_defaults_are_left_out
keywords                test_keywords
errors                  test_errors, test_hybrids_that_do_not_fit, test_records
a run has its plan      test_what_ran_runs_again
hybrids                 test_hybrid, test_who_reads_the_list, test_auto,
                        test_threshold
warps                   test_warps, test_warps_end, test_too_many_warps
======================  ==========================================================
"""

import dataclasses
import json
import random

import numpy as np
import pytest

from base.errors import UserError
from hw.config import HardwareConfig
from sw.compile import algorithms, formats, schedules
from sw.golden.machine import FunctionalMachine
from sw.graph.load import load
from sw.compile.frontiers import FRONTIERS
from sw.compile.kernels.split import SPLITS
from sw.device import Device, Hybrid, Plan, as_plan
from sw.compile.schedules import equip
from tb.sw.graphs import random_graph


CONFIG = HardwareConfig(cores=2, warps=4, threads=4, memory_bytes=1 << 20)
GRAPH = random_graph(40, 150, 5).weighted(9)

#: Texts of schedules and formats, and values of parameters.
SCHEDULES = (*schedules.names(), "vwc:width=2", "compact:fused=no", "scu-enhanced:sets=8:ways=2")
COMPACTING = ("compact", "scu", "scu-enhanced", "scu-stream")
FORMATS = (*formats.names(), "cr2:bases=global:cluster_bits=4:warp_bits=3", "ell:rest=coo:width=2")
PARAMETERS = {
    "source": lambda rng: rng.choice([0, 3, 1 << 31, "hub", "007", "a b|(c),ü=%20"]),
    "delta": lambda rng: rng.choice([1, 0xFFFF_FFFF, "auto"]),
    "iterations": lambda rng: rng.randint(1, 99),
    "damping": lambda rng: rng.choice([0, 0.85, 1e-7, rng.random()]),
    "tolerance": lambda rng: rng.choice([1e-300, 0.001, 7, rng.random()]),
    "dimension": lambda rng: rng.randint(1, 64),
    "features": lambda rng: rng.choice(["cora_features.npz", "../a-b:c.npz"]),
    "columns": lambda rng: rng.randint(1, 1 << 20),
    "density": lambda rng: rng.choice([0, 1, 0.1, rng.random()]),
    "matrix_seed": lambda rng: rng.choice([0, 1 << 31]),
    "together": lambda rng: rng.choice(["yes", "no"]),
    "coefficients": lambda rng: rng.choice(["stored", "computed"]),
}


def any_plan(rng, **fixed):
    """A plan of random choices, whether or not they work together."""
    algorithm = fixed.get("algorithm") or rng.choice(algorithms.names())
    names = rng.sample(sorted(algorithms.find(algorithm).options),
                       rng.randint(0, len(algorithms.find(algorithm).options)))
    return Plan(**{
        "algorithm": algorithm, "parameters": {name: PARAMETERS[name](rng) for name in names},
        "schedule": rng.choice(SCHEDULES), "format": rng.choice(FORMATS),
        "direction": rng.choice([None, "pull", "push"]),
        "frontier": rng.choice([None, *FRONTIERS]), "deduplicate": rng.choice([None, False, True]),
        "split": rng.choice(SPLITS), "warps": rng.choice([None, 1, 32]),
        "phases": rng.random() < 0.5} | fixed)


def any_hybrid(rng):
    first = any_plan(rng, algorithm="bfs")
    second = dataclasses.replace(
        any_plan(rng, algorithm="bfs"), parameters=first.parameters, warps=first.warps,
        deduplicate=first.deduplicate, phases=first.phases)
    return Hybrid(first, second, threshold=rng.choice([0.05, 1, 1e-6, rng.uniform(1e-9, 1)]))


@pytest.mark.parametrize("make", [any_plan, any_hybrid])
def test_round_trip(make):
    rng = random.Random(24)
    plans = [make(rng) for _ in range(300)]
    for plan in plans:
        assert Plan.parse(plan.text) == plan and hash(Plan.parse(plan.text)) == hash(plan)
        assert as_plan(plan.text) == plan
        assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert len({plan.text for plan in plans}) == len(set(plans)) > 250


def test_one_text():
    """Options, parameters and spellings of a value come to one form."""
    plan = as_plan("sssp schedule=vwc:width=0x4 format=cr2:warp_bits=3:cluster_bits=4",
                   delta="0x10", source=np.int64(3), deduplicate="yes")
    assert plan.text == ("sssp(delta=16,source=3) schedule=vwc:width=4 "
                         "format=cr2:cluster_bits=4:warp_bits=3 deduplicate=yes")
    assert plan == Plan.parse(
        " sssp( source = 3 , delta=16 )  format=cr2:cluster_bits=4:warp_bits=3 deduplicate=yes "
        "schedule=vwc:width=4 ")
    assert Plan("pagerank", {"damping": 0.5}).text == "pagerank(damping=0.5)"


def test_defaults_are_left_out():
    assert Plan("cc").text == "cc" and Plan.parse("cc schedule=weaver format=csr") == Plan("cc")
    every = any_plan(random.Random(1), algorithm="bfs", direction="pull", frontier="counter",
                     deduplicate=False, split="counter", warps=2, phases=True, schedule="vm",
                     format="coo", parameters={"source": 1})
    assert every.text == ("bfs(source=1) schedule=vm format=coo direction=pull frontier=counter "
                          "deduplicate=no split=counter warps=2 phases=yes")


def test_keywords():
    assert as_plan("bfs", source=4, schedule="vm", format=None) == Plan.parse(
        "bfs(source=4) schedule=vm")
    plan = Plan.parse("bfs(source=4) schedule=vm warps=2")
    assert as_plan(plan) is plan
    assert as_plan(plan, source=5, warps=3).text == "bfs(source=5) schedule=vm warps=3"
    hybrid = as_plan(plan, direction="auto")
    assert hybrid.text == ("bfs(source=4) schedule=vm direction=push warps=2 | "
                           "bfs(source=4) schedule=vm direction=pull warps=2 when frontier>=0.05")
    assert as_plan(hybrid, warps=1, source=7).text == hybrid.text.replace(
        "warps=2", "warps=1").replace("source=4", "source=7")
    assert Plan.parse("bfs schedule=vm direction=auto warps=2").second.text == \
        "bfs schedule=vm direction=pull warps=2"


@pytest.mark.parametrize("text, place, reason", [
    ("", 1, "must begin with an algorithm"),
    ("(source=3)", 1, "must begin with an algorithm"),
    ("bfs(source=3", 1, "must begin with an algorithm"),
    ("sort schedule=vm", 1, "there is no algorithm 'sort'; there are bc, bfs, cc"),
    ("bfs(3)", 5, "'3' must be NAME=VALUE"),
    ("bfs(source=hub,root=3)", 16, "algorithm 'bfs' has no parameter 'root'; it has source"),
    ("sssp(delta=1.5)", 6, "delta is '1.5', must be a whole number or auto"),
    ("pagerank(damping=inf)", 10, "damping is 'inf', must be a number"),
    ("cc(source=1)", 4, "algorithm 'cc' has no parameter 'source'; it has no parameters"),
    ("bfs shedule=vm", 5, "a plan has no field 'shedule'; it has schedule, format,"),
    ("bfs source=3", 5, "a plan has no field 'source'"),
    ("bfs  schedule=", 6, "'schedule=' must be NAME=VALUE"),
    ("bfs warps=1 warps=2", 13, "warps is given twice"),
    ("bfs warps=0", 5, "warps is '0', must be an integer from 1 to 64"),
    ("bfs schedule=vm:width=4", 5, "schedule vm has no option 'width'"),
    ("bfs schedule=vwc:width=3000", 5, "width is '3000', must be"),
    ("bfs format=bsr", 5, "there is no format 'bsr'"),
    ("bfs direction=up", 5, "no direction 'up'; it has push, pull"),
    ("cc direction=auto", 4, "algorithm 'cc' cannot change its direction"),
    ("bfs frontier=tree", 5, "frontier is 'tree', must be queue or bitmap"),
    ("bfs frontier=queue/", 5, "frontier is 'queue/', must be queue or bitmap"),
    ("bfs frontier=queue/bitmap/queue", 5, "frontier is 'queue/bitmap/queue', must be"),
    ("bfs frontier=queue/counter", 5, "'queue/counter': a counter does not tell which"),
    ("bfs frontier=bitmap/rqueue", 5, "'bitmap/rqueue': nothing is added to an rqueue"),
    ("bfs deduplicate=1", 5, "deduplicate is '1', must be yes or no"),
    ("bc s9.split=counter", 4, "no operator of edges at a label 's9'; it has s0, s0:s1, s2, s2:s3"),
    ("gcn s0.split=counter", 5, "no operator of edges at a label 's0'; it has no labels"),
    ("bc s0.warps=2", 4, "label 's0' cannot have 'warps'; it can have schedule, format"),
    ("bc s0.direction=up", 4, "no direction 'up'"),
    ("bc s0.direction=auto", 4, "label 's0' cannot have direction auto"),
    ("bc direction=auto s0.split=counter", 19, "'s0' cannot have fields of its own in a hybrid"),
    ("bc s0.format=csr s0.format=ell", 18, "s0.format is given twice"),
    ("bfs reorder=louvain", 5, "a plan has no field 'reorder'"),
    ("bfs split=fair", 5, "split is 'fair', must be static or counter"),
    ("bfs | bfs", 6, "must end with a rule, as in when frontier>=0.05"),
    ("bfs | bfs | bfs when frontier>=1", 11, "a hybrid has two plans"),
    ("bfs | bfs speed=3 when frontier>=1", 11, "a plan has no field 'speed'"),
    ("bfs | cc when frontier>=0.1", 15, "must agree on algorithm, which is 'bfs' and 'cc'"),
    ("bfs | bfs warps=1 when frontier>=0.1", 24, "must agree on warps, which is None and 1"),
    ("bfs | bfs when edges>=0.1", 16, "there is no criterion 'edges'; there is frontier"),
    ("bfs | bfs when frontier>=2", 16, "threshold is 2.0, must be above 0 and at most 1"),
    ("bfs | bfs when frontier>=some", 16, "'some' is not a number"),
    ("cc | cc when frontier>=0.5", 14, "algorithm 'cc' cannot change its direction"),
])
def test_errors(text, place, reason):
    with pytest.raises(UserError) as caught:
        Plan.parse(text)
    message = str(caught.value)
    if place == 1 and text.partition(" ")[0] == "cc":
        assert reason in message
    else:
        assert message.startswith(f"plan {text!r}, character {place}: ") and reason in message


def test_labels():
    """The operators of a label have its fields, the longest scope counts, and a label on all
    operators is no label."""
    plan = Plan.parse("bc s0:s1.schedule=em s0.direction=pull s0.schedule=twc schedule=vm")
    assert plan.text == "bc schedule=vm s0.schedule=twc s0.direction=pull s0:s1.schedule=em"
    assert Plan.parse(plan.text) == plan == Plan.from_json(plan.to_json())
    assert plan.of_operator("edges0") == Plan.parse("bc schedule=em direction=pull")
    assert plan.of_operator("edges1") == Plan.parse("bc schedule=vm")
    assert {side.schedule for side in plan.sides.values()} == {"vm", "twc", "em"}
    assert Plan.parse("bfs s0:s1.direction=pull schedule=vm").text == \
        "bfs schedule=vm direction=pull"
    assert Plan.parse("bfs direction=auto s0.schedule=em") == \
        Plan.parse("bfs direction=auto schedule=em")


def test_labels_run():
    """Each operator of edges runs by the plan of its label, under the format and frontier too."""
    for text in ("bc s0.schedule=em s2.direction=pull", "bc s2.format=cr2 s2.schedule=vm",
                 "bc s0.frontier=counter s2.split=counter"):
        result = run(Plan.parse(text), seed=3)
        assert result.verified and run(result.plan.text, seed=3).to_json() == result.to_json()
    with pytest.raises(UserError, match="one run cannot have both"):
        run(Plan.parse("bc s2.format=csr:reorder=rcm"), seed=3)


@pytest.mark.parametrize("record", [{}, {"algorithm": "bfs", "speed": 3}, {"first": 1, "second": 2},
                                    {"first": {}, "second": {}}, {"algorithm": "bfs",
                                                                  "parameters": 7}])
def test_records(record):
    with pytest.raises(UserError, match="is not the record of a plan"):
        Plan.from_json(record)


@pytest.mark.parametrize("values, reason", [
    ({"warps": 0}, "warps is 0"), ({"warps": True}, "warps is True"),
    ({"warps": 1.5}, "warps is 1.5"), ({"phases": None}, "phases is None, must be yes or no"),
    ({"direction": "auto"}, "a hybrid of two plans"),
    ({"split": None}, "split is None, must be static or counter")])
def test_wrong_values(values, reason):
    with pytest.raises(UserError, match=reason):
        Plan("bfs", **values)


# Runs

def run(plan, graph=GRAPH, config=CONFIG, seed=1, **choices):
    plan = as_plan(plan, **choices)
    config = equip(config, [side.schedule for side in plan.sides.values()])
    with Device.functional(config, seed=seed) as device:
        return device.run(plan, graph)


@pytest.mark.parametrize("plan", [
    "bfs", "bfs schedule=em", "bfs direction=pull schedule=vm", "bfs direction=auto",
    "sssp(delta=auto) schedule=vm", "sssp frontier=bitmap", "cc schedule=em", "pagerank",
    "bfs schedule=compact", "bfs format=cr2:cluster_bits=4", "sssp direction=pull schedule=vm",
    "bfs schedule=vm | bfs schedule=em frontier=counter when frontier>=0.1"])
def test_what_ran_runs_again(plan):
    """A result's plan has all choices made, and its text repeats the run."""
    result = run(plan, seed=None)
    again = run(result.plan.text, seed=None)
    assert again.plan == result.plan and again.to_json() == result.to_json()
    assert result.to_json()["plan"] == result.plan.text
    for side in result.plan.sides.values():
        assert side.direction is not None
        assert result.frontier is not None or side.frontier is None


class Launches:
    """A recorder that keeps the names of the kernels, without what a search's share."""
    def __init__(self):
        self.names = []

    def launched(self, kernel, words):
        self.names.append(kernel.removesuffix("_edges0_vertices_settle"))


@pytest.mark.parametrize("text, frontier, kernels", [
    ("bfs schedule=vm direction=push | bfs schedule=em direction=pull when frontier>=0.1", "queue",
     {"push", "pull"}),
    ("bfs schedule=vwc:width=2 | bfs schedule=em frontier=counter when frontier>=0.1", "queue",
     {"first", "second"}),
    ("bfs schedule=em | bfs schedule=vm when frontier>=0.1", "queue", {"first", "second"}),
    ("bfs schedule=em format=coo | bfs schedule=em split=counter when frontier>=0.1", "counter",
     {"first", "second"}),
    ("bfs direction=pull schedule=vm | bfs direction=pull format=ell split=counter when "
     "frontier>=0.1", "counter", {"first", "second"}),
    ("bfs format=cr2:cluster_bits=4 split=counter | bfs schedule=vm direction=pull split=counter "
     "when frontier>=0.1", "queue", {"push", "pull", "init_topology_push"}),
])
def test_hybrid(text, frontier, kernels):
    """Schedules, formats, splits and frontiers differ, and so do the kernels that run. The results
    are those of one plan."""
    graph, plain = load("rmat:scale=7,degree=4,seed=2"), Plan("bfs", {"source": "hub"}, "vm")
    expected = run(plain, graph).checksum
    for seed in range(4):
        recorder = Launches()
        config = CONFIG.replace(cores=1 + seed % 2)
        with Device(config, lambda: FunctionalMachine(config, seed=seed),
                    recorder=recorder) as device:
            result = device.run(as_plan(text, source="hub"), graph)
        assert result.checksum == expected and result.frontier == frontier
        assert set(recorder.names) == kernels
        assert result.parameters["directions"] == [name for name in recorder.names
                                                   if not name.startswith("init")]


@pytest.mark.parametrize("text, reads", [
    ("bfs schedule=vm | bfs schedule=vwc when frontier>=0.1", [True, True]),
    ("bfs schedule=vm | bfs schedule=vwc frontier=counter when frontier>=0.1", [True, False]),
    ("bfs schedule=vm frontier=counter | bfs schedule=vwc when frontier>=0.1", [False, True]),
    ("bfs schedule=vm | bfs schedule=vwc direction=pull when frontier>=0.1", [True, False]),
    ("bfs schedule=em | bfs schedule=vwc direction=pull when frontier>=0.1", [False, False]),
])
def test_who_reads_the_list(text, reads):
    """A plan goes through the list that the plans leave to each other, unless it asks for another
    frontier or cannot."""
    task = Device.functional(CONFIG).plan(text, GRAPH)
    assert [side.queued for side in task.sides.values()] == reads
    assert run(text, GRAPH).checksum == run("bfs schedule=vm", GRAPH).checksum
    assert task.frontier.name == ("queue" if any(reads) else "counter")


def test_common_parts():
    """Tables show a part once if both plans have it."""
    found = as_plan("bfs schedule=vm direction=push | bfs schedule=em direction=pull "
                    "when frontier>=0.2")
    assert (found.schedule, found.format, found.direction) == ("vm | em", "csr", "auto")
    assert found.parts["schedule"] == "vm | em" and found.parts["format"] == "csr"
    alike = as_plan("bfs schedule=vm | bfs schedule=vm split=counter when frontier>=0.2")
    assert (alike.schedule, alike.split) == ("vm", "static | counter")
    assert alike.direction == alike.first.direction


def test_auto():
    """``direction=auto`` is the hybrid of both directions."""
    graph = load("rmat:scale=7,degree=4,seed=2")
    short = run("bfs(source=hub)", graph, direction="auto", seed=None)
    whole = run("bfs(source=hub) direction=push | bfs(source=hub) direction=pull when "
                "frontier>=0.05", graph, seed=None)
    assert short.to_json() == whole.to_json() and short.direction == "auto"
    assert set(short.parameters["directions"]) == {"push", "pull"}


def test_threshold():
    """The comparison is exact: 0.05 of 20 n vertices is n vertices."""
    hybrid = as_plan("bfs", direction="auto")
    for vertices in (1, 3, 7, 1 << 20, (1 << 26) + 1):
        assert hybrid.second_follows(vertices, 20 * vertices)
        assert not hybrid.second_follows(vertices, 20 * vertices + 1)
    assert not dataclasses.replace(hybrid, threshold=1).second_follows(9, 10)


@pytest.mark.parametrize("text, reason", [
    ("bfs format=cr2:cluster_bits=4 schedule=vm | bfs format=cr2:cluster_bits=3 schedule=vwc when "
     "frontier>=0.1", "both plans make lists of the frontier's records"),
    ("bfs format=cr2:cluster_bits=4:reorder=louvain direction=pull | bfs direction=push when "
     "frontier>=0.1", "order the vertices in different ways"),
    ("bfs schedule=compact | bfs schedule=scu when frontier>=0.1",
     "both plans list the edges of the frontier, by schedules compact and scu"),
    ("bfs frontier=queue | bfs frontier=queue/bitmap when frontier>=0.1",
     "all sets of bfs have one kind, and the plan asks for 'queue' and 'bitmap'"),
    ("bfs | bfs frontier=queue schedule=em when frontier>=0.1",
     "cannot have frontier 'queue': schedule 'em' cannot begin with a list"),
    ("bfs frontier=queue/bitmap | bfs format=tigr:k=3 direction=pull frontier=rqueue when "
     "frontier>=0.1", "bfs pull cannot have frontier 'rqueue': format 'tigr:k=3' has no "
     "list"),
])
def test_hybrids_that_do_not_fit(text, reason):
    with pytest.raises(UserError, match=reason):
        run(text)


# Warps

@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("schedule", schedules.names())
@pytest.mark.parametrize("algorithm, direction", [
    (name, way) for name in algorithms.names() for way in algorithms.find(name).directions])
@pytest.mark.sample(40)
def test_warps(algorithm, direction, schedule, split):
    """Results are the same whatever the number of warps that take part."""
    if algorithm == "gcn" and direction == "push" and schedule in COMPACTING:
        with pytest.raises(UserError, match="the list of edges has no room for weights"):
            run(algorithm, schedule=schedule, direction=direction)
        return
    if schedule == "graphpeg" and split == "counter":
        with pytest.raises(UserError, match="cannot have split=counter"):
            run(algorithm, schedule=schedule, direction=direction, split=split)
        return
    kind = schedules.make(schedule).directions(algorithms.find(algorithm))
    if direction not in kind:
        with pytest.raises(UserError):
            as_plan(algorithm, schedule=schedule, direction=direction).check()
        return
    results = [run(algorithm, schedule=schedule, direction=direction, split=split, warps=warps,
                   seed=warps) for warps in (1, 2, None)]
    assert len({result.checksum for result in results}) == 1
    assert [result.plan.warps for result in results] == [1, 2, None]


def test_warps_end():
    """The warps that take no part end at the entry; all lanes that work are of the others."""
    few, every = (run("pagerank schedule=vm", warps=warps, seed=None) for warps in (1, None))
    launches = few.launches * CONFIG.cores
    assert few.counters["instructions"] < every.counters["instructions"]
    config = CONFIG.replace(warps=1)
    alone = run("pagerank schedule=vm", config=config, seed=None)
    # At an entry a warp reads its number, compares, and sets its mask.
    assert few.counters["instructions"] - alone.counters["instructions"] == \
        4 * CONFIG.warps * launches


def test_too_many_warps():
    with pytest.raises(UserError, match="warps is 5, must be from 1 to 4, the warps of a core"):
        run("bfs", warps=5)
    assert run("bfs schedule=vm", warps=4).counters == run("bfs schedule=vm").counters
