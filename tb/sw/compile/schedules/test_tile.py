"""Tiled Partitioning and resident tiles.

=====================  ===========================================================================
feature                tests
=====================  ===========================================================================
results                ``test_results``, ``test_several_cores``
formats, hybrids       ``test_formats``, ``test_directions_that_change``
every edge once        ``test_every_edge.py``
who takes a row        ``test_each_edge_has_the_widest_tile``, ``test_an_election``,
                       ``test_wide_tiles_that_local_memory_has_room_for``
rounds                 ``test_rounds_that_overlap``, ``test_a_very_long_row``
tiles in lists         ``test_rows_become_tiles``, ``test_tiles_serve_all_supersteps``,
                       ``test_a_long_row_is_stolen``
refused                ``test_refused``
planted faults         ``test_a_missing_barrier_is_seen``, ``test_a_lost_turn_is_seen``,
                       ``test_a_tile_that_is_taken_twice_is_seen``
=====================  ===========================================================================
"""

import numpy as np
import pytest

from base.errors import RunError, UserError
from sw.graph import Graph
from sw.compile.kernels import resident_tiles, tiles
from sw.compile.kernels.bins import DeviceBins
from sw.compile.kernels.distribution import EdgeWork
from sw.compile.kernels.split import SPLITS
from sw.device import Device
from sw.compile.schedules import tile
from tb.seeds import draw
from tb.sw.compile.kernels.test_programs import ALGORITHMS, GRAPHS, check, config
from tb.sw.compile.schedules import drawn
from tb.sw.compile.sides import only_side


#: Each with the splits that it takes.
SCHEDULES = {"tile": SPLITS, "tile:min_tile=1": SPLITS, "tile:find=walk:min_tile=2": SPLITS,
             "tile:resident=yes": ("counter",), "tile:min_tile=1:resident=yes": ("counter",),
             "tile:find=walk:min_tile=2:resident=yes": ("counter",)}
FORMATS = ("tigr:k=3", "ell:width=2:rest=csr", "cr2:cluster_bits=3", "dia", "block-coo:block=16",
           "csr:reorder=rcm")

each = pytest.mark.parametrize("schedule", SCHEDULES)


def run(rng, algorithm, name, schedule, direction, **options):
    """Run on a shape that is drawn; of eight warps six take part, in tiles of two warps."""
    return drawn.run(rng, algorithm, name, schedule, direction,
                     shapes=((2, 4), (4, 8), (1, 32), (8, 4)), splits=SCHEDULES[schedule],
                     imem_bytes=1 << 17, part=lambda warps: 6 if warps == 8 else None, **options)


@each
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(12)
def test_results(algorithm, direction, schedule):
    rng = draw(algorithm, direction, schedule)
    for name in ("one row", "one column", *rng.sample(list(GRAPHS), 2)):
        run(rng, algorithm, name, schedule, direction)


@each
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(8)
def test_formats(algorithm, schedule):
    rng = draw(algorithm, schedule)
    for format in FORMATS:
        if algorithm != "gcn" or "reorder" not in format:
            run(rng, algorithm, rng.choice(["random", "star", "loops", "no arcs"]), schedule,
                rng.choice(["pull", "push"]), format=format)


@pytest.mark.parametrize("schedule", ["tile", "tile:resident=yes"])
def test_directions_that_change(schedule):
    rng = draw(schedule)
    for name in ("spindle", "random"):
        run(rng, "bfs", name, schedule, "auto")


@pytest.mark.parametrize("schedule", ["tile", "tile:resident=yes"])
@pytest.mark.parametrize("cores", [2, 6])
def test_several_cores(schedule, cores):
    rng = draw(schedule, cores)
    for algorithm in ("bfs", "sssp", "cc", "pagerank"):
        run(rng, algorithm, "dense", schedule, "push", cores=[cores])


def rows_of(*sizes):
    """Vertices with as many out-arcs, to vertices behind them."""
    return Graph(len(sizes) + max(sizes), np.repeat(np.arange(len(sizes)), sizes), np.concatenate(
        [len(sizes) + np.arange(size) for size in sizes]), name="rows")


@pytest.mark.parametrize("size, turns", [
    (3, {}), (4, {4: 1}), (8, {8: 1}), (12, {8: 1, 4: 1}), (15, {8: 1, 4: 1}), (16, {16: 1}),
    (31, {16: 1, 8: 1, 4: 1}), (32, {32: 1}), (100, {32: 3, 4: 1})])
def test_each_edge_has_the_widest_tile(size, turns, monkeypatch):
    """Four warps of eight lanes have tiles of 32, 16, 8 and 4 lanes. The work on edges is emitted
    for each of these widths, and then for fragments; each copy counts its edges."""
    copies, whole_turn = [], EdgeWork.turn
    whole_reserve = tile.TiledPartitioning.reserve

    def turn(self, location, base, *arguments, **options):
        k = self._k
        address, one = k.a.regs("address", "one")
        k.a.li(address, k.address("turns") + 4 * len(copies))
        k.a.li(one, 1)
        k.a.amoadd_w(one, one, address)
        copies.append(address)
        whole_turn(self, location, base, *arguments, **options)

    def reserve(self, task):
        whole_reserve(self, task)
        task.buffers.reserve("turns", 5)
        task.buffers.fill("turns")

    monkeypatch.setattr(EdgeWork, "turn", turn)
    monkeypatch.setattr(tile.TiledPartitioning, "reserve", reserve)
    with Device.functional(config(4, 8)) as device:
        task = device.plan("pagerank", rows_of(size), schedule="tile:min_tile=4", direction="push",
                           iterations=1)
        assert device.run_task(task).verified
        counts = device.machine.read_memory(task.buffers.address("turns"), 5)
    assert len(copies) == 5
    assert list(map(int, counts)) == [width * turns.get(width, 0) for width in (32, 16, 8, 4)] + [
        size % 4]


def entries(device, task, lists):
    """The entries of each list of tiles: base vertices and numbers of edges, sorted."""
    side = only_side(task)
    layout, = side.layouts
    queues = DeviceBins(layout, (layout.edges // 16, *[0] * (lists - 1)))
    base = task.buffers.address(side.algorithm.base_array(side))
    found = []
    for number in range(lists):
        end, = device.machine.read_memory(queues.control + 4 * number, 1)
        vertices, firsts, lasts = (
            device.machine.read_memory(queues.start(number) + word * queues.distance,
                                       (int(end) - queues.start(number)) // 4)
            for word in range(3))
        found.append(sorted(zip((vertices - base) // 4, (lasts - firsts) // 4)))
    return found


def test_rows_become_tiles():
    """Tiles of at most 16 edges, the lanes of the core, for a warp; of 2 lanes; and fragments."""
    with Device.functional(config(4, 4)) as device:
        task = device.plan("pagerank", rows_of(1, 2, 7, 16, 43), direction="push", iterations=2,
                           schedule="tile:min_tile=2:resident=yes", split="counter")
        assert device.run_task(task).verified
        assert entries(device, task, 3) == [
            [(2, 4), (3, 16), (4, 8), (4, 16), (4, 16)], [(1, 2), (2, 2), (4, 2)],
            [(0, 1), (2, 1), (4, 1)]]


def test_tiles_serve_all_supersteps():
    """Tiles are made once where all vertices take part in each superstep, else in each."""
    for algorithm, once in (("pagerank", True), ("bfs", False)):
        with Device.functional(config(2, 4)) as device:
            result = device.run(algorithm, GRAPHS["random"], direction="push", split="counter",
                                schedule="tile:resident=yes", **ALGORITHMS[algorithm])
        launches = {name: step["launches"] for name, step in result.steps.items()}
        expand, = (count for name, count in launches.items() if "expand" in name)
        tiles, = (count for name, count in launches.items() if "fragments" in name)
        assert tiles > 1 and expand == (1 if once else tiles)


def test_an_election():
    """Every lane of a warp of 32 is a leader."""
    graph = rows_of(*[40 + lane for lane in range(64)])
    assert check(config(1, 32), "pagerank", graph, "tile", "push", iterations=1).verified


@pytest.mark.parametrize("schedule", ["tile", "tile:min_tile=1"])
def test_rounds_that_overlap(schedule):
    """Rows for tiles of every width in all warps. A warp may be a round ahead of the others, so
    both sets of lists are in use."""
    graph = rows_of(*[17, 12, 3, 28, 0, 6] * 16)
    for seed in range(12):
        check(config(4, 4), "pagerank", graph, schedule, "push", seed=seed, iterations=2)


@pytest.mark.parametrize("schedule, split", [("tile", "static"), ("tile:resident=yes", "counter")])
def test_a_very_long_row(schedule, split):
    """Tiles of one row are more than rows, and than the lanes of a warp make together."""
    graph = Graph(5, np.zeros(2003, int), np.arange(2003) % 5, name="long")
    check(config(2, 4), "pagerank", graph, schedule, "push", split=split, iterations=2)


def test_a_long_row_is_stolen():
    """A core without a row of its own takes tiles of the other core's row."""
    row = Graph(60, np.zeros(4000, int), np.arange(4000) % 60, name="hub")
    busy = {}
    with Device.simulate(config(4, 4, cores=2, imem_bytes=1 << 15)) as device:
        for schedule, split in (("tile", "static"), ("tile:resident=yes", "counter")):
            result = device.run("pagerank", row, schedule=schedule, split=split, direction="push",
                                iterations=2)
            assert result.verified
            busy[schedule] = [core["instructions"] for core in result.core_counters]
    own, stolen = (min(counts) / max(counts) for counts in busy.values())
    assert stolen > 0.6 and stolen > 2 * own


@pytest.mark.parametrize("schedule, options, message", [
    ("tile:min_tile=3", {}, "min_tile is '3', must be a power of two from 1 to 32"),
    ("tile:min_tile=64", {}, "min_tile is '64', must be a power of two from 1 to 32"),
    ("tile:min_tile=8", {}, "schedule 'tile' has min_tile = 8, which must not be above the 4 lanes "
     "of a warp"),
    ("tile:resident=yes", {}, "schedule 'tile' with resident=yes .* needs split=counter, not "
     "split=static"),
    ("tile:resident=maybe", {}, "resident is 'maybe', must be yes or no"),
    ("tile:width=8", {}, "schedule tile has no option 'width', it has find, min_tile, resident"),
    ("tile", {"format": "g-shards"}, "format g-shards has no getNeighbor"),
])
def test_refused(schedule, options, message):
    with pytest.raises(UserError, match=message):
        Device.functional(config(2, 4)).plan("bfs", GRAPHS["random"], schedule=schedule, **options)


@pytest.mark.parametrize("local, widths", [
    (1 << 14, [8, 4, 2]), (1 << 13, [8]), (1 << 12, []), (1 << 9, [])])
def test_wide_tiles_that_local_memory_has_room_for(local, widths):
    """A width takes 3,072 bytes for two sets of 128 entries."""
    hardware = config(8, 16, local_bytes=local)
    task = Device.functional(hardware).plan("bfs", GRAPHS["random"], schedule="tile")
    assert tiles.TileLists.widths(task) == widths
    check(hardware, "bfs", GRAPHS["random"], "tile", "push", source=0)


def fails(schedule, **options):
    """Whether runs with warps in random order fail."""
    with pytest.raises(RunError):
        for seed in range(8):
            check(config(4, 4), "pagerank", GRAPHS["dense"], schedule, "push", seed=seed,
                  iterations=3, **options)


def test_a_missing_barrier_is_seen(monkeypatch):
    """A planted fault: warps go through the lists before all have appended."""
    monkeypatch.setattr(tile.TiledPartitioning, "go_on", lambda self, k: None)
    fails("tile")


def test_a_lost_turn_is_seen(monkeypatch):
    """A planted fault: the narrowest tiles of a warp leave their leaders' turns out."""
    whole = tiles.WarpTiles.go
    monkeypatch.setattr(tiles.WarpTiles, "go", lambda self, begin, size, base: (
        setattr(self, "_widths", self._widths[:-1]), whole(self, begin, size, base))[-1])
    whole_fragments = tile._fragments

    def fragments(k, scan, share, row):
        k.a.andi(row[1], row[1], 4 * k.layout.step // 2 - 1)
        whole_fragments(k, scan, share, row)

    monkeypatch.setattr(tile, "_fragments", fragments)
    fails("tile:min_tile=2")


def test_a_tile_that_is_taken_twice_is_seen(monkeypatch):
    """A planted fault: a half of a warp takes the other half's tile."""
    whole = resident_tiles.BinRows.__init__

    def shared(self, k, bins, which, ends, lanes):
        whole(self, k, bins, which, ends, lanes)
        self._lanes = 4 if lanes == 2 else lanes

    monkeypatch.setattr(resident_tiles.BinRows, "__init__", shared)
    fails("tile:min_tile=2:resident=yes", split="counter")
