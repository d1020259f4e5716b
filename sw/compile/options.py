"""Options of a format or a schedule: their legal values, and their form on a command line."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, SupportsIndex

from base.errors import UserError
from base import numbers


__all__ = ["Choice", "Integer", "Switch", "canonical", "parse", "settle", "word"]


@dataclasses.dataclass(frozen=True)
class Integer:
    """A number from ``low`` to ``high``."""

    low: int  #: Smallest and largest legal value.
    high: int  #: Smallest and largest legal value.
    #: Value if the option is not given. ``None`` is for an option whose value is chosen for each
    #: graph, by the rule that ``doc`` states; ``None`` cannot be asked for by name.
    default: int | None
    doc: str  #: A description of the option.
    #: Values that the tuner tries beside the default; left out, the powers of two in a range that
    #: ends at 64 or below, else none.
    worth: tuple[int, ...] | None = None
    power: bool = False  #: Whether the value must be a power of two.

    @property
    def legal(self) -> str:
        """The legal values, in words."""
        kind = "a power of two" if self.power else "an integer"
        return f"{kind} from {self.low} to {self.high}"

    @property
    def tries(self) -> tuple[int | None, ...]:
        """Values that the tuner tries, the default first."""
        worth = self.worth
        if worth is None:
            small = range(7) if self.high <= 64 else ()
            worth = tuple(1 << bit for bit in small if self.low <= 1 << bit <= self.high)
        return tuple(dict.fromkeys((self.default, *worth)))

    def accept(self, value: object) -> int | None:
        """``value``, or the number it spells; None if it is not legal."""
        if isinstance(value, str):
            value = numbers.integer(value)
        # A protocol is asked last, because its answer takes long.
        if isinstance(value, bool) or not isinstance(value, (int, SupportsIndex)):
            return None
        value = int(value)
        legal = self.low <= value <= self.high and not (self.power and value & value - 1)
        return value if legal else None


@dataclasses.dataclass(frozen=True)
class Choice:
    """One of a few words. ``default`` is as of :class:`Integer`."""

    words: tuple[str, ...]
    default: str | None
    doc: str

    @property
    def legal(self) -> str:
        """The legal values, in words."""
        return " or ".join(self.words)

    @property
    def tries(self) -> tuple[str | None, ...]:
        """Values that the tuner tries, the default first."""
        return tuple(dict.fromkeys((self.default, *self.words)))

    def accept(self, value: object) -> str | None:
        """``value`` if it is legal, else None."""
        return value if isinstance(value, str) and value in self.words else None


@dataclasses.dataclass(frozen=True)
class Switch:
    """Yes or no."""

    default: bool | None
    doc: str

    legal = "yes or no"

    @property
    def tries(self) -> tuple[bool | None, ...]:
        """Values that the tuner tries, the default first."""
        return tuple(dict.fromkeys((self.default, True, False)))

    def accept(self, value: object) -> bool | None:
        """``value`` as a bool; None if it is not legal."""
        if isinstance(value, bool):
            return value
        return {"yes": True, "no": False}.get(value) if isinstance(value, str) else None


#: An option of any kind.
Option = Integer | Choice | Switch


def settle(options: Mapping[str, Option], given: Mapping[str, object],
           where: str) -> dict[str, Any]:
    """The value of each option: that given, else its default.

    Parameters
    ----------
    options : dict of str to Integer, Choice or Switch
        All options, by name.
    given : dict of str to value
        The values that were asked for, by name.
    where : str
        Beginning of an error's message.

    Returns
    -------
    dict

    Raises
    ------
    UserError
        For an option that does not exist or a value out of its range; the message has the range.
    """
    values: dict[str, Any] = {name: option.default for name, option in options.items()}
    for name, value in given.items():
        if name not in options:
            legal = ", ".join(options) or "no options at all"
            raise UserError(f"{where} has no option {name!r}, it has {legal}")
        if value is None and options[name].default is None:
            continue
        accepted = options[name].accept(value)
        if accepted is None:
            raise UserError(f"{where}: {name} is {value!r}, must be {options[name].legal}")
        values[name] = accepted
    return values


def parse(text: str) -> tuple[str, dict[str, str]]:
    """A format or schedule as users write it, ``NAME[:OPTION=VALUE]...``: its name and what is
    given.

    Raises
    ------
    UserError
        If an option has no value or is given twice. This function does not check that it exists.
    """
    name, *items = (part.strip(" ") for part in text.split(":"))
    given: dict[str, str] = {}
    for item in items:
        option, equals, value = (part.strip(" ") for part in item.partition("="))
        if not equals or not option:
            raise UserError(f"{text}: {item!r} must be OPTION=VALUE")
        if option in given:
            raise UserError(f"{text}: {option} is given twice")
        given[option] = value
    return name, given


def canonical(text: str, options: Callable[[str], Mapping[str, Option]], what: str) -> str:
    """The one form of a format or schedule with the options that ``text`` gives: sorted by name,
    and each value in one spelling.

    Parameters
    ----------
    text : str
        ``NAME[:OPTION=VALUE]...``.
    options : callable
        Gives all options of a name.
    what : str
        The kind of thing, for messages.

    Raises
    ------
    UserError
        As :func:`parse` and :func:`settle`.
    """
    name, given = parse(text)
    values = settle(options(name), given, f"{what} {name}")
    return ":".join([name, *(f"{option}={word(values[option])}" for option in sorted(given))])


def word(value: object) -> str:
    """The text of a value: yes or no for a bool."""
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)
