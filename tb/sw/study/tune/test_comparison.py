"""Strategies against each other, on a table whose costs are counted by hand."""

import statistics

import pytest

from sw.study.tune import comparison
from sw.study.tune.comparison import Costs, compare, replay
from sw.study.tune.strategies import TrialOutcome, make
from tb.sw.study.tune.tables import Table, separable


def _table(table):
    return comparison.CandidateTable(table.space, table.ask, {
        table.ask(table.space.plan(point)).digest: cost for point, cost in table.costs().items()})


def test_the_table():
    table = _table(Table(separable))
    assert table.fewest == 100 and len(table.cycles) == 30
    assert table.within(0) == 1
    assert table.within(0.1) == sum(cost <= 110 for cost in table.cycles.values()) > 1


@pytest.mark.parametrize("strategy", ["tpe", "random", "exhaustive", "coordinate"])
def test_counted_by_hand(strategy):
    """Trials, cycles and full cycles, from the order in which the strategy proposes points."""
    made = Table(separable)
    table = _table(made)
    fewest, trials, cycles, full = None, 0, 0, 0
    own, point, told = make(strategy, made.space, 4), made.space.default, set()
    while True:
        cost = made.cost(dict(point))
        if cost is not None and point not in told:
            trials, full = trials + 1, full + cost
            cycles += cost if fewest is None else min(cost, fewest)
        told.add(point)
        status = "refused" if cost is None else \
            "stopped" if fewest is not None and cost > fewest else "done"
        if status == "done":
            fewest = cost
            if cost <= 105:
                break
        own.told(point, _outcome(status, cost, fewest))
        point = own.propose()
    assert replay(table, strategy, 4, 0.05) == Costs(trials, cycles, full)
    assert cycles < full


def _outcome(status, cost, fewest):
    return TrialOutcome(status, {"done": cost, "stopped": fewest, "refused": None}[status])


def test_random_needs_what_chance_says():
    """The mean number of draws to the only best of n candidates is (n + 1) / 2. The default plan
    is drawn first."""
    table = _table(Table(separable))
    found = compare(table, ["random"], 300, 0)["random"]
    trials = [replay(table, "random", seed, 0).trials for seed in range(1, 301)]
    assert found["reached"] == 300 and found["trials"] == statistics.median(trials)
    assert 1 + 30 / 2 - 1.5 < statistics.mean(trials) < 1 + 30 / 2 + 1.5
    assert 0.5 < found["left"] < 1


def test_a_search_that_ends_before():
    """Coordinate descent ends in a local minimum."""
    best = {"schedule": "em", "format": "ell", "split": "counter"}

    def cost(point):
        return 10 if point == best else 50 if point == {"schedule": "vm", "format": "csr",
                                                        "split": "static"} else 100
    table = _table(Table(cost))
    assert replay(table, "coordinate", 1, 0.05) is None
    assert compare(table, ["coordinate"], 3, 0.05)["coordinate"] == {
        "reached": 0, "trials": None, "cycles": None, "left": None}
    assert replay(table, "exhaustive", 1, 0.05).trials < 36


def test_a_failed_candidate_is_passed_over():
    made = Table(separable)
    table = _table(made)
    del table.cycles[made.ask(made.space.plan(made.space.default)).digest]
    assert replay(table, "exhaustive", 1, 0).trials > 1
