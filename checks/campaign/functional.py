"""Random programs on the functional simulator, compared with the instruction-set simulator.

Both execute an instruction of each warp in turn, so they must agree in everything after each
launch: memory, local memory, every register of every lane, PCs and masks, the counts of
instructions and lanes, and the error if there was one. The RTL takes no part, so no configuration
is built, and any number of cores is possible. ``./graphloom lockstep --functional`` runs any number
of programs.
"""

import functools

import numpy as np

from checks.campaign.lockstep import LAUNCHES, SIZE, Run, cases_of
from checks.campaign.machines import Failure, Launch, LaunchOutcome, differences
from hw.config import HardwareConfig
from hw.isa import Cause
from sim.errors import SimulationError
from sim.functional.machine import FunctionalSimulator
from sw.golden.cores import Cores
from sw.golden.lockstep import Difference
from sw.golden.simulator import CoreError, InstructionLimit
from hw.disassembler import REGISTER_NAMES, disassemble


__all__ = ["compare", "functional_machine", "outcome", "run"]


#: Instructions after which a launch is stopped.
LIMIT = 10_000_000


@functools.lru_cache(maxsize=16)
def functional_machine(config: HardwareConfig) -> FunctionalSimulator:
    """The functional machine of a configuration, made once."""
    return FunctionalSimulator(config)


def outcome(machine: FunctionalSimulator, case: Launch) -> LaunchOutcome:
    """Run a case on a functional machine, as :func:`checks.campaign.machines.run` does on the
    RTL."""
    case.fill(machine.memory)
    machine.load_program(case.words)
    machine.clear_counters()
    failure = _launched(machine, case)
    return LaunchOutcome(machine.memory.view(np.uint32).copy(), machine.counters(), failure)


def _launched(machine, case):
    """Launch a case. Returns the failure, None, or ``"limit"`` if it does not end."""
    try:
        machine.launch(case.entry, case.argument, checks=case.checks, max_cycles=LIMIT)
    except SimulationError as error:
        fault = error.fault
        return "limit" if fault is None else Failure(
            Cause(fault.cause), fault.core, fault.warp, fault.lane or 0, fault.pc, fault.address)
    return None


class _Pair:
    """The functional machine and the instruction-set simulator, on the same program."""

    def __init__(self, config):
        self.config = config
        self.machine = functional_machine(config)
        self.machine.power_on()
        self.cores = Cores(config)
        self._registers = [np.zeros_like(each.registers) for each in self.cores.simulators]

    def load(self, words):
        self.machine.load_program(words)
        self.cores.load_program(words)

    def launch(self, case, step=None):
        """Perform one launch on both; ``step``, if given, is called after each turn of the warps.
        Returns the failure or None. Raises Difference if the failures differ."""
        case.fill(self.machine.memory)
        case.fill(self.cores.memory)
        self.machine.clear_counters()
        self.cores.clear_counters()
        theirs = None
        try:
            self._reference(case, step)
        except CoreError as error:
            theirs = Failure(error.cause, error.core, error.warp, error.lane, error.pc,
                             error.address)
        except InstructionLimit:
            theirs = "limit"
        if step is None:
            mine = _launched(self.machine, case)
            if mine != theirs:
                raise Difference(f"errors differ:\n  functional simulator: {mine}\n  "
                                 f"instruction-set simulator: {theirs}")
        return theirs

    def _reference(self, case, step):
        cores = self.cores
        cores.start(case.entry, case.argument, case.checks)
        for simulator, registers in zip(cores.simulators, self._registers):
            simulator.registers[:] = registers
        if step is None:
            cores.run(limit=LIMIT)
        else:
            self._in_step(case, step)
        for simulator, registers in zip(cores.simulators, self._registers):
            registers[:] = simulator.registers

    def _in_step(self, case, step):
        """Run both, a turn of all warps at a time."""
        self.machine.start(case.entry, case.argument, case.checks)
        simulators = self.cores.simulators
        while running := [each for each in simulators if each.running]:
            before = self.cores.counters()["instructions"]
            at = [[warp.pc for warp in each.warps] for each in simulators]
            try:
                for each in running:
                    each.take_turn()
            finally:
                self.machine.advance(self.cores.counters()["instructions"] - before)
            step(at)

    def check(self, what, at=None):
        """Compare the states. Raises Difference with the first register that differs; ``at`` has
        the PCs of the warps' last instructions."""
        for number, simulator in enumerate(self.cores.simulators):
            for warp in simulator.warps:
                mine = self.machine.registers(number, warp.number)
                if not np.array_equal(mine, warp.registers[:32]):
                    register, lane = np.argwhere(mine != warp.registers[:32])[0].tolist()
                    raise Difference(
                        f"{what}: core {number}, warp {warp.number}, lane {lane}: "
                        f"{REGISTER_NAMES[register]} is {mine[register, lane]:#x} on the "
                        f"functional simulator, {warp.registers[register, lane]:#x} on the "
                        "instruction-set simulator" + self._last(simulator, warp, at))
                position = self.machine.position(number, warp.number)
                if position != (warp.pc, warp.mask):
                    raise Difference(
                        f"{what}: core {number}, warp {warp.number}: PC {position[0]:#x}, mask "
                        f"{position[1]:#x} on the functional simulator, PC {warp.pc:#x}, mask "
                        f"{warp.mask:#x} on the instruction-set simulator"
                        + self._last(simulator, warp, at))
            if not np.array_equal(self.machine.local(number), simulator.local):
                raise Difference(f"{what}: core {number}: local memory differs")
        mine, theirs = (each.view(np.uint32) for each in (self.machine.memory, self.cores.memory))
        if not np.array_equal(mine, theirs):
            raise Difference(f"{what}: memory differs: " + differences(theirs, mine))
        if self.machine.counters() != self.cores.counters():
            raise Difference(f"{what}: counters are {self.machine.counters()} on the functional "
                             f"simulator, {self.cores.counters()} on the instruction-set simulator")

    @staticmethod
    def _last(simulator, warp, at):
        if at is None:
            return ""
        pc = at[simulator.core][warp.number]
        return f", after {disassemble(simulator.fetch(pc), pc)} at {pc:#x}"


def compare(config: HardwareConfig, cases, done: Run | None = None) -> Run:
    """Launch cases of one program one after another from power-on, on both simulators.

    No launch follows a launch that ends with an error. Raises Difference at the first difference;
    the launches are then repeated turn by turn, and the message names the instruction.
    """
    done = Run() if done is None else done
    cases = list(cases)
    pair = _Pair(config)
    for index, case in enumerate(cases):
        if index == 0:
            pair.load(case.words)
        try:
            failure = pair.launch(case)
            if failure is None:
                pair.check(f"launch {index}")
        except Difference as difference:
            _find(config, cases[:index + 1], difference)
        done.launches += 1
        if failure is not None:
            break
        counters = pair.cores.counters()
        done.instructions += counters["instructions"]
        done.lanes += counters["lanes"]
    return done


def _find(config, cases, difference):
    """Raise the difference that comes first in the last of the cases."""
    pair = _Pair(config)
    pair.load(cases[0].words)
    for case in cases[:-1]:
        pair.launch(case)
    pair.launch(cases[-1], lambda at: pair.check("first difference", at))
    raise difference


def run(config: HardwareConfig, seed: int, *, size=SIZE, launches=LAUNCHES, done=None) -> Run:
    """Run the random program of a seed and add to ``done``. Raises Difference.

    Parameters are those of :func:`checks.campaign.lockstep.run`.
    """
    return compare(config, cases_of(config, seed, size, launches), done)
