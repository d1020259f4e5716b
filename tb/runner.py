"""Running cocotb benches under pytest, on Verilator and on Icarus Verilog.

A bench and the pytest functions that run it live in one file. Coroutines for cocotb carry
``@cocotb.test()`` and a name that does not start with ``test``; functions for pytest do start with
``test`` and take the fixture ``simulator``, so that each runs once on each simulator::

    import cocotb

    from hw.util import StreamRegister                  # what is tested
    from tb import runner
    from tb.clocking import start
    from tb.streams import StreamSink, StreamSource


    @cocotb.test()
    async def keeps_the_order(dut):
        count = runner.parameters()["count"]
        await start(dut)                                # clock, reset, inputs at 0
        source = StreamSource(dut, "i", idle=0.3)       # ports i__valid, i__ready, i__payload
        sink = StreamSink(dut, "o", stall=0.5)
        source.send(range(count))
        assert await sink.receive(count) == list(range(count))


    def test_register(simulator):
        runner.run_bench(StreamRegister(8), "register", __name__, simulator=simulator,
                         parameters={"count": 100}, seed=1)

All coroutines of the module are run unless ``tests`` names some. Random numbers in a bench come
from ``random.Random(cocotb.RANDOM_SEED)`` or from the stream helpers, which derive theirs from it:
the same seed gives the same run. A failed ``Assert`` of the design fails the bench. So does a test
that has not ended after :data:`CYCLES` cycles; ``run_bench(..., cycles=N)`` sets another limit.

Drive and sample at the falling edge of the clock (:mod:`tb.clocking`).
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

import cocotb_tools.config
import find_libpython

from sim import toolchain
from sim.children import tied
from tb import build, emit, seeds


__all__ = ["CYCLES", "BenchFailed", "cycle_limit", "inputs", "parameters", "run_bench",
           "unavailable"]


#: Simulated cycles after which a test of a bench fails, unless something else is asked for.
CYCLES = 1_000_000


_ROOT = pathlib.Path(__file__).resolve().parent.parent
_SETTINGS = "GRAPHLOOM_BENCH"

#: Files whose assertions say what they compared.
_REWRITTEN = ["bench_*.py", "test_*.py"]

#: What the simulators print when an assertion of the design fails.
_ASSERTION = re.compile(r"ERROR: \S+:(\d+):|%Error: \S+?:(\d+): Assertion failed.*")


class BenchFailed(AssertionError):
    """A bench failed, or did not run to its end; the message says which test and shows why."""


def unavailable(simulator):
    """Why benches cannot be run on a simulator here, or None if they can."""
    if find_libpython.find_libpython() is None:
        number = "{}.{}".format(*sys.version_info)
        return (f"this Python has no shared library (libpython{number}), which cocotb needs "
                f"(Debian: apt-get install libpython{number})")
    if simulator == "icarus" and toolchain.icarus() is None:
        return "Icarus Verilog is not on PATH (Debian: apt-get install iverilog)"
    return None


def parameters():
    """In a bench: what was given to :func:`run_bench` as ``parameters``."""
    return _settings()["parameters"]


def inputs():
    """In a bench: the names of the input ports of the top module."""
    return _settings()["inputs"]


def cycle_limit():
    """In a bench: the cycles after which a test fails."""
    return _settings()["cycles"]


def _settings():
    return json.loads(os.environ[_SETTINGS])


def _environment(design, test_module, parameters, seed, tests, cycles, results):
    settings = {"parameters": parameters or {}, "inputs": design.inputs, "cycles": cycles}
    path = os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        _SETTINGS: json.dumps(settings),
        "COCOTB_TOPLEVEL": design.toplevel,
        "COCOTB_TEST_MODULES": test_module,
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_RESULTS_FILE": str(results),
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
        "COCOTB_ANSI_OUTPUT": "0",
        # By default every module is rewritten for pytest's messages, libraries too: several seconds
        # for each bench.
        "COCOTB_REWRITE_ASSERTION_FILES": " ".join(_REWRITTEN),
        "TOPLEVEL_LANG": "verilog",
        "GPI_USERS": f"{find_libpython.find_libpython()};"
                     f"{cocotb_tools.config.pygpi_entry_point()}",
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(_ROOT)] + [path] * bool(path)),
        "PYTHONUNBUFFERED": "1",
    }
    for name in ("COCOTB_TEST_FILTER", "COCOTB_TESTCASE", "PYTEST_CURRENT_TEST"):
        environment.pop(name, None)
    if tests is not None:
        names = "|".join(re.escape(name) for name in tests)
        environment["COCOTB_TEST_FILTER"] = rf"\.(?:{names})(?:/.*)?$"
    return environment


def _verdict(results):
    """(number of tests, names of those that failed), from the results file."""
    try:
        root = ElementTree.parse(results).getroot()
    except (OSError, ElementTree.ParseError):
        return 0, []
    cases = list(root.iter("testcase"))
    failed = [case.get("name") for case in cases
              if case.find("failure") is not None or case.find("error") is not None]
    return len(cases) - sum(case.find("skipped") is not None for case in cases), failed


def _explain(output, source):
    """The end of the output; for a failed assertion, the Verilog around it as well."""
    found = _ASSERTION.search(output)
    if found is None:
        return "\n".join(output.splitlines()[-80:])
    number = int(found[1] or found[2])
    lines = source.read_text().splitlines()
    shown = "\n".join(f"{n + 1:6}  {lines[n]}"
                      for n in range(max(0, number - 6), min(len(lines), number + 2)))
    before = output[max(0, found.start() - 500):found.end() + 200]
    return f"...{before}...\nin {source}:\n{shown}"


def run_bench(design, toplevel, test_module, *, simulator, parameters=None, seed=1, tests=None,
              waves=None, timeout=600, cycles=CYCLES):
    """Build a design, run the cocotb tests of a module on it, and check that they passed.

    Parameters
    ----------
    design : wiring.Component or str
        A component, or Verilog.
    toplevel : str
        Name of the top module.
    test_module : str
        Module with the ``@cocotb.test()`` coroutines; usually ``__name__``.
    simulator : str
        ``"verilator"`` or ``"icarus"``.
    parameters : dict, optional
        JSON values that the bench reads with :func:`parameters`.
    seed : int
        For every random number in the bench; another one follows from it where the tests are given
        a seed (:mod:`tb.seeds`).
    tests : list of str, optional
        Names of the coroutines to run instead of all.
    waves : str or pathlib.Path, optional
        Where to write the waveforms (.vcd); also set by the environment variable
        ``GRAPHLOOM_WAVES``. Waveforms slow the run.
    timeout : float
        Seconds of wall time after which the run is ended as failed.
    cycles : int
        Simulated cycles after which a test that has not ended fails.

    Raises
    ------
    BenchFailed
        A test or an assertion of the design failed, no test ran, a test did not end, or the
        simulator stopped early.
    tb.build.BuildError
        The design does not build.
    """
    seed = seeds.seed(seed)
    waves = waves or os.environ.get("GRAPHLOOM_WAVES")
    design = emit.emit(design, toplevel)
    command, source = build.build(design, simulator, waves=bool(waves))
    title = f"{test_module} on {toplevel}, {simulator}, seed {seed}"
    with tempfile.TemporaryDirectory(prefix="graphloom-") as folder:
        folder = pathlib.Path(folder)
        results = folder / "results.xml"
        environment = _environment(design, test_module, parameters, seed, tests, cycles,
                                   results)
        with open(folder / "output.txt", "w+", errors="replace") as log:
            try:
                done = subprocess.run(command, cwd=folder, env=environment, stdout=log,
                                      stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                      check=False, timeout=timeout, preexec_fn=tied())
                code = done.returncode
            except subprocess.TimeoutExpired:
                code = f"none after {timeout} s"
            log.seek(0)
            output = log.read()
        if waves and (folder / "dump.vcd").exists():
            pathlib.Path(waves).write_bytes((folder / "dump.vcd").read_bytes())
        count, failed = _verdict(results)
    if _ASSERTION.search(output):
        raise BenchFailed(f"{title}: an assertion of the design failed\n"
                          + _explain(output, source))
    if failed:
        raise BenchFailed(f"{title}: failed: {', '.join(failed)}\n" + _explain(output, source))
    if code or not count:
        raise BenchFailed(f"{title}: the simulator did not run to its end (exit code {code}, "
                          f"{count} tests)\n" + _explain(output, source))
