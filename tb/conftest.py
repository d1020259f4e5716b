"""Fixtures of the whole test suite."""

import contextlib
import gc
import os
import resource
import signal

import hypothesis
import pytest
from hypothesis.internal.conjecture import junkdrawer

from sim.children import end_with_parent
from tb import expected, quick, runner, sampling, seeds
from tb.browser import chromium, open_page  # noqa: F401 (fixtures)


# Designs and results are many objects with a long life. Frequent collections would take long.
gc.set_threshold(1_000_000, 20, 50)

# A program that a script starts in the background ignores Ctrl-C, and its children inherit this.
# Some tests send Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Most tests simulate few cycles, so simulators that are built soon are better than fast ones.
os.environ.setdefault("GRAPHLOOM_OPTIMIZE", "0")

# A worker of pytest-xdist, and its child processes, end with the process that hands out the tests.
if "PYTEST_XDIST_WORKER" in os.environ:
    end_with_parent()

# No time limits, because machines may be slow. Nothing is written into the project. Every run has
# the same examples, unless the tests have a seed; then an argument of pytest seeds hypothesis.
hypothesis.settings.register_profile("graphloom", deadline=None, database=None,
                                     derandomize=seeds.VARIABLE not in os.environ)
hypothesis.settings.load_profile("graphloom")

# Without time limits nobody asks how long collections of garbage took. A Ctrl-C that a test sends
# would be lost in the function that measures them.
junkdrawer._gc_initialized = True


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="run the quick part of the tests "
                     "(tb/quick.py)")
    parser.addoption("--full", action="store_true", help="run all cases of all tests "
                     "(tb/sampling.py)")


@pytest.hookimpl(trylast=True)               # so that samples are drawn of what -k chooses
def pytest_collection_modifyitems(config, items):
    left_out = set() if config.getoption("--full") or expected.WRITES else sampling.left_out(
        items, sampling.named(config))
    kept = {item.nodeid for item in items} - left_out
    if config.getoption("--quick"):
        kept = quick.chosen([item.nodeid for item in items if item.nodeid in kept])
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = [item for item in items if item.nodeid in kept]


def pytest_runtest_setup(item):
    named = sampling.is_named(item.nodeid, sampling.named(item.config))
    runner.whole = named or item.config.getoption("--full")
    sampling.use_examples(item.obj, whole=runner.whole)


@pytest.fixture(params=["verilator", "icarus"])
def simulator(request):
    """The name of a simulator. A test with this fixture runs once on each simulator.

    Tests of a missing simulator are skipped with the reason. With ``GRAPHLOOM_REQUIRE_ICARUS=1``,
    as in CI, these tests fail instead.
    """
    why = runner.unavailable(request.param)
    if why is not None:
        if os.environ.get("GRAPHLOOM_REQUIRE_ICARUS") == "1":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    return request.param


@pytest.fixture
def optimized(monkeypatch):
    """Simulators are built for long runs: with four fifths of the speed that users have, in less
    time."""
    monkeypatch.setenv("GRAPHLOOM_OPTIMIZE", "1")


@pytest.fixture
def small_files():
    """A context in which files of this process end at 10,000 bytes, as on a full disk."""
    return _small_files


@contextlib.contextmanager
def _small_files():
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
