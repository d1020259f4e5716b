"""``graphloom bench programs``: programs of the language beside libraries, by wall time."""

import statistics
from typing import Annotated

import typer

from base.errors import UserError

from . import benches, options


__all__ = ["register"]


#: Runs of each way, if the user does not say.
_REPEAT = {"cpu": 40, "cuda": 4}


def register(app):
    """Add the command."""
    app.command("programs", epilog="Exit code: 0; 1 if a result differs. Examples: graphloom bench "
                "programs; graphloom bench programs karate --algorithms bfs,cc; graphloom bench "
                "programs --vm cuda")(_programs)


def _programs(
        graphs: Annotated[list[str] | None, typer.Argument(
            metavar="[GRAPH]...", help="Graphs.", show_default="cpu: R-MAT 16, undirected, and a "
            "road of 512 x 512; cuda: R-MAT 20 and 22, and a road of 2,000 x 2,000")] = None,
        undirected: options.Undirected = False,
        weights: options.Weights = 100,
        vm: Annotated[str, typer.Option(
            "--vm", metavar="cpu|cuda", help="cpu: this computer, beside SciPy. cuda: a GPU, with "
            "every load balance, beside CuPy's sparse products and the GraphVM cpu.")] = "cpu",
        algorithms: options.Algorithms = "pagerank,bfs,sssp,cc,bc",
        delta: Annotated[int | None, typer.Option(
            "--delta", metavar="N", min=1, help="Step of sssp's threshold between near and far "
            "vertices.", show_default="none")] = None,
        repeat: Annotated[int | None, typer.Option(
            "--repeat", metavar="N", min=1, help="Measured runs of each way, by turns on the "
            "cpu.", show_default="cpu: 40, cuda: 4")] = None,
        json: options.Json = None):
    """Run programs of the language beside a library on the same graphs, check all results, and
    print wall times.

    Times are the least of all runs, in milliseconds: of whole runs, and on the GPU of the
    operators, with launches and waits. Work that is done once for a graph, such as making its
    matrix, does not count.
    Searches start at the vertex with the most out-arcs; PageRank makes 10 iterations. Where no GPU
    answers, --vm cuda compiles the programs, if there is an nvcc, and says that it runs nothing.
    """
    from sw.study.benchmarks import programs
    from sw.vm import cuda

    from . import files
    from .execute import console
    if vm not in programs.GRAPHS:
        raise UserError(f"--vm {vm}: must be {' or '.join(programs.GRAPHS)}")
    chosen = options.names(algorithms, "--algorithms", programs.ALGORITHMS)
    files.distinct({"--json": json}, graphs or ())
    files.check(json, (".json",))
    if vm == "cuda" and (absence := cuda.available()) is not None:
        _compile(chosen, absence)
        return 0
    pairs = [(graph, undirected) for graph in graphs] if graphs else [
        (graph, both or undirected) for graph, both in programs.GRAPHS[vm]]
    found = [_measured(vm, graph, both, weights, chosen, delta, repeat or _REPEAT[vm])
             for graph, both in pairs]
    out = console()
    for each in found:
        _print(out, vm, each)
    if json is not None:
        files.write_json(json, {"vm": vm, "graphs": found})
    different = [f"{way} {algorithm} on {each['graph']}" for each in found
                 for algorithm, record in each["algorithms"].items()
                 for way, figures in record.get("ways", {}).items() if not figures["same"]]
    for text in different:
        console(stderr=True).print(f"the result differs: {text}", soft_wrap=True)
    return 1 if different else 0


def _compile(algorithms, absence):
    """Compile the programs for the GPUs that the project knows, if there is an nvcc."""
    from sim.errors import ToolError
    from sw.lang import programs
    from sw.vm import cuda
    for name in algorithms:
        try:
            outcome = cuda.compile_check(programs.find(name))
        except ToolError as error:
            print(f"{name}: not compiled: {error}")
        else:
            print(f"{name}: compiled for {', '.join(outcome.architectures)}")
    print(f"nothing was run: {absence}")


def _measured(vm, spec, undirected, weights, algorithms, delta, repeat):
    """The figures of a graph, as JSON can hold them."""
    from sw.study.benchmarks import programs
    from sw.graph.load import load

    from .execute import console
    err = console(stderr=True)
    graph = load(spec, weights=weights, undirected=undirected, note=options.note)
    found = {}
    for algorithm in algorithms:
        given = programs.parameters(algorithm, graph, delta)

        def ended(way, algorithm=algorithm):
            err.print(f"{algorithm} on {graph.name}: {way}", markup=False, soft_wrap=True)
        try:
            ways = (programs.on_cpu(algorithm, graph, given, repeat) if vm == "cpu" else
                    programs.on_gpu(algorithm, graph, given, repeat, ended))
        except UserError as error:                      # of the graph: BC cannot count all paths
            found[algorithm] = {"refused": str(error)}
        else:
            found[algorithm] = {"parameters": given, "ways": ways,
                                "arcs": programs.arcs_a_run(algorithm, graph.num_edges)}
        if vm == "cpu":
            ended("done")
    return {"graph": spec, "undirected": undirected, "vertices": graph.num_vertices,
            "arcs": graph.num_edges, "algorithms": found}


def _print(out, vm, figures):
    from sw.study.benchmarks.libraries import LIBRARIES
    records = figures["algorithms"]
    library = LIBRARIES[vm][0]
    ways = list(dict.fromkeys(way for record in records.values() for way in record.get("ways", ())))
    table = benches.table(("milliseconds",), records)

    def row(title, cell):
        table.add_row(title, *(cell(record) if "ways" in record else "-"
                               for record in records.values()))

    def seconds(record, way):
        return record["ways"][way]["seconds"] if way in record["ways"] else None

    def least(way):
        return lambda record: (f"{min(values) * 1e3:,.3f}"
                               if (values := seconds(record, way)) else "-")

    for way in ways:
        row(way, least(way))
    table.add_section()

    def fastest(record):
        return min((min(each["seconds"]), way) for way, each in record["ways"].items()
                   if way != library and (way == "cpu") == (vm == "cpu"))

    def over(rival):
        def cell(record):
            theirs = seconds(record, rival)
            return f"{min(theirs) / fastest(record)[0]:.2f}x" if theirs else "-"
        return cell

    def paired(record):
        pairs = zip(seconds(record, library) or (), record["ways"]["cpu"]["seconds"])
        ratios = [theirs / ours for theirs, ours in pairs]
        return f"{statistics.median(ratios):.2f}x" if ratios else "-"

    if vm == "cuda":
        row("fastest way", lambda record: fastest(record)[1])
    row("million arcs a second", lambda record: f"{record['arcs'] / fastest(record)[0] / 1e6:,.1f}")
    row(f"{library} over {vm}", over(library))
    if vm == "cpu":
        row("... median of pairs", paired)
    else:
        row("GraphVM cpu over cuda", over("cpu"))
    out.print(f"{figures['graph']}{' (undirected)' * figures['undirected']}: "
              f"{figures['vertices']:,} vertices, {figures['arcs']:,} arcs", soft_wrap=True)
    out.print(table)
    for algorithm, record in records.items():
        if "refused" in record:
            out.print(f"{algorithm}: {record['refused']}", soft_wrap=True)
        for note in record.get("ways", {}).get("cpu", {}).get("notes", ()):
            out.print(f"note: {note}", soft_wrap=True)
