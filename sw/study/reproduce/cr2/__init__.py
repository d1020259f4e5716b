"""CR2, community-aware compressed regular storage, as chapter 3 of GRAssembler measures it; and the
storage formats of its chapter 2.

====================  =============================================================================
:mod:`.published`     the numbers of the paper
:mod:`.memory`        bytes and build time: tables 3.1 and 3.6, figures 3.8, 3.10 and 3.11
:mod:`.frameworks`    cycles against VWC-CSR and Tigr: table 3.5
:mod:`.effects`       cycles of one choice against another: figures 2.9 and 3.9, section 3.5.5
====================  =============================================================================
"""

from ..paper import Paper
from .effects import Blocking, Directions, ExpandList
from .frameworks import Frameworks
from .memory import BuildTimes, ExpandShare, Memory, Theory


__all__ = ["Cr2Paper"]


class Cr2Paper(Paper):
    """The thesis's chapter on CR2."""
    paper = "cr2"
    title = "CR2: community-aware compressed regular storage"
    source = ("S. Jeong: Decoupling Scheduling and Storage Formats for Balanced Graph Processing "
              "on a GPU. Dissertation, Yonsei University, 2024; chapters 2.5 and 3")
    figures = (Blocking(), Theory(), Frameworks(), Memory(), ExpandList(), ExpandShare(),
               BuildTimes(), Directions())
