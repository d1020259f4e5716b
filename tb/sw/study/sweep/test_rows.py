"""Rows of sweeps: speedups by hand, tables that fit, frames and files.

======================  ========================================================
speedups                test_speedups
tables                  test_table: 80 columns, no number is cut; test_names
frames and files        test_frame, test_files
======================  ========================================================
"""

import csv
import sys

import pytest

from base.errors import UserError
from sw.study.sweep.rows import SweepResult, rows_of, speedups

_COLUMNS = ["graph", "algorithm", "schedule", "l1_bytes", "seed"]


def _said(schedule, l1_bytes, graph="karate"):
    return {"graph": graph, "algorithm": "bfs", "schedule": schedule, "l1_bytes": l1_bytes,
            "seed": None}


def _result():
    runs = [(_said(schedule, size), {"cycles": cycles - 1, "total_cycles": cycles,
                                     "counters": {"cycles": 7, "lanes": 3}})
            for schedule, size, cycles in (("vm", 512, 12_000_000), ("vm", 1024, 6_000_000),
                                           ("em", 512, 4_000_000), ("em", 1024, 3_000_000))]
    runs.append((_said("compact", 512), {"refused": "it has only push, and so on and so on"}))
    runs.append((_said("vm", 512, "rmat:scale=16,degree=16,undirected=yes,simplify=yes,a=0.57"),
                 {"cycles": 1_234_567_890, "total_cycles": 1_234_567_891}))
    return SweepResult(rows_of(runs, _COLUMNS), _COLUMNS)


def test_speedups():
    result = _result()
    assert speedups(result.rows, _COLUMNS, "schedule") == {
        "vm": [1, 1, 1], "em": [3, 2], "compact": []}
    assert speedups(result.rows, _COLUMNS, "l1_bytes") == {512: [1, 1, 1], 1024: [2, 4 / 3]}
    assert result.summary == "5 runs, 1 refused" and not result.failed
    assert result.axes == ["schedule", "l1_bytes"]


def test_table():
    text = _result().table()
    assert max(map(len, text.splitlines())) <= 80
    for number in ("3,000,000", "1,234,567,891", "4.00x", "2.45x", "refused"):
        assert number in text
    assert "…" not in text


def test_names():
    """Values that speak for themselves have no name beside them."""
    fastest, *_ = _result().tables()
    assert [row[2] for row in fastest.rows] == ["em, l1_bytes 1024", "vm, l1_bytes 512"]
    assert fastest.title.endswith("over vm, l1_bytes 512")


def test_frame(monkeypatch):
    frame = _result().frame()
    assert list(frame.columns[:6]) == [*_COLUMNS, "status"] and len(frame) == 6
    assert frame[frame.schedule == "em"].total_cycles.min() == 3_000_000
    assert frame.counter_lanes[0] == 3 and frame.cycles[0] == 11_999_999
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match="needs pandas, which is not installed"):
        _result().frame()


def test_files(tmp_path):
    from pyarrow import parquet
    result = _result()
    result.write(tmp_path / "a.csv")
    result.write(tmp_path / "a.parquet")
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["total_cycles"] for row in rows][:2] == ["12000000", "6000000"]
    assert parquet.read_table(tmp_path / "a.parquet").to_pylist() == result.rows
    with pytest.raises(UserError, match=r"a\.txt: must end in \.csv or \.parquet"):
        result.write(tmp_path / "a.txt")
