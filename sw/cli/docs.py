"""``graphloom docs``: the pages and pictures that are made from the code, and the site."""

from typing import Annotated

import typer

from base.errors import UserError
from base.installation import ROOT, need, need_tree

from .commands import app


@app.command("docs", epilog="Example: graphloom docs --check")
def _docs(
        check: Annotated[bool, typer.Option(
            "--check", help="Write nothing; exit with 1 if a file is not up to date.")] = False,
        record: Annotated[bool, typer.Option(
            "--record", help="First record again the traces and results that pictures are drawn "
            "from: a few minutes of simulation.")] = False,
        serve: Annotated[bool, typer.Option(
            "--serve", help="Serve the site to this machine until Ctrl-C.",
            rich_help_panel="Site")] = False,
        port: Annotated[int | None, typer.Option(
            metavar="N", min=1, max=65535, help="The port of --serve; 8000 by default.",
            rich_help_panel="Site")] = None,
        site: Annotated[str | None, typer.Option(
            metavar="FOLDER", help="Build the site in a folder.", rich_help_panel="Site")] = None):
    """Write the pages and pictures of docs that are made from the code: extras, instructions,
    registers of the GPU and the SCU, configuration, frames of the link, resources, block diagrams,
    waveforms.
    Or build or serve the site, which has all pages and the API.
    """
    need_tree("graphloom docs")
    chosen = [name for name, given in (("--check", check), ("--record", record),
                                       ("--serve", serve), ("--site", site is not None)) if given]
    if len(chosen) > 1:
        raise UserError(f"{' and '.join(chosen)} cannot be given together")
    if port is not None and not serve:
        raise UserError("--port needs --serve")
    if serve:
        from sw.show.site import build
        return build.serve(build.PORT if port is None else port)
    if site is not None:
        return _site(site)
    for module in ("jinja2", "matplotlib", "wavedrom"):
        need("graphloom docs", module, "docs")
    if record:
        _record()
    return _write(check)


def _site(folder):
    """Build the site; exit code 1 if a link of a page leads nowhere."""
    from sw.show.site.build import build

    from .execute import console
    found = build(folder)
    err = console(stderr=True)
    for line in found:
        err.say(line)
    if found:
        print(f"docs: the site has {len(found)} errors and was not written")
        return 1
    print(f"docs: the site is in {folder}")
    return 0


def _outputs():
    """{file name in docs: text} of all that is made from the code and from recorded results."""
    from sw.show.figures.pictures import pictures

    from .pages import pages
    return {**pages(), **pictures()}


def _write(check):
    """Write the files that are not up to date, or name them."""
    from sw.show.figures.diagram import OutOfDate

    from . import files
    stale = []
    try:
        outputs = _outputs()
    except OutOfDate as error:
        print(f"docs: {error}")
        return 1
    for name, text in outputs.items():
        path = ROOT / "docs" / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.parent.mkdir(exist_ok=True)
                files.write_text(str(path), text)
    if not stale:
        print("docs: up to date")
    elif check:
        print(f"docs: not up to date: {', '.join(stale)}: run `./graphloom docs`")
        return 1
    else:
        print(f"docs: wrote {', '.join(stale)}")
    return 0


def _record():
    """Record the traces and results that pictures are drawn from."""
    from sw.show.figures.pictures import FOLDER, RECORDS

    from . import files
    from .execute import console
    err = console(stderr=True)
    for name, record in RECORDS.items():
        err.print(f"recording {name}")
        files.write_text(str(ROOT / FOLDER / name), record())
