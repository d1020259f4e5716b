"""One form for texts that mean the same.

Later passes read facts off the form of a program, so two texts that mean the same must not differ
in it. The steps of :data:`STEPS` rewrite a program until none of them finds anything. Each rewrite
keeps the words of every result, the faults of a run and their places, and the labels of loops and
operators. Names stay: where two names become one, or two functions, the first stays.

The interpreter (:mod:`sw.vm.reference`) runs the text as it stands, and so is a check of this pass,
too.
"""

import itertools

from sw.lang import graph_ir as ir
from sw.lang.passes.normal.functions import plain_statements, used_functions
from sw.lang.passes.normal.host import in_order, needed, plain_branches, steady_values
from sw.lang.passes.normal.loops import counted_first, counted_loops, counted_once
from sw.lang.passes.normal.sets import (joined_filters, lifted_guards, merged_functions, one_name,
                                        plain_queues, without_results)
from sw.lang.passes.normal.vectors import flags, needed_vectors
from sw.lang.passes.normal.words import spelled
from sw.lang.types import LanguageError


__all__ = ["STEPS", "normal"]


#: The rewrites, in the order in which they are tried.
STEPS = (used_functions, spelled, plain_statements, plain_branches, steady_values, needed,
         needed_vectors, flags, plain_queues, one_name, without_results, joined_filters,
         lifted_guards, merged_functions, counted_loops, counted_once, counted_first, in_order)

#: Rounds of all steps, of which a text needs about as many as it has neighbouring operators.
_ROUNDS = 200


@ir.once
def normal(program):
    """The program in the one form of its meaning. Raises LanguageError if an expression is nested
    too deeply."""
    try:
        unchanged = 0
        for step in itertools.islice(itertools.cycle(STEPS), _ROUNDS * len(STEPS)):
            other = step(program)
            if other is program or other == program:
                unchanged += 1
                if unchanged == len(STEPS):
                    break
            else:
                program, unchanged = other, 0
    except RecursionError:
        raise LanguageError(program.position, "an expression or a block is nested too deeply") \
            from None
    return program
