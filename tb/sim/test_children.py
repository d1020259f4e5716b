"""Children end with their parent: each way in which the project starts a child.

======================  ========================================================
programs                test_programs: a proof, a tool of synthesis, the tests
workers                 test_workers: of benchmarks and of the campaign
no parent               test_orphan: a child whose parent has ended already
======================  ========================================================

The simulation of a bench is in tb/test_runner.py.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from tb.children import assert_ends_with_parent


#: A program that writes its process id to a file and sleeps.
CHILD = """import os, sys, time
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(600)
"""

#: Program of a parent. ``words`` holds a child's command, the program and the file.
PROGRAMS = {
    "proof": """
import pathlib
from checks.formal import prove
prove._run(words, pathlib.Path("."), 600)
""",
    "synthesis": """
import pathlib, types
from synth import tools
tools.find = lambda name: types.SimpleNamespace(path=words[0])
tools.run("child", words[1:], pathlib.Path("."), pathlib.Path(words[2] + ".log"))
""",
    "in a thread": """
import pathlib, types
from synth import tools
from synth.parallel import in_parallel
tools.find = lambda name: types.SimpleNamespace(path=words[0])
in_parallel(lambda _: tools.run("child", words[1:], pathlib.Path("."),
                                pathlib.Path(words[2] + ".log")), [0], 2)
""",
    "tests": """
from sw.cli.main import main
main(["test", "-n", "0", "-p", "tb.conftest", "-p", "no:cacheprovider", words[2] + ".py"])
""",
    "tests of a worker": """
from sw.cli.main import main
main(["test", "-n", "1", "-p", "tb.conftest", "-p", "no:cacheprovider", words[2] + ".py"])
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, tmp_path):
    program, file = tmp_path / "child.py", tmp_path / "test_child"
    program.write_text(CHILD)
    (tmp_path / "test_child.py").write_text(
        f"import sys\n\ndef test_child():\n    sys.argv[1:] = [{str(file)!r}]\n"
        f"    exec(open({str(program)!r}).read())\n")
    code = f"words = {[sys.executable, str(program), str(file)]!r}\n{PROGRAMS[name]}"
    assert_ends_with_parent([sys.executable, "-c", code], file)


class Sleeper:
    """A point of the campaign that never ends by itself."""
    number = 0

    def __init__(self, file):
        self._file = file

    @property
    def config(self):
        sleep(self._file)


def sleep(file):
    """A piece of work that never ends by itself."""
    pathlib.Path(file).write_text(str(os.getpid()))
    time.sleep(600)


WORKERS = {
    "benchmarks": "from sw.study.benchmarks.executors import Processes\n"
                  "Processes(1).work([(0, (sleep, (sys.argv[1],)))], print)",
    "campaign": "from checks.campaign.work import Work\n"
                "from sw.study.benchmarks.executors import Processes\n"
                "work = Work([], instructions=1, seed=1)\n"
                "work.points = [Sleeper(sys.argv[1])]\n"
                "work.run(Processes(1), print, print)",
}


@pytest.mark.parametrize("name", WORKERS)
def test_workers(name, tmp_path):
    program = tmp_path / "parent.py"
    program.write_text("import sys\nfrom tb.sim.test_children import Sleeper, sleep\n"
                       "if __name__ == '__main__':\n"
                       + "".join(f"    {line}\n" for line in WORKERS[name].splitlines()))
    file = tmp_path / "pid"
    assert_ends_with_parent([sys.executable, program, file], file)


def test_orphan():
    code = "from sim.children import end_with_parent; end_with_parent(1 << 30); print('alive')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False,
                          timeout=300)
    assert done.returncode == -signal.SIGKILL and not done.stdout
