"""Many cases on several processors. Seed and name alone determine a case."""

import atexit
import contextlib
import dataclasses
import functools
import importlib
import io
import pkgutil
import random
import shlex
import sys
from collections.abc import Callable

import typer

from base.errors import UserError
from base.installation import ROOMS, ROOT
from base import numbers
from sw.study.benchmarks.executors import Processes

from . import corpus, files, verdict
from .cell import Folder, run
from .lines import Lines


__all__ = ["FuzzCase", "Cases", "CommandLine", "KINDS", "fuzz", "parse"]


#: Kinds of cases: a mutated command line, and a command with a mutated file.
KINDS = ("line", "file")

#: Cases that a process runs before it reports.
_BATCH = 50


@dataclasses.dataclass(frozen=True)
class CommandLine:
    """The program that is tried: functions of a module, which other processes import."""
    main: Callable[[list[str]], int]  #: Performs the command of these words; gives the exit code.
    app: Callable[[], typer.Typer]  #: Gives all commands.


class FuzzCase:
    """A command, and the mutated file that it reads, if there is one.

    Parameters
    ----------
    name : str
        Kind and number, as in ``line:17``.
    words : list of str
        The command line without the program's name.
    file : str or None
        Name of the mutated file.
    data : bytes or None
        Contents of the mutated file.
    """
    def __init__(self, name, words, file=None, data=None):
        self.name, self.words, self.file, self.data = name, words, file, data

    @property
    def text(self):
        """The command as a shell takes it, in printable characters, cut after 300 characters."""
        shown = shlex.join(self.words).encode(errors="backslashreplace").decode()
        shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in shown)
        return shown if len(shown) <= 300 else f"{shown[:200]}… ({len(shown)} characters)"


def parse(name):
    """Kind and number of the case of a name such as ``line:17``.

    Raises UserError if no case can have this name.
    """
    kind, _, text = name.partition(":")
    number = numbers.integer(text)
    if kind not in KINDS or number is None or number < 0:
        raise UserError(f"there is no case {name!r}: must be "
                        + " or ".join(f"{kind}:NUMBER" for kind in KINDS))
    return kind, number


def _action(main, words):
    if words[0] != files.LOAD_IMAGE:
        return main(words)
    from sw.compile.formats import store
    try:
        store.load(words[1])
    except UserError as error:
        print(f"graphloom: error: {error}", file=sys.stderr)
        return 2
    return 0


def _load_all(main):
    """Import every module and run a command, so that cases need no time for this."""
    for room in ROOMS:
        for found in pkgutil.walk_packages([str(ROOT / room)], f"{room}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        main(["graph", "info", "karate"])
        main(["run", "bfs", "karate", "--source", "x"])


class Cases:
    """The cases of a program with a seed, and a folder to run them in.

    Parameters
    ----------
    program : CommandLine
    seed : int
    """
    def __init__(self, program, seed):
        _load_all(program.main)
        self._main, self._seed, self._lines = program.main, seed, Lines(program.app())
        self.folder = Folder(corpus.build)

    def make(self, name) -> FuzzCase:
        """The case of this name. Equal seeds and names give equal cases.

        Raises UserError as :func:`parse` does.
        """
        kind, number = parse(name)
        rng = random.Random(f"{self._seed} {kind} {number}")
        if kind == "line":
            return FuzzCase(name, self._lines.mutated(rng))
        suffix = rng.choice(corpus.KINDS)
        data = files.mutated(rng, suffix, rng.choice(self.folder.made[suffix]).read_bytes())
        file, words = f"fuzz{suffix}", rng.choice(files.commands(suffix))
        return FuzzCase(name, [file if word == "FILE" else word for word in words], file, data)

    def run(self, case):
        """Run a case. Returns its :class:`checks.campaign.fuzz.cell.End` and the fault, or None."""
        if case.file is not None:
            (self.folder.path / case.file).write_bytes(case.data)
        end = run(functools.partial(_action, self._main, case.words), self.folder.path)
        changes = self.folder.changes()
        found = verdict.fault(end, [name for name in changes if name != case.file],
                              small=case.file is not None)
        if changes:
            self.folder.restore()
        return end, found


@functools.cache
def _cases(program, seed):
    cases = Cases(program, seed)
    atexit.register(cases.folder.close)
    return cases


def _batch(program, seed, names):
    """A piece of work: run cases, count ends, list faults."""
    cases, counts, faults = _cases(program, seed), {}, []
    for name in names:
        case = cases.make(name)
        end, fault = cases.run(case)
        kind = verdict.outcome(end)
        counts[kind] = counts.get(kind, 0) + 1
        if fault is not None:
            faults.append({"case": name, "command": case.text, "fault": fault,
                           "stderr": end.err[-2000:], "file": case.file,
                           "data": None if case.data is None else case.data.hex()})
    return {"counts": counts, "faults": faults}


def fuzz(program, seed, names, jobs, report):
    """Run cases on several processors.

    Parameters
    ----------
    program : CommandLine
    seed : int
    names : list of str
        Names of cases, as in ``line:17``.
    jobs : int
        Processes.
    report : callable
        Called repeatedly with ``counts``, the number of cases by outcome, and ``faults``, a list of
        dicts: ``case``, ``command``, ``fault``, ``stderr``, ``file`` and ``data`` (the mutated file
        as hexadecimal digits, or None). If a process of the fuzzer dies, all its cases have a
        fault.
    """
    def ended(piece, record):
        if "error" in record:
            record = {"counts": {"other": len(pieces[piece][1][2])}, "faults": [
                {"case": piece, "command": "", "fault": f"the fuzzer's process: {record['error']}",
                 "stderr": record.get("traceback", ""), "file": None, "data": None}]}
        report(record["counts"], record["faults"])

    batches = [names[first:first + _BATCH] for first in range(0, len(names), _BATCH)]
    pieces = {f"{batch[0]} to {batch[-1]}": (_batch, (program, seed, batch)) for batch in batches}
    Processes(jobs).work(pieces.items(), ended)
