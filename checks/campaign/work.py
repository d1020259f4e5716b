"""Work on points of the campaign, with a separate process for each point.

So a simulator that crashes, or takes all memory, fails only its own configuration. No state of a
configuration remains for the next one.
"""

import contextlib
import json

from checks.campaign.checks import Check
from sw.study.benchmarks.records import RecordsFile
from sw.study.benchmarks.sources import digest
from sw.study.benchmarks.workers import tell


__all__ = ["Work"]


#: Sources on which a record depends, besides its configuration and the options.
_SOURCES = ("base", "hw", "sim", "sw", "checks/campaign")


def _check(point, instructions, seed):
    """A piece of work: check a point. Returns its record."""
    return Check(point.number, point.config, instructions=instructions, seed=seed,
                 report=tell).run()


class Work:
    """Points to check, and the file of their records.

    Parameters
    ----------
    points : sequence of Point
    instructions, seed : int
        As for :class:`checks.campaign.checks.Check`.
    path : str or None
        The file of the records. Points that passed with the same sources and options are not
        checked again.

    Attributes
    ----------
    records : dict of int to dict
        The records of the checked points, by the points' numbers.
    """

    def __init__(self, points, *, instructions, seed, path=None):
        self.points, self.records = tuple(points), {}
        self._instructions, self._seed = instructions, seed
        self._file, self._sources = RecordsFile(path), digest(*_SOURCES)
        keys = {self._key(point): point.number for point in self.points}
        for key, record in self._file.read():
            if key in keys and record.get("failures") == []:
                self.records[keys[key]] = record

    @staticmethod
    def begun(instructions, path):
        """Seed of the newest record in the file with this number of instructions and these sources.

        None if there is no such record. An interrupted campaign goes on with this seed.
        """
        sources, found = digest(*_SOURCES), None
        for key, _ in RecordsFile(path).read():
            with contextlib.suppress(ValueError):
                _, of, seed, made = json.loads(key)
                if (of, made) == (instructions, sources):
                    found = seed
        return found

    def _key(self, point):
        return json.dumps([point.config.name, self._instructions, self._seed, self._sources])

    def run(self, executor, report, progress):
        """Check the points that have no record yet.

        Parameters
        ----------
        executor : Executor
        report : callable
            Called with (point, record) at the end of each point.
        progress : callable
            Called with (point, text) when a process reports its progress.
        """
        def ended(point, record):
            if "error" in record:
                record = self._died(point, record)
            if not executor.here:
                record |= {"build_seconds": None, "seconds": None}
            self.records[point.number] = record = self._file.keep(self._key(point), record)
            report(point, record)

        left = [point for point in self.points if point.number not in self.records]
        executor.work(((point, (_check, (point, self._instructions, self._seed)))
                       for point in left), ended, told=progress, fresh=True)

    def _died(self, point, record):
        """The record for a process that ended without a record of its own."""
        return Check(point.number, point.config, instructions=self._instructions,
                     seed=self._seed).died(record.get("traceback", record["error"]))
