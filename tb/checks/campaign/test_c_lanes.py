"""Random functions of C in all lanes against the same C on this computer.

========================  ========================================================================
functions                 test_functions: on the functional simulator; test_all_parted; test_rtl
differences are noticed   test_a_difference
========================  ========================================================================
"""

import pytest

from checks.campaign import c_lanes
from checks.campaign.c_functions import functions
from checks.campaign.c_lanes import compare
from hw.config import preset
from sw.cc import joins


TINY = preset("tiny")
LARGE = TINY.replace(imem_bytes=1 << 20)


@pytest.mark.parametrize("seed", range(5))
def test_functions(seed):
    config = LARGE.replace(float="full") if seed == 2 else LARGE
    assert compare(seed, 10, config) is None


def test_all_parted():
    assert compare(1, 10, LARGE, parted="all", level="1") is None


def test_rtl():
    """As many functions as fit in the small instruction memory."""
    assert compare(3, 1, TINY, level="s", machines=("rtl",)) is None


def test_functions_are_general():
    """The functions of a few seeds have every construct."""
    text = "".join(functions(seed, 10, True) for seed in range(5))
    for word in ("switch (", "goto ", "break;", "continue;", "&&", "||", "do {", "while (",
                 "for (", "return ", "pointer(", "m[8] -= 20", "table[", "(int)(g",
                 "w /= ", "t[(unsigned)", "} while (--i"):
        assert word in text, word


def test_a_difference(monkeypatch):
    """Without drains, or where this computer calculates something else, it is told."""
    make = joins.Joins.__init__

    def once(self, analysis):
        make(self, analysis)
        self.repeated = set()
    monkeypatch.setattr(joins.Joins, "__init__", once)
    assert compare(0, 10, LARGE) is not None
    monkeypatch.undo()
    monkeypatch.setattr(c_lanes, "_run_here", lambda *arguments: None)
    assert "results differ" in compare(1, 2, LARGE).reason
