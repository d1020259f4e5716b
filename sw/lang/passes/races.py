"""Which words operators must copy before they begin (UGF, 5.1.2).

The reads of an operator see the words of its start. If the operator also changes the vector, its
reads go to a copy, unless a fact says that the words of now do, too:

- in a loop whose order is free (:class:`~sw.lang.facts.OrderFree`), or which reads the vector early
  (:class:`~sw.lang.facts.Early`), if errors do not depend on when
  (:class:`~sw.lang.facts.Deferred`);
- of a stamped vector (:class:`~sw.lang.facts.Stamps`): a word that is no smaller than the stamp of
  the round was ``infinity`` at the start;
- at the source, if the operator changes the vector at destinations only, and no source is one
  (:class:`~sw.lang.facts.Apart`);
- by the filter of destinations, if any accepted edge suffices (:class:`~sw.lang.facts.Suffices`):
  only such an edge has made the filter false;
- at a destination whose edges one worker has for itself, and whose words it changes behind them;
- a vertex's own word in a function of vertices, which nobody else stores.
"""

from sw.lang import graph_ir as ir
from sw.lang.effects import effects
from sw.lang.facts import (AccessSet, Apart, Deferred, Early, OrderFree, Stamps, known,
                           suffices)
from sw.lang.passes.rewrite import changed, marked


__all__ = ["races", "start_copies"]


def races(program):
    """Mark iterators with ``start_copies``: a tuple of vectors. Mark operators of edges with
    ``owner_copies``, too, for a worker that has all edges of a destination, and if there are any,
    with ``stamped``: {vector that it changes: the stamp of the round, a Uniform}."""
    around: dict[int, tuple] = {}

    def enter(body, loops):
        for node in body:
            around[id(node)] = loops
            match node:
                case ir.WhileLoop() | ir.ForLoop():
                    enter(node.body, (*loops, node))
                case ir.HostBranch():
                    enter((*node.then, *node.otherwise), loops)

    enter(program.body, ())

    def change(node):
        if not isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator):
            return node
        function, loops = program.function(node.apply_f), around[id(node)]
        free = {fact.vector for loop in loops if (fact := known(loop, OrderFree))}
        if isinstance(node, ir.VertexSetIterator):
            touched = function.touched()
            copies = (touched.others | touched.own - touched.stores) & touched.writes - free
            return marked(node, start_copies=tuple(sorted(copies)))
        stamps = known(loops[-1], Stamps) if loops else None
        stamped = {effect.vector: effect.value for effect in effects(function)
                   if stamps is not None and stamps.stamp(effect.vector)}
        found, racing = {"stamped": stamped} if stamped else {}, free | stamped.keys()
        if known(node, Deferred) is not None:
            racing |= known(node, Early).vectors
        return marked(node, **found, start_copies=tuple(sorted(start_copies(node, racing))),
                      owner_copies=tuple(sorted(start_copies(node, racing, owned=True))))

    return changed(program, change)


def start_copies(node, racing, owned=False, stored=frozenset()) -> set[str]:
    """The vectors that an operator of edges must copy.

    Parameters
    ----------
    node : EdgeSetIterator
    racing : set of str
        The vectors of which it may read any word.
    owned : bool
        Whether one worker has all edges of a destination, and changes its words behind them.
    stored : frozenset of str
        Further vectors, which the vertices that it changes store at once.
    """
    touched = known(node, AccessSet)
    written, at_target = touched.writes | stored, touched.changed_at("dst") | stored
    here = {"src": at_target if known(node, Apart) else (), "dst": at_target if owned else ()}
    filtered = written if suffices(node, "any") else here["dst"]
    loads = [(access, here.get(access.at, ())) for access in touched.function]
    loads += [(access, filtered if access.at == "dst" else ()) for access in touched.filter]
    return {access.vector for access, right in loads if access.kind == "load"
            and access.vector in written - racing and access.vector not in right}
