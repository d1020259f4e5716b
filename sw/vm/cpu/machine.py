"""The GraphVM ``cpu``: generated C++ on the threads of this computer.

A set is an array of vertices, in any order, or None for all vertices. An operator of edges either
*pushes*, from the arcs that leave the set, or *pulls*, along the arcs that enter a vertex. Push
reads only the arcs of the set and reduces with atomics; pull reads the arcs of all vertices that
the filter lets through, gives each vertex to one thread, and leaves a row as soon as no other arc
can change the vertex. With EdgeBlocking it pushes the arcs to one block of vertices after another.

The machine honours directions, two load balances, EdgeBlocking, hybrid schedules, and the
fusion of loops. A result is a list that is made while edges are processed, with a bit for each
vertex that is in it; other forms are refused.
"""

import ctypes
import os
import weakref

import numpy as np

from base.errors import UserError
from sw.graph.compress import rows_in_blocks
from sw.lang import graph_ir as ir
from sw.lang.choices import DeduplicationForm, LoadBalance, SetForm, Traversal, least_vertices
from sw.lang.facts import Deferred, known
from sw.lang.passes import CHOSEN, analysed
from sw.lang.types import LanguageError
from sw.vm.c_code import literal_words
from sw.vm.choices import check_choices, parts
from sw.vm.cpu.kernels import CpuCode
from sw.vm.cpu.library import check_signals, compiled, runtime
from sw.vm.host import perform
from sw.vm.loop_code import AGAIN, FAULT, LoopEnd, LoopMachine, Unmade


__all__ = ["CpuMachine", "run"]


#: Arcs, or vertices, that are worth a thread of their own.
_GRAIN = 4096

_MOST_THREADS = 1024

#: The empty set.
_NOBODY = np.zeros(0, np.uint32)

_DIRECTIONS = {None: 0, "push": 1, "pull": 2}

#: Load balances: threads take equally many vertices, or equally many edges.
_BALANCES = (LoadBalance.VERTEX_BASED, LoadBalance.EDGE_ONLY)

#: The choices of schedules that the machine honours, by the names of the metadata.
_HONOURED = {"load_balance": _BALANCES, "direction": tuple(Traversal),
             "pull_input_frontier": (SetForm.BITMAP,), "output_representation": (SetForm.SPARSE,),
             "apply_deduplication": (True,),
             "deduplication_strategy": (DeduplicationForm.BITMAP,)}


def run(program, graph, threads=None, bits=None, **given):
    """Run a program. Returns a :class:`~sw.vm.host.ProgramResult`.

    Parameters
    ----------
    program : GraphProgram
    graph : Graph
    threads : int, optional
        Threads to use; as many as this process has CPUs if not given.
    bits : int, optional
        Fraction bits of fixed point, if they are known.
    given : dict of str to number
        Parameters of the program.

    Raises
    ------
    UserError
        As :func:`~sw.vm.host.perform` does, or if ``threads`` is not from 1 to 1024.
    ToolError
        If there is no C++ compiler.
    """
    # The machine chooses the directions, so it wants no defaults.
    program = analysed(program, after=CHOSEN)
    return perform(program, graph, CpuMachine(program, graph, threads=threads), given, bits)


def _pull_share(facts):
    """An operator without a choice pulls if more than one of so many arcs and vertices of the graph
    leave its input, or are in it; if 0, never. Pull goes through all rows, but leaves many early if
    it may; it is slow where it needs atomics."""
    return (14 if facts.exits else 2) if facts.owned else 0


class _Rows(ctypes.Structure):
    """Compressed rows in C."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("offsets", "neighbors", "weights")]


class _EdgeOperator(ctypes.Structure):
    """``EdgeOperator`` of ``runtime.cpp``."""

    _fields_ = [*((name, ctypes.c_void_p) for name in ("push", "pull", "filter", "push_copies",
                                                       "pull_copies")),
                *((name, ctypes.c_int32) for name in ("transposed", "direction", "owned", "share",
                                                      "result", "by_vertices", "deferred")),
                ("blocks", ctypes.c_void_p), ("other", ctypes.c_void_p), ("least", ctypes.c_uint64)]


class _Copies(ctypes.Structure):
    """``Copies`` of ``runtime.cpp``."""

    _fields_ = [("whole", ctypes.c_void_p), ("sparse", ctypes.c_void_p),
                ("num_whole", ctypes.c_int32), ("num_sparse", ctypes.c_int32)]


class _Blocks(ctypes.Structure):
    """``Blocks`` of ``runtime.cpp``."""

    _fields_ = [*((name, ctypes.c_void_p) for name in ("owners", "neighbors", "weights", "offsets",
                                                       "rows")),
                ("count", ctypes.c_uint64), ("size", ctypes.c_uint64)]


class _Waiting(ctypes.Structure):
    """``Waiting`` of ``machine.h``."""

    _fields_ = [(name, ctypes.c_int64) for name in ("vector", "delta", "threshold")]


def _address(array):
    """Where an array lies; None for None."""
    return None if array is None else array.__array_interface__["data"][0]


def _check(program):
    """Refuse the choices of a program that the machine does not honour."""
    check_choices(program, "cpu", _HONOURED)
    for node in ir.instructions(program.body):
        if isinstance(node, ir.EdgeSetIterator) and node.metadata.get("edge_blocking") \
                and node.metadata.get("direction") == Traversal.PULL:
            raise LanguageError(node.position, "the GraphVM cpu has EdgeBlocking for push only, "
                                               "where blocks are of destinations")


class CpuMachine(LoopMachine):
    """A machine of threads. Results do not depend on their number.

    Parameters
    ----------
    program : GraphProgram
        After the passes up to :data:`sw.lang.passes.CHOSEN`. The choices of schedules are those of
        its metadata. The machine makes the choices that are not there.
    graph : Graph
    threads : int, optional
        As many as this process has CPUs if not given.
    grain : int
        Arcs or vertices that a thread takes at a time. Work of fewer is done by one thread.
    optimize : str
        The compiler's option for optimization.

    Raises
    ------
    UserError
        If the number of threads is wrong, or the machine does not honour a choice.
    """

    def __init__(self, program, graph, *, threads=None, grain=_GRAIN, optimize="-O2"):
        if threads is None:
            threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") \
                else os.cpu_count() or 1
        if not 1 <= threads <= _MOST_THREADS:
            raise UserError(f"threads is {threads}, must be from 1 to {_MOST_THREADS}")
        _check(program)
        self._program, self._graph = program, graph
        self._code = CpuCode(program)
        self._library = compiled(self._code.text, optimize)
        self._runtime = runtime()
        self._names = [vector.name for vector in program.vectors]
        self._arrays = {name: np.zeros(graph.num_vertices, np.uint32) for name in self._names}
        self._bits, self._literals = 0, np.zeros(0, np.uint64)
        self._uniforms = np.zeros(len(self._code.uniforms), np.uint32)
        self._spare: dict[str, np.ndarray] = {}     # memory for copies of vectors
        self._symbols: dict[str, int | None] = {}
        self._kept = []         # arrays that C points to
        nodes = {node.position: node for node in ir.instructions(program.body)}
        self._operators = [self._operator(nodes[position], number)
                           for position, number in self._code.edges.items()]
        self._vertex_copies = {position: self._copied(self._code.facts(nodes[position]).copied)
                               for position in self._code.vertices}
        self._all_operators = self._pointers(map(ctypes.addressof, self._operators))
        vectors = self._pointers(map(_address, self._arrays.values()))
        others = self._pointers(_address(self._spare.get(name)) for name in self._names)
        self._machine = self._runtime.machine_new(
            threads, graph.num_vertices, graph.num_edges, ctypes.byref(self._rows(False)),
            ctypes.byref(self._rows(True)), len(self._names), vectors, others, grain)
        # A process that was forked has no such threads, so it does not end them when it ends.
        weakref.finalize(self, self._runtime.machine_free, self._machine).atexit = False

    def _pointers(self, places):
        places = [*places]
        self._kept.append((ctypes.c_void_p * len(places))(*places))
        return self._kept[-1]

    def _rows(self, reverse):
        rows = self._graph.csr(reverse)
        self._kept.append(rows)
        return _Rows(*map(_address, rows))

    def _symbol(self, name):
        """The address of a function of the program."""
        if name not in self._symbols:
            self._symbols[name] = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        return self._symbols[name]

    def _operator(self, node, number):
        first, *others = [self._scheduled(node, number, metadata) for metadata in parts(node)]
        if others:
            _, threshold, *_ = node.metadata["hybrid"]
            self._kept.append(others)
            first.other = ctypes.addressof(others[0])
            first.least = least_vertices(threshold, self._graph.num_vertices)
        return first

    def _scheduled(self, node, number, metadata):
        """An operator with the choices of some metadata."""
        blocks = self._blocks(node, metadata["blocking_size"]) \
            if metadata.get("edge_blocking") else None
        push, pull = (self._code.facts(node, pull) for pull in (False, True))
        return _EdgeOperator(
            push=self._symbol(f"push{number}"), pull=self._symbol(f"pull{number}"),
            filter=self._symbol(f"filter{number}") if self._code.checks(number) else None,
            push_copies=self._copies(push), pull_copies=self._copies(pull),
            transposed=node.transposed, direction=_DIRECTIONS[metadata.get("direction")],
            owned=pull.owned, share=_pull_share(pull),
            result=0 if node.tracking is None else 1 if node.tracking in pull.gathered else 2,
            by_vertices=metadata.get("load_balance") == LoadBalance.VERTEX_BASED, blocks=blocks,
            deferred=known(node, Deferred) is not None)

    def _copied(self, names):
        """The numbers of vectors to copy, for which there is memory from now on."""
        for name in names:
            self._spare.setdefault(name, np.zeros(self._graph.num_vertices, np.uint32))
        return (ctypes.c_int32 * len(names))(*map(self._names.index, names))

    def _copies(self, facts):
        """The address of the vectors that an operator copies."""
        numbers = [self._copied([name for name in facts.copied
                                 if (name in facts.at_sources) == sparse])
                   for sparse in (False, True)]
        found = _Copies(*map(ctypes.addressof, numbers), *map(len, numbers))
        self._kept.append((numbers, found))
        return ctypes.addressof(found)

    def _blocks(self, node, size):
        """The address of the arcs in blocks of so many destinations."""
        owners, offsets, neighbors, weights, rows = rows_in_blocks(
            self._graph.csr(node.transposed), size)
        arrays = [owners, neighbors, weights, offsets.astype(np.uint64), rows.astype(np.uint64)]
        found = _Blocks(*map(_address, arrays), len(rows) - 1, size)
        self._kept.append((arrays, found))
        return ctypes.addressof(found)

    @property
    def pulled(self) -> bool:
        """Whether the last operator of edges pulled."""
        return bool(self._runtime.machine_pulled(self._machine))

    # A run

    def start(self, bits, arrays):
        self._bits = bits
        for name, words in arrays.items():
            self._arrays[name][:] = words
        self._literals = np.array(literal_words(self._code.literals, bits), np.uint64)
        self._runtime.machine_start(self._machine, _address(self._literals))

    def store(self, vector, vertex, word):
        self._arrays[vector][vertex] = word

    def read(self, vector):
        return self._arrays[vector].copy()

    # Sets

    def make_set(self, vertices):
        return None if vertices is None else np.unique(np.asarray(vertices, np.uint32))

    def size(self, vset):
        return self._graph.num_vertices if vset is None else len(vset)

    def join(self, vset, other):
        if vset is None or other is None:
            return None
        return np.union1d(vset, other) if len(vset) else other

    def split(self, vset, vector, threshold):
        vset, words = self._listed(vset), self._arrays[vector][self._listed(vset)]
        return vset[words < threshold], vset[words >= threshold]

    def least(self, vset, vector):
        return int(self._arrays[vector][self._listed(vset)].min())

    def _listed(self, vset):
        return np.arange(self._graph.num_vertices, dtype=np.uint32) if vset is None else vset

    # Operators

    def _words(self, uniforms):
        """Where the words of uniforms are."""
        for node, word in uniforms.items():
            self._uniforms[self._code.uniforms[node]] = word
        return _address(self._uniforms)

    def _fail(self):
        """Raise the error that an operator found."""
        error = self._runtime.machine_error(self._machine)
        fault = self._code.faults[error >> 32]
        raise fault.error(self._program, self._graph.num_vertices, self._bits,
                          error & 0xFFFF_FFFF)

    def _found(self, count):
        """The set that an operator found."""
        if count < 0:
            self._fail()
        found = np.empty(count, np.uint32)
        self._runtime.machine_take(self._machine, _address(found), count)
        return None if count == self._graph.num_vertices else found

    def edges(self, node, vset, uniforms):
        operator = self._operators[self._code.edges[node.position]]
        count = self._runtime.machine_edges(
            self._machine, ctypes.byref(operator), _address(vset), self.size(vset),
            self._words(uniforms))
        if operator.result:
            return self._found(count)
        if count < 0:
            self._fail()
        return None

    def _vertices(self, kernel, vset, uniforms, copies=()):
        return self._runtime.machine_vertices(
            self._machine, self._symbol(kernel), copies or None, len(copies), _address(vset),
            self.size(vset), self._words(uniforms))

    def vertices(self, node, vset, uniforms):
        kernel = f"apply{self._code.vertices[node.position]}"
        if self._vertices(kernel, vset, uniforms, self._vertex_copies[node.position]) < 0:
            self._fail()

    def where(self, node, vset, uniforms):
        return self._found(self._vertices(f"where{self._code.functions[node.filter]}", vset,
                                          uniforms))

    def total(self, node, vset, uniforms):
        kernel, total = f"total{self._code.functions[node.function]}", ctypes.c_uint64()
        if self._runtime.machine_total(
                self._machine, self._symbol(kernel), _address(vset), self.size(vset),
                self._words(uniforms), ctypes.byref(total)):
            self._fail()
        return total.value

    def settle(self, node):
        if self._runtime.machine_settle(self._machine):
            self._fail()

    # Loops

    @property
    def loops(self):
        return self._code.loops

    def run_loop(self, loop, given, sets, queues):
        for i, vset in enumerate(sets):
            vset = _NOBODY if isinstance(vset, Unmade) else vset
            self._runtime.machine_put(self._machine, i, _address(vset), self.size(vset))
        numbers = (ctypes.c_int64 * len(given.numbers))(*given.numbers)
        waiting = (_Waiting * len(queues))(*(
            (self._names.index(queue.vector), queue.delta or 0, queue.threshold)
            for queue in queues))
        count, result = ctypes.c_uint64(), AGAIN
        while result == AGAIN:
            result = self._runtime.machine_loop(
                self._machine, self._symbol(loop.name), self._all_operators, numbers,
                (ctypes.c_int64 * len(given.constants))(*given.constants),
                (ctypes.c_uint32 * len(given.words))(*given.words), waiting,
                ctypes.byref(count), check_signals)
        if result == FAULT:
            self._fail()
        return LoopEnd(result, count.value, [*numbers], [each.threshold for each in waiting],
                       [self._taken(i) for i, name in enumerate(loop.sets)
                        if name in loop.changed])

    def _taken(self, number):
        """A set of a fused loop."""
        count = ctypes.c_uint64()
        place = self._runtime.machine_get(self._machine, number, ctypes.byref(count))
        if place is None:
            return None
        if not count.value:
            return _NOBODY
        return np.ctypeslib.as_array(ctypes.cast(
            place, ctypes.POINTER(ctypes.c_uint32)), (count.value,)).copy()
