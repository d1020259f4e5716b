"""``graphloom report``: a folder of pages with plots, from files of results."""

from typing import Annotated

import typer

from base.installation import need

from .commands import app


@app.command("report", epilog="Examples: graphloom compare bfs karate --json bfs.json; graphloom "
             "report bfs.json -o report; graphloom report results/cr2 tuned.json overhead.json -o "
             "report")
def _report(
        results: Annotated[list[str], typer.Argument(
            metavar="RESULTS...", help="Files of results: of run and compare (--json), run --trace "
            "FILE.json, sweep, tune (--json, --results), synth (--json) and reproduce; or "
            "folders, whose .json and .jsonl files all count.")],
        output: Annotated[str, typer.Option(
            "-o", "--output", metavar="DIR", help="Folder to make: a new one, an empty one, or an "
            "earlier report, which is replaced.")]):
    """Make pages with interactive plots: open index.html of the folder in a browser.

    Each point of a plot shows the command that makes it. The pages ask no network for anything.
    """
    need("graphloom report", "plotly")
    from sw.show.report.build import build
    from sw.show.report.plots import counted
    pages = build(results, output)
    plots = sum(bool(block.variants) for _, page in pages for block in page.blocks)
    for path, page in pages:
        print(f"{path}: {page.title} ({page.kind})")
    print(f"{output}/index.html: {counted(len(pages), 'page')} with "
          f"{counted(plots, 'plot')}; open it in a browser")
