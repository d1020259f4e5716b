"""Runs the tests or the proof that ought to notice each mutant.

A mutant climbs the rungs of its ladder until a test fails. A campaign leaves out tests that do not
call the function with the fault (:mod:`~checks.campaign.mutants.reach`). The tests that noticed
must pass on sources without a fault; this is tried at the end, once for each test. An executor does
the runs, here or on other machines. The records of runs on other machines have no wall time.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import tempfile
import time

from base.errors import UserError
from checks.campaign.mutants import reach
from checks.campaign.mutants.mutant import ROOT
from checks.campaign.mutants.sandbox import Sandbox, copy_sources
from sim import cache, toolchain
from sim.errors import ToolError
from sw.study.benchmarks.records import RecordsFile
from sw.study.benchmarks.sources import digest


__all__ = ["NOTICED", "MutantWork"]


#: Sources on which the record of a survivor depends.
_SOURCES = ("base", "checks", "hw", "sim", "sw", "synth", "tb")

#: Outcomes of a mutant that is noticed: a test fails; a proof is refuted; the mutant does not
#: build; the mutant cannot be imported; the tests' process crashes, does not end in time, or takes
#: too much memory.
NOTICED = ("failed", "refuted", "does not build", "cannot be imported", "crashed", "timeout",
           "memory")

#: Signals by which a fault in C++ ends the process that has loaded it.
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)

#: Exit codes of pytest: all tests passed; some failed; interrupted, as by an error of an import;
#: unknown test; no test was run.
_PASSED, _FAILED, _INTERRUPTED, _USAGE, _NONE = 0, 1, 2, 4, 5

#: The line of pytest that names a test that failed, or a file that cannot be imported.
_FAILURE = re.compile(r"(?m)^(?:FAILED|ERROR) (tb/.*?)(?: - (.*))?$")

#: Tests without a fault that one process does.
_TOGETHER = 12


def _pytest(arguments):
    if toolchain.icarus() is None:           # then the benches on Verilator are all that there is
        arguments = [word.replace("[icarus", "[verilator") for word in arguments
                     if word not in ("-k", "not verilator", "not icarus", "icarus")]
    return ["-m", "pytest", "-q", "--no-header", *arguments]


def _judged(ended):
    """(outcome, detail, the test that failed) for an end of pytest."""
    if ended.limit:
        return ended.limit, "ended at the limit", ""
    last = " ".join((ended.output.strip().splitlines() or [""])[-1].split())[:200]
    if ended.code in (_PASSED, _NONE):
        return "passed", last, ""
    if ended.code is not None and -ended.code in _CRASHES:
        return "crashed", signal.Signals(-ended.code).name, ""
    found = _FAILURE.search(ended.output)
    if found is not None and ended.code in (_FAILED, _INTERRUPTED, _USAGE):
        detail = f"{found[1]}: {found[2] or ''}"[:200]
        if ended.code != _FAILED:
            return "cannot be imported", detail, ""
        return ("does not build" if "BuildError" in detail else "failed"), detail, found[1]
    if ended.code == _USAGE and "while loading conftest" in ended.output:
        return "cannot be imported", last, ""
    return "error", f"exit code {ended.code}: {last}", ""


def _refuted(proof, ended):
    """(outcome, detail, nothing) for the end of a proof."""
    last = " ".join((ended.output.strip().splitlines() or [""])[-1].split())[:200]
    outcome = ended.limit or {0: "passed", 1: "refuted"}.get(ended.code, "error")
    return outcome, f"{proof}: {last}", ""


def _refute(proof):
    return ["-m", "checks.campaign.mutants.refute", proof.unit, proof.name, proof.shape,
            str(proof.depth)]


def _climb(mutant, sandbox, timeout, choice):
    """Run the tests or the proof, with more arguments of pytest. Returns (outcome, detail, the test
    that failed)."""
    if mutant.proof is not None:
        return _refuted(mutant.proof, sandbox.run(_refute(mutant.proof), timeout))
    if choice:                               # observed tests take longer
        timeout *= 3
    for rung in mutant.rungs:
        outcome, detail, test = _judged(sandbox.run(_pytest(["-x", *choice, *rung]), timeout))
        if outcome in ("crashed", "timeout", "memory"):
            return outcome, f"{' '.join(rung)}: {detail}", json.dumps(rung)
        if outcome != "passed":
            return outcome, detail, test
    return "passed", "", ""


def _in_sandbox(session, function, file="", text=""):
    """A record from what a function does with a sandbox, or that there is no room for one."""
    began = time.perf_counter()
    folder = None
    try:
        place = cache.folder("mutants")
        here = bool(session)                 # elsewhere, the sources are those of this process
        folder = place / session / f"process-{os.getpid()}"
        with Sandbox(folder, place / session / "plain" if here else ROOT, file, text,
                     shared=place / session if here else None) as sandbox:
            return function(sandbox) | {"seconds": round(time.perf_counter() - began, 1)}
    except ToolError as error:
        return {"unable": str(error)}
    except OSError as error:
        return {"unable": f"{folder}: the sources cannot be copied here: "
                          f"{error.strerror or error}"}


def _one(mutant, session, timeout, whole):
    """A piece of work: run the tests or proof of a mutant, the whole ladder or the tests that call
    the function with the fault. Returns the record."""
    def climb(sandbox):
        choice = [] if whole else reach.arguments(mutant, cache.folder("mutants") / "notes")
        outcome, detail, test = _climb(mutant, sandbox, timeout, choice)
        return {"id": mutant.id, "outcome": outcome, "detail": detail, "test": test}
    return _in_sandbox(session, climb, mutant.file, mutant.after)


def _plain(tests, session, timeout):
    """A piece of work: run tests without a fault, or one rung that reached a limit. Returns a
    record with those that fail."""
    def run(sandbox):
        rung = tests[0].startswith("[")
        ended = sandbox.run(_pytest(json.loads(tests[0]) if rung else tests),
                            timeout * len(tests))
        if ended.code in (_PASSED, _NONE) and not ended.limit:
            return {"fail": []}
        failing = {found[1] for found in _FAILURE.finditer(ended.output)}
        return {"fail": sorted(failing & set(tests)) or list(tests)}
    return _in_sandbox(session, run)


class MutantWork:
    """Mutants to run, and the file of their records.

    A record of a mutant that was noticed counts as long as its file and its tests are the same; a
    record of a survivor, as long as no source file has changed.

    Parameters
    ----------
    mutants : sequence of Mutant
    timeout : float
        Limit of processor time in seconds, for each process of the tests of one rung.
    path : str or None
        The file of the records.
    whole : bool
        Whether all tests of a ladder run, and not only those that call the function with the fault.

    Attributes
    ----------
    records : dict of str to dict
        By the id of a mutant: ``outcome``, one of :data:`NOTICED` or ``"passed"``; ``detail``, a
        line; ``test``, the test that failed, or in JSON the rung that reached a limit; ``seconds``,
        or None if another machine ran it.
    unfair : set of str
        Tests and rungs that fail on sources without a fault. Their notices do not count.

    Raises
    ------
    UserError
        The file is not a file of records.
    """

    def __init__(self, mutants, *, timeout=200.0, path=None, whole=True):
        self.mutants, self.records, self.unfair = tuple(mutants), {}, set()
        self._timeout, self._whole, self._file = timeout, whole, RecordsFile(path)
        self._sources = digest(*_SOURCES)
        self._kept = dict(self._file.read())
        for mutant in self.mutants:
            for noticed in (True, False):
                record = self._kept.get(self._key(mutant, noticed))
                if record is not None:
                    self.records[mutant.id] = record

    def _key(self, mutant, noticed):
        return json.dumps([mutant.id, cache.hashed(mutant.after), mutant.notices,
                           "" if noticed else self._sources])

    def run(self, executor, report, begun=lambda mutant: None):
        """Run every mutant that has no record yet, and then the tests that noticed, without a
        fault.

        Parameters
        ----------
        executor : Executor
        report : callable
            Called with (mutant, record) at the end of each mutant.
        begun : callable
            Called with a mutant at its beginning.

        Raises
        ------
        UserError
            A folder for a run cannot be made.
        """
        def ended(mutant, record):
            self.records[mutant.id] = record = self._known(mutant, record, executor.here)
            report(mutant, record)

        with _session(executor.here) as session:
            executor.work(((mutant, (_one, (mutant, session, self._timeout, self._whole)))
                           for mutant in self.mutants if mutant.id not in self.records),
                          ended, begun)
            self._try_without_faults(executor, session)

    def _known(self, mutant, record, here):
        """The record of a run, kept in the file unless its process failed."""
        if "unable" in record:
            raise UserError(record["unable"])
        if "error" in record:
            return {"id": mutant.id, "outcome": "error", "detail": record["error"], "test": "",
                    "seconds": None}
        if not here:
            record |= {"seconds": None}
        if record["outcome"] == "error":     # tried again by the next command
            return record
        return self._file.keep(self._key(mutant, record["outcome"] in NOTICED), record)

    def _try_without_faults(self, executor, session):
        """Run the tests that noticed on sources without a fault, and forget what is unfair."""
        tests = sorted({record["test"] for record in self.records.values()} - {""})
        kept = {test: self._kept.get(self._plain_key(test)) for test in tests}
        left = [test for test in tests if kept[test] is None]

        def ended(piece, record):
            if "unable" in record or "error" in record:
                raise UserError(record.get("unable") or record["error"])
            for test in piece:
                kept[test] = self._file.keep(self._plain_key(test),
                                             {"fails": test in record["fail"]})

        single = [test for test in left if not test.startswith("[")]
        chunks = [single[begin:begin + _TOGETHER] for begin in range(0, len(single), _TOGETHER)]
        chunks += [[test] for test in left if test.startswith("[")]
        executor.work(((chunk, (_plain, (chunk, session, self._timeout))) for chunk in chunks),
                      ended)
        self.unfair = {test for test in tests if kept[test]["fails"]}

    def _plain_key(self, test):
        return json.dumps(["without a fault", test, self._sources])

    def outcome(self, mutant) -> str:
        """The outcome of a mutant: as in its record, or ``"unfair"`` or ``"not run"``."""
        record = self.records.get(mutant.id)
        if record is None:
            return "not run"
        return "unfair" if record["test"] in self.unfair else record["outcome"]


@contextlib.contextmanager
def _session(here):
    """The name of a folder in the cache with a copy of the sources, if the runs are here."""
    if not here:
        yield ""
        return
    try:
        folder = pathlib.Path(tempfile.mkdtemp(dir=cache.folder("mutants")))
    except (ToolError, OSError) as error:
        raise UserError(str(error)) from None
    try:
        (folder / "plain").mkdir()
        copy_sources(folder / "plain")
        yield folder.name
    except OSError as error:
        raise UserError(f"{folder}: the sources cannot be copied here: "
                        f"{error.strerror or error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
