"""The common parts of the tests of figures: a figure from known records, and its comparisons."""

from sw.study.benchmarks.grid import CaseRecords
from sw.study.reproduce.plot import draw


__all__ = ["comparisons_of", "from_records", "stands_a_failure_of_all"]


def from_records(figure, setting, record):
    """The outcome of a figure; ``record`` gives the record of a case, or None if it failed."""
    return figure.outcome(setting, CaseRecords({
        case: record(case) or {"error": "told to fail"} for case in figure.cases(setting)}))


def comparisons_of(outcome):
    """The paper's number and ours, by the words of the comparison."""
    return {each.what: (each.paper, each.ours) for each in outcome.comparisons}


def stands_a_failure_of_all(figure, setting):
    """Check that a figure without one good run says so everywhere."""
    assert figure.title and figure.source and figure.method
    outcome = from_records(figure, setting, lambda case: None)
    assert outcome.tables and outcome.comparisons
    if figure.cases(setting):
        assert all("failed" in each.ours for each in outcome.comparisons)
        if outcome.plots:
            assert b">failed<" in draw(outcome.plots, figure.title)[".svg"]
    return outcome
