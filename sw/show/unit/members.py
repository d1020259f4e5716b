"""What docstrings say about the members of components and the fields of layouts."""

import importlib
import inspect
import re
import sys


__all__ = ["member_docs", "summary"]


#: ``name, name : type`` or ``name, name``, at the beginning of an entry.
_ENTRY = re.compile(r"([\w, …]+?)(?: : (.*))?$")

#: A reference to another docstring with members.
_REFERENCE = re.compile(r":(?:class|func):`~?([\w.]+)`")


def member_docs(owner) -> dict[str, tuple[str, str]]:
    """``{name: (type, text)}`` of the section ``Members`` of a docstring.

    If the type names a layout, which is a function in the module of ``owner``, or if the text
    refers to another docstring for names that have no type, the entries of that docstring follow:
    the fields of a member ``m`` as ``m.FIELD``.

    Parameters
    ----------
    owner : class or function
    """
    found: dict[str, tuple[str, str]] = {}
    for names, kind, text in _entries(inspect.getdoc(owner) or ""):
        reference = _REFERENCE.search(text)
        if not kind and reference:
            found |= {name: entry for name, entry in member_docs(
                _object(owner, reference[1])).items() if name.partition(".")[0] in names}
            continue
        text = _plain(text)
        for name in names:
            found[name] = (kind, text)
            for layout in re.findall(r"\b\w+_(?:layout|signature)\b", kind):
                found |= {f"{name}.{field}": entry for field, entry in member_docs(
                    _object(owner, layout)).items()}
    return found


def summary(owner) -> str:
    """A docstring up to its first section."""
    text = re.split(r"(?m)^\w[\w ]*\n-{3,}$", inspect.getdoc(owner) or "")[0]
    return _plain(text.strip(), lines=True)


def _entries(doc):
    """``(names, type, text)`` of each entry of the section."""
    section = re.search(r"(?ms)^Members\n-{7}\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)", doc)
    if section is None:
        return
    lines = section[1].replace("\\\n", "").splitlines()
    heads = [number for number, line in enumerate(lines) if re.match(r"\w", line)]
    waiting: list = []
    for number, after in zip(heads, [*heads[1:], len(lines)]):
        entry = _ENTRY.match(lines[number])
        text = " ".join(line.strip() for line in lines[number + 1:after] if line.startswith(" "))
        if entry is None or not (text or entry[2]):
            continue
        waiting.append(([name.strip() for name in entry[1].split(",")], entry[2] or ""))
        if text:
            # Lines of names above one text share the text.
            for names, kind in waiting:
                yield names, kind, text
            waiting = []
    for names, kind in waiting:
        yield names, kind, ""


def _object(owner, name):
    """The object that a docstring names: by its full path, or as the module of the docstring's
    owner knows it, or else a module from which that one has a layout or a signature."""
    module, _, last = name.rpartition(".")
    if module:
        installed = owner.__module__.partition("hw.")[0]    # a package around the rooms
        return getattr(importlib.import_module(installed + module), last)
    known = vars(sys.modules[owner.__module__])
    makers = [value.__module__ for key, value in known.items()
              if key.endswith(("_layout", "_signature"))]
    return next(found[last] for found in (known, *(vars(sys.modules[each]) for each in makers))
                if last in found)


def _plain(text, *, lines=False):
    """Text without the roles and marks of docstrings."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text).replace("``", "`")
    return text if lines else " ".join(text.split())
