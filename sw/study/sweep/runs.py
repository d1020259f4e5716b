"""Running a sweep, and going on with one that was stopped."""

import dataclasses
import os
import pathlib

from base.errors import UserError
from hw.config import HardwareConfig, preset
from sim.dram import DramConfig
from sw.study.benchmarks.batch import notes_of
from sw.study.benchmarks.executors import Executor, Processes
from sw.study.benchmarks.records import RecordsFile
from sw.study.tune.runs import sources

from .points import SweepPoints
from .rows import SweepResult, rows_of
from .spec import SweepSpec


__all__ = ["RECORDS", "TABLE", "SweepRun", "sweep"]


#: Files in the folder of a sweep: a line of JSON for each run, and the rows.
RECORDS, TABLE = "runs.jsonl", "runs.csv"

#: Beginning of the key of the first line.
_HEAD = "sweep"

_VERSION = 1


class SweepRun:
    """A sweep and the folder of its files. A folder with a part of the same sweep is gone on with.

    ``batch`` has the cases, and the records of those that have been run.

    Parameters
    ----------
    spec : SweepSpec
    output : str or path or None
        The folder, which may be missing; None if nothing is kept.

    Raises
    ------
    UserError
        The folder has other files, another sweep, or one that was measured with other sources. It
        is as it was before.
    """

    def __init__(self, spec, output=None):
        self._spec, self.points = spec, SweepPoints(spec)
        self._folder = None if output is None else pathlib.Path(output)
        path = None if self._folder is None else self._folder / RECORDS
        self._file = RecordsFile(path)
        self._begun = self._head_of_file()
        self.batch = self.points.grid.batch(preset("default"), DramConfig(), path, sources())

    @property
    def _head(self):
        return {"version": _VERSION, "sources": sources(), "sweep": self._spec.record,
                "columns": list(self.points.columns.items()), "refused": self.points.refused}

    def _head_of_file(self):
        """Whether the file has this sweep's first line."""
        folder = self._folder
        if folder is None or not os.path.lexists(folder):
            return False
        if not folder.is_dir():
            raise UserError(f"{folder}: is no folder; name a new one")
        names = sorted(entry.name for entry in folder.iterdir())
        if RECORDS not in names:
            if names:
                raise UserError(f"{folder}: has files that are of no sweep, such as {names[0]}; "
                                "name another folder")
            return False
        first = next(self._file.read(), None)
        if first is None:
            return False
        key, head = first
        where = f"{folder / RECORDS}: has"
        if key != _HEAD or head.get("version") != _VERSION:
            raise UserError(f"{where} no sweep of this version; name another folder")
        for name in {**head["sweep"], **self._head["sweep"]}:
            one, other = (each["sweep"].get(name) for each in (head, self._head))
            if one != other:
                raise UserError(f"{where} another sweep: its {name} are {one!r}, not {other!r}; "
                                "name another folder")
        if head["sources"] != sources():
            raise UserError(f"{where} runs of other sources of Graphloom, whose cycles do not "
                            "compare with new ones; name another folder, and see graphloom diff")
        return True

    def run(self, executor: Executor, ended=lambda case, record: None, begun=lambda case: None):
        """Run what has no record yet. ``begun`` and ``ended`` are called with a case, and with a
        case and its record. Returns the :class:`~sw.study.sweep.rows.SweepResult`, which is in the
        folder as well. Raises UserError."""
        if self._folder is not None and not self._begun:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"{self._folder}: cannot be made: {error.strerror}") from None
            self._file.keep(_HEAD, self._head)
            self._begun = True
        self.batch.run(executor, lambda case, record, done, total: ended(case, record), begun)
        result = self.result()
        if self._folder is not None:
            result.write(self._folder / TABLE)
        return result

    def result(self):
        """What has been measured so far."""
        done = self.batch.records
        runs = [(dict(case.said), done[case]) for case in self.batch.cases if case in done]
        runs += [(said, {"refused": reason}) for said, reason in self.points.refused]
        return SweepResult(rows_of(runs, self.points.columns), self.points.columns,
                           notes_of(done.values()))


def sweep(graphs, algorithms, schedules=None, configs=None, repeats=1, *, output=None,
          workers=None, **more) -> SweepResult:
    """Run graphs x algorithms x schedules x configurations x seeds on the simulated GPU.

    Parameters
    ----------
    graphs : list of str
        Files, names of the catalogue, or generators, as :func:`~sw.graph.load.load` takes them.
    algorithms : list of str
        Names of algorithms, or texts of plans such as ``"bfs(source=3) direction=push"``.
    schedules : list of str, optional
        Those of :func:`~sw.study.benchmarks.schedules.best` if left out.
    configs : str, HardwareConfig, dict, or list of these, optional
        Hardware: the name of a preset; a configuration; or ``preset`` and fields of a
        configuration, of which lists are axes.
    repeats : int
        Seeds of each graph that is drawn at random, 0 to ``repeats`` - 1. A graph whose text has
        its seed, and of which nothing is drawn, is run once: the simulation is exact.
    output : str or path, optional
        Folder for ``runs.jsonl`` and ``runs.csv``. Runs that are in it are not repeated.
    workers : int or Executor, optional
        Processes; as many as there are processors if left out.
    **more
        Further keys of a sweep's file: ``plan``, ``graph`` and ``dram``, each a dict;
        ``max_cycles`` and ``launch_cycles``.

    Raises
    ------
    UserError
        For bad input, with its place; and for a folder with other contents. A run that is refused
        or fails is no error: its row has the reason.
    """
    lists = {"graphs": graphs, "algorithms": algorithms, "schedules": schedules}
    record = {name: [given] if isinstance(given, str) else list(given)
              for name, given in lists.items() if given is not None}
    if configs is not None:
        record["hardware"] = [_table(each) for each in
                              (configs if isinstance(configs, list | tuple) else [configs])]
    executor = workers if isinstance(workers, Executor) else Processes(
        workers or os.cpu_count() or 1)
    with executor:
        return SweepRun(SweepSpec(record | {"repeats": repeats} | more), output).run(executor)


def _table(config):
    """A configuration as a table of a sweep's file."""
    if isinstance(config, str):
        return {"preset": config}
    if not isinstance(config, HardwareConfig):
        return dict(config)
    default = preset("default")
    return {name: value for name, value in dataclasses.asdict(config).items()
            if name != "name" and value != getattr(default, name)}
