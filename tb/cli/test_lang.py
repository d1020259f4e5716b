"""``graphloom lang``.

======================  ===========================================================================
list                    test_list
show                    test_show, test_after, test_schedule, test_files, test_lower
check                   test_check: lines, notes, exit codes and JSON; test_check_runs;
                        test_check_refused
errors                  test_refused: one line, exit code 2
======================  ===========================================================================
"""

import json

import pytest

from base.installation import ROOT
from sw.cli.main import main
from sw.lang import programs
from sw.lang.passes import PASSES
from tb.cli.test_errors import refused


BFS_GT = str(ROOT / "examples" / "lang" / "bfs.gt")


def test_list(capsys):
    assert main(["lang", "list"]) == 0
    text = capsys.readouterr().out
    for name in programs.names():
        assert f"\n  {name} " in text
    assert "parameters: source; results: depth, parent; labels: s0, s0:s1" in text
    assert f"Passes: {', '.join([*PASSES, 'lower'])}" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def shown(capsys, *arguments):
    assert main(["lang", "show", *arguments]) == 0
    return capsys.readouterr().out


def test_show(capsys):
    text = shown(capsys, "bfs")
    assert text.startswith("Program bfs(source: vertex = 0, {\n")
    assert "#s0# WhileLoop<" in text and "apply_deduplication=true" in text


def test_after(capsys):
    text = shown(capsys, "sssp", "--after", "early")
    assert "deferred=" in text and "start_copies" not in text
    assert "deferred" not in shown(capsys, "sssp", "--after", "kinds")
    assert "Assign(k, 0)" in shown(capsys, "kcore", "--after", "text")
    assert "Assign(k, -1)" in shown(capsys, "kcore", "--after", "normal")


def test_schedule(capsys):
    text = shown(capsys, "bfs", "--schedule", "s0=fusion", "--schedule", "s0:s1=etwc,pull:bitmap")
    assert "needs_fusion=true" in text and "load_balance=ETWC" in text
    assert "pull_input_frontier=BITMAP" in text


def test_files(capsys, tmp_path):
    text = shown(capsys, BFS_GT)
    assert "needs_fusion=true" in text and "load_balance=ETWC" in text
    # A schedule of the command line is in place of that of the file.
    text = shown(capsys, BFS_GT, "--schedule", "s0=no_fusion")
    assert "needs_fusion=false" in text and "load_balance=ETWC" in text
    own = (ROOT / "sw" / "lang" / "programs" / "cc.py").read_text()
    path = tmp_path / "own.py"
    path.write_text(own + own.replace("def cc(", "def dd("))
    assert shown(capsys, str(path), "--name", "dd").startswith("Program dd(")


def test_lower(capsys, tmp_path):
    """The kernels and the decisions under a plan: its text, schedules by labels, a file."""
    text = shown(capsys, "bfs", "--after", "lower")
    assert "kernel edges0_vertices_settle from frontier to frontier\n    edge: unvisited\n" in text
    text = shown(capsys, "bfs", "--after", "lower", "--schedule", "s0:s1=edge_only,pull", "--graph",
                 "karate", "--preset", "tiny")
    assert "schedule=em direction=pull" in text and "on karate, hardware tiny" in text
    assert "taken: early exit" not in text and "refused: early exit" in text
    text = shown(capsys, "sssp", "--after", "lower", "--plan", "(delta=3,source=2) schedule=vm")
    assert "plan sssp(delta=3,source=2) schedule=vm" in text and "kernel advance_queue" in text
    own = (ROOT / "sw" / "lang" / "programs" / "kcore.py").read_text()
    path = tmp_path / "own.py"
    path.write_text(own + own.replace("def kcore(", "def other("))
    text = shown(capsys, str(path), "--name", "other", "--after", "lower")
    assert "lowered, not fused" in text
    assert "kernel where_falls_vertices_remove from left to peeled\n" in text


@pytest.mark.parametrize("arguments, words", [
    (["show"], ["PROGRAM"]), (["show", "sort"], ["'sort'", "bc, bfs", "FILE.py and FILE.gt"]),
    (["show", "bfs", "--after", "magic"], ["--after magic", *PASSES]),
    (["show", "bfs", "--plan", "schedule=em"], ["--plan", "--after lower"]),
    (["show", "bfs", "--after", "races", "--graph", "karate"], ["--graph", "--after lower"]),
    (["show", "bfs", "--preset", "tiny"], ["--preset", "--after lower"]),
    (["show", "bfs", "--after", "lower", "--plan", "direction=up"], ["no direction 'up'"]),
    (["show", "sssp", "--after", "lower", "--graph", "karate"], ["weights"]),
    (["show", "bfs", "--after", "lower", "--plan", "direction=auto", "--schedule", "s0:s1=push"],
     ["--schedule", "is a hybrid already"]),
    (["show", "missing.py"], ["missing.py"]), (["show", "missing.gt"], ["missing.gt"]),
    (["show", "bfs", "--name", "bfs"], ["FILE.py", "'bfs'"]),
    (["show", BFS_GT, "--name", "bfs"], ["needs no name"]),
    (["show", "bfs", "--schedule", "s1=etwc"], ["no label 's1'", "s0, s0:s1"]),
    (["show", "bfs", "--schedule", "s0=etwc"], ["bfs.py:", "a loop has kernel fusion"]),
    (["show", "bfs", "--schedule", "s0:s1=lucky"], ["'lucky' is no choice", "etwc"]),
    (["show", "bfs", "--schedule", "fusion"], ["LABEL=SCHEDULE"]),
    (["show", "bfs", "--schedule", "s0=fusion", "--schedule", "s0=no_fusion"], ["two schedules"]),
    (["nonsense"], ["nonsense"])])
def test_refused(capsys, arguments, words):
    line = refused(capsys, "lang", *arguments)
    for word in words:
        assert word in line


def test_several_programs(capsys, tmp_path):
    path = tmp_path / "two.py"
    own = (ROOT / "sw" / "lang" / "programs" / "cc.py").read_text()
    path.write_text(own + own.replace("def cc(", "def dd("))
    assert "several programs (cc, dd)" in refused(capsys, "lang", "show", str(path))
    assert "no program 'ee'" in refused(capsys, "lang", "show", str(path), "--name", "ee")


def test_a_fault_of_the_text(capsys, tmp_path):
    path = tmp_path / "wrong.gt"
    path.write_text("element Vertex end\nelement 3 end\n")
    assert "wrong.gt:2:9: '3' cannot stand here" in refused(capsys, "lang", "show", str(path))


# check

def test_check(capsys, tmp_path):
    (tmp_path / "a.gt").write_text((ROOT / "examples" / "lang" / "pagerank.gt").read_text())
    (tmp_path / "b.gt").write_text("func main()")
    record = tmp_path / "c.json"
    assert main(["lang", "check", str(tmp_path), "--json", str(record)]) == 1
    text = capsys.readouterr().out
    assert "a.gt: read\n" in text and "note: rank, share, total: float and double are fixed" in text
    assert "b.gt:1:12: refused: the text ends here" in text
    assert text.endswith("2 texts: 1 read, 1 refused\n")
    one, two = json.loads(record.read_text())
    assert one["read"] and one["notes"] and not two["read"] and two["place"] == "1:12"
    assert main(["lang", "check", str(tmp_path / "a.gt")]) == 0


def test_check_runs(capsys):
    assert main(["lang", "check", BFS_GT, "--vm", "reference,cpu", "--graph",
                 "road:side=4,seed=1"]) == 0
    text = capsys.readouterr().out
    assert "bfs.gt: read; reference runs; cpu right\n" in text
    assert text.endswith("1 texts: 1 read, 0 refused; reference: 1 runs; cpu: 1 right\n")


@pytest.mark.parametrize("arguments, words", [
    (["none"], "none: must be a folder"), ([BFS_GT, "--vm", "moon"], "moon"),
    ([BFS_GT, "--graph", "karate"], "only --vm runs"),
    ([BFS_GT, "--vm", "cpu", "--graph", "rmat:side=3"], "side")])
def test_check_refused(capsys, arguments, words):
    assert words in refused(capsys, "lang", "check", *arguments)
