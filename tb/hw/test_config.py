"""Legal and illegal configurations.

=====================  ===========================================================
each value by itself   test_every_legal_value, test_others_are_refused, test_types
values together        test_together: accepted combinations, and messages of refusals
accepted ones          test_accepted_is_emitted
the table              test_table, test_legal
values as text         test_assignments, test_refused_assignments
=====================  ===========================================================
"""

import dataclasses
import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hw.config import LEGAL, PRESETS, ConfigError, HardwareConfig, preset
from hw.top import verilog


NUMBERS = [name for name, legal in LEGAL.items() if type(legal.values[-1]) is int]


def legal_values(**few):
    """A value of each field, each legal by itself. ``few`` restricts some fields."""
    return st.fixed_dictionaries({name: st.sampled_from(few.get(name, legal.values))
                                  for name, legal in LEGAL.items()})


def test_table():
    fields = {field.name for field in dataclasses.fields(HardwareConfig)}
    assert set(LEGAL) == fields - {"name"}
    for legal in LEGAL.values():
        assert len(set(legal.values)) == len(legal.values) > 1 and legal.text
        if type(legal.values[0]) is not str:
            assert sorted(legal.values) == list(legal.values)
    for config in PRESETS.values():
        for name, legal in LEGAL.items():
            assert getattr(config, name) in legal.values


@pytest.mark.parametrize("name", LEGAL)
def test_every_legal_value(name):
    """Some configuration has the value: one that leaves room for all other values."""
    room = {"cores": (2,), "threads": (1, 32), "warps": (64,), "local_bytes": (1 << 17,),
            "l1_ways": (1,), "l1_bytes": (1 << 15,), "l1_banks": (1,), "l1_mshrs": (8,),
            "l2_ways": (1,), "l2_banks": (1,), "l2_bytes": (0,)}
    if name == "memory_ports":
        room["l2_banks"] = (8,)
    if name in ("sector_bytes", "fetch_sectors"):
        room["l2_bytes"] = (1 << 17,)
    if name == "fetch_sectors":
        room["sector_bytes"] = (8,)
    for value in LEGAL[name].values:
        if name == "group_warps":
            room["warps"] = (value or 1,)
        accepted = []
        for threads in (1, 2, 4, 8, 16, 32):
            fields = {other: values[0] for other, values in room.items()} | {"threads": threads}
            try:
                accepted.append(HardwareConfig(**(fields | {name: value})))
            except ConfigError:
                continue
        assert any(getattr(config, name) == value for config in accepted), value


def refused(fields):
    """The message of the constructor's refusal."""
    with pytest.raises(ConfigError) as caught:
        HardwareConfig(**fields)
    text = str(caught.value)
    assert "\n" not in text
    return text


@given(st.sampled_from(NUMBERS), st.data())
@settings(max_examples=400)
def test_others_are_refused(name, data):
    """Illegal values, above all the neighbours of legal values."""
    values = LEGAL[name].values
    near = st.builds(lambda value, step: value + step, st.sampled_from(values),
                     st.sampled_from((-1, 1)))
    ends = st.sampled_from((values[-1] * 2, values[-1] + 1, values[0] - 1, values[0] // 2, -1,
                            -values[-1], 3 * values[-1] // 2))
    value = data.draw(near | ends | st.integers())
    assume(value not in values)
    if name == "weaver_entries":
        text = refused({name: value})
        assert text.startswith(f"HardwareConfig: {name} = {value}: must be 0 or a multiple of "
                               "threads")
    else:
        assert refused({name: value}) == f"HardwareConfig: {name} = {value}: {LEGAL[name].refusal}"


@pytest.mark.parametrize("name, value, right", [
    ("cores", 64, "1 to 16: each core has its own port to each bank of the L2, and there are no "
                  "clusters of cores that share one"),
    ("warps", 3, "a power of two from 1 to 64"), ("threads", 64, "a power of two from 1 to 32"),
    ("l2_bytes", 16, "0 or a power of two from 32 to 8388608"),
    ("l2_bytes", -32, "0 or a power of two from 32 to 8388608"),
    ("gather", "tree", "'none' or 'fsm' or 'scan' or 'stream' or 'eghw' or 'graphpeg'"),
    ("alwt_entries", 3, "a power of two from 4 to 64"),
    ("alwt_entries", 128, "a power of two from 4 to 64"),
    ("gather_requests", 64, "a power of two from 1 to 32"),
    ("edge_buffer_rows", 2, "a power of two from 4 to 32"),
    ("divider", "", "'none' or 'serial'"),
    ("table_latency", 7, "0, 10, 20, 40, 80 or 160"),
    ("weaver_entries", 24, "0 or a multiple of threads (16), at most warps x threads (128)"),
    ("weaver_entries", 144, "0 or a multiple of threads (16), at most warps x threads (128)"),
    ("local_bytes", 1 << 18, "a power of two from 256 to 131072"),
    ("l2_bytes", 1 << 23, "less than l2_ways x memory_bytes (524288)"),
    ("l1_bytes", 256, "hold two sets of 4 ways of 64-byte lines (512)"),
    ("atomic_words", "word", "'one' or 'line'"),
    ("group_warps", 3, "0 or a power of two from 1 to 64"),
    ("group_warps", 16, "at most warps (8)"),
    ("l1_banks", 3, "a power of two from 1 to 4"), ("l1_banks", 8, "a power of two from 1 to 4"),
])
def test_messages(name, value, right):
    verb = "must " if name == "l1_bytes" else "must be "
    others = {"memory_bytes": 1 << 16} if "memory_bytes" in right else {}
    assert refused({name: value} | others) == f"HardwareConfig: {name} = {value!r}: {verb}{right}"


def test_sectors():
    """Two sectors in a line at least, and an L2 that holds them."""
    assert refused({"sector_bytes": 24}) == (
        "HardwareConfig: sector_bytes = 24: must be 0 or a power of two from 8 to 64")
    assert refused({"sector_bytes": 64}) == (
        "HardwareConfig: sector_bytes = 64: must be 0 or less than the bytes of a line (64)")
    assert refused({"sector_bytes": 32, "l2_bytes": 0}) == (
        "HardwareConfig: sector_bytes = 32: must be 0 without an L2 (l2_bytes = 0): its buffer "
        "holds whole lines")
    assert refused({"sector_bytes": 32, "fetch_sectors": 4}) == (
        "HardwareConfig: fetch_sectors = 4: must be at most the sectors of a line (2)")
    assert [HardwareConfig(threads=32, sector_bytes=size).sectors for size in (0, 8, 32, 64)] \
        == [1, 16, 4, 2]


def test_banks_of_the_l1():
    """Each bank needs two sets and two MSHRs."""
    assert refused({"l1_banks": 4, "l1_bytes": 1 << 10}) == (
        "HardwareConfig: l1_bytes = 1024: must hold two sets of 4 ways of 64-byte lines in each of "
        "4 banks (2048)")
    assert refused({"l1_banks": 4, "l1_mshrs": 4}) == (
        "HardwareConfig: l1_mshrs = 4: must be at least 2 in each of 4 banks (8)")
    assert preset("tiny").legal("l1_banks") == (1, 2)


def test_groups_of_warps():
    """Each group has a barrier, and the core has another."""
    assert refused({"group_warps": 2}) == (
        "HardwareConfig: group_warps = 2: must leave fewer groups (4) than barriers (4): each "
        "group has one, and the core another")
    assert HardwareConfig().legal("group_warps") == (0, 4, 8)
    assert HardwareConfig(barriers=8).legal("group_warps") == (0, 2, 4, 8)
    assert HardwareConfig(barriers=1).legal("group_warps") == (0, 8)


def test_old_names():
    """A field that was renamed is refused with its present name."""
    for change in (lambda: HardwareConfig().replace(weaver="fsm"),
                   lambda: HardwareConfig.parse("tiny", ["weaver=none"])):
        with pytest.raises(ConfigError, match="field 'weaver' is now called 'gather'"):
            change()


@given(legal_values())
@settings(max_examples=400)
def test_assignments(fields):
    """Values as a command line gives them. A whole number may be hexadecimal."""
    texts = [f"{name}={value}" for name, value in fields.items()]
    others = [f" {name} = {value:#x} " if name in NUMBERS else f"{name}={str(value).lower()}"
              for name, value in fields.items()]
    if list(reasons(fields)):
        for each in (texts, others):
            with pytest.raises(ConfigError, match=re.escape(refused(fields))):
                HardwareConfig.parse("tiny", each)
    else:
        right = HardwareConfig(name="tiny*", **fields)
        assert HardwareConfig.parse("tiny", texts) == HardwareConfig.parse("tiny", others) == right


@pytest.mark.parametrize("texts, message", [
    (["warps"], "'warps' is not FIELD=VALUE"),
    (["colour=4"], "no field 'colour' to set; it has cores, "),
    (["name=mine"], "no field 'name' to set; it has cores, "),
    (["warps=2", "warps=4"], "warps is set twice"),
    (["warps=four"], "warps = 'four': must be a power of two from 1 to 64"),
    (["warps=4.0"], "warps = '4.0': must be a power of two from 1 to 64"),
    (["trace=1"], "trace = '1': must be False or True"),
    (["divider=4"], "divider = '4': must be 'none' or 'serial'"),
])
def test_refused_assignments(texts, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        HardwareConfig.parse("tiny", texts)


@pytest.mark.parametrize("name", LEGAL)
def test_types(name):
    """A value of another type that equals a legal value is refused."""
    kind = type(LEGAL[name].values[-1])
    wrong = {int: (True, 4.0, "4", None), bool: (1, 0, "true", None),
             str: (0, None, True)}[kind]
    for value in wrong:
        assert f"{name} = {value!r}: must be of type {kind.__name__}" in refused({name: value})


def reasons(c):
    """The fields to blame for an illegal combination of values that are each legal."""
    line = max(16, 4 * c["threads"])
    if c["weaver_entries"] % c["threads"] or c["weaver_entries"] > c["warps"] * c["threads"]:
        yield "weaver_entries"
    if c["local_bytes"] // 4 < 2 * c["threads"]:
        yield "local_bytes"
    if c["l1_bytes"] // c["l1_banks"] // line // c["l1_ways"] < 2:
        yield "l1_bytes"
    if c["l1_mshrs"] // c["l1_banks"] < 2:
        yield "l1_mshrs"
    if c["l2_bytes"] and c["l2_bytes"] // c["l2_banks"] // line // c["l2_ways"] < 2:
        yield "l2_bytes"
    for cache in ("l1", "l2"):
        if c[f"{cache}_bytes"] // c[f"{cache}_ways"] >= c["memory_bytes"]:
            yield f"{cache}_bytes"
    if c["exchange_interval"] and c["cores"] == 1:
        yield "exchange_interval"
    if c["memory_ports"] > c["l2_banks"]:
        yield "memory_ports"
    if c["sector_bytes"] and (not c["l2_bytes"] or c["sector_bytes"] >= line):
        yield "sector_bytes"
    if c["fetch_sectors"] > (line // c["sector_bytes"] if c["sector_bytes"] else 1):
        yield "fetch_sectors"
    groups = c["warps"] / (c["group_warps"] or c["warps"])
    if groups < 1 or 1 < groups >= c["barriers"]:
        yield "group_warps"


@given(legal_values())
@settings(max_examples=400)
def test_together(fields):
    wrong = list(reasons(fields))
    if wrong:
        text = refused(fields)
        name = re.match(r"HardwareConfig: (\w+) = ", text)[1]
        assert name in wrong
        assert text.startswith(f"HardwareConfig: {name} = {fields[name]}: must ")
    else:
        config = HardwareConfig(**fields)
        assert dataclasses.asdict(config) == {"name": "custom", **fields}


SMALL = {"cores": (1, 2, 3), "warps": (1, 2, 4), "threads": (1, 2, 4), "weaver_entries": (0,),
         "l1_mshrs": (2, 4, 8), "l2_mshrs": (2, 4, 8), "load_queue": (2, 4, 8), "l2_banks": (1, 2),
         "memory_ports": (1, 2), "sector_bytes": (0, 8), "fetch_sectors": (1,),
         "barriers": (1, 2, 4), "group_warps": (0, 1, 2)}


@given(legal_values(**SMALL), st.data())
@settings(max_examples=1)
def test_accepted_is_emitted(fields, data):
    """A small shape, any sizes of memories. Other seeds of the tests draw others."""
    assume(not list(reasons(fields)))
    config = HardwareConfig(**fields)
    for name in ("weaver_entries", "fetch_sectors"):
        fields[name] = data.draw(st.sampled_from(config.legal(name)), label=name)
    text = verilog(HardwareConfig(**fields))
    for module in ("graphloom_gpu", "graphloom_core"):
        assert len(re.findall(rf"(?m)^module {module}\(", text)) == 1
    assert ("trace_words" in text) == fields["trace"]


def test_legal():
    tiny = preset("tiny")
    assert tiny.legal("weaver_entries") == (0, 4, 8)
    assert tiny.legal("cores") == tuple(range(1, 17))
    assert tiny.legal("l1_ways") == (1, 2, 4, 8)
    assert tiny.replace(l1_bytes=256).legal("l1_ways") == (1, 2, 4, 8)
    assert tiny.replace(l1_bytes=256).legal("threads") == (1, 2, 4, 8, 16)
    assert tiny.replace(threads=32).legal("local_bytes")[0] == 256
    with pytest.raises(ConfigError, match="no legal values of 'colour'; it has legal "
                                          "values of cores"):
        tiny.legal("colour")


@given(legal_values(), st.sampled_from(list(LEGAL)))
@settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])
def test_legal_is_what_replace_accepts(fields, name):
    """One in twenty combinations of legal values is legal, too few for Hypothesis' check."""
    assume(not list(reasons(fields)))
    config = HardwareConfig(**fields)
    assert fields[name] in config.legal(name)
    for value in LEGAL[name].values:
        assert (value in config.legal(name)) == (not list(reasons(fields | {name: value})))
