"""The table of resources: its failures, the changes of an update, and its completeness."""

import dataclasses

import pytest

from hw.config import PRESETS
from synth import budgets
from synth.budgets import UnitBudget
from synth.devices import Area
from synth.logic import BLOCK, DISTRIBUTED, FLIP_FLOPS, REMOVED, Logic
from synth.units import UNITS


AREA = Area(logic=500, carry=50, lut_ram=50, ff=200, block_ram=20, dsp=0, lut4=1000)
BUDGET = UnitBudget("weaver/tiny", True, {"lut4": 1000, "ff": 200, "block_ram": 20, "dsp": 0},
                    {"one": BLOCK, "two": DISTRIBUTED})


def grown(**changes):
    return dataclasses.replace(AREA, **changes)


def test_growth():
    assert BUDGET.exceeded_by(AREA) == BUDGET.undercut_by(AREA) == []
    assert BUDGET.exceeded_by(grown(lut4=1050, ff=210, block_ram=21)) == []
    assert BUDGET.exceeded_by(grown(lut4=1051)) == [
        "weaver/tiny takes 1,051 LUT4, its budget is 1,000"]
    assert len(BUDGET.exceeded_by(grown(lut4=2000, ff=300, block_ram=22, dsp=1))) == 4


def test_shrinking():
    assert BUDGET.exceeded_by(grown(lut4=100)) == []
    assert BUDGET.undercut_by(grown(lut4=100)) == [
        "weaver/tiny takes 100 LUT4 only, its budget is 1,000"]


def test_memories():
    assert BUDGET.unlisted(BUDGET.memories) == BUDGET.unintended(BUDGET.memories) == []
    there = {"one": FLIP_FLOPS, "three": DISTRIBUTED}
    assert BUDGET.unlisted(there) == [
        "weaver/tiny: memory three is not in the table; it is made of distributed",
        "weaver/tiny: there is no memory two any more"]
    assert BUDGET.unintended(there) == [
        "weaver/tiny: memory one is made of flip-flops, not of block"]
    assert BUDGET.unintended({"one": REMOVED}) == [
        "weaver/tiny: memory one is removed, not of block"]


def logic(tmp_path, cells, memories):
    return Logic("weaver", budgets.DEVICE, cells, memories, 1.0, tmp_path)


def test_update(tmp_path):
    """An update changes numbers and the list of memories, never the intended kind of a listed
    memory."""
    measured = logic(tmp_path, {"LUT4": 2000, "TRELLIS_FF": 10},
                     {"one": FLIP_FLOPS, "three": DISTRIBUTED})
    new = BUDGET.updated(measured)
    assert new.area == {"lut4": 2000, "ff": 10, "block_ram": 0, "dsp": 0}
    assert new.memories == {"one": BLOCK, "three": DISTRIBUTED}
    assert new.unintended(measured.memories)
    path = tmp_path / "budgets.toml"
    other = dataclasses.replace(BUDGET, name="core/tiny", quick=False)
    budgets.write([new, other], path)
    assert budgets.load(path) == [new, other]


@pytest.mark.parametrize("budget", budgets.load(), ids=lambda budget: budget.name)
def test_table(budget):
    """The table has known units and presets, every resource, and legal kinds of memory only."""
    unit, config = budget.name.split("/")
    assert unit in UNITS and config in PRESETS
    assert set(budget.area) == set(budgets.RESOURCES) and budget.area["lut4"] > 0
    assert set(budget.memories.values()) <= {BLOCK, DISTRIBUTED, FLIP_FLOPS}


def test_quick_ones():
    assert [budget.name for budget in budgets.load() if budget.quick] == [
        "weaver/fpga", "scu-1/fpga", "core/tiny"]


def test_memory_intentions():
    """All memories of the Weaver are of their intended kinds, and none is missing. ``./graphloom
    synth budgets`` checks the other units, which takes minutes."""
    budget = next(budget for budget in budgets.load() if budget.name == "weaver/fpga")
    found = budget.measure()
    assert budget.unintended(found.memories) == budget.unlisted(found.memories) == []
