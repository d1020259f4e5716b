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
from sw.graph.compress import expand, in_blocks
from sw.lang import graph_ir as ir
from sw.lang.choices import DeduplicationForm, LoadBalance, SetForm, Traversal, least_vertices
from sw.lang.passes import CHOSEN, analysed
from sw.lang.types import LanguageError
from sw.vm.c_code import literal_words
from sw.vm.choices import check_choices, parts
from sw.vm.cpu.kernels import Kernels
from sw.vm.cpu.library import check_signals, compiled, runtime
from sw.vm.host import Machine, endless, perform
from sw.vm.loop_code import AGAIN, ENDLESS, FAULT, LoopValues


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


class _Rows(ctypes.Structure):
    """Compressed rows in C."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("offsets", "neighbors", "weights")]


class _EdgeOperator(ctypes.Structure):
    """``EdgeOperator`` of ``runtime.cpp``."""

    _fields_ = [*((name, ctypes.c_void_p) for name in ("push", "pull", "filter", "push_copies",
                                                       "pull_copies")),
                *((name, ctypes.c_int32) for name in ("transposed", "direction", "owned", "exits",
                                                      "result", "by_vertices", "any_order")),
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


def _numbers(values):
    return (ctypes.c_int32 * len(values))(*values)


def _check(program):
    """Refuse the choices of a program that the machine does not honour."""
    check_choices(program, "cpu", _HONOURED)
    for node in ir.instructions(program.body):
        if isinstance(node, ir.EdgeSetIterator) and node.metadata.get("edge_blocking") \
                and node.metadata.get("direction") == Traversal.PULL:
            raise LanguageError(node.position, "the GraphVM cpu has EdgeBlocking for push only, "
                                               "where blocks are of destinations")


class CpuMachine(Machine):
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
        self._kernels = Kernels(program)
        self._library = compiled(self._kernels.text, optimize)
        self._runtime = runtime()
        self._names = [vector.name for vector in program.vectors]
        self._arrays = {name: np.zeros(graph.num_vertices, np.uint32) for name in self._names}
        self._bits, self._literals = 0, np.zeros(0, np.uint64)
        self._kept = []         # arrays that C points to
        self._operators = {position: self._operator(arcs)
                           for position, arcs in self._kernels.arcs.items()}
        self._functions = {
            key: (self._symbol(kernel), uniforms)
            for key, (kernel, uniforms) in self._kernels.functions.items()}
        self._loops = {position: (loop, self._symbol(loop.name))
                       for position, loop in self._kernels.loops.items()}
        self._all_operators = (ctypes.c_void_p * len(self._operators))(
            *(ctypes.addressof(operator) for operator, _ in self._operators.values()))
        copies = {i for arcs in self._kernels.arcs.values()
                  for numbers in (*arcs.push_copies, *arcs.pull_copies) for i in numbers}
        copies |= {i for node in self._kernels.vertex_operators
                   for i in map(self._names.index, node.metadata["start_copies"])}
        self._vertex_copies = {
            node.position: _numbers([*map(self._names.index, node.metadata["start_copies"])])
            for node in self._kernels.vertex_operators}
        spare = {i: np.zeros(graph.num_vertices, np.uint32) for i in copies}
        self._kept.append(spare)
        vectors = self._pointers(self._arrays.values())
        others = self._pointers(spare.get(i) for i in range(len(self._names)))
        self._machine = self._runtime.machine_new(
            threads, graph.num_vertices, graph.num_edges, ctypes.byref(self._rows(False)),
            ctypes.byref(self._rows(True)), len(self._names), vectors, others, grain)
        # A process that was forked has no such threads, so it does not end them when it ends.
        weakref.finalize(self, self._runtime.machine_free, self._machine).atexit = False

    def _pointers(self, arrays):
        pointers = [_address(array) for array in arrays]
        self._kept.append((ctypes.c_void_p * len(pointers))(*pointers))
        return self._kept[-1]

    def _rows(self, reverse):
        rows = self._graph.csr(reverse)
        self._kept.append(rows)
        return _Rows(*map(_address, rows))

    def _symbol(self, name):
        return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value

    def _operator(self, arcs):
        first, *others = [self._scheduled(arcs, metadata) for metadata in parts(arcs.node)]
        if others:
            _, threshold, *_ = arcs.node.metadata["hybrid"]
            self._kept.append(others)
            first.other = ctypes.addressof(others[0])
            first.least = least_vertices(threshold, self._graph.num_vertices)
        return first, arcs.uniforms

    def _scheduled(self, arcs, metadata):
        """An operator with the choices of some metadata."""
        blocks = self._blocks(arcs.node, metadata["blocking_size"]) \
            if metadata.get("edge_blocking") else None
        return _EdgeOperator(
            push=self._symbol(arcs.push), pull=self._symbol(arcs.pull),
            filter=self._symbol(arcs.filter) if arcs.filter else None,
            push_copies=self._copies(*arcs.push_copies),
            pull_copies=self._copies(*arcs.pull_copies), transposed=arcs.node.transposed,
            direction=_DIRECTIONS[metadata.get("direction")], owned=arcs.owned,
            exits=arcs.exits, result=arcs.result,
            by_vertices=metadata.get("load_balance") == LoadBalance.VERTEX_BASED, blocks=blocks,
            any_order=arcs.node.metadata.get("any_order", False))

    def _copies(self, whole, sparse):
        """The address of the vectors that an operator copies."""
        numbers = _numbers(whole), _numbers(sparse)
        found = _Copies(*map(ctypes.addressof, numbers), len(whole), len(sparse))
        self._kept.append((numbers, found))
        return ctypes.addressof(found)

    def _blocks(self, node, size):
        """The address of the arcs in blocks of so many destinations."""
        offsets, neighbors, weights = self._graph.csr(node.transposed)
        owners, offsets, neighbors, weights = in_blocks(
            expand(offsets), neighbors, weights, self._graph.num_vertices, size)
        offsets = offsets.astype(np.uint64)
        count = -(-self._graph.num_vertices // size)
        rows = np.searchsorted(neighbors[offsets[:-1]] // np.uint32(size),
                               np.arange(count + 1)).astype(np.uint64)
        arrays = [owners, neighbors, weights, offsets, rows]
        found = _Blocks(*map(_address, arrays), count, size)
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
        self._literals = np.array(literal_words(self._kernels.literals, bits), np.uint64)
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
        if not len(vset):
            return other
        both = np.empty(len(vset) + len(other), np.uint32)
        count = self._runtime.machine_join(self._machine, _address(vset), len(vset),
                                           _address(other), len(other), _address(both))
        return both[:count]

    def split(self, vset, vector, threshold):
        vset = self._listed(vset)
        both = np.empty_like(vset)
        count = self._runtime.machine_split(_address(vset), len(vset),
                                            _address(self._arrays[vector]), threshold,
                                            _address(both))
        return both[:count], both[count:]

    def least(self, vset, vector):
        vset = self._listed(vset)
        return self._runtime.machine_least(_address(vset), len(vset),
                                           _address(self._arrays[vector]))

    def _listed(self, vset):
        return np.arange(self._graph.num_vertices, dtype=np.uint32) if vset is None else vset

    # Operators

    @staticmethod
    def _words(uniforms, words):
        return (ctypes.c_uint32 * len(uniforms))(*[words[node] for node in uniforms])

    def _fail(self):
        """Raise the error that an operator found."""
        error = self._runtime.machine_error(self._machine)
        fault = self._kernels.faults[error >> 32]
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
        operator, wanted = self._operators[node.position]
        count = self._runtime.machine_edges(
            self._machine, ctypes.byref(operator), _address(vset), self.size(vset),
            self._words(wanted, uniforms))
        if operator.result:
            return self._found(count)
        if count < 0:
            self._fail()
        return None

    def _vertices(self, name, use, vset, uniforms, copies=()):
        kernel, wanted = self._functions[name, use]
        return self._runtime.machine_vertices(
            self._machine, kernel, copies or None, len(copies), _address(vset), self.size(vset),
            self._words(wanted, uniforms))

    def vertices(self, node, vset, uniforms):
        copies = self._vertex_copies[node.position]
        if self._vertices(node.apply_f, "apply", vset, uniforms, copies) < 0:
            self._fail()

    def where(self, node, vset, uniforms):
        return self._found(self._vertices(node.filter, "where", vset, uniforms))

    def loop(self, node, values, queues, evaluate, word):
        if node.position not in self._loops:
            return None
        loop, function = self._loops[node.position]
        given = LoopValues.of(loop, values, evaluate, word)
        if given is None:
            return None
        sets = [values.get(name, _NOBODY) for name in loop.sets]
        for i, vset in enumerate(sets):
            self._runtime.machine_put(self._machine, i, _address(vset), self.size(vset))
        state = (ctypes.c_int64 * len(given.numbers))(*given.numbers)
        waiting = (_Waiting * len(loop.queues))(*(
            (self._names.index(queues[name].vector), queues[name].delta or 0,
             queues[name].threshold) for name in loop.queues))
        count = ctypes.c_uint64()
        result = AGAIN
        while result == AGAIN:
            result = self._runtime.machine_loop(
                self._machine, function, self._all_operators, state,
                (ctypes.c_int64 * len(given.constants))(*given.constants),
                (ctypes.c_uint32 * len(given.words))(*given.words), waiting,
                ctypes.byref(count), check_signals)
        if result == ENDLESS:
            raise endless(node.position)
        if result == FAULT:
            self._fail()
        loop.keep(values, state)
        for name, each in zip(loop.queues, waiting, strict=True):
            queues[name].threshold = each.threshold
        for i, name in enumerate(loop.sets):
            if name in loop.changed:
                values[name] = self._taken(i)
        if result > 0:
            word(loop.checked[result - 1])
        return count.value

    def settle(self, node):
        if self._runtime.machine_settle(self._machine):
            self._fail()

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

    def total(self, node, vset, uniforms):
        kernel, wanted = self._functions[node.function, "total"]
        total = ctypes.c_uint64()
        if self._runtime.machine_total(
                self._machine, kernel, _address(vset), self.size(vset),
                self._words(wanted, uniforms), ctypes.byref(total)):
            self._fail()
        return total.value
