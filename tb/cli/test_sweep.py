"""``graphloom sweep``: the example of the page, options in place of a file, and what is refused.

======================  ========================================================
the example             test_example: its file, tables, pages
options                 test_options
bad input               test_refused: one line, exit code 2, nothing written
======================  ========================================================
"""

import json

from base.installation import ROOT
from sw.cli.main import main
from tb.cli.test_errors import refused

EXAMPLE = ROOT / "examples" / "sweep.toml"


def test_example(tmp_path, monkeypatch, capsys):
    assert EXAMPLE.read_text() in (ROOT / "docs" / "sweep.md").read_text()
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", str(EXAMPLE), "--table", "runs.parquet", "--report", "pages"]) == 0
    captured = capsys.readouterr()
    assert "Speedup of each value" in captured.out
    assert captured.out.endswith("36 runs, in results/sweep\n")
    assert "36/36 " in captured.err and "36/36 " not in captured.out
    assert (tmp_path / "runs.parquet").exists() and (tmp_path / "pages" / "index.html").exists()
    assert main(["sweep", str(EXAMPLE)]) == 0
    assert capsys.readouterr().err == "36 of 36 runs are in the file\n"


def test_options(tmp_path, capsys):
    """Options take the place of a file's axes, and make a sweep alone."""
    path = tmp_path / "some.toml"
    path.write_text('graphs = ["karate"]\nalgorithms = ["bfs"]\nschedules = ["vm", "em"]\n'
                    '[hardware]\npreset = "tiny"\nl1_ways = [1, 2]\n')
    assert main(["sweep", str(path), "--schedules", "vm", "--set", "l1_ways=1", "--dram",
                 "latency=50,100", "--choose", "direction=push", "-o", str(tmp_path / "a")]) == 0
    head, *runs = map(json.loads, (tmp_path / "a" / "runs.jsonl").read_text().splitlines())
    assert head["sweep"] == {
        "graphs": ["karate"], "algorithms": ["bfs"], "schedules": ["vm"], "repeats": 1,
        "plan": {"direction": ["push"]}, "dram": {"latency": [50, 100]},
        "hardware": {"preset": "tiny", "l1_ways": [1]}}
    assert len(runs) == 2
    assert main(["sweep", "--graph", "karate", "--algorithm", "bfs", "--preset", "tiny",
                 "--schedules", "vm,compact", "--choose", "direction=pull", "-o",
                 str(tmp_path / "b")]) == 0
    assert "1 runs, 1 refused, in" in capsys.readouterr().out


def test_refused(tmp_path, capsys):
    path, output = tmp_path / "bad.toml", str(tmp_path / "out")
    path.write_text('graphs = ["karate"]\nalgorithms = ["bfs"]\nrepeets = 3\n')
    assert "bad.toml, line 3: repeets: there is no such key" in refused(
        capsys, "sweep", str(path), "-o", output)
    path.write_text('graphs = ["karate"]\nalgorithms = ["bfs"]\n[[hardware]]\n')
    words = ["sweep", str(path), "-o", output]
    for more, message in ((["--schedules", "vm,up"], "--schedules"), (["--dram", "latency"],
                          "--dram latency: must be FIELD=A,B"),
                          (["--dram", "latency=x"], "--dram latency"),
                          (["--set", "l1_ways=1"], "several tables"),
                          (["--table", str(tmp_path / "x.txt")], "x.txt"),
                          (["--report", str(path)], "no folder")):
        assert message in refused(capsys, *words, *more)
    assert "--graph and --algorithm" in refused(capsys, "sweep", "--graph", "karate")
    assert "nothing.toml" in refused(capsys, "sweep", "nothing.toml")
    assert [each.name for each in tmp_path.iterdir()] == ["bad.toml"]
