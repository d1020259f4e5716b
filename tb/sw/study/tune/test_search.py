"""The search, on tables and on the instruction-set simulator.

===================  =======================================================================
costs                test_refused_and_equal_plans_cost_nothing, test_trials_end_the_search,
                     test_stopped_at_the_best_so_far, test_no_stop, test_a_limit
known trials         test_known_trials_are_not_repeated, test_known_trials_that_do_not_count
several processes    test_equal_plans_at_once, test_waiting
real runs            test_functional, test_equal_digests_have_equal_cycles,
                     test_a_failure_loses_no_other
===================  =======================================================================
"""

import pytest

from base.errors import RunError
from hw.config import preset
from sw.study.benchmarks.executors import Processes
from sw.device import as_plan
from sw.study.tune.candidates import Planner
from sw.graph.load import GraphSource
from sw.device.target import Target
from sw.study.tune.runs import RunSetting, measure
from sw.study.tune.search import Tuner
from sw.study.tune.space import Space
from sw.study.tune.strategies import STRATEGIES, make
from tb.sw.study.tune.tables import Table, separable


def _search(table, name="exhaustive", **options):
    return Tuner(table.space, table.ask, make(name, table.space, 1), **options)


def _statuses(search):
    return [record["status"] for _, record in search.outcomes.values()]


def test_refused_and_equal_plans_cost_nothing():
    """Widths of 8 and more are the same plan here."""
    table = Table(separable, lambda point: tuple(sorted((point | {
        "vwc:width": min(8, point.get("vwc:width", 0))}).items())))
    table.cost = lambda point: separable(point | ({"vwc:width": 8} if point.get("vwc:width") == 16
                                                  else {}))
    search, measured = _search(table), []
    search.run(lambda trial: measured.append(trial) or table.measure(trial))
    assert (search.refused.total(), search.merged, len(measured)) == (6, 6, 24)
    assert list(search.refused) == ["em is refused"]
    assert len(search.outcomes) == 24 == search.count


@pytest.mark.parametrize("trials", [1, 5, 29, 30])
@pytest.mark.parametrize("name", STRATEGIES)
def test_trials_end_the_search(name, trials):
    table = Table(separable)
    search = _search(table, name, trials=trials, starts=[table.space.default])
    search.run(table.measure)
    assert len(search.outcomes) == trials or (name == "coordinate" and trials > 8)


def test_stopped_at_the_best_so_far():
    """A trial's limit is the least cost so far; a run of exactly so many cycles is not stopped."""
    table, limits = Table(separable), []
    search = _search(table)
    fewest = None
    for trial in search.trials():
        assert trial.limit == fewest
        record = table.measure(trial)
        search.ended(trial, record)
        cost = table.cost(dict(table.space.point_of(trial.candidate.plan)))
        assert record == ({"status": "done", "cycles": cost} if fewest is None or cost <= fewest
                          else {"status": "stopped", "cycles": fewest})
        fewest = min(cost, fewest or cost)
        limits.append(fewest)
    assert search.fewest == fewest == 100 and len(set(limits)) > 2
    assert _statuses(search).count("stopped") > 15


def test_no_stop():
    table = Table(separable)
    search = _search(table, stop=False)
    search.run(table.measure)
    assert set(_statuses(search)) == {"done"}
    assert sorted(record["cycles"] for _, record in search.outcomes.values()) \
        == sorted(table.costs().values())


def test_a_limit():
    table = Table(separable)
    search = _search(table, limit=120, stop=False)
    search.run(table.measure)
    assert {record["cycles"] for _, record in search.outcomes.values()
            if record["status"] == "stopped"} == {120}
    assert search.fewest == 100
    nothing = _search(table, limit=99)
    nothing.run(table.measure)
    assert nothing.fewest is None and set(_statuses(nothing)) == {"stopped"}


@pytest.mark.parametrize("name", STRATEGIES)
def test_known_trials_are_not_repeated(name):
    """A search that goes on from half of the records makes the other half, the same as before."""
    table = Table(separable)
    first = _search(table, name, trials=14, starts=[table.space.default])
    first.run(table.measure)
    records = {plan.text: record | {"digest": digest}
               for digest, (plan, record) in first.outcomes.items()}
    half = dict(list(records.items())[:len(records) // 2])
    again, measured = _search(table, name, trials=14, starts=[table.space.default], known=half), []
    again.run(lambda trial: measured.append(trial) or table.measure(trial))
    assert {digest: plan for digest, (plan, _) in again.outcomes.items()} \
        == {digest: plan for digest, (plan, _) in first.outcomes.items()}
    assert again.fewest == first.fewest and again.repeated == len(half)
    assert len(measured) == len(records) - len(half)


def test_known_trials_that_do_not_count():
    """A trial that was stopped below the limit of today says too little."""
    table = Table(separable)
    digest = table.ask(table.space.plan(table.space.default)).digest
    cost = table.cost(dict(table.space.default))

    def repeated(known, **options):
        search = _search(table, trials=1, starts=[table.space.default],
                         known={"a plan": known | {"digest": digest}}, **options)
        search.run(table.measure)
        return search.repeated == 1

    assert repeated({"status": "done", "cycles": cost})
    assert not repeated({"status": "stopped", "cycles": 50})
    assert repeated({"status": "stopped", "cycles": 50}, limit=50)
    assert not repeated({"status": "stopped", "cycles": 50}, limit=51)
    assert not repeated({"status": "stopped", "cycles": cost - 1}, stop=False)
    assert not repeated({"status": "failed", "error": "it broke"})


def test_equal_plans_at_once():
    """A plan that is equal to one that is running waits for its outcome."""
    table = Table(separable, lambda point: point["format"])
    told = []
    search = _search(table)
    search.strategy.told = lambda point, outcome: told.append((point, outcome))
    trials = search.trials()
    running = [next(trials) for _ in range(3)]
    assert next(trials, None) is None and search.merged == 30 - 3
    assert all(outcome.status == "refused" for _, outcome in told)
    for trial in running:
        search.ended(trial, {"status": "done", "cycles": 5})
    assert len(told) == 36


def test_waiting():
    """With several processes, coordinate descent waits for all values of an axis."""
    table = Table(separable)
    search = _search(table, "coordinate", starts=[table.space.default])
    trials = search.trials()
    search.ended(first := next(trials), table.measure(first))
    vwc = next(trials)
    assert next(trials) is None
    search.ended(vwc, table.measure(vwc))
    assert next(trials) is not None


# Real runs

GRAPH = "rmat:scale=5,degree=4,seed=1"


@pytest.fixture(scope="module")
def setting():
    return RunSetting(GraphSource(GRAPH, no_weights=True), Target(preset("tiny"), functional=True))


def _real(setting, **options):
    planner = Planner(setting.target.config, setting.graph())
    space = Space("bfs", {"source": 0}, {
        "format": ["csr", "coo"], "schedule": ["vm", "vwc", "em", "weaver"]}, ["schedule"])
    space.reduce(planner.ask)
    return Tuner(space, planner.ask, make("random", space, 1), **options)


@pytest.mark.parametrize("jobs", [1, 2])
def test_functional(setting, jobs):
    """The limit holds on the simulator, and all runs agree on the result."""
    search = _real(setting, trials=12, starts=[])
    orders = (trial and (trial, (measure, (setting, trial.candidate.plan.text, trial.limit)))
              for trial in search.trials())
    Processes(jobs).work(orders, search.ended)
    assert len(search.outcomes) == 12 and {"done", "stopped"} == set(_statuses(search))
    done = [record for _, record in search.outcomes.values() if record["status"] == "done"]
    assert len({record["checksum"] for record in done}) == 1
    assert min(record["cycles"] for record in done) == search.fewest
    for plan, record in search.outcomes.values():
        whole = measure(setting, plan.text)
        if record["status"] == "done":
            assert whole == record
        else:
            assert whole["cycles"] >= record["cycles"] >= search.fewest


def test_equal_digests_have_equal_cycles(setting):
    """All plans of one digest take the same instructions, and the same result comes out."""
    planner = Planner(setting.target.config, setting.graph())
    space = Space("bfs", {"source": 0}, {
        "format": ["csr", "ell"], "direction": ["push", "auto"], "split": ["static"],
        "schedule": ["vm", "em"], "warps": ["own", "1"]}, ())
    plans = {}
    for index in range(space.size):
        candidate = space.candidate(space.at(index), planner.ask)
        if candidate.digest is not None:
            plans.setdefault(candidate.digest, []).append(candidate.plan)
    equal = [group for group in plans.values() if len(group) > 1]
    assert len(equal) > 20
    for group in equal[::4]:
        records = [measure(setting, plan.text) for plan in (group[0], group[-1])]
        assert records[0] == records[1] and records[0]["status"] == "done"
    # Different plans with the same program do not have the same digest if the memory differs.
    first, second = (planner.ask(space.plan(space.point({"format": name})))
                     for name in ("csr", "ell"))
    assert first.digest != second.digest


def test_digests_do_not_change(setting):
    """Another planner of the same graph gives the same digests, also where registers are scarce."""
    space = Space("bfs", {"source": 0}, {
        "format": ["csr"], "schedule": ["vwc", "vm"], "direction": ["push"], "split": ["static"],
        "frontier": ["counter"], "warps": ["own"], "deduplicate": ["own"]}, ["schedule"])
    one, two = ([space.candidate(space.at(index), planner.ask).digest
                 for index in range(space.size)]
                for planner in (Planner(setting.target.config, setting.graph()) for _ in range(2)))
    assert one == two and len(set(one)) > 10


def test_digests_of_operators(setting):
    """An algorithm of two operators has no rule, and a parameter of its cost counts."""
    planner = Planner(setting.target.config, setting.graph())
    plans = [as_plan("gcn", schedule="em", dimension=4, together=together)
             for together in ("yes", "no", "yes")]
    digests = [planner.ask(plan).digest for plan in plans]
    assert None not in digests and digests[0] == digests[2] != digests[1]
    assert planner.ask(as_plan("gcn", schedule="compact", direction="push")).reason


def test_a_failure_loses_no_other(setting, monkeypatch):
    def wrong(*arguments):
        raise RunError("the result differs", {})

    search = _real(setting, trials=3)
    for number, trial in enumerate(search.trials()):
        with monkeypatch.context() as patch:
            if number == 1:
                patch.setattr("sw.device.device._verify", wrong)
            search.ended(trial, measure(setting, trial.candidate.plan.text))
    assert _statuses(search) == ["done", "failed", "done"]
    assert [record.get("error") for _, record in search.outcomes.values()] \
        == [None, "the result differs", None]
    search = _real(setting, trials=1)
    trial = next(search.trials())
    search.ended(trial, {"error": "its process was ended by SIGKILL"})
    assert _statuses(search) == ["failed"] and search.fewest is None
