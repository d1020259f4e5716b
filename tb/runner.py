"""Running cocotb benches under pytest, on Verilator and on Icarus Verilog.

A bench and its pytest functions are in one file. Coroutines for cocotb have ``@cocotb.test()`` and
a name that does not start with ``test``. The names of functions for pytest start with ``test``.
These functions take the fixture ``simulator``, so that each runs once on each simulator::

    import cocotb

    from hw.streams import StreamRegister               # what is tested
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

All coroutines of the module run, unless ``tests`` names some of them. Random numbers in a bench
come from ``random.Random(cocotb.RANDOM_SEED)`` or from the stream helpers, which derive their seeds
from ``RANDOM_SEED``. Equal seeds give equal runs. Loops of random turns do as many as
:func:`turns` says. A failed ``Assert`` of the design fails the bench. A test that has not ended
after :data:`CYCLES` cycles also fails; ``run_bench(..., cycles=N)`` sets another limit.

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

import cocotb
import cocotb_tools.config
import find_libpython

from sim import toolchain
from sim.children import tied
from tb import build, emit, seeds


__all__ = ["CYCLES", "BenchFailed", "brief", "cycle_limit", "inputs", "parameters", "run_bench",
           "turns", "unavailable"]


#: Simulated cycles after which a test of a bench fails, by default.
CYCLES = 1_000_000


#: Whether benches do everything (:func:`brief`, :func:`turns`). A usual run of the tests does not.
whole = True


_ROOT = pathlib.Path(__file__).resolve().parent.parent
_SETTINGS = "GRAPHLOOM_BENCH"

#: Files whose failed assertions show the compared values.
_REWRITTEN = ["bench_*.py", "test_*.py"]

#: Output of the simulators for a failed assertion of the design.
_ASSERTION = re.compile(r"ERROR: \S+:(\d+):|%Error: \S+?:(\d+): Assertion failed.*")


class BenchFailed(AssertionError):
    """A bench failed or did not run to its end. The message names the test and shows the reason."""


def unavailable(simulator):
    """Reason why benches cannot run on a simulator on this machine; None if they can."""
    if find_libpython.find_libpython() is None:
        number = "{}.{}".format(*sys.version_info)
        return (f"this Python has no shared library (libpython{number}), which cocotb needs "
                f"(Debian: apt-get install libpython{number})")
    if simulator == "icarus" and toolchain.icarus() is None:
        return "Icarus Verilog is not on PATH (Debian: apt-get install iverilog)"
    return None


def parameters():
    """In a bench: the ``parameters`` of :func:`run_bench`."""
    return _settings()["parameters"]


def inputs():
    """In a bench: the names of the input ports of the top module."""
    return _settings()["inputs"]


def cycle_limit():
    """In a bench: the cycles after which a test fails."""
    return _settings()["cycles"]


def brief():
    """In a bench: whether to do less. A usual run of the tests does less on Icarus Verilog, on
    which large designs take ten to thirty times as long as on Verilator. ``--full`` does
    everything, and so does a run that names the function (:mod:`tb.sampling`)."""
    return not _settings()["whole"] and cocotb.SIM_NAME.startswith("Icarus")


def turns(count):
    """In a bench: how many of so many random turns to do. A usual run of the tests does half of
    them, and a quarter where benches are :func:`brief`."""
    return count if _settings()["whole"] else -(-count // (4 if brief() else 2))


def _settings():
    return json.loads(os.environ[_SETTINGS])


def _environment(design, test_module, parameters, seed, tests, cycles, results):
    settings = {"parameters": parameters or {}, "inputs": design.inputs, "cycles": cycles,
                "whole": whole}
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
        # By default every module, even of libraries, is rewritten for pytest's messages. This takes
        # several seconds for each bench.
        "COCOTB_REWRITE_ASSERTION_FILES": " ".join(_REWRITTEN),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
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
    """(number of tests, names of failed tests), from the results file."""
    try:
        root = ElementTree.parse(results).getroot()
    except (OSError, ElementTree.ParseError):
        return 0, []
    cases = list(root.iter("testcase"))
    failed = [case.get("name") for case in cases
              if case.find("failure") is not None or case.find("error") is not None]
    return len(cases) - sum(case.find("skipped") is not None for case in cases), failed


def _explain(output, source):
    """The end of the output, and for a failed assertion the Verilog around it."""
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
        Module with the ``@cocotb.test()`` coroutines; usually ``__name__``. Several modules are
        separated by commas.
    simulator : str
        ``"verilator"`` or ``"icarus"``.
    parameters : dict, optional
        JSON values that the bench reads with :func:`parameters`.
    seed : int
        Seed of all random numbers in the bench. If the tests have a seed, both determine the seed
        (:mod:`tb.seeds`).
    tests : list of str, optional
        Names of the coroutines to run instead of all.
    waves : str or pathlib.Path, optional
        File for the waveforms (.vcd). The environment variable ``GRAPHLOOM_WAVES`` also sets this
        file. Waveforms slow the run.
    timeout : float
        Seconds of elapsed time after which the run is ended as failed.
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
