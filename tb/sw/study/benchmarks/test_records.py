"""The file of records: no other record is lost, and a crash costs one line."""

import os

import pytest

from base.errors import UserError
from sw.study.benchmarks.records import RecordsFile


def test_round_trip(tmp_path):
    path = tmp_path / "runs.jsonl"
    kept = RecordsFile(path).keep("one", {"cycles": 5, "list": (1, 2), "key of": None})
    assert kept == {"cycles": 5, "list": [1, 2], "key of": None}
    RecordsFile(path).keep("two", {"cycles": 6})
    assert list(RecordsFile(path).read()) == [("one", kept), ("two", {"cycles": 6})]
    assert path.read_text().splitlines()[1] == '{"key": "two", "cycles": 6}'


def test_none_and_missing(tmp_path):
    assert list(RecordsFile(None).read()) == list(RecordsFile(tmp_path / "none").read()) == []
    assert RecordsFile(None).keep("one", {"cycles": 5}) == {"cycles": 5}


@pytest.mark.parametrize("cut", range(1, 27))
def test_a_line_cut_off(tmp_path, cut):
    """Wherever a crash ends the file, complete lines stay, and the next line is whole."""
    path, records = tmp_path / "runs.jsonl", RecordsFile(tmp_path / "runs.jsonl")
    records.keep("one", {"cycles": 5})
    records.keep("two", {"cycles": 6})
    line = len('{"key": "two", "cycles": 6}\n')
    os.truncate(path, path.stat().st_size - cut)
    left = [("one", {"cycles": 5})] + [("two", {"cycles": 6})] * (cut == 1)
    assert line - 27 == 1 and list(records.read()) == left
    records.keep("three", {"cycles": 7})
    assert list(records.read()) == [*left, ("three", {"cycles": 7})]


@pytest.mark.parametrize("text", [
    "a letter to somebody", "first line\nand more", '{"key": [1]}\n', '{"key": [1]}', "[" * 200_000,
    "[" * 200_000 + "\n", '{"key": "a"' + ', "a": {' * 200_000 + "\n", "[1]\n", "{}\n", "null\n",
    '{"key": "one", "cycles": 5}\nthe end', "\0" * 100, "\xff\xfe\n", '{"name": "else'],
    ids=lambda text: repr(text[:20]))
def test_a_foreign_file_is_refused_and_kept(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=r"notes.txt: line \d is not a record of a run"):
        list(RecordsFile(path).read())
    assert path.read_bytes() == text.encode("latin-1")
    if "\n" not in text:
        with pytest.raises(UserError, match="is not a record of a run"):
            RecordsFile(path).keep("one", {"cycles": 5})
        assert path.read_bytes() == text.encode("latin-1")


def test_no_room(tmp_path, small_files):
    records = RecordsFile(tmp_path / "runs.jsonl")
    records.keep("one", {"text": "x" * 4000})
    with small_files(), pytest.raises(UserError, match="runs.jsonl: cannot be .*File too large"):
        records.keep("two", {"text": "x" * 8000})
    assert [key for key, _ in records.read()] == ["one"]
    records.keep("three", {})
    assert [key for key, _ in records.read()] == ["one", "three"]
    assert (tmp_path / "runs.jsonl").read_bytes().count(b"\n") == 2


def test_not_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", os.devnull, tmp_path):
        with pytest.raises(UserError, match="must be a regular file"):
            list(RecordsFile(path).read())
