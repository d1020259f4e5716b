"""What benches of many runs share: their options, as the fields of one record; the runs; tables."""

import dataclasses
import inspect
import os

import typer

from base.errors import UserError

from . import options


__all__ = ["ManyRuns", "add", "end", "outcome", "table"]


def add(app, name, record, run, **settings):
    """Add a command whose arguments and options are the fields of a dataclass; a field ``cluster``
    stands for the options of a cluster. ``run`` is called with an instance of it as ``asked``, and
    its docstring is the command's help. ``settings`` are those of ``app.command``."""
    fields = [inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, annotation=field.type,
        default=inspect.Parameter.empty if field.default is dataclasses.MISSING
        else field.default) for field in dataclasses.fields(record)]
    command = options.folded("asked", fields, record)(run)
    if any(field.name == "cluster" for field in fields):
        command = options.with_cluster(command)
    app.command(name, **settings)(command)


@dataclasses.dataclass(kw_only=True)
class ManyRuns:
    """The options of a bench that compares many runs on several graphs. Those without which it
    means nothing are fields of a subclass."""
    folder: options.Folder = None
    largest: options.Largest = 110_000
    algorithms: options.Algorithms = "pagerank,bfs"
    iterations: options.Sweeps = 1
    weights: options.Weights = None
    preset: options.Preset = "default"
    set_: options.Set = None
    dram: options.Dram = None
    jobs: options.Jobs = os.cpu_count() or 1
    results: options.Results = None

    def machine(self, schedules=(), counters_for=None):
        """The configuration and the memory. Raises UserError; with ``counters_for`` also for
        hardware without counters, which that command needs."""
        config = options.hardware(self.preset, self.set_, schedules)
        if counters_for is not None and not config.counters:
            raise UserError(f"{counters_for} needs the counters: --set counters=true")
        return config, options.memory(self.dram, config)

    def check_files(self, graphs, **outputs):
        """Refuse files that cannot be written. ``outputs`` has further ones by their options."""
        from . import files
        files.distinct({"--results": self.results, **{
            f"--{name}": path for name, path in outputs.items()}}, graphs or ())
        files.check(self.results)

    @property
    def chosen(self) -> list:
        """The names of the algorithms."""
        from sw.compile import algorithms
        return options.names(self.algorithms, "--algorithms", algorithms.names())

    def pairs(self, graphs, default=()) -> list:
        """The graphs, as :func:`.options.graphs` gives them, or those of the default."""
        return options.graphs(graphs, self.folder, self.largest) or [
            (graph, False) for graph in default]

    def measure(self, grid, config, memory, describe):
        """Run what is not in the file of results, with a line for each run on standard error. Gives
        what the grid measured (:class:`sw.study.benchmarks.grid.Measured`).

        ``describe`` gives a case in a few words.
        """
        from sw.study.benchmarks.executors import Processes

        from .execute import console
        err = console(stderr=True)

        def report(case, record, done, total):
            err.print(f"{done}/{total}{describe(case)}: {outcome(record)}", markup=False)
        return grid.run(Processes(self.jobs), grid.batch(config, memory, self.results), report)


def outcome(record) -> str:
    """A case's record in a few words."""
    return (f"{record['cycles']:,} cycles" if "cycles" in record
            else record.get("error") or record["refused"])


def table(texts, numbers):
    """An empty table with columns of texts and of numbers."""
    from .tables import FittedTable
    return FittedTable(*map("<{}".format, texts), *map(">{}".format, numbers))


def end(out, records):
    """Print the notes of all records. Exits with 1 if a run failed."""
    from sw.study.benchmarks.batch import notes_of
    for note in notes_of(records):
        out.print(f"note: {note}", soft_wrap=True)
    if any("error" in record for record in records):
        raise typer.Exit(1)
