"""Hash lookups: every schedule and unit against the reference model, refusals, and the result.

==================  ===============================================================================
schedules, units    test_random: every schedule, unit and shape, with 1, 2 and 6 cores, on random
                    tables; test_special; on the RTL test_on_the_rtl
first match         test_the_first_pair_answers, test_order_of_insertion
early end           test_a_match_ends_a_bucket, test_the_weaver_skips
kernels             test_kernels; test_comparisons_in_order: the arrays of lookups by edges
bounds              tb/sw/compile/test_buffers.py
result              test_result, test_wrong_answers_are_seen
refused             test_refused, test_refused_on_this_hardware, test_wrong_words,
                    test_too_large, test_too_many_comparisons
==================  ===============================================================================
"""

import json

import numpy as np
import pytest

from base.errors import LimitError, RunError, UserError
from checks.campaign.machines import CONFIGS, CORES
from hw.gather.variants import VARIANTS
from sim.dram import DramConfig
from sw.compile import schedules
from sw.golden.hashing import bucket
from sw.golden.hashing import lookup as golden
from sw.operators.hashing import HashTable
from sw.operators.hashing import lookup as work
from sw.operators.hashing.hash_table import LookupPlan
from sw.compile.kernels.split import SPLITS
from sw.device import Device
from tb.seeds import draw
from tb.sw.compile.kernels.test_programs import config


#: Schedules that list the edges of a frontier, or whose unit reads rows.
LISTS = ("compact", "scu", "scu-enhanced", "scu-stream", "graphpeg")

#: Schedules that look keys up, some with options.
SCHEDULES = (*(name for name in schedules.names() if name not in LISTS), "vm:unroll=1",
             "vm:unroll=4", "vwc:width=4", "wm:find=walk:unroll=1", "wm:unroll=4", "em:unroll=1",
             "em:unroll=8", "cm:unroll=2", "weaver:works=2", "weaver:works=4")
SHAPES = [(1, 1), (2, 4), (4, 1), (1, 32), (8, 16), (4, 8)]
CORE_COUNTS = (1, 2, 6)

#: Units that look keys up.
UNITS = [unit for unit in VARIANTS if unit not in ("eghw", "graphpeg")]


def hardware(shape, **changes):
    return config(*shape, imem_bytes=1 << 15, local_bytes=1 << 14, **changes)


def functional(shape, seed=None, **changes):
    """A device without RTL, which gives up after far more instructions than a test takes."""
    return Device.functional(hardware(shape, **changes), seed=seed, max_cycles=3_000_000)


def numbers(rng, below, count):
    return [rng.randrange(below) for _ in range(count)]


def look(device, keys, values, queries, buckets=None, **options):
    """Look up, and compare the answers with the model once more."""
    result = HashTable(device, keys, values, buckets).lookup(queries, **options)
    index, value, count = golden(keys, values, queries)
    assert result.verified and result.index.tolist() == index.tolist()
    assert result.values.tolist() == value.tolist()
    assert result.found.tolist() == [number >= 0 for number in index]
    counted = options.get("count", False)
    assert (result.counts.tolist() == count.tolist()) if counted else result.counts is None
    return result


@pytest.mark.parametrize("cores", CORE_COUNTS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.sample(32)
def test_random(schedule, cores):
    """Tables of few keys have duplicates, and many queries find nothing."""
    rng = draw(schedule, cores)
    for turn in range(4):
        unit = rng.choice(UNITS)
        shape = rng.choice(SHAPES)
        if shape[1] < 4 and schedule.startswith(("vwc", "twc", "etwc")):
            shape = (2, 4)
        with functional(shape, seed=rng.randrange(1 << 20), gather=unit, cores=cores) as device:
            pairs, span = rng.choice([5, 40, 150]), rng.choice([4, 60, 1 << 32])
            keys = numbers(rng, span, pairs)
            if turn % 3 == 0:
                keys = list(set(keys))
            values = numbers(rng, 1 << 32, len(keys))
            queries = [rng.choice([rng.choice(keys), rng.randrange(span), rng.randrange(1 << 32)])
                       for _ in range(rng.choice([1, 37, 200]))]
            look(device, keys, values, queries, rng.choice([None, 1, 2, 7, 100]),
                 schedule=schedule, count=rng.choice([True, False]), split=rng.choice(SPLITS),
                 warps=rng.choice([None, 1]), phases=rng.choice([True, False]))


SPECIAL = {
    "nothing": ([], [], []),
    "empty table": ([], [], [0, 5, (1 << 32) - 1]),
    "no queries": ([1, 2, 2], [10, 20, 21], []),
    "one pair": ([7], [70], [7, 6, 7]),
    "one key": ([7] * 50, range(50), [7, 7, 8] * 11),
    "extreme words": ([0, (1 << 32) - 1, 1 << 31], [(1 << 32) - 1, 0, 1 << 31],
                      [(1 << 32) - 1, 0, 1, 1 << 31]),
    "missing": (range(40), range(40), range(40, 80)),
    "one query": (range(300), range(300), [299]),
}


@pytest.mark.parametrize("schedule", ["vm", "vwc", "wm", "cm", "em", "strict", "weaver"])
@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.sample(28)
def test_special(name, schedule):
    keys, values, queries = SPECIAL[name]
    for unit in UNITS if schedule == "weaver" else ("fsm",):
        with functional((2, 4), gather=unit) as device:
            for buckets in (1, 3, 1000):
                for count in (False, True):
                    look(device, keys, values, queries, buckets, schedule=schedule, count=count)


@pytest.mark.parametrize("name", ["tiny", "scan", "stream", "pair"])
@pytest.mark.sample(2)
def test_on_the_rtl(name):
    """The memory answers late, so lanes of different warps meet."""
    rng = draw(name)
    hardware = (CONFIGS | CORES)[name]
    with Device.simulate(hardware, dram=DramConfig(latency=60)) as device:
        for schedule in ("vm", "wm", "em", "weaver"):
            for span, count in ((20, False), (20, True), (1 << 32, False)):
                keys = numbers(rng, span, 60)
                queries = [rng.choice([rng.choice(keys), rng.randrange(span)]) for _ in range(50)]
                result = look(device, keys, numbers(rng, 1 << 32, 60), queries, 9,
                              schedule=schedule, count=count)
                assert result.cycles > 0


# Duplicates

@pytest.mark.parametrize("schedule", ["vm", "vwc:width=4", "wm", "cm", "em", "strict", "weaver"])
def test_the_first_pair_answers(schedule):
    """Worked by hand: key 5 has three values, and other keys are in between."""
    for unit in UNITS:
        with functional((2, 4), gather=unit) as device:
            table = HashTable(device, [9, 5, 8, 5, 5], [90, 53, 80, 51, 52], buckets=1)
            result = table.lookup([5, 8, 6, 5], schedule=schedule, count=True)
            assert result.values.tolist() == [53, 80, 0, 53]
            assert result.index.tolist() == [1, 2, -1, 1]
            assert result.counts.tolist() == [3, 1, 0, 3]
            assert result.found.tolist() == [True, True, False, True]
            assert table.lookup([5], schedule=schedule).values.tolist() == [53]


@pytest.mark.parametrize("schedule", ["wm", "em", "weaver", "weaver:works=4", "vwc:width=8"])
def test_order_of_insertion(schedule):
    """All lanes of several warps match the same query at the same time."""
    rng = draw(schedule)
    for unit in UNITS:
        with functional((4, 8), seed=rng.randrange(1 << 20), gather=unit, cores=2) as device:
            for first in (0, 1, 31, 32, 200):
                keys = [4] * first + [3] * 300
                values = numbers(rng, 1 << 32, len(keys))
                assert look(device, keys, values, [3] * 5 + [4], 1,
                            schedule=schedule).index.tolist()[:5] == [first] * 5


# The early end

@pytest.mark.parametrize("schedule", ["vm", "vwc:width=4", "wm", "weaver"])
def test_a_match_ends_a_bucket(schedule):
    """The first of 400 pairs settles each query, unless matches are counted."""
    keys = [7, *range(100, 499)]
    with functional((2, 4)) as device:
        table = HashTable(device, [*keys, 100], [0] * 401, buckets=1)
        first, all_ = (table.lookup([7] * 8, schedule=schedule, count=count)
                       for count in (False, True))
        assert all_.counters["instructions"] > 5 * first.counters["instructions"]
        missing = table.lookup([8] * 8, schedule=schedule)
        assert missing.counters["instructions"] > 5 * first.counters["instructions"]


@pytest.mark.parametrize("name", ["tiny", "scan", "stream"])
def test_the_weaver_skips(name):
    """By SKIP the unit hands out a small part of the pairs."""
    with Device.simulate(CONFIGS[name]) as device:
        table = HashTable(device, [7, *range(100, 499)], range(400), buckets=1)
        first, missing = (table.lookup([query] * 8) for query in (7, 8))
        threads = CONFIGS[name].threads
        assert missing.counters["weaver_decodes"] >= 8 * 400 / threads
        assert first.counters["weaver_decodes"] < 0.3 * missing.counters["weaver_decodes"]
        assert first.cycles < 0.3 * missing.cycles


# Kernels

def test_kernels():
    """A second kernel loads values only where several lanes may find pairs of one query."""
    with functional((2, 4)) as device:
        for keys, schedule, count, expected in (
                ([1, 2], "vm", False, {"probe"}), ([1, 1], "vm", False, {"probe"}),
                ([1, 1], "vm", True, {"probe"}), ([1, 2], "wm", True, {"probe"}),
                ([1, 1], "wm", False, {"probe", "fetch"}),
                ([1, 1], "weaver", True, {"probe", "fetch"}),
                ([1, 2], "em", False, {"lengths", "scan", "places", "probe"})):
            table = HashTable(device, keys, keys)
            result = table.lookup([1], schedule=schedule, count=count)
            assert set(result.steps) == expected
            assert result.launches == len(expected) and result.supersteps == 1
            assert set(table.plan([1], schedule=schedule, count=count).program.entries) == expected


@pytest.mark.parametrize("cores", CORE_COUNTS)
@pytest.mark.parametrize("buckets", [1, 5, 60])
def test_comparisons_in_order(buckets, cores):
    """The kernels before edge mapping give prefix sums over the buckets of the queries."""
    rng = draw(buckets, cores)
    keys, queries = numbers(rng, 1 << 32, 90), numbers(rng, 1 << 32, 70)
    with functional((2, 4), seed=5, cores=cores) as device:
        table = HashTable(device, keys, keys, buckets)
        task = table.plan(queries, schedule="em:unroll=2")
        device.run_task(task)
        buffers = task.buffers
        read = {name: buffers.read(device.machine, name).astype(np.int64)
                for name in ("places", "starts", "comparisons", "block_firsts")}
    owners = [bucket(query, buckets) for query in queries]
    lengths = np.diff(table.table.offsets.astype(np.int64))[owners]
    places = 4 * (np.cumsum(lengths) - lengths)
    assert read["places"][:70].tolist() == places.tolist()
    begins = buffers.address("keys") + 4 * table.table.offsets.astype(np.int64)[owners]
    starts = read["starts"][:70] + read["places"][:70] & 0xFFFF_FFFF
    assert starts.tolist() == begins.tolist()
    assert read["comparisons"].tolist() == [4 * lengths.sum()]
    for block in range(-(-int(lengths.sum()) // 8)):
        first = int(np.searchsorted(places + 4 * lengths, 32 * block, side="right"))
        assert read["block_firsts"][block] == buffers.address("places") + 4 * first


def test_bucket_of():
    """By hand: the hash of 1 is 0x514E28B7."""
    found = table().bucket_of([1, 0])
    assert table().buckets == 1 and found.tolist() == [0, 0]
    found = HashTable(Device(hardware((2, 4)), never), [], [], buckets=1000).bucket_of([1, 0])
    assert found.tolist() == [317, 0]


# The result

def test_result():
    with functional((2, 4)) as device:
        table = HashTable(device, [1, 2, 2, 3], [10, 20, 21, 30], buckets=2)
        assert (len(table), table.buckets) == (4, 2)
        result = table.lookup([2, 4], schedule="vm:unroll=2", count=True, warps=1, split="counter")
    assert (result.algorithm, result.schedule, result.format) == ("lookup", "vm:unroll=2",
                                                                  "buckets")
    assert result.used == {"unroll": 2}
    assert result.graph == "hash table of 4 pairs in 2 buckets"
    owners = [bucket(key, 2) for key in (1, 2, 2, 3)]
    assert result.vertices == 2
    assert result.edges == sum(owners.count(bucket(query, 2)) for query in (2, 4))
    assert result.parameters == {"count": True, "pairs": 4, "buckets": 2, "unique": False}
    assert result.plan.text == "lookup(count=yes) schedule=vm:unroll=2 split=counter warps=1"
    assert result.outputs["index"].dtype == np.int32
    assert result.values.dtype == result.counts.dtype == np.uint32
    record = json.loads(json.dumps(result.to_json()))
    assert record["plan"] == result.plan.text and record["checksum"] == result.checksum
    assert record["counters"]["instructions"] == result.counters["instructions"] > 0


def test_wrong_answers_are_seen(monkeypatch):
    def wrong(keys, values, queries):
        index, value, count = golden(keys, values, queries)
        value[3] = 99
        return index, value, count

    monkeypatch.setattr(work, "lookup", wrong)
    with functional((2, 4)) as device:
        table = HashTable(device, range(8), range(10, 18))
        with pytest.raises(RunError, match="differs from the golden model at 1 of 5 queries: value "
                                           "of query 3 is 14, must be 99"):
            table.lookup([1, 2, 3, 4, 5], schedule="vm")
        assert not table.lookup([1, 2, 3, 4, 5], schedule="vm", verify=False).verified


def test_limit():
    with functional((2, 4)) as device:
        table = HashTable(device, range(100), range(100))
        with pytest.raises(LimitError, match="not finished after 50 instructions"):
            table.lookup(range(100), max_cycles=50)
        assert table.lookup(range(100)).found.all()


# Refused

def never():
    raise AssertionError("the machine is made although the lookup is refused")


def table(**changes):
    return HashTable(Device(hardware((2, 4), **changes), never), [1, 2], [3, 4])


@pytest.mark.parametrize("options, message", [
    (dict(schedule="fair"), "there is no schedule 'fair'; there are cm, compact"),
    (dict(schedule="vm:unroll=9"), "schedule vm: unroll is '9', must be an integer from 1 to 8"),
    (dict(schedule="vm:width=2"), "schedule vm has no option 'width'"),
    (dict(schedule="compact"), "schedule 'compact' cannot look up keys: it lists the edges that "
                               "leave a frontier, and a lookup has none"),
    (dict(schedule="vwc:width=8"), "virtual warps of 8 lanes, which must not be more than the 4"),
    (dict(split="fair"), "lookup: split is 'fair', must be static or counter"),
    (dict(warps=3), "warps is 3, must be from 1 to 2, the warps of a core"),
    (dict(warps=0), "lookup: warps is 0, must be an integer from 1 to"),
    (dict(phases="perhaps"), "lookup: phases is 'perhaps', must be yes or no"),
    (dict(count=2), "lookup: count is 2, must be yes or no"),
    (dict(max_cycles=0), "max_cycles is 0, must be at least 1"),
])
def test_refused(options, message):
    with pytest.raises(UserError, match=message):
        table().lookup([1], **options)


def test_spellings_of_a_plan():
    """Plans that mean the same are equal, so that nothing is made or measured twice."""
    assert LookupPlan(schedule="wm:unroll=2:find=walk") == LookupPlan(
        schedule="wm:find=walk:unroll=2", split="static")
    assert LookupPlan(parameters=(("count", "yes"),)) == LookupPlan(parameters=(("count", True),))
    assert LookupPlan(warps="2").warps == 2 and LookupPlan(phases="yes").phases is True


@pytest.mark.parametrize("schedule", LISTS)
def test_schedules_that_list_edges(schedule):
    with pytest.raises(UserError, match=f"schedule '{schedule}' cannot look up keys"):
        table(scu=4).lookup([1], schedule=schedule)


def test_refused_on_this_hardware():
    with pytest.raises(UserError, match="needs a Weaver or EGHW, which configuration 'custom\\*' "
                                        "does not"):
        table(gather="none").lookup([1])
    with pytest.raises(UserError, match="schedule 'weaver' cannot look up keys with gather = "
                                        "'eghw': this unit reads the rows of a graph"):
        table(gather="eghw").lookup([1])
    with pytest.raises(AssertionError, match="machine is made"):
        table(gather="eghw").lookup([1], schedule="vm")
    LookupPlan(schedule="weaver").check()       # no hardware yet, so nothing is against it


def test_every_unit_is_known():
    """Every unit works but those that read the rows themselves."""
    refused = []
    for name in VARIANTS:
        try:
            table(gather=name).plan([1])
        except UserError:
            refused.append(name)
    assert refused == [name for name in VARIANTS if name in ("eghw", "graphpeg")]


@pytest.mark.parametrize("queries, message", [
    ([1, 1 << 32], "number 1 of the queries is 4294967296, must be from 0 to 4294967295"),
    ([-1], "number 0 of the queries is -1, must be from 0 to 4294967295"),
    ([0.5], "number 0 of the queries is 0.5, must be an integer"),
    (5, "the queries are 5, must be a sequence of integers"),
])
def test_wrong_words(queries, message):
    with pytest.raises(UserError, match=message):
        table().lookup(queries)


def test_too_large():
    device = Device(hardware((2, 4), memory_bytes=1 << 16), never)
    with pytest.raises(UserError, match="a hash table of 9000 pairs in 1125 buckets does not fit "
                                        "in device memory: 76504 bytes needed, memory_bytes is "
                                        "65536"):
        HashTable(device, range(9000), range(9000))
    with pytest.raises(UserError, match="a lookup of 6000 queries in a hash table of 100 pairs in "
                                        "13 buckets does not fit in device memory: [0-9]+ bytes "
                                        "needed, memory_bytes is 65536"):
        HashTable(device, range(100), range(100)).lookup(range(6000))


def test_too_many_comparisons(monkeypatch):
    monkeypatch.setattr(work, "_MOST", 799)
    device = Device(hardware((2, 4)), never)
    with pytest.raises(UserError, match="8 queries have 800 pairs in their buckets together, must "
                                        "be at most 799; look up fewer at a time, or use more"):
        HashTable(device, range(100), range(100), 1).lookup(range(8))
    HashTable(device, range(100), range(100), 1).plan(range(7))
