"""The machine of the GraphVM ``cuda``: memory of the GPU, sets of vertices, and calls of kernels.

A set is a queue of distinct vertices in memory of the GPU, in no order. Memory for vertices, one
word for each vertex of the graph, is reserved once and used again by later sets.
"""

import contextlib
import ctypes
import time
import weakref
from typing import Any

import numpy as np

from sim.errors import ToolError
from sw.errors import UserError
from sw.lang import graph_ir as ir
from sw.vm.cuda import nvcc
from sw.vm.cuda.text import DIRECTIONS, check_variant, generate
from sw.vm.host import Machine


__all__ = ["CudaMachine"]


_WORD_BYTES = 4

#: An operator without a choice pulls if more than one of so many arcs leave its input.
_PULL_SHARE = 16

#: The largest word; after the largest stamp, stamps begin again.
_LAST = (1 << 32) - 1


class _Status(ctypes.Structure):
    """``Status`` of runtime.cuh."""
    _fields_ = [("fault", ctypes.c_uint64), ("total", ctypes.c_uint64),
                ("count", ctypes.c_uint32), ("rest", ctypes.c_uint32),
                ("most", ctypes.c_uint32), ("unused", ctypes.c_uint32)]


class _Rows(ctypes.Structure):
    """``Rows`` of runtime.cuh."""
    _fields_ = [(name, ctypes.c_void_p) for name in ("offsets", "neighbors", "weights", "owners")]


def _call_type(generated) -> Any:
    """``Call`` of runtime.cuh, for the vectors, uniforms and literals of a program."""
    vectors, literals, uniforms = (max(len(values), 1) for values in (
        generated.vectors, generated.literals, generated.uniforms))
    fields = [("leaving", _Rows), ("entering", _Rows),
              ("now", ctypes.c_void_p * vectors), ("start", ctypes.c_void_p * vectors),
              *((name, ctypes.c_void_p)
                for name in ("queue", "bitmap", "stamps", "output", "status")),
              ("literals", ctypes.c_uint64 * literals),
              *((name, ctypes.c_uint32)
                for name in ("vertices", "edges", "count", "stamp", "weighs")),
              ("uniforms", ctypes.c_uint32 * uniforms)]
    return type("_Call", (ctypes.Structure,), {"_fields_": fields})


class _Library:
    """The functions of a compiled library. Raises ToolError if one of them fails."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._message = self._library.graphloom_message
        self._message.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        """Call a function that gives a cudaError_t."""
        code = getattr(self._library, name)(*arguments)
        if code:
            raise ToolError(f"CUDA: {self._message(code).decode()} ({name})")


class _Memory:
    """Memory of the GPU, and one status that the host can read."""

    def __init__(self, library):
        self.library, self._places, self._pinned = library, [], ctypes.c_void_p()
        library.call("graphloom_pin", ctypes.byref(self._pinned),
                     ctypes.c_uint64(ctypes.sizeof(_Status)))
        self.status = _Status.from_address(self._pinned.value or 0)

    def reserve(self, size):
        """The address of so many bytes."""
        place = ctypes.c_void_p()
        self.library.call("graphloom_reserve", ctypes.byref(place),
                          ctypes.c_uint64(max(size, 1)))
        self._places.append(place)
        return place.value

    def upload(self, array, dtype=np.uint32):
        """The address of a copy of an array."""
        array = np.ascontiguousarray(array, dtype=dtype)
        place = self.reserve(array.nbytes)
        self.write(place, array)
        return place

    def write(self, place, array):
        """Copy an array to an address."""
        self.library.call("graphloom_copy", ctypes.c_void_p(place),
                          array.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(array.nbytes))

    def read(self, place, count):
        """The words at an address, as uint32."""
        array = np.empty(count, np.uint32)
        self.library.call("graphloom_copy", array.ctypes.data_as(ctypes.c_void_p),
                          ctypes.c_void_p(place), ctypes.c_uint64(array.nbytes))
        return array

    def release(self):
        """Give all memory back."""
        with contextlib.suppress(ToolError):
            for place in self._places:
                self.library.call("graphloom_release", place)
            self.library.call("graphloom_unpin", self._pinned)


class _Queue:
    """A set: the place and the number of its vertices. The place is None for all vertices.

    ``arcs`` is the number of arcs that leave them; None if it is not known.
    """

    def __init__(self, place, count, free):
        self.place, self.count, self._free = place, count, free
        self.arcs: int | None = None

    def __del__(self):
        if self.place is not None:
            self._free.append(self.place)


def _variants(program, schedule, direction):
    """{(transposed, schedule, direction)} that the operators of edges may have. Raises UserError if
    one is not there."""
    found = set()
    for node in ir.instructions(program.body):
        if not isinstance(node, ir.EdgeSetIterator):
            continue
        for metadata in node.metadata.get("hybrid", (None, None, node.metadata))[2:]:
            if metadata.get("edge_blocking"):
                raise UserError(f"{node.position}: the GraphVM cuda has no EdgeBlocking")
            balance = schedule or metadata.get("load_balance") or "etwc"
            way = direction or metadata.get("direction")
            for each in (way,) if way else DIRECTIONS:
                check_variant(balance, each)
                found.add((node.transposed, balance, each))
    return found


class CudaMachine(Machine):
    """A GPU that runs a program on a graph.

    Parameters
    ----------
    program : GraphProgram
        After all passes (:func:`sw.lang.passes.analysed`).
    graph : Graph
    schedule : str, optional
        One of :data:`sw.vm.cuda.SCHEDULES`, for all operators of edges. If it is not given: the
        operator's ``load_balance``, or else ``etwc``.
    direction : str, optional
        ``"push"``: from the vertices of the input along their arcs. ``"pull"``: from all vertices
        back along theirs. If it is not given: the operator's ``direction``, or else pull if
        more than one of 16 arcs leave the input, and push if not.

    The operator's choices are those of its metadata, of ``hybrid`` those of the part that the size
    of the input decides. Choices about the form and the deduplication of sets have no effect.

    Attributes
    ----------
    seconds : float
        The time that the operators of the last run took, with their launches.

    Raises
    ------
    UserError
        If the schedule or the direction is unknown, an operator has a ``load_balance`` that is not
        there or ``edge_blocking``, no GPU answers, or nvcc refuses the program.
    ToolError
        If there is no nvcc, or CUDA reports an error, for example of memory.
    """

    def __init__(self, program, graph, schedule=None, direction=None):
        self._schedule, self._direction = schedule, direction
        self._variants = _variants(program, schedule, direction)
        generated = generate(program)
        absence = nvcc.gpu_absence()
        if absence is not None:
            raise UserError(absence)
        path = nvcc.library(generated.text, (nvcc.architecture(),),
                            f"program {program.name!r}")
        self._program, self._graph, self._generated = program, graph, generated
        self._library = _Library(path)
        self._memory = _Memory(self._library)
        weakref.finalize(self, self._memory.release)
        self._free: list[int] = []
        self._numbers = {name: i for i, name in enumerate(generated.vectors)}
        self._call = self._new_call()
        self._stamp, self.seconds = 0, 0.0

    def _new_call(self):
        """The call that all operators share, with the graph and memory for vectors."""
        graph, memory, generated = self._graph, self._memory, self._generated
        call = _call_type(generated)()
        call.vertices, call.edges = graph.num_vertices, graph.num_edges
        # Only a choice by the size of the input needs the arcs of sets.
        call.weighs = len({direction for *_, direction in self._variants}) > 1
        # Push goes through the arcs that leave, unless the operator turns them; pull the others.
        sides = {(direction == "push") == transposed for transposed, _, direction in self._variants}
        for reverse, rows in ((False, call.leaving), (True, call.entering)):
            degrees = graph.in_degrees if reverse else graph.out_degrees
            rows.offsets = memory.upload(np.concatenate([[0], np.cumsum(degrees)]))
            if reverse in sides:
                _, neighbors, weights = graph.csr(reverse)
                rows.neighbors = memory.upload(neighbors)
                if self._program.weighted and weights is not None:
                    rows.weights = memory.upload(weights)
                if any(schedule == "edge_only" for _, schedule, _ in self._variants):
                    rows.owners = memory.upload(np.repeat(
                        np.arange(graph.num_vertices, dtype=np.uint32), degrees))
        size = _WORD_BYTES * graph.num_vertices
        for name, i in self._numbers.items():
            call.now[i] = memory.reserve(size)
            if name in generated.copies:
                call.start[i] = memory.reserve(size)
        call.bitmap = memory.reserve((graph.num_vertices + 31) // 32 * _WORD_BYTES)
        call.stamps = memory.reserve(size)
        self._clear(call)
        call.status = memory.reserve(ctypes.sizeof(_Status))
        return call

    def _clear(self, call):
        self._library.call("graphloom_clear", ctypes.c_void_p(call.stamps),
                           ctypes.c_uint64(_WORD_BYTES * self._graph.num_vertices))

    def start(self, bits, arrays):
        self.seconds, self._bits = 0.0, bits
        for i, word in enumerate(self._generated.literal_words(bits)):
            self._call.literals[i] = word
        for name, words in arrays.items():
            self._memory.write(self._call.now[self._numbers[name]],
                               np.ascontiguousarray(words, dtype=np.uint32))

    # Sets

    def _new_place(self):
        """Memory for the vertices of a set."""
        if self._free:
            return self._free.pop()
        return self._memory.reserve(_WORD_BYTES * self._graph.num_vertices)

    def _queue(self, place, count):
        return _Queue(place, count, self._free)

    def make_set(self, vertices):
        if vertices is None:
            return self._queue(None, self._graph.num_vertices)
        array = np.unique(np.asarray(vertices, dtype=np.int64)).astype(np.uint32)
        if array.size and int(array[-1]) >= self._graph.num_vertices:
            raise UserError(f"a set of {int(array[-1])}: there is no such vertex; the graph has "
                            f"{self._graph.num_vertices}")
        found = self._queue(self._new_place(), len(array))
        self._memory.write(found.place, array)
        return found

    def size(self, vset):
        return vset.count

    def join(self, vset, other):
        if vset.place is None or not other.count:
            return vset
        if other.place is None or not vset.count:
            return other
        found = self._begin(vset, output=True)
        self._perform("graphloom_join", ctypes.c_void_p(other.place), other.count)
        return self._filled(found)

    def split(self, vset, vector, threshold):
        below, rest = self._begin(vset, output=True), self._queue(self._new_place(), 0)
        self._perform("graphloom_split", self._numbers[vector], ctypes.c_uint64(threshold),
                      ctypes.c_void_p(rest.place))
        rest.count = self._memory.status.rest
        return self._filled(below), rest

    def least(self, vset, vector):
        self._begin(vset)
        self._perform("graphloom_least", self._numbers[vector])
        return _LAST - self._memory.status.most

    def _filled(self, queue):
        """The output of an operator, now that its size is known."""
        queue.count = self._memory.status.count
        if self._call.weighs:
            queue.arcs = self._memory.status.total
        return queue

    # Operators

    def _begin(self, vset, uniforms=None, output=False) -> Any:
        """Prepare a call for a set. Returns the set for its output, or None."""
        call = self._call
        call.queue, call.count = vset.place, vset.count
        for node, word in (uniforms or {}).items():
            call.uniforms[self._generated.uniforms[node]] = word
        if self._stamp == _LAST:
            self._clear(call)
            self._stamp = 0
        self._stamp += 1
        call.stamp = self._stamp
        found = self._queue(self._new_place(), 0) if output else None
        call.output = found.place if found is not None else None
        return found

    def _perform(self, name, *arguments):
        """Call an operator. Raises the error of the first site that failed."""
        status = self._memory.status
        self._timed(name, ctypes.byref(self._call), *arguments, ctypes.byref(status))
        if status.fault:
            # The complement of a number in the upper half, and its detail in the lower half.
            number, detail = _LAST - (status.fault >> 32), _LAST - (status.fault & _LAST)
            raise self._generated.faults[number].error(
                self._program, self._graph.num_vertices, self._bits, detail)

    def _timed(self, name, *arguments):
        begin = time.perf_counter()
        self._library.call(name, *arguments)
        self.seconds += time.perf_counter() - begin

    def chosen(self, node, vset) -> tuple[str, str]:
        """The schedule and the direction of an EdgeSetIterator whose input is this set."""
        metadata = node.metadata
        if "hybrid" in metadata:
            _, threshold, *parts = metadata["hybrid"]
            metadata = parts[vset.count >= threshold * self._graph.num_vertices]
        graph, arcs = self._graph, vset.arcs
        if arcs is None:
            arcs = vset.count * graph.num_edges // graph.num_vertices
        pulls = arcs * _PULL_SHARE > graph.num_edges
        return (self._schedule or metadata.get("load_balance") or "etwc",
                self._direction or metadata.get("direction") or ("pull" if pulls else "push"))

    def edges(self, node, vset, uniforms):
        found = self._begin(vset, uniforms, node.tracking is not None)
        schedule, direction = self.chosen(node, vset)
        self._perform(f"edges_{self._generated.edges[node.position]}_{schedule}_{direction}")
        return None if found is None else self._filled(found)

    def vertices(self, node, vset, uniforms):
        self._begin(vset, uniforms)
        self._perform(f"vertices_{self._generated.vertices[node.position]}")

    def where(self, name, vset, uniforms):
        found = self._begin(vset, uniforms, True)
        self._perform(f"where_{self._generated.functions[name]}")
        return self._filled(found)

    def total(self, name, vset, uniforms):
        self._begin(vset, uniforms)
        self._perform(f"total_{self._generated.functions[name]}")
        return self._memory.status.total

    def store(self, vector, vertex, word):
        self._memory.write(self._call.now[self._numbers[vector]] + _WORD_BYTES * vertex,
                           np.array([word], np.uint32))

    def read(self, vector):
        # Operators without a status may still run.
        self._timed("graphloom_wait", ctypes.byref(self._memory.status))
        return self._memory.read(self._call.now[self._numbers[vector]], self._graph.num_vertices)
