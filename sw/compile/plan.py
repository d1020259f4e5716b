"""Plans: frozen records of how an algorithm is to run, each with one text form.

A plan is the algorithm, its parameters in parentheses, and fields. The text leaves out fields at
their default::

    sssp(delta=auto,source=3) schedule=vwc:width=4 direction=push frontier=queue split=counter

A hybrid is two plans and a rule. It runs the second plan in the supersteps for which the rule
holds, and the first plan in all others::

    bfs direction=push | bfs direction=pull schedule=em when frontier>=0.05

``frontier`` is the frontier's share of all vertices. The field ``direction=auto`` is a shorthand
for the hybrid of pushing and pulling with Beamer et al.'s rule (SC 2012), with vertices in place of
edges, and a threshold of 0.05.

A program of several operators of edges may run some of them in another way. A field behind a label
of the program is for the operators that the label stands on, or that are within its loop; the
label with the longest scope counts::

    kcore schedule=weaver s0:s1.schedule=em s0:s1.direction=pull

:func:`as_plan` is the one place that turns texts and keywords into plans.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import re
import urllib.parse
from typing import TYPE_CHECKING, Any

from base.errors import UserError
from base import numbers
from hw.config import LEGAL
from sw.compile import algorithms, formats, schedules
from sw.compile import frontiers
from sw.compile.algorithm import VertexName
from sw.compile.options import Choice, Integer, Switch, settle, word
from sw.compile.kernels.reductions import ATOMICS
from sw.compile.kernels.scope import Scope
from sw.compile.kernels.split import SPLITS
from sw.lang.choices import least_vertices
from sw.lang.names import ProgramText

if TYPE_CHECKING:
    from hw.config import HardwareConfig
    from sw.compile.algorithm import Algorithm
    from sw.compile.formats.storage_format import StorageFormat


__all__ = ["CLOSED", "OWN", "Hybrid", "Plan", "as_plan"]


#: The fields of a plan with a closed set of values.
CLOSED = {
    "direction": Choice(("pull", "push"), None, "way along the edges"),
    "frontier": frontiers.OPTION,
    "deduplicate": Switch(None, "whether the frontier has a vertex once"),
    "split": Choice(SPLITS, "static", "how warps and cores share the work"),
    "atomics": Choice(ATOMICS, "reduce", "what reductions in memory do with the old word"),
    "warps": Integer(1, LEGAL["warps"].values[-1], None, "warps of a core that take part"),
    "phases": Switch(False, "whether kernels mark all phases"),
    "fusion": Switch(False, "whether one launch runs all supersteps"),
}

#: The fields that the operators of a program may choose for themselves.
OWN = ("schedule", "format", "direction", "frontier", "deduplicate", "split")

#: Share of the frontier from which ``direction=auto`` pulls.
_PULL_SHARE = 0.05


@functools.lru_cache(1000, typed=True)
def _settled(*values):
    """Values of the fields of :data:`CLOSED`, in its order, as :func:`settle` returns them."""
    return settle(CLOSED, dict(zip(CLOSED, values)), "plan")


def _closed(plan):
    """The fields of a plan with a closed set of values. Raises UserError."""
    values = [getattr(plan, name) for name in CLOSED]
    try:
        return _settled(*values)
    except TypeError:               # a list cannot be a key of the cache, nor a legal value
        return settle(CLOSED, dict(zip(CLOSED, values)), "plan")


@dataclasses.dataclass(frozen=True)
class Plan:
    """A choice of everything on which a run depends, besides the graph and the hardware.

    Names are checked, and values brought into one form. So equal plans have equal texts.

    Raises
    ------
    UserError
        A name or an option that does not exist, or a value out of its range.
    """
    algorithm: str  #: Its name.
    #: tuple of (str, value). The algorithm's parameters that are given, sorted by name; a dict is
    #: accepted.
    parameters: tuple = ()
    #: ``NAME[:OPTION=VALUE]...``, options sorted by name. An option that is given stays, also at
    #: its default.
    schedule: str = "weaver"
    format: str = "csr"  #: See `schedule`.
    direction: str | None = None  #: ``"pull"`` or ``"push"``; None for the algorithm's own choice.
    #: A name or a pair of :mod:`sw.compile.frontiers`; None for the algorithm's own choice.
    frontier: str | None = None
    #: Whether a vertex that is added to the frontier several times is in the frontier, and counted,
    #: only once; None for the frontier's own choice.
    deduplicate: bool | None = None
    #: How the work is split between warps and cores (:mod:`sw.compile.kernels.split`).
    split: str = "static"
    #: Whether the atomics of reductions take the old word only where the kernel needs it, or
    #: always, or test the word before (:data:`sw.compile.kernels.reductions.ATOMICS`).
    atomics: str = "reduce"
    #: Warps of each core that take part, from warp 0 on (CTA size, GRAssembler table 2.5); None for
    #: all.
    warps: int | None = None
    #: Whether the kernels mark all phases of the work on an edge, which costs instructions. If not,
    #: all of the work is counted as edge access.
    phases: bool = False
    #: Whether one kernel, launched once, runs all supersteps (:mod:`sw.compile.kernels.fusion`).
    fusion: bool = False
    #: tuple of (str, tuple of (str, value)). The fields in :data:`OWN` that differ for operators,
    #: by the program's labels; a dict of dicts is accepted.
    labels: tuple = ()

    def __post_init__(self):
        kind = algorithms.find(self.algorithm)
        self._take_labels(kind)
        if self.direction is not None:
            if self.direction == "auto":
                raise UserError("direction auto is a hybrid of two plans, and not part of one")
            kind.check_has(self.direction)
        form = {"parameters": tuple(sorted((name, _parameter(kind, name, value))
                                           for name, value in dict(self.parameters).items())),
                "schedule": schedules.canonical(self.schedule),
                "format": formats.canonical(self.format),
                **_closed(self)}
        for name, value in form.items():
            object.__setattr__(self, name, value)

    def _take_labels(self, kind):
        """Bring :attr:`labels` into one form. Fields for all operators are fields of the plan."""
        given = {label: dict(fields) for label, fields in dict(self.labels).items()}
        found = {}
        for label, fields in given.items():
            _check_label(kind, label, fields)
        for label in sorted(given, key=lambda label: (label.count(":"), label)):
            if set(kind.labels[label]) == set(kind.operator_names):
                for name, value in given[label].items():
                    object.__setattr__(self, name, value)
            else:
                own = dataclasses.replace(self, labels=(), **given[label])
                found[label] = tuple((name, getattr(own, name)) for name in OWN
                                     if name in given[label])
        object.__setattr__(self, "labels", tuple((label, fields) for label, fields in
                                                 found.items() if fields))

    @property
    def text(self) -> str:
        """The text form; :meth:`parse` is the inverse."""
        given = ",".join(f"{name}={_written(self.kind, name, value)}"
                         for name, value in self.parameters)
        return " ".join([self.algorithm + (given and f"({given})"),
                         *(f"{name}={word(getattr(self, name))}" for name, default in
                           _FIELDS.items() if getattr(self, name) != default),
                         *(f"{label}.{name}={word(value)}" for label, fields in self.labels
                           for name, value in fields)])

    @staticmethod
    def parse(text: str) -> Plan | Hybrid:
        """The plan, or the hybrid, that a text spells. Raises UserError, which tells the place in
        the text."""
        return _parse(text)

    def to_json(self) -> dict[str, Any]:
        """The record, as JSON can hold it; :meth:`from_json` is the inverse."""
        return dataclasses.asdict(self) | {
            "parameters": dict(self.parameters),
            "labels": {label: dict(fields) for label, fields in self.labels}}

    @staticmethod
    def from_json(record: dict[str, Any]) -> Plan | Hybrid:
        """The plan or hybrid of a record. Raises UserError if it is not one."""
        try:
            if "first" in record:
                plans: dict[str, Any] = {name: Plan(**record[name])
                                         for name in ("first", "second")}
                return Hybrid(**record | plans)
            return Plan(**record)
        except (TypeError, KeyError, ValueError):
            raise UserError(f"{record!r} is not the record of a plan") from None

    @property
    def parts(self) -> dict[str, str | None]:
        """The parts that records and tables show beside the text, by name."""
        return _parts(self)

    # For a task

    @property
    def kind(self) -> type[Algorithm]:
        """The class of the algorithm."""
        return algorithms.find(self.algorithm)

    @property
    def way(self) -> str:
        """The direction; left out, the schedule's own choice."""
        return self.direction or schedules.make(self.schedule).directions(self.kind)[0]

    def stored(self, graph: Any) -> StorageFormat:
        """The graph in the plan's format."""
        return formats.find(self.format)(formats.image_of(graph, self.format, self.way))

    #: With what the names of a program's kernels of edges begin: a hybrid's names of its plans.
    ways = ("",)

    @property
    def sides(self) -> dict[str, Plan]:
        """The plans of kernels that go through the graph: its own by the name ``gather``, and
        those of labels by these."""
        return {"gather": self, **{label: self._with(fields) for label, fields in self.labels}}

    def _with(self, fields):
        return dataclasses.replace(self, labels=(), **dict(fields))

    def of_operator(self, name: str) -> Plan:
        """The plan of one of the operators of the program, by its name
        (:meth:`~sw.compile.algorithm.Algorithm.operators`)."""
        own: dict[str, Any] = {}
        for label, fields in self.labels:
            if name in self.kind.labels[label]:
                own |= dict(fields)
        return self._with(own) if self.labels else self

    def check(self, config: HardwareConfig | None = None) -> None:
        """Raise UserError if the schedule cannot run the algorithm in the direction, or if the
        hardware, where it is given, cannot run the schedule on so many warps."""
        for _, fields in self.labels:
            self._with(fields).check(config)
        strategy = schedules.make(self.schedule)
        if self.direction is not None:
            strategy.check_direction(self.kind, self.direction)
        if config is not None:
            strategy.check_config(config)
            if self.warps is not None and self.warps > config.warps:
                raise UserError(f"warps is {self.warps}, must be from 1 to {config.warps}, the "
                                f"warps of a core of configuration {config.name!r}")
            Scope.of(strategy, config, self.warps or config.warps)


@dataclasses.dataclass(frozen=True)
class Hybrid:
    """Two plans, and the rule by which supersteps change between them.

    The plans have the algorithm, its parameters and the frontier's deduplication in common, and use
    the same vertex arrays. Both may read the frontier in their own way.

    Raises
    ------
    UserError
        The algorithm cannot change its plan, or the two plans do not fit together.
    """
    first: Plan  #: The run begins with ``first``.
    second: Plan  #: The run begins with ``first``.
    #: ``"frontier"``: the share of all vertices that is in the frontier.
    criterion: str = "frontier"
    #: A superstep takes ``second`` if its criterion is at least this, above 0 and at most 1.
    threshold: float = _PULL_SHARE

    def __post_init__(self):
        if not isinstance(self.first, Plan) or not isinstance(self.second, Plan):
            raise UserError("a hybrid has two plans, and none of them is a hybrid")
        for name in ("algorithm", "parameters", "deduplicate", "atomics", "warps", "phases"):
            one, other = (getattr(plan, name) for plan in (self.first, self.second))
            if one != other:
                raise UserError(f"the plans of a hybrid must agree on {name}, which is {one!r} and "
                                f"{other!r}")
        algorithms.find(self.algorithm).check_has("auto")
        for label, _ in self.first.labels + self.second.labels:
            raise UserError(f"label {label!r} cannot have fields of its own in a hybrid, which "
                            "chooses for all operators")
        if self.first.fusion or self.second.fusion:
            raise UserError("fusion=yes is for one plan: the host chooses the plan of each "
                            "superstep of a hybrid, so its supersteps cannot be one launch")
        if self.criterion != "frontier":
            raise UserError(f"there is no criterion {self.criterion!r}; there is frontier")
        if not isinstance(self.threshold, (int, float)) or not 0 < self.threshold <= 1:
            raise UserError(f"threshold is {self.threshold!r}, must be above 0 and at most 1")

    @property
    def text(self) -> str:
        """The text form; :meth:`Plan.parse` is the inverse."""
        return (f"{self.first.text} | {self.second.text} when {self.criterion}>="
                f"{_spelled(self.threshold)}")

    def to_json(self) -> dict[str, Any]:
        """The record, as JSON can hold it; :meth:`Plan.from_json` is the inverse."""
        return {"first": self.first.to_json(), "second": self.second.to_json(),
                "criterion": self.criterion, "threshold": self.threshold}

    @property
    def sides(self) -> dict[str, Plan]:
        """The two plans by the names of their kernels: their directions, if they differ."""
        ways = [plan.way for plan in (self.first, self.second)]
        names = ways if ways[0] != ways[1] else ("first", "second")
        return dict(zip(names, (self.first, self.second)))

    def check(self, config: HardwareConfig | None = None) -> None:
        """As :meth:`Plan.check`, of both plans."""
        for plan in (self.first, self.second):
            plan.check(config)

    def second_follows(self, vertices: int, of: int) -> bool:
        """Whether a superstep takes the second plan, with ``vertices`` of ``of`` vertices in its
        frontier."""
        return vertices >= least_vertices(self.threshold, of)

    # The common part, for tables and records

    @property
    def parts(self) -> dict[str, str | None]:
        """As :attr:`Plan.parts`; two values of a part have a bar between them."""
        return _parts(self)

    def _common(self, name) -> Any:
        one, other = getattr(self.first, name), getattr(self.second, name)
        return one if one == other else f"{one} | {other}"

    ways = property(lambda self: tuple(self.sides))
    algorithm = property(lambda self: self.first.algorithm)
    parameters = property(lambda self: self.first.parameters)
    atomics = property(lambda self: self.first.atomics)
    warps = property(lambda self: self.first.warps)
    phases = property(lambda self: self.first.phases)
    fusion = False
    schedule = property(lambda self: self._common("schedule"))
    format = property(lambda self: self._common("format"))
    split = property(lambda self: self._common("split"))

    @property
    def direction(self) -> str | None:
        """``"auto"`` if the plans have different directions."""
        return "auto" if "first" not in self.sides else self.first.direction


#: The fields of a plan that a text may give, with their defaults.
_FIELDS: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(Plan)
                           if field.name not in ("algorithm", "parameters", "labels")}


def as_plan(asked: str | Plan | Hybrid | ProgramText, **choices: Any) -> Plan | Hybrid:
    """A plan with some choices changed.

    Parameters
    ----------
    asked : str, Plan, Hybrid or ProgramText
        A plan, or its text; the name of an algorithm is the text of a plan. A program of the
        language in this process.
    **choices
        Fields of the plan, by name, in both plans of a hybrid; other names are the algorithm's
        parameters, and ``parameters`` a dict of some. A value may be its text. None leaves a choice
        as it is. With ``direction`` = ``"auto"`` the plan becomes a hybrid.

    Raises
    ------
    UserError
        As :class:`Plan` and :class:`Hybrid`.
    """
    if isinstance(asked, ProgramText):
        asked = asked.algorithm
    plan = _parse(asked) if isinstance(asked, str) else asked
    given = {name: value for name, value in choices.items() if value is not None}
    if isinstance(plan, Hybrid) and given:
        first, second = (_changed(each, given) for each in (plan.first, plan.second))
        return dataclasses.replace(plan, first=first, second=second)
    return _changed(plan, given) if given else plan


def _changed(plan, given):
    fields = {name: value for name, value in given.items() if name in _FIELDS}
    parameters = {name: value for name, value in given.items() if name not in _FIELDS}
    parameters |= parameters.pop("parameters", {})
    auto = fields.get("direction") == "auto"
    if auto:
        del fields["direction"]
    plan = dataclasses.replace(plan, parameters=dict(plan.parameters) | parameters, **fields)
    if not auto:
        return plan
    plan.kind.check_has("auto")
    return Hybrid(*(dataclasses.replace(plan, direction=way) for way in ("push", "pull")))


def _parts(plan):
    return {name: getattr(plan, name) for name in ("algorithm", "schedule", "format", "direction",
                                                   "split")}


def _check_label(kind, label, fields):
    """Refuse a label that has no operators, and fields that are not for operators."""
    if label not in kind.labels:
        raise UserError(f"algorithm {kind.name!r} has no operator of edges at a label {label!r}; "
                        f"it has {', '.join(kind.labels) or 'no labels'}")
    for name in fields:
        if name not in OWN:
            raise UserError(f"label {label!r} cannot have {name!r}; it can have {', '.join(OWN)}, "
                            "and all else is for the whole run")
    if fields.get("direction") == "auto":
        raise UserError(f"label {label!r} cannot have direction auto, which is a hybrid of two "
                        "plans of the whole run")


# Values

def _parameter(kind, name, value):
    """A parameter's value: a number, one of the words that stand for one, or a text."""
    if name not in kind.options:
        raise UserError(f"algorithm {kind.name!r} has no parameter {name!r}; it has "
                        f"{', '.join(kind.options) or 'no parameters'}")
    number, *words = kind.options[name]
    if number is str:
        return _text(kind, name, value)
    if number is VertexName:
        return _vertex(value)
    found = value
    if isinstance(value, str) and value not in words:
        found = numbers.integer(value)
        if found is None and number is float:
            found = numbers.real(value)
    elif not isinstance(value, str):
        try:
            found = operator.index(value) if number is int else value + 0
        except TypeError:
            found = None
    if found is None:
        what = "a whole number" if number is int else "a number"
        raise UserError(f"{kind.name}: {name} is {value!r}, must be {' or '.join([what, *words])}")
    return found


def _text(kind, name, value):
    """The text of a parameter, which the text of a plan can hold."""
    text = str(value)
    wrong = [mark for mark in text if mark in ",()|=" or mark.isspace() or not mark.isprintable()]
    if wrong or not text:
        raise UserError(f"{kind.name}: {name} is {text!r}, must be a text without commas, "
                        "parentheses, bars, equals signs and spaces")
    return text


def _vertex(value):
    """A vertex as an int, or as the text of its name."""
    try:
        return operator.index(value)
    except TypeError:
        text = str(value)
        number = numbers.integer(text)
        return number if str(number) == text else text


def _written(kind, name, value):
    """A parameter's value in the text of a plan. The name of a vertex is quoted as in an address of
    the web."""
    if kind.options[name][0] is VertexName:
        return urllib.parse.quote(str(value), safe="/:@+")
    return _spelled(value)


def _read(kind, name, value):
    """The inverse of :func:`_written`."""
    vertex = kind.options.get(name, (None,))[0] is VertexName
    return urllib.parse.unquote(value) if vertex else value


def _spelled(value):
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


# Texts

_HEAD = re.compile(r"\s*([^\s(|=]+)\s*(?:\(([^)]*)\))?(?=\s|$)")
_RULE = re.compile(r"^(.*\S)\s+when\s+([^\s>=]+)\s*>=\s*(\S+)\s*$", re.DOTALL)


def _parse(text):
    halves = text.split("|")
    if len(halves) == 1:
        return _parse_plan(text, 0, text)
    if len(halves) > 2:
        raise _wrong(text, len(halves[0]) + len(halves[1]) + 1, "a hybrid has two plans")
    rule = _RULE.match(halves[1])
    place = len(halves[0]) + 1
    if rule is None:
        raise _wrong(text, place, "the second plan must end with a rule, as in when frontier>=0.05")
    first, second = _parse_plan(halves[0], 0, text), _parse_plan(rule[1], place, text)
    threshold = numbers.real(rule[3])
    try:
        if threshold is None:
            raise UserError(f"{rule[3]!r} is not a number")
        return Hybrid(first, second, rule[2], threshold)
    except UserError as error:
        raise _wrong(text, place + rule.start(2), str(error)) from None


def _parse_plan(part, place, text):
    """The plan of a part of a text that begins at ``place``."""
    head = _HEAD.match(part)
    if head is None:
        raise _wrong(text, place, "must begin with an algorithm, as in bfs(source=3) schedule=vm")
    if head.span() == (0, len(text)) and head[2] is None:
        return Plan(head[1])                    # a name alone
    plan: Any = None
    try:
        plan = Plan(head[1])
    except UserError as error:
        raise _wrong(text, place + head.start(1), str(error)) from None
    items = [(head.start(2) + item.start(), item[0], False)
             for item in re.finditer(r"[^,]+", head[2] or "")]
    items += [(head.end() + item.start(), item[0], True)
              for item in re.finditer(r"\S+", part[head.end():])]
    seen, labels = set(), {}
    for start, item, is_field in items:
        name, equals, value = (piece.strip() for piece in item.partition("="))
        try:
            if not equals or not value:
                raise UserError(f"{item.strip()!r} must be NAME=VALUE")
            if name in seen:
                raise UserError(f"{name} is given twice")
            seen.add(name)
            label, dot, field = name.rpartition(".")
            if is_field and dot:
                labels.setdefault(label, {})[field] = value
                _labelled(plan, labels)                         # refuses what is wrong here
                continue
            if is_field and name not in _FIELDS:
                raise UserError(f"a plan has no field {name!r}; it has {', '.join(_FIELDS)}")
            plan = as_plan(plan, **{name: value}) if is_field else \
                dataclasses.replace(plan, parameters=dict(plan.parameters) | {
                    name: _read(plan.kind, name, value)})
        except UserError as error:
            raise _wrong(text, place + start, str(error)) from None
    return _labelled(plan, labels) if labels else plan


def _labelled(plan, labels):
    """A plan, or both plans of a hybrid, with fields for labels."""
    if isinstance(plan, Hybrid):
        return dataclasses.replace(plan, first=_labelled(plan.first, labels),
                                   second=_labelled(plan.second, labels))
    return dataclasses.replace(plan, labels=labels)


def _wrong(text, place, what):
    return UserError(f"plan {text!r}, character {place + 1}: {what}")
