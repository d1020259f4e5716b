"""Threads of the GraphVM ``cpu`` under ThreadSanitizer, where GCC brings it.

======================  ===========================================================================
no data race            test_no_race: each direction, queues, and blocks of vertices
the check itself        test_a_planted_race: reductions that are not atomic are noticed
======================  ===========================================================================
"""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from base.installation import ROOT


#: Programs on three threads, with parts of one arc or vertex. The word "planted" leaves the atomics
#: out.
_SCRIPT = """
import dataclasses
import sys

from sw.lang import programs
from sw.lang.passes import CHOSEN, analysed
from sw.lang.schedule import applied, read_schedules
from sw.vm.cpu import machine
from sw.vm.host import perform
from tb.sw.graphs import random_graph

PLAIN = "#define __atomic_compare_exchange_n(place, old, new, ...) (*(place) = (new), true)\\n"
make = machine.compiled


def changed(text, *options):
    return make(PLAIN + text, *options)


if "planted" in sys.argv:
    machine.compiled = changed
dense = random_graph(500, 20000, 1, True)
dense = dataclasses.replace(dense, weights=dense.weights % 9)
for name, schedules in (("bfs", ["s0:s1=push"]), ("sssp", ["s0:s1=push"]),
                        ("cc", ["s0:s1=push"]), ("pagerank", ["s0:s1=pull"]),
                        ("pagerank", ["s0:s1=edge_only:blocked:20,push"])):
    # Few arcs a vertex make long ways to the root of a component, which cc goes and shortens.
    graph = random_graph(20000, 30000, 1, False) if name == "cc" else dense
    program = applied(programs.find(name), read_schedules(schedules))
    program = analysed(program, after=CHOSEN)
    perform(program, graph, machine.CpuMachine(program, graph, threads=3, grain=1,
                                               optimize="-O1"), {})
"""


def _environment():
    """The environment of a process under ThreadSanitizer. Skips the test where there is none."""
    gcc = shutil.which("g++")
    if gcc is None:
        pytest.skip("there is no g++ with ThreadSanitizer")
    path = subprocess.run([gcc, "-print-file-name=libtsan.so"], capture_output=True, text=True,
                          check=True).stdout.strip()
    if not os.path.isabs(path):
        pytest.skip("this g++ has no ThreadSanitizer")
    environment = os.environ | {
        "CXX": f"{gcc} -fsanitize=thread", "LD_PRELOAD": str(pathlib.Path(path).resolve()),
        "TSAN_OPTIONS": "exitcode=66", "PYTHONPATH": str(ROOT)}
    if subprocess.run([sys.executable, "-c", "pass"], env=environment, capture_output=True,
                      check=False).returncode:
        pytest.skip("ThreadSanitizer does not run on this system")
    return environment


def _run(*words):
    done = subprocess.run([sys.executable, "-c", _SCRIPT, *words], env=_environment(), cwd=ROOT,
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_no_race():
    code, text = _run()
    assert code == 0 and "ThreadSanitizer" not in text, text


def test_a_planted_race():
    # On a busy machine one thread may do all the work, so it is tried again.
    assert any(code == 66 and "data race" in text
               for code, text in (_run("planted") for _ in range(4)))
