"""The hooks that MkDocs calls (``hooks`` in ``mkdocs.yml``)."""

from pathlib import Path

from mkdocs.structure.files import File

from base.installation import ROOT
from sw.show.site.places import api_page, api_pages, without_files


__all__ = ["on_config", "on_files", "on_page_markdown"]


def on_config(config):
    """Add the notes to the navigation, the newest first, and the API, a line for each package."""
    notes = sorted(Path(config.docs_dir).glob("notes/*.md"), reverse=True)
    if notes:
        config.nav.append({"Notes": [f"notes/{path.name}" for path in notes]})
    config.nav.append({"API": [{package: api_page(package)} for package in api_pages()]})
    return config


def on_files(files, config):
    """Add the pages that are made."""
    for package, text in api_pages().items():
        files.append(File.generated(config, api_page(package), content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Take the links to files that the site lacks out of a page."""
    return without_files(markdown, ROOT / "docs")
