"""An operator for each thing that an operator may ask of a schedule, and when.

A probe goes through the edges of a graph once. Programs with sets are in
:mod:`tb.sw.compile.probe_texts`. What a probe asks for:

*Its test* reads any of a word of the destination, a word of the source, the word that the source
sends, and the weight (:data:`NEEDS`).

*Its form* says where it works:

=========  =======================================================================================
sum        at the destination, a sum over the edges: by atomics, or in one register of the lane
           that owns the vertex (begin, edge, merge, finish), or in local memory
two        likewise, two sums of which one counts the edges: two registers, no local memory
source     at the source, a sum and a count over the edges
any        at the destination, a word that any edge sets: the first edge that counts suffices
first      at the destination, the smallest source: the first edge of an ascending row suffices
least      at the destination, the least word that was sent, or the least source: an edge may be
           dropped behind a better one
=========  =======================================================================================

Sums are of products of words of 32 bits, so an edge that is missing, comes twice or has another end
changes them. The model is numpy's, over all edges at once.
"""

import dataclasses

import numpy as np

from sw.compile.algorithm import Algorithm, SentWord
from sw.compile.kernels.kernel import Vertex


__all__ = ["FORMS", "NEEDS", "Probe", "Wanted"]


#: What the test of an edge may read.
NEEDS = "dst", "src", "sent", "weight"

FORMS = "sum", "two", "source", "any", "first", "least"

#: Vertex arrays: the word that is sent; the flags that tests and the base filter read.
_SENT, _FLAGS = "sent", "flags"

#: Bits of the flags: what the test of a destination, of a source and of a base vertex reads.
_DST, _SRC, _BASE = 1, 2, 4

_NONE = (1 << 32) - 1


def _source_word(k, edge, array, into):
    """A register with the word of an edge's source in ``array``; ``into()`` gives one, if the word
    was not gathered before."""
    if edge.value is not None:
        return edge.value
    source = edge.neighbor if k.direction == "pull" else edge.base
    into = into()
    k.a.lw(into, k.pointer(source, array, into))
    return into


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What a probe asks for."""
    form: str  #: One of :data:`FORMS`.
    tests: frozenset[str] = frozenset()  #: What its test reads.
    weighted: bool = False
    filtered: bool = False  #: Whether base vertices are filtered by a word of their own.
    numbered: bool = False  #: Whether schedules hand out bases by number.

    @property
    def sends(self) -> bool:
        """Whether the word that is sent, plus the weight, is all that it needs of the source."""
        return self.form in ("sum", "two", "least") and not self.tests & {"src", "weight"} \
            and ("sent" in self.tests or self.form == "least" or not self.tests)

    @property
    def name(self) -> str:
        """All of it, without spaces."""
        flags = [name for name in ("weighted", "filtered", "numbered")
                 if getattr(self, name)]
        return "-".join(["probe", self.form, *sorted(self.tests), *flags])


class Probe(Algorithm):
    """One run. Make a class for what is wanted by :meth:`of`.

    Attributes
    ----------
    wanted : Wanted
    direction : str
        Of the plan; the model needs it for the base filter.
    """
    directions = ("pull", "push")
    wanted: Wanted
    direction: str

    @classmethod
    def of(cls, wanted, direction):
        """The class of an algorithm."""
        form, sends = wanted.form, wanted.sends
        return type("Wanted", (cls,), {
            "name": wanted.name, "wanted": wanted, "direction": direction,
            "weighted": wanted.weighted, "sends_early": sends,
            "sent": SentWord(value=sends, fits=True, late=wanted.tests <= {"dst"}, drops=(
                form == "least" and wanted.tests <= {"dst"} and (sends or not wanted.weighted))),
            "identity": 0 if form == "sum" else None,
            "void_edge": "self" if wanted.weighted and not sends and (
                "weight" in wanted.tests or form == "sum") else "padding"})

    # Words

    def _words(self):
        """The words that vertices send, and their flags."""
        numbers = np.arange(self.graph.num_vertices, dtype=np.uint32)
        sent = (numbers * np.uint32(2654435761) >> np.uint32(7)) | np.uint32(1 << 24)
        return sent, numbers * np.uint32(40503) >> np.uint32(9) & np.uint32(7)

    def base_array(self, task):
        return _SENT

    @property
    def _results(self):
        """The arrays of results, with the words at the start."""
        return {"sum": {"total": 0}, "two": {"total": 0, "count": 0},
                "source": {"total": 0, "count": 0}, "any": {"hit": 0}, "first": {"least": _NONE},
                "least": {"least": _NONE}}[self.wanted.form]

    def reserve(self, task):
        for name in (_SENT, _FLAGS, *self._results):
            task.buffers.reserve(name, task.vertex_words)

    def init_vertex_value(self, task):
        for name, words in zip((_SENT, _FLAGS), self._words()):
            task.buffers.fill(name, task.vertices.to_device(words))
        for name, word in self._results.items():
            task.buffers.fill(name, rest=word)

    # The filter of base vertices

    def filters(self, task):
        return self.wanted.filtered

    def filter_data(self, k, base, into):
        k.a.lw(into, k.pointer(base, _FLAGS, into))

    def filter(self, k, base, data, into):
        k.a.andi(into, data, _BASE)
        k.a.snez(into, into)

    # What the schedule is told

    def first_only(self, k):
        if k.direction != "pull":
            return False
        ordered = k.layout.ascending and (k.task.schedule.owns_base or not k.layout.virtual)
        return self.wanted.form == "any" or (self.wanted.form == "first" and ordered)

    def _voids(self, task):
        """Whether the test has to tell places without edges."""
        return any(layout.voids and self.void_edge == "padding" for layout in task.layouts)

    def selective(self, task):
        return bool(self.wanted.tests) or self._voids(task) or self.wanted.form in ("any", "first")

    @property
    def _gathered_at(self):
        """The end of an edge at which it works: "src" or "dst"."""
        return "src" if self.wanted.form == "source" else "dst"

    def private(self, task):
        at_base = (self._gathered_at == "src") == (task.direction == "push")
        collects = (self.wanted.form in ("sum", "two", "source") and at_base
                    and (task.schedule.owns_base or task.owns_vertex))
        return dict.fromkeys(self._results, "+") if collects else {}

    # Kernels

    def kernels(self, task):
        return {"gather": ("gather", None)}

    def prepare(self, k):
        self._end = k.constant(k.address(_SENT) + 4 * self.graph.num_vertices, "end")
        self._own = None
        if k.task.schedule.owns_base:
            self._own = k.a.reg("own_flags")

    def token(self, k, base):
        if not self.wanted.numbered:
            return base
        return Vertex(k.number(base, k.a.reg("number")), None)

    def begin(self, k, base):
        if self._own is not None:
            k.a.lw(self._own, k.pointer(base, _FLAGS, self._own))
        k.private.clear()

    def _ends(self, k, edge):
        ends = {"src": edge.base, "dst": edge.neighbor}
        return ends if k.direction == "push" else dict(zip(("dst", "src"), ends.values()))

    def gather(self, k, edges):
        found = []
        for index, edge in enumerate(edges):
            word = None
            if self.wanted.sends:
                word = _source_word(k, edge, _SENT, lambda i=index: k.a.reg(f"word{i}"))
                if edge.weight is not None:
                    k.add_word(edge.weight, word, True)
                    word = edge.weight
            passes = self._test(k, edge, word, index) if self.selective(k.task) else None
            if k.direction == "pull" and self.wanted.form in ("sum", "two"):
                # It may be merged without the edge (Operator.collect_at).
                word = self._product(k, edge, word, k.a.reg(f"product{index}"))
            found.append((passes, word))
        return found

    def _test(self, k, edge, word, index):
        """A register: 1 if an edge counts, else 0."""
        a, passes, tests = k.a, k.a.reg(f"passes{index}"), self.wanted.tests
        a.li(passes, 1)
        if self._voids(k.task):
            a.sltu(passes, edge.neighbor.reg, self._end)
        for name, vertex in self._ends(k, edge).items():
            if name in tests:
                flags = a.reg("flags")
                if vertex is edge.base and self._own is not None:
                    a.mv(flags, self._own)
                else:
                    a.lw(flags, k.pointer(vertex, _FLAGS, flags))
                a.andi(flags, flags, {"src": _SRC, "dst": _DST}[name])
                a.snez(flags, flags)
                a.and_(passes, passes, flags)
        if "sent" in tests:
            bit = a.reg("bit")
            if word is None:
                word = _source_word(k, edge, _SENT, lambda: k.a.reg("sent"))
            a.srli(bit, word, 2)
            a.andi(bit, bit, 1)
            a.and_(passes, passes, bit)
        if "weight" in tests:
            bit = a.reg("bit")
            a.andi(bit, edge.weight, 1)
            a.and_(passes, passes, bit)
        return passes

    def accepts(self, k, data, into, counts=True):
        passes, _ = data
        if counts:
            k.a.mv(into, passes)
        else:
            k.a.xori(into, passes, 1)

    def _product(self, k, edge, word, into):
        """``into`` = what an edge adds: a product of what it is sent, and of its source."""
        a = k.a
        if self.wanted.sends:
            a.mul(into, word, word)
            return into
        source = self._ends(k, edge)["src"]
        number = k.original(source)
        sent = _source_word(k, edge, _SENT, lambda: k.a.reg("sent"))
        a.addi(into, number, 3)
        a.mul(into, into, sent)
        if edge.weight is not None:
            a.mul(into, into, edge.weight)
        return into

    def sum(self, k, edge, data, predicate):
        passes, word = (None, None) if data is None else data
        k.edge_phase(5)
        target = self._ends(k, edge)[self._gathered_at]
        getattr(self, f"_sum_{self.wanted.form}")(k, edge, word, target)

    def _take(self, k, target, name, word):
        """Add a word at the target, in a register or by an atomic."""
        if k.private.words:
            k.private.take(name, word)
        else:
            pointer = k.a.reg("pointer")
            k.a.amoadd_w(k.a.zero, word, k.pointer(target, name, pointer))

    def _sum_sum(self, k, edge, word, target):
        if k.direction == "push":
            word = self._product(k, edge, word, k.a.reg("product"))
        self._take(k, target, "total", word)

    def _sum_two(self, k, edge, word, target):
        self._sum_sum(k, edge, word, target)
        self._take(k, target, "count", k.constant(1, "one"))

    def _sum_source(self, k, edge, word, target):
        a = k.a
        product, other = a.reg("product"), self._ends(k, edge)["dst"]
        a.addi(product, k.original(other), 3)
        if edge.weight is not None:
            a.mul(product, product, edge.weight)
        self._take(k, target, "total", product)
        self._take(k, target, "count", k.constant(1, "one"))

    def _sum_any(self, k, edge, word, target):
        pointer = k.a.reg("pointer")
        k.a.sw(k.constant(1, "one"), k.pointer(target, "hit", pointer))

    def _sum_first(self, k, edge, word, target):
        pointer = k.a.reg("pointer")
        number = k.original(self._ends(k, edge)["src"])
        k.a.amominu_w(k.a.zero, number, k.pointer(target, "least", pointer))

    def _sum_least(self, k, edge, word, target):
        if not self.wanted.sends:
            self._sum_first(k, edge, word, target)
            return
        pointer = k.a.reg("pointer")
        k.a.amominu_w(k.a.zero, word, k.pointer(target, "least", pointer))

    def collect_at(self, k, data, address):
        k.a.amoadd_w(k.a.zero, data[1], address)

    def finish(self, k, base):
        """Store the sums: without an atomic if the lane surely has a vertex, and all its edges."""
        a = k.a
        for name, word in k.private.words.items():
            pointer = k.pointer(base, name, a.reg("pointer"))
            if k.task.owns_vertex and not self.filters(k.task):
                a.sw(word, pointer)
            else:
                a.amoadd_w(a.zero, word, pointer)

    # Host

    def drive(self, session):
        session.launch("gather", 0)
        return 1

    def outputs(self, session):
        return {name: session.read_vertices(name) for name in self._results}

    def golden(self):
        graph, wanted = self.graph, self.wanted
        sent, flags = self._words()
        src, dst = np.asarray(graph.src, np.int64), np.asarray(graph.dst, np.int64)
        weights = np.ones(len(src), np.uint32) if graph.weights is None or not wanted.weighted \
            else graph.weights.astype(np.uint32)
        word = sent[src] + (weights if wanted.weighted and wanted.sends else np.uint32(0))
        counts = np.ones(len(src), bool)
        for name, holds in (("dst", flags[dst] & _DST), ("src", flags[src] & _SRC),
                            ("sent", word >> 2 & 1), ("weight", weights & 1)):
            if name in wanted.tests:
                counts &= holds.astype(bool)
        if wanted.filtered:
            counts &= (flags[src if self.direction == "push" else dst] & _BASE).astype(bool)
        return self._model(src, dst, counts.astype(np.uint32), word, weights)

    def _model(self, src, dst, times, word, weights):
        """The results: each edge is worked on so many times."""
        form, count = self.wanted.form, self.graph.num_vertices
        if form in ("any", "first", "least"):
            name, start = next(iter(self._results.items()))
            found, taken = np.full(count, start, np.uint32), times > 0
            if form == "any":
                found[dst[taken]] = 1
            else:
                what = word if self.wanted.sends else src.astype(np.uint32)
                np.minimum.at(found, dst[taken], what[taken])
            return {name: found}
        at = src if form == "source" else dst
        if self.wanted.sends:
            product = word * word
        else:
            other = dst if form == "source" else src
            product = (other.astype(np.uint32) + np.uint32(3)) * weights
            if form != "source":
                product *= word
        found = {name: np.zeros(count, np.uint32) for name in self._results}
        np.add.at(found["total"], at, product * times)
        if "count" in found:
            np.add.at(found["count"], at, times)
        return found

    def parameters(self):
        return {}
