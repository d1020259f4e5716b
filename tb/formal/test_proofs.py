"""Every proof of the registry but those that take long, which ``graphloom prove --full`` runs."""

import pathlib

import pytest

from formal.prove import unavailable
from formal.registry import PROPERTIES, proofs


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
@pytest.mark.parametrize("proof", [
    pytest.param(proof, id=f"{entry.unit}, {entry.name}: {proof.shape}")
    for entry, proof in proofs()])
def test_proof(tmp_path, proof):
    proof.check(tmp_path)


def test_the_page_has_every_proof():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "verification.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("|")]
    for entry in PROPERTIES:
        of_unit = "\n".join(row for row in rows if row.startswith(f"| `{entry.unit}`"))
        for proof in entry.proofs:
            assert proof.shape in of_unit, (entry.unit, proof.shape)
            assert proof.mode != "bounded" or proof.kind in of_unit, (entry.unit, proof.kind)


def test_every_property_has_a_quick_proof():
    for entry in PROPERTIES:
        assert any(not proof.full for proof in entry.proofs), entry.name
