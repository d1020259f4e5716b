"""Each harness distinguishes a wrong unit from the right unit.

The planted faults are the curated ones (:mod:`checks.campaign.mutants.curated`) that a proof must
refute. The proof must find a run from reset in which an assertion fails. ``./graphloom mutants
--curated`` also has the refutations that take long.
"""

import pytest

from checks.campaign.mutants.curated import faults
from checks.campaign.mutants.refute import imported, refutation
from checks.formal.prove import unavailable
from checks.formal.registry import PROPERTIES


CASES = {fault.name: fault for fault in faults()
         if fault.proof is not None and not fault.proof.full}


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(5)
def test_mutant_is_refuted(tmp_path, name):
    proof = CASES[name].proof
    with imported(CASES[name].mutant()):
        refuted = refutation(proof, tmp_path)
    assert refuted is not None, "no run from reset breaks an assertion"
    assert refuted.from_reset and refuted.assertions
    if proof.depth:
        assert (tmp_path / refuted.trace).exists()


def test_every_property_has_a_mutant():
    found = {(fault.proof.unit, fault.proof.name) for fault in CASES.values()}
    assert found == {(entry.unit, entry.name) for entry in PROPERTIES}
