"""Groups of warps as the scope of schedules, on the instruction-set simulator.

============================  =====================================================================
words                         ``test_groups``, ``test_fused``, ``test_sides_of_other_groups``,
                              ``test_every_edge.py``
no group frees another's      ``test_barriers_belong_to_groups``; of the hardware
warps                         ``./graphloom prove barrier``
local memory of its own       ``test_places_belong_to_groups``
the default                   ``test_the_configuration_gives_the_default``
refused                       ``test_refused``
planted faults                ``test_a_barrier_of_all_groups_is_seen``,
                              ``test_a_place_of_all_groups_is_seen``
on the RTL                    tb/programs/test_groups.py
============================  =====================================================================
"""

import pytest

from base.errors import RunError, UserError
from hw.isa import MemoryMap
from sw.compile.kernels.scope import Scope
from sw.compile.kernels.split import SPLITS
from sw.device import Device
from sw.golden.lane_memory import _Addressing
from sw.golden.simulator import Simulator
from tb.seeds import draw
from tb.sw.compile.kernels.test_programs import ALGORITHMS, GRAPHS, check, config, with_weights


SCHEDULES = ("cm", "twc:core=9:warp=3", "twce:core=9:warp=3", "twce:core=5:small=queue:warp=3",
             "etwc", "etwc:small=queue")

each = pytest.mark.parametrize("schedule", SCHEDULES)

#: Warps, lanes, and warps of a group.
SHAPES = ((4, 4, 1), (4, 4, 2), (8, 4, 4), (16, 4, 2), (32, 4, 8), (8, 32, 4), (64, 4, 16))


def machine(warps, threads, **changes):
    return config(warps, threads, **{"barriers": 16, "imem_bytes": 1 << 15,
                                     "local_bytes": 1 << 15} | changes)


@each
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(12)
def test_groups(algorithm, direction, schedule):
    """Every shape, on a graph, a number of cores and an order of warps that are drawn."""
    rng = draw(algorithm, direction, schedule)
    for warps, threads, group in SHAPES:
        name = rng.choice(["one row", "one column", *GRAPHS])
        check(machine(warps, threads, cores=rng.choice((1, 2, 3))), algorithm, GRAPHS[name],
              f"{schedule}:group={group}", direction, seed=rng.randrange(1 << 20),
              split=rng.choice(SPLITS), warps=rng.choice((None, group, warps - group or None)),
              **ALGORITHMS[algorithm])


@each
@pytest.mark.parametrize("algorithm", ["bfs", "pagerank", "sssp"])
@pytest.mark.sample(6)
def test_fused(algorithm, schedule):
    rng = draw(algorithm, schedule)
    for cores in (1, 3):
        check(machine(8, 4, cores=cores, imem_bytes=1 << 16), algorithm, GRAPHS["random"],
              f"{schedule}:group=2", "push", seed=rng.randrange(1 << 20), fusion=True,
              **ALGORITHMS[algorithm])


@pytest.mark.parametrize("first, second", [("cm:group=2", "cm:group=4"), ("etwc:group=4", "etwc"),
                                           ("twce:small=queue:group=2", "twce:group=4"),
                                           ("twc:group=2", "etwc:group=4")])
@pytest.mark.parametrize("split", SPLITS)
def test_sides_of_other_groups(first, second, split):
    """The sides of a hybrid share places in local memory, whatever their groups."""
    plan = (f"bfs(source=0) schedule={first} direction=push split={split} | bfs(source=0) "
            f"schedule={second} direction=pull split={split} when frontier>=0.05")
    with Device.functional(machine(8, 4, cores=2), seed=3, max_cycles=5_000_000) as device:
        for name in ("spindle", "random"):
            assert device.run(plan, with_weights(GRAPHS[name])).verified


def run(schedule, split="static", algorithm="pagerank", seed=1, graph="dense", **changes):
    check(machine(8, 4, **changes), algorithm, GRAPHS[graph], schedule, "pull", seed=seed,
          model=True, split=split, **ALGORITHMS[algorithm])


@each
@pytest.mark.parametrize("split", SPLITS)
def test_barriers_belong_to_groups(monkeypatch, schedule, split):
    """Warps of one group meet at a barrier that no other group uses, each as the last of so many
    that it is its whole group."""
    seen, arrive = {}, Simulator.arrive

    def watched(self, warp, barrier, count, pc):
        seen.setdefault(barrier, set()).add((warp.number // 2, count))
        arrive(self, warp, barrier, count, pc)

    monkeypatch.setattr(Simulator, "arrive", watched)
    run(f"{schedule}:group=2", split)
    assert seen == {group + 1: {(group, 2)} for group in range(4)}


@each
@pytest.mark.parametrize("split", SPLITS)
def test_places_belong_to_groups(monkeypatch, schedule, split):
    """No word of local memory is used by warps of two groups."""
    users, locate = {}, _Addressing.locate

    def watched(self, lane, address):
        if address < MemoryMap.GLOBAL:
            users.setdefault(address >> 2, set()).add(self.warp.number // 2)
        return locate(self, lane, address)

    monkeypatch.setattr(_Addressing, "locate", watched)
    run(f"{schedule}:group=2", split)
    assert all(len(groups) == 1 for groups in users.values())
    assert {*range(4)} == {group for groups in users.values() for group in groups}


@each
def test_the_configuration_gives_the_default(schedule):
    """Left out, the groups are those of the configuration, or all warps. A plan for fewer warps
    than a group has makes one group of them."""
    def words(text, warps=None, **changes):
        with Device.functional(machine(8, 4, **changes)) as device:
            task = device.plan("bfs", GRAPHS["random"], schedule=text, direction="push",
                               warps=warps)
            return task.program.words

    whole, halves = words(schedule), words(f"{schedule}:group=4")
    assert whole == words(f"{schedule}:group=8") == words(f"{schedule}:group=8", group_warps=4)
    assert halves == words(schedule, group_warps=4) != whole
    assert words(schedule, 2) == words(schedule, 2, group_warps=4)


@pytest.mark.parametrize("schedule, changes, message", [
    ("cm:group=16", {}, "schedule 'cm' has group = 16, which must divide the 8 warps"),
    ("etwc:group=3", {}, "group is '3', must be a power of two from 1 to 64"),
    ("twc:group=4", {"plan": 6}, "'twc' has group = 4, which must divide the 6 warps of a core"),
    ("twce", {"plan": 6, "group_warps": 4}, "'twce' has group = 4, which must divide the 6 warps"),
    ("etwc:group=2", {"barriers": 4}, "'etwc' has group = 2, and 4 groups need 5 barriers, one for "
                                      "each and one for the core; barriers is 4 in configuration"),
    ("wm:group=2", {}, "schedule wm has no option 'group', it has find, unroll")])
def test_refused(schedule, changes, message):
    changes = dict(changes)
    warps = changes.pop("plan", None)
    with Device.functional(machine(8, 4, **changes)) as device, \
            pytest.raises(UserError, match=message) as caught:
        device.plan("bfs", GRAPHS["random"], schedule=schedule, warps=warps)
    assert "\n" not in str(caught.value)


def test_a_barrier_of_all_groups_is_seen(monkeypatch):
    """A planted fault: all groups meet at one barrier."""
    def barrier(self, k):
        k.a.bar(k.constant(1), k.constant(self.warps, "warps"))

    monkeypatch.setattr(Scope, "barrier", barrier)
    with pytest.raises(RunError):
        for seed in range(20):
            run("cm:group=2", seed=seed)


def test_a_place_of_all_groups_is_seen(monkeypatch):
    """A planted fault: all groups use the words of the first."""
    monkeypatch.setattr(Scope, "move", lambda self, k, pointer, words: None)
    with pytest.raises(RunError):
        for seed in range(20):
            run("etwc:group=2", seed=seed)
