"""``graphloom report``: from results to a folder, and what is refused.

======================  ========================================================
the command             test_report, test_help
producers               test_run_names_its_sources, test_trace_has_its_command
bad input               test_refused, test_missing_extra
======================  ========================================================
"""

import json
import shlex

import pytest

from sw import __version__
from sw.cli.main import main
from sw.study.tune.runs import sources
from tb.cli.test_errors import refused


SMALL = ["karate", "--preset", "tiny", "--schedule", "vm"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*more):
    assert main(["run", "bfs", *SMALL, "--json", "run.json", *more]) == 0
    with open("run.json") as file:
        return json.load(file)


def test_report(folder, capsys):
    _run()
    capsys.readouterr()
    assert main(["report", "run.json", "-o", "report"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out == ("run.json: bfs on karate (run)\n"
                            "report/index.html: 1 page with 5 plots; open it in a browser\n")
    assert "bfs on karate" in (folder / "report" / "index.html").read_text()
    assert main(["report", "run.json", "--output", "report"]) == 0


def test_help(capsys):
    assert main(["report", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "graphloom report bfs.json -o report" in text


def test_run_names_its_sources():
    value = _run()
    assert (value["version"], value["sources"]) == (__version__, sources())


def test_trace_has_its_command(capsys):
    _run("--trace", "trace.json", "--launch-cycles", "7")
    with open("trace.json") as file:
        command = json.load(file)["otherData"]["command"]
    words = shlex.split(command)
    assert words[1:3] == ["run", "karate"] and words[-2:] == ["--launch-cycles", "7"]
    assert main([*words[1:], "--trace", "again.json"]) == 0
    with open("trace.json") as first, open("again.json") as second:
        assert first.read() == second.read()


def test_refused(folder, capsys):
    _run()
    capsys.readouterr()
    (folder / "broken.json").write_text('{"results": [}')
    (folder / "other").mkdir()
    (folder / "other" / "package.json").write_text('{"name": "left-pad"}')
    for arguments, words in (
            (["run.json"], ["--output"]),
            (["-o", "report"], ["RESULTS"]),
            (["missing.json", "-o", "report"], ["missing.json", "No such file"]),
            (["broken.json", "-o", "report"], ["broken.json", "line 1, column 14"]),
            (["other", "-o", "report"], ["other/package.json", "is not a file of results"]),
            (["run.json", "other", "-o", "report"], ["other/package.json"]),
            (["run.json", "-o", "other"], ["-o other", "other files"]),
            (["run.json", "-o", "run.json"], ["-o run.json", "no folder"]),
            (["run.json", "run.json", "-o", "report"], ["run.json", "twice"]),
            (["run.json", "-o", "no/report"], ["there is no folder"])):
        line = refused(capsys, "report", *arguments)
        for word in words:
            assert word in line
        assert not (folder / "report").exists()
    assert sorted(path.name for path in folder.iterdir()) == ["broken.json", "other", "run.json"]


def test_missing_extra(capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "plotly", None)
    assert "graphloom report needs plotly" in refused(capsys, "report", "run.json", "-o", "report")
