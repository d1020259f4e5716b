"""``graphloom reproduce``: the figures of a paper, measured here and beside the paper's own."""

import dataclasses
import os
import pathlib
import shlex
from typing import Annotated, Any

import typer

from base.errors import UserError
from base.installation import PROGRAM, need
from hw.config import PRESETS

from . import benches, options
from .commands import app
from .completion import one


#: Edges of a real graph's file up to which it is simulated, and with --large.
_LARGEST = {False: 100_000, True: 2_000_000}

#: The options that figures depend on.
_OF_FIGURES = ("large", "folder", "largest", "repeat", "preset", "set", "dram", "gpu", "seeds")


@dataclasses.dataclass(kw_only=True)
class _Options:
    paper: Annotated[str, typer.Argument(
        metavar="PAPER", help="Paper: cr2, graphpeg, grassembler, sage, scu, sparseweaver or "
                              "ugf; or ranking, the comparison with a GPU.",
        show_default=False, autocompletion=one("papers"))]
    figures: Annotated[list[str] | None, typer.Argument(
        metavar="[FIGURE]...", help="Figures and tables of the paper; all if left out.",
        show_default=False)] = None
    list_: Annotated[bool, typer.Option(
        "--list", help="List the figures and tables of the paper; run nothing.")] = False
    large: Annotated[bool, typer.Option(
        "--large", help="Use larger generated graphs: hours in place of minutes.",
        rich_help_panel="Graph")] = False
    folder: Annotated[str | None, typer.Option(
        "--folder", metavar="DIR", help="Also run on the real graphs that MANIFEST.tsv of "
        "this folder lists; a graph listed as undirected gets the reverse of each arc.",
        rich_help_panel="Graph", show_default=False)] = None
    largest: Annotated[int | None, typer.Option(
        "--largest", metavar="N", min=1, help="Do not simulate graphs of the folder with more "
        "edges; measurements on the host still use all graphs.", rich_help_panel="Graph",
        show_default="100000, with --large 2000000")] = None
    repeat: Annotated[int, typer.Option(
        "--repeat", metavar="N", min=1, help="Build each format N times and take the median "
        "time.")] = 5
    preset: Annotated[str | None, typer.Option(
        "--preset", metavar="NAME", help=f"Hardware to start from: {', '.join(PRESETS)}.",
        rich_help_panel="Hardware",
        show_default="baseline; ranking: gpu; sparseweaver with --large: paper")] = None
    set_: options.Set = None
    dram: options.Dram = None
    gpu: Annotated[str | None, typer.Option(
        "--gpu", metavar="FILE", help="The record of a GPU that `bench ranking` has made, for "
        "ranking.", rich_help_panel="Hardware", show_default="an H200's")] = None
    seeds: Annotated[str | None, typer.Option(
        "--seeds", metavar="FIRST-LAST", help="Seeds of which each generated graph has the one "
        "whose hub is nearest to its place on the GPU's graph, for ranking.",
        rich_help_panel="Graph", show_default="1-40")] = None
    jobs: options.JobsIfAny = None
    cluster: Any = None
    output: Annotated[str | None, typer.Option(
        "--output", metavar="DIR", help="Folder for the .json, .md, .png and .svg of "
        "each figure.", rich_help_panel="Files", show_default="results/PAPER")] = None
    results: Annotated[str | None, typer.Option(
        "--results", metavar="FILE", help="Keep each run in this file, a line of JSON; runs "
        "in the file from the same sources are not repeated.",
        rich_help_panel="Files", show_default="runs.jsonl beside the figures")] = None

    @property
    def given(self) -> list:
        """The options that figures depend on, where they are not as they are by default, as words
        of a command line."""
        words = []
        for field in dataclasses.fields(self):
            value, name = getattr(self, field.name), field.name.rstrip("_")
            if name not in _OF_FIGURES or value == field.default:
                continue
            words += [f"--{name}"] if value is True else [
                word for each in (value if isinstance(value, list) else [value])
                for word in (f"--{name}", str(each))]
        return words

    def setting(self, paper):
        """The hardware and the graphs. Raises UserError."""
        from sw.study.reproduce.setting import Setting, choices
        config = options.hardware(self.preset or (paper.large if self.large else paper.preset),
                                  self.set_)
        memory, real = options.memory(self.dram, config), {}
        if self.largest is not None and self.folder is None:
            raise UserError("--largest limits the graphs of --folder: give --folder as well")
        if self.folder is not None:
            from sw.study.benchmarks.folder import listed
            limit = self.largest or _LARGEST[self.large]
            real = {"stored": listed(self.folder), "simulated": listed(self.folder, limit)}
        need("graphloom reproduce", "matplotlib")
        seeds = {} if self.seeds is None else {"seeds": _seeds(self.seeds)}
        return Setting(config, memory, repeat=self.repeat, gpu=self.gpu, **seeds,
                       **choices(self.large, **real))


def _seeds(text):
    """The numbers of ``FIRST-LAST``. Raises UserError."""
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise UserError(f"--seeds {text}: must be the first and the last seed, such as 41-80")
    return range(int(first), int(last) + 1)


def _reproduce(asked):
    """Measure figures and tables of a paper, and set the paper's own numbers beside them.

    A run that fails is shown as failed, with its reason, and loses no other run. After an
    interruption, the same command continues with the runs that are missing.
    """
    from sw.study import reproduce

    from .execute import console
    paper = reproduce.find(asked.paper)
    chosen = ([paper.find(name) for name in dict.fromkeys(asked.figures)] if asked.figures
              else list(paper.figures))
    if asked.list_:
        _list(paper, chosen)
        return 0
    setting = asked.setting(paper)

    from sw.study.reproduce.study import Study

    from . import files
    files.check(asked.results)
    output = asked.output or f"results/{paper.paper}"
    results = asked.results or os.path.join(output, "runs.jsonl")
    if os.path.isdir(output):
        files.check(results)

    study = Study(paper, chosen, setting, output,
                  lambda figure: shlex.join([PROGRAM, "reproduce", paper.paper, figure.name,
                                             *asked.given]), results)
    out = console()
    with options.executor("graphloom reproduce", asked.cluster, asked.jobs,
                          read=study.reads) as executor:
        if study.simulates and executor.here:
            from sim import toolchain
            toolchain.verilator()      # told in one line if it is missing, before anything is done
            toolchain.compiler()
        _make_folder(output)
        failed = _run(study, executor, out)
    out.print(f"\nThe files of the figures are in {output}: .json, .md, .png and .svg of each",
              soft_wrap=True)
    return 1 if failed else 0


def _run(study, executor, out):
    """Run the cases, and print each figure. Returns the reasons of failed runs."""
    from .progress import progress
    failed = []

    def ending(record):
        if "error" in record:
            return f"failed: {record['error']}"
        return f"{record['cycles']:,} cycles" if "cycles" in record else "measured"

    with progress(len(study.cases), len(study.records), lambda case: case.describe(), ending) \
            as (begun, ended, aside):
        def written(figure, outcome, failures):
            failed.extend(failures)
            with aside():
                _print(out, study, figure, outcome, failures)

        study.run(executor, begun, ended, written)
    return failed


def _make_folder(path):
    """Make a folder to write to, if it is not there. Raises UserError."""
    try:
        pathlib.Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--output {path}: cannot be made: {error.strerror}") from None
    if not os.access(path, os.W_OK):
        raise UserError(f"--output {path}: cannot be written")


def _list(paper, figures):
    from .execute import console
    out = console()
    out.print(f"{paper.paper}: {paper.title}\n{paper.source}\n")
    table = benches.table(("figure", "subject", "source"), ())
    for figure in figures:
        table.add_row(figure.name, figure.title, figure.source)
    out.print(table)


def _print(out, study, figure, outcome, failures):
    from sw.study.reproduce.study import failed_table
    out.print(f"\n{figure.name}: {figure.title} ({figure.source})", style="bold")
    out.print(f"    {study.command(figure)}", soft_wrap=True)
    for table in filter(None, [*outcome.tables, outcome.compared(study.paper.beside)]):
        _print_table(out, table)
    for note in outcome.notes:
        out.print(note, soft_wrap=True)
    if failures:
        _print_table(out, failed_table(failures))


def _print_table(out, table):
    from .tables import FittedTable
    out.print(f"\n{table.title}", style="bold", soft_wrap=True)
    shown = FittedTable(*(f"{'>' if number else '<'}{name}"
                          for number, name in enumerate(table.columns)))
    for row in table.rows:
        shown.add_row(*row)
    out.print(shown)


benches.add(app, "reproduce", _Options, _reproduce, epilog="Exit code: 0 if every run passed, "
            "1 if not. Examples: graphloom reproduce cr2 --list; graphloom reproduce cr2 "
            "fig3.8; graphloom reproduce cr2 --large --folder GRAPHS")
