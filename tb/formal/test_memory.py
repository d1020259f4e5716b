"""The promises of the memory path's units, proved by induction: for runs of any length."""

import types

import pytest

from hw import isa
from hw.config import HardwareConfig
from hw.core import coalescer, loads
from hw.memory import miss
from tb.formal.coalescer import CoalescerPromise
from tb.formal.loads import LoadPromise
from tb.formal.misses import MissPromise
from tb.formal.prove import Refuted, prove, unavailable


pytestmark = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))

SMALL = {"warps": 2, "local_bytes": 256, "memory_bytes": 1 << 16, "load_queue": 2}


@pytest.mark.parametrize("threads", [1, 4])
def test_coalescer(tmp_path, threads):
    prove(CoalescerPromise(HardwareConfig(threads=threads, **SMALL)), tmp_path, depth=1,
          mode="prove")


def test_a_wrong_coalescer_is_refuted(tmp_path, monkeypatch):
    """The harness is not empty: it tells that the highest lane's value is stored."""
    monkeypatch.setattr(coalescer, "highest", coalescer.lowest)
    with pytest.raises(Refuted, match="failed assertion"):
        prove(CoalescerPromise(HardwareConfig(threads=2, **SMALL)), tmp_path, depth=4)


def test_a_coalescer_that_combines_compare_and_swap_is_refuted(tmp_path, monkeypatch):
    """The harness is not empty: it tells that lanes of a CAS share a pass."""
    monkeypatch.setattr(coalescer, "AmoOp", types.SimpleNamespace(CAS=isa.AmoOp.MAXU))
    with pytest.raises(Refuted, match="failed assertion"):
        prove(CoalescerPromise(HardwareConfig(threads=2, **SMALL)), tmp_path, depth=4)


@pytest.mark.parametrize("mshrs, entries", [(2, 2), (2, 4), (4, 4)])
def test_misses(tmp_path, mshrs, entries):
    prove(MissPromise(mshrs=mshrs, entries=entries), tmp_path, depth=1, mode="prove")


def test_a_wrong_list_is_refuted(tmp_path, monkeypatch):
    """The harness is not empty: it tells that an entry is used twice."""
    monkeypatch.setattr(miss, "lowest", lambda m, value, *, name: value & 1)
    with pytest.raises(Refuted, match="failed assertion"):
        prove(MissPromise(mshrs=2, entries=2), tmp_path, depth=5)


def test_loads(tmp_path):
    prove(LoadPromise(HardwareConfig(threads=2, **SMALL)), tmp_path, depth=1, mode="prove")


def test_a_wrong_word_is_refuted(tmp_path, monkeypatch):
    """The harness is not empty: it tells that a lane takes another word of the line."""
    monkeypatch.setattr(loads, "mux_tree", lambda index, values: values[0])
    with pytest.raises(Refuted, match="failed assertion"):
        prove(LoadPromise(HardwareConfig(threads=2, **SMALL)), tmp_path, depth=6)
