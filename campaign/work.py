"""Work on points of the campaign, with a separate process for each point.

So a simulator that crashes, or takes all memory, fails only its own configuration. No state of a
configuration remains for the next one.
"""

import contextlib
import json
import multiprocessing
import multiprocessing.connection
import os

from campaign.checks import Check
from sim.children import end_with_parent
from sw.benchmarks.records import RecordsFile
from sw.benchmarks.sources import digest
from sw.benchmarks.workers import heed_signals


__all__ = ["Work"]


#: Sources on which a record depends, besides its configuration and the options.
_SOURCES = ("hw", "sim", "sw", "campaign")


def _check(pipe, parent, point, instructions, seed):
    """In the point's process: check, send lines of text, and last the record."""
    heed_signals()
    end_with_parent(parent)
    try:
        check = Check(point.number, point.config, instructions=instructions, seed=seed,
                      report=pipe.send)
        pipe.send(check.run())
    except KeyboardInterrupt:
        pass                       # the campaign was interrupted and reports this itself
    finally:
        pipe.close()


class Work:
    """Points to check, the file of their records, and the processes.

    Parameters
    ----------
    points : sequence of Point
    instructions, seed : int
        As for :class:`campaign.checks.Check`.
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

    def run(self, jobs, report, progress):
        """Check the points that have no record yet.

        Parameters
        ----------
        jobs : int
            Number of processes at a time.
        report : callable
            Called with (point, record) at the end of each point.
        progress : callable
            Called with (point, text) when a process reports its progress.
        """
        left = [point for point in self.points if point.number not in self.records]
        context = multiprocessing.get_context("spawn")
        running = {}
        try:
            while left or running:
                while left and len(running) < jobs:
                    self._start(context, left.pop(0), running)
                for pipe in multiprocessing.connection.wait(list(running)):
                    self._hear(pipe, running, report, progress)
        finally:
            for _, process in running.values():
                process.terminate()
                process.join()

    def _start(self, context, point, running):
        mine, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_check, args=(theirs, os.getpid(), point,
                                                       self._instructions, self._seed))
        process.start()
        theirs.close()
        running[mine] = point, process

    def _hear(self, pipe, running, report, progress):
        point, process = running[pipe]
        try:
            message = pipe.recv()
        except EOFError:
            process.join()
            message = self._died(point, process.exitcode)
        if isinstance(message, str):
            progress(point, message)
            return
        del running[pipe]
        process.join()
        pipe.close()
        self.records[point.number] = record = self._file.keep(self._key(point), message)
        report(point, record)

    def _died(self, point, code):
        """The record for a process that ended without a record."""
        return Check(point.number, point.config, instructions=self._instructions,
                     seed=self._seed).died(code)
