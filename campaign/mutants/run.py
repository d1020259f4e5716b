"""Runs the tests or proof that ought to notice each planted fault, on a copy of the sources.

Each run has a separate folder with a copy of the project's sources and a cache for the mutant's
builds. Both are deleted with the folder. Earlier builds are read from the user's cache. Nothing is
written into the project.

An executor does the runs, here or on other machines. The records of runs on other machines have no
wall time.
"""

import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from xml.etree import ElementTree

from campaign.mutants.mutant import ROOT
from sim import cache, toolchain
from sim.children import tied
from sim.errors import ToolError
from sw.benchmarks.records import RecordsFile
from sw.benchmarks.sources import digest
from sw.errors import UserError


__all__ = ["KILLED", "MutantWork", "agrees", "fair"]


#: Folders and files that are copied.
_FOLDERS = ("campaign", "datasets", "docs", "examples", "formal", "hw", "sim", "sw", "synth", "tb")
_FILES = ("README.md", "graphloom", "graphloom.py", "hatch_build.py", "pyproject.toml",
          "requirements.lock", "requirements-all.lock")

#: Sources on which a record depends, besides the mutant itself.
_SOURCES = ("campaign/mutants/mutant.py", "campaign/mutants/refute.py", "campaign/mutants/run.py",
            "formal", "hw", "sim", "sw", "synth", "tb")

#: Outcomes of a run that noticed the fault: a test fails; a proof is refuted; the mutant does not
#: build; the mutant cannot be imported; the tests do not end in time.
KILLED = ("failed", "refuted", "does not build", "cannot be imported", "timeout")

#: Exit codes of pytest: all tests passed; some failed; interrupted, as by an error of an import;
#: unknown test; no test was run.
_PASSED, _FAILED, _INTERRUPTED, _USAGE, _NONE = 0, 1, 2, 4, 5


def _copy_sources(folder):
    """Copy the project's sources, with their files compiled by Python."""
    for name in _FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in _FILES:
        shutil.copy2(ROOT / name, folder / name)


def _command(mutant, folder):
    """Command line that runs the tests or proof that ought to notice a mutant."""
    if mutant.proof is not None:
        proof = mutant.proof
        return [sys.executable, "-m", "campaign.mutants.refute", proof.unit, proof.name,
                proof.shape, str(proof.depth)]
    tests = mutant.tests
    if toolchain.icarus() is None:
        tests = [test.replace("[icarus", "[verilator") for test in tests]
    return [sys.executable, "-m", "pytest", "-q", "-x", "--no-header",
            f"--junit-xml={folder / 'results.xml'}", *tests]


def _reports(folder):
    """(tests that ran, tests that were skipped, a line for each failed test)."""
    try:
        root = ElementTree.parse(folder / "results.xml").getroot()
    except (OSError, ElementTree.ParseError):
        return 0, 0, []
    cases = list(root.iter("testcase"))
    skipped = sum(case.find("skipped") is not None for case in cases)
    failures = [" ".join((part.get("message") or "").partition("\n")[0].split())[:200]
                for case in cases for part in (*case.findall("failure"), *case.findall("error"))]
    return len(cases) - skipped, skipped, failures


def _judge(mutant, code, folder):
    """Outcome of a run that ended, and a line of detail."""
    output = (folder / "output.txt").read_text(errors="replace")
    last = " ".join((output.strip().splitlines() or [""])[-1].split())[:200]
    if mutant.proof is not None:
        return {0: "held", 1: "refuted"}.get(code, "error"), last
    ran, skipped, failures = _reports(folder)
    if code == _PASSED:
        return ("passed", last) if ran and not skipped else ("skipped", last)
    if failures and code in (_FAILED, _INTERRUPTED, _USAGE):
        if code != _FAILED:
            return "cannot be imported", failures[0]
        return "does not build" if "BuildError" in failures[0] else "failed", failures[0]
    if code == _USAGE and "while loading conftest" in output:
        return "cannot be imported", last
    return "error", f"exit code {code}: {last}"


def agrees(mutant, record) -> bool:
    """Whether a mutant's outcome agrees with the table."""
    return record["outcome"] in KILLED if not mutant.survives else record["outcome"] in (
        "passed", "held")


def fair(record) -> bool:
    """Whether tests or a proof pass on sources without a fault, so that their failure counts."""
    return record["outcome"] in ("passed", "held")


def _one(mutant, fault, timeout):
    """A piece of work: run the tests or proof, with or without the fault. Returns the record."""
    try:
        place = cache.folder("mutants")
    except ToolError as error:
        return {"unable": str(error)}
    folder = None
    try:
        folder = pathlib.Path(tempfile.mkdtemp(dir=place))
        sources = folder / "sources"
        sources.mkdir()
        _copy_sources(sources)
        if fault:
            (sources / mutant.file).write_text(mutant.patched())
        began = time.perf_counter()
        outcome, detail = _wait(mutant, folder, sources, fault, timeout)
        return {"name": mutant.name if fault else None, "outcome": outcome, "detail": detail,
                "seconds": round(time.perf_counter() - began, 1)}
    except OSError as error:
        return {"unable": f"{place}: the sources cannot be copied here: "
                          f"{error.strerror or error}"}
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _wait(mutant, folder, sources, fault, timeout):
    """Run the tests or proof in a folder. Returns the outcome and a line of detail."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("PYTEST_", "COCOTB_"))
                   and name != "GRAPHLOOM_WAVES"}
    environment |= {"PYTHONPATH": str(sources), "PYTHONSAFEPATH": "1"}
    if fault:           # its builds are deleted with the run
        environment |= {"GRAPHLOOM_CACHE": str(folder / "cache"),
                        "GRAPHLOOM_CACHE_SHARED": str(cache.root())}
    with open(folder / "output.txt", "w") as output:
        process = subprocess.Popen(
            _command(mutant, folder), cwd=sources, env=environment, stdout=output,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=tied())
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            return "timeout", f"no end after {timeout:g} s"
        finally:
            # Also end simulations that the tests have started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return _judge(mutant, code, folder)


class MutantWork:
    """Mutants to run, and the file of their records.

    Parameters
    ----------
    mutants : sequence of Mutant
    timeout : float
        Time limit in seconds for the tests of one mutant.
    path : str or None
        The file of the records. Mutants with a record for the same sources are not run again.

    Attributes
    ----------
    records : dict of str to dict
        By the name of a mutant: ``outcome``, one of :data:`KILLED` or ``"passed"`` or ``"held"``;
        ``detail``, a line; ``seconds``, or None if another machine ran it.
    unfair : dict of tuple to dict
        Records of the tests or proofs that did not pass on sources without a fault, by these tests
        or proofs.

    Raises
    ------
    UserError
        The file is not a file of records.
    """

    def __init__(self, mutants, *, timeout=600.0, path=None):
        self.mutants, self.records, self.unfair = tuple(mutants), {}, {}
        self._timeout, self._file = timeout, RecordsFile(path)
        self._sources = digest(*_SOURCES)
        self._kept = dict(self._file.read())
        for mutant in self.mutants:
            record = self._kept.get(self._key(mutant))
            if record is not None:
                self.records[mutant.name] = record

    def _key(self, mutant, *, fault=True):
        """Key of a mutant's record, or of its tests on sources without the fault."""
        what = [mutant.name, mutant.file, mutant.place, mutant.old, mutant.new, mutant.occurrence]
        return json.dumps([what if fault else None, mutant.notices, self._sources])

    def run(self, executor, report, begun=lambda mutant: None):
        """Run every mutant that has no record yet.

        Mutants can share their tests. Before the first of such mutants, their tests run without a
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
        groups = {}
        for mutant in self.mutants:
            if mutant.name not in self.records:
                groups.setdefault(mutant.notices, []).append(mutant)
        queue = collections.deque()         # pairs: a mutant, and whether its fault is planted
        untried = len(groups)               # groups whose tests have not passed or failed yet
        for members in groups.values():
            kept = self._kept.get(self._key(members[0], fault=False))
            if kept is None:
                queue.append((members[0], False))
            else:
                untried -= 1
                queue.extend(self._allowed(members, kept))

        def pieces():
            while queue or untried:
                if queue:
                    mutant, fault = queue.popleft()
                    yield (mutant, fault), (_one, (mutant, fault, self._timeout))
                else:
                    yield None

        def ended(piece, record):
            nonlocal untried
            mutant, fault = piece
            record = self._judged(mutant, fault, record, executor.here)
            if fault:
                self.records[mutant.name] = record
                report(mutant, record)
            else:
                untried -= 1
                queue.extendleft(reversed(self._allowed(groups[mutant.notices], record)))

        executor.work(pieces(), ended, lambda piece: begun(piece[0]))

    def _judged(self, mutant, fault, record, here):
        """The record of a run, kept in the file unless its process failed."""
        if "unable" in record:
            raise UserError(record["unable"])
        if "error" in record:
            return {"name": mutant.name if fault else None, "outcome": "error",
                    "detail": record["error"], "seconds": None}
        if not here:
            record |= {"seconds": None}
        return self._file.keep(self._key(mutant, fault=fault), record)

    def _allowed(self, mutants, record):
        """Mutants that may run with their faults, among mutants that share their tests.

        None may run if the tests did not pass without a fault.
        """
        if not fair(record):
            self.unfair[mutants[0].notices] = record
            return []
        return [(mutant, True) for mutant in mutants]
