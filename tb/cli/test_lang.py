"""``graphloom lang``.

======================  ===========================================================================
list                    test_list
show                    test_show, test_after, test_schedule, test_files
errors                  test_refused: one line, exit code 2
======================  ===========================================================================
"""

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
    assert f"Passes: {', '.join(PASSES)}" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def shown(capsys, *arguments):
    assert main(["lang", "show", *arguments]) == 0
    return capsys.readouterr().out


def test_show(capsys):
    text = shown(capsys, "bfs")
    assert text.startswith("Program bfs(source: vertex = 0, {\n")
    assert "#s0# WhileLoop<" in text and "apply_deduplication=true" in text


def test_after(capsys):
    text = shown(capsys, "sssp", "--after", "fixpoint")
    assert "is_fixpoint=true" in text and "start_copies" not in text
    assert "is_fixpoint" not in shown(capsys, "sssp", "--after", "kinds")
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


@pytest.mark.parametrize("arguments, words", [
    (["show"], ["PROGRAM"]), (["show", "sort"], ["'sort'", "bc, bfs", "FILE.py and FILE.gt"]),
    (["show", "bfs", "--after", "magic"], ["--after magic", *PASSES]),
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
