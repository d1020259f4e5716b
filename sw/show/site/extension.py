"""Griffe's part of the site: docstrings as Markdown, and ``#:`` comments as docstrings."""

import ast

import griffe

from base.installation import ROOMS

from .docstrings import comment, markdown
from .places import published


__all__ = ["Docstrings"]


class Docstrings(griffe.Extension):
    """Rewrites every docstring of a package when the package has been loaded.

    Constants that one statement makes (``BLOCK, FLIP_FLOPS = "block", "flip-flops"``) are members
    of their module, too.
    """

    def on_module_members(self, *, node, mod, **_):
        """Add the constants of statements that make several."""
        for statement in getattr(node, "body", ()):
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
                for target in statement.targets[0].elts:
                    if isinstance(target, ast.Name) and target.id not in mod.members:
                        mod.set_member(target.id, griffe.Attribute(
                            target.id, lineno=statement.lineno, endlineno=statement.end_lineno))

    def on_package(self, *, pkg, **_):
        """Rewrite the docstrings of a package, and of all that is in the package."""
        left = [pkg]
        while left:
            item = left.pop()
            if item.is_alias:
                continue
            left.extend(item.members.values())
            if item.is_attribute and item.docstring is None and item.lineno:
                text = comment(item.lines_collection[item.filepath], item.lineno)
                if text:
                    item.docstring = griffe.Docstring(text, parent=item)
            if item.docstring is not None:
                item.docstring.value = markdown(item.docstring.value,
                                                lambda name: _path(pkg, item, name))
                for section in item.docstring.parsed:
                    if section.kind is griffe.DocstringSectionKind.other_parameters:
                        section.title = "Members"


def _path(package, item, name):
    """The full path of the object that a role names, or None if the site does not show it."""
    name = name.lstrip("~").removesuffix("()")
    first, dot, rest = name.partition(".")
    if first not in ROOMS:
        try:
            first = item.resolve(first)
        except griffe.NameResolutionError:
            return None
    path = first + dot + rest
    if path.partition(".")[0] not in ROOMS:
        return None
    if path.partition(".")[0] == package.name:
        try:
            found = package[path.partition(".")[2]]
        except KeyError:
            return None
        path = found.canonical_path
        if not found.is_public:
            return None
    return path if published(path) else None
