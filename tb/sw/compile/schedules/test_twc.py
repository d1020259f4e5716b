"""Rows by size: twc, twce, etwc.

=====================  ===========================================================================
feature                tests
=====================  ===========================================================================
results                ``test_results``
formats, hybrids       ``test_formats``, ``test_directions_that_change``
every edge once        ``test_every_edge.py``
the size of a row      ``test_rows_go_to_the_bin_of_their_size``
kernels that run       ``test_queues_serve_all_supersteps``
no atomics but these   ``test_one_atomic_for_the_queues_of_a_warp``,
                       ``test_a_part_is_added_by_one_atomic``
refused                ``test_refused``
planted fault          ``test_a_missing_barrier_is_seen``
=====================  ===========================================================================
"""

import numpy as np
import pytest

from base.errors import RunError, UserError
from sw.graph import Graph
from sw.compile.kernels import bins
from sw.device import Device
from sw.compile.schedules import twce
from tb.seeds import draw
from tb.sw.compile.kernels.test_programs import ALGORITHMS, GRAPHS, check, config
from tb.sw.compile.schedules.drawn import run
from tb.sw.compile.sides import lines_of, only_side


SCHEDULES = ("twc", "twc:warp=3:core=9", "twc:core=9:kernels=three:warp=3",
             "twc:core=5:once=no:unroll=1:warp=5", "twce", "twce:warp=3:core=9",
             "twce:core=9:small=queue:unroll=1:warp=3", "etwc",
             "etwc:small=queue", "etwc:stages=lane-core", "etwc:stages=lane-warp:unroll=1")
FORMATS = ("tigr:k=3", "ell:width=2:rest=csr", "cr2:cluster_bits=3", "dia", "block-coo:block=16")

each = pytest.mark.parametrize("schedule", SCHEDULES)


@each
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(20)
def test_results(algorithm, direction, schedule):
    rng = draw(algorithm, direction, schedule)
    for name in ("one row", "one column", *rng.sample(list(GRAPHS), 2)):
        run(rng, algorithm, name, schedule, direction)


@each
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(10)
def test_formats(algorithm, schedule):
    rng = draw(algorithm, schedule)
    for format in FORMATS:
        run(rng, algorithm, rng.choice(["random", "star", "loops", "no arcs"]), schedule,
            rng.choice(["pull", "push"]), format=format)


@pytest.mark.parametrize("schedule", ["twc:warp=3:core=9", "twce:warp=3:core=9", "etwc"])
def test_directions_that_change(schedule):
    rng = draw(schedule)
    for name in ("spindle", "random"):
        run(rng, "bfs", name, schedule, "auto")


def launched(schedule, algorithm="pagerank", direction="pull", graph=GRAPHS["random"], **options):
    with Device.functional(config(2, 4), max_cycles=5_000_000) as device:
        return device.run(algorithm, graph.weighted(9, 1), schedule=schedule, direction=direction,
                          **ALGORITHMS[algorithm] | options)


def test_rows_go_to_the_bin_of_their_size():
    """Rows of 2, 3, 8 and 9 edges, and the limits 3 and 9."""
    sizes = np.array([2, 3, 8, 9])
    graph = Graph(30, np.repeat(np.arange(4), sizes), np.concatenate(
        [20 + np.arange(size) for size in sizes]), name="sizes")
    task = Device.functional(config(2, 4)).plan("cc", graph,
                                                schedule="twc:warp=3:core=9:once=no",
                                                direction="push")
    layout, = only_side(task).layouts
    queues = bins.DeviceBins(layout)
    with Device.functional(config(2, 4)) as device:
        device.run_task(task)
        words = device.machine.read_memory(queues.control, 8)
    # The block of the first hook is empty again; that of the second and last has the queues.
    counts = [(int(word) - queues.start(place % 4)) // 4
              for place, word in enumerate(words) if place % 4 < 3]
    assert [1, 2, 1] in (counts[:3], counts[3:])


def test_queues_serve_all_supersteps():
    kept, fresh = (launched(f"twc{option}").steps for option in ("", ":once=no"))
    assert sum(step["launches"] for name, step in kept.items() if "classify" in name) == 1
    assert sum(step["launches"] for name, step in fresh.items() if "classify" in name) == 3


def test_one_atomic_for_the_queues_of_a_warp():
    """PageRank that pulls has no other atomics: 90 rows are 23 warps of 4 lanes, of which each
    appends by one instruction."""
    program = Device.functional(config(2, 4)).plan(
        "pagerank", GRAPHS["random"], schedule="twc", direction="pull").program
    classifying = [name for name in program.entries if name.endswith("_classify")]
    assert classifying
    for name in program.entries:
        assert sum("amo" in line for line in lines_of(program, name)) == (name in classifying)


def test_a_part_is_added_by_one_atomic():
    """Under etwc a row has a part for each stage at most, whatever its edges."""
    program = Device.functional(config(2, 4)).plan(
        "pagerank", GRAPHS["random"], schedule="etwc", direction="pull").program
    assert sum("amoadd.w zero, total" in line for line in lines_of(program, "edges0")) == 3


@pytest.mark.parametrize("schedule, hardware, message", [
    ("twc", config(2, 2), "schedule 'twc' needs warps of at least 4 lanes"),
    ("etwc", config(32, 1), "schedule 'etwc' needs warps of at least 4 lanes"),
    ("twc:warp=9:core=3", config(2, 4), "has core = 3, which must not be below warp = 9"),
    ("twce:warp=600", config(2, 4), "has core = 512, which must not be below warp = 600"),
    ("twce", config(8, 16, local_bytes=1 << 12), "local memory is full: .* bytes needed .*"
     "bin_entries .*local_bytes is 4096"),
    ("etwc:stages=warp", config(2, 4), "stages is 'warp', must be lane-warp-core or"),
    ("twc:unroll=9", config(2, 4), "unroll is '9', must be an integer from 1 to 8"),
])
def test_refused(schedule, hardware, message):
    with pytest.raises(UserError, match=message):
        Device.functional(hardware).plan("bfs", GRAPHS["random"], schedule=schedule)


def test_a_missing_barrier_is_seen(monkeypatch):
    """A planted fault: warps go through the queues before all have appended."""
    monkeypatch.setattr(twce._Rounds, "wait", lambda self: None)
    with pytest.raises(RunError):
        for seed in range(8):
            check(config(4, 4), "pagerank", GRAPHS["dense"], "twce:warp=3:core=9", "push",
                  seed=seed, iterations=3)
