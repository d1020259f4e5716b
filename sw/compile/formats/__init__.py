"""Storage formats: how a graph lies in the device's memory, and how a kernel reads it.

A format has two sides, and a module may have both. The image (:mod:`sw.compile.formats.image`) is
the graph as arrays, which the host makes and reads. The
:class:`~sw.compile.formats.storage_format.StorageFormat` emits the code with which a kernel reads
the arrays.

Formats are found in all modules and packages of this folder: a class with a ``name`` is read by
kernels, and a class with a ``format`` is an image. There is no other list. :data:`ALIASES` has
names that papers give to a format with some options.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING

from sw.compile import registry
from sw.compile.options import parse, word

if TYPE_CHECKING:
    from sw.compile.formats.storage_format import StorageFormat
    from sw.compile.formats.image import Image
    from sw.graph.graph import Graph


__all__ = ["ALIASES", "build_image", "canonical", "find", "find_image", "image_names", "image_of",
           "names"]


#: Formats with options that have a name of their own; further options may follow the name. 4096
#: vertices have 16 KiB of values, the L1 of preset ``default``.
ALIASES = {"block-coo": "coo:block=4096"}

_images: weakref.WeakKeyDictionary[Graph, dict[tuple[str, str], Image]] = \
    weakref.WeakKeyDictionary()


def names() -> list[str]:
    """Names of the formats that kernels can read."""
    return registry.names(__name__, "format")


def _parse(text: str) -> tuple[str, dict[str, str]]:
    """The name of a format and the options that are given, without aliases."""
    name, given = parse(text)
    if name not in ALIASES:
        return name, given
    name, preset = parse(ALIASES[name])
    return name, preset | given


def find(text: str) -> type[StorageFormat]:
    """The class of the format that ``text`` spells: ``NAME[:OPTION=VALUE]...``. Raises UserError
    if there is no such format, or its options are wrong."""
    name, given = _parse(text)
    kind = registry.find(__name__, "format", name)
    find_image(name).settle(given)
    return kind


@functools.lru_cache(1000)
def canonical(text: str) -> str:
    """The one form of a format's text, without aliases: options sorted by name, and each value in
    one spelling. Raises UserError if there is no such format that kernels can read, or its options
    are wrong."""
    name, given = _parse(text)
    registry.find(__name__, "format", name)
    values = find_image(name).settle(given)
    return ":".join([name, *(f"{option}={word(values[option])}" for option in sorted(given))])


def image_names() -> list[str]:
    """Names of the formats in which a graph can be stored."""
    return registry.names(__name__, "format", "format")


def find_image(name: str) -> type[Image]:
    """The image class of that name. Raises UserError naming those there are."""
    return registry.find(__name__, "format", name, "format")


def build_image(graph: Graph, text: str, direction: str = "push") -> Image:
    """The image of ``graph`` in the format that ``text`` spells: ``NAME[:OPTION=VALUE]...``.

    Raises
    ------
    UserError
        For an unknown format or option, or a value out of its range.
    """
    name, given = _parse(text)
    return find_image(name).build(graph, direction, **given)


def image_of(graph: Graph, text: str, direction: str) -> Image:
    """As :func:`build_image`, but each image of a graph is made once as long as there is the
    graph."""
    images = _images.setdefault(graph, {})
    if (text, direction) not in images:
        images[text, direction] = build_image(graph, text, direction)
    return images[text, direction]
