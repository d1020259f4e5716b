"""Storage formats: how a graph lies in the device's memory, and how a kernel reads it.

A format has two sides, which a module may have both of. Its image (:mod:`sw.formats.image`) is the
graph as arrays, made and read by the host. Its :class:`~sw.formats.base.StorageFormat` is how a
kernel reads them.

Every module or package of this folder that has a class with a ``name`` (what a kernel reads) or
with a ``format`` (an image) is found; nothing else lists them.
"""

from sw.formats.options import parse
from sw.kernels import registry


__all__ = ["build_image", "find", "find_image", "image_names", "names"]


def names() -> list[str]:
    """What kernels can read."""
    return registry.names(__name__, "format")


def find(name):
    """The class of that name. Raises UserError naming those there are."""
    return registry.find(__name__, "format", name)


def image_names() -> list[str]:
    """What a graph can be stored in."""
    return registry.names(__name__, "format", "format")


def find_image(name):
    """The image class of that name. Raises UserError naming those there are."""
    return registry.find(__name__, "format", name, "format")


def build_image(graph, text, direction="push"):
    """The image of ``graph`` in the format that ``text`` spells: ``NAME[:OPTION=VALUE]...``.

    Raises
    ------
    UserError
        For a format or an option that there is not, or a value out of its range.
    """
    name, given = parse(text)
    return find_image(name).build(graph, direction, **given)
