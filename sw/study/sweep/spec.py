"""What a sweep runs: a record with the keys of a sweep's file, checked before anything runs.

::

    graphs = ["karate", "rmat:scale=10,degree=8"]
    algorithms = ["bfs", "pagerank(iterations=2)"]    # texts of plans
    schedules = ["vm", "em", "weaver"]
    repeats = 3                                       # seeds of what is drawn at random

    [plan]                        # further fields of the plan
    direction = ["pull", "push"]

    [graph]                       # options of all graphs
    undirected = true

    [hardware]                    # preset, and fields of a configuration
    l1_bytes = [4096, 16384]

    [dram]
    latency = 200

Every list is an axis, and the sweep has the product of all axes. ``[[hardware]]``, given several
times, has the products of its tables one after another.
"""

import dataclasses
import itertools
import re
import tomllib

from base.errors import UserError
from base.input import read_text
from hw.config import LEGAL, ConfigError, preset
from sim.memories import check_field, field_names
from sw.compile import schedules
from sw.compile.options import word
from sw.compile.plan import CLOSED, as_plan
from sw.graph.load import GraphSource
from sw.study.benchmarks.schedules import best


__all__ = ["KEYS", "SweepSpec", "read", "spelled"]


#: {key: its type in a file}.
KEYS = {"graphs": list, "algorithms": list, "schedules": list, "repeats": int, "max_cycles": int,
        "launch_cycles": int, "plan": dict, "graph": dict, "hardware": dict, "dram": dict}

_TYPES = {list: "a list of texts", int: "a whole number", dict: "a table"}

_PLAN = ("format", *CLOSED)

#: {option of a graph: the name of its type}.
_GRAPH = {field.name: str(field.type).split(" ")[0] for field in dataclasses.fields(GraphSource)
          if field.name != "spec"}

_LEGAL = {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,)}

_WORDS = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false"}


def spelled(path) -> str:
    """The path of a key as text: ``hardware.l1_bytes[1]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)[1:]


def read(name):
    """A file of TOML. Returns its record, and a function that gives the place of a key's path as
    text: the file, the line and the path. Raises UserError."""
    text = read_text(name)
    try:
        record = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{name}: is not TOML: {error or 'it is nested too deeply'}") from None

    def place(path):
        names = [part for part in path if not isinstance(part, int)]
        table = path[1] if path[1:] and isinstance(path[1], int) and names[1:] else 0
        return f"{name}, line {_line(text, names, table)}: {spelled(path)}" if path else name
    return record, place


def _line(text, names, table):
    """The number of the line of a key, by its names from the outermost table on, in the table of
    this number of those with its name. The line of the table, if it has no line of its own."""
    header, count, found = "", -1, 1
    for number, line in enumerate(text.split("\n"), 1):
        if match := re.match(r"\s*\[+\s*([\w.-]+)\s*\]+", line):
            header = match[1]
            if header == names[0]:
                count, found = count + 1, number if count < table else found
        key = re.match(r"\s*[\"']?([\w.-]+)[\"']?\s*=", line)
        if key and ".".join(filter(None, [header, key[1]])) == ".".join(names) \
                and max(count, 0) == table:
            return number
    return found


@dataclasses.dataclass(frozen=True)
class Hardware:
    """A point on the axis of hardware: what is said of it."""
    preset: str
    fields: tuple = ()  #: tuple of (str, value). Fields of the configuration.
    dram: tuple = ()  #: tuple of (str, value). Fields of the memory.

    @property
    def said(self) -> dict:
        """All that is said, by the names of columns."""
        return ({"preset": self.preset} | dict(self.fields)
                | {f"dram.{name}": value for name, value in self.dram})


class SweepSpec:
    """A sweep's record, checked.

    ``record`` is the record with every key, ``axes`` the values of each axis by its name:
    ``graph``, ``algorithm``, ``schedule``, ``choices`` (pairs of a field of the plan and its
    value), ``hardware`` (:class:`Hardware`) and ``repeat``.

    Parameters
    ----------
    record : dict
        As the text of this module shows.
    place : callable
        Gives the place of a key's path, as errors begin with it.

    Raises
    ------
    UserError
        For a key that does not exist, a value that is not legal, or an axis without values; with
        the place.
    """

    def __init__(self, record, place=spelled):
        self._place, self.record = place, {}
        for key, value in record.items():
            if key not in KEYS:
                self._refuse((key,), f"there is no such key; there are {', '.join(KEYS)}")
            self.record[key] = value
        for key in ("graphs", "algorithms"):
            if key not in record:
                self._refuse((), f"{key} is missing: a list of {key}")
        self.record.setdefault("schedules", best())
        self.record.setdefault("repeats", 1)
        for key, value in self.record.items():
            tables = key == "hardware" and isinstance(value, list)
            if not (tables or (isinstance(value, KEYS[key]) and not isinstance(value, bool))):
                self._refuse((key,), f"is {value!r}, must be {_TYPES[KEYS[key]]}")
            least = 0 if key == "launch_cycles" else 1
            if isinstance(value, int) and value < least:
                self._refuse((key,), f"is {value}, must be at least {least}")
        options = self._options()
        self.source = self._checked(("graph",), lambda: GraphSource("", **options))
        self.axes = {
            "graph": self._texts("graphs", self._graph),
            "algorithm": self._texts("algorithms", as_plan),
            "schedule": self._texts("schedules", schedules.canonical),
            "choices": list(self._product(self.record.get("plan", {}), ("plan",), self._choice)),
            "hardware": self._hardware(),
            "repeat": list(range(self.record["repeats"])),
        }

    def _refuse(self, path, reason):
        place = self._place(path)
        raise UserError(f"{place}: {reason}" if place else reason)

    def _checked(self, path, make):
        """What ``make`` gives. Its errors begin with the place."""
        try:
            return make()
        except (UserError, ConfigError) as error:
            return self._refuse(path, str(error))

    def _texts(self, key, make):
        """The texts of an axis, each checked by ``make``."""
        found = self.record[key]
        if not found:
            self._refuse((key,), "is empty, so the sweep has no run; name at least one")
        for number, text in enumerate(found):
            path = (key, number)
            if not isinstance(text, str) or not text.strip():
                self._refuse(path, f"is {text!r}, must be a text")
            if text in found[:number]:
                self._refuse(path, f"{text} is given twice")
            self._checked(path, lambda text=text: make(text))
        return list(found)

    def _graph(self, text):
        """Load a graph: a slip is told before anything runs."""
        dataclasses.replace(self.source, spec=text).load()

    def _options(self):
        given = self.record.get("graph", {})
        for name, value in given.items():
            if name not in _GRAPH:
                self._refuse(("graph", name), f"there is no such key; there are "
                             f"{', '.join(_GRAPH)}")
            legal = _LEGAL[_GRAPH[name]]
            if not isinstance(value, legal) or (value is True and bool not in legal):
                self._refuse(("graph", name), f"is {value!r}, must be {_WORDS[_GRAPH[name]]}")
        return given

    def _product(self, table, path, check):
        """The points of a table, each a tuple of (name, value); every list is an axis."""
        axes = []
        for name, value in table.items():
            values = value if isinstance(value, list) else [value]
            if not values:
                self._refuse((*path, name), "is empty, so the sweep has no run; name at least one")
            for number, each in enumerate(values):
                at = (*path, name, number) if isinstance(value, list) else (*path, name)
                if each in values[:number]:
                    self._refuse(at, f"{word(each)} is given twice")
                self._checked(at, lambda name=name, each=each: check(name, each))
            axes.append([(name, each) for each in values])
        return itertools.product(*axes)

    def _choice(self, name, value):
        if name not in _PLAN:
            raise UserError(f"there is no such key; there are {', '.join(_PLAN)}")
        errors = []
        for text in self.record["algorithms"]:
            try:
                as_plan(text, **{name: value})
                return
            except UserError as error:      # another algorithm may have the value
                errors.append(error)
        raise errors[0]

    def _hardware(self):
        """All points of hardware."""
        given = self.record.get("hardware", {})
        memories = list(self._product(self.record.get("dram", {}), ("dram",), _memory))
        found = []
        for number, table in enumerate(given if isinstance(given, list) else [given]):
            path = ("hardware", number) if isinstance(given, list) else ("hardware",)
            if not isinstance(table, dict):
                self._refuse(path, f"is {table!r}, must be a table")
            for point in self._product(table, path, _field):
                fields = dict(point)
                name = fields.pop("preset", "default")
                found += [Hardware(name, tuple(fields.items()), memory) for memory in memories]
        if not found:
            self._refuse(("hardware",), "is empty, so the sweep has no run; name at least one")
        return list(dict.fromkeys(found))


def _field(name, value):
    """Check a value of a configuration's field by itself: other fields may exclude it."""
    if name == "preset":
        if not isinstance(value, str):
            raise UserError(f"is {value!r}, must be the name of a preset")
        preset(value)
    elif name not in LEGAL:
        raise UserError(f"there is no such key; there are preset, {', '.join(LEGAL)}")
    elif not any(type(each) is type(value) and each == value for each in LEGAL[name].values):
        raise UserError(f"is {value!r}, must be {LEGAL[name].text}")


def _memory(name, value):
    """Check a value of a memory's field by itself: other fields say whether the model has it."""
    if name not in field_names():
        raise UserError(f"there is no such key; there are {', '.join(field_names())}")
    if name in ("model", "mapping"):
        if not isinstance(value, str):
            raise UserError(f"is {value!r}, must be a text")
    elif type(value) is not int and (name != "ratio" or not isinstance(value, str)):
        raise UserError(f"is {value!r}, must be a whole number")
    check_field(name, value)
