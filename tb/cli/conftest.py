"""Fixtures of the tests of commands."""

import json
import re

import pytest

from sw.cli.main import main
from tb import expected


#: Lines on standard error that are expected as they are.
_SAID = 6

#: Counts of plans that are left to the planner.
_SPACE = r"[0-9,]+ (plans equal to another|refused)"

#: Fields of files that are other with each run or version.
_VARYING = ("wall_seconds", "version", "versions", "sources", "lowering", "checksum",
            "memory_bytes", "digest", "merged", "refused")


@pytest.fixture
def clock(monkeypatch):
    """A clock that is 6.4 seconds later each time."""
    times = iter(6.4 * turn for turn in range(10_000))
    monkeypatch.setattr("time.perf_counter", lambda: next(times))


@pytest.fixture
def shows(capsys, tmp_path, monkeypatch):
    """A function that runs a command in a folder of its own, and compares what it prints, its exit
    code and the files that it writes with a text of a file."""
    monkeypatch.chdir(tmp_path)

    def run(path, name, *words):
        before = {made: made.read_bytes() for made in _made(tmp_path)}
        code = main([*words])
        shown = capsys.readouterr()
        said = shown.err.replace(str(tmp_path), "FOLDER").splitlines()
        lines = [f"$ {' '.join(words)}", re.sub(_SPACE, r"N \1", shown.out), *said[:_SAID],
                 *[f"{len(said)} lines: {expected.digest(said)}"] * (len(said) > _SAID),
                 f"exit code {code}"]
        for made in _made(tmp_path):
            if made.read_bytes() == before.get(made):
                continue
            if ".json" in made.name:
                lines += _fields(made, tmp_path)
            elif made.suffix in (".csv", ".md"):
                lines.append(f"{made.name}: {expected.digest(made.read_text())}")
        expected.check(path, name, "\n".join(lines).replace(str(tmp_path), "FOLDER"))
    return run


def _made(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _fields(path, folder):
    """The fields of a file of JSON, or of its lines, as digests."""
    text = path.read_text().replace(str(folder), "FOLDER")
    for place, line in enumerate([text] if path.suffix == ".json" else text.splitlines(), 1):
        value = _without(json.loads(line))
        if path.suffix == ".json":
            yield from (f"{path.name}, {field}: {expected.digest(each)}"
                        for field, each in value.items())
        elif "key" not in value:
            yield f"{path.name}, line {place}: {expected.digest(value)}"


def _without(value):
    if isinstance(value, dict):
        return {name: _without(each) for name, each in value.items() if name not in _VARYING}
    return [_without(each) for each in value] if isinstance(value, list) else value
