"""The Weaver's schedule: works at once, registrars, and sums in local memory.

=====================  ===========================================================================
feature                tests
=====================  ===========================================================================
results                ``test_results``, ``test_formats``; on the RTL ``test_on_the_rtl``
every edge once        ``test_every_edge.py``; ``test_edges_that_all_count_and_add``
parts of local memory  ``test_parts``
no second kernel       ``test_sums_in_local_memory_need_no_second_kernel``
sums that fall back    ``test_sums_fall_back_to_global_memory``
words handed out       ``test_a_word_is_handed_out``
the choice is told     ``test_the_choice_is_told``
refused                ``test_refused``
planted faults         ``test_a_part_that_ends_too_early_is_seen``,
                       ``test_a_slot_that_is_not_cleared_is_seen``
=====================  ===========================================================================
"""

import pytest

from base.errors import RunError, UserError
from checks.campaign.machines import CONFIGS
from sw.compile import algorithms
from sw.graph.load import load
from sw.compile.kernels.local_sums import LocalSums
from sw.device import Device
from sw.compile.schedules import weaver
from tb.seeds import draw
from tb.sw.compile.probe_texts import Text
from tb.sw.compile.kernels.test_programs import ALGORITHMS, GRAPHS, check, config
from tb.sw.compile.schedules import drawn
from tb.sw.compile.sides import lines_of


SCHEDULES = ("weaver", "weaver:works=2", "weaver:registrars=1:works=4",
             "weaver:registrars=2:works=3", "weaver:registrars=3:sums=global:works=2",
             "weaver:registrars=1:sums=local:works=1", "weaver:rows=1:registrars=2",
             "weaver:rows=2")
FORMATS = ("tigr:k=3", "ell:width=2:rest=csr", "cr2:cluster_bits=3", "dia", "block-coo:block=16",
           "csr:reorder=rcm:block=16")

each = pytest.mark.parametrize("schedule", SCHEDULES)


def streaming(warps, threads, **changes):
    return config(warps, threads, gather="stream", imem_bytes=1 << 15, **changes)


def without_idle(schedule, algorithm, direction):
    """The schedule without the option ``sums=local`` where no vertex collects."""
    if direction == "pull" and algorithms.find(algorithm).identity is not None:
        return schedule
    return schedule.replace(":sums=local", "")


def run(rng, algorithm, name, schedule, direction, **options):
    """Run on a shape and a unit that are drawn, with all warps or one."""
    schedule = without_idle(schedule, algorithm, direction)
    without_rounds = "registrars" in schedule or "rows" in schedule
    return drawn.run(rng, algorithm, name, schedule, direction,
                     shapes=((2, 4), (4, 8), (4, 1), (8, 2), (1, 32)),
                     unit=["stream"] if without_rounds else ["stream", "scan", "fsm"],
                     part=lambda warps: rng.choice([None, 1]), **options)


@each
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(15)
def test_results(algorithm, direction, schedule):
    rng = draw(algorithm, direction, schedule)
    for name in ("one row", "one column", "single", *rng.sample(list(GRAPHS), 3)):
        run(rng, algorithm, name, schedule, direction)


@each
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(8)
def test_formats(algorithm, schedule):
    rng = draw(algorithm, schedule)
    for format in FORMATS:
        # Two graphs would have two orders, and several works make programs that are too long.
        if algorithm == "gcn" and ("reorder" in format or schedule.endswith(("=3", "=4"))):
            continue
        run(rng, algorithm, rng.choice(["random", "star", "loops", "no arcs"]), schedule,
            rng.choice(["pull", "push"]), format=format)


@pytest.mark.parametrize("schedule", ["weaver:sums=local", "weaver:registrars=2:works=2",
                                      "weaver:rows=2:registrars=1:sums=global"])
@pytest.mark.parametrize("algorithm, direction", [("pagerank", "pull"), ("sssp", "pull"),
                                                  ("bfs", "push"), ("cc", "push")])
@pytest.mark.sample(5)
def test_on_the_rtl(algorithm, direction, schedule):
    with Device.simulate(CONFIGS["stream"]) as device:
        for name in ("random", "star", "one row"):      # pulling, in several parts of local memory
            result = device.run(algorithm, GRAPHS[name].weighted(40, 7), direction=direction,
                                schedule=without_idle(schedule, algorithm, direction),
                                **ALGORITHMS[algorithm])
            assert result.verified


@each
@pytest.mark.parametrize("text", [Text("sum", goes="changed"), Text("least", frozenset(), True,
                                                                    "changed")],
                         ids=lambda text: text.name)
def test_edges_that_all_count_and_add(text, schedule, tmp_path):
    """The lanes that do not add a vertex go on with the other works of their turn."""
    file = tmp_path / "text.py"
    file.write_text(text.text)
    graph = load("rmat:scale=6,degree=8,seed=2", weights=40)
    schedule = schedule.replace(":sums=local", "")
    with Device.functional(streaming(4, 4), seed=1, max_cycles=5_000_000) as device:
        assert device.run(str(file), graph, schedule=schedule, direction="push").verified


@pytest.mark.parametrize("cores", [1, 2])
def test_parts(cores):
    """Local memory has slots for 64 vertices of a core."""
    hardware = streaming(4, 8, cores=cores, local_bytes=512)
    for registrars in (1, 2, 4):
        task = Device.functional(hardware).plan(
            "pagerank", GRAPHS["one row"].weighted(9, 1), direction="pull",
            schedule=f"weaver:registrars={registrars}:sums=local", **ALGORITHMS["pagerank"])
        assert LocalSums(task, registrars).parts == -(-140 // (64 * cores))
        for name in ("one row", "random", "sparse"):
            check(hardware, "pagerank", GRAPHS[name], task.plan.schedule, "pull",
                  seed=registrars, **ALGORITHMS["pagerank"])


def planned(schedule="weaver:sums=local", algorithm="pagerank", direction="pull", **options):
    hardware = options.pop("hardware", streaming(4, 8))
    return Device.functional(hardware).plan(algorithm, GRAPHS["random"].weighted(9, 1),
                                            schedule=schedule, direction=direction, **options)


def finishing(task):
    """The kernels with a lane a vertex, which finish sums that the kernels of edges leave."""
    return [name for name in task.program.entries if name.startswith("vertices_")]


def test_sums_in_local_memory_need_no_second_kernel():
    assert not finishing(planned())
    assert finishing(planned("weaver:sums=global"))


@pytest.mark.parametrize("options", [
    {"split": "counter"},                                       # no part has rows known before
    {"format": "tigr:k=3"},                                     # a vertex has several rows
    {"schedule": "weaver:registrars=3:sums=local"},             # 4 warps cannot share the end
    {"hardware": streaming(8, 16, local_bytes=256)},           # less than a round
])
def test_sums_fall_back_to_global_memory(options):
    assert finishing(planned(**options))


def test_a_word_is_handed_out():
    """A vertex that pushes is registered by its word: no lane loads the word for an edge."""
    program = planned("weaver:works=1:rows=1", direction="push").program
    lines = lines_of(program, "edges0")
    assert sum("lw word" in line for line in lines) == 1
    assert not any("lw share" in line for line in lines)


def test_the_choice_is_told():
    with Device.functional(streaming(8, 4)) as device:
        for schedule, used in (("weaver", {"works": 4, "registrars": 2, "rows": 4}),
                               ("weaver:registrars=3:works=2",
                                {"works": 2, "registrars": 3, "rows": 2}),
                               ("weaver:rows=1", {"works": 4, "registrars": 4, "rows": 1})):
            result = device.run("cc", GRAPHS["random"], schedule=schedule)
            assert result.used == used
        # Neither entries of a queue nor parts from a counter are known beforehand.
        assert device.run("bfs", GRAPHS["random"], schedule="weaver",
                          direction="push").used["rows"] == 1
        assert device.run("cc", GRAPHS["random"], schedule="weaver",
                          split="counter").used["rows"] == 1
    with Device.functional(config(8, 4)) as device:
        assert device.run("cc", GRAPHS["random"], schedule="weaver").used == {"works": 1}


@pytest.mark.parametrize("graph, algorithm, works", [
    ("uniform:vertices=32,edges=128,seed=1", "bfs", 1),     # low degrees
    ("uniform:vertices=16,edges=512,seed=1", "bfs", 2),
    ("uniform:vertices=16,edges=512,seed=1", "cc", 1),      # all vertices
])
def test_works_with_rounds(graph, algorithm, works):
    with Device.functional(config(2, 4)) as device:
        assert device.run(algorithm, load(graph), schedule="weaver").used == {"works": works}


def test_works_with_rounds_where_rows_are_shorter_than_a_work():
    with Device.functional(config(1, 32)) as device:
        graph = load("uniform:vertices=64,edges=512,seed=1")
        assert device.run("bfs", graph, schedule="weaver").used == {"works": 1}


@pytest.mark.parametrize("schedule, hardware, message", [
    ("weaver:works=5", streaming(2, 4), "works is '5', must be an integer from 1 to 4"),
    ("weaver:registrars=0", streaming(2, 4), "registrars is '0', must be an integer from 1 to 32"),
    ("weaver:registrars=2", config(2, 4), "registrars needs a Weaver without"),
    ("weaver:rows=2", config(2, 4), "rows needs a Weaver without"),
    ("weaver:rows=3", streaming(2, 4), "rows is '3', must be a power of two from 1 to 4"),
    ("weaver:sums=local", config(2, 4, gather="none"), "needs a Weaver or EGHW, which"),
    ("weaver:sums=near", streaming(2, 4), "sums is 'near', must be local or global"),
])
def test_refused(schedule, hardware, message):
    with pytest.raises(UserError, match=message):
        Device.functional(hardware).plan("pagerank", GRAPHS["random"], schedule=schedule)


def test_a_part_that_ends_too_early_is_seen(monkeypatch):
    """A planted fault: warps finish vertices before all words have been collected."""
    def finish(self, parts, again):
        a = self._k.a
        self._sums.finish(self._k)
        a.addi(parts, parts, -1)
        a.bnez(parts, again)
    monkeypatch.setattr(weaver._Stream, "_finish_part", finish)
    with pytest.raises(RunError):
        for seed in range(8):
            check(streaming(4, 4), "pagerank", GRAPHS["dense"], "weaver:sums=local", "pull",
                  seed=seed, iterations=3)


def test_a_slot_that_is_not_cleared_is_seen(monkeypatch):
    """A planted fault: the words of a part stay in the slots for the next part."""
    monkeypatch.setattr(LocalSums, "clears", False)
    with pytest.raises(RunError):
        check(streaming(4, 8, local_bytes=512), "pagerank", GRAPHS["one row"], "weaver:sums=local",
              "pull", iterations=2)
