"""The fuzzer on a few cases, and its detection of each kind of fault.

==================  ==========================================================================
the corpus          test_corpus: the commands that read a file accept the file
the cases           test_cases: seed and name determine a case; most lines are mutations
detection           test_faults: planted faults of every rule; test_work: where a case ends
the command         test_short: some cases of a fixed seed; test_command: its findings,
                    records and output
==================  ==========================================================================

``./graphloom campaign --fuzz`` runs any number of cases.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from checks.campaign.fuzz import corpus, files, verdict
from checks.campaign.fuzz.cell import REACHED, Folder, Limits, run
from checks.campaign.fuzz.work import Cases, CommandLine, fuzz
from sw.cli.main import app, main
from tb import runner
from tb.seeds import draw


def _app():
    return app


PROGRAM = CommandLine(main, _app)


@pytest.fixture(scope="module")
def cases():
    made = Cases(PROGRAM, 1)
    yield made
    made.folder.close()


def test_corpus(cases):
    for kind, paths in cases.folder.made.items():
        if kind == ".jsonl":
            continue                         # records of no command in particular are refused
        commands = [*map(list, dict.fromkeys(map(tuple, files.commands(kind))))]
        for number, path in enumerate(paths):
            # All commands read the first file of a kind, and one of them each other file.
            for words in commands if number == 0 or runner.whole else [
                    draw(path.name).choice(commands)]:
                case = cases.make("file:0")
                case.file = case.data = None
                case.words = [path.name if word == "FILE" else word for word in words]
                end, fault = cases.run(case)
                assert (end.code, fault) in ((0, None), (REACHED, None)), (case.text, end)


def test_cases(cases):
    def words(names):
        return [cases.make(name).words for name in names]
    names = [f"line:{number}" for number in range(300)]
    assert words(names) == words(names)
    valid = cases._lines.valid
    assert len(valid) > 80 and ["run", "bfs"] in [line[:2] for line in valid]
    assert sum(line not in valid for line in words(names)) > 270
    first, second = cases.make("file:5"), cases.make("file:5")
    assert (first.words, first.data) == (second.words, second.data)
    changed = [cases.make(f"file:{number}") for number in range(200)]
    assert {case.file for case in changed} == {f"fuzz{kind}" for kind in corpus.KINDS}


def _say(text, code):
    print(text, file=sys.stderr)
    return code


def _hang():
    while True:
        pass


def _leave():
    pathlib.Path("half.npz").write_bytes(b"PK")
    return _say("graphloom: error: cannot be written", 2)


def _allocate():
    try:
        bytearray(1 << 32)
    except MemoryError:
        return _say("graphloom: error: not enough memory on this machine", 2)
    return 0


FAULTS = {
    "traceback": (lambda: {}["x"], "traceback: KeyError: 'x'"),
    "hang": (_hang, "hangs"),
    "sleep": (lambda: time.sleep(60), "hangs"),
    "signal": (lambda: os.kill(os.getpid(), signal.SIGKILL), "signal 9"),
    "code": (lambda: _say("graphloom: error: something", 7), "exit code 7"),
    "silence": (lambda: 2, "0 lines that say why"),
    "two lines": (lambda: _say("graphloom: error: one thing\ngraphloom: error: two", 2), "2 lines"),
    "good and bad": (lambda: _say("graphloom: error: something", 0), "exit code 0, but"),
    "control": (lambda: _say("graphloom: error: \x1b[31m is no graph", 2), "'\\x1b'"),
    "long": (lambda: _say("graphloom: error: " + "x" * 5000, 2), "a line of 5018 characters"),
    "memory": (_allocate, "memory"),
    "left": (_leave, "half.npz"),
    "outside": (lambda: pathlib.Path("../outside").write_text(""), "outside of its folder"),
    "device": (lambda: os.replace("graph.el", "/dev/null"), "outside of its folder"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(tmp_path, name):
    action, words = FAULTS[name]
    (tmp_path / "graph.el").write_text("0 1\n")
    end = run(action, tmp_path, Limits(seconds=0.3, memory=1 << 29))
    left = [path.name for path in tmp_path.iterdir() if path.name != "graph.el"]
    assert words in verdict.fault(end, left, small=True)
    assert not (tmp_path.parent / "outside").exists()


def _open_nothing():
    with pytest.raises(FileNotFoundError):
        os.open("../tty-not-there", os.O_RDWR)
    return 0


def test_a_device_that_does_not_exist(tmp_path):
    """To open a device that is not plugged in writes nothing."""
    end = run(_open_nothing, tmp_path)
    assert verdict.fault(end, [], small=True) is None and verdict.outcome(end) == "accepted"


def test_good_ends(tmp_path):
    for action, outcome in ((lambda: 0, "accepted"), (lambda: 1, "checked"),
                            (lambda: _say("graphloom: error: no such file", 2), "refused")):
        end = run(action, tmp_path)
        assert verdict.fault(end, [], small=True) is None and verdict.outcome(end) == outcome


def test_work(tmp_path):
    """A command that would start a program ends there, and the program is not started."""
    end = run(lambda: subprocess.run(["touch", "started"], check=False).returncode, tmp_path)
    assert verdict.outcome(end) == "began work" and not (tmp_path / "started").exists()


def test_folder():
    folder = Folder(lambda path: (path / "a").write_text("1"))
    try:
        assert folder.changes() == []
        (folder.path / "a").write_text("2")
        (folder.path / "b").mkdir()
        assert folder.changes() == ["a", "b"]
        folder.restore()
        assert folder.changes() == [] and (folder.path / "a").read_text() == "1"
        (folder.path / "a").unlink()
        assert folder.changes() == ["a"]
    finally:
        folder.close()


def test_short():
    """Some cases of a fixed seed all obey the rules."""
    found, total, count = [], 0, 50 if runner.whole else 20

    def report(counts, faults):
        nonlocal total
        total += sum(counts.values())
        found.extend(faults)
    fuzz(PROGRAM, 11, [f"line:{number}" for number in range(count)]
         + [f"file:{number}" for number in range(2 * count)], 1, report)
    assert total == 3 * count
    assert [(fault["case"], fault["command"], fault["fault"]) for fault in found] == []


def test_command(capsys, tmp_path, monkeypatch):
    """If every refusal breaks a rule, each is printed with a command that repeats it."""
    keep, figures = tmp_path / "kept", tmp_path / "figures.json"

    def broken(program, seed, names, jobs, report):
        report({"refused": len(names)}, [
            {"case": names[0], "command": "graph info fuzz.el", "fault": "hangs", "stderr": "",
             "file": "fuzz.el", "data": b"0 1\n".hex()}])
    monkeypatch.setattr("checks.campaign.fuzz.work.fuzz", broken)
    assert main(["campaign", "--fuzz", "--seed", "5", "--lines", "0", "--files", "3", "--keep",
                 str(keep), "--json", str(figures)]) == 1
    text = capsys.readouterr().out
    assert "file:0: hangs" in text and "--fuzz --seed 5 --case file:0" in text
    assert (keep / "5-file-0.el").read_bytes() == b"0 1\n"
    assert json.loads(figures.read_text())["counts"] == {"refused": 3}


@pytest.mark.parametrize("words, refusal", [
    (["--case", "line:1"], "--fuzz"), (["--fuzz", "--only", "1"], "--only"),
    (["--fuzz", "--case", "graph:1"], "line:NUMBER"), (["--fuzz", "--case", "file:x"], "file:x"),
    (["--fuzz", "--lines", "0", "--files", "0"], "nothing to run")])
def test_refused(capsys, words, refusal):
    assert main(["campaign", *words]) == 2
    assert refusal in capsys.readouterr().err


def test_seed_is_drawn_and_printed(capsys, monkeypatch):
    monkeypatch.setattr("checks.campaign.fuzz.work.fuzz",
                        lambda program, seed, names, jobs, report: report({"refused": 1}, []))
    printed = set()
    for _ in range(2):
        assert main(["campaign", "--fuzz", "--lines", "1", "--files", "0"]) == 0
        printed.add(capsys.readouterr().out.split("--seed ")[1].split()[0])
    assert len(printed) == 2
