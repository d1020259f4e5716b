"""Files that commands write: bad names are refused before anything is done."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from base.errors import UserError
from sw.cli import files
from sw.cli.main import main
from sw.cli.tests import ROOT
from tb.cli.test_errors import refused


GENERATED = "rmat:scale=4,degree=2,seed=1"


@pytest.mark.parametrize("arguments", [
    ["run", "bfs", GENERATED, "--json", "both.npz", "--output", "both.npz"],
    ["run", "bfs", GENERATED, "--json", "link.vcd", "--wave", "both.vcd"],
    ["run", "bfs", GENERATED, "--trace", "hard.json", "--json", "one.json"],
    ["run", "bfs", "graph.el", "--json", "graph.el"],
    ["compare", "bfs", "graph.el", "--json", "graph.el"],
    ["graph", "info", "graph.el", "--json", "./graph.el"],
    ["graph", "formats", "graph.json", "--json", "graph.json"],
    ["graph", "convert", "graph.el", "link.el"],
    ["exec", "one.json", "--json", "hard.json"],
    ["list", "combinations", "--run", "--json", "one.json", "--results", "hard.json"],
    ["campaign", "--json", "new.json", "--results", "new.json"],
    ["bench", "schedules", "graph.el", "--results", "graph.el"],
    ["bench", "cores", "graph.el", "--results", "graph.el"],
    ["bench", "programs", "graph.json", "--json", "graph.json"],
    ["bench", "tune", "graph.el", "--results", "graph.el"],
    ["bench", "tune", "graph.el", "--results", "new.json", "--json", "new.json"],
    ["bench", "units", "graph.el", "--results", "graph.el"],
    ["bench", "units", "graph.el", "--results", "new.json", "--json", "new.json"],
    ["exec", "one.json", "--wave", "new.vcd", "--json", "new.vcd"],
    ["exec", "one.elf", "--dump", "word:1", "new.json", "--json", "new.json"],
    ["exec", "one.elf", "--load", "word", "graph.el", "--dump", "word:1", "link.el"],
    ["run", "bfs", "graph.json", "--vm", "cpu", "--json", "graph.json"],
    ["run", "bfs", GENERATED, "--vm", "cpu", "--json", "both.npz", "--output", "both.npz"],
    ["synth", "board", "--output", "new.bit", "--json", "new.bit"],
    ["tune", "bfs", "graph.json", "--json", "graph.json"],
    ["tune", "bfs", "graph.json", "--vm", "cpu", "--json", "graph.json"],
    ["tune", "bfs", GENERATED, "--from", "one.json", "--results", "hard.json"],
])
def test_one_file_for_two(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    for name in ("graph.el", "one.json", "graph.json"):
        (tmp_path / name).write_text("0 1\n1 0\n")
    os.link("one.json", "hard.json")
    os.symlink("both.vcd", "link.vcd")
    os.symlink("graph.el", "link.el")

    def contents():
        return {path.name: path.exists() and path.read_text() for path in tmp_path.iterdir()}

    before = contents()
    line = refused(capsys, *arguments)
    assert " as well; name another" in line
    assert contents() == before


@pytest.mark.parametrize("command, option", [
    ("cores", "--results"), ("programs", "--json"), ("schedules", "--results"),
    ("tune", "--results"), ("units", "--results")])
def test_an_output_without_an_input(capsys, command, option):
    """A comparison that chooses its graphs itself looks at its outputs first as well."""
    assert "there is no folder no" in refused(capsys, "bench", command, option, "no/such.json")


def test_standard_output_is_an_output(tmp_path, monkeypatch):
    path = str(tmp_path / "file")
    with open(path, "w") as file:
        kept = os.dup(1)
        try:
            os.dup2(file.fileno(), 1)
            with pytest.raises(UserError, match="--json .*is the standard output as well"):
                files.distinct({"--json": path})
            files.distinct({"--json": "/dev/stdout"})             # the user asks for it
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def test_devices_may_be_shared():
    files.distinct({"--json": os.devnull, "--trace": os.devnull, "--output": None})


def test_convert_keeps_mode_and_links(capsys, tmp_path):
    made = tmp_path / "made.el"
    made.write_text("")
    made.chmod(0o640)
    (tmp_path / "link.el").symlink_to("made.el")
    assert main(["graph", "generate", GENERATED, str(tmp_path / "link.el")]) == 0
    assert made.stat().st_mode & 0o777 == 0o640 and made.stat().st_size > 0
    assert (tmp_path / "link.el").is_symlink()


def test_npz_to_a_device(tmp_path):
    """The given name decides the suffix, not the target of the link."""
    (tmp_path / "null.npz").symlink_to(os.devnull)
    assert main(["graph", "generate", GENERATED, str(tmp_path / "null.npz")]) == 0
    assert (tmp_path / "null.npz").is_symlink() and os.path.exists(os.devnull)


def streams(*arguments):
    """What a command writes on standard output, and on standard error."""
    done = subprocess.run([sys.executable, "-m", "sw.cli", *arguments], cwd=ROOT,
                          capture_output=True, timeout=300, check=False)
    return done.stdout, done.stderr.decode()


def test_files_on_the_standard_output():
    """Nothing else goes there then: what else is printed is on standard error."""
    command = ["run", "bfs", "karate", "--vm", "reference"]
    out, err = streams(*command, "--json", "-")
    assert json.loads(out)["program"] == "bfs" and "vertices reached: 34 of 34" in err
    out, err = streams(*command, "--output", "-")
    with np.load(io.BytesIO(out)) as found:
        assert sorted(found) == ["depth", "parent"] and "vertices reached: 34 of 34" in err
    out, err = streams(*command, "--output", "-", "--json", "-")
    assert not out and "--json -: the file is the file of --output as well" in err
    out, err = streams("list", "frontiers", "--json", "-")
    assert "queue" in json.loads(out)["frontiers"] and "frontiers: " in err
