"""SparseWeaver: chapter 4 of the thesis, on this hardware.

====================  =============================================================================
:mod:`.published`     the numbers of the chapter
:mod:`.runs`          the Weavers, the schedules in software, and their runs
:mod:`.software`      the schedules in software: figures 4.2a, 4.3 and 4.4
:mod:`.speed`         the Weaver against software: figure 4.10, table 4.5
:mod:`.sensitivity`   skewness, memory, caches and late tables: figures 4.11 to 4.15
:mod:`.area`          the area of a core: table 4.4
:mod:`.phases`        phases of the gather kernel: figures 4.17 and 4.18
:mod:`.convolution`   graph convolution: figure 4.19
====================  =============================================================================
"""

from ..paper import Paper
from .area import AreaOverhead
from .convolution import Convolution
from .phases import EdgeGeneration, Phases
from .sensitivity import CacheLevels, CacheSizes, Frequencies, LateTables, Skewness
from .software import BestSoftware, Iterations, Stalls
from .speed import ByGraph, Speedups


__all__ = ["SparseWeaverPaper"]


class SparseWeaverPaper(Paper):
    """The thesis's chapter on SparseWeaver."""
    paper = "sparseweaver"
    title = "SparseWeaver: a unit of the core that hands out edges"
    source = ("S. Jeong: Decoupling Scheduling and Storage Formats for Balanced Graph Processing "
              "on a GPU. Dissertation, Yonsei University, 2024; chapter 4")
    large = "paper"
    figures = (Iterations(), BestSoftware(), Stalls(), Speedups(), Skewness(), Frequencies(),
               CacheLevels(), CacheSizes(), LateTables(), AreaOverhead(), Phases(),
               EdgeGeneration(), Convolution(), ByGraph())
