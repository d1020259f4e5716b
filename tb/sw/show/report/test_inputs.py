"""The files that a report takes, and those that it refuses in one line.

======================  ========================================================
kinds                   test_kinds
refused                 test_refused, test_folders, test_twice, test_damaged,
                        test_any_damaged_field
versions                test_sources
======================  ========================================================
"""

import contextlib
import copy
import json
from random import Random

import pytest

from base.errors import UserError
from sw.show.report import build, inputs, trade


def _written(folder, **values):
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value)
        (folder / f"{name}.json").write_text(text)


def test_kinds(made, tmp_path):
    found = inputs.find([str(made.folder), str(trade.KEPT)])
    assert [(source.path.rpartition("/")[2], source.kind) for source in found] == [
        ("compare.json", "runs"), ("run.json", "runs"), ("trace.json", "timeline"),
        ("overhead.json", "overhead")]
    assert found[0].folder == str(made.folder) and found[-1].folder is None
    lines = tmp_path / "lines.txt"
    lines.write_text('{"key": "a [1]", "case": {"graph": "g"}, "cycles": 4}\n' * 2)
    assert inputs.find([str(lines)])[0].kind == "records"


@pytest.mark.parametrize("text, message", [
    ("{", "is not JSON: line 1, column 2: Expecting property name"),
    ("", "is not JSON: line 1, column 1"),
    ("\ud800".encode("utf-8", "surrogatepass"), "is not JSON"),
    (b"\xff\xfe", "is not JSON"),
    ("[" * 100_000, "is not JSON"),
    ("[]", "is not a file of results; a report takes the files of run --json"),
    ('{"name": "left-pad", "version": "1"}', "is not a file of results"),
    ('{"vm": "cpu", "program": "bfs", "wall_seconds": 1}', "is of run --vm"),
    ('{"key": "a", "case": 3}', "line 1 is not a record of reproduce, bench"),
    ('{"key": "study x", "version": 1}', "has version 1 of the results, this program reads"),
])
def test_refused(tmp_path, text, message):
    path = tmp_path / "some.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError) as caught:
        build.pages_of(inputs.find([str(path)]))
    assert str(path) in str(caught.value) and message in str(caught.value)


def test_folders(made, tmp_path):
    with pytest.raises(UserError, match=r"no \.json or \.jsonl"):
        inputs.find([str(tmp_path)])
    (tmp_path / "notes.txt").write_text("Nothing.")
    with pytest.raises(UserError, match=r"no \.json or \.jsonl"):
        inputs.find([str(tmp_path)])
    _written(tmp_path, package={"name": "left-pad"}, run=made.run)
    with pytest.raises(UserError, match="package.json: is not a file of results"):
        inputs.find([str(tmp_path)])
    for missing in ("nothing.json", "nothing.jsonl", "nothing"):
        with pytest.raises(UserError, match=f"/{missing}: "):
            inputs.find([str(tmp_path / missing)])
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(UserError, match="has no record of a run"):
        inputs.find([str(tmp_path / "empty.jsonl")])


def test_twice(made, tmp_path):
    path = str(made.folder / "run.json")
    with pytest.raises(UserError, match="run.json: is named twice$"):
        inputs.find([path, path])
    link = tmp_path / "link.json"
    link.symlink_to(path)
    with pytest.raises(UserError, match="link.json: is named twice, also as .*run.json"):
        inputs.find([path, str(link)])


def _without(value, *names):
    found = copy.deepcopy(value)
    inner = found
    for name in names[:-1]:
        inner = inner[name]
    del inner[names[-1]]
    return found


def test_damaged(made, tmp_path):
    """A field that is missing or has another type is told, whichever it is."""
    wrong = [_without(made.run, *names) for names in (
        ("dram",), ("results", 0, "plan"), ("results", 0, "counters"), ("results", 0, "steps"),
        ("graph", "spec"), ("configuration", "warps"), ("results", 0, "phases"))]
    wrong += [made.run | {"results": 7}, made.run | {"configuration": {"name": "old"}},
              made.trace | {"otherData": 3}]
    for value in wrong:
        _written(tmp_path, damaged=value)
        with pytest.raises(UserError, match="damaged.json: is damaged, or of another version of "
                                            "Graphloom: "):
            build.pages_of(inputs.find([str(tmp_path / "damaged.json")]))


def test_sources(made, tmp_path):
    """Results of different sources stand beside each other, with a note on the first page. Files of
    older versions name no sources: they go together."""
    _written(tmp_path, new=made.run, old=made.compare | {"sources": "0" * 64},
             older=_without(made.run, "sources"), oldest=_without(made.compare, "sources"))
    for names, noted in ((("new", "old"), True), (("new", "older"), True),
                         (("older", "oldest"), False)):
        found = inputs.find([str(tmp_path / f"{name}.json") for name in names])
        notes = build._index(found, []).notes
        assert bool(notes) == noted and all("different sources" in note for note in notes)
    for study in ({}, {"study": None}):
        assert inputs.InputFile("tune.json", "tune", {"trials": [], **study}).sources is None


#: Values that take the place of a field.
_WRONG = (None, -1, 0.5, 10 ** 400, float("nan"), float("inf"), "x", "", True, [], {}, [[[]]],
          {"x": {}}, [None])


def _places(value, path=()):
    """The places of all fields, and of the first item of each list."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield (*path, name)
            yield from _places(each, (*path, name))
    elif isinstance(value, list) and value:
        yield (*path, 0)
        yield from _places(value[0], (*path, 0))


def _damaged(value, random):
    """A copy in which a field that is drawn is missing or wrong."""
    changed = copy.deepcopy(value)
    *way, last = random.choice(list(_places(value)))
    inner = changed
    for step in way:
        inner = inner[step]
    if random.random() < 0.2:
        del inner[last]
    else:
        inner[last] = random.choice(_WRONG)
    return changed


@pytest.mark.parametrize("seed", range(2))
def test_any_damaged_field(made, tmp_path, monkeypatch, seed):
    """Whatever a field is, there is a report or one line, and no folder in that case."""
    random = Random(seed)
    # The text of a plot is made by a library that takes long.
    monkeypatch.setattr(build.folder, "_make", lambda folder, pages, index: [])
    for number in range(50):
        name = random.choice(["compare", "run", "trace"])
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(_damaged(getattr(made, name), random)))
        with contextlib.suppress(UserError):
            build.build([str(path)], str(tmp_path / f"report-{number}"))
