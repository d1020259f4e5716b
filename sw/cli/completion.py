"""What a shell may complete, and what help lists: names of the registries, by kind.

The names are asked for when a shell or a reader wants them, as their modules take time to load. An
option or argument whose value is a name has :func:`one` of a kind as its ``autocompletion``, and
``{KIND}`` in a help text stands for all names of the kind.
"""

from collections.abc import Callable, Iterable
from typing import Any


__all__ = ["filled", "many", "one"]


def _algorithms():
    from sw.compile import algorithms
    return algorithms.names()


def _schedules():
    from sw.compile import schedules
    return schedules.names()


def _formats():
    from sw.compile import formats
    return formats.names()


def _frontiers():
    from sw.compile import frontiers
    return frontiers.names()


def _atomics():
    from sw.compile.kernels.reductions import ATOMICS
    return ATOMICS


def _splits():
    from sw.compile.kernels.split import SPLITS
    return SPLITS


def _graphs():
    from sw.graph.catalogue import catalogue
    from sw.graph.generators import GENERATORS
    return [*catalogue(), *(f"{name}:" for name in GENERATORS)]


def _generators():
    from sw.graph.generators import GENERATORS
    return [f"{name}:" for name in GENERATORS]


def _presets():
    from hw.config import PRESETS
    return PRESETS


def _hardware():
    from hw.config import LEGAL
    return [f"{name}=" for name in LEGAL]


def _dram():
    from sim.memories import MODELS, field_names
    return [*(f"model={model}" for model in MODELS),
            *(f"{name}=" for name in field_names() if name != "model")]


def _papers():
    from sw.study import reproduce
    return reproduce.names()


def _machines():
    from sw.vm.machines import NAMES
    return ["rtl", *NAMES]


_KINDS: dict[str, Callable[[], Iterable[str]]] = {
    "algorithms": _algorithms, "schedules": _schedules, "formats": _formats,
    "atomics": _atomics, "frontiers": _frontiers, "splits": _splits, "graphs": _graphs,
    "generators": _generators, "presets": _presets, "hardware": _hardware, "dram": _dram,
    "papers": _papers, "machines": _machines,
}


def one(kind: str):
    """The completion of a name of a kind."""
    def complete(incomplete: str):
        return [name for name in _KINDS[kind]() if name.startswith(incomplete)]
    return complete


def many(kind: str):
    """The completion of a list of names with commas: of its last name."""
    def complete(incomplete: str):
        before, comma, _ = incomplete.rpartition(",")
        return [before + comma + name for name in _KINDS[kind]() if name not in before.split(",")]
    return complete


def filled(parameters: Iterable[Any]):
    """Put the names of a kind in the place of ``{KIND}`` in the help of parameters."""
    for parameter in parameters:
        for kind, names in _KINDS.items():
            text = getattr(parameter, "help", None) or ""
            if f"{{{kind}}}" in text:
                parameter.help = text.replace(f"{{{kind}}}", ", ".join(names()))
