"""The common part of ``run`` and ``compare``: prepare, run each plan in turn, write JSON."""

import contextlib
import dataclasses
import sys
import time

from sw import __version__
from sw.errors import RunError, UserError
from sw.printable import PIECE, one_line, printable

from . import files, options


__all__ = ["Job", "console", "loading", "progress_display", "seeded_spec", "steps_display"]


def console(stderr=False):
    """A rich console that prints text unchanged, except for characters that :func:`printable`
    escapes. Without a terminal it is so wide that no line is broken."""
    from rich.console import Console

    class _Console(Console):
        def render_str(self, text, **options):
            return super().render_str(printable(text, lines=True), **options)

    stream = sys.stderr if stderr else sys.stdout
    return _Console(file=stream, width=None if stream.isatty() else 200, highlight=False,
                    markup=False)


@contextlib.contextmanager
def progress_display():
    """Yields two functions that show a line of text. The first is for texts that change all the
    time, and shows them on terminals only. The second is for single long steps."""
    if not sys.stderr.isatty():
        yield (lambda text: None,
               lambda text: print(f"graphloom: {one_line(text)}", file=sys.stderr, flush=True))
        return
    from rich.text import Text
    with console(stderr=True).status("") as status:
        def show(text):
            status.update(Text(one_line(text)))
        yield show, show


@contextlib.contextmanager
def steps_display():
    """Yields a function that shows a piece of work and its present step. Without a terminal, it
    prints a line when a piece begins."""
    began = set()
    with progress_display() as (show, tell):
        def heard(what, text):
            show(f"{what}: {text}")
            if what not in began:
                began.add(what)
                tell(what)
        yield heard


def seeded_spec(spec, seed, weights):
    """The text of a graph with ``--seed``. Raises UserError if the seed is not used."""
    if seed is None:
        return spec
    from sw.graph.generators import seeded
    with_seed = seeded(spec, seed)
    if with_seed is None and weights is None:
        raise UserError(f"--seed {seed}: nothing is drawn at random; --seed is for a generator "
                        "whose text has no seed, and for --weights")
    return with_seed or spec


def loading(algorithm, *, weight_scale=None, no_weights=False, **others) -> dict:
    """The arguments of :func:`sw.graph.load.load` for an algorithm's class: an algorithm that uses
    no weights gets none. Raises UserError for ``--weight-scale`` without weights."""
    if weight_scale is not None and not algorithm.weighted:
        raise UserError(f"--weight-scale: {algorithm.name} uses no weights")
    return {"weight_scale": weight_scale, "no_weights": no_weights or not algorithm.weighted,
            **others}


class Job:
    """A graph, the hardware and the plans.

    The constructor refuses everything that can be refused before anything is built or run.

    Parameters
    ----------
    plans : list of Plan or Hybrid
        The plans, of one algorithm, in the order of their runs.
    spec : str
        The user's text for the graph.
    config, dram
        The hardware and the memory behind it.
    board : (str, int, float) or None
        The serial port of a board, its baud rate, and the seconds that a run may take; None for a
        simulation.
    weights : int or None
        Largest of the random weights that a graph without weights gets.
    undirected, simplify : bool
        Changes made to the graph on loading.
    seed : int or None
        Seed for a generator whose text has none, and for the weights.
    reading : dict
        How the graph's file is read, as of :func:`~sw.cli.options.with_reading`.
    json : str or None
        The file for results.
    wave : str or None
        The file for waves.
    recorder : sw.trace.recorder.Recorder or None
        Recorder of the trace.
    skip : bool
        Whether plans that are refused are left out, as long as one is not.
    launch_cycles : int or None
        Cycles of the host for a launch; None for those of the host port.
    configs : list of HardwareConfig or None
        The hardware of each plan; None if all have ``config``.
    functional : bool
        Whether the plans run on the functional simulator.
    """

    def __init__(self, plans, spec, *, config, dram, board=None, weights, undirected, simplify,
                 seed, reading, max_cycles, json, wave=None, recorder=None, loaded=None,
                 skip=False, launch_cycles=None, configs=None,
                 functional=False):
        from sw import algorithms
        from sw.graph.load import load
        from sw.runtime import Device

        files.check(json)
        if wave is not None:
            from sim.native import wave_format
            wave_format(wave)
            files.check(wave)
        spec = seeded_spec(spec, seed, weights)
        self.spec, self.json, self.wave, self.recorder = spec, json, wave, recorder
        self.algorithm = algorithm = plans[0].algorithm
        self.config, self.dram, self.max_cycles = config, dram, max_cycles
        self.board = board
        self.weights, self.seed = weights, seed
        self.undirected, self.simplify = undirected, simplify
        self.reading, self.launch_cycles = reading, launch_cycles
        self.functional = functional
        self.skipped = {}
        self._configs = dict(zip(plans, configs or [config for _ in plans]))
        self.plans = self._accepted(plans, lambda plan: plan.check(self._configs[plan]), skip)
        self.graph = loaded or load(spec, note=options.note, **loading(
            algorithms.find(algorithm), weights=weights, seed=seed, undirected=undirected,
            simplify=simplify, **reading))
        tasks = {}

        def settle(plan):
            device = Device.simulate(self._configs[plan], dram=self.dram)
            tasks[plan] = device.plan(plan, self.graph)
            _ = tasks[plan].program         # it may not fit

        self.plans = self._accepted(self.plans, settle, skip)
        self._tasks = [tasks[plan] for plan in self.plans]
        self.results = []
        self._began = time.perf_counter()

    def _accepted(self, plans, check, skip):
        """The plans that ``check`` does not refuse. Raises UserError for a refused plan; with
        ``skip``, only if all are refused, and for the first."""
        accepted, first = [], None
        for plan in plans:
            try:
                check(plan)
                accepted.append(plan)
            except UserError as error:
                if not skip:
                    raise
                first = first or error
                self.skipped[plan.schedule] = str(error)
        if first is not None and not accepted:
            raise first
        return accepted

    def run(self):
        """Run the next plan, once, and keep its result. A run that fails leaves its counters in the
        JSON file."""
        task = self._tasks.pop(0)
        schedule = task.plan.schedule
        with progress_display() as (show, tell):
            show("preparing the hardware")

            unit = "instructions" if self.functional else "cycles"

            def progress(count):
                show(f"{self.algorithm}, {schedule}: {count:,} {unit}")

            try:
                with self._device(task.config, progress, show, tell) as device:
                    result = device.run_task(task, max_cycles=self.max_cycles)
            except RunError as error:
                self.write({"schedule": schedule, "plan": task.plan.text, "error": str(error),
                            "counters": error.counters})
                raise
        self.results.append(result)
        return result

    def _device(self, config, progress, show, tell):
        from sw.runtime import Device
        if self.functional:
            return Device.functional(config, progress=progress, report=tell)
        if self.board is None:
            return Device.simulate(config, dram=self.dram, wave=self.wave, progress=progress,
                                   report=tell, recorder=self.recorder,
                                   launch_cycles=self.launch_cycles)
        port, baud, time_limit = self.board
        return Device.serial(port, config, baud=baud, progress=progress, report=show,
                             time_limit=time_limit, launch_cycles=self.launch_cycles)

    def _machine(self):
        """The part of the JSON file for the machine."""
        if self.functional:
            return {"functional": True}
        if self.board is None:
            return {"dram": dataclasses.asdict(self.dram)}
        return {"board": {"port": self.board[0], "baud": self.board[1]}}

    def _record(self, result):
        record = result.to_json()
        fields, common = record.pop("config"), dataclasses.asdict(self.config)
        if fields != common:                 # the common fields are written once, for all
            record["configuration"] = {name: value for name, value in fields.items()
                                       if value != common[name]}
        return record

    def command(self, plan):
        """The command line that runs a plan alone."""
        from sw.report.command import run_command
        return run_command(plan.text, self._graph_record(), self._configs[plan],
                           None if self.board else self.dram,
                           board=self.board and {"port": self.board[0], "baud": self.board[1]},
                           cost=self.launch_cycles)

    def _graph_record(self):
        return {"spec": self.spec, "vertices": self.graph.num_vertices,
                "arcs": self.graph.num_edges, "weights": self.weights, "seed": self.seed,
                "undirected": self.undirected, "simplify": self.simplify, **self.reading}

    def write(self, failure=None):
        """Write the JSON file, if one was asked for. Only ``wall_seconds`` differs between two
        runs of the same command."""
        if self.json is None:
            return
        from sw.tune.runs import sources
        value = {
            "version": __version__, "sources": sources(),
            "configuration": dataclasses.asdict(self.config),
            **self._machine(),
            "graph": self._graph_record(),
            "results": [self._record(result) for result in self.results],
            "wall_seconds": round(time.perf_counter() - self._began, 3),
        }
        if self.skipped:
            value["skipped"] = self.skipped
        if failure is not None:
            value["failure"] = failure
        files.write_json(self.json, value)

    def hardware_lines(self):
        """A line for each plan whose hardware is not the one of the title."""
        for plan in self.plans:
            config = self._configs[plan]
            if config != self.config:
                yield (f"{plan.schedule} runs on hardware of its own, {config.name}, with gather = "
                       f"{config.gather!r}; the others have gather = {self.config.gather!r}")

    def title(self):
        """One line that names the computation and the hardware."""
        c = self.config
        return (f"{self.algorithm} on {printable(self.graph.name, PIECE)}: "
                f"{self.graph.num_vertices:,} vertices, {self.graph.num_edges:,} arcs; "
                f"{c.name}: {c.warps} warps x {c.threads} lanes, "
                f"L1 {c.l1_bytes // 1024} KiB, "
                + (f"L2 {c.l2_bytes // 1024} KiB" if c.l2_bytes else "no L2 cache")
                + (f", SCU of {c.scu} a cycle" if c.scu else ""))
