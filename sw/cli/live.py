"""``graphloom live``: the RTL in the browser."""

import contextlib
from typing import Annotated

import typer

from base.errors import UserError

from . import options
from .commands import app


@app.command("live", epilog="Example: graphloom live road:side=8,seed=1")
def _live(
        graph: Annotated[str | None, typer.Argument(
            metavar="GRAPH", help="The graph that the page begins with; left out, a small "
            "one.")] = None,
        port: Annotated[int | None, typer.Option(
            metavar="N", min=0, max=65535, help="Port of the page; 0 for any free one.",
            show_default="8360")] = None,
        host: Annotated[str | None, typer.Option(
            metavar="ADDRESS", help="Address to listen on. Whoever reaches it can have this "
            "machine simulate.", show_default="127.0.0.1, this machine alone")] = None,
        export: Annotated[str | None, typer.Option(
            metavar="DIR", help="Write a static site with prepared runs in place of serving a "
            "page; DIR is replaced as a whole.")] = None):
    """Show the RTL at work in a browser: cycles, warps, units, lanes on the graph."""
    if export is not None:
        for option, value in (("GRAPH", graph), ("--port", port), ("--host", host)):
            if value is not None:
                raise UserError(f"--export writes prepared runs: leave out {option} {value}")
        _export(export)
        return
    from sw.show.live.server import HOST, PORT, LiveServer
    if graph is not None:
        from sw.graph.load import load
        from sw.show.live.recording import check_graph
        check_graph(load(graph, note=options.note))
    with LiveServer(HOST if host is None else host, PORT if port is None else port,
                    graph) as server:
        print(f"The page is at {server.url} (Ctrl-C ends)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def _export(folder):
    from sw.show.live.export import check_folder, export

    from .execute import progress_display
    check_folder(folder)
    with progress_display() as (_, tell):
        sizes = export(folder, tell)
    runs = sum(name.startswith("runs/") for name in sizes)
    print(f"{folder}: {runs} runs, {sum(sizes.values()):,} bytes; serve it with any web server, "
          f"such as python -m http.server --directory {folder}")
