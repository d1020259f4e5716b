"""Records of runs that are told, and not measured.

Every number of a record is made from the run that it is of: plan, graph, hardware and memory. So a
figure, table or page that shows the number says by it which run it has taken, and the test of the
figure needs no run.
"""

import dataclasses
import functools
import json
import zlib

from hw.isa import PHASES
from hw.registers import COUNTERS


__all__ = ["STEPS", "WAYS", "ToldRecord", "number", "ran", "words"]


#: Kernels of a run: those that some figure asks for.
STEPS = ("init", "spmm", "spmm_2", "graphsum", "prepare", "filter edges", "group edges",
         "gather_expand", "expand edges", "expand weights", "replicate values", "compact values",
         "contract", "compact frontier", "compact far", "advance", "rank")

#: How vertices belong to two devices, in a figure of SAGE.
WAYS = ("by turns", "by communities")


def number(text, low=1000, high=9999) -> int:
    """A number that is always the same for a text."""
    return low + zlib.crc32(text.encode()) % (high - low + 1)


def _differences(value, base):
    """The fields of a configuration that are not those of another."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)
            if field.name != "name" and getattr(value, field.name) != getattr(base, field.name)}


def _shortened(value, bases):
    """A record, with each configuration in it by its differences from the one of these that has
    its fields."""
    if not isinstance(value, dict):
        return value
    base = next((base for base in bases if base.keys() == value.keys()), {})
    return {name: _shortened(part, bases) for name, part in value.items()
            if name not in base or part != base[name]}


@functools.cache
def words(case, config, dram) -> str:
    """All that a case is, as a text: hardware and memory by their differences from these, in its
    record too. So a new field of the hardware changes no text but of cases that set it."""
    parts = [type(case).__name__, json.dumps(_shortened(
        case.record(), [dataclasses.asdict(config), dataclasses.asdict(dram)]), sort_keys=True),
             str(_differences(case.hardware(config), config))]
    if hasattr(case, "memory"):
        parts.append(str(_differences(case.memory(dram), dram)))
    return " ".join(parts)


class ToldRecord(dict):
    """The record of a case, with every value that a figure may ask for, made when it is asked.

    Parameters
    ----------
    case : Measurement
    text : str
        What the numbers are made from.
    """

    def __init__(self, case, text):
        super().__init__()
        self._case, self._seed = case, number(text, 0, 1 << 32)

    def _number(self, *parts, low=1000, high=9999):
        return number(f"{self._seed} {' '.join(map(str, parts))}", low, high)

    def _numbers(self, names, *more):
        return {name: self._number(*more, name) for name in names}

    def get(self, name, default=None):
        return self[name]

    def __contains__(self, name):
        return name not in ("error", "refused")

    def __missing__(self, name):
        make = getattr(self, f"_{name}", None)
        self[name] = found = make() if make else None if name not in self else self._number(name)
        return found

    def _cycles(self):
        return self._number("cycles", low=10_000, high=99_999)

    def _orders(self):
        return self._number("orders", low=2, high=40)

    def _supersteps(self):
        return self._number("supersteps", low=2, high=9)

    def _phases(self):
        return [self._number("phase", name) for name in (*PHASES, "all")]

    def _counters(self):
        return self._numbers(COUNTERS) | {"cycles": self["cycles"]}

    def _steps(self):
        return {step: self._numbers(COUNTERS, step) for step in STEPS}

    def _set_cycles(self):
        return [["gather", self._number("set", place)] for place in range(4)]

    def _intra_share(self):
        return self._number("share") / 10000

    def _expand_bytes(self):
        return self._number("expand", low=100, high=900)

    def _arrays(self):
        return {name: ["<u4", self._number(name, high=2000)] for name in (
            "offsets", "edges", "targets", "intra", "expand")}

    def _share(self):
        return {way: [self._number(way, place) / 10000 for place in range(4)] for way in WAYS}

    def _sent(self):
        return {way: [self._number("sent", way, place) for place in range(4)] for way in WAYS}

    def _lines(self):
        return [self._number("line", place) / 1000 for place in range(len(self._case.orders))]

    def _iterations(self):
        return self._numbers(("vm", "wm", "em"))

    def _ways(self):
        return [way[0] for way in getattr(self._case, "ways", ())] or self._case.formats

    def _seconds(self):
        return {name: [self._number("seconds", name, turn) / 1e6 for turn in range(3)]
                for name in self._ways()}

    def _preparation(self):
        return {name: self._number("preparation", name) / 1e6 for name in self._ways()}

    def _in_program(self):
        return self._numbers(("barriers", "atomics", "shuffles", "instructions"), "in")

    def _executed(self):
        return self._numbers(("barriers", "atomics", "shuffles", "instructions"), "done")

    def _arcs(self):
        if type(self._case).__name__ == "Frontiers":
            return [self._number("arcs", place) for place in range(4)]
        return self._number("arcs", high=160_000)


def ran(case, config, dram, **more) -> dict:
    """The line of a case that ran (:meth:`sw.study.benchmarks.batch.Case.run`)."""
    record = ToldRecord(case, words(case, config, dram))
    return {"case": case.record(), "vertices": 34, "arcs": 156, "checksum": "0" * 64,
            "verified": True, "reached": None, "notes": [], **{
                name: record[name] for name in ("cycles", "orders", "supersteps", "counters")},
            **more}
