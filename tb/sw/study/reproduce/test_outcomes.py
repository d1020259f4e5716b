"""Every figure, whole: its cases, tables, plots, comparisons, numbers and notes, from records that
are told (``tb/told.py``). So each number of a figure says which runs it comes from."""

import contextlib
import dataclasses
import functools
import itertools
import pathlib
from unittest import mock

import pytest

from base.errors import UserError
from hw.config import preset
from sim.dram import DramConfig
from sw.compile import algorithms
from sw.study import reproduce
from sw.study.benchmarks.grid import CaseRecords
from sw.study.reproduce import space
from sw.study.reproduce.setting import GraphChoice, Setting
from tb import expected
from tb.told import ToldRecord, number, words


FOLDER = pathlib.Path(__file__).parent / "outcomes"

GRAPHS = (GraphChoice("power", "rmat:scale=6,degree=4,seed=1"),
          GraphChoice("road", "road:side=4,seed=1", undirected=False),
          GraphChoice("karate", "karate", undirected=False, counts=False))

SETTING = Setting(preset("baseline"), DramConfig(), simulated=GRAPHS, wide=GRAPHS, stored=GRAPHS,
                  brief=GRAPHS, tuned=GRAPHS[:2], skewed=GRAPHS[:2], crossed=GRAPHS[:2],
                  timed=GRAPHS[:2], repeat=2)

PAPERS = ("cr2", "graphpeg", "grassembler", "sage", "scu", "sparseweaver", "ugf")

#: Figures that count the lines of the present sources.
COUNTED = ("sec2.5.3", "table6.8")

FIGURES = [(paper, figure.name) for paper in PAPERS for figure in reproduce.find(paper).figures
           if figure.name not in COUNTED]

def _words(case):
    return words(case, SETTING.config, SETTING.dram)


def told(case):
    return ToldRecord(case, _words(case))


def with_failures(case):
    """A record in which one run in four fails, and one in eight is refused where there is a word
    for it."""
    found = number(f"fate {_words(case)}", 0, 15)
    if found < 4:
        return {"error": "told to fail"}
    return {getattr(case, "REFUSED", "error"): "no"} if found < 6 else told(case)


@functools.cache
def _candidates(config, choice, algorithm, wanted):
    """As :func:`sw.study.reproduce.space.candidates`, without a planner: some departures under one
    schedule."""
    found, refused = [], 0
    for schedule, format, direction in itertools.product(
            wanted.schedules, wanted.formats[:2], algorithms.find(algorithm).directions):
        for departure in ("", "blocked", "halved", "chosen", "ordered", "fused")[
                :6 if schedule == wanted.schedules[0] else 1]:
            frontier = wanted.frontiers[number(
                f"{schedule} {format} {direction} {departure}", 0, len(wanted.frontiers) - 1)]
            try:
                case = space.tried(
                    config, choice, algorithm, schedule=schedule, format=format,
                    direction=direction, blocked=departure == "blocked",
                    halved=departure == "halved")
            except UserError:
                refused += 1
                continue
            found.append(space.SettledCandidate(
                schedule, format, direction, *(departure == name for name in ("blocked", "halved")),
                frontier, *(departure == name for name in ("chosen", "ordered", "fused")),
                bool(departure), case))
    return space.Found(tuple(found), len(found) + refused, refused)


def text(figure, record, setting=SETTING):
    """A figure's outcome as lines."""
    cases = figure.cases(setting)
    words = [_words(case) for case in cases]
    yield f"cases: {len(cases)}, of which {len(set(cases))} differ: {expected.digest(words)}"
    outcome = figure.outcome(setting, CaseRecords({case: record(case) for case in cases}))
    for table in filter(None, (*outcome.tables, outcome.compared())):
        yield table.markdown()
    for plot in outcome.plots:
        yield (f"plot: {plot.title}; {plot.label}; {', '.join(plot.groups)}; "
               f"{', '.join(plot.series)}: {expected.digest(dataclasses.asdict(plot))}")
    yield f"data: {expected.digest(outcome.data)}"
    yield from (f"note: {note}" for note in outcome.notes)


def _described(paper, name):
    """A figure as a text: whole if all runs are good, and a digest of it where some failed."""
    figure = reproduce.find(paper).find(name)
    with mock.patch.object(space, "candidates", _candidates):
        with _gpu("no GPU answers"):
            good = list(text(figure, told))
        with _gpu(None):
            failed = "\n".join(text(figure, with_failures))
        return "\n".join([*good, "with failures, and a GPU: "
                          f"{failed.count('failed')} cells, {expected.digest(failed)}"])


@contextlib.contextmanager
def _gpu(absence):
    """The GraphVM cuda runs, or not for the reason ``absence``."""
    with contextlib.ExitStack() as stack:
        for module in ("runs", "machines", "balance", "blocking", "fusion"):
            stack.enter_context(mock.patch(f"sw.study.reproduce.ugf.{module}.absence",
                                           return_value=absence))
        yield


@pytest.mark.parametrize("paper, name", FIGURES)
def test_figure(paper, name):
    expected.check(FOLDER / f"{paper}.txt", name, _described(paper, name))


def test_no_other():
    """Every expected text has its figure."""
    assert [(path.stem, name) for path in sorted(FOLDER.iterdir())
            for name in expected.names(path)] == FIGURES
