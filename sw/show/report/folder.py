"""Writes a report: pages from templates, the style, the script, and plotly beside them.

The folder is made under another name and moved to its place when it is complete. An earlier report
in the place is replaced; any other folder is refused.
"""

import contextlib
import dataclasses
import json
import pathlib

from base import output
from sw import __version__

from .plots import slug


__all__ = ["PLOTLY", "check", "write"]


#: The file that makes a folder a report: the list of its files.
_LIST = "report.json"

_KIND = "graphloom report"

#: The file of plotly's script.
PLOTLY = "plotly.min.js"

_PAGE = pathlib.Path(__file__).parent / "page"

#: Files that are copied as they are.
_COPIED = ("report.css", "report.js")


def check(folder):
    """Refuse a place where no report can be written: one with other files, or none at all. Raises
    UserError."""
    output.check_folder(folder, "-o", _foreign)


def _foreign(target):
    """The names in a folder that no report has written."""
    own = set()
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        made = json.loads((target / _LIST).read_text())
        own = set(made["files"]) if made["kind"] == _KIND else set()
    return sorted({entry.name for entry in target.iterdir()} - own)


def write(folder, pages, index):
    """Write a report.

    Parameters
    ----------
    folder : str
        A new name, an empty folder, or an earlier report.
    pages : list of (str, sw.show.report.plots.Page)
        The pages, with the files of results from which they are.
    index : sw.show.report.plots.Page
        The first page; links to the others are added.

    Returns
    -------
    list of str
        The names of the files.

    Raises
    ------
    UserError
        The folder cannot be written, or holds other files. It is as it was before.
    """
    with output.replacing_folder(folder, "-o", _foreign) as made:
        return _make(made, pages, index)


def _make(folder, pages, index):
    """Write all files. Returns their names."""
    import jinja2
    from plotly.offline import get_plotlyjs
    import markupsafe
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(_PAGE), autoescape=True,
                                   undefined=jinja2.StrictUndefined, trim_blocks=True,
                                   lstrip_blocks=True)
    # Long texts of graphs and plans may break after a comma.
    templates.filters["breakable"] = lambda text: markupsafe.Markup(
        str(markupsafe.escape(text)).replace(",", ",<wbr>"))
    named, taken = [], {"index"}
    for path, page in pages:
        base = name = slug(f"{page.kind} {pathlib.Path(path).stem}")
        number = 2
        while name in taken:
            name, number = f"{base}-{number}", number + 1
        taken.add(name)
        named.append((f"{name}.html", path, page))
    contents = {"index.html": _rendered(templates, index, "", named)}
    for name, path, page in named:
        contents[name] = _rendered(templates, page, path, named)
    for name in _COPIED:
        contents[name] = (_PAGE / name).read_text()
    contents[PLOTLY] = get_plotlyjs()
    names = sorted([*contents, _LIST])
    contents[_LIST] = json.dumps({"kind": _KIND, "version": __version__, "files": names},
                                 indent=2) + "\n"
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")
    return names


def _rendered(templates, page, path, named):
    """The HTML of a page."""
    numbers, blocks, keys = {}, [], set()
    for block in page.blocks:
        key = base = block.key
        number = 2
        while key in keys:
            key, number = f"{base}-{number}", number + 1
        keys.add(key)
        blocks.append(_block(block, key, numbers))
    data = {"points": [point.record() for point in numbers],
            "blocks": {block["key"]: block.pop("variants") for block in blocks}}
    return templates.get_template("page.html.jinja").render(
        page=page, path=path, pages=named, blocks=blocks, version=__version__, plotly=PLOTLY,
        plots=any(block["names"] for block in blocks),
        # No text of the data can end the element of the script.
        data=json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"))


def _block(block, key, numbers):
    """A block for the template. ``numbers`` has the number of each point on the page, and gets the
    points of the block."""
    def number(point):
        return numbers.setdefault(point, len(numbers))

    variants = []
    for name, drawn in block.variants.items():
        data = [dict(trace) for trace in drawn["data"]]
        for trace, marks in zip(data, drawn["points"]):
            if marks is not None:
                trace["customdata"] = [None if mark is None else number(mark) for mark in marks]
        variants.append({"name": name, "data": data, "layout": drawn["layout"]})
    rows = [(cells, None if point is None or not point.command else number(point))
            for cells, point in block.rows]
    return {"key": key, "names": list(block.variants), "variants": variants, "rows": rows,
            "copies": any(point is not None for _, point in rows),
            **{field.name: getattr(block, field.name) for field in dataclasses.fields(block)
               if field.name not in ("variants", "rows")}}
