"""The curated mutants fit the sources, and what must notice exists."""

import ast
import functools
import re

import pytest

from checks.campaign.mutants import curated
from checks.campaign.mutants.mutant import ROOT, MutantError
from checks.formal import registry


FAULTS = curated.faults()

TEXT = """
class Unit:
    def elaborate(self):
        self.total = (self.a +
                      self.b)          # the sum
        if self.total > 3:
            self.total = 3
"""


def test_each_place_is_there_once():
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names)
    for fault in FAULTS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fault.name)
        mutant = fault.mutant()
        assert mutant.after != mutant.before


@functools.cache
def _functions(file):
    tree = ast.parse((ROOT / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_what_notices_is_there():
    for fault in FAULTS:
        assert bool(fault.tests) != bool(fault.proof), fault.name
        for test in fault.tests:
            file, *names = test.partition("[")[0].split("::")
            assert len(names) <= 1 and set(names) <= _functions(file), test
        if fault.proof is not None:
            [found] = [one for entry, one in registry.proofs([fault.proof.unit], full=True)
                       if (entry.name, one.shape) == (fault.proof.name, fault.proof.shape)]
            assert (found.mode == "structure") == (fault.proof.depth == 0)


def planted(**fields):
    return curated.CuratedFault(**{
        "name": "planted", "file": "unit.py", "place": "Unit.elaborate",
        "old": "self.a + self.b", "new": "self.a - self.b", **fields})


@pytest.mark.parametrize("text", [
    TEXT, TEXT.replace("self.a +\n                      self.b", "self.a+self.b"),
    TEXT.replace("        self.total = (", "        one = 1\n\n        self.total = (")])
def test_layout_does_not_matter(text):
    assert "self.a - self.b" in planted().mutant(text).after


def test_statements():
    after = planted(old="self.total = 3", new="x = 1; self.total = x").mutant(TEXT).after
    assert after.endswith("            x = 1\n            self.total = x\n")
    assert "if self.total > (4):" in planted(place="Unit.elaborate#1", old="3", new="4").mutant(
        TEXT).after


@pytest.mark.parametrize("fields, message", [
    ({"place": "Unit.reset"}, "'reset' of 'Unit.reset' occurs 0 times"),
    ({"old": "self.c"}, "'self.c' occurs 0 times in Unit.elaborate"),
    ({"old": "3"}, "'3' occurs 2 times in Unit.elaborate"),
    ({"old": "3", "place": "Unit.elaborate#3"}, "so there is no occurrence 3"),
    ({"new": "(self.a) + self.b"}, "old and new are the same"),
    ({"old": "self.a; self.b"}, "must be two expressions, or a statement and statements"),
])
def test_place_is_wrong(fields, message):
    with pytest.raises(MutantError, match=re.escape(message)) as caught:
        planted(**fields).mutant(TEXT)
    assert str(caught.value).startswith("mutant planted: unit.py: ")


def test_file_is_missing():
    with pytest.raises(MutantError, match="cannot be read"):
        planted(file="hw/none.py").mutant()


def test_cpp():
    """In C++ a place is a piece of text, in any layout, and must be there once."""
    def after(old, new, text, place=""):
        return planted(file="a.h", place=place, old=old, new=new).mutant(text).after

    text = "if (a <\n    b) run(); // a < b"
    assert after("(a < b)", "(b)", text) == "if (b) run(); // a < b"
    assert after("a < b", "c", text, "#2").endswith("// c")
    for old, new, place in (("a < b", "c", ""), ("b > a", "c", ""), ("run();", "run();", ""),
                            ("a < b", "c", "#3")):
        with pytest.raises(MutantError):
            after(old, new, text, place)
