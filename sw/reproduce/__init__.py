"""Reproductions: the figures and tables of papers, measured here and set beside the papers' own.

====================  =============================================================================
:mod:`.paper`         what a paper and a figure are
:mod:`.setting`       what all figures of one call are taken on: hardware and graphs
:mod:`.outcome`       what a figure has found: tables, plots, comparisons; as text
:mod:`.plot`          plots as PNG and SVG
:mod:`.measure`       what is measured on the host: bytes and build times of storage formats
:mod:`.system`        runs on hardware of their own, for figures that compare systems
:mod:`.study`         runs what the figures need, and writes their files
====================  =============================================================================

Every other module or package of this folder is a paper: one that has a class with a ``paper`` is
found; nothing else lists them.
"""

from sw.kernels import registry


__all__ = ["find", "names"]


def names() -> list[str]:
    """The papers that can be reproduced."""
    return registry.names(__name__, "paper", "paper")


def find(name):
    """The class of that paper. Raises UserError naming those there are."""
    return registry.find(__name__, "paper", name, "paper")
