"""Storage formats: how a graph lies in the device's memory, and how a kernel reads it.

A format has two sides, and a module may have both. The image (:mod:`sw.formats.image`) is the graph
as arrays, which the host makes and reads. The :class:`~sw.formats.base.StorageFormat` emits the
code with which a kernel reads the arrays.

Formats are found in all modules and packages of this folder: a class with a ``name`` is read by
kernels, and a class with a ``format`` is an image. There is no other list.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from sw.kernels import registry
from sw.kernels.options import canonical as _canonical, parse

if TYPE_CHECKING:
    from sw.formats.base import StorageFormat
    from sw.formats.image import Image
    from sw.graph.graph import Graph


__all__ = ["build_image", "canonical", "find", "find_image", "image_names", "image_of", "names"]


_images: weakref.WeakKeyDictionary[Graph, dict[tuple[str, str], Image]] = \
    weakref.WeakKeyDictionary()


def names() -> list[str]:
    """Names of the formats that kernels can read."""
    return registry.names(__name__, "format")


def find(text: str) -> type[StorageFormat]:
    """The class of the format that ``text`` spells: ``NAME[:OPTION=VALUE]...``. Raises UserError
    if there is no such format, or its options are wrong."""
    return registry.find(__name__, "format", parse(canonical(text))[0])


def canonical(text: str) -> str:
    """The one form of a format's text (:func:`sw.kernels.options.canonical`). Raises UserError if
    there is no such format that kernels can read, or its options are wrong."""
    def options(name):
        registry.find(__name__, "format", name)
        return find_image(name).OPTIONS

    return _canonical(text, options, "format")


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
    name, given = parse(text)
    return find_image(name).build(graph, direction, **given)


def image_of(graph: Graph, text: str, direction: str) -> Image:
    """As :func:`build_image`, but each image of a graph is made once as long as there is the
    graph."""
    images = _images.setdefault(graph, {})
    if (text, direction) not in images:
        images[text, direction] = build_image(graph, text, direction)
    return images[text, direction]
