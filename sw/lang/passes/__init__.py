"""Passes: each takes a program, and gives one with more metadata.

They run in the order of :data:`PASSES`. A pass relies on those before it.
"""

from sw.lang.graph_ir import GraphProgram
from sw.lang.passes.components import components
from sw.lang.passes.deduplication import deduplication
from sw.lang.passes.direction import direction
from sw.lang.passes.edge_blocking import edge_blocking
from sw.lang.passes.fixpoint import fixpoint
from sw.lang.passes.kernel_fusion import kernel_fusion
from sw.lang.passes.kinds import kinds
from sw.lang.passes.liveness import liveness
from sw.lang.passes.races import races


__all__ = ["CHOSEN", "LOWER", "PASSES", "analysed"]


#: {name: pass}. The last two give defaults, which a GraphVM may have of its own.
PASSES = {"kinds": kinds, "liveness": liveness, "fixpoint": fixpoint, "components": components,
          "races": races, "edge_blocking": edge_blocking, "kernel_fusion": kernel_fusion,
          "direction": direction, "deduplication": deduplication}

#: What follows the passes: from operators, facts and a plan to kernels (:mod:`sw.compile.lowered`).
LOWER = "lower"

#: The last pass that gives no defaults.
CHOSEN = "kernel_fusion"


def analysed(program: GraphProgram, after: str | None = None) -> GraphProgram:
    """The program after all passes, or up to the one of that name."""
    for name, step in PASSES.items():
        program = step(program)
        if name == after:
            break
    return program
