"""Which cases of a long test function run: ``@pytest.mark.sample(N)``, and benches.

A function with this mark runs N of its cases. The cases are divided into N groups of neighbours,
and one case of each group is drawn. With the usual seed the draw is the same every time;
``./graphloom test --seed fresh`` draws others. Functions of a file draw alike, so that those of the
same shapes share what they build. A bench without the mark that has several shapes
runs each shape on one simulator, in turn, where both simulators are there. Random tests of benches
do a part of their turns (:func:`tb.runner.turns`), and tests of Hypothesis half of their examples.
All cases, turns and examples run with ``./graphloom test --full``, or if the function is named, or
where told texts are written (:data:`tb.expected.WRITES`).
"""

import itertools
import pathlib
import random

import hypothesis

from tb import runner, seeds


__all__ = ["is_named", "left_out", "named", "one_simulator_each", "sampled", "use_examples"]

#: The settings of a test of Hypothesis, which has no public name for them. The version is locked.
_SETTINGS = "_hypothesis_internal_use_settings"


def named(config) -> set[str]:
    """The tests and functions that the command line names, as pytest's node ids."""
    found = set()
    for argument in config.args:
        file, _, rest = argument.partition("::")
        if not rest:
            continue
        path = pathlib.Path(config.invocation_params.dir, file).resolve()
        if path.is_relative_to(config.rootpath):
            found.add(f"{path.relative_to(config.rootpath).as_posix()}::{rest}")
    return found


def use_examples(function, *, whole):
    """Let a test of Hypothesis have all of its examples, or half of them."""
    settings = getattr(function, _SETTINGS, None)
    if settings is not None:
        usual = vars(function).setdefault("_graphloom_settings", settings)
        setattr(function, _SETTINGS, usual if whole else hypothesis.settings(
            usual, max_examples=-(-usual.max_examples // 2)))


def is_named(test, named) -> bool:
    """Whether arguments of the command line name a test (pytest's node id) or its function."""
    return not {test, test.partition("[")[0]}.isdisjoint(named)


def left_out(items, named) -> set[str]:
    """The tests that run with ``--full`` only (pytest's node ids).

    Parameters
    ----------
    items : list of pytest.Item
        The tests that were collected.
    named : iterable of str
        Arguments of the command line: tests and functions among them run.
    """
    out, groups, benches = set(), {}, {}
    for item in items:
        function = item.nodeid.partition("[")[0]
        if is_named(item.nodeid, named):
            continue
        mark = item.get_closest_marker("sample")
        if item.get_closest_marker("full") is not None:
            out.add(item.nodeid)
        elif mark is not None:
            groups.setdefault((function, *mark.args), []).append(item.nodeid)
        elif "simulator" in getattr(item, "fixturenames", ()):
            shape = repr({name: value for name, value in item.callspec.params.items()
                          if name != "simulator"})
            benches.setdefault(function, {}).setdefault(shape, []).append(item.nodeid)
    for (function, count), cases in groups.items():
        out.update(set(cases) - sampled(function, cases, count))
    for function, shapes in benches.items():
        if len(shapes) > 1 and runner.unavailable("icarus") is None:
            out.update({case for cases in shapes.values() for case in cases}
                       - one_simulator_each(function, list(shapes.values())))
    return out


def one_simulator_each(function, shapes) -> set[str]:
    """One case of each shape of a bench. ``shapes`` are lists of cases, a case for each simulator;
    the simulators take turns, and the seed draws which is first."""
    first = _draws(function).randrange(2)
    return {cases[turn % len(cases)] for turn, cases in enumerate(shapes, first)}


def sampled(function, cases, count) -> set[str]:
    """So many of a function's cases, one of each group of neighbours."""
    rng = _draws(function)
    places = [len(cases) * group // count for group in range(count + 1)]
    return {cases[rng.randrange(begin, end)] for begin, end in itertools.pairwise(places)
            if begin < end}


def _draws(function):
    """The random numbers of a function's file."""
    return random.Random(f"{function.partition('::')[0]} {seeds.seed(0)}")
