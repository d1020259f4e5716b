"""The common part of ``run`` and ``compare``: prepare, run each plan in turn, write JSON."""

import contextlib
import dataclasses
import sys
import time

from base.errors import RunError, UserError
from base.printable import PIECE, one_line, printable
from sw import __version__

from . import files, options


__all__ = ["Job", "console", "progress_display", "steps_display"]


def console(stderr=False):
    """A rich console that prints text unchanged, except for characters that :func:`printable`
    escapes. Without a terminal it is so wide that no line is broken."""
    from rich.console import Console

    class _Console(Console):
        def render_str(self, text, **options):
            return super().render_str(printable(text, lines=True), **options)

        def say(self, text, **options):
            """Print a line, however long."""
            self.print(text, soft_wrap=True, **options)

        def notes(self, notes):
            """Print the notes of runs."""
            for note in notes:
                self.say(f"note: {note}")

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


class Job:
    """A graph, the hardware and the plans.

    The constructor refuses everything that can be refused before anything is built or run.

    Parameters
    ----------
    plans : list of Plan or Hybrid
        The plans, of one algorithm, in the order of their runs.
    source : GraphSource
        As the user gives it.
    target : Target
    outputs : Outputs
        The files, which have been checked.
    configs : list of HardwareConfig or None
        The hardware of each plan; None if all have that of the target.
    recorder : sw.device.trace.recorder.Recorder or None
        Recorder of the trace.
    loaded : Graph or None
        The graph, if it is loaded.
    skip : bool
        Whether plans that are refused are left out, as long as one is not.
    """

    def __init__(self, plans, source, target, outputs, *, configs=None, recorder=None, loaded=None,
                 skip=False):
        from sw.compile import algorithms

        self.source, self.target, self.outputs = source.seeded(), target, outputs
        self.recorder = recorder
        self.algorithm = plans[0].algorithm
        self.skipped = {}
        self._targets = dict(zip(plans, map(target.on, configs) if configs else
                                 [target for _ in plans]))
        self.plans = self._accepted(plans, lambda plan: plan.check(self._targets[plan].config),
                                    skip)
        self.graph = loaded or self.source.used_by(algorithms.find(self.algorithm)).load(
            options.note)
        tasks = {}

        def settle(plan):
            # It is planned as for the RTL, whatever runs it.
            device = dataclasses.replace(self._targets[plan], board=None, functional=False).device()
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
        schedule, unit = task.plan.schedule, self.target.unit
        with progress_display() as (show, tell):
            show("preparing the hardware")
            watched = {"progress": lambda count: show(
                f"{self.algorithm}, {schedule}: {count:,} {unit}")}
            if self.outputs.wave is not None or self.recorder is not None:
                watched |= {"wave": self.outputs.wave, "recorder": self.recorder}
            try:
                with self.target.on(task.config).device(show=show, tell=tell, **watched) as device:
                    result = device.run_task(task)
            except RunError as error:
                self.write({"schedule": schedule, "plan": task.plan.text, "error": str(error),
                            "counters": error.counters})
                raise
        self.results.append(result)
        return result

    def _record(self, result):
        record = result.to_json()
        fields, common = record.pop("config"), dataclasses.asdict(self.target.config)
        if fields != common:                 # the common fields are written once, for all
            record["configuration"] = {name: value for name, value in fields.items()
                                       if value != common[name]}
        return record

    def command(self, plan):
        """The command line that runs a plan alone."""
        from sw.show.report.command import run_command
        return run_command(plan.text, self.source, self._targets[plan])

    def write(self, failure=None):
        """Write the JSON file, if one was asked for. Only ``wall_seconds`` differs between two
        runs of the same command."""
        if self.outputs.json is None:
            return
        from sw.study.tune.runs import sources
        value = {
            "version": __version__, "sources": sources(),
            "configuration": dataclasses.asdict(self.target.config),
            **self.target.record(),
            "graph": {**self.source.record(), "vertices": self.graph.num_vertices,
                      "arcs": self.graph.num_edges},
            "results": [self._record(result) for result in self.results],
            "wall_seconds": round(time.perf_counter() - self._began, 3),
        }
        if self.skipped:
            value["skipped"] = self.skipped
        if failure is not None:
            value["failure"] = failure
        files.write_json(self.outputs.json, value)

    def hardware_lines(self):
        """A line for each plan whose hardware is not the one of the title."""
        for plan in self.plans:
            config, common = self._targets[plan].config, self.target.config
            if config != common:
                yield (f"{plan.schedule} runs on hardware of its own, {config.name}, with gather = "
                       f"{config.gather!r}; the others have gather = {common.gather!r}")

    def title(self):
        """One line that names the computation and the hardware."""
        c = self.target.config
        return (f"{self.algorithm} on {printable(self.graph.name, PIECE)}: "
                f"{self.graph.num_vertices:,} vertices, {self.graph.num_edges:,} arcs; "
                f"{c.name}: {c.warps} warps x {c.threads} lanes, "
                f"L1 {c.l1_bytes // 1024} KiB, "
                + (f"L2 {c.l2_bytes // 1024} KiB" if c.l2_bytes else "no L2 cache")
                + (f", SCU of {c.scu} a cycle" if c.scu else ""))
