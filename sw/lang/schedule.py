"""The scheduling language: how the operators and loops of a program run (UGF, chapter 3).

A schedule changes no result. :class:`SimpleSchedule` has the choices of UGF's table 3.1, and
:class:`HybridSchedule` (table 3.2) switches between two schedules by the size of a set. A choice
that a schedule leaves out is None: the GraphVM decides. :func:`applied` puts schedules into the
metadata of the labelled instructions.

A schedule is also a text, such as ``etwc,pull:bitmap,no_dedup``:

======================================  ==========================================================
``vertex_based`` … ``twc``              load balance; with EdgeBlocking ``etwc:blocked`` or
                                        ``etwc:blocked:4096``
``push``, ``pull``, ``pull:bitmap``     direction, and the form of the input set for ``pull``
``fused``, ``unfused_bitmap``, …        creation of the result
``dedup``, ``dedup:bitmap``,            deduplication of the result
``no_dedup``
``delta:8``                             width of the steps of a queue
``fusion``, ``no_fusion``               kernel fusion of a loop
``default``                             no choice
======================================  ==========================================================

``A | B when input_vertexset_size>=0.15`` is a hybrid schedule: ``B`` while the input set has at
least that share of the vertices of the graph, else ``A``. The share may be ``argv[3]``, the third
argument of a command line.
"""

import dataclasses
import enum
import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias, TypeVar

from base.errors import UserError
from sw.lang import graph_ir as ir
from sw.lang.choices import (Criterion, DeduplicationForm, FrontierCreation, LoadBalance, SetForm,
                             Traversal)
from sw.lang.passes.rewrite import changed, marked
from sw.lang.types import WORD, LanguageError, Type


__all__ = ["HybridSchedule", "PlannedSchedule", "SimpleSchedule", "applied", "labelled",
           "read_schedule", "read_schedules", "read_threshold"]


_E = TypeVar("_E", bound=enum.StrEnum)


def _member(kind: type[_E], value: str, what: str) -> _E:
    """The member of an enumeration. Raises UserError naming those there are."""
    try:
        return kind(value.lower())
    except ValueError:
        raise UserError(f"there is no {what} {value!r}; there are {', '.join(kind)}") from None


@dataclasses.dataclass(frozen=True)
class SimpleSchedule:
    """A schedule. Its methods give copies with a choice more; they raise UserError if a value is
    not right.
    """
    load_balance: LoadBalance | None = None
    #: Whether the graph is cut into subgraphs by its destinations (EdgeBlocking).
    blocked: bool | None = None
    blocking_size: int | None = None  #: Vertices of a subgraph.
    direction: Traversal | None = None
    pull_form: SetForm | None = None  #: BITMAP or BOOLMAP, for PULL.
    frontier_creation: FrontierCreation | None = None
    deduplication: bool | None = None
    deduplication_form: DeduplicationForm | None = None
    delta: int | None = None  #: Width of the steps of a queue.
    kernel_fusion: bool | None = None

    def config_load_balance(self, kind: str, blocking: bool = False,
                            blocking_size: int | None = None) -> "SimpleSchedule":
        """A copy with a load balance, with EdgeBlocking or without."""
        if blocking_size is not None and (not blocking or not 1 <= blocking_size < WORD):
            raise UserError(f"blocking size {blocking_size}: must be from 1 to {WORD - 1}, and "
                            "needs blocking")
        return dataclasses.replace(self, load_balance=_member(LoadBalance, kind, "load balance"),
                                   blocked=blocking, blocking_size=blocking_size)

    def config_direction(self, direction: str, form: str | None = None) -> "SimpleSchedule":
        """A copy with a direction; for PULL maybe with the form of the input set, BOOLMAP or
        BITMAP."""
        chosen, shape = _member(Traversal, direction, "direction"), None
        if form is not None:
            shape = _member(SetForm, form, "form of a set")
            if chosen is Traversal.PUSH or shape is SetForm.SPARSE:
                raise UserError(f"{chosen}:{shape}: only pull has a form of the input set, which "
                                "is bitmap or boolmap")
        return dataclasses.replace(self, direction=chosen, pull_form=shape)

    def config_frontier_creation(self, kind: str) -> "SimpleSchedule":
        """A copy with a way to make the result."""
        return dataclasses.replace(self, frontier_creation=_member(
            FrontierCreation, kind, "frontier creation"))

    def config_deduplication(self, enable: bool, form: str | None = None) -> "SimpleSchedule":
        """A copy with deduplication, or without."""
        if form is not None and not enable:
            raise UserError(f"deduplication by {form}: deduplication is disabled")
        return dataclasses.replace(
            self, deduplication=enable, deduplication_form=None if form is None else _member(
                DeduplicationForm, form, "deduplication"))

    def config_delta(self, delta: int) -> "SimpleSchedule":
        """A copy with a width of the steps of a queue, from 1 to 2**32 - 1."""
        if not 1 <= delta < WORD:
            raise UserError(f"delta is {delta}, must be from 1 to {WORD - 1}")
        return dataclasses.replace(self, delta=delta)

    def config_kernel_fusion(self, enable: bool) -> "SimpleSchedule":
        """A copy with kernel fusion, or without."""
        return dataclasses.replace(self, kernel_fusion=enable)

    def __str__(self) -> str:
        items = [self._balance_text(), ":".join(filter(None, [self.direction, self.pull_form])),
                 self.frontier_creation]
        if self.deduplication is not None:
            items.append(":".join(filter(None, ["dedup", self.deduplication_form]))
                         if self.deduplication else "no_dedup")
        if self.delta is not None:
            items.append(f"delta:{self.delta}")
        if self.kernel_fusion is not None:
            items.append("fusion" if self.kernel_fusion else "no_fusion")
        return ",".join(filter(None, items)) or "default"

    def _balance_text(self):
        size = [] if self.blocking_size is None else [str(self.blocking_size)]
        return ":".join([*filter(None, [self.load_balance]), *["blocked"] * bool(self.blocked),
                         *size])

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of an operator of edges that has this schedule, without ``delta``."""
        found: dict[str, Any] = {}
        if self.load_balance is not None:
            found |= {"load_balance": self.load_balance,
                      "is_edge_parallel": self.load_balance is not LoadBalance.VERTEX_BASED}
        if self.blocked:
            found |= {"edge_blocking": True, "blocking_size": self.blocking_size}
        if self.direction is not None:
            found["direction"] = self.direction
        if self.pull_form is not None:
            found["pull_input_frontier"] = self.pull_form
        if self.frontier_creation is not None:
            found["output_representation"] = self.frontier_creation.form
        if self.deduplication is not None:
            found["apply_deduplication"] = self.deduplication
        if self.deduplication_form is not None:
            found["deduplication_strategy"] = self.deduplication_form
        return found


_ARGV = re.compile(r"argv\[\d{1,4}\]", re.ASCII)
_REAL = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


@dataclasses.dataclass(frozen=True)
class HybridSchedule:
    """One of two schedules, by a condition of the run (UGF, table 3.2).

    Raises
    ------
    UserError
        If the criterion or the threshold is not right, or if a schedule has ``delta`` or kernel
        fusion, which cannot change from call to call.
    """
    criterion: Criterion
    threshold: float | str  #: A share of the vertices of the graph, from 0 to 1, or ``argv[N]``.
    #: ``second`` runs while the input set has at least ``threshold`` of the vertices.
    first: SimpleSchedule
    second: SimpleSchedule  #: See `first`.

    def __post_init__(self) -> None:
        object.__setattr__(self, "criterion", _member(Criterion, self.criterion, "criterion"))
        given = self.threshold
        fits = bool(_ARGV.fullmatch(given)) if isinstance(given, str) else 0 <= given <= 1
        if not fits:
            raise UserError(f"threshold {given} must be a number from 0 to 1, or argv[N]")
        for schedule in (self.first, self.second):
            for what, value in (("delta", schedule.delta),
                                ("kernel fusion", schedule.kernel_fusion)):
                if value is not None:
                    raise UserError(f"a hybrid schedule cannot change {what}: {schedule}")

    def with_arguments(self, argv: list[str]) -> "HybridSchedule":
        """A copy whose threshold is a number.

        Parameters
        ----------
        argv : list of str
            A command line; ``argv[0]`` is the program.

        Raises
        ------
        UserError
            If it has no such argument, or the argument is not right.
        """
        if not isinstance(self.threshold, str):
            return self
        number = int(self.threshold[5:-1])
        if number >= len(argv):
            raise UserError(f"the schedule takes its threshold from {self.threshold}, and there "
                            f"are {max(len(argv) - 1, 0)} arguments")
        share = read_threshold(argv[number])
        if isinstance(share, str):
            raise UserError(f"threshold {share} must be a number from 0 to 1")
        return dataclasses.replace(self, threshold=share)

    def __str__(self) -> str:
        return f"{self.first} | {self.second} when {self.criterion}>={self.threshold}"


#: A schedule of either kind.
PlannedSchedule: TypeAlias = SimpleSchedule | HybridSchedule


# Texts

_HYBRID = re.compile(r"([^|]*)\|([^|]*)\bwhen\s+(\w+)\s*>=\s*(\S+)\s*")


def read_schedule(text: str) -> PlannedSchedule:
    """The schedule of a text. ``read_schedule(str(schedule)) == schedule``.

    Raises
    ------
    UserError
        Naming the item that is not right.
    """
    match = _HYBRID.fullmatch(text)
    if match is None:
        return _read_simple(text)
    first, second, criterion, threshold = match.groups()
    return HybridSchedule(_member(Criterion, criterion, "criterion"), read_threshold(threshold),
                          _read_simple(first), _read_simple(second))


def read_threshold(text: str) -> float | str:
    """The threshold of a text: a number from 0 to 1, or ``argv[N]`` as it stands. Raises
    UserError if the text is neither."""
    if _ARGV.fullmatch(text):
        return text
    value = float(text) if _REAL.fullmatch(text) else -1
    if not 0 <= value <= 1:
        raise UserError(f"threshold {text} must be a number from 0 to 1, or argv[N]")
    return value


def _read_simple(text):
    schedule, seen = SimpleSchedule(), set()
    for item in text.split(","):
        kind, schedule = _with_item(schedule, item.strip(), text)
        if kind in seen:
            raise UserError(f"schedule {text.strip()!r}: the {kind} is given twice")
        seen.add(kind)
    return schedule


def _with_item(schedule, item, text):
    """The choice that an item makes, and the schedule with it."""
    match item.split(":"):
        case [name] if name in tuple(LoadBalance):
            return "load balance", schedule.config_load_balance(name)
        case [name, "blocked"] if name in tuple(LoadBalance):
            return "load balance", schedule.config_load_balance(name, True)
        case [name, "blocked", size] if name in tuple(LoadBalance) and _is_number(size):
            return "load balance", schedule.config_load_balance(name, True, int(size))
        case [name] if name in tuple(Traversal):
            return "direction", schedule.config_direction(name)
        case [name, form] if name in tuple(Traversal):
            return "direction", schedule.config_direction(name, form)
        case [name] if name in tuple(FrontierCreation):
            return "frontier creation", schedule.config_frontier_creation(name)
        case ["dedup"]:
            return "deduplication", schedule.config_deduplication(True)
        case ["dedup", form]:
            return "deduplication", schedule.config_deduplication(True, form)
        case ["no_dedup"]:
            return "deduplication", schedule.config_deduplication(False)
        case ["delta", number] if _is_number(number):
            return "delta", schedule.config_delta(int(number))
        case ["fusion" | "no_fusion"]:
            return "kernel fusion", schedule.config_kernel_fusion(item == "fusion")
        case ["default"]:
            return "default", schedule
    raise UserError(
        f"schedule {text.strip()!r}: {item!r} is no choice; there are {', '.join(LoadBalance)} "
        f"(with :blocked or :blocked:SIZE), push, pull, pull:bitmap, pull:boolmap, "
        f"{', '.join(FrontierCreation)}, dedup, dedup:FORM, no_dedup, delta:N, fusion, no_fusion, "
        f"default, and A | B when {Criterion.INPUT_VERTEXSET_SIZE}>=SHARE")


def _is_number(text):
    return text.isascii() and text.isdigit() and len(text) <= 10


def read_schedules(texts: list[str]) -> dict[str, PlannedSchedule]:
    """Schedules by labels, from texts ``LABEL=SCHEDULE``. Raises UserError if one is not right or
    a label is given twice."""
    found: dict[str, PlannedSchedule] = {}
    for text in texts:
        label, equals, rest = text.partition("=")
        label = label.strip()
        if not equals or not label:
            raise UserError(f"schedule {text!r} must be LABEL=SCHEDULE, as in s0:s1=etwc,pull")
        if label in found:
            raise UserError(f"label {label!r} has two schedules")
        found[label] = read_schedule(rest)
    return found


# Programs

_Refuse: TypeAlias = Callable[[str], NoReturn]


def labelled(program: ir.GraphProgram) -> dict[str, Any]:
    """The labelled instructions by their scoped labels, as ``s0:s1`` for ``s1`` within ``s0``."""
    return dict(_labelled(program.body, ""))


def _labelled(body, scope):
    for node in body:
        label = getattr(node, "label", None)
        inner = f"{scope}{label}:" if label else scope
        if label:
            yield f"{scope}{label}", node
        match node:
            case ir.WhileLoop() | ir.ForLoop():
                yield from _labelled(node.body, inner)
            case ir.HostBranch():
                yield from _labelled((*node.then, *node.otherwise), inner)


def applied(program: ir.GraphProgram, schedules: dict[str, PlannedSchedule]) -> ir.GraphProgram:
    """The program with schedules in the metadata of its labelled instructions.

    An operator of edges gets ``load_balance``, ``is_edge_parallel``, ``edge_blocking``,
    ``blocking_size``, ``direction``, ``pull_input_frontier``, ``output_representation``,
    ``apply_deduplication``, ``deduplication_strategy`` and ``delta``, as far as its schedule has
    them; for a hybrid schedule it gets ``hybrid``: (criterion, threshold, metadata, metadata). A
    loop gets ``needs_fusion`` and ``delta``. The queue of a ``delta`` is made with it.

    Parameters
    ----------
    program : GraphProgram
    schedules : dict of str to SimpleSchedule or HybridSchedule
        By scoped labels.

    Raises
    ------
    UserError
        If there is no such label, or the instruction cannot take the schedule.
    """
    places = labelled(program)
    queues = {node.name for node in ir.instructions(program.body)
              if isinstance(node, ir.NewQueue)}
    extra: dict[str, dict] = {}
    deltas: dict[str, int] = {}
    for label, schedule in schedules.items():
        if label not in places:
            raise UserError(f"program {program.name!r} has no label {label!r}; it has "
                            f"{', '.join(places) or 'none'}")
        node = places[label]
        extra[node.label] = _metadata(node, label, schedule, queues)
        if isinstance(schedule, SimpleSchedule) and schedule.delta is not None:
            for queue in _queues(node, queues):
                if deltas.setdefault(queue, schedule.delta) != schedule.delta:
                    raise UserError(f"label {label!r}: queue {queue!r} has delta {deltas[queue]} "
                                    f"and {schedule.delta}")

    def change(node: Any):
        if isinstance(node, ir.NewQueue) and node.name in deltas:
            width = ir.Literal(value=deltas[node.name], type=Type.WHOLE, position=node.position)
            return dataclasses.replace(node, delta=width)
        label = getattr(node, "label", None)
        return marked(node, **extra[label]) if label in extra else node

    return changed(program, change)


def _metadata(node, label, schedule, queues):
    """The metadata that a schedule gives an instruction. Raises UserError if it cannot take it."""
    def refuse(why) -> NoReturn:
        raise LanguageError(node.position, f"label {label!r} cannot have the schedule "
                                           f"{str(schedule)!r}: {why}")

    match node:
        case ir.EdgeSetIterator():
            return _edges(node, schedule, queues, refuse)
        case ir.WhileLoop() | ir.ForLoop():
            return _loop(node, schedule, queues, refuse)
    return refuse("an operator of vertices has no choices")


def _edges(node, schedule, queues, refuse: _Refuse):
    if isinstance(schedule, HybridSchedule):
        if node.input_vset == ir.ALL:
            refuse("the operator goes through the edges of all vertices, whose number stays")
        return {"hybrid": (schedule.criterion, schedule.threshold,
                           _edges(node, schedule.first, queues, refuse),
                           _edges(node, schedule.second, queues, refuse))}
    if schedule.kernel_fusion is not None:
        refuse("kernel fusion is for loops")
    if schedule.delta is not None and not _queues(node, queues):
        refuse("delta is for operators with a queue")
    if node.output_vset is None:
        for what, value in (("frontier creation", schedule.frontier_creation),
                            ("deduplication", schedule.deduplication)):
            if value is not None:
                refuse(f"{what} is for operators with a result")
    delta = {} if schedule.delta is None else {"delta": schedule.delta}
    return schedule.metadata | delta


def _loop(node, schedule, queues, refuse: _Refuse):
    if isinstance(schedule, HybridSchedule):
        refuse("a hybrid schedule is for operators of edges")
    if schedule.metadata:
        refuse("a loop has kernel fusion and delta only")
    found = {}
    if schedule.delta is not None:
        if not _queues(node, queues):
            refuse("the loop has no queue")
        found["delta"] = schedule.delta
    if schedule.kernel_fusion is not None:
        found["needs_fusion"] = schedule.kernel_fusion
    return found


def _queues(node, queues):
    """The queues that an instruction, or those in it, dequeue or fill."""
    named = set()
    for each in ir.instructions((node,)):
        match each:
            case ir.Dequeue():
                named.add(each.queue)
            case ir.EdgeSetIterator():
                named.add(each.output_vset)
    return named & queues
