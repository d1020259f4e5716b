"""Tests of commands that simulate, on the smallest preset."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from hw.config import preset
from hw.isa import PHASES
from sw.cli.main import main
from sw.cli.tests import ROOT
from sw.compile import schedules
from sw.graph.load import load
from tb.sw.searches import bfs


SMALL = ["--preset", "tiny"]


def test_run(capsys, tmp_path):
    """Outputs equal golden's, in files too. The same command gives the same bytes."""
    reports, texts = [], []
    for number, words in ((1, []), (2, ["--counters"])):
        report, arrays = tmp_path / f"{number}.json", tmp_path / f"{number}.npz"
        assert main(["run", "bfs", "karate", "--source", "5", *SMALL, "--json", str(report),
                     "--output", str(arrays), *words]) == 0
        reports.append(json.loads(report.read_text()))
        texts.append(capsys.readouterr().out)
    text, with_counters = texts
    # Without the option the same is printed, but for the tables of counters and phases.
    assert set(text.splitlines()) < set(with_counters.splitlines())
    for title in ("counter", "phase"):
        assert not re.search(f"(?m)^{title} ", text)
    for name, value in reports[1]["results"][0]["counters"].items():
        assert re.search(rf"(?m)^{name} +{value:,} ", with_counters), name
    for name in PHASES:
        assert re.search(rf"(?m)^{name} +[\d.]+ %", with_counters), name
    for words in ("cycles", "mean active lanes, of 4", "Weaver", "L1 hit rate",
                  "lines per access", "vertices reached", "34 of 34",
                  "bit-identical to the interpreter of its text; by the edges: right"):
        assert words in text
    for report in reports:
        assert report.pop("wall_seconds") > 0
    assert reports[0] == reports[1]
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()
    depth, parent = bfs(load("karate"), 5)
    with np.load(tmp_path / "1.npz") as got:
        assert sorted(got) == ["depth", "parent"]
        assert (got["depth"] == depth).all() and (got["parent"] == parent).all()
    result, = reports[0]["results"]
    assert result["verified"] and result["checked"] == "by the edges"
    assert result["parameters"]["source"] == 5 and result["starts"] == {"source": 5}
    assert result["reached"] == 34 and not result["notes"]
    assert reports[0]["configuration"]["name"] == "tiny"


def test_frontiers(tmp_path):
    """The record names the requested frontier. The result does not depend on the frontier."""
    checksums = set()
    for options, frontier, deduplicated in (
            ([], "queue", True), (["--no-dedup"], "queue", False),
            (["--frontier", "bitmap"], "bitmap", False),
            (["--frontier", "counter", "--dedup"], "counter", True),
            (["--delta", "auto"], "queue", True), (["--delta", "20"], "queue", True)):
        report = tmp_path / "run.json"
        assert main(["run", "sssp", "karate", "--weights", "50", *SMALL, *options, "--json",
                     str(report)]) == 0
        result, = json.loads(report.read_text())["results"]
        assert (result["frontier"], result["deduplicated"]) == (frontier, deduplicated)
        assert (result["parameters"]["delta"] is not None) == ("--delta" in options)
        assert (result["launches"] > result["supersteps"]) == (options[-1:] == ["20"])
        checksums.add(result["checksum"])
    assert len(checksums) == 1


def test_gcn(capsys, tmp_path):
    """Features and weights from a file; the arrays that a run writes are those of numpy."""
    features, weight = np.eye(34)[:, :30] * 3, np.arange(90).reshape(30, 3) - 40
    path, arrays = tmp_path / "features.npz", tmp_path / "out.npz"
    np.savez(path, indptr=np.minimum(np.arange(35), 30), indices=np.arange(30),
             data=np.full(30, 3.0), shape=(34, 30), weight=weight)
    assert main(["run", "gcn", "karate", "--features", str(path), *SMALL, "--schedule",
                 "vm:parallel=weights", "--output", str(arrays)]) == 0
    assert "product, output: bit-identical" in capsys.readouterr().out
    graph = load("karate")
    with np.load(arrays) as got:
        assert sorted(got) == ["fraction_bits", "output", "output_float", "product"]
        unit = 2.0 ** -got["fraction_bits"]
        assert np.array_equal(got["product"] * unit, features @ weight) and unit < 1e-5
        real = np.zeros((34, 3))
        np.add.at(real, graph.dst, (features @ weight)[graph.src] / np.sqrt(
            graph.out_degrees[graph.src] * graph.in_degrees[graph.dst])[:, None])
        assert (abs(got["output_float"] - real) <= 2 * unit * graph.in_degrees[:, None]).all()
    before = path.read_bytes()
    assert main(["run", "gcn", "karate", "--features", str(path), "--output", str(path)]) == 2
    assert "is an input as well" in capsys.readouterr().err and path.read_bytes() == before


def test_compare(capsys, tmp_path):
    """By default, the best in software and each kind of unit, on its hardware; the fastest is the
    first row, and speedups are over the fastest in software."""
    report = tmp_path / "compare.json"
    assert main(["compare", "pagerank", "karate", "--iterations", "2", *SMALL, "--json",
                 str(report), "--details"]) == 0
    text = capsys.readouterr().out
    found = json.loads(report.read_text())
    results = found["results"]
    expected = schedules.compared(preset("tiny"))
    assert [(result["schedule"], result.get("configuration", {}).get("gather", "fsm"))
            for result in results] == [(name, config.gather) for name, config in expected]
    assert len({result["checksum"] for result in results}) == 1 and "skipped" not in found
    assert f"All {len(results)} results are bit-identical" in text
    best = min((result for result in results if schedules.in_software(result["schedule"])),
               key=lambda result: result["total_cycles"])
    head, _, *lines = text.splitlines()[1:]
    assert f"over {best['schedule']}" in head and f"speedup over {best['schedule']}" in text
    rows = [line.split("  ")[0] for line in lines[:len(results)]]
    cycles = sorted(f"{result['total_cycles']:,}" for result in results)
    assert {"weaver (fsm)", "weaver (stream)", "weaver (eghw)", "graphpeg", "vm"} <= set(rows)
    assert sorted(f for line in lines[:len(results)] for f in line.split() if f in cycles) == cycles
    assert "graphpeg with gather = 'graphpeg'; " in text and "scu-stream with scu = 1" in text


def test_compare_leaves_out(capsys, tmp_path):
    """Without ``--schedules``, schedules that the hardware or the format refuses are left out. A
    schedule that is named is refused, and so is a plan that no schedule can run."""
    report = tmp_path / "compare.json"
    arguments = ["compare", "bfs", "karate", *SMALL, "--set", "gather=none"]
    assert main([*arguments, "--json", str(report)]) == 0
    text = capsys.readouterr().out
    found = json.loads(report.read_text())
    assert list(found["skipped"]) == ["graphpeg", "weaver"]
    assert all(f"{name} is left out" in text for name in found["skipped"])
    assert f"All {len(found['results'])} results" in text and len(found["results"]) == 7
    assert main([*arguments, "--schedules", "vm,weaver"]) == 2
    assert main(["compare", "pagerank", "karate", *SMALL, "--format", "g-shards"]) == 0
    text = capsys.readouterr().out
    assert "vm is left out" in text and "All 1 results" in text
    assert main(["compare", "pagerank", "karate", *SMALL, "--frontier", "queue"]) == 2
    error = capsys.readouterr().err
    assert "pagerank has no choice of frontier" in error and error.count("\n") == 1


def test_compare_builds_the_unit_that_a_schedule_needs(capsys, tmp_path):
    """GraphPEG and the Weaver each run on their hardware, which is the same otherwise. Speedups
    are over the first that is named."""
    report = tmp_path / "compare.json"
    arguments = ["compare", "bfs", "karate", *SMALL, "--schedules", "graphpeg,weaver,vm"]
    assert main([*arguments, "--set", "gather=stream", "--json", str(report), "--details"]) == 0
    text = capsys.readouterr().out
    assert "all else is the same: graphpeg with gather = 'graphpeg'\n" in text
    assert "over graphpeg" in text
    rows = {line.split("  ")[0].strip(): line.split()[-3:] for line in text.splitlines()}
    assert rows["unit that hands out edges"] == ["graphpeg", "stream", "stream"]
    assert rows["LUT4 of the unit"][1] == rows["LUT4 of the unit"][2] == "1,621"
    found = json.loads(report.read_text())
    assert found["configuration"]["gather"] == "stream"
    assert [result.get("configuration") for result in found["results"]] == [
        {"gather": "graphpeg", "name": "tiny*+graphpeg"}, None, None]
    assert len({result["checksum"] for result in found["results"]}) == 1


def test_compare_without_a_named_unit(capsys, tmp_path):
    """The preset's unit stays that of the schedules without a unit of their own."""
    report = tmp_path / "compare.json"
    assert main(["compare", "bfs", "karate", *SMALL, "--schedules", "graphpeg,vm", "--json",
                 str(report)]) == 0
    found = json.loads(report.read_text())
    assert found["configuration"]["gather"] == "fsm"
    assert [result.get("configuration", {}).get("gather") for result in found["results"]] == [
        "graphpeg", None]


def test_cycle_limit_keeps_the_counters(capsys, tmp_path):
    report = tmp_path / "limit.json"
    assert main(["compare", "bfs", "karate", "--schedules", "vm,weaver", *SMALL, "--max-cycles",
                 "2000", "--json", str(report)]) == 2
    error = capsys.readouterr().err
    assert "2000 cycles" in error and len(error.splitlines()) == 1
    failure = json.loads(report.read_text())["failure"]
    assert failure["schedule"] == "vm" and 0 < failure["counters"]["instructions"] <= 2000


def test_wave(tmp_path):
    """In a wave, the names of the Weaver's states are text."""
    wave = tmp_path / "run.vcd"
    assert main(["run", "bfs", "rmat:scale=3,degree=2,seed=1", *SMALL, "--wave", str(wave)]) == 0
    text = wave.read_text()
    code, = {found[1] for found in re.finditer(
        r"\$var \w+ +\d+ (\S+) fsm_state_text(?: \[\d+:0\])? \$end", text)}
    values = {int(value, 2) for value in re.findall(rf"(?m)^b([01]+) {re.escape(code)}$", text)}
    names = {value.to_bytes(-(-value.bit_length() // 8), "big").decode() for value in values}
    assert {"S0_INIT", "S1_LOAD_FIRST", "S2_DECODE", "S3_FETCH", "S5_OUTPUT"} <= names
    assert all(re.fullmatch(r"S[0-8]_[A-Z_]+", name) for name in names)


def test_trace(capsys, tmp_path):
    """A trace does not change the run. The trace's window and form are as requested."""
    plain, text, timeline = (tmp_path / name for name in ("plain.json", "run.txt", "run.json"))
    run = ["run", "bfs", "karate", *SMALL]
    assert main([*run, "--json", str(plain)]) == 0
    output = capsys.readouterr().out
    assert main([*run, "--trace", str(text), "--trace-cycles", "1000:9000"]) == 0
    assert capsys.readouterr().out == output
    cycles = [int(line.split()[0]) for line in text.read_text().splitlines()
              if re.match(r" +\d", line)]
    assert 1000 <= min(cycles) and 8000 < max(cycles) < 9000
    result, = json.loads(plain.read_text())["results"]
    assert text.read_text().count("launch ") == 2 * result["launches"]
    assert main([*run, "--trace", str(timeline)]) == 0
    events = json.loads(timeline.read_text())["traceEvents"]
    launch, = (event for event in events if event.get("cat") == "launch")
    assert launch["ts"] == 0 and launch["dur"] < 9000


def test_trace_of_a_run_that_fails(capsys, tmp_path):
    path = tmp_path / "run.txt"
    assert main(["run", "bfs", "karate", *SMALL, "--max-cycles", "500", "--trace", str(path)]) == 2
    assert "500 cycles" in capsys.readouterr().err
    last = int(re.search(r"warp 0: \d+ instructions in cycles 0 to (\d+)", path.read_text())[1])
    assert 400 <= last < 500


def _wait_for_simulation(process):
    """Wait until a process has loaded the simulator, if the system shows this."""
    maps = pathlib.Path(f"/proc/{process.pid}/maps")
    end = time.monotonic() + 300
    while time.monotonic() < end and process.poll() is None:
        if not maps.exists() or "gpu.so" in maps.read_text():
            break
        time.sleep(0.1)
    time.sleep(2)


def test_interrupt(tmp_path):
    report = tmp_path / "run.json"
    assert main(["run", "bfs", "karate", *SMALL]) == 0        # builds the simulator
    process = subprocess.Popen(
        [sys.executable, "-m", "sw.cli", "run", "pagerank", "rmat:scale=12,degree=8,seed=1",
         "--iterations", "1000", *SMALL, "--json", str(report)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        _wait_for_simulation(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "graphloom: interrupted" and "Traceback" not in err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("unit, module", [("l2-bank", "graphloom_l2_bank"), ("scu", "mine")])
def test_verilog(capsys, tmp_path, unit, module):
    path, page, ports = (tmp_path / name for name in ("unit.v", "unit.md", "unit.json"))
    named = ["--name", "mine", "--svd", str(tmp_path / "unit.svd")] if unit == "scu" else []
    assert main(["verilog", unit, *SMALL, "--set", "scu=1", "-o", str(path), "--page", str(page),
                 "--json", str(ports), *named]) == 0
    text = path.read_text()
    assert f"module {module}(" in text and f"# {module}\n" in page.read_text()
    assert json.loads(ports.read_text())["module"] == module
    assert (tmp_path / "unit.svd").exists() is (unit == "scu")
    assert str(ROOT) not in text and "site-packages" not in text
