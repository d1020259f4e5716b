"""Each harness distinguishes a wrong unit from the right unit.

The planted faults are the faults of the table (:mod:`campaign.mutants.table`) that a proof must
refute. The proof must find a run from reset in which an assertion fails. ``./graphloom mutants``
also has the refutations that take long.
"""

import pytest

from campaign.mutants.refute import imported, refutation
from campaign.mutants.table import MUTANTS
from formal.prove import unavailable
from formal.registry import PROPERTIES


CASES = {mutant.name: mutant for mutant in MUTANTS
         if mutant.proof is not None and not mutant.proof.full}


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(5)
def test_mutant_is_refuted(tmp_path, name):
    mutant = CASES[name]
    with imported(mutant):
        refuted = refutation(mutant.proof, tmp_path)
    assert refuted is not None, "no run from reset breaks an assertion"
    assert refuted.from_reset and refuted.assertions
    if mutant.proof.depth:
        assert (tmp_path / refuted.trace).exists()


def test_every_property_has_a_mutant():
    found = {(mutant.proof.unit, mutant.proof.name) for mutant in CASES.values()}
    assert found == {(entry.unit, entry.name) for entry in PROPERTIES}
