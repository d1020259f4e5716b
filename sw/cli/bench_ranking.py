"""``graphloom bench ranking``: every schedule in software on a GPU, as a record."""

import datetime
import json
import shlex
from typing import Annotated

import typer

from base.errors import UserError
from base.installation import PROGRAM

from . import options


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("ranking", epilog="Exit code: 0; 1 if a result is wrong. Example: graphloom bench "
                "ranking --record gpu.jsonl --counters; then graphloom reproduce ranking --gpu "
                "gpu.jsonl")(_ranking)


def _ranking(
        graphs: Annotated[list[str] | None, typer.Argument(
            metavar="[GRAPH]...", help="Graphs.", show_default="R-MAT 22 by three seeds, and a "
            "road of 2,000 x 2,000")] = None,
        weights: options.Weights = 255,
        vm: Annotated[str, typer.Option(
            "--vm", metavar="cuda", help="The machine that is measured: a GPU.")] = "cuda",
        algorithms: options.Algorithms = "bfs,pagerank,sssp,cc",
        repeat: Annotated[int, typer.Option(
            "--repeat", metavar="N", min=1, help="Measured runs of each way.")] = 4,
        counters: Annotated[bool, typer.Option(
            "--counters", help="Also count instructions, atomics and bytes of one run of each "
            "way, with NVIDIA's Nsight Compute (ncu).")] = False,
        record: Annotated[str | None, typer.Option(
            "--record", metavar="FILE", help="Keep each way in this file, a line of JSON; ways in "
            "the file are not measured again.", rich_help_panel="Files",
            show_default=False)] = None):
    """Measure every schedule in software in both directions on a GPU, and record the times.

    `graphloom reproduce ranking` compares the ranking of these ways with that on the RTL. Searches
    start at the vertex with the most out-arcs; PageRank makes 10 iterations. Each result is
    checked.
    """
    from sw.study.benchmarks import ranking
    from sw.study.benchmarks.records import RecordsFile

    from . import files
    from .execute import console
    if vm != "cuda":
        raise UserError(f"--vm {vm}: only a GPU is recorded: --vm cuda")
    if record is None:
        raise UserError("nothing would be kept: give --record FILE")
    chosen = options.names(algorithms, "--algorithms", ranking.ALGORITHMS)
    files.distinct({"--record": record}, graphs or ())
    files.check(record)
    kept = RecordsFile(record)
    gpu = ranking.described()
    gpu |= {"date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
            "command": shlex.join([PROGRAM, "bench", "ranking", "--weights", str(weights),
                                   "--repeat", str(repeat),
                                   *["--counters"] * counters])}
    done, err = {key for key, _ in kept.read()}, console(stderr=True)
    for spec in graphs or ranking.GRAPHS:
        keys = {(algorithm, way): json.dumps([gpu["device"], spec, weights, algorithm, *way])
                for algorithm in chosen for way in ranking.WAYS}
        left = {algorithm: ways for algorithm in chosen if (ways := [
            way for way in ranking.WAYS if keys[algorithm, way] not in done])}
        counts = ranking.counted(spec, weights, left) if counters and left else {}
        try:
            for algorithm, ways in left.items():
                for way, found in ranking.measured(spec, algorithm, weights, repeat, ways):
                    kept.keep(keys[algorithm, way], gpu | found | counts.get(
                        algorithm, {}).get(way, {}))
                    err.print(f"{algorithm} on {spec}, {way}: {1e3 * min(found['seconds']):,.3f} "
                              "ms", markup=False, soft_wrap=True)
        except RuntimeError as error:
            err.print(f"{error}", markup=False, soft_wrap=True)
            return 1
    return 0
