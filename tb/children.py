"""Checks that a child process ends when its parent process is killed."""

import os
import pathlib
import signal
import subprocess
import time


__all__ = ["assert_ends_with_parent"]


_ROOT = pathlib.Path(__file__).resolve().parent.parent

#: Seconds within which a child must begin, and must end.
_BEGIN, _END = 120, 10


def assert_ends_with_parent(command, file):
    """Start a program and kill it, and check that its child ends.

    The program is killed when the child has written its process id to ``file``.
    """
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    parent = subprocess.Popen([str(word) for word in command], env=environment, cwd=_ROOT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + _BEGIN
        while not (file.exists() and file.read_text()):
            assert parent.poll() is None, parent.stderr.read()
            assert time.monotonic() < end, "no child has begun"
            time.sleep(0.02)
        child = int(file.read_text())
        assert child != parent.pid and _runs(child)
    finally:
        parent.kill()
        parent.stderr.close()
        parent.wait()
    end = time.monotonic() + _END
    while _runs(child) and time.monotonic() < end:
        time.sleep(0.02)
    if _runs(child):
        os.kill(child, signal.SIGKILL)
        raise AssertionError(f"process {child} runs on without its parent")


def _runs(process):
    """Whether a process runs. An ended process whose exit code was not read does not count."""
    try:
        status = pathlib.Path(f"/proc/{process}/stat").read_text()
        return status.rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
