"""The cycle budgets hold."""

import pytest

from sw.study.benchmarks.budgets import TOLERANCE, load_budgets


@pytest.mark.parametrize("budget", load_budgets(), ids=lambda budget: budget.name)
def test_within_budget(budget, request):
    if budget.preset in ("baseline", "default"):
        request.getfixturevalue("optimized")    # the others have few runs, all of them short
    record = budget.measure()
    assert record.get("verified"), record
    assert not budget.exceeded_by(record["cycles"]), (
        f"{budget.name} takes {record['cycles']} cycles, its budget is {budget.cycles}: more than "
        f"{100 * TOLERANCE:.0f} % over. If that is meant, ./graphloom bench budgets --update")
