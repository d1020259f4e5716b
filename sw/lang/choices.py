"""The choices of schedules (UGF, tables 3.1 and 3.2), as they stand in the metadata of GraphIR."""

import enum
import math
from fractions import Fraction


__all__ = ["Criterion", "DeduplicationForm", "FrontierCreation", "LoadBalance", "SetForm",
           "Traversal", "least_vertices"]


class LoadBalance(enum.StrEnum):
    """How the edges of a set of vertices are shared out (UGF, 2.5.3)."""
    VERTEX_BASED = "vertex_based"
    CM = "cm"
    WM = "wm"
    STRICT = "strict"
    EDGE_ONLY = "edge_only"
    ETWC = "etwc"
    TWC = "twc"


class Traversal(enum.StrEnum):
    """Whether sources push along their edges, or destinations pull (UGF, 2.4.1)."""
    PUSH = "push"
    PULL = "pull"


class SetForm(enum.StrEnum):
    """A set in memory: a list of vertices, a bit or a byte for each vertex (UGF, 2.4.2)."""
    SPARSE = "sparse"
    BITMAP = "bitmap"
    BOOLMAP = "boolmap"


class FrontierCreation(enum.StrEnum):
    """How a result is made: as a list while edges are processed, or by marks (UGF, 2.5.1)."""
    FUSED = "fused"
    UNFUSED_BOOLMAP = "unfused_boolmap"
    UNFUSED_BITMAP = "unfused_bitmap"

    @property
    def form(self) -> SetForm:
        """The form in which the result is made."""
        return {"fused": SetForm.SPARSE, "unfused_boolmap": SetForm.BOOLMAP,
                "unfused_bitmap": SetForm.BITMAP}[self.value]


class DeduplicationForm(enum.StrEnum):
    """How vertices that are in a result already are known (UGF, 2.4.3)."""
    MONOTONIC_COUNTERS = "monotonic_counters"
    BITMAP = "bitmap"
    BOOLMAP = "boolmap"


class Criterion(enum.StrEnum):
    """The size by which a hybrid schedule chooses."""
    INPUT_VERTEXSET_SIZE = "input_vertexset_size"


def least_vertices(threshold: float | Fraction, num_vertices: int) -> int:
    """The fewest of so many vertices that are a share of at least ``threshold``. Exact: the share
    is the decimal fraction that the number is written as, so 7 of 100 are 0.07."""
    share = threshold if isinstance(threshold, Fraction) else Fraction(repr(float(threshold)))
    return math.ceil(share * num_vertices)
