"""The process of the command line: how signals end it, and how it treats its streams.

====================  ============================================================================
signals               test_signal_at_any_time, test_signal_cleans_up, test_signal_ends_children
streams               test_standard_output, test_standard_error, test_streams_are_taken_over
====================  ============================================================================
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from sw.cli.tests import ROOT


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


def _hear_all():
    """The tests may run under ``nohup``, which has children ignore SIGHUP."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def start(*command, **options):
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            preexec_fn=_hear_all, **{"env": ENVIRONMENT, **options})


def _holds(pid, number):
    """Whether a process catches or blocks a signal."""
    status = (pathlib.Path("/proc") / str(pid) / "status").read_text()
    masks = re.findall(r"(?m)^Sig(?:Cgt|Blk):\t([0-9a-f]+)$", status)
    return any(int(mask, 16) >> number - 1 & 1 for mask in masks)


@pytest.mark.parametrize("milliseconds, number", [
    (10, signal.SIGINT), (20, signal.SIGINT), (35, signal.SIGINT), (60, signal.SIGINT),
    (100, signal.SIGINT), (50, signal.SIGTERM)])
def test_signal_at_any_time(milliseconds, number):
    """The signal comes while the launcher runs, while Python starts, or while modules are imported.
    """
    process = start(str(ROOT / "graphloom"), "graph", "info", "rmat:scale=20,degree=16")
    time.sleep(milliseconds / 1000)
    while milliseconds > 10 and not _holds(process.pid, number):
        time.sleep(0.001)       # a busy machine may not have started the shell yet
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err and out == ""
    # In the first moments the operating system itself ends the shell.
    assert (process.returncode == 128 + number and err == f"graphloom: {WORDS[number]}\n") \
        or (process.returncode == -number and milliseconds == 10)


# A writer that never ends.
SLOW = """if True:
    import sys, time
    from sw.cli import process
    process.begin()
    from sw.cli.main import main
    from sw.graph import save
    def write(stream, graph):
        stream.write(b"half of it")
        stream.flush()
        print("writing", flush=True)
        # A signal just before a sleep is heard after it.
        for _ in range(600):
            time.sleep(0.1)
    save._WRITERS[".el"] = write
    process.started()
    process.end(main(["graph", "generate", "rmat:scale=4,degree=2,seed=1", "made.el"]))
"""


@pytest.mark.parametrize("number", WORDS)
def test_signal_cleans_up(tmp_path, number):
    (tmp_path / "made.el").write_text("0 1\n")
    process = start(sys.executable, "-c", SLOW, cwd=tmp_path)
    assert process.stdout.readline() == "writing\n"
    assert len(os.listdir(tmp_path)) == 2
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (128 + number, "")
    assert err.strip() == f"graphloom: {WORDS[number]}"
    assert os.listdir(tmp_path) == ["made.el"] and (tmp_path / "made.el").read_text() == "0 1\n"


# Workers that each start a program, like a worker that builds a simulator.
CHILDREN = """if True:
    import functools, subprocess
    from sw.study.benchmarks.executors import Processes
    from sw.cli import process
    process.begin()
    process.started()
    # The program says that it has begun when whoever runs it waits for its end.
    run = functools.partial(subprocess.run, input=b"go")
    pieces = [(number, (run, (["sh", "-c", "read word; echo begun; exec sleep 60"],)))
              for number in range(2)]
    try:
        Processes(2).work(pieces, None)
    except KeyboardInterrupt:
        process.end(process.interrupted())
"""


def test_signal_ends_children():
    process = start(sys.executable, "-c", CHILDREN)
    assert [process.stdout.readline() for _ in range(2)] == 2 * ["begun\n"]
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=45)       # until all have closed their output
    assert (process.returncode, out, err) == (143, "", "graphloom: terminated\n")


@pytest.mark.parametrize("command, closed", [
    ("graph generate", False), ("graph info karate", True), ("--help", False),
    ("test tb/base/test_output.py -n 0", True)])
def test_standard_output(tmp_path, command, closed):
    """The stream is full or closed: one line and exit code 2, whether rich prints or not."""
    process = start("sh", "-c", f"exec {sys.executable} -m sw.cli {command} "
                    + (">&- <&-" if closed else ">/dev/full"), cwd=tmp_path)
    out, err = process.communicate(timeout=300)
    why = "it is closed" if closed else "No space left on device"
    assert (process.returncode, out) == (2, "")
    assert err == f"graphloom: error: standard output: cannot be written: {why}\n"


@pytest.mark.parametrize("where, command, code", [
    ("2>/dev/full", "graph info nothing.el", 2), ("2>&-", "graph generate", 0)])
def test_standard_error(tmp_path, where, command, code):
    """No message can be written, but the exit code is right."""
    process = start("sh", "-c", f"exec {sys.executable} -m sw.cli {command} {where}",
                    cwd=tmp_path)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (code, "") and bool(out) == (code == 0)
    assert os.listdir(tmp_path) == []


def test_streams_are_taken_over(tmp_path):
    """Text that the encoding cannot express is printed with escapes."""
    process = start(sys.executable, "-c", "from sw.cli import process; process.begin(); "
                    "print('a\\udcff\\u03bb'); process.end(0)",
                    env=ENVIRONMENT | {"PYTHONIOENCODING": "ascii:strict"})
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "a\\udcff\\u03bb\n", "")
