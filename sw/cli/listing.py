"""``graphloom list``: algorithms, schedules, formats, frontiers, and every combination of them."""

import collections
import sys
from typing import Annotated, Optional

import typer

from sw.errors import UserError

from . import files, options


__all__ = ["register"]


#: What can be listed one by one: the package, and its functions that name all and give one.
_PARTS = {
    "algorithms": ("sw.algorithms", "names", "find"),
    "schedules": ("sw.schedules", "names", "make"),
    "formats": ("sw.formats", "image_names", "find_image"),
    "frontiers": ("sw.kernels.frontiers", "names", "find"),
}

_COMBINATIONS = "combinations"


def register(app):
    """Add the command."""
    app.command("list", epilog="Examples: graphloom list; graphloom list formats; graphloom list "
                "combinations --json combinations.json")(_list)


def _list(
        what: Annotated[Optional[str], typer.Argument(
            metavar=f"[{'|'.join([*_PARTS, _COMBINATIONS])}]", help="What to list; left out, "
            "everything, but of the combinations their number only.", show_default=False)] = None,
        preset: options.Preset = "default",
        set_: options.Set = None,
        json: Annotated[Optional[str], typer.Option(
            "--json", metavar="FILE", help="Write it all to a file too.",
            rich_help_panel="Files", show_default=False)] = None):
    """List what there is, in a line each, and which combinations of it work.

    A combination works if the generator makes a program of it for this hardware; where it does
    not, its reason is told.
    """
    legal = [*_PARTS, _COMBINATIONS]
    if what is not None and what not in legal:
        raise UserError(f"there is no list of {what!r}; there are {', '.join(legal)}")
    config = options.hardware(preset, set_)
    files.check(json, (".json",))
    found = {part: _described(*_PARTS[part]) for part in _PARTS if what in (None, part)}
    combined = None
    if what in (None, _COMBINATIONS):
        from sw.runtime.combinations import combinations
        combined = list(combinations(config))
    if json is not None:
        files.write_json(json, found | _combinations_json(config, combined))
    for part, entries in found.items():
        _print_part(part, entries)
    if combined is not None:
        _print_combinations(combined, what is not None)


def _described(package, names, find):
    """What a package has, by name: what it is, and its options."""
    import importlib
    module = importlib.import_module(package)
    found = {}
    for name in getattr(module, names)():
        kind = getattr(module, find)(name)
        # The module that is the entry, even if the class is in one of a package; the class itself,
        # where a module has several.
        home = ".".join(kind.__module__.split(".")[:3])
        text = (kind if home == package else sys.modules[home]).__doc__
        entry = {"summary": " ".join(text.split("\n\n")[0].split())}
        for attribute in ("directions", "options"):
            if isinstance(getattr(kind, attribute, None), tuple):
                entry[attribute] = list(getattr(kind, attribute))
        if hasattr(kind, "OPTIONS"):
            entry["options"] = {
                option: {"default": value.default, "legal": value.legal, "what": value.doc}
                for option, value in kind.OPTIONS.items()}
        found[name] = entry
    return found


def _print_part(part, entries):
    from .execute import console
    out = console()
    out.print(f"{part}: {len(entries)}", style="bold")
    width = max(map(len, entries))
    for name, entry in entries.items():
        out.print(f"  {name:<{width}}  {entry['summary']}", soft_wrap=True)
        if "directions" in entry:
            parameters = ", ".join(entry["options"]) or "none"
            out.print(f"  {'':<{width}}  directions: {', '.join(entry['directions'])}; "
                      f"parameters: {parameters}", soft_wrap=True)
        elif "options" in entry:
            for option, value in entry["options"].items():
                out.print(f"  {'':<{width}}  :{option}={_default(value['default'])}  "
                          f"{value['what']} ({value['legal']})", soft_wrap=True)
    out.print()


def _default(value):
    """A default as it is written; what is chosen for each graph has none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "..." if value is None else value


def _print_combinations(combined, each):
    """The combinations, one a line where ``each`` is wanted, and their numbers."""
    from rich import box
    from rich.table import Table

    from .execute import console
    out = console()
    if each:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for axis in combined[0].choice:
            table.add_column(axis, no_wrap=True)
        table.add_column("")
        for combination in combined:
            table.add_row(*(value or "its own" for value in combination.choice.values()),
                          combination.reason or "works")
        out.print(table)
        out.print()
    axes = " x ".join(combined[0].choice)
    working = sum(combination.reason is None for combination in combined)
    out.print(f"combinations of {axes}: {len(combined)}, of which {working} work", style="bold")
    if not each:
        return
    reasons = collections.Counter(combination.reason for combination in combined
                                  if combination.reason is not None)
    for reason, count in reasons.most_common():
        out.print(f"  {count} do not: {reason}", soft_wrap=True)


def _combinations_json(config, combined):
    if combined is None:
        return {}
    return {"configuration": options.fields(config), "combinations": [
        combination.choice | {"works": combination.reason is None, "reason": combination.reason}
        for combination in combined],
        "count": len(combined),
        "working": sum(combination.reason is None for combination in combined)}
