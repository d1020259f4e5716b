"""Which functions each test calls: a plugin of pytest that leaves out tests which cannot notice.

A test that passes while it is observed leaves a note: the project's functions that it calls, and
its processor time. A later run with a fault in a function leaves out the tests whose notes lack
that function. The rest run file by file, the cheapest files first. A note holds until the file of
the fault or that of the test changes. Only a test without such a note is observed, which doubles
its time.

What the tests of a file share counts for each of them: what is called while pytest collects them,
and fixtures of more than one test. A test that starts another Python counts for every function, as
what that one calls is not seen. So does every test for a fault outside a function, in RTL or in
C++: elaborated RTL and compiled C++ stay in the cache, where a later test finds them.

The note also limits a test: one that takes 20 s of a processor more than ten times its usual time
fails. So an endless loop ends soon, and has the name of its test.

A note may come from a run with another fault, which its test did not notice. It errs on one side
only: a test that is left out wrongly notices nothing.
"""

import ast
import contextlib
import inspect
import json
import multiprocessing.process
import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest

from checks.campaign.mutants.mutant import ROOT


__all__ = ["arguments"]


#: Rooms of the sources whose functions are noted.
_ROOMS = ("base/", "checks/", "sw/", "synth/")

#: What a test calls that starts another Python.
_ANYTHING = "anything"

#: The key of what all tests of a file share.
_SHARED = ""


class _TooLong(BaseException):
    """A test has reached its limit. No code under test takes it for an error of its own."""


def arguments(mutant, folder) -> list[str]:
    """Arguments of pytest that choose among the tests of a mutant, with notes in a folder. None for
    a fault that every test may notice."""
    function = _function(mutant)
    if function is None:
        return []
    changed = (ROOT / mutant.file).stat().st_mtime
    return ["-p", __name__, f"--calls={function}", f"--notes={folder}", f"--notes-since={changed}"]


def _function(mutant):
    """The function with the fault, as file and qualified name, or None."""
    if not mutant.file.endswith(".py") or not mutant.file.startswith(_ROOMS):
        return None
    names, node = [], ast.parse(mutant.before)
    while node is not None:
        found = node
        node = next((inner for inner in ast.walk(node) if inner is not node and isinstance(
            inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            and inner.lineno <= mutant.line <= inner.end_lineno), None)
        names += [node.name] if node is not None else []
    if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return f"{mutant.file}:{'.'.join(names)}"
    return None


def pytest_addoption(parser):
    parser.addoption("--calls", help="run the tests that call a function, FILE:NAME")
    parser.addoption("--notes", type=pathlib.Path, help="folder of the notes")
    parser.addoption("--notes-since", type=float, help="notes before this time do not hold")


def pytest_configure(config):
    config.pluginmanager.register(_Reach(config))


def _file(test):
    return test.partition("::")[0]


class _Reach:
    """Observes tests without a note, and chooses among those with one."""

    def __init__(self, config):
        self._root, self._function = f"{config.rootpath}{os.sep}", config.getoption("--calls")
        self._folder, self._since = config.getoption("--notes"), config.getoption("--notes-since")
        self._names, self._called = {}, set()
        self._notes, self._new, self._passed = {}, {}, True

    # Notes

    def _of(self, file):
        """{test: (seconds, functions)} of the notes of a file of tests that hold."""
        if file not in self._notes:
            with contextlib.suppress(OSError, ValueError, KeyError):
                self._notes[file] = self._read(file)
        return self._notes.setdefault(file, {})

    def _read(self, file):
        since = max(self._since, os.stat(file).st_mtime)
        text = json.loads(self._path(file).read_text())
        names = text["functions"]
        return {test: (seconds, {names[number] for number in numbers}, at)
                for test, (seconds, numbers, at) in text["tests"].items() if at > since}

    def _path(self, file):
        return self._folder / f"{file.replace('/', '.')}.json"

    def _add(self, test, seconds):
        called, self._called = self._called, set()
        file = _file(test)
        self._new.setdefault(file, {})[test.removeprefix(file)] = seconds, called, time.time()

    def pytest_unconfigure(self):
        self._folder.mkdir(parents=True, exist_ok=True)
        for file, new in self._new.items():
            self._notes.pop(file, None)      # another process may have added some meanwhile
            notes = self._of(file) | new
            names = sorted(set().union(*(called for _, called, _ in notes.values())))
            number = {name: index for index, name in enumerate(names)}
            path = self._path(file)
            part = path.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps({"functions": names, "tests": {
                test: (round(seconds, 3), [number[name] for name in called], at)
                for test, (seconds, called, at) in notes.items()}}))
            part.replace(path)

    # Observation

    @contextlib.contextmanager
    def _observed(self):
        """Collect the functions that are called, in all threads of this process."""
        threading.settrace(self._call)
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)

    def _call(self, frame, event, argument):
        code = frame.f_code
        try:
            name = self._names[code]
        except KeyError:
            name = self._names[code] = self._name(code)
        if name is not None:
            self._called.add(name)
        elif code is subprocess.Popen.__init__.__code__ and _is_python(frame.f_locals["args"]):
            self._called.add(_ANYTHING)

    def _name(self, code):
        if code is multiprocessing.process.BaseProcess.start.__code__:
            return _ANYTHING
        file = code.co_filename.removeprefix(self._root)
        if not code.co_flags & inspect.CO_OPTIMIZED or not file.startswith(_ROOMS):
            return None                      # a module, the body of a class, or another project's
        return f"{file}:{code.co_qualname.replace('.<locals>', '')}"

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        if not isinstance(collector, pytest.Module) or _SHARED in self._of(collector.nodeid):
            return (yield)
        with self._observed():
            report = yield
        self._add(collector.nodeid, 0.0)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        before, self._called = self._called, set()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function" and self._called:
                shared = self._new.setdefault(self._testing, {})
                _, called, at = shared.get(_SHARED) or self._of(self._testing)[_SHARED]
                shared[_SHARED] = 0.0, called | self._called, at
            self._called |= before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        file = self._testing = _file(item.nodeid)
        if item.nodeid.removeprefix(file) in self._of(file):
            with _limited(20 + 10 * self._seconds(item)):
                return (yield)
        began, self._passed, self._called = _seconds(), True, set()
        with self._observed():
            result = yield
        if self._passed:
            self._add(item.nodeid, _seconds() - began)
        return result

    def pytest_runtest_logreport(self, report):
        self._passed &= not report.failed

    # Choice

    @pytest.hookimpl(trylast=True)           # after samples are drawn
    def pytest_collection_modifyitems(self, config, items):
        files = {}
        for item in items:
            files.setdefault(_file(item.nodeid), []).append(item)
        chosen = [(sum(self._seconds(item) for item in kept), kept) for kept in (
            [item for item in tests if self._calls(item)] for tests in files.values())]
        kept = [item for _, tests in sorted(chosen, key=lambda entry: entry[0]) for item in tests]
        config.hook.pytest_deselected(items=list(set(items).difference(kept)))
        items[:] = kept

    def _note(self, item):
        file = _file(item.nodeid)
        return self._of(file).get(item.nodeid.removeprefix(file))

    def _seconds(self, item):
        note = self._note(item)
        return 1.0 if note is None else note[0]

    def _calls(self, item):
        """Whether a test calls the function, as far as is known."""
        note, shared = self._note(item), self._of(_file(item.nodeid)).get(_SHARED)
        return note is None or shared is None or not {_ANYTHING, self._function}.isdisjoint(
            note[1] | shared[1])


def _is_python(command):
    """Whether a command of ``Popen`` starts a Python."""
    words = [command] if isinstance(command, (str, bytes, os.PathLike)) else list(command)
    first = pathlib.Path(os.fsdecode(words[0])).name
    return first.startswith(("python", "graphloom"))


@contextlib.contextmanager
def _limited(seconds):
    """Raise an error after so many seconds of processor time of this process."""
    def end(number, frame):
        raise _TooLong(f"{seconds:.0f} s of processor time")

    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    latest = int(time.process_time() + seconds) + 1
    if soft != resource.RLIM_INFINITY:
        latest = min(latest, soft)
    before = signal.signal(signal.SIGXCPU, end)
    resource.setrlimit(resource.RLIMIT_CPU, (latest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
        signal.signal(signal.SIGXCPU, before)


def _seconds():
    """Processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])
