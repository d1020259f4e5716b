"""Pages of synthesis, and area against cycles.

======================  ========================================================
a unit                  test_unit: area, frequency, critical path
all units               test_overhead: the file that the project keeps
area against cycles     test_front, test_trade, test_one_label_for_each_unit,
                        test_units_of, test_unknown_area
======================  ========================================================
"""

import copy
import dataclasses
import json
import types

import pytest

from hw.config import preset
from sw.show.report import synthesis, trade
from sw.show.report.results import runs_of
from tb.sw.show.report.shown import block, series


OVERHEAD = json.loads(trade.KEPT.read_text())

UNIT = {"unit": "weaver", "device": "ecp5-85k", "config": dataclasses.asdict(preset("fpga")),
        "area": {"lut4": 3993, "ff": 1441, "block_ram": 0, "dsp": 0},
        "share": {"lut4": 0.0477, "ff": 0.0172, "block_ram": 0.0, "dsp": 0.0},
        "tools": {"yosys": "yosys 1"},
        "estimate": {"frequency": 113.4, "levels": 2, "path": [
            {"kind": "TRELLIS_FF", "signal": "a", "time": 0.5},
            {"kind": "LUT4", "signal": "~b", "time": 1.75}]},
        "placements": [{"seed": 1, "frequency": 60.0}, {"seed": 2, "frequency": 65.5}]}


def test_unit():
    page = synthesis.unit_page(UNIT, "synth.json")
    area = block(page, "Area")
    assert area.variants[""]["data"][0]["x"] == pytest.approx([4.77, 1.72, 0, 0])
    assert area.finding == "LUT4 are the scarcest: the unit takes 4.8 % of the ecp5-85k's."
    frequency = block(page, "Frequency")
    assert frequency.finding == "Placed, the unit reaches 60.0 to 65.5 MHz."
    assert frequency.variants[""]["data"][0]["x"] == [60.0, 65.5, 113.4]
    path = block(page, "Critical path").variants[""]["data"][0]
    assert path["x"] == pytest.approx([0.5, 1.25]) and path["base"] == pytest.approx([0, 0.5])
    assert page.command == "./graphloom synth weaver --device ecp5-85k --preset fpga"
    board = UNIT | {"unit": "board", "board": {"memory": "sdram", "frequency": 50.0,
                                               "baud": 1000000, "seed": 2}}
    assert synthesis.unit_page(board, "").command == (
        "./graphloom synth board --memory sdram --frequency 50 --baud 1000000 --seeds 2 "
        "--preset fpga")
    alone = {name: value for name, value in UNIT.items() if name not in ("estimate", "placements")}
    assert [each.title for each in synthesis.unit_page(alone, "").blocks] == ["Area"]


def test_overhead():
    page = synthesis.overhead_page(OVERHEAD, "overhead.json")
    shown, = page.blocks
    for resource, title in synthesis.RESOURCES.items():
        if title not in shown.variants:
            assert not any(row["added"][resource] for row in OVERHEAD["rows"])
            continue
        drawn = shown.variants[title]
        found = {(unit, int(group.split()[0])): value for unit, values in series(drawn, "y").items()
                 for group, value in zip(drawn["data"][0]["x"], values)}
        for row in OVERHEAD["rows"]:
            assert found.get((row["unit"], row["lanes"]), 0) == row["added"][resource]
    least = min((row for row in OVERHEAD["rows"] if row["lanes"] == 32),
                key=lambda row: row["added"]["lut4"])
    assert f"{least['unit']} adds the fewest LUT4, {least['added']['lut4']:,}" in shown.finding


def _run(name, total):
    return types.SimpleNamespace(name=name, total=total)


def test_front():
    a, b, c, d, e = (_run(name, total) for name, total in (
        ("a", 100), ("b", 90), ("c", 95), ("d", 50), ("e", 50)))
    found = trade.front([(d, 30), (a, 0), (c, 20), (b, 10), (e, 40)])
    assert [(run.name, area) for run, area in found] == [("a", 0), ("b", 10), ("d", 30)]
    assert trade.front([(b, 0), (a, 0)]) == [(b, 0)]


def test_trade(made):
    runs = runs_of(made.compare)
    shown = trade.block([*runs, *runs_of(made.run)], OVERHEAD)      # a run of other work alone
    (name, drawn), = shown.variants.items()
    assert name == "pagerank on karate, 4 lanes"
    area = next(row["added"]["lut4"] for row in OVERHEAD["rows"]
                if row["lanes"] == 4 and row["unit"] == "Weaver fsm")
    xs, ys = series(drawn, "x"), series(drawn, "y")
    assert (xs["no unit"], ys["no unit"]) == ([0], [runs[0].total])
    assert (xs["Weaver fsm"], ys["Weaver fsm"]) == ([area], [runs[1].total])
    best = min(runs, key=lambda run: run.total)
    assert shown.finding.startswith(f"{best.name} is the fastest of 2 runs with {best.total:,}")
    assert trade.block(runs[:1], OVERHEAD) is None
    assert trade.block(runs).variants.keys() == shown.variants.keys()   # those that are kept


def test_one_label_for_each_unit(made):
    """The fastest run of a unit has its name beside it. Other names would cover each other."""
    value = copy.deepcopy(made.compare)
    _, weaver = value["results"]
    value["results"].append(copy.deepcopy(weaver))
    weaver |= {"plan": f"{weaver['plan']} frontier=bitmap",
               "total_cycles": weaver["total_cycles"] + 1}
    plain, _, fastest = runs = runs_of(value)
    drawn, = trade.block(runs, OVERHEAD).variants.values()
    assert series(drawn, "text") == {"no unit": [plain.name], "Weaver fsm": ["", fastest.name]}


def test_units_of(made):
    plain, weaver = runs_of(made.compare)
    assert trade.units_of(plain) == () and trade.units_of(weaver) == ("Weaver fsm",)
    value = copy.deepcopy(made.compare)
    value["configuration"] |= {"gather": "graphpeg", "scu": 4}
    value["results"][0]["counters"]["scu_operations"] = 1
    plain, weaver = runs_of(value)
    assert trade.units_of(plain) == ("SCU of 4",) and trade.units_of(weaver) == ("GraphPEG",)


def test_unknown_area(made):
    value = copy.deepcopy(made.compare)
    value["configuration"]["threads"] = 2
    assert trade.block(runs_of(value), OVERHEAD) is None
