"""Folders for the time that a command runs."""

import signal
import subprocess
import sys
import tempfile

from base import scratch
from base.installation import ROOT


_WAITS = """
import time
from base import scratch
with scratch.folder("tests") as made:
    (made / "file").write_text("x")
    print(made, flush=True)
    time.sleep(600)
"""


def _begun(folder):
    process = subprocess.Popen([sys.executable, "-c", _WAITS], stdout=subprocess.PIPE, text=True,
                               cwd=ROOT, env={"TMPDIR": str(folder)})
    return process, process.stdout.readline().strip()


def test_what_is_left(tmp_path, monkeypatch):
    """A folder of a killed process goes with the next; one that is used stays."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "graphloom-tests-foreign").mkdir()          # not made here: it has no lock
    killed, left = _begun(tmp_path)
    lives, used = _begun(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    with scratch.folder("tests") as made:
        assert {str(path) for path in tmp_path.iterdir()} == {
            used, str(made), str(tmp_path / "graphloom-tests-foreign")}
        assert made.stat().st_mode & 0o777 == 0o700
    assert not made.exists() and left
    lives.kill()
    lives.communicate()
