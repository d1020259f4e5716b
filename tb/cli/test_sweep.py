"""``graphloom sweep``: the example of the page, options in place of a file, and what is refused.

======================  ========================================================
the example             test_example: its file, tables, pages
options                 test_options, test_records
bad input               test_refused: one line, exit code 2, nothing written
======================  ========================================================
"""

import json

import pytest

from base.errors import UserError
from base.installation import ROOT
from sw.cli import sweep
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


NOTHING = dict.fromkeys(each.name for each in sweep._OPTIONS)


@pytest.mark.parametrize("given, record, places", [
    ({"graphs": ["karate"], "algorithms": ["bfs", "cc"], "repeats": 3, "max_cycles": 9,
      "launch_cycles": 0, "schedules": "vm, em", "weights": 7, "undirected": True},
     {"graphs": ["karate"], "algorithms": ["bfs", "cc"], "repeats": 3, "max_cycles": 9,
      "launch_cycles": 0, "schedules": ["vm", "em"], "graph": {"weights": 7, "undirected": True}},
     {("graphs",): "--graph", ("algorithms", 1): "--algorithm", ("launch_cycles",):
      "--launch-cycles", ("graph", "weights"): "--weights weights",
      ("schedules", 0): "--schedules", ("other",): ""}),
    ({"graphs": ["karate"], "algorithms": ["bfs"], "preset": "tiny,default",
      "set_": ["warps = 2, 0x4", "float=true,false", "gather=fsm"], "dram": ["latency=5"],
      "choose": ["direction=pull,push", "split=static"], "undirected": False, "repeats": None},
     {"graphs": ["karate"], "algorithms": ["bfs"],
      "hardware": {"preset": ["tiny", "default"], "warps": [2, 4], "float": [True, False],
                   "gather": ["fsm"]}, "dram": {"latency": [5]},
      "plan": {"direction": ["pull", "push"], "split": ["static"]}},
     {("hardware", "warps", 1): "--set warps[1]", ("hardware", "preset"): "--preset preset",
      ("plan", "split"): "--choose split", ("dram", "latency"): "--dram latency",
      ("hardware",): ""})])
def test_records(given, record, places):
    """The record of options alone, and the option that each place came from."""
    found, place = sweep._record(None, NOTHING | given)
    assert found == record
    assert {path: place(path) for path in places} == places


def test_records_of_files(tmp_path):
    path = tmp_path / "some.toml"
    path.write_text('graphs = ["karate"]\nrepeats = 2\n[graph]\nweights = 3\nsimplify = true\n'
                    '[hardware]\nwarps = 2\n')
    found, place = sweep._record(str(path), NOTHING | {"weights": 9, "set_": ["cores=1"],
                                                      "algorithms": ["bfs"]})
    assert found == {"graphs": ["karate"], "repeats": 2, "algorithms": ["bfs"],
                     "graph": {"weights": 9, "simplify": True},
                     "hardware": {"warps": 2, "cores": [1]}}
    assert place(("graph", "weights")) == "--weights weights"
    assert place(("graph", "simplify")) == f"{path}, line 5: graph.simplify"
    assert place(("repeats",)) == f"{path}, line 2: repeats"
    for given, words in (({"set_": ["warps"]}, "--set warps: must be FIELD=A,B"),
                         ({"set_": ["warps=1", "warps = 2"]}, "--set warps = 2: warps is given "
                          "twice"), ({"dram": ["latency="]}, "--dram latency: name at least one"),
                         ({"schedules": "vm,vm"}, "--schedules vm,vm: vm is given twice")):
        with pytest.raises(UserError) as caught:
            sweep._record(str(path), NOTHING | given)
        assert words in str(caught.value)
    for given in ({"graphs": ["karate"]}, {"algorithms": ["bfs"]}, {}):
        with pytest.raises(UserError, match="give FILE.toml, or --graph and --algorithm"):
            sweep._record(None, NOTHING | given)
