"""The mechanism of every command: how the words of a command line become values.

:class:`App` stands for ``typer.Typer`` everywhere. Each of its commands refuses an option that is
given twice, unless the option is a list, and reads numbers by the grammar of :mod:`hw.numbers`.
"""

import typer
from typer.core import TyperCommand

from hw import numbers
from sw.errors import UserError


__all__ = ["App", "Command"]


class Command(TyperCommand):
    """A command that refuses repeated options and numbers that are none.

    Raises
    ------
    UserError
        While the arguments are parsed: naming the option, its value and what would be right.
    """

    def make_parser(self, ctx):
        """The parser of the arguments, with the checks behind it."""
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def checked(args):
            values, rest, order = parse(args)
            if not any(parameter.is_eager for parameter in order):     # --help needs no check
                for parameter in self.params:
                    if order.count(parameter) > 1 and not parameter.multiple:
                        raise UserError(f"{_title(parameter)} is given twice")
                    if parameter in order:
                        _read_numbers(parameter, values)
            return values, rest, order

        parser.parse_args = checked
        return parser


class App(typer.Typer):
    """A group of commands, each a :class:`Command`."""

    def command(self, name=None, *, cls=Command, **settings):
        """Add a command. The parameters are those of ``typer.Typer.command``."""
        return super().command(name, cls=cls, **settings)


def _title(parameter):
    """An option as users write it. One that can be switched off has both forms."""
    longest = [max(names, key=len) for names in (parameter.opts, parameter.secondary_opts) if names]
    return " or ".join(longest)


def _read_numbers(parameter, values):
    """Put numbers in the place of the texts of an option whose values are numbers."""
    kind = parameter.type_descriptor.annotation
    if parameter.multiple:
        kind, = kind.__args__
    if kind not in (int, float):
        return
    given = values[parameter.name]
    if parameter.multiple:
        values[parameter.name] = [_number(parameter, kind, text) for text in given]
    else:
        values[parameter.name] = _number(parameter, kind, given)


def _number(parameter, kind, text):
    """The number that ``text`` spells, if it is in the range of the option."""
    value = (numbers.integer if kind is int else numbers.real)(text)
    low, high = parameter.min, parameter.max
    if value is None or (low is not None and value < low) or (high is not None and value > high):
        legal = "a whole number" if kind is int else "a number"
        if high is not None:
            legal += f" from {low} to {high}"
        elif low is not None:
            legal += f" of at least {low}"
        raise UserError(f"{_title(parameter)} {text}: must be {legal}")
    return value
