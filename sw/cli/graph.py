"""``graphloom graph``: look at graphs, convert them, generate them, store them."""

from typing import Annotated

import typer

from base.printable import printable

from . import files, graph_formats, options
from .commands import App
from .completion import one
from .records import with_graph


__all__ = ["app"]


app = App(help="Inspect, convert and generate graphs.", no_args_is_help=True)

_Target = Annotated[str, typer.Argument(
    metavar="FILE", help="File to write: .mtx .el .wel .gr .npz, each also .gz.")]


@app.command("info", epilog="Example: graphloom graph info soc-epinions1.el.gz")
@with_graph
def _info(source, json: options.Json = None):
    """Print the size of a graph and how uneven its degrees are."""
    from sw.graph.describe import describe

    from .execute import console
    from .tables import FittedTable
    files.distinct({"--json": json}, [source.spec])
    files.check(json)
    facts = describe(source.load(options.note))
    files.write_json(json, facts)
    table = FittedTable("<", "<", heading=False)
    for name, value in facts.items():
        if value is not None:
            text = (("no", "yes")[value] if isinstance(value, bool) else
                    f"{value:,}" if isinstance(value, int) else
                    f"{value:.3f}" if isinstance(value, float) else str(value))
            table.add_row(name.replace("_", " "), text)
    console().print(table)


def _save(graph, target):
    from sw.graph.save import suffix_of, write
    write(graph, target)
    if graph.names is not None and suffix_of(target)[0] != ".npz":
        options.note(f"{target}: has the vertices' numbers; .npz files keep their ids, too")
    print(f"{printable(target)}: {graph.num_vertices:,} vertices, {graph.num_edges:,} arcs")


@app.command("convert", epilog="Example: graphloom graph convert road.gr.gz road.npz --undirected")
@with_graph
def _convert(source, target: _Target):
    """Read a graph in one format and write it in another."""
    files.distinct({"FILE": target}, [source.spec])
    files.check(target)
    _save(source.load(options.note), target)


@app.command("generate", epilog="Example: graphloom graph generate rmat:scale=14,degree=16,seed=1 "
             "rmat14.npz")
def _generate(
        generator: Annotated[str | None, typer.Argument(
            metavar="[GENERATOR]", help="Generator, as rmat:..., uniform:..., powerlaw:..., "
            "community:... or road:.... If left out, all generators are listed with their "
            "parameters.", autocompletion=one("generators"))] = None,
        target: Annotated[str | None, typer.Argument(
            metavar="[FILE]", help="File to write: .mtx .el .wel .gr .npz, each also .gz.")] = None,
        undirected: options.Undirected = False,
        simplify: options.Simplify = False):
    """Make a graph and write it; without arguments, list the generators."""
    from base.errors import UserError
    from sw.graph.generators import GENERATORS
    from sw.graph.load import GraphSource
    if generator is None:
        for name, entry in GENERATORS.items():
            print(f"{name}: {entry.doc}")
            for parameter, what in entry.parameters.items():
                default = "" if what.default is None else f", {what.default} if left out"
                print(f"  {parameter:<10} {what.doc} ({what.legal}{default})")
        return
    if generator.partition(":")[0] not in GENERATORS:
        raise UserError(f"there is no generator {generator.partition(':')[0]!r}; there are "
                        f"{', '.join(GENERATORS)}")
    if target is None:
        raise UserError("graph generate: name the file to write, as in `graphloom graph "
                        f"generate {generator} graph.npz`")
    files.check(target)
    _save(GraphSource(generator, undirected=undirected, simplify=simplify).load(options.note),
          target)


graph_formats.register(app)
