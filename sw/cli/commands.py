"""The mechanism of every command: how the words of a command line become values.

:class:`App` stands for ``typer.Typer`` everywhere. Each of its commands refuses an option that is
given twice, unless the option is a list, and reads numbers by the grammar of :mod:`base.numbers`.
The functions of the commands are given numbers, never texts that spell them.
"""

import functools
from typing import Any

import typer
from typer.core import TyperCommand

from base.errors import UserError
from base import numbers

from .completion import filled
from .options import once


__all__ = ["App", "RefusedLine", "StrictCommand", "app"]


#: The exception of Typer for a command line that it refuses. Each version of Typer has another name
#: for this base of all of them, which ``typer`` does not export.
RefusedLine: Any = typer.BadParameter.__mro__[-4]       # before Exception, BaseException, object


#: No option takes a larger number, whatever its sign: it would not fit the simulator's words.
_LIMIT = 1 << 64


class StrictCommand(TyperCommand):
    """A command that refuses repeated options, empty arguments, lists that have an item twice, and
    texts that spell no number where a number must be.

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
            # Neither --help nor a shell that completes needs a check.
            if not ctx.resilient_parsing and not any(parameter.is_eager for parameter in order):
                for parameter in self.get_params(ctx):
                    if parameter in order:
                        _check(parameter, order, values)
            return values, rest, order

        parser.parse_args = checked
        return parser

    def format_help(self, ctx, formatter):
        """Show the help, with the names of the registries where it lists them."""
        filled(self.get_params(ctx))
        super().format_help(ctx, formatter)


class App(typer.Typer):
    """A group of commands, each a :class:`StrictCommand`."""

    def command(self, name=None, *, cls=StrictCommand, **settings):
        """Add a command. The parameters are those of ``typer.Typer.command``."""
        return super().command(name, cls=cls, **settings)

    @functools.cached_property
    def _made(self):
        return typer.main.get_command(self)

    def __call__(self, *args, **settings):
        """Run a command line with the parameters of ``click.Command.main``. The parsers of all
        commands are made once: this takes longer than most command lines that are refused."""
        return self._made(*args, **settings)


#: The program. The module of a command adds it here.
app = App(
    help="""Graphloom: a SIMT GPU for graphs, simulated cycle by cycle from its RTL.

GRAPH is a file (.mtx, .el, .wel, .gr, .graph, .npz or an edge list of any name; each also .gz), a \
name of the catalogue, or a generator such as rmat:scale=12,degree=16,seed=1.
""", epilog="Example: graphloom compare pagerank rmat:scale=12,degree=16,seed=1",
    no_args_is_help=True, pretty_exceptions_enable=False,
    rich_markup_mode="rich", context_settings={"help_option_names": ["-h", "--help"]})


def _title(parameter):
    """An option as users write it, or what the help calls an argument. An option that can be
    switched off has both forms."""
    if parameter.param_type_name == "argument":
        return (parameter.metavar or parameter.name.upper()).strip("[]").removesuffix("]...")
    longest = [max(names, key=len) for names in (parameter.opts, parameter.secondary_opts) if names]
    return " or ".join(longest)


def _numbers(parameter):
    """What kind of numbers the items of an option or argument are, int or float, the least one and
    the greatest one; or None."""
    if hasattr(parameter, "type_descriptor"):
        kind = parameter.type_descriptor.annotation
        if parameter.multiple:
            kind, = kind.__args__
        return (kind, parameter.min, parameter.max) if kind in (int, float) else None
    # Before Typer 0.29 a parameter has a type of its own.
    type_ = parameter.type
    kind = {"integer": int, "float": float}.get(type_.name.removesuffix(" range"))
    return kind and (kind, getattr(type_, "min", None), getattr(type_, "max", None))


def _check(parameter, order, values):
    """Check what is given for an option or an argument, and put numbers in the place of the texts
    that spell them."""
    title = _title(parameter)
    if order.count(parameter) > 1 and not parameter.multiple:
        raise UserError(f"{title} is given twice")
    given = values[parameter.name]
    if parameter.param_type_name == "argument" and not isinstance(given, str | list | tuple):
        return                                          # an argument that is left out
    items = list(given) if parameter.multiple or parameter.nargs == -1 else [given]
    if "" in items:
        raise UserError(f"{title} is empty")
    legal = _numbers(parameter)
    if legal is not None:
        items = [_number(title, text, *legal) for text in items]
        values[parameter.name] = items if parameter.multiple else items[0]
    once(items, title)


def _number(title, text, kind, low, high):
    """The number that ``text`` spells, if it is in the range of the option."""
    value = (numbers.integer if kind is int else numbers.real)(text)
    if value is not None and abs(value) >= _LIMIT:
        raise UserError(f"{title} {text}: must be below 2**64")
    if value is None or (low is not None and value < low) or (high is not None and value > high):
        legal = "a whole number" if kind is int else "a number"
        if high is not None:
            legal += f" from {low} to {high}"
        elif low is not None:
            legal += f" of at least {low}"
        raise UserError(f"{title} {text}: must be {legal}")
    return value
