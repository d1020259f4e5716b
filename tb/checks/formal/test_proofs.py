"""Every quick proof of the registry. ``graphloom prove --full`` runs the long proofs too."""

import dataclasses
import pathlib

import pytest

from checks.formal.prove import Refuted, unavailable
from checks.formal.registry import PROPERTIES, proofs


#: Proofs and covers that take from ten seconds to minutes, and run with ``--full``.
LONG = ("scu, rows: width 1", "stream_weaver, distribution: 2 warps x 1 lane",
        "weaver, distribution: 2 warps x 1 lane")


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
@pytest.mark.parametrize("proof", [
    pytest.param(proof, id=name, marks=pytest.mark.full if name in LONG else ())
    for entry, proof in proofs() for name in [f"{entry.unit}, {entry.name}: {proof.shape}"]])
@pytest.mark.sample(4)
def test_proof(tmp_path, proof):
    proof.check(tmp_path)


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
@pytest.mark.parametrize("entry", [
    pytest.param(entry, id=name, marks=pytest.mark.full if name in LONG else ())
    for entry in PROPERTIES if entry.covers
    for name in [f"{entry.unit}, {entry.name}: {entry.proofs[0].shape}"]])
@pytest.mark.sample(3)
def test_covers(tmp_path, entry):
    """The harness can reach the events that the property is about."""
    entry.check_covers(tmp_path)


def test_every_property_but_those_of_structure_has_covers():
    for entry in PROPERTIES:
        modes = {proof.mode for proof in entry.proofs}
        assert bool(entry.covers) == (modes != {"structure"}), (entry.unit, entry.name)
        for proof in entry.proofs:
            bounded = proof.mode == "bounded" and proof.shape == entry.proofs[0].shape
            assert not bounded or entry.reach <= proof.depth, (entry.unit, entry.name)


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
def test_a_cover_that_is_not_reached(tmp_path, monkeypatch):
    """The message names an unreached cover, and a cover that the harness does not have."""
    [entry, *_] = [entry for entry in PROPERTIES
                   if entry.unit == "stages" and entry.name == "streams keep"]
    with pytest.raises(Refuted) as refuted:
        dataclasses.replace(entry, reach=2).check_covers(tmp_path)
    assert "o is refused, then taken" in refuted.value.assertions
    with pytest.raises(Refuted) as refuted:
        dataclasses.replace(entry, covers=("the moon",)).check_covers(tmp_path)
    assert refuted.value.assertions == ["the moon"]


def test_the_page_has_every_proof():
    page = (pathlib.Path(__file__).parents[3] / "docs" / "verification.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("|")]
    for entry in PROPERTIES:
        of_unit = "\n".join(row for row in rows if row.startswith(f"| `{entry.unit}`"))
        for proof in entry.proofs:
            assert proof.shape in of_unit, (entry.unit, proof.shape)
            assert proof.mode != "bounded" or proof.kind in of_unit, (entry.unit, proof.kind)


def test_every_property_has_a_quick_proof():
    for entry in PROPERTIES:
        assert any(not proof.full for proof in entry.proofs), entry.name
