"""The pages of the site that are no files of ``docs``: the API.

The API has a page for the names that a script imports from ``graphloom``, and one for each package:
first what the package says of itself, then its modules.
"""

import re

import graphloom

from base.installation import ROOMS, ROOT


__all__ = ["api_page", "api_pages", "published", "without_files"]


def published(path) -> bool:
    """Whether the API shows the object of a dotted path, as far as names tell."""
    return path.partition(".")[0] in ROOMS and not any(
        part.startswith("_") and part != "__init__" for part in path.split("."))


def without_files(text, folder, root=ROOT) -> str:
    """A page whose links to files of the project that the site lacks are plain text.

    Parameters
    ----------
    text : str
        Markdown.
    folder : path
        The folder of the page. A link that leads to no file stays, and MkDocs refuses the link.
    root : path
        The project's folder.
    """
    def plain(match):
        target = (folder / match[2].partition("#")[0]).resolve()
        outside = target.is_file() and not target.is_relative_to(root / "docs")
        return match[1] if outside else match[0]
    return re.sub(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)]*)\)", plain, text)


def api_page(package) -> str:
    """The name of a package's page."""
    return f"api/{package}.md"


def _script_page():
    """The page of all names that a script imports from ``graphloom``."""
    blocks = [f"::: graphloom.{name}\n    options:\n      inherited_members: true\n"
              for name in graphloom.__all__ if name != "__version__"]
    return "\n".join(["# graphloom\n", "::: graphloom\n    options:\n      members: false\n"
                      "      show_root_heading: false\n", *blocks])


def api_pages(root=ROOT) -> dict:
    """{package: text of its page}, for the names of scripts and for every package that has a public
    name."""
    pages = {"graphloom": _script_page()}
    for room in ROOMS:
        for init in sorted((root / room).rglob("__init__.py")):
            package = ".".join(init.parent.relative_to(root).parts)
            modules = [package] + [
                f"{package}.{path.stem}" for path in sorted(init.parent.glob("*.py"))
                if path.stem not in ("__init__", "__main__")]
            blocks = [f"::: {module}\n" for module in modules]
            pages[package] = f"# {package}\n\n" + "\n".join(blocks)
    return pages
