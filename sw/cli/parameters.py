"""The parameters of a program as options: ``graphloom run bfs GRAPH --source 3``.

A command that takes an algorithm is a :class:`ProgramCommand`. It looks at the command line for the
algorithm, and has an option for each of its parameters. Their values do not go through the
function of the command: :func:`given_parameters` has them.
"""

import dataclasses
import inspect
import re
from typing import Annotated, Any

import typer

from base.errors import UserError

from .commands import App, RefusedLine, StrictCommand


__all__ = ["ProgramCommand", "ProgramParameters", "given_parameters"]


#: Where the context of a command keeps the :class:`ProgramParameters`.
_KEY = "graphloom.parameters"

#: The start of a plan's text: the name of its algorithm.
_NAME = re.compile(r"\s*([^\s(|=]+)")

#: An option that gives its value to the parameter of this name, too.
_SHARED = "seed"

#: Settings of the options of well-known parameters.
_KNOWN = {
    "source": {"metavar": "VERTEX|hub", "help": "Vertex at which the search starts, by its id "
               "where ids are numbered, else by its number; hub is the vertex with the most "
               "out-arcs.", "show_default": "the first with arcs to others"},
    "delta": {"metavar": "N|auto", "help": "Step of the threshold between near and far vertices; "
              "near vertices come first.", "show_default": False},
    "iterations": {"metavar": "N", "min": 1, "help": "Sweeps."},
    "tolerance": {"metavar": "X", "help": "Stop when the sum of the changes of all ranks is below "
                  "X; X is above 0.", "show_default": False},
    "dimension": {"metavar": "N", "help": "Columns of the weight matrix, 1 to 64.",
                  "show_default": "those of the file's matrix, or 16"},
    "features": {"metavar": "FILE", "help": "Features of the vertices, an .npz or .content file, "
                 "and the weight matrix where the file has one. Others are drawn at random.",
                 "show_default": False},
    "columns": {"flag": "--feature-columns", "metavar": "N", "help": "Features that are drawn.",
                "show_default": "64"},
    "density": {"metavar": "X", "help": "Share of these features that a vertex has, 0 to 1.",
                "show_default": "0.1"},
    "matrix_seed": {"metavar": "N", "help": "Seed of what is drawn.", "show_default": "0"},
    "together": {"metavar": "yes|no", "help": "Whether the lanes of a warp do the work of an edge "
                 "together, under schedules that hand out edges.",
                 "show_default": "yes if it pulls"},
    "coefficients": {"metavar": "stored|computed", "help": "Whether coefficients come from a "
                     "table, or kernels compute them from degrees.", "show_default": "stored"},
}

#: Facts of an algorithm's class without which an option of a graph or a machine does nothing.
_NEEDS = {
    "weights": lambda kind: kind.weighted,
    "weight_scale": lambda kind: kind.weighted,
    "no_weights": lambda kind: kind.weighted,
    "vm": lambda kind: getattr(kind, "program", None) is not None,
    "apply": lambda kind: getattr(kind, "program", None) is not None,
    "verify": lambda kind: getattr(kind, "program", None) is not None,
}


@dataclasses.dataclass
class ProgramParameters:
    """The parameters of the algorithm that a command line names."""
    #: type or None. The algorithm's class; None if none is named, or there is no such algorithm.
    kind: Any = None
    #: The option of each parameter, by the parameter's name.
    known: dict[str, str] = dataclasses.field(default_factory=dict)
    given: dict = dataclasses.field(default_factory=dict)  #: The values that options give.
    #: The options that the command gets, named as their parameters with a mark before them.
    options: list = dataclasses.field(default_factory=list)
    fault: Exception | None = None  #: Why there is no such algorithm.


def given_parameters(context) -> ProgramParameters:
    """The parameters of the algorithm on the command line of a context."""
    return context.meta[_KEY]


class ProgramCommand(StrictCommand):
    """A command with an algorithm, whose parameters are options of the command."""

    def get_params(self, ctx):
        """The command's own parameters, and the algorithm's. Help is only shown the options that
        do something for the algorithm."""
        parameters = ctx.meta.get(_KEY, ProgramParameters())
        kind = parameters.kind if ctx.meta.get("graphloom.help") else None
        own = [each for each in super().get_params(ctx)
               if kind is None or _NEEDS.get(each.name, lambda kind: True)(kind)]
        return own + parameters.options

    def format_help(self, ctx, formatter):
        """Show the help of the command with the algorithm of the command line."""
        ctx.meta["graphloom.help"] = True
        super().format_help(ctx, formatter)

    def parse_args(self, ctx, args):
        """Parse a command line, and take the algorithm's parameters out of what the command gets.
        An unknown option is refused with the parameters that there are."""
        parameters = ctx.meta[_KEY] = self._parameters(_named(self, ctx, args))
        try:
            rest = super().parse_args(ctx, [*args])
        except RefusedLine as error:
            if not hasattr(error, "possibilities"):         # it is no unknown option
                raise
            if not {*args}.isdisjoint(ctx.help_option_names):
                return super().parse_args(ctx, ctx.help_option_names[:1])
            if parameters.fault is not None:
                raise parameters.fault from None
            raise UserError(_unknown(error, parameters)) from None
        for option in parameters.options:
            value = ctx.params.pop(option.name)
            if value is not None:
                parameters.given[option.name.removeprefix(_MARK)] = value
        return rest

    def _parameters(self, name):
        """The parameters of the algorithm of this name; none if there is no such algorithm."""
        from sw.compile import algorithms
        try:
            kind = None if name is None else algorithms.find(name)
        except (UserError, OSError) as error:
            return ProgramParameters(fault=error)
        if kind is None:
            return ProgramParameters()
        taken = {word for each in self.params for word in (*each.opts, *each.secondary_opts)}
        known = {}
        for parameter in kind.options:
            flag = _KNOWN.get(parameter, {}).get("flag", f"--{parameter.replace('_', '-')}")
            known[parameter] = (flag if flag not in taken or parameter == _SHARED
                                else f"--parameter-{parameter.replace('_', '-')}")
        return ProgramParameters(kind, known, {}, _options(kind, known, taken))


#: Before the name of a parameter, so that it is none of the command's own.
_MARK = "parameter "


def _named(command, ctx, args):
    """The algorithm of a command line that is not parsed yet: in ``--plan``, or the first word that
    is neither an option nor its value. None if there is none."""
    takes = {word: not getattr(each, "is_flag", False) for each in command.params
             for word in each.opts + each.secondary_opts} | dict.fromkeys(ctx.help_option_names,
                                                                           False)
    words, found = iter(args), None
    for word in words:
        option, equals, value = word.partition("=")
        if word == "--":
            found = found or next(words, None)
            break
        if option == "--plan":
            found = value if equals else next(words, None)
            break
        if word[:1] == "-" and len(word) > 1:
            if not equals and takes.get(option, True):
                next(words, None)
        else:
            found = found or word
    match = _NAME.match(found or "")
    return match and match[1]


def _options(kind, known, taken):
    """The options of an algorithm's parameters, made as those of any command."""
    parameters = [_declared(kind, name, flag) for name, flag in known.items() if flag not in taken]

    def command(**values):
        """Nothing: only the options count."""

    vars(command)["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    app = App(add_completion=False)
    app.command()(command)
    made = typer.main.get_command(app).params
    for option, name in zip(made, (name for name, flag in known.items() if flag not in taken)):
        option.name = _MARK + name
    return made


def _declared(kind, name, flag):
    """A parameter of an algorithm as a parameter of a command."""
    number, *words = kind.options[name]
    type_ = str if words else number
    settings = {"metavar": "|".join([{int: "N", float: "X", str: "TEXT"}.get(number, "VERTEX"),
                                     *words]),
                "help": f"Parameter of {kind.name}.", "show_default": _default(kind, name),
                **_KNOWN.get(name, {})}
    settings.pop("flag", None)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[
            type_ | None, typer.Option(
                flag, rich_help_panel=f"Parameters of {kind.name}", **settings)])


def _default(kind, name):
    """The default of a program's parameter, as help shows it; False if there is none."""
    for argument in kind.program.arguments if getattr(kind, "program", None) is not None else ():
        if argument.name == name and argument.default is not None:
            whole = argument.default == int(argument.default)
            return f"{int(argument.default) if whole else float(argument.default)}"
    return False


def _unknown(error, parameters):
    """What to say of an unknown option."""
    text = error.format_message().rstrip(".")
    if parameters.kind is None:
        return f"{text} (see --help)"
    options = ", ".join(parameters.known.values())
    return f"{text}; " + (f"{parameters.kind.name} has the parameters {options}" if options else
                          f"{parameters.kind.name} has no parameters") + " (see --help)"
