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

from base.errors import UserError
from sim.errors import ToolError
from sw.graph.compress import rows_in_blocks
from sw.lang import graph_ir as ir
from sw.lang.choices import least_vertices
from sw.vm.c_code import literal_words
from sw.vm.cuda import nvcc
from sw.vm.cuda.choices import check_program, choices
from sw.vm.cuda.loops import LoopWords
from sw.vm.cuda.text import PULL_SHARE, generate
from sw.vm.loop_code import AGAIN, FAULT, LoopEnd, LoopMachine, Unmade


__all__ = ["CudaMachine"]


_WORD_BYTES = 4

#: The largest word.
_LAST = (1 << 32) - 1

#: The largest stamp of a call; then stamps begin again. A fused loop may use as many again.
_LAST_STAMP = _LAST // 2

#: Most chunks of the schedule ``strict``, and bytes of ``Loop`` (runtime.cuh).
_CHUNKS, _LOOP_BYTES = 1024, 176

#: Names of runtime.cuh, by their numbers there.
_CREATIONS = ("FUSED", "BITMAP", "BOOLMAP")
_DEDUPLICATIONS = ("COUNTERS", "BITS", "BYTES", "NOTHING")


class _Status(ctypes.Structure):
    """``Status`` of runtime.cuh."""
    _fields_ = [*((name, ctypes.c_uint64) for name in ("fault", "total", "output", "rest")),
                ("most", ctypes.c_uint32), ("late", ctypes.c_uint32),
                ("buckets", ctypes.c_uint32 * 3), ("unused", ctypes.c_uint32)]


class _Asked(ctypes.Structure):
    """``Asked`` of runtime.cuh."""
    _fields_ = [(name, ctypes.c_uint64) for name in ("kernels", "transfers")]


class _Rows(ctypes.Structure):
    """``Rows`` of runtime.cuh."""
    _fields_ = [(name, ctypes.c_void_p) for name in ("offsets", "neighbors", "weights", "owners",
                                                     "vertices")]


class _Blocks(ctypes.Structure):
    """``Blocks`` of runtime.cuh."""
    _fields_ = [("rows", _Rows), *((name, ctypes.c_void_p) for name in (
        "rows_of", "arcs_of", "host_rows_of", "host_arcs_of")), ("count", ctypes.c_uint64)]


def _call_type(generated) -> Any:
    """``Call`` of runtime.cuh, for the vectors, uniforms and literals of a program."""
    vectors, literals, uniforms, blocks, operators = (max(len(values), 1) for values in (
        generated.vectors, generated.literals, generated.uniforms, generated.blocks,
        generated.edges))
    fields = [("leaving", _Rows), ("entering", _Rows), ("blocks", _Blocks * blocks),
              ("now", ctypes.c_void_p * vectors), ("start", ctypes.c_void_p * vectors),
              *((name, ctypes.c_void_p)
                for name in ("queue", "members", "marks", "stamps", "output", "rest", "buckets",
                             "sums", "lost", "wanted", "status")),
              ("threshold", ctypes.c_uint64), ("literals", ctypes.c_uint64 * literals),
              *((name, ctypes.c_uint32)
                for name in ("vertices", "edges", "count", "stamp", "arcs", "weighs", "creation",
                             "deduplication", "members_shift", "first", "number", "first_arc",
                             "last_arc")),
              ("uniforms", ctypes.c_uint32 * uniforms), ("least", ctypes.c_uint32 * operators)]
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


    def asked(self):
        """What this library has asked the GPU for until now."""
        found = _Asked()
        self._library.graphloom_asked(ctypes.byref(found))
        return found


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


class CudaMachine(LoopMachine):
    """A GPU that runs a program on a graph.

    Parameters
    ----------
    program : GraphProgram
        After the passes up to :data:`sw.lang.passes.CHOSEN`.
    graph : Graph
    schedule : str, optional
        One of :data:`sw.vm.cuda.SCHEDULES`, for all operators of edges. If it is not given: the
        operator's ``load_balance``, or else ``etwc``.
    direction : str, optional
        ``"push"``: from the vertices of the input along their arcs. ``"pull"``: from all vertices
        back along theirs. If it is not given: the operator's ``direction``, or else pull if
        more than one of 16 arcs leave the input, and push if not.
    variants : sequence of (str, str)
        Schedules and directions for which code is made too, so that machines with different
        choices share one library.

    The other choices are those of the operator's metadata, of ``hybrid`` those of the part that
    the size of the input decides. Loops with ``needs_fusion`` are one kernel.

    Attributes
    ----------
    seconds : float
        The time that the operators of the last run took, with their launches.
    preparation : float
        The time that the host took to cut the graph into blocks (EdgeBlocking).
    kernels, transfers : int
        Kernels, and copies and clears, that the operators of the last run asked the GPU for.

    Raises
    ------
    UserError
        If the schedule or the direction is unknown, a choice cannot be, no GPU answers, or nvcc
        refuses the program.
    ToolError
        If there is no nvcc, or CUDA reports an error, for example of memory.
    """

    def __init__(self, program, graph, schedule=None, direction=None, variants=()):
        check_program(program, schedule, direction)
        generated = generate(program, variants, schedule, direction)
        self._choices = {node.position: choices(node, schedule, direction)
                         for node in ir.instructions(program.body)
                         if isinstance(node, ir.EdgeSetIterator)}
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
        self._kept: list[Any] = []      # arrays to which C points
        self._numbers = {name: i for i, name in enumerate(generated.vectors)}
        self.seconds, self.preparation, self._stamp = 0.0, 0.0, 0
        self.kernels = self.transfers = 0
        self._call = self._new_call()
        self._loop, self._state = (self._memory.reserve(size) for size in (
            _LOOP_BYTES, 8 * max((LoopWords(each).size for each in generated.loops.values()),
                                 default=0)))

    @property
    def asked(self) -> int:
        """Kernels that machines with this library have asked the GPU for."""
        return self._library.asked().kernels

    def _new_call(self):
        """The call that all operators share, with the graph and memory for vectors."""
        graph, memory, generated = self._graph, self._memory, self._generated
        call = _call_type(generated)()
        call.vertices, call.edges = graph.num_vertices, graph.num_edges
        # Push goes through the arcs that leave, unless the operator turns them; pull the others.
        used = [(choice.schedule, (direction == "push") == node.transposed)
                for node in ir.instructions(self._program.body)
                if isinstance(node, ir.EdgeSetIterator)
                for choice in self._choices[node.position] if choice.size is None
                for direction in choice.directions]
        for reverse, rows in ((False, call.leaving), (True, call.entering)):
            degrees = graph.in_degrees if reverse else graph.out_degrees
            rows.offsets = memory.upload(np.concatenate([[0], np.cumsum(degrees)]))
            if any(side == reverse for _, side in used):
                _, neighbors, weights = graph.csr(reverse)
                rows.neighbors = memory.upload(neighbors)
                if self._program.weighted and weights is not None:
                    rows.weights = memory.upload(weights)
                if ("edge_only", reverse) in used:
                    rows.owners = memory.upload(np.repeat(
                        np.arange(graph.num_vertices, dtype=np.uint32), degrees))
        for (reverse, size), number in generated.blocks.items():
            self._cut(call.blocks[number], reverse, size)
        size = _WORD_BYTES * graph.num_vertices
        for name, i in self._numbers.items():
            call.now[i] = memory.reserve(size)
            if name in generated.copies:
                call.start[i] = memory.reserve(size)
        for name in ("members", "marks", "stamps"):
            setattr(call, name, memory.reserve(size + _WORD_BYTES))
            self._clear(getattr(call, name))
        # The arcs of sets decide directions, and how many threads `strict` has.
        call.weighs = any(choice.direction is None or choice.schedule == "strict"
                          for each in self._choices.values() for choice in each)
        for node in ir.instructions(self._program.body):
            if isinstance(node, ir.EdgeSetIterator) and "hybrid" in node.metadata:
                call.least[generated.edges[node.position]] = least_vertices(
                    node.metadata["hybrid"][1], graph.num_vertices)
        schedules = {choice.schedule for each in self._choices.values() for choice in each}
        if "twc" in schedules:
            call.buckets = memory.reserve(3 * size)
        if "strict" in schedules:
            call.sums = memory.reserve(size + _CHUNKS * _WORD_BYTES)
        if generated.loses:
            call.lost = memory.reserve(self._lost_bytes)
        if generated.checks:
            call.wanted = memory.reserve(size)
        call.status = memory.reserve(ctypes.sizeof(_Status))
        return call

    @property
    def _lost_bytes(self):
        """The bytes of the bits of vertices that lost a candidate, of all vectors."""
        return len(self._numbers) * _WORD_BYTES * (self._graph.num_vertices // 32 + 1)

    def _cut(self, blocks, reverse, size):
        """Fill in the rows of a graph in blocks of so many vertices."""
        memory, begin = self._memory, time.perf_counter()
        vertices, offsets, neighbors, weights, rows = rows_in_blocks(
            self._graph.csr(reverse), size)
        blocks.count = len(rows) - 1
        self.preparation += time.perf_counter() - begin
        for name, array in (("offsets", offsets), ("neighbors", neighbors), ("weights", weights),
                            ("vertices", vertices),
                            ("owners", np.repeat(vertices, np.diff(offsets)))):
            if array is not None and (name != "weights" or self._program.weighted):
                setattr(blocks.rows, name, memory.upload(array))
        for name, array in (("rows_of", rows), ("arcs_of", offsets[rows])):
            setattr(blocks, name, memory.upload(array))
            setattr(blocks, f"host_{name}", array.ctypes.data)
            self._kept.append(array)

    def _clear(self, place, size=None):
        """Make all bytes at an address 0: so many, or a word for each vertex."""
        if size is None:
            size = _WORD_BYTES * self._graph.num_vertices
        self._library.call("graphloom_clear", ctypes.c_void_p(place), ctypes.c_uint64(size))

    def start(self, bits, arrays):
        self.seconds, self._bits = 0.0, bits
        self.kernels = self.transfers = 0
        if self._generated.loses:
            self._clear(self._call.lost, self._lost_bytes)
        for i, word in enumerate(literal_words(self._generated.literals, bits)):
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
        self._call.threshold, self._call.rest = threshold, rest.place
        self._perform(f"split_{self._numbers[vector]}")
        return self._filled(below), self._filled(rest, self._memory.status.rest)

    def least(self, vset, vector):
        self._begin(vset)
        self._perform(f"lowest_{self._numbers[vector]}")
        return _LAST - self._memory.status.most

    def _filled(self, queue, size=None):
        """The output of an operator, now that its size is known: that of the status, or another."""
        size = self._memory.status.output if size is None else size
        queue.count = size & _LAST
        if self._call.weighs:
            queue.arcs = size >> 32
        return queue

    def _arcs(self, vset):
        """The arcs that leave a set, if they are not known by its share of the vertices."""
        if vset.arcs is not None:
            return vset.arcs
        return vset.count * self._graph.num_edges // self._graph.num_vertices

    # Operators

    def _begin(self, vset, uniforms=None, output=False) -> Any:
        """Prepare a call for a set. Returns the set for its output, or None."""
        call = self._call
        call.queue, call.count, call.arcs = vset.place, vset.count, self._arcs(vset)
        call.creation = call.deduplication = 0
        for node, word in (uniforms or {}).items():
            call.uniforms[self._generated.uniforms[node]] = word
        self._check_stamp()
        self._stamp += 1
        call.stamp = self._stamp
        found = self._queue(self._new_place(), 0) if output else None
        call.output = found.place if found is not None else None
        return found

    def _check_stamp(self):
        if self._stamp >= _LAST_STAMP:
            self._clear(self._call.stamps)
            self._stamp = 0

    def _perform(self, name, *arguments):
        """Call an operator. Raises the error of the first site that failed."""
        status = self._memory.status
        self._timed(name, ctypes.byref(self._call), *arguments, ctypes.byref(status))
        if status.fault:
            self._fail(status.fault)

    def _fail(self, fault):
        """Raise the error of a fault: the complement of a number in the upper half, and that of
        its detail in the lower half."""
        number, detail = _LAST - (fault >> 32), _LAST - (fault & _LAST)
        # Marks may be left.
        self._clear(self._call.marks)
        raise self._generated.faults[number].error(
            self._program, self._graph.num_vertices, self._bits, detail)

    def _timed(self, name, *arguments):
        before, begin = self._library.asked(), time.perf_counter()
        self._library.call(name, *arguments)
        self.seconds += time.perf_counter() - begin
        after = self._library.asked()
        self.kernels += after.kernels - before.kernels
        self.transfers += after.transfers - before.transfers

    def chosen(self, node, vset):
        """The CudaChoice and the direction of an EdgeSetIterator whose input is this set."""
        choice, *others = self._choices[node.position]
        if others and vset.count >= self._call.least[self._generated.edges[node.position]]:
            [choice] = others
        pulls = self._arcs(vset) * PULL_SHARE > self._graph.num_edges
        return choice, choice.direction or ("pull" if pulls else "push")

    def edges(self, node, vset, uniforms):
        found = self._begin(vset, uniforms, node.tracking is not None)
        choice, direction = self.chosen(node, vset)
        call = self._call
        call.creation = _CREATIONS.index(choice.creation(direction))
        call.deduplication = _DEDUPLICATIONS.index(choice.deduplication)
        call.members_shift = choice.members_shift
        self._perform(self._generated.function(node, choice, direction))
        return None if found is None else self._filled(found)

    def vertices(self, node, vset, uniforms):
        self._begin(vset, uniforms)
        self._perform(f"vertices_{self._generated.vertices[node.position]}")

    def where(self, node, vset, uniforms):
        found = self._begin(vset, uniforms, True)
        self._perform(f"where_{self._generated.functions[node.filter]}")
        return self._filled(found)

    def total(self, node, vset, uniforms):
        self._begin(vset, uniforms)
        self._perform(f"total_{self._generated.functions[node.function]}")
        return self._memory.status.total

    def settle(self, node):
        if self._generated.loses:
            self._begin(self._queue(None, self._graph.num_vertices))
            self._perform(f"settle_{self._generated.edges[node.position]}")

    # Loops

    @property
    def loops(self):
        return self._generated.loops

    def run_loop(self, loop, given, sets, queues):
        layout = LoopWords(loop)
        places = [self._new_place() for _ in range(layout.places)]
        state = [*given.numbers]
        for queue in queues:
            state += [queue.threshold, queue.delta or 0]
        for vset in sets:
            state += [places[0], 0] if isinstance(vset, Unmade) else [
                vset.place or 0, self._arcs(vset) << 32 | vset.count]
        state += [0, 0, 0, 0, *given.constants, *given.words]
        state = np.array([each & (1 << 64) - 1 for each in state], np.uint64).view(np.int64)
        at = (ctypes.c_void_p * len(places))(*places)
        operators, result = 0, AGAIN
        while result == AGAIN:
            self._check_stamp()
            self._call.stamp = self._stamp
            self._memory.write(self._state, state)
            self._timed(loop.name, ctypes.byref(self._call), ctypes.c_void_p(self._loop),
                        ctypes.c_void_p(self._state), at)
            state = self._memory.read(self._state, 2 * len(state)).view(np.int64)
            result, fault, count, self._stamp = map(int, state[layout.end:][:4])
            operators += count
        if result == FAULT:
            self._fail(fault & (1 << 64) - 1)
        words = state.tolist()
        return LoopEnd(result, operators, words[layout.numbers:][:len(loop.numbers)],
                       words[layout.thresholds:][:2 * len(queues):2],
                       self._taken(loop, sets, places, words[layout.sets:]))

    def _taken(self, loop, sets, places, state):
        """The sets that a loop has changed. ``state`` has a place and a size for each."""
        known = {vset.place: vset for vset in sets if not isinstance(vset, Unmade)}
        known[None] = self._queue(None, self._graph.num_vertices)
        found = []
        for i, name in enumerate(loop.sets):
            place, size = state[2 * i] or None, state[2 * i + 1] & (1 << 64) - 1
            if place not in known:
                known[place] = self._filled(self._queue(place, 0), size)
            if name in loop.changed:
                found.append(known[place])
        self._free += [each for each in places if each not in known]
        return found

    def store(self, vector, vertex, word):
        self._memory.write(self._call.now[self._numbers[vector]] + _WORD_BYTES * vertex,
                           np.array([word], np.uint32))

    def read(self, vector):
        # Operators without a status may still run.
        self._timed("graphloom_wait", ctypes.byref(self._memory.status))
        return self._memory.read(self._call.now[self._numbers[vector]], self._graph.num_vertices)
