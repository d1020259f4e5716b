"""Every figure, whole: its cases, tables, plots, comparisons, numbers and notes, from records that
are made from the cases. So each number of a figure says which runs it comes from.

The expected texts are in ``outcomes/``, one file for each paper. After a change of a figure that is
meant, ``python -m tb.sw.study.reproduce.test_outcomes`` writes them again: read the difference.
"""

import contextlib
import dataclasses
import functools
import itertools
import json
import pathlib
from unittest import mock
import zlib

import pytest

from base.errors import UserError
from hw.config import preset
from hw.isa import PHASES
from hw.registers import COUNTERS
from sim.dram import DramConfig
from sw.compile import algorithms
from sw.study import reproduce
from sw.study.benchmarks.grid import CaseRecords
from sw.study.reproduce import space
from sw.study.reproduce.sage.beyond import Frontiers
from sw.study.reproduce.setting import GraphChoice, Setting


FOLDER = pathlib.Path(__file__).parent / "outcomes"

#: How vertices belong to two devices, of a figure of SAGE.
WAYS = ("by turns", "by communities")

GRAPHS = (GraphChoice("power", "rmat:scale=6,degree=4,seed=1"),
          GraphChoice("road", "road:side=4,seed=1", undirected=False),
          GraphChoice("karate", "karate", undirected=False, counts=False))

SETTING = Setting(preset("default"), DramConfig(), simulated=GRAPHS, wide=GRAPHS, stored=GRAPHS,
                  brief=GRAPHS, tuned=GRAPHS[:2], skewed=GRAPHS[:2], crossed=GRAPHS[:2],
                  timed=GRAPHS[:2], repeat=2)

PAPERS = ("cr2", "graphpeg", "grassembler", "sage", "scu", "sparseweaver", "ugf")

#: Figures that count the lines of the present sources.
COUNTED = ("sec2.5.3", "table6.8")

FIGURES = [(paper, figure.name) for paper in PAPERS for figure in reproduce.find(paper).figures
           if figure.name not in COUNTED]

#: Kernels of a run: those that some figure asks for.
STEPS = ("init", "spmm", "spmm_2", "graphsum", "prepare", "filter edges", "group edges",
         "gather_expand", "expand edges", "expand weights", "replicate values", "compact values",
         "contract", "compact frontier", "compact far", "advance", "rank")


def _number(words, low=1000, high=9999):
    """A number that is always the same for these words."""
    return low + zlib.crc32(words.encode()) % (high - low + 1)


def _differences(value, base):
    """The fields of a configuration that are not those of another."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)
            if field.name != "name" and getattr(value, field.name) != getattr(base, field.name)}


@functools.cache
def _words(case):
    """All that a case is, as a text: the hardware by its differences from the setting's."""
    parts = [type(case).__name__, json.dumps(case.record(), sort_keys=True),
             str(_differences(case.hardware(SETTING.config), SETTING.config))]
    if hasattr(case, "memory"):
        parts.append(str(_differences(case.memory(SETTING.dram), SETTING.dram)))
    return " ".join(parts)


class _Record(dict):
    """The record of a case, with every value that a figure may ask for, made when it is asked."""

    def __init__(self, case):
        super().__init__()
        self._case, self._seed = case, _number(_words(case), 0, 1 << 32)

    def _number(self, *words, low=1000, high=9999):
        return _number(f"{self._seed} {' '.join(map(str, words))}", low, high)

    def _numbers(self, words, *more):
        return {word: self._number(*more, word) for word in words}

    def get(self, name, default=None):
        return self[name]

    def __contains__(self, name):
        return name not in ("error", "refused")

    def __missing__(self, name):
        make = getattr(self, f"_{name}", None)
        self[name] = found = make() if make else None if name not in self else self._number(name)
        return found

    def _orders(self):
        return self._number("orders", low=2, high=40)

    def _phases(self):
        return [self._number("phase", name) for name in (*PHASES, "all")]

    def _counters(self):
        return self._numbers(COUNTERS)

    def _steps(self):
        return {step: self._numbers(COUNTERS, step) for step in STEPS}

    def _set_cycles(self):
        return [["gather", self._number("set", place)] for place in range(4)]

    def _intra_share(self):
        return self._number("share") / 10000

    def _expand_bytes(self):
        return self._number("expand", low=100, high=900)

    def _arrays(self):
        return {name: ["<u4", self._number(name, high=2000)] for name in (
            "offsets", "edges", "targets", "intra", "expand")}

    def _share(self):
        return {way: [self._number(way, place) / 10000 for place in range(4)] for way in WAYS}

    def _sent(self):
        return {way: [self._number("sent", way, place) for place in range(4)] for way in WAYS}

    def _lines(self):
        return [self._number("line", place) / 1000 for place in range(len(self._case.orders))]

    def _iterations(self):
        return self._numbers(("vm", "wm", "em"))

    def _ways(self):
        return [way[0] for way in getattr(self._case, "ways", ())] or self._case.formats

    def _seconds(self):
        return {name: [self._number("seconds", name, turn) / 1e6 for turn in range(3)]
                for name in self._ways()}

    def _preparation(self):
        return {name: self._number("preparation", name) / 1e6 for name in self._ways()}

    def _in_program(self):
        return self._numbers(("barriers", "atomics", "shuffles", "instructions"), "in")

    def _executed(self):
        return self._numbers(("barriers", "atomics", "shuffles", "instructions"), "done")

    def _arcs(self):
        if isinstance(self._case, Frontiers):
            return [self._number("arcs", place) for place in range(4)]
        return self._number("arcs", high=160_000)


def _with_failures(case):
    """A record in which one run in four fails, and one in eight is refused where there is a word
    for it."""
    found = _number(f"fate {_words(case)}", 0, 15)
    if found < 4:
        return {"error": "told to fail"}
    return {getattr(case, "REFUSED", "error"): "no"} if found < 6 else _Record(case)


@functools.cache
def _candidates(config, choice, algorithm, wanted):
    """As :func:`sw.study.reproduce.space.candidates`, without a planner: some departures under one
    schedule."""
    found, refused = [], 0
    for schedule, format, direction in itertools.product(
            wanted.schedules, wanted.formats[:2], algorithms.find(algorithm).directions):
        for departure in ("", "blocked", "halved", "chosen", "ordered", "fused")[
                :6 if schedule == wanted.schedules[0] else 1]:
            frontier = wanted.frontiers[_number(
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


def _plain(value):
    """A value of JSON, whose numbers have six digits."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _text(figure, record):
    """A figure's outcome as lines."""
    cases = figure.cases(SETTING)
    words = [_words(case) for case in cases]
    yield f"cases: {len(cases)}, of which {len(set(cases))} differ: {_digest(words)}"
    outcome = figure.outcome(SETTING, CaseRecords({case: record(case) for case in cases}))
    for table in filter(None, (*outcome.tables, outcome.compared())):
        yield table.markdown()
    for plot in outcome.plots:
        yield (f"plot: {plot.title}; {plot.label}; {', '.join(plot.groups)}; "
               f"{', '.join(plot.series)}: {_digest(dataclasses.asdict(plot))}")
    yield f"data: {_digest(outcome.data)}"
    yield from (f"note: {note}" for note in outcome.notes)


def _digest(value):
    """A short digest of what JSON can hold."""
    return f"{zlib.crc32(json.dumps(_plain(value)).encode()):08x}"


def _described(paper, name):
    """A figure as a text: whole if all runs are good, and a digest of it where some failed."""
    figure = reproduce.find(paper).find(name)
    with mock.patch.object(space, "candidates", _candidates):
        with _gpu("no GPU answers"):
            good = list(_text(figure, _Record))
        with _gpu(None):
            failed = "\n".join(_text(figure, _with_failures))
        return "\n".join([f"# {name}", *good, "with failures, and a GPU: "
                          f"{failed.count('failed')} cells, {_digest(failed)}", ""])


@contextlib.contextmanager
def _gpu(absence):
    """The GraphVM cuda runs, or not for the reason ``absence``."""
    with contextlib.ExitStack() as stack:
        for module in ("runs", "machines", "balance", "blocking", "fusion"):
            stack.enter_context(mock.patch(f"sw.study.reproduce.ugf.{module}.absence",
                                           return_value=absence))
        yield


@functools.cache
def _expected(paper):
    """{figure: text} of a paper's file."""
    text = (FOLDER / f"{paper}.txt").read_text()
    return {part.partition("\n")[0]: f"# {part}" for part in text.removeprefix("# ").split("\n# ")}


@pytest.mark.parametrize("paper, name", FIGURES)
def test_figure(paper, name):
    assert _described(paper, name).splitlines() == _expected(paper)[name].splitlines()


def test_no_other():
    """Every expected text has its figure."""
    assert [(path.stem, name) for path in sorted(FOLDER.iterdir()) for name in _expected(
        path.stem)] == FIGURES


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in PAPERS:
        (FOLDER / f"{each}.txt").write_text("\n".join(
            _described(paper, name) for paper, name in FIGURES if paper == each))
