"""Texts that tests expect whole, in files beside the tests.

A file has a section for each text: a line ``=== NAME`` and the text. After a change of a text that
is meant, ``GRAPHLOOM_EXPECTED=write ./graphloom test FILE -n 0`` writes the file again: read what
changed. All cases run then, also those of which others are a sample.
"""

import functools
import json
import os
import pathlib
import re
import zlib


__all__ = ["WRITES", "check", "digest", "names"]


#: Whether texts are written, and not compared.
WRITES = os.environ.get("GRAPHLOOM_EXPECTED") == "write"

_MARK = "=== "


@functools.lru_cache(maxsize=4)
def _sections(path, _changed):
    if not path.exists():
        return {}
    parts = re.split(rf"(?m)^{_MARK}", path.read_text(encoding="utf-8"))[1:]
    return {name: text for name, _, text in (part.partition("\n") for part in parts)}


def _read(path):
    return _sections(path, path.stat().st_mtime_ns if path.exists() else 0)


def names(path) -> list:
    """The names of a file's texts."""
    return list(_read(pathlib.Path(path)))


def check(path, name, text):
    """Compare a text with the one of this name in a file. Spaces at the ends of lines do not
    count."""
    path = pathlib.Path(path)
    text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    found = _read(path)
    if WRITES and found.get(name) != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{_MARK}{each}\n{its}" for each, its in
                                (found | {name: text}).items()), encoding="utf-8")
    elif text.splitlines() != found.get(name, "").splitlines():
        assert text.splitlines() == found.get(name, "").splitlines(), (
            f"{name} in {path}: if this is meant, GRAPHLOOM_EXPECTED=write ./graphloom test "
            "FILE_OF_THE_TEST -n 0 writes the text anew; read what changed")


def _plain(value):
    """A value of JSON, whose numbers have six digits, so that no machine's rounding matters."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def digest(value) -> str:
    """A short digest of what JSON can hold."""
    return f"{zlib.crc32(json.dumps(_plain(value), default=repr).encode()):08x}"
