"""The device: a machine that runs kernels, and the code that runs an algorithm on the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from base.errors import LimitError, RunError, UserError
from hw.control import launch_cycles as port_cycles
from hw.link.frames import BAUD
from hw.registers import cycles_of
from sim.errors import SimulationError
from sw.device.link import TIME_LIMIT, SerialMachine
from sw.compile import algorithms, planning, schedules
from sw.compile.lowering import lowered
from sw.compile.plan import as_plan
from sw.device.result import Result
from sw.device.results import Results
from sw.graph import Graph, load

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from typing import Any, Self

    from hw.config import HardwareConfig
    from sim.memories import SimulatedDram
    from sw.lang.names import ProgramText
    from sw.compile.plan import Hybrid, Plan
    from sw.compile.task import Task

    #: Told the cycles of the run so far, and lines of text.
    Progress = Callable[[int], object]
    Report = Callable[[str], object]


__all__ = ["Device"]


def _time(counters):
    """The cycles that counters tell of; the instructions where the machine has no cycles."""
    return cycles_of(counters) if "cycles" in counters else counters["instructions"]


class _Session:
    """A task on a machine. An algorithm drives its supersteps through the session."""

    def __init__(self, machine, task, max_cycles, progress, recorder):
        self.task, self._recorder = task, recorder
        self.launches = 0       # of kernels
        self.orders = 0         # launches, and operations of the SCU
        self.steps = {}         # by name, what kernels and operations have taken (see Result)
        self.set_cycles = []    # of each launch of a set (see Result)
        self.set_counters = []
        self.first = True       # whether no set of kernels of the task's side has been launched
        self._launched = set()  # the sides that have been launched
        self._machine, self._limit, self._progress = machine, max_cycles, progress

    def start(self):
        """Bring the program and the memory's contents to the machine; counters start at 0."""
        self._machine.power_on()        # what ran before is not to be seen in the cycles
        self._machine.flush(invalidate=True)
        self.task.buffers.upload(self._machine)
        self._machine.load_program(self.task.program.words)
        self._machine.clear_counters()

    def cycles(self):
        """Cycles so far; instructions where the machine has no cycles."""
        return _time(self._machine.counters())

    def launch(self, kernel, argument=0):
        """Run one of the algorithm's kernels to its end: all the kernels of its set that the
        superstep needs, one after the other."""
        side = self.task.algorithm.side_of(self.task, kernel)
        if side not in self.task.sides:
            side = None
        self.first = side not in self._launched
        self._launched.add(side)
        before = self._machine.counters()
        for step in self.task.kernel_sets[kernel]:
            if step.once and not self.first:
                continue
            if step.operate is not None:
                step.operate(self, argument)
            elif step.in_turn:
                self.launch_kernel(step.name, argument)
        after = self._machine.counters()
        self.set_cycles.append((kernel, _time(after) - _time(before)))
        self.set_counters.append({counter: value - before[counter]
                                  for counter, value in after.items() if value != before[counter]})

    def launch_kernel(self, kernel, argument):
        """Run a kernel to its end."""
        entry = self._entry(kernel)
        self._measure(kernel, "cores", f"kernel {kernel!r}",
                      lambda **limits: self._machine.launch(entry, argument, **limits))

    def _entry(self, kernel):
        """The entry point of a kernel that is launched now."""
        self.launches += 1
        if self._recorder is not None:
            self._recorder.launched(kernel, self.task.program.words)
        return self.task.program.entries[kernel]

    def compact(self, name, registers):
        """Perform an operation of the SCU, which is counted under ``name``; ``registers`` and the
        :class:`~hw.scu.registers.ScuResult` are those of the machine's ``compact``."""
        return self._measure(name, "scu", f"operation {name!r}",
                             lambda **limits: self._machine.compact(registers, **limits))

    def launch_beside(self, kernel, argument, name, registers):
        """:meth:`launch_kernel` and :meth:`compact` at the same time, which are counted together
        under the names of both."""
        entry = self._entry(kernel)
        return self._measure(
            f"{kernel} beside {name}", "both", f"kernel {kernel!r} beside operation {name!r}",
            lambda **limits: self._machine.launch_beside(entry, argument, registers, **limits))

    def _measure(self, name, unit, what, run):
        """``run`` a step within the limits, and count what it takes."""
        counters = self._machine.counters()
        before = self.cycles() if self._limit is not None or self._progress else 0
        left = None
        if self._limit is not None:
            left = self._limit - before
            if left <= 0:
                raise self._limit_error(counters)
        progress = self._progress

        def offset(cycles):
            progress(before + cycles)

        try:
            answer = run(max_cycles=left, progress=offset if progress else None)
        except SimulationError as error:
            if error.kind == "limit":
                raise self._limit_error(error.counters) from None
            raise RunError(f"{what}: {error}", error.counters) from error
        step = self.steps.setdefault(name, {"unit": unit, "launches": 0})
        step["launches"] += 1
        self.orders += 2 if unit == "both" else 1
        for counter, value in self._machine.counters().items():
            step[counter] = step.get(counter, 0) + value - counters[counter]
        return answer

    def read(self, name, count=None, dtype=np.uint32):
        """A copy of a buffer's first words, as the device has left them."""
        self._machine.flush()
        return self.task.buffers.read(self._machine, name, count, dtype)

    def write(self, name, values):
        """Give a buffer's first words new values between two launches."""
        self._machine.flush(invalidate=True)
        self._machine.write_memory(self.task.buffers.address(name),
                                   np.ascontiguousarray(values, dtype=np.uint32))

    def read_vertices(self, name, dtype=np.uint32):
        """A copy of a vertex array, in the graph's order; a row for each vertex if the array has
        several words for it."""
        count, width = self.task.graph.num_vertices, self.task.buffers.width(name)
        words = self.read(name, count * width // 4, dtype)
        return self.task.vertices.to_graph(words if width == 4 else words.reshape(count, -1))

    def _limit_error(self, counters):
        unit = "cycle" if "cycles" in counters else "instruction"
        return LimitError(f"not finished after {self._limit} {unit}s: the {unit} limit was reached",
                          counters)


class Device:
    """A GPU to run graph algorithms on.

    Make it with :meth:`simulate`, :meth:`serial` or :meth:`functional`. It can be used with
    ``with``.

    Parameters
    ----------
    config : HardwareConfig
        The configuration of the hardware.
    make_machine : callable
        Makes the machine, at its first use.
    progress : callable, optional
        Called now and then with the cycles of the run so far.
    max_cycles : int, optional
        Cycles after which a run is given up, if the run sets no limit.
    recorder : sw.device.trace.recorder.Recorder, optional
        Recorder that is told of the launches.
    launch_cycles : int, optional
        Cycles of the host for each launch and each operation of the SCU, which results tell beside
        their own cycles. Left out, those of the host port (:func:`hw.control.launch_cycles`).
    slow_edges : bool
        Whether the memory has a slow region (:mod:`sim.dram`), for the edges of graphs.
    """

    def __init__(self, config: HardwareConfig, make_machine: Callable[[], Any], *,
                 progress: Progress | None = None, max_cycles: int | None = None,
                 recorder: Any = None, launch_cycles: int | None = None,
                 slow_edges: bool = False) -> None:
        self.config, self._recorder, self.slow_edges = config, recorder, slow_edges
        self.launch_cycles = port_cycles(config) if launch_cycles is None else launch_cycles
        if self.launch_cycles < 0:
            raise UserError(f"launch_cycles is {launch_cycles}, must be at least 0")
        self._make = make_machine
        self._machine: Any = None
        self._progress, self._limit = progress, max_cycles
        #: ``_again(config)`` gives the same device with other hardware; None if there is none.
        self._again: Callable[[HardwareConfig], Device] | None = None

    @classmethod
    def simulate(cls, config: HardwareConfig, dram: SimulatedDram | None = None,
                 progress: Progress | None = None, wave: str | os.PathLike[str] | None = None,
                 max_cycles: int | None = None, report: Report | None = None,
                 recorder: Any = None, launch_cycles: int | None = None) -> Self:
        """The RTL, simulated cycle by cycle.

        Parameters
        ----------
        config : HardwareConfig
        dram : sim.dram.DramConfig or sim.dram_device.DramDevice, optional
            The memory behind it; left out, that of the configuration's preset. If it has a slow
            region, the edges of graphs lie there.
        progress, max_cycles, launch_cycles
            As of the class.
        wave : path, optional
            Where to write waves.
        report : callable, optional
            Called with a line of text while the simulator is being built.
        recorder : sw.device.trace.recorder.Recorder, optional
            Keeps a trace of what is run.
        """
        def make():
            from base.output import Output
            from sim.native import NativeMachine
            # Names of states are in waves of hardware that has a trace port.
            built = config
            if recorder is not None or wave is not None:
                built = config.replace(trace=True, name=config.name)
            file = None if wave is None else Output(wave)
            return NativeMachine(built, dram, wave=file, report=report,
                                 trace=None if recorder is None else recorder.tracer())
        device = cls(config, make, progress=progress, max_cycles=max_cycles, recorder=recorder,
                     launch_cycles=launch_cycles, slow_edges=dram is not None and dram.has_slow)
        if wave is None and recorder is None:
            device._again = lambda other: cls.simulate(
                other, dram, progress, max_cycles=max_cycles, report=report,
                launch_cycles=launch_cycles)
        return device

    @classmethod
    def serial(cls, port: str, config: HardwareConfig | None = None, *, baud: int = BAUD,
               progress: Progress | None = None, max_cycles: int | None = None,
               report: Report | None = None, time_limit: float | None = TIME_LIMIT,
               launch_cycles: int | None = None) -> Self:
        """A board at a serial port.

        Parameters
        ----------
        port : str
            The port's name, such as ``/dev/ttyUSB0``.
        config : HardwareConfig, optional
            The configuration that the board must have. If it is left out, the port is opened at
            once and the board is asked.
        baud : int
            Bits per second.
        progress, max_cycles
            As for the class; a board stops some milliseconds later.
        report : callable, optional
            Called with a line of text while much is written to the board or read from it.
        time_limit : float or None
            Seconds that a run may take, transfers included; a longer run ends with a RunError. None
            for no limit.
        launch_cycles : int, optional
            As for the class.
        """
        def make():
            return SerialMachine.open(port, baud, config, report=report, time_limit=time_limit)
        given: dict[str, Any] = {"progress": progress, "max_cycles": max_cycles,
                                 "launch_cycles": launch_cycles}
        if config is not None:
            return cls(config, make, **given)
        machine = make()
        device = cls(machine.config, make, **given)
        device._machine = machine
        return device

    @classmethod
    def functional(cls, config: HardwareConfig, seed: int | None = None,
                   max_cycles: int | None = None, progress: Progress | None = None,
                   report: Report | None = None) -> Self:
        """The functional simulator: results and instructions, but no cycles.

        Parameters
        ----------
        config : HardwareConfig
        seed : int, optional
            Cores and warps take turns at random; left out, in the order of their numbers.
        max_cycles, progress
            As of the class, but they count instructions.
        report : callable, optional
            Called with a line of text while the simulator is being compiled.
        """
        def make():
            from sim.functional.machine import FunctionalSimulator
            return FunctionalSimulator(config, seed=seed, report=report)
        device = cls(config, make, max_cycles=max_cycles, progress=progress, launch_cycles=0)
        device._again = lambda other: cls.functional(other, seed, max_cycles, progress, report)
        return device

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def machine(self) -> Any:
        """The machine; made when first asked for."""
        if self._machine is None:
            self._machine = self._make()
        return self._machine

    def close(self) -> None:
        """Give the machine back."""
        if self._machine is not None:
            self._machine.close()
            self._machine = None

    def run(self, plan: str | Plan | Hybrid | ProgramText, graph: Any, *,
            max_cycles: int | None = None, verify: bool = True, **choices: Any) -> Result:
        """Run an algorithm from start to end.

        Parameters
        ----------
        plan : str, Plan, Hybrid or ProgramText
            A plan or its text. The name of an algorithm is the text of a plan. A program of the
            language (:mod:`sw.lang`), which is a function under ``@program``.
        graph : Graph, str or object
            A graph, or what :func:`sw.graph.load.load` takes: a file, a generator, or an object of
            networkx, igraph, scipy, pandas, polars or numpy. An algorithm that uses no weights
            leaves those of such an object out.
        max_cycles : int, optional
            Cycles after which the run is given up.
        verify : bool
            Whether to compare the outputs with the interpreter, or the golden model, and to make
            the algorithm's own check (:mod:`sw.golden.results`).
        **choices
            Changes of the plan (:func:`sw.compile.plan.as_plan`): its fields, such as ``schedule``
            and ``direction``, and parameters of the algorithm, such as ``source``. A vertex is
            given by its name if the graph has names (:meth:`sw.graph.graph.Graph.vertex`).

        Raises
        ------
        UserError
            Something that was asked for does not exist, cannot work, or does not fit. Nothing has
            run.
        RunError
            The device stopped with an error or at the limit, or the outputs differ from the
            golden model's. The error holds the counters so far.
        """
        return self.run_task(self.plan(plan, graph, **choices), max_cycles=max_cycles,
                             verify=verify)

    def run_task(self, task: Task, *, max_cycles: int | None = None,
                 verify: bool = True) -> Result:
        """Run a task from start to end, once.

        Parameters
        ----------
        task : Task
            From :meth:`plan`, of a device with the same configuration. If this device has a slow
            region and the other has none, no array is slow.
        max_cycles, verify
            As of :meth:`run`.

        Raises
        ------
        UserError
            The program does not fit. Nothing has run.
        RunError
            As :meth:`run`.
        """
        if max_cycles is None:
            max_cycles = self._limit
        if max_cycles is not None and max_cycles < 1:
            raise UserError(f"max_cycles is {max_cycles}, must be at least 1")
        task.build()
        _ = task.program        # it may be refused, before there is a machine
        session = _Session(self.machine, task, max_cycles, self._progress, self._recorder)
        session.start()
        if self.slow_edges:
            self.machine.place_slow(task.buffers.slow_address)
        supersteps = task.algorithm.drive(session)
        machine = self.machine
        counters = machine.counters()
        outputs = task.algorithm.outputs(session)
        if verify:
            _verify(outputs, task.algorithm, counters)
        graph, reached = task.graph, task.algorithm.reached(outputs)
        return Result(
            plan=task.plan, used=task.used, graph=graph.name, vertices=graph.num_vertices,
            edges=graph.num_edges, config=self.config,
            parameters=task.algorithm.parameters(), supersteps=supersteps,
            launches=session.launches, orders=session.orders, cycles=cycles_of(counters),
            launch_cycles=self.launch_cycles * session.orders, steps=session.steps,
            set_cycles=session.set_cycles, set_counters=session.set_counters,
            counters=counters, core_counters=machine.core_counters(), phases=machine.phase_cycles(),
            frontier=_frontier_of(task),
            deduplicated=task.frontier and task.frontier.deduplicate, outputs=outputs,
            derived=task.algorithm.derived(outputs), verified=bool(verify),
            model=task.algorithm.MODEL,
            checked=task.algorithm.check.way if verify and task.algorithm.check else None,
            starts=task.algorithm.starts(), reached=reached,
            notes=task.algorithm.notes(reached), memory_bytes=task.buffers.size,
            lowered=lowered(task), names=graph.names, vertex_outputs=task.algorithm.vertex_outputs)

    def launch(self, kernel: Any, *, max_cycles: int | None = None, stack: int | None = None,
               **arguments: Any) -> Any:
        """Run a function of C in every lane, with the same arguments.

        Parameters
        ----------
        kernel : sw.cc.host.CKernel
            A function of a compiled program, such as ``graphloom.compile("saxpy.c").saxpy``.
        max_cycles : int, optional
            Cycles after which the launch is given up.
        stack : int, optional
            Bytes of a lane's stack.
        **arguments
            By the names of the function's parameters: an int for a number, a numpy array for a
            pointer. Arrays that the function may write are changed.

        Returns
        -------
        sw.cc.host.CLaunch

        Raises
        ------
        UserError, RunError
            As :meth:`sw.cc.host.CKernel.launch`.
        """
        return kernel.launch(
            self.machine, self.config, arguments, stack=stack, progress=self._progress,
            max_cycles=self._limit if max_cycles is None else max_cycles,
            launched=None if self._recorder is None else self._recorder.launched)

    def plan(self, plan: str | Plan | Hybrid | ProgramText, graph: Any,
             **choices: Any) -> Task:
        """The task that :meth:`run` would run; ``task.program.listing()`` is its code.

        Parameters and errors are those of :meth:`run`.
        """
        made = as_plan(plan, **choices)
        graph = _graph(graph, made)
        return planning.make(self.config, made, graph, self.slow_edges)

    def compare(self, plan: str | Plan | Hybrid | ProgramText, graph: Any,
                schedules: Iterable[str], *, max_cycles: int | None = None, verify: bool = True,
                **choices: Any) -> Results:
        """Run an algorithm on a graph under several schedules, one after the other.

        A schedule that needs another unit that hands out edges than the hardware has runs on
        hardware with its own unit, where all else is the same. A board, and a device that writes
        waves or a trace, keeps its hardware.

        Parameters
        ----------
        plan, graph, max_cycles, verify, **choices
            As of :meth:`run`.
        schedules : iterable of str
            The schedules, each ``NAME[:OPTION=VALUE]...``; speedups are over the first.

        Raises
        ------
        UserError, RunError
            As of :meth:`run`. What can be refused is refused before the first run.
        """
        plans = [as_plan(plan, **choices | {"schedule": schedule}) for schedule in schedules]
        if not plans:
            raise UserError("there are no schedules to compare")
        graph = _graph(graph, plans[0])
        devices = [self._equipped(each) for each in plans]
        tasks = [device.plan(each, graph) for device, each in zip(devices, plans)]
        results = []
        for device, task in zip(devices, tasks):
            results.append(device.run_task(task, max_cycles=max_cycles, verify=verify))
            if device is not self:
                device.close()
        return Results(results)

    def _equipped(self, plan):
        """This device, or the same one with the unit that hands out edges which a plan needs."""
        config = self.config
        for side in plan.sides.values():
            config = schedules.with_unit(config, schedules.make(side.schedule))
        return self if config == self.config or self._again is None else self._again(config)


def _frontier_of(task):
    """The frontier of a run, as a text: that of its operators of edges if they have the same, else
    what they add to. None if there is none."""
    if task.frontier is None:
        return None
    found = {side.plan.frontier for side in task.sides.values() if side.frontier is not None}
    return found.pop() if len(found) == 1 else task.frontier.name


def _graph(thing, plan):
    """The graph that a user of the device means; ``load`` says what it can be. An object's weights
    are left out if the plan's algorithm uses none."""
    if isinstance(thing, Graph):
        return thing
    return load(thing, no_weights=not algorithms.find(plan.algorithm).weighted)


def _verify(outputs, algorithm, counters):
    one, several = algorithm.ITEM
    for name, expected in algorithm.golden().items():
        got = outputs[name]
        assert got.shape == expected.shape
        wrong = np.argwhere(got != expected)
        if len(wrong):
            number, *word = place = tuple(wrong[0].tolist())
            where = "".join(f", word {index}," for index in word)
            raise RunError(f"the result differs from the golden model at "
                           f"{len(np.unique(wrong[:, 0]))} of {len(expected)} {several}: {name} of "
                           f"{one} {number}{where} is {int(got[place])}, must be "
                           f"{int(expected[place])}", counters)
    fault = algorithm.fault(outputs)
    if fault is not None:
        raise RunError(f"the result is wrong {algorithm.check.way}: {fault}", counters)
