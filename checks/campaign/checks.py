"""The checks of each configuration of the campaign.

====================  ============================================================================
the edges             :mod:`checks.campaign.edges`, compared with the instruction-set simulator
random programs       one core with a trace port: every instruction is compared in lockstep; else
                      memory with all registers, and the counts of instructions and lanes
operations            with an SCU: random operations, compared with the SCU's golden model
algorithms            every algorithm, schedule, direction and split that the configuration
                      allows, on an R-MAT graph, compared with the golden models
counters              they reconcile after each of these checks (:mod:`checks.campaign.machines`)
====================  ============================================================================

Assertions of the RTL are on. Each program runs on another kind of memory.
"""

import dataclasses
import itertools
import shlex
import time
import traceback

from base.errors import RunError, UserError
from base.installation import PROGRAM
from checks.campaign import lockstep
from checks.campaign.compaction import perform_random
from checks.campaign.edges import beyond, last
from checks.campaign.machines import check_cores, check_counters, compare, run, simulate
from checks.campaign.random_programs import fitting_case
from hw.config import LEGAL, HardwareConfig, preset
from sim.errors import BuildError, SimulationError
from sim.native import NativeMachine
from sw.compile import algorithms, schedules
from sw.study.benchmarks.schedules import plan
from sw.golden.lockstep import Difference
from sw.graph.load import load
from sw.compile.kernels.split import SPLITS
from sw.device import Device


__all__ = ["WEIGHTS", "Check", "graph_of"]


#: Launches of a random program in lockstep.
LAUNCHES = 2

#: Cycles after which a run of an algorithm is stopped.
LIMIT = 100_000_000

#: Operations of the SCU on each random memory, and number of random memories.
OPERATIONS, MEMORIES = 60, 3

#: Largest weight of an edge.
WEIGHTS = 100

#: Consecutive seeds whose programs do not fit, after which no further seed is tried.
_TRIES = 200


def graph_of(config: HardwareConfig) -> str:
    """The graph for algorithms: one vertex for each lane, but at least 64 and at most 1024."""
    lanes = config.cores * config.warps * config.threads
    return f"rmat:scale={min(max(lanes.bit_length() - 1, 6), 10)},degree=8,seed=1"


def _assignments(config, base):
    """``--set`` options that turn ``base`` into ``config``."""
    texts = []
    for name in LEGAL:
        value = getattr(config, name)
        if value != getattr(base, name):
            texts.append(f"--set {name}={str(value).lower()}")
    return texts


class Check:
    """All checks of one configuration.

    Parameters
    ----------
    number : int
        Number of the configuration's point.
    config : HardwareConfig
    instructions : int
        Instructions of random programs to execute. The last program runs to its end.
    seed : int
        Seed of the first program. Each further program has the next seed.
    report : callable, optional
        Called with a line of text about the progress.
    """

    def __init__(self, number, config, *, instructions, seed=1, report=None):
        self.number, self.config = number, config
        self.instructions, self.seed = instructions, seed
        self._report = report or (lambda text: None)
        self.record = {
            "number": number, "name": config.name, "configuration": dataclasses.asdict(config),
            "seed": seed, "build_seconds": None, "lockstep_instructions": 0,
            "compared_instructions": 0, "programs": 0, "operations": 0, "runs": [], "refused": [],
            "failures": []}

    def run(self) -> dict:
        """Run all checks. Returns the record; its ``failures`` are empty if all checks pass.

        A failure ends its part of the checks; among algorithms, it ends only its run. The other
        parts still run.
        """
        began = time.perf_counter()
        if self._attempt("the simulator's build", self._again(), self._build):
            self._edges()
            self._random_programs()
            if self.config.scu:
                self._operations()
            self._algorithms()
        self.record["seconds"] = round(time.perf_counter() - began, 1)
        return self.record

    def _attempt(self, what, reproduce, function, *arguments):
        """Call a function. Returns whether it succeeded."""
        try:
            function(*arguments)
            return True
        except (Difference, AssertionError, SimulationError, BuildError, UserError) as error:
            text = str(error) or traceback.format_exc()
        except Exception:                # a defect of the host's software counts like any other
            text = traceback.format_exc()
        self._fail(what, text, reproduce)
        return False

    def _fail(self, what, message, reproduce):
        self.record["failures"].append({"what": what, "message": message, "reproduce": reproduce})

    def died(self, why) -> dict:
        """The record for a check whose process ended without a record, for this reason."""
        self._fail("the process", why, self._again())
        self.record["seconds"] = None
        return self.record

    def _again(self):
        """The command that repeats a part which has no separate command."""
        return (f"{PROGRAM} campaign --only {self.number} --instructions {self.instructions} "
                f"--seed {self.seed}")

    def _build(self):
        began = time.perf_counter()
        self._report("building")
        with NativeMachine(self.config):
            self.record["build_seconds"] = round(time.perf_counter() - began, 1)

    def _machine(self, seed):
        """The machine with the kind of memory that belongs to the seed."""
        return lockstep.machine(self.config, lockstep.memory_of(self.config, seed))

    # Programs

    def _edges(self):
        self._report("the edges")
        cases = {"the last of everything": last(self.config), **beyond(self.config)}
        for index, (name, case) in enumerate(cases.items()):
            self._attempt(f"edges: {name}", self._again(), self._edge, self._machine(index), case,
                          index == 0)
            self.record["programs"] += 1

    def _edge(self, machine, case, ends_well):
        got = run(machine, case)
        compare(self.config, simulate(self.config, case), got)
        if ends_well != (got.failure is None):
            raise AssertionError(f"ended with {got.failure or 'no error'}")
        if ends_well:
            lanes = self.config.warps * self.config.threads
            assert (got.memory[:lanes * self.config.cores] == lanes).all()
            assert got.memory[-1] == lanes * self.config.cores

    def _random_programs(self):
        """Run programs of one seed after another, until enough instructions were executed."""
        in_step = self.config.trace and self.config.cores == 1
        check = self._lockstep if in_step else self._end_state
        done, tries = 0, 0
        for seed in itertools.count(self.seed):
            self._report(f"random programs: {done:,} of {self.instructions:,} instructions")
            before = self._compared()
            what, command = f"random program of seed {seed}", self._again()
            if in_step:
                command = self._lockstep_command(seed)
            if not self._attempt(what, command, check, seed):
                return
            count = self._compared() - before
            done, tries = done + count, 0 if count else tries + 1
            self.record["programs"] += count > 0
            if done >= self.instructions:
                return
            if tries == _TRIES:
                self._attempt(what, command, self._no_program)
                return

    def _compared(self):
        return self.record["lockstep_instructions"] + self.record["compared_instructions"]

    def _no_program(self):
        raise AssertionError(f"no program of {_TRIES} seeds fits in the instruction memory")

    def _lockstep(self, seed):
        done = lockstep.run(self.config, seed, launches=LAUNCHES)
        self.record["lockstep_instructions"] += done.instructions

    def _lockstep_command(self, seed):
        shape = f"{self.config.warps}x{self.config.threads}"
        return " ".join([f"{PROGRAM} lockstep --shape {shape} --seed {seed} --instructions 1 "
                         f"--launches {LAUNCHES}",
                         *_assignments(self.config, lockstep.shape(shape))])

    def _end_state(self, seed):
        case = fitting_case(self.config, seed, partial=bool(seed & 1))
        if case is None:
            return
        machine = self._machine(seed)
        expected = simulate(self.config, case)
        if expected.failure is not None:
            raise AssertionError(f"ends with {expected.failure} on the simulator")
        got = run(machine, case)
        compare(self.config, expected, got)
        check_cores(self.config, got.counters, machine.core_counters(), machine.phase_cycles())
        self.record["compared_instructions"] += expected.counters["instructions"]

    # Operations of the SCU

    def _operations(self):
        self._report("operations of the SCU")
        for seed in range(self.seed, self.seed + MEMORIES):
            if self._attempt(f"operations of the SCU, seed {seed}", self._again(), perform_random,
                             self._machine(seed), seed, OPERATIONS):
                self.record["operations"] += OPERATIONS

    # Algorithms

    def _algorithms(self):
        spec = graph_of(self.config)
        graph = load(spec, weights=WEIGHTS)
        for algorithm in algorithms.names():
            kind = algorithms.find(algorithm)
            for schedule, split in itertools.product(schedules.names(), SPLITS):
                for direction in schedules.make(schedule).directions(kind):
                    self._algorithm(spec, graph, plan(algorithm, 2, schedule=schedule, split=split,
                                                      direction=direction))

    def _algorithm(self, spec, graph, plan):
        what = f"{plan.algorithm} {plan.direction} {plan.schedule} {plan.split}"
        self._report(what)
        machine = self._machine(len(self.record["runs"]))
        device = Device(self.config, lambda: machine, max_cycles=LIMIT)
        dram = " ".join(f"--dram {text}" for text in machine.dram.assignments)
        command = " ".join([
            f"{PROGRAM} run {spec} --plan {shlex.quote(plan.text)} --weights {WEIGHTS}", dram,
            "--preset tiny", *_assignments(self.config, preset("tiny"))])

        def compute():
            try:
                result = device.run(plan, graph)
            except RunError:
                raise
            except UserError as refusal:          # refused before anything ran
                self.record["refused"].append({"run": what, "reason": str(refusal)})
                return
            check_counters(self.config, result.counters)
            check_cores(self.config, result.counters, result.core_counters, result.phases)
            self.record["runs"].append({"run": what, "plan": plan.text, "graph": spec,
                                        "cycles": result.cycles, "verified": result.verified,
                                        "checksum": result.checksum})
        self._attempt(what, command, compute)
