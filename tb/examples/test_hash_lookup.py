"""``examples/hash_lookup.py``: its table, its tables of pairs, and bad options."""

import importlib.util
import os
import subprocess
import sys
import types

import numpy as np
import pytest

from hw.config import preset
from sw.cli.tests import ROOT
from sw.operators.hashing import HashTable
from sw.device import Device


SCRIPT = ROOT / "examples" / "hash_lookup.py"


def run(*words):
    return subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True,
                          cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)


def test_it_prints_a_table():
    done = run("--preset", "tiny", "--pairs", "60", "--queries", "80", "--buckets", "10",
               "--schedules", "vm,em,weaver", "--units", "fsm", "--copies", "2", "--count")
    assert done.returncode == 0, done.stderr
    first, _, *lines = done.stdout.splitlines()
    assert first == ("80 queries, 10 % of them missing; 60 pairs; 10 buckets, and 1; on tiny, "
                     "1 x 2 x 4")
    assert [line[:24].strip() for line in lines] == ["cycles", "vm", "em", "weaver (fsm)"]
    cycles = [[int(word.replace(",", "")) for word in line[24:].split()] for line in lines[1:]]
    assert all(len(row) == 3 and row[0] < row[2] for row in cycles)


def test_help():
    done = run("--help")
    assert done.returncode == 0 and "--missing PERCENT" in done.stdout


@pytest.mark.parametrize("words, message", [
    (("--schedules", "compact", "--preset", "tiny"), "hash_lookup.py: error: schedule 'compact' "
                                                     "cannot look up keys"),
    (("--units", "fsn"), "hash_lookup.py: error: "),
    (("--set", "core=2"), "hash_lookup.py: error: "),
    (("--pairs", "0"), "error: --pairs 0: must be from 1 to 1048576"),
    (("--missing", "101"), "error: --missing 101: must be from 0 to 100"),
])
def test_bad_options(words, message):
    done = run(*words)
    assert done.returncode == 2 and message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_tables():
    """Buckets have the lengths that the example promises, and queries the share that is missing."""
    spec = importlib.util.spec_from_file_location("hash_lookup", SCRIPT)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    given = types.SimpleNamespace(buckets=16, pairs=320, copies=1, queries=200, missing=25)
    with Device.functional(preset("tiny")) as device:
        for name, buckets in (("even", 16), ("skewed", 16), ("one", 1)):
            keys, queries, found = example.draw(np.random.default_rng(1), device, name, given)
            table = HashTable(device, keys, keys, found)
            sizes = np.bincount(table.bucket_of(keys), minlength=buckets)
            assert found == buckets and len(set(keys.tolist())) == 320
            assert np.isin(queries, keys).sum() == 150
            if name == "even":
                assert (sizes == 20).all()
            elif name == "skewed":
                ideal = 320 / (1 / np.arange(1, 17)).sum() / np.arange(1, 17)
                assert abs(sizes - ideal).max() <= 1
