"""The files of results that a report is made of: what each of them is, and what is refused."""

import codecs
import dataclasses
import json
import os
from typing import Any

from base.errors import UserError
from base.input import read_bytes
from sw.study.benchmarks.records import RecordsFile


__all__ = ["KINDS", "InputFile", "find"]


#: {kind of a file: how the command that makes it is written}.
KINDS = {
    "runs": "run --json or compare --json",
    "timeline": "run --trace FILE.json",
    "tune": "tune --json",
    "trials": "tune --results",
    "sweep": "sweep (runs.jsonl)",
    "unit": "synth UNIT --json or synth board --json",
    "overhead": "synth overhead --json",
    "figure": "reproduce (the .json of a figure)",
    "records": "reproduce (runs.jsonl)",
}

#: {kind: fields that the files of no other kind have together, and the types of lists and objects
#: among them}.
_FIELDS = {
    "runs": {"configuration": dict, "graph": dict, "results": list, "wall_seconds": None},
    "timeline": {"traceEvents": list, "otherData": dict},
    "tune": {"trials": list, "best": None, "refused": None, "command": None},
    "unit": {"unit": str, "area": dict, "config": None, "device": None, "share": None},
    "overhead": {"rows": list, "config": None, "device": None, "yosys": None},
    "figure": {"figure": str, "paper": dict, "tables": list, "records": list, "versions": dict},
}

#: Types, as JSON calls them.
_TYPES = {dict: "an object", list: "a list", str: "a text"}

#: Fields of files that look like results, and why a report has no page for them.
_OTHERS = (
    ({"vm", "program", "wall_seconds"}, "is of run --vm: a program on another machine has no "
                                        "counters"),
)

_SUFFIXES = (".json", ".jsonl")

#: Beginning of the key of a study, in a file of ``tune``.
_STUDY = "study "

#: Key of the first line, in a file of ``sweep``.
_SWEEP = "sweep"


@dataclasses.dataclass(frozen=True)
class InputFile:
    """A file of results."""
    path: str
    kind: str  #: A key of :data:`KINDS`.
    #: The contents; the pairs of key and record for records; None for trials, which
    #: have a reader of their own.
    value: Any
    folder: str | None = None  #: The folder that was named in place of the file.

    @property
    def sources(self) -> str | None:
        """The digest of the sources that the results depend on; None if the file has none."""
        if self.kind == "runs":
            return self.value.get("sources")
        if self.kind == "tune" and isinstance(self.value.get("study"), dict):
            return self.value["study"].get("sources")
        if self.kind == "figure":
            return self.value["versions"].get("sources")
        return self.value[0][1].get("sources") if self.kind == "sweep" else None


def find(paths) -> list:
    """The files of results that paths name.

    Parameters
    ----------
    paths : list of str
        Files, and folders whose ``.json`` and ``.jsonl`` files count.

    Returns
    -------
    list of InputFile

    Raises
    ------
    UserError
        A path that does not exist or cannot be read; a folder without results; a file that is
        none of :data:`KINDS`, is damaged, or is named twice.
    """
    found, seen = [], {}
    for path in paths:
        inner = _inside(path) if os.path.isdir(path) else [path]
        for name in inner:
            place = os.path.realpath(name)
            if place in seen:
                also = "" if name == seen[place] else f", also as {seen[place]}"
                raise UserError(f"{name}: is named twice{also}")
            seen[place] = name
            found.append(_source(name, path if inner != [path] else None))
    return found


def _inside(folder):
    """The files of a folder that may be results."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError as error:
        raise UserError(f"{folder}: cannot be read: {error.strerror}") from None
    names = [name for name in names if name.endswith(_SUFFIXES)]
    if not names:
        raise UserError(f"{folder}: the folder has no .json or .jsonl file of results")
    return [os.path.join(folder, name) for name in names]


def _source(path, folder):
    """A file with its kind. Raises UserError."""
    if path.endswith(".jsonl"):
        return _lines(path, folder)
    text = read_bytes(path)
    try:
        value = json.loads(text.removeprefix(codecs.BOM_UTF8))
    except json.JSONDecodeError as error:
        try:
            return _lines(path, folder)         # lines of records, of any name
        except UserError:
            raise UserError(f"{path}: is not JSON: line {error.lineno}, column {error.colno}: "
                            f"{error.msg}") from None
    except (ValueError, RecursionError) as error:     # not UTF-8, a number too long, too deep
        why = error if isinstance(error, ValueError) else "it is nested too deeply"
        raise UserError(f"{path}: is not JSON: {why}") from None
    if isinstance(value, dict) and isinstance(value.get("key"), str):
        return _lines(path, folder)             # a file with a single record
    if isinstance(value, dict):
        for kind, fields in _FIELDS.items():
            if fields.keys() <= value.keys():
                for field, wanted in fields.items():
                    if wanted is not None and not isinstance(value[field], wanted):
                        raise UserError(f"{path}: is damaged, or of another version of Graphloom: "
                                        f"{field} must be {_TYPES[wanted]}")
                return InputFile(path, kind, value, folder)
        for fields, reason in _OTHERS:
            if fields <= value.keys():
                raise UserError(f"{path}: {reason}")
    raise UserError(f"{path}: is not a file of results; a report takes the files of "
                    + ", ".join(KINDS.values()))


def _lines(path, folder):
    """A file of lines: the trials of ``tune``, or the records of runs. Raises UserError."""
    if not os.path.exists(path):
        raise UserError(f"{path}: cannot be read: No such file or directory")
    lines = list(RecordsFile(path).read())
    if not lines:
        raise UserError(f"{path}: has no record of a run")
    if lines[0][0].startswith(_STUDY):
        return InputFile(path, "trials", None, folder)
    head = lines[0][1] if lines[0][0] == _SWEEP else None
    for number, (_, record) in enumerate(lines[head is not None:], 1 + (head is not None)):
        if not isinstance(record.get("case"), dict) or "graph" not in record["case"]:
            raise UserError(f"{path}: line {number} is not a record of reproduce, bench "
                            "or sweep")
    return InputFile(path, "records" if head is None else "sweep", lines, folder)
