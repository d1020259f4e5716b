"""The GraphVM ``adversary``: an interpreter that uses every freedom which facts grant.

Where facts (:mod:`sw.lang.facts`) permit something, it is done or not, as a generator of random
numbers says: edges come in any order, and some not at all; words are read while they change, or are
those of an earlier round; members of a set wait, or vertices that are none are gone through; a set
that nobody reads has any members. What a fact says of words or numbers is compared with them. If
all facts hold, the words at the end are those of the interpreter (:mod:`sw.vm.reference`), or the
same candidate is lost. A false fact gives other words, another error, or
:class:`~sw.vm.adversary.code.FalseFact`.

Runs of a device hardly notice a false fact: threads seldom meet in the order in which it matters.
"""

import numpy as np

from base.errors import UserError
from sw.lang.facts import Deferred, Early, known
from sw.lang.faults import LostCandidate
from sw.lang.graph_ir import EdgeSetIterator, instructions
from sw.vm.adversary.code import FalseFact
from sw.vm.adversary.machine import AdversaryMachine
from sw.vm.host import perform
from sw.vm.reference import ReferenceMachine


__all__ = ["differs"]


#: A run may have so many times the interpreter's operators, and so many more.
_LONGER, _MORE = 10, 100


def differs(program, graph, given_values, seed) -> str | None:
    """How a run by the facts of a program differs from the interpreter's; None if it does not.

    Parameters
    ----------
    program : GraphProgram
        With facts.
    graph : Graph
    given_values : dict of str to number
        Parameters of the program.
    seed : int

    Raises
    ------
    UserError
        If the interpreter refuses the run, but for a candidate that is lost, of which all
        operators that read early are told (:class:`~sw.lang.facts.Deferred`).
    """
    interpreter = ReferenceMachine(program, graph)
    operators, bits, lost = _MORE, None, None
    try:
        right = perform(program, graph, interpreter, given_values)
        operators, bits = right.operators, right.fraction_bits
    except LostCandidate as fault:
        if any(known(node, Early) and not known(node, Deferred)
               for node in instructions(program.body) if isinstance(node, EdgeSetIterator)):
            raise
        right, lost = None, str(fault)
    machine = AdversaryMachine(program, graph, seed, _LONGER * operators + _MORE)
    try:
        found = perform(program, graph, machine, given_values, bits)
    except (FalseFact, UserError) as fault:
        return None if str(fault) == lost else str(fault)
    if right is None:
        return f"no error, where the interpreter has: {lost}"
    wrong = [name for name, words in right.outputs.items()
             if not np.array_equal(words, found.outputs[name])]
    return f"{', '.join(wrong)} differ" if wrong else None
