"""Passes: the first brings a program into one form; each other gives it more metadata.

They run in the order of :data:`PASSES`. A pass relies on those before it.
"""

from sw.lang.facts import Deferred, known
from sw.lang.graph_ir import EdgeSetIterator, GraphProgram, instructions
from sw.lang.passes.accesses import accesses
from sw.lang.passes.addressable import addressable
from sw.lang.passes.affine import affine
from sw.lang.passes.components import components
from sw.lang.passes.deduplication import deduplication
from sw.lang.passes.direction import direction
from sw.lang.passes.early import early
from sw.lang.passes.edge_blocking import edge_blocking
from sw.lang.passes.kernel_fusion import kernel_fusion
from sw.lang.passes.kinds import kinds
from sw.lang.passes.liveness import liveness
from sw.lang.passes.members import members
from sw.lang.passes.normal import normal
from sw.lang.passes.one_way import one_way
from sw.lang.passes.operators import operators
from sw.lang.passes.races import races
from sw.lang.passes.ranges import ranges
from sw.lang.passes.rewrite import changed, marked
from sw.lang.passes.sends import sends
from sw.lang.passes.sets import sets
from sw.lang.passes.stamps import stamps
from sw.lang.passes.superset import superset


__all__ = ["CHOSEN", "FACTS", "LOWER", "PASSES", "analysed", "as_written"]


#: {name: pass} of those that find facts (:mod:`sw.lang.facts`), in their order.
FACTS = {"accesses": accesses, "ranges": ranges, "early": early, "affine": affine, "sets": sets,
         "stamps": stamps, "members": members, "superset": superset, "one_way": one_way,
         "components": components, "addressable": addressable, "operators": operators,
         "sends": sends}

#: {name: pass}. The last two give defaults, which a GraphVM may have of its own.
PASSES = {"normal": normal, "kinds": kinds, "liveness": liveness, **FACTS,
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


def as_written(program: GraphProgram) -> GraphProgram:
    """The program as its text stands, for an interpreter that judges the passes, too.

    Of the facts it has :class:`~sw.lang.facts.Deferred` alone. Whether the order of calls may
    decide about lost candidates is a part of the language's meaning (docs/language.md), so it must
    not hang on the spelling: an operator has the fact if it has it in the normal form.
    """
    found = {node.position: known(node, Deferred)
             for node in instructions(analysed(program, after="early").body)
             if isinstance(node, EdgeSetIterator) and known(node, Deferred)}

    def change(node):
        return marked(node, **{Deferred.key: found[node.position]}) \
            if isinstance(node, EdgeSetIterator) and node.position in found else node

    return changed(program, change)
