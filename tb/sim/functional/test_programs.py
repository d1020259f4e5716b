"""The functional simulator against the instruction-set simulator, and against the RTL.

==============================  ==================================================================
every instruction, every unit   test_random_programs; more of them: ``lockstep --functional``
a difference is told            test_a_difference_is_told
errors                          test_errors, test_errors_of_units; on the RTL tb/programs
messages                        test_messages_are_those_of_the_rtl
the same memory and counts      test_as_the_rtl
every unit, whole algorithms    test_units; all schedules:
                                tb/sw/compile/schedules; all combinations:
                                ``list combinations --run --functional``
==============================  ==================================================================
"""

import itertools

import numpy as np
import pytest

from checks.campaign import functional
from checks.campaign.lockstep import Run
from checks.campaign.machines import CONFIGS, CORES, machine, simulate
from checks.campaign.machines import run as run_rtl
from checks.campaign.random_programs import fitting_case
from hw.config import preset
from hw.gather.variants import VARIANTS
from hw.isa import BY_NAME, Cause, MemoryMap
from sim.errors import SimulationError
from sim.functional import machine as functional_machine
from sim.functional.decode import names
from sw.golden.lockstep import Difference
from sw.device import Device
from tb.programs import test_eghw as of_eghw
from tb.programs import test_errors as of_errors
from tb.programs import test_graphpeg as of_graphpeg
from tb.seeds import seed
from tb.sw.graphs import random_graph


@pytest.mark.parametrize("name", CONFIGS | CORES)
@pytest.mark.sample(7)
def test_random_programs(name):
    config = (CONFIGS | CORES)[name]
    done = Run()
    for number in (1, 2):
        functional.run(config, seed(number), size=60, launches=2, done=done)
    assert done.instructions > 1000


def test_a_difference_is_told(monkeypatch):
    """A MULHU whose operands are signed: the message has the register, and the first wrong
    instruction."""
    decoded, right, signed = functional_machine.decoded, *(
        names().index(name) for name in ("MULHU", "MULH"))

    def wrong(config, words):
        found = decoded(config, words)
        found["op"][found["op"] == right] = signed
        return found

    monkeypatch.setattr(functional_machine, "decoded", wrong)
    with pytest.raises(Difference, match=r"first difference: core 0, warp \d, lane \d: \w+ is 0x"
                                         r"[^\n]*, after mulhu "):
        for number in range(5):
            functional.run(CONFIGS["tiny"], number, size=60, launches=1)


def calls(function):
    """The arguments with which pytest calls a test that takes parameters only."""
    axes = []
    for mark in getattr(function, "pytestmark", []):
        words, values = mark.args
        words = [word.strip() for word in words.split(",")]
        axes.append([dict(zip(words, value if len(words) > 1 else [value])) for value in values])
    for parts in itertools.product(*axes):
        yield {name: value for part in parts for name, value in part.items()}


def instead_of_the_rtl(monkeypatch, module):
    """Have the tests of a module run the functional simulator."""
    configs = CONFIGS

    def verify(device, case):
        got, expected = functional.outcome(device, case), simulate(device.config, case)
        assert got.failure == expected.failure
        if got.failure is None:
            assert np.array_equal(got.memory, expected.memory)
            assert got.counters == expected.counters
        return got

    for name, function in (("machine", lambda name: functional.functional_machine(configs[name])),
                           ("run", functional.outcome), ("verify", verify)):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, function)


#: Tests of errors that count cycles, or run no program.
_OTHER = ("test_the_cycle_limit", "test_every_cause_is_produced_here", "test_stack_sizes")


@pytest.mark.parametrize("name", [name for name in vars(of_errors)
                                  if name.startswith("test_") and name not in _OTHER])
def test_errors(monkeypatch, name):
    """Every error of tb/programs/test_errors.py, where the RTL has the simulator's."""
    instead_of_the_rtl(monkeypatch, of_errors)
    function = getattr(of_errors, name)
    for arguments in calls(function):
        function(**arguments)


@pytest.mark.parametrize("module, name", [
    (of_eghw, "test_an_access_fails"), (of_graphpeg, "test_an_access_fails")])
def test_errors_of_units(monkeypatch, module, name):
    instead_of_the_rtl(monkeypatch, module)
    for arguments in calls(getattr(module, name)):
        getattr(module, name)(**arguments)


def _failing(build):
    """A program whose last warp fails. Which of several is first depends on the RTL's turns,
    which outlive a launch."""
    program = of_errors.Program(CONFIGS["tiny"])
    build(program, *program.regs("x", "y"))
    return program.case().words


def test_messages_are_those_of_the_rtl():
    def store(program, x, y):
        program.li(x, MemoryMap.GLOBAL - 4)
        program.sw(y, x, 0)

    def barrier(program, x, y):
        program.li(x, 99)
        program.bar(x, x)

    for build in (store, barrier, lambda program, x, y: program.ecall()):
        texts = []
        for device in (machine("tiny"), functional.functional_machine(CONFIGS["tiny"])):
            device.load_program(_failing(build))
            with pytest.raises(SimulationError) as caught:
                device.launch(0, 0)
            assert caught.value.kind == "device"
            texts.append((str(caught.value), caught.value.fault))
        assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["tiny", "pair"])
def test_as_the_rtl(name):
    """The programs' results do not depend on the order of warps, nor do their counts."""
    config = (CONFIGS | CORES)[name]
    for number in (1, 2):
        case = fitting_case(config, seed(number), 60)
        rtl = run_rtl(machine(name), case)
        got = functional.outcome(functional.functional_machine(config), case)
        assert got.failure is None and rtl.failure is None
        assert np.array_equal(got.memory, rtl.memory)
        for counter, value in got.counters.items():
            assert value == rtl.counters[counter], counter


def test_every_error_has_a_cause():
    """The numbers of causes that the C++ gets are all there are."""
    from sim.functional.build import header
    text = header()
    assert all(f"{cause.name} = {int(cause):#x}" in text for cause in Cause)
    assert len(names()) == len(BY_NAME) + 1


@pytest.mark.parametrize("gather", VARIANTS)
def test_units(gather):
    """Each unit that hands out edges, on one core and on several."""
    graph = random_graph(80, 240, 3).weighted(9)        # some vertices have no edges
    schedule = "graphpeg" if gather == "graphpeg" else "weaver"
    for cores, algorithm in itertools.product((1, 3), ("bfs", "sssp", "pagerank", "cc")):
        config = preset("baseline").replace(gather=gather, cores=cores, imem_bytes=1 << 15)
        with Device.functional(config) as device:
            assert device.run(algorithm, graph, schedule=schedule).verified
