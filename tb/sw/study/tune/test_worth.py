"""The worth of axes, on trials whose figures follow by hand.

==============================  ==============================================================
ratios, the value, the other    test_alone, test_options_of_a_value
what counts before what         test_alone_before_apart, test_done_before_stopped
nothing to tell                 test_no_trial, test_what_does_not_count
==============================  ==============================================================
"""

import pytest

from sw.compile.plan import as_plan
from sw.study.tune.space import Space
from sw.study.tune.worth import Worth, worth

SPACE = Space("bfs")


def told(*trials):
    """The worth of each axis, by its name, of ``(text, cycles, status)``; done if left out. Plans
    push unless they say otherwise."""
    plans = [as_plan(text if "direction" in text else f"{text} direction=push")
             for text, *_ in trials]
    found = worth(SPACE, [(plan, {"status": "".join(status) or "done", "cycles": cycles})
                          for plan, (_, cycles, *status) in zip(plans, trials)])
    axes = [name for name, _ in SPACE.point_of(plans[0])]
    assert [each.axis for each in found] == sorted((each.axis for each in found), key=axes.index)
    return {each.axis: each for each in found}


def test_alone():
    """The next best value of an axis, where all other axes have the values of the best plan."""
    found = told(("bfs schedule=vm direction=push", 200),
                 ("bfs schedule=em direction=push", 500),
                 ("bfs schedule=wm direction=push", 300),
                 ("bfs schedule=vm direction=pull", 250))
    assert found == {"schedule": Worth("schedule", "vm", "wm", 1.5, False, True),
                     "direction": Worth("direction", "push", "pull", 1.25, False, True)}


def test_alone_before_apart():
    """A plan that differs on one axis counts before faster plans that differ on several."""
    found = told(("bfs schedule=vm direction=push", 200),
                 ("bfs schedule=em direction=pull", 220),
                 ("bfs schedule=wm direction=push", 400))
    assert found == {"schedule": Worth("schedule", "vm", "wm", 2.0, False, True),
                     "direction": Worth("direction", "push", "pull", 1.1, False, False)}


def test_done_before_stopped():
    """A trial that was stopped gives a bound, and counts behind those that ran to their end; but it
    is never the best."""
    found = told(("bfs schedule=vm direction=push", 200),
                 ("bfs schedule=em direction=push", 100, "stopped"),
                 ("bfs schedule=wm direction=push", 300),
                 ("bfs schedule=vm direction=pull", 210, "stopped"))
    assert found == {"schedule": Worth("schedule", "vm", "wm", 1.5, False, True),
                     "direction": Worth("direction", "push", "pull", 1.05, True, True)}


def test_options_of_a_value():
    """Options that only the other value has do not make a plan differ on several axes."""
    found = told(("bfs schedule=vm:unroll=2", 100), ("bfs schedule=vm:unroll=4", 130),
                 ("bfs schedule=twc", 160), ("bfs schedule=twc:core=64", 150))
    assert found["vm:unroll"] == Worth("vm:unroll", 2, 4, 1.3, False, True)
    assert found["schedule"] == Worth("schedule", "vm", "twc", 1.6, False, True)


@pytest.mark.parametrize("trials", [
    [], [("bfs schedule=vm", 200)], [("bfs schedule=vm", 200, "stopped")],
    [("bfs schedule=vm", 200), ("bfs schedule=em", 300, "failed")]])
def test_no_trial(trials):
    assert worth(SPACE, []) == [] and (not trials or told(*trials) == {})


def test_what_does_not_count():
    """Plans that the space does not have."""
    assert told(("bfs schedule=vm", 200), ("bfs schedule=em:unroll=8 format=ell:width=7", 150),
                ("bfs schedule=em", 300))["schedule"].ratio == 1.5
