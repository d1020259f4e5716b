"""``graphloom graph formats`` and ``graphloom bench formats``: storage formats, measured."""

import dataclasses
from typing import Annotated

import typer

from base.errors import UserError

from . import options
from .completion import many
from .records import with_graph


__all__ = ["figures_table", "register", "register_bench", "subgraphs_table"]


_BENCH_GRAPH = "community:vertices=500000,edges=10000000,communities=1000,seed=1"

_Formats = Annotated[str | None, typer.Option(
    "--formats", metavar="A,B,...", help="Formats to build, each as NAME[:OPTION=VALUE]..., e.g. "
    "csr,tigr:k=4,cr2:cluster_bits=8:reorder=louvain. docs/formats.md has all options.",
    rich_help_panel="Graph", show_default="all, without options",
    autocompletion=many("formats"))]
_Towards = Annotated[str, typer.Option(
    "--direction", metavar="push|pull", help="Rows by source (push) or by destination (pull).",
    rich_help_panel="Graph")]
_Repeat = Annotated[int, typer.Option(
    "--repeat", metavar="N", min=1, help="Build each format N times and take the shortest time.")]


def register(app):
    """Add ``graph formats``."""
    app.command("formats", epilog="Example: graphloom graph formats "
                "community:vertices=10000,edges=100000,communities=50 --formats "
                "csr,tigr,cr2:cluster_bits=8")(_graph_formats)


def register_bench(app):
    """Add ``bench formats``."""
    app.command("formats", epilog="Example: graphloom bench formats --formats csr,cr2")(
        _bench_formats)


def _prepare(graph, formats, direction, json):
    """The formats that are asked for, after everything that can be refused was."""
    from sw.study.benchmarks.formats import default_formats, with_reference
    from sw.compile.formats.image import DIRECTIONS

    from . import files
    if direction not in DIRECTIONS:
        raise UserError(f"--direction {direction}: must be push or pull")
    files.distinct({"--json": json}, [graph])
    files.check(json, (".json",))
    if formats is None:
        return default_formats()
    return with_reference(options.names(formats, "--formats"))


@with_graph
def _graph_formats(source, formats: _Formats = None, direction: _Towards = "push",
                   repeat: _Repeat = 3, json: options.Json = None):
    """Print the bytes of a graph in each storage format, and the time to build the format."""
    texts = _prepare(source.spec, formats, direction, json)
    _show(source.load(options.note), texts, direction, repeat, False, json)


def _bench_formats(
        graph: Annotated[str, typer.Option(
            metavar="GRAPH", help="Graph that the formats store.")] = _BENCH_GRAPH,
        formats: _Formats = None, direction: _Towards = "push", repeat: _Repeat = 5,
        json: options.Json = None):
    """Measure the time and the memory that building each storage format takes."""
    from sw.graph.load import load
    texts = _prepare(graph, formats, direction, json)
    _show(load(graph, note=options.note), texts, direction, repeat, True, json)


def _show(graph, texts, direction, repeat, memory, json):
    from sw.study.benchmarks.formats import measure

    from . import files
    from .execute import console, progress_display
    with progress_display() as (progress, _):
        figures = list(measure(graph, texts, direction, repeat, memory, progress))
    files.write_json(json, {
        "graph": graph.name, "vertices": graph.num_vertices, "arcs": graph.num_edges,
        "weighted": graph.weights is not None, "direction": direction,
        "formats": [dataclasses.asdict(figure) for figure in figures]})
    out = console()
    out.print(f"{graph.name}, {direction}: {graph.num_vertices:,} vertices, "
              f"{graph.num_edges:,} arcs")
    out.print(figures_table(figures, graph.num_edges))
    if not memory:
        for figure in figures:
            if figure.subgraphs is not None:
                out.print(f"\nsubgraphs of {figure.text}")
                out.print(subgraphs_table(figure))


def figures_table(figures, num_edges):
    """One row a format; ratios are to the first."""
    from .tables import FittedTable
    titles = ["bytes", f"of {figures[0].text}'s", "bytes an arc", "build, ms",
              f"of {figures[0].text}'s", "arcs a second"]
    if any(figure.peak is not None for figure in figures):
        titles.append("peak memory, MiB")
    titles += ["intra-cluster arcs", "expand list"]
    table = FittedTable("<format", *(f">{title}" for title in titles))
    first = figures[0]
    for figure in figures:
        cells = [figure.text, f"{figure.nbytes:,}", f"{figure.nbytes / first.nbytes:.3f}",
                 f"{figure.nbytes / num_edges:.2f}" if num_edges else "-",
                 f"{1e3 * figure.seconds:.1f}", f"{figure.seconds / first.seconds:.2f}x",
                 f"{num_edges / figure.seconds:,.0f}"]
        if figure.peak is not None:
            cells.append(f"{figure.peak / (1 << 20):,.0f}")
        if figure.intra_share is None:
            cells += ["-", "-"]
        else:
            cells += [f"{100 * figure.intra_share:.1f} %",
                      f"{100 * figure.expand_nbytes / figure.nbytes:.1f} %"]
        table.add_row(*cells)
    return table


def subgraphs_table(figure):
    """The Degree-n subgraphs of a CR2 image."""
    from .tables import FittedTable
    table = FittedTable("<part", ">degree", ">records", ">arcs", ">bytes")
    for row in figure.subgraphs:
        table.add_row(row["part"], *(f"{row[name]:,}"
                                     for name in ("degree", "records", "edges", "bytes")))
    return table
