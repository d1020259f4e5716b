"""The part ``schedule:`` of a text of GraphIt: UGF's (tables 3.1 and 3.2, figures 3-1 and 3-2), and
GraphIt's own for CPUs.

======================================  ==========================================================
GraphIt                                 here
======================================  ==========================================================
``configApplyDirection``                ``SparsePush``, ``DensePush`` and both: push; ``DensePull``:
                                        pull; push and pull: a hybrid schedule that pulls from 5 %
                                        of the vertices on, or pull, where an operator goes through
                                        all edges. GraphIt asks for a twentieth of the edges.
``configApplyParallelization``          ``edge-aware-dynamic-vertex-parallel``: edge_only; others
                                        with ``parallel``: vertex_based
``configApplyDenseVertexSet``           ``bitvector``: pull:bitmap; ``boolean-array``: pull:boolmap
``configApplyPriorityUpdateDelta``      delta
======================================  ==========================================================

Other choices, those about labels that no loop and no operator has, and deltas of the command line
have no meaning here; a note says which.
"""

import dataclasses
from typing import Any

from base.errors import UserError
from sw.lang import graph_ir as ir
from sw.lang.choices import Criterion
from sw.lang.graphit_text import Translator, number_of
from sw.lang.schedule import (HybridSchedule, PlannedSchedule, SimpleSchedule, labelled,
                              read_threshold)
from sw.lang.types import LanguageError


__all__ = ["read_commands"]


def read_commands(file: str, tree: Any, program: ir.GraphProgram | None = None) -> tuple[
        dict[str, PlannedSchedule], list[str]]:
    """The schedules that a part ``schedule:`` gives to labels, and notes on what it cannot give.

    Parameters
    ----------
    file : str
        Its name for messages.
    tree : lark.Tree
    program : GraphProgram, optional
        The program that has the labels; without one, the text is only checked.

    Raises
    ------
    LanguageError
        If a schedule is unknown or given twice, or a choice is not right.
    """
    commands = _Commands(file, tree)
    if program is None:
        return commands.applied, []
    schedules, notes = commands.cpu.schedules(labelled(program))
    return commands.applied | schedules, notes


class _Commands(Translator):
    """Reads the part ``schedule:``."""

    def __init__(self, file, tree):
        super().__init__(file)
        self._known: dict[str, PlannedSchedule] = {}
        self.applied: dict[str, PlannedSchedule] = {}
        self.cpu = _CpuChoices(file)
        for command in tree.children:
            try:
                getattr(self, f"_{command.data}")(command, *command.children)
            except LanguageError:
                raise
            except UserError as error:
                self._fail(command, str(error))

    def _new(self, name, schedule):
        if str(name) in self._known:
            self._fail(name, f"schedule {str(name)!r} is there already")
        self._known[str(name)] = schedule

    def _find(self, name) -> PlannedSchedule:
        if str(name) not in self._known:
            self._fail(name, f"there is no schedule {str(name)!r}; there are "
                             f"{', '.join(self._known) or 'none'}")
        return self._known[str(name)]

    def _find_simple(self, name) -> SimpleSchedule:
        found = self._find(name)
        if isinstance(found, SimpleSchedule):
            return found
        return self._fail(name, f"{str(name)!r} is a hybrid schedule, must be a simple one")

    def _simple(self, tree, name, *source):
        copied = [each for each in source if each is not None]
        self._new(name, self._find_simple(copied[0]) if copied else SimpleSchedule())

    def _hybrid(self, tree, name, criterion, threshold, first, second):
        share = read_threshold(str(threshold).strip('"'))
        self._new(name, HybridSchedule(criterion, share, self._find_simple(first),
                                       self._find_simple(second)))

    def _program(self, tree, *configurations):
        for configuration in configurations:
            name, *choices = configuration.children
            given = [str(each).strip('"') for choice in choices for each in choice.children]
            if str(name) != "applyGPUSchedule":
                self.cpu.take(configuration, name, given)
                continue
            if len(given) != 2:
                self._fail(name, "applyGPUSchedule takes a label and a schedule")
            if given[0] in self.applied:
                self._fail(choices[0], f"label {given[0]!r} has a schedule already")
            self.applied[given[0]] = self._find(choices[1].children[0])

    def _configure(self, tree, name, method, *given):
        schedule = self._find_simple(name)
        words = [str(each) for each in given if each is not None]
        if str(method) not in _CONFIGURE:
            self._fail(method, f"there is no {str(method)!r}; there are {', '.join(_CONFIGURE)}")
        most, change = _CONFIGURE[str(method)]
        if not 1 <= len(words) <= most:
            self._fail(method, f"{method} takes "
                       f"{' or '.join(map(str, range(1, most + 1)))} argument{'s' * (most > 1)}, "
                       f"not {len(words)}")
        self._known[str(name)] = change(schedule, *words)


@dataclasses.dataclass
class _Choices:
    """What is chosen for a label."""
    way: str = ""                    #: ``push``, ``pull``, or ``hybrid``.
    form: str | None = None
    schedule: SimpleSchedule = dataclasses.field(default_factory=SimpleSchedule)


class _CpuChoices(Translator):
    """Choices of GraphIt's schedules for CPUs.

    Parameters
    ----------
    file : str
        Its name for messages.
    """

    def __init__(self, file):
        super().__init__(file)
        self._found: dict[str, _Choices] = {}
        self._without: list[str] = []

    def take(self, tree, name, given):
        """Take ``name(given)``. Raises LanguageError if there is no such choice."""
        if str(name) not in _CPU:
            self._fail(name, f"there is no {str(name)!r}; there are applyGPUSchedule, "
                             f"{', '.join(_CPU)}")
        least = _CPU[str(name)]
        if len(given) < least:
            self._fail(name, f"{name} takes at least {least} arguments, not {len(given)}")
        choices = self._found.setdefault(given[0], _Choices()) if least > 1 else _Choices()
        match str(name), given[1:]:
            case "configApplyDirection", [way, *_]:
                self._direction(tree, choices, way)
            case "configApplyParallelization", [way, *_] if "parallel" in way:
                choices.schedule = choices.schedule.config_load_balance(
                    "edge_only" if way.startswith("edge-aware") else "vertex_based")
            case "configApplyDenseVertexSet", [form, *_] if form in _FORMS:
                choices.form = _FORMS[form]
            case "configApplyPriorityUpdateDelta", [delta] if delta.isascii() and delta.isalnum() \
                    and delta[0].isdecimal():
                self._delta(tree, choices, delta)
            case _:
                self._without.append(f"{name}({', '.join(given)})")

    def _delta(self, tree, choices, text):
        try:
            choices.schedule = choices.schedule.config_delta(number_of(text))
        except (UserError, ValueError):
            self._fail(tree, f"delta is {text}, must be a whole number from 1 to 4294967295")

    def _direction(self, tree, choices, text):
        ways = {_WAYS.get(way) for way in text.split("-")}
        if None in ways or len(text.split("-")) > 2:
            self._fail(tree, f"there is no direction {text!r}; there are {', '.join(_WAYS)}, and "
                             "two of them, as in SparsePush-DensePull")
        choices.way = "hybrid" if len(ways) > 1 else ways.pop() or ""

    def schedules(self, places) -> tuple[dict[str, PlannedSchedule], list[str]]:
        """The schedules by labels, and notes.

        Parameters
        ----------
        places : dict of str to node
            The instructions that have labels, by these.
        """
        found: dict[str, PlannedSchedule] = {}
        notes = []
        for label, choices in self._found.items():
            node = places.get(label)
            if isinstance(node, ir.EdgeSetIterator):
                found[label] = self._planned(choices, node)
            elif node is None:
                self._without.append(f"label {label}, which no operator and no loop has")
            elif choices.schedule.delta is not None:
                found[label] = SimpleSchedule().config_delta(choices.schedule.delta)
        if self._without:
            notes.append("of the schedules, these have no meaning here: "
                         + "; ".join(dict.fromkeys(self._without)))
        return found, notes

    @staticmethod
    def _planned(choices, node):
        simple, way = choices.schedule, choices.way
        if way == "hybrid" and node.input_vset == ir.ALL:
            way = "pull"
        if way == "hybrid":
            return HybridSchedule(Criterion.INPUT_VERTEXSET_SIZE, read_threshold(_DENSE),
                                  simple.config_direction("push"),
                                  simple.config_direction("pull", choices.form))
        if way:
            simple = simple.config_direction(way, choices.form if way == "pull" else None)
        return simple


def _enabled(word):
    """Whether a word is ENABLED or DISABLED. Raises UserError."""
    if word not in ("ENABLED", "DISABLED"):
        raise UserError(f"{word} must be ENABLED or DISABLED")
    return word == "ENABLED"


def _number(word):
    """The number that a word spells. Raises UserError."""
    if not (word.isascii() and word[0].isdecimal() and len(word) <= 20):
        raise UserError(f"{word} must be a whole number")
    return number_of(word)


def _load_balance(schedule, kind, blocking="DISABLED", size=None):
    wanted = blocking == "BLOCKED" or _enabled(blocking)
    return schedule.config_load_balance(kind, wanted, None if size is None else _number(size))


#: {method: (most arguments, change)}, of UGF's table 3.1.
_CONFIGURE: dict[str, Any] = {
    "configLoadBalance": (3, _load_balance),
    "configDirection": (2, SimpleSchedule.config_direction),
    "configFrontierCreation": (1, SimpleSchedule.config_frontier_creation),
    "configDeduplication": (2, lambda schedule, enable, form=None: (
        schedule.config_deduplication(_enabled(enable), form))),
    "configDelta": (1, lambda schedule, delta: schedule.config_delta(_number(delta))),
    "configKernelFusion": (1, lambda schedule, enable: (
        schedule.config_kernel_fusion(_enabled(enable)))),
}

#: Choices of GraphIt's schedules for CPUs, with the least number of arguments.
_CPU = {"configApplyDirection": 2, "configApplyParallelization": 2, "configApplyDenseVertexSet": 2,
        "configApplyPriorityUpdateDelta": 2, **dict.fromkeys((
            "configApplyNumSSG", "configApplyNUMA", "configApplyPriorityUpdate",
            "configBucketMergeThreshold", "configNumOpenBuckets", "configIntersection",
            "configParForGrainSize", "setApply", "fuseFields", "fuseForLoop", "fuseApplyFunctions",
            "splitForLoop"), 1)}

_WAYS = {"SparsePush": "push", "DensePush": "push", "DensePull": "pull"}
_FORMS = {"bitvector": "bitmap", "boolean-array": "boolmap"}

#: The share of the vertices from which a hybrid schedule pulls.
_DENSE = "0.05"
