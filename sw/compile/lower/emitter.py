"""Functions of a program as instructions of a kernel.

Lanes whose call is not to be made are inactive. The two sides of a ``Branch`` diverge. A ``Select``
is computed without a branch: both values, then the one that is chosen. An index that is read on the
side that is not chosen may be ``none``; there vertex 0 is read in its place.

The interpreter has refused runs with faults (:mod:`sw.lang.faults`) before. A sum or a product
above the largest number is ``infinity``, for candidates and for operands that are infinity.
"""

import dataclasses
from typing import Any

from sw.compile.kernels.kernel import Vertex
from sw.compile.kernels.reductions import combine, reduce_word
from sw.lang import graph_ir as ir
from sw.lang.types import WORD, Type
from sw.vm.evaluate import literal_word


__all__ = ["Emitter", "Tracked", "degrees"]


@dataclasses.dataclass(frozen=True)
class Tracked:
    """A vector whose changes are noted."""
    vector: str
    #: A register that is not 0 where an atomic has changed a word of the vector.
    changed: Any
    only: bool  #: Whether every call has one such atomic. If not, the register begins with 0.
    later: Any = None  #: As of :func:`reduce_word`, if every call has one such atomic.
    fresh: bool = False  #: Whether only the first change of a word is noted.
    marks: bool = False  #: Whether each such reduction changes a word, and there are no words.


def degrees(leaving) -> str:
    """The name of the vertex array of degrees, of arcs that leave vertices or enter them."""
    return "out_degrees" if leaving else "in_degrees"


@ir.once
def _several(function):
    """The variables of a function that are written several times."""
    names = [node.name for node in ir.walk(*function.body) if isinstance(node, ir.Let)]
    return frozenset(name for name in names if names.count(name) > 1)


class Emitter:
    """Emits one function for the active lanes.

    Parameters
    ----------
    k : Kernel
    bits : int
        Fraction bits of FIXED.
    uniform : callable
        ``uniform(node)``: the register with the word of a Uniform.
    array : callable
        ``array(vector)``: the name of a vector's array.
    copies : dict of str to str
        The arrays that are read in place of vectors at vertices other than the function's own.
    known : dict of VectorLoad to register, optional
        Words that have been loaded.
    sums : dict of str to register, optional
        Registers for the reductions of vectors at the destination of an edge.
    places : dict of str to register, optional
        Addresses of the words of the function's own vertex, by array.
    addresses : str, optional
        The vertex array whose addresses are the words that stand for vertices; numbers of the
        graph are these words if there is none.
    stamped : dict of str to register, optional
        Vectors whose words are stamps, and the stamp of this superstep. A word that is not smaller
        was all ones when the superstep began.
    earlier : dict of Uniform to int, optional
        Values that are smaller than all these stamps, which are one number, and by how much.
    """

    def __init__(self, k, bits, uniform, array, copies, known=None, sums=None, places=None,
                 addresses=None, stamped=None, earlier=None):
        self._stamped, self._earlier = stamped or {}, earlier or {}
        self._tracked: Any = None
        self._into: Any = None
        self._plain: Any = ()
        self._raw: dict[Any, Any] = {}
        self._own: Any = None
        self._known, self._sums = dict(known or {}), sums or {}
        self._places, self._addresses = places or {}, addresses
        self._least: dict[Any, Any] = {}
        self._k, self._a, self._bits, self._uniform = k, k.a, bits, uniform
        self._array, self._copies = array, copies
        self._names: dict[str, Any] = {}
        self._guard = None

    def run(self, function, parameters, into=None) -> Any:
        """Emit the body of a function. Returns the register of its result, which may be ``into``,
        or None.

        Parameters
        ----------
        function : Function
        parameters : sequence of Vertex or register
            Vertices, and the register of a weight.
        """
        self._bind(function, parameters)
        self._into = into
        self._block(function.body, inner=False)
        return self._result

    def run_tracked(self, function, parameters, sums, tracked, plain):
        """As :meth:`run`, of a function of edges: with registers for the reductions of vectors at
        the destination, and with a vector whose changes are noted, or None. The values of ``plain``
        vectors are their words."""
        self._sums, self._tracked, self._plain = sums, tracked, plain
        self.run(function, parameters)

    def expression(self, function, node, parameters, into=None) -> Any:
        """Emit a value of a function, whose other parameters are as of :meth:`run`. Returns its
        register, as :meth:`value` does."""
        self._bind(function, parameters)
        return self.value(node, into)

    def reduction(self, function, node, parameters, sums, plain):
        """Emit a Reduce of a function of edges, as :meth:`run_tracked` does for all of them."""
        self._bind(function, parameters)
        self._sums, self._tracked, self._plain = sums, None, plain
        self._reduce(node)

    def _bind(self, function, parameters):
        """The function whose parts are emitted from here on."""
        self._names = dict(zip(function.parameters, parameters))
        self._own = None if function.of_edge else function.parameters[0]
        self._target = function.parameters[1] if function.of_edge else None
        self._stored, self._several = function.touched().stores, _several(function)
        self._result = None

    def _block(self, body, inner):
        a = self._a
        for node in body:
            match node:
                case ir.Let():
                    self._let(node, inner)
                case ir.VectorStore():
                    value = self.value(node.value)
                    a.sw(value, self._pointer(self._names[node.index.name],
                                              self._array(node.vector)))
                case ir.Reduce():
                    self._reduce(node)
                case ir.Give():
                    self._result = self.value(node.value, self._into)
                case ir.Branch():
                    condition = a.reg("condition")
                    a.mv(condition, self.value(node.condition))
                    # Lanes of the other side have not computed what one side has.
                    least = self._least
                    with a.if_(condition) as choice:
                        self._least = dict(least)
                        self._block(node.then, inner=True)
                        if node.otherwise:
                            choice.otherwise()
                            self._least = dict(least)
                            self._block(node.otherwise, inner=True)
                    self._least = least

    def _let(self, node, inner):
        value = self.value(node.value)
        # The register of a variable that changes is not that of a variable that keeps its word.
        changes = any(value is self._names.get(name) for name in self._several)
        if not inner and node.name not in self._several and not changes:
            self._names[node.name] = value
            return
        known = self._names.get(node.name)
        if known is None:
            known = self._names[node.name] = self._a.reg(node.name)
        self._a.mv(known, value)

    def _reduce(self, node):
        if self._tracked is not None and self._tracked.marks \
                and node.vector == self._tracked.vector:
            self._a.li(self._tracked.changed, 1)
            return
        value = self.value(node.value)
        if node.vector in self._sums and isinstance(node.index, ir.Local) \
                and node.index.name == self._target:
            combine(self._k, node.operation, self._sums[node.vector], value)
            return
        pointer = self._pointer(self._vertex(node.index), self._array(node.vector))
        if node.vector in self._plain:
            self._a.sw(value, pointer)
            return
        if self._tracked is None or node.vector != self._tracked.vector:
            reduce_word(self._k, node.operation, value, pointer)
            return
        tracked = self._tracked
        changed = tracked.changed if tracked.only else self._a.reg("word_changed")
        reduce_word(self._k, node.operation, value, pointer, changed,
                    tracked.later if tracked.only else None, tracked.fresh)
        if not tracked.only:
            self._a.or_(tracked.changed, tracked.changed, changed)

    # Vertices

    def _vertex(self, node):
        """The vertex of an index: a parameter, or a number in a register."""
        if isinstance(node, ir.Local) and isinstance(self._names[node.name], Vertex):
            return self._names[node.name]
        number = self.value(node)
        if self._guard is not None:
            safe = self._a.reg("safe")
            self._a.and_(safe, number, self._guard)
            number = safe
        return Vertex(number, self._addresses)

    def _pointer(self, vertex, array):
        if vertex is self._names.get(self._own) and array in self._places:
            return self._places[array]
        return self._k.pointer(vertex, array, self._a.reg(f"{array}_pointer"))

    def _load(self, node):
        if node in self._known:
            return self._known[node]
        own = (isinstance(node.index, ir.Local) and node.index.name == self._own
               and node.vector in self._stored)
        word = self._a.reg(node.vector)
        self._word(node, self._vertex(node.index), word, own)
        return word

    def load(self, node, vertex, into):
        """``into`` = the word of a VectorLoad at a vertex, from a copy if there is one."""
        array = self._copies.get(node.vector, self._array(node.vector))
        self._a.lw(into, self._pointer(vertex, array))

    @property
    def known(self) -> dict:
        """The words that have been loaded, by their VectorLoads."""
        return self._known

    def load_own(self, words, vertex):
        """``words`` has registers for loads at the function's own vertex: load them. The words are
        known from then on."""
        for node, word in words.items():
            self._a.lw(word, self._pointer(vertex, self._array(node.vector)))
            self.know_now(node, word)

    def local(self, name):
        """The register of a local variable of the function that has been emitted."""
        return self._names[name]

    def know_now(self, node, word):
        """A register has the value of an expression; of a VectorLoad, the word of now if the vector
        is stamped."""
        stamped = isinstance(node, ir.VectorLoad) and node.vector in self._stamped
        (self._raw if stamped else self._known)[node] = word

    def ahead(self, node, vertex) -> Any:
        """Load the word of a VectorLoad at a vertex, in a new register, before its use. The word of
        a stamped vector is that of now, which only becomes that of the start when it is used."""
        word = self._a.reg(node.vector)
        self.load(node, vertex, word)
        self.know_now(node, word)
        return word

    def _word(self, node, vertex, into, own):
        """``into`` = a word of a vertex: its word of now if it is the function's own vertex, which
        stores it, else that of the start."""
        a, array = self._a, self._array(node.vector)
        if not own:
            array = self._copies.get(node.vector, array)
        stamp = None if own else self._stamped.get(node.vector)
        if stamp is None:
            a.lw(into, self._pointer(vertex, array))
            return
        if array != self._array(node.vector):
            a.lw(into, self._pointer(vertex, array))
            return
        racing, earlier = self._racing(node), a.reg("earlier")
        a.sltu(earlier, racing, stamp)
        a.addi(earlier, earlier, -1)
        a.or_(into, racing, earlier)

    # Values

    def value(self, node, into=None) -> Any:
        """The register with the value of an expression, to be read only. An operation may use the
        register ``into`` for its result."""
        match node:
            case ir.Literal():
                return self._k.constant(literal_word(node, self._bits))
            case ir.Uniform():
                return self._uniform(node)
            case ir.Local():
                value = self._names[node.name]
                if not isinstance(value, Vertex):
                    return value
                if self._addresses is not None:
                    return self._pointer(value, self._addresses)
                return self._k.original(value)
            case ir.VectorLoad():
                return self._load(node)
            case ir.Binary() if node in self._known:
                return self._known[node]
            case ir.Degree():
                word = self._a.reg("degree")
                self._a.lw(word, self._pointer(self._vertex(node.vertex), degrees(node.leaving)))
                return word
            case ir.Unary():
                return self._unary(node)
            case ir.Select():
                return self._select(node)
            case ir.Binary(operation="and" | "or"):
                return self._logic(node)
            case ir.Binary(operation="==" | "!=") if self._asks_stamp(node):
                return self._has_stamp(node, into)
            case ir.Binary(operation="==" | "!=" | "<=" | ">") if self._is_racing(node.left) \
                    and node.right in self._earlier:
                # A stamp of this superstep is another word, as the word before it was.
                if node.operation == "<=" and self._earlier[node.right] == 1:
                    into = into or self._a.reg("result")
                    self._a.sltu(into, self._racing(node.left), self._stamped[node.left.vector])
                    return into
                return self._binary(node, self._racing(node.left), self.value(node.right), into)
        return self._binary(node, self.value(node.left), self.value(node.right), into)

    def _asks_stamp(self, node):
        """Whether a comparison asks if a word had no stamp at the start."""
        return (self._is_racing(node.left) and isinstance(node.right, ir.Literal)
                and node.right.value == WORD - 1)

    def _is_racing(self, node):
        return (isinstance(node, ir.VectorLoad) and node.vector in self._stamped
                and node not in self._known)

    def _racing(self, load):
        """The word of now of a stamped vector."""
        racing = self._raw.get(load)
        if racing is None:
            racing = self._a.reg("racing")
            self.load(load, self._vertex(load.index), racing)
        return racing

    def _has_stamp(self, node, into):
        load, into = node.left, into or self._a.reg("has_stamp")
        before = next((value for value, less in self._earlier.items() if less == 1), None)
        if node.operation == "==" and before is not None:
            self._a.sltu(into, self._uniform(before), self._racing(load))
            return into
        self._a.sltu(into, self._racing(load), self._stamped[load.vector])
        if node.operation == "==":
            self._a.xori(into, into, 1)
        return into

    def _unary(self, node):
        a, word = self._a, self.value(node.operand)
        if node.operation in ("uint", "vertex"):
            return word
        into = a.reg("result")
        match node.operation:
            case "not":
                a.xori(into, word, 1)
            case "~":
                a.xori(into, word, -1)
            case _:
                self._reciprocal(into, word)
        return into

    def _reciprocal(self, into, word):
        """``into`` = 2**32 // word, at most all ones; 0 if the word is 0.

        The quotient of all ones is too small by 1 if the word divides 2**32. Then the next number
        times the word is 2**32, whose lower word is 0. So it is for the word 0, whose quotient of
        all ones becomes 0, and for the word 1, which keeps all ones.
        """
        a, k = self._a, self._k
        exact = a.reg("exact")
        a.divu(into, k.full, word)
        a.addi(exact, into, 1)
        a.mul(exact, exact, word)
        a.seqz(exact, exact)
        a.add(into, into, exact)
        a.seqz(exact, into)                 # the words 0 and 1
        a.and_(exact, exact, word)
        a.sub(into, into, exact)

    def _guarded(self, node, mask):
        """The value of a side that counts only where the mask is all ones."""
        before, self._guard = self._guard, mask
        if before is not None:
            self._guard = self._a.reg("guard")
            self._a.and_(self._guard, before, mask)
        value = self.value(node)
        self._guard = before
        return value

    def _select(self, node):
        a = self._a
        mask, other, into = a.regs("chosen", "not_chosen", "selected")
        a.neg(mask, self.value(node.condition))
        a.xori(other, mask, -1)
        then = self._guarded(node.then, mask)
        self._k.select(into, mask, then, self._guarded(node.otherwise, other))
        return into

    def _logic(self, node):
        a = self._a
        left = self.value(node.left)
        mask, into = a.regs("decides", node.operation)
        if node.operation == "and":
            a.neg(mask, left)
            a.and_(into, left, self._guarded(node.right, mask))
        else:
            a.addi(mask, left, -1)
            a.or_(into, left, self._guarded(node.right, mask))
        return into

    def _binary(self, node, left, right, into=None):
        a, into = self._a, into or self._a.reg("result")
        saturates = node.type is Type.UINT or node.operation == "times"
        match node.operation:
            case "+":
                a.add(into, left, right)
                if saturates:
                    passed = a.reg("passed")
                    a.sltu(passed, into, left)
                    a.neg(passed, passed)
                    a.or_(into, into, passed)
            case "-":
                a.sub(into, left, right)
            case "*" if Type.FRACTION in (node.left.type, node.right.type):
                a.mulhu(into, left, right)
            case "*" | "times":
                a.mul(into, left, right)
                if saturates:
                    upper = a.reg("upper")
                    a.mulhu(upper, left, right)
                    a.snez(upper, upper)
                    a.neg(upper, upper)
                    a.or_(into, into, upper)
            case "min":
                self._k.minimum(into, left, right)
                if node.left in self._known and node.right in self._known:
                    self._least[left, right] = into
            case "max" if (left, right) in self._least:
                a.xor(into, left, right)
                a.xor(into, into, self._least[left, right])
            case "max":
                self._k.maximum(into, left, right)
            case "==" | "!=":
                a.xor(into, left, right)
                (a.seqz if node.operation == "==" else a.snez)(into, into)
            case "<" | ">":
                a.sltu(into, *((left, right) if node.operation == "<" else (right, left)))
            case "<=" | ">=":
                a.sltu(into, *((right, left) if node.operation == "<=" else (left, right)))
                a.xori(into, into, 1)
            case _:
                {"/": a.divu, "//": a.divu, "%": a.remu, "<<": a.sll, ">>": a.srl, "&": a.and_,
                 "|": a.or_, "^": a.xor}[node.operation](into, left, right)
        return into
