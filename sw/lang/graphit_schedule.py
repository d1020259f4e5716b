"""The part ``schedule:`` of a text of GraphIt (UGF, tables 3.1 and 3.2, figures 3-1 and 3-2)."""

from typing import Any

from base.errors import UserError
from sw.lang.graphit_text import Translator
from sw.lang.schedule import (HybridSchedule, PlannedSchedule, SimpleSchedule,
                              read_threshold)
from sw.lang.types import LanguageError


__all__ = ["read_commands"]


def read_commands(file: str, tree) -> dict[str, PlannedSchedule]:
    """The schedules that a part ``schedule:`` gives to labels.

    Parameters
    ----------
    file : str
        Its name for messages.
    tree : lark.Tree

    Raises
    ------
    LanguageError
        If a schedule or a label is unknown or given twice, or a choice is not right.
    """
    return _Commands(file, tree).applied


class _Commands(Translator):
    """Reads the part ``schedule:``."""

    def __init__(self, file, tree):
        super().__init__(file)
        self._known: dict[str, PlannedSchedule] = {}
        self.applied: dict[str, PlannedSchedule] = {}
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

    def _apply(self, tree, label, name):
        text = str(label).strip('"')
        if text in self.applied:
            self._fail(label, f"label {text!r} has a schedule already")
        self.applied[text] = self._find(name)

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


def _enabled(word):
    """Whether a word is ENABLED or DISABLED. Raises UserError."""
    if word not in ("ENABLED", "DISABLED"):
        raise UserError(f"{word} must be ENABLED or DISABLED")
    return word == "ENABLED"


def _number(word):
    """The number that a word spells. Raises UserError."""
    if not (word.isascii() and word.isdecimal() and len(word) <= 20):
        raise UserError(f"{word} must be a whole number")
    return int(word)


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
