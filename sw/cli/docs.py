"""``graphloom docs``: the pages of the documentation that are made from tables in the code."""

from typing import Annotated

import typer

from sw.installation import ROOT, need, need_tree


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("docs", epilog="Example: graphloom docs --check")(_docs)


def _docs(check: Annotated[bool, typer.Option(
        "--check", help="Write nothing; exit with 1 if a page is not up to date.")] = False):
    """Write the pages of docs that are made from the code: instructions, registers of the GPU and
    the SCU, configuration, frames of the link, resources.
    """
    need_tree("graphloom docs")
    need("graphloom docs", "jinja2")
    from . import files
    from .pages import pages
    stale = []
    for name, text in pages().items():
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
