"""The common part of ``run`` and ``compare``: prepare, run each plan in turn, write JSON."""

import contextlib
import dataclasses
import sys
import textwrap
import time
from typing import Any

from base.errors import RunError, UserError
from base.printable import PIECE, one_line, printable
from sw import __version__

from . import files, options


__all__ = ["JobEntry", "Job", "console", "progress_display", "steps_display"]


def console(stderr=False):
    """A rich console that prints text unchanged, except for characters that :func:`printable`
    escapes. Without a terminal it is so wide that no line is broken."""
    from rich.console import Console

    class _Console(Console):
        def render_str(self, text, **options):
            return super().render_str(printable(text, lines=True), **options)

        def say(self, text, **options):
            """Print a line, however long. On a terminal it is broken between words, so that no
            number is cut."""
            if self.is_terminal:
                text = "\n".join(textwrap.fill(line, self.width, break_long_words=False,
                                               break_on_hyphens=False)
                                 for line in text.split("\n"))
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


@dataclasses.dataclass(frozen=True, eq=False)
class JobEntry:
    """A run of a :class:`Job`."""
    name: str  #: The schedule; with the unit, where another entry has the same plan.
    plan: Any  #: Plan or Hybrid.
    target: Any  #: Target.


def _entries(plans, targets):
    """The entries of plans on their targets."""
    return [JobEntry(plan.schedule if plans.count(plan) == 1
                     else f"{plan.schedule} ({target.config.gather})", plan, target)
            for plan, target in zip(plans, targets)]


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

    Attributes
    ----------
    entries : list of JobEntry
        The runs, in their order.
    results : list of Result
        Those of the runs that have ended.
    skipped : dict of str to str
        The reasons of the runs that are left out, by their names.
    """

    def __init__(self, plans, source, target, outputs, *, configs=None, recorder=None, loaded=None,
                 skip=False):
        from sw.compile import algorithms

        self.source, self.target, self.outputs = source.seeded(), target, outputs
        self.recorder = recorder
        self.algorithm = plans[0].algorithm
        self.skipped = {}
        self.entries = self._accepted(
            _entries(plans, [*map(target.on, configs)] if configs else [target] * len(plans)),
            lambda entry: entry.plan.check(entry.target.config), skip)
        self.graph = loaded or self.source.used_by(algorithms.find(self.algorithm)).load(
            options.note)
        tasks = {}

        def settle(entry):
            # It is planned as for the RTL, whatever runs it.
            device = dataclasses.replace(entry.target, board=None, functional=False).device()
            tasks[entry] = device.plan(entry.plan, self.graph)
            _ = tasks[entry].program        # it may not fit

        self.entries = self._accepted(self.entries, settle, skip)
        self._tasks = [tasks[entry] for entry in self.entries]
        self.results = []
        self._began = time.perf_counter()

    def _accepted(self, entries, check, skip):
        """The entries that ``check`` does not refuse. Raises UserError for a refused one; with
        ``skip``, only if all are refused, and for the first."""
        accepted, first = [], None
        for entry in entries:
            try:
                check(entry)
                accepted.append(entry)
            except UserError as error:
                if not skip:
                    raise
                first = first or error
                self.skipped[entry.name] = str(error)
        if first is not None and not accepted:
            raise first
        return accepted

    def run_all(self):
        """Run all plans, and show the cycles of each when it ends. While one runs, the simulator of
        the next is built."""
        from .building import Builder
        simulated = self.target.board is None and not self.target.functional
        configs = dict.fromkeys(entry.target.config for entry in self.entries)
        with Builder(list(configs)[1:] if simulated else []) as builder:
            for number, entry in enumerate(self.entries, 1):
                where = f"{number} of {len(self.entries)}: {self.algorithm}, {entry.name}"
                with progress_display() as (show, _):
                    show(f"{where}: building the simulator of {entry.target.config.name}")
                    builder.wait(entry.target.config)
                cycles = self.run(where).total_cycles
                print(f"graphloom: {one_line(where)}: {cycles:,} cycles", file=sys.stderr,
                      flush=True)

    def run(self, where=None):
        """Run the next plan, once, and keep its result. A run that fails leaves its counters in the
        JSON file. ``where`` says in the display which run it is."""
        entry, task = self.entries[len(self.results)], self._tasks.pop(0)
        where, unit = where or f"{self.algorithm}, {entry.name}", self.target.unit
        with progress_display() as (show, tell):
            show(f"{where}: preparing the hardware")
            watched = {"progress": lambda count: show(f"{where}: {count:,} {unit}")}
            if self.outputs.wave is not None or self.recorder is not None:
                watched |= {"wave": self.outputs.wave, "recorder": self.recorder}
            try:
                with entry.target.device(show=show, tell=tell, **watched) as device:
                    result = device.run_task(task)
            except RunError as error:
                self.write({"schedule": entry.name, "plan": task.plan.text, "error": str(error),
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

    def command(self):
        """The command line that runs the first plan alone."""
        from sw.show.report.command import run_command
        return run_command(self.entries[0].plan.text, self.source, self.entries[0].target)

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

    def hardware_line(self):
        """A line on the runs whose hardware is not the one of the title; None if there are none."""
        common = dataclasses.asdict(self.target.config)
        own = [f"{entry.name} with " + " and ".join(
            f"{field} = {value!r}" for field, value
            in dataclasses.asdict(entry.target.config).items()
            if field != "name" and value != common[field])
            for entry in self.entries if entry.target.config != self.target.config]
        return (f"on hardware of their own, where all else is the same: {'; '.join(own)}" if own
                else None)

    def heads(self):
        """The heads of the arrays of the last result (:mod:`sw.device.head`)."""
        from sw.compile import algorithms
        from sw.device.head import heads
        result, kind = self.results[-1], algorithms.find(self.algorithm)
        return heads(getattr(kind, "program", None), result.outputs, result.derived,
                     self.graph.names)

    def title(self):
        """One line that names the computation and the hardware."""
        c = self.target.config
        return (f"{self.algorithm} on {printable(self.graph.name, PIECE)}: "
                f"{self.graph.num_vertices:,} vertices, {self.graph.num_edges:,} arcs; "
                f"{c.name}: {c.warps} warps x {c.threads} lanes, "
                f"L1 {c.l1_bytes // 1024} KiB, "
                + (f"L2 {c.l2_bytes // 1024} KiB" if c.l2_bytes else "no L2 cache")
                + (f", SCU of {c.scu} a cycle" if c.scu else ""))
