"""Reproductions: the figures and tables of papers, measured here and set beside the papers' own.

====================  =============================================================================
:mod:`.paper`         the interfaces of a paper and a figure
:mod:`.setting`       the hardware and the graphs of all figures of one call
:mod:`.outcome`       the results of a figure: tables, plots, comparisons; as text
:mod:`.plot`          plots as PNG and SVG
:mod:`.runs`          runs on graphs, and the core on which units and software are fastest
:mod:`.measure`       measurements on the host: bytes and build times of storage formats
:mod:`.area`          the area of cores, with and without a unit
:mod:`.space`         the plans that a framework can choose from
:mod:`.study`         runs what the figures need, and writes their files
====================  =============================================================================

Every other module or package of this folder is a paper. It is found by its class with a ``paper``.
There is no other list.
"""

from sw.compile import registry


__all__ = ["find", "names"]


def names() -> list[str]:
    """The papers that can be reproduced."""
    return registry.names(__name__, "paper", "paper")


def find(name):
    """The class of that paper. Raises UserError, which names all papers, if there is none."""
    return registry.find(__name__, "paper", name, "paper")
