"""``graphloom synth``: its output, its exit codes, and its refusals."""

import json
import re

import pytest

from hw.gather.variants import VARIANTS
from sim.toolchain import ToolError
from sw.cli.main import main
from synth import budgets
from synth.logic import FLIP_FLOPS


def refused(capsys, *arguments):
    assert main(["synth", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("graphloom: error: "), captured.err
    return lines[0]


@pytest.mark.parametrize("arguments, words", [
    (["toaster"], ["toaster", "weaver", "scu-1", "gpu"]),
    (["weaver", "--device", "asic"], ["asic", "ecp5-85k", "ice40-hx8k"]),
    (["weaver", "--seeds", "one"], ["--seeds one", "1,2,4"]),
    (["weaver", "--seeds", "0"], ["--seeds", "0", "from 1 to"]),
    (["weaver", "--set", "gather=none"], ["gather = 'none'"]),
    (["weaver", "--set", "threads=3"], ["threads", "3"]),
    (["weaver", "--preset", "huge"], ["huge", "fpga"]),
    (["weaver", "--frequency", "0"], ["--frequency", "0"]),
    (["weaver", "--jobs", "0"], ["--jobs", "0"]),
    (["weaver", "--json", "a.txt"], ["a.txt", ".json"]),
    (["weaver", "--json", "missing/a.json"], ["missing"]),
    (["weaver", "--logs", "missing"], ["--logs missing"]),
    (["overhead", "--lanes", "3"], ["threads = 3"]),
    (["overhead", "--lanes", "x"], ["--lanes x"]),
    (["overhead", "--unit", "tree"], ["--unit tree", "fsm", "scu-4"]),
    (["overhead", "--device", "asic"], ["asic"]),
])
def test_refused(capsys, arguments, words):
    line = refused(capsys, *arguments)
    for word in words:
        assert word in line


def test_missing_tool(capsys, monkeypatch):
    def find(name):
        raise ToolError(f"no {name}: there is none on PATH")
    monkeypatch.setattr("synth.tools.find", find)
    assert main(["synth", "weaver", "--preset", "tiny"]) == 2
    assert "no yosys" in capsys.readouterr().err


def test_unit(capsys, tmp_path):
    results = tmp_path / "weaver.json"
    assert main(["synth", "weaver", "--preset", "tiny", "--seeds", "1", "--json",
                 str(results), "--logs", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    record = json.loads(results.read_text())
    assert f"{record['area']['lut4']:,}" in text
    assert "table.store.st_entries   distributed" in text
    assert f"median {record['frequency']['median']:.1f} MHz" in text
    # Paths have our names. This path begins at a register of the Weaver.
    begins = record["placements"][0]["path"][0]
    assert begins["kind"] == "clk-to-q"
    assert "critical path with seed 1" in text
    assert re.search(rf"clk-to-q +{re.escape(begins['signal'].removeprefix('unit.'))}", text)
    assert "estimate, not placed" in text
    assert (tmp_path / "yosys.log").stat().st_size and (tmp_path / "nextpnr-1.log").exists()


def test_no_place(capsys):
    assert main(["synth", "--no-place", "weaver", "--preset", "tiny", "--device",
                 "ice40-hx8k"]) == 0
    text = capsys.readouterr().out
    assert "of" in text and "7,680" in text and "placed" not in text


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table of the tiny Weaver alone, and a function that changes it."""
    path = tmp_path / "budgets.toml"
    monkeypatch.setattr(budgets, "PATH", path)
    monkeypatch.setattr(budgets.load, "__defaults__", (path,))
    monkeypatch.setattr(budgets.write, "__defaults__", (path,))
    budgets.write([budgets.UnitBudget("weaver/tiny", True, {}, {})], path)
    return path


def test_budgets(capsys, table):
    assert main(["synth", "budgets"]) == 1
    text = capsys.readouterr().out
    assert "new" in text and "memory table.store.st_entries is not in the table" in text
    assert main(["synth", "budgets", "--update"]) == 0
    assert main(["synth", "budgets", "--quick"]) == 0
    capsys.readouterr()

    old, = budgets.load(table)
    smaller = {**old.area, "lut4": old.area["lut4"] * 9 // 10}
    budgets.write([budgets.UnitBudget(old.name, True, smaller, old.memories)], table)
    assert main(["synth", "budgets"]) == 1
    assert "takes" in capsys.readouterr().out
    larger = {**old.area, "lut4": old.area["lut4"] * 2}
    budgets.write([budgets.UnitBudget(old.name, True, larger, old.memories)], table)
    assert main(["synth", "budgets"]) == 0
    assert "--update to keep the smaller area" in capsys.readouterr().out

    meant = {**old.memories, "table.store.st_entries": FLIP_FLOPS}
    budgets.write([budgets.UnitBudget(old.name, True, old.area, meant)], table)
    for arguments in ([], ["--update"]):
        assert main(["synth", "budgets", *arguments]) == 1
        assert "table.store.st_entries is made of distributed, not of flip-flops" \
            in capsys.readouterr().out


def test_overhead(capsys, tmp_path, monkeypatch):
    """The overhead of units in a core and beside it; small components stand in for both."""
    import dataclasses

    from synth import overhead, units
    small = {
        "core": lambda config, _: units.UNITS["weaver"].build(config.replace(
            gather="fsm", warps=1 if config.gather == "none" else 8)),
        "uncore": lambda config, _: units.UNITS["weaver"].build(config.replace(
            warps=1 << config.scu // 2)),
    }
    monkeypatch.setattr(overhead, "UNITS", {
        name: dataclasses.replace(units.UNITS[name], make=make)
        for name, make in small.items()})
    results = tmp_path / "overhead.json"
    assert main(["synth", "overhead", "--preset", "tiny", "--lanes", "1", "--jobs", "1",
                 "--json", str(results)]) == 0
    text = capsys.readouterr().out
    assert "logic synthesis only" in text and "Weaver fsm in core" in text and "SCU of 4" in text
    rows = json.loads(results.read_text())["rows"]
    weavers = [overhead.UNIT_NAMES[unit] for unit in VARIANTS]
    assert [(row["lanes"], row["unit"]) for row in rows] == [
        (1, unit) for unit in (*weavers, "SCU of 1", "SCU of 4")]
    assert all(row["added"]["ff"] >= 0 and row["without"]["ff"] > 0 for row in rows)
    # Other rows of a file that was made alike stay; those measured again are replaced.
    rows[0]["added"]["ff"], rows[-1]["added"]["ff"] = -1, -2
    kept = json.loads(results.read_text()) | {"rows": rows}
    results.write_text(json.dumps(kept))
    command = ["synth", "overhead", "--preset", "tiny", "--lanes", "1", "--jobs", "1",
               "--json", str(results)]
    assert main([*command, "--unit", next(iter(VARIANTS))]) == 0
    again = json.loads(results.read_text())["rows"]
    assert len(again) == len(rows) and again[0]["added"]["ff"] >= 0
    assert again[-1] == rows[-1]
    results.write_text(json.dumps(kept | {"yosys": "older"}))
    assert main([*command, "--unit", next(iter(VARIANTS))]) == 0
    assert len(json.loads(results.read_text())["rows"]) == 1


@pytest.mark.parametrize("words", [["verilog"], ["synth", "weaver"]])
def test_every_unit_is_in_the_help(capsys, words):
    from hw.units import UNITS as alone
    from synth.units import UNITS as parts
    assert main([*words, "--help"]) == 0
    named = set(re.findall(r"[\w-]+", capsys.readouterr().out))
    assert named.issuperset(alone if words == ["verilog"] else parts)
