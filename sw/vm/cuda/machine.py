"""The machine of the GraphVM ``cuda``: memory of the GPU, sets of vertices, and calls of kernels.

A set is a queue of distinct vertices in memory of the GPU, in no order. Memory for vertices, one
word for each vertex of the graph, is reserved once and used again by later sets.
"""

import ctypes
import itertools
import time
import weakref
from typing import Any

import numpy as np

from base.errors import UserError
from sw.graph.compress import rows_in_blocks
from sw.lang import graph_ir as ir
from sw.lang.choices import least_vertices
from sw.vm.c_code import literal_words
from sw.vm.cuda import nvcc
from sw.vm.cuda.choices import check_program, choices
from sw.vm.cuda.loops import LoopWords
from sw.vm.cuda.memory import CudaLibrary, CudaMemory, CudaStatus, call_type
from sw.vm.cuda.text import FUSED_CTAS, generate
from sw.vm.loop_code import AGAIN, FAULT, LoopEnd, LoopMachine, Unmade


__all__ = ["CudaMachine"]


_WORD_BYTES = 4

#: The largest word.
_LAST = (1 << 32) - 1

#: The largest stamp of a call; then stamps begin again. A fused loop may use as many again.
_LAST_STAMP = _LAST // 2

#: `members_shift` of bits.
_BITS_SHIFT = 3

#: Bytes of marks of vertices that there are not, so that they can be read by 16 bytes.
_MORE_MARKS = 16

#: Most chunks of the schedule ``strict``, and bytes of ``Loop`` (runtime.cuh).
_CHUNKS, _LOOP_BYTES = 2048, 176

#: Threads of a CTA, and the arcs of a piece of a row, in runtime.cuh; the most arcs and vertices
#: for each thread of a fused loop that takes up short rounds.
_CTA, _PIECE, _SHORT = 256, 256, 4

#: Bits of the number of a fault, and the most operators for which the host has not waited yet.
_FAULT_BITS, _MOST_ORDER = 25, 126

#: Names of runtime.cuh, by their numbers there.
_CREATIONS = ("FUSED", "BITMAP", "BOOLMAP")
_DEDUPLICATIONS = ("COUNTERS", "BITS", "BYTES", "NOTHING")


class _Queue:
    """A set: the place and the number of its vertices. The place is None for all vertices.

    ``arcs`` is the number of arcs that leave them; None if it is not known. ``name`` is its own.
    """

    _names = itertools.count()

    def __init__(self, place, count, free):
        self.place, self.count, self._free = place, count, free
        self.arcs: int | None = None
        self.name = next(self._names)

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
        operator's ``load_balance``, or else ``strict`` to push, and ``etwc`` or ``strict`` to pull
        (:meth:`~sw.vm.cuda.choices.CudaChoice.schedule`).
    direction : str, optional
        ``"push"``: from the vertices of the input along their arcs. ``"pull"``: from all vertices
        back along theirs. If it is not given: the operator's ``direction``, or else pull if
        more than one of 16 arcs leave the input, where an edge may end its row, or one of two where
        none does, and push if not.
    variants : sequence of (str, str)
        Schedules and directions for which code is made too, so that machines with different
        choices share one library.

    The other choices are those of the operator's metadata, of ``hybrid`` those of the part that
    the size of the input decides. Loops with ``needs_fusion`` are one kernel. Where nobody chose
    anything for a loop and its operators of edges, rounds whose sets are small are.

    Attributes
    ----------
    seconds : float
        The time that the operators of the last run took, with their launches. What the host does
        between two operators counts while the GPU works.
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
        self._choices = {node.position: choices(program, node, schedule, direction)
                         for node in ir.instructions(program.body)
                         if isinstance(node, ir.EdgeSetIterator)}
        absence = nvcc.gpu_absence()
        if absence is not None:
            raise UserError(absence)
        path = nvcc.library(generated.text, (nvcc.architecture(),),
                            f"program {program.name!r}")
        self._program, self._graph, self._generated = program, graph, generated
        self._library = CudaLibrary(path)
        self._memory = CudaMemory(self._library)
        weakref.finalize(self, self._memory.release)
        self._free: list[int] = []
        self._kept: list[Any] = []      # arrays to which C points
        self._numbers = {name: i for i, name in enumerate(generated.vectors)}
        self.seconds, self.preparation, self._stamp = 0.0, 0.0, 0
        self._ended = 0.0       # when the last call of the library ended
        self.kernels = self.transfers = 0
        self._marked: int | None = None     # the name of the set of which `members` has bits
        self._even = max(map(np.max, (graph.out_degrees, graph.in_degrees))) <= _CTA
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
        call = call_type(generated)()
        call.vertices, call.edges = graph.num_vertices, graph.num_edges
        # Push goes through the arcs that leave, unless the operator turns them; pull the others.
        used = [(choice.schedule(direction), (direction == "push") == node.transposed)
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
            setattr(call, name, memory.reserve(size + _MORE_MARKS))
            self._clear(getattr(call, name), size + _MORE_MARKS)
        # The arcs of sets decide directions, and how many threads `strict` has.
        call.weighs = any(choice.direction is None or (
            choice.direction == "push" and choice.schedule("push") == "strict")
            for each in self._choices.values() for choice in each)
        for node in ir.instructions(self._program.body):
            if isinstance(node, ir.EdgeSetIterator) and "hybrid" in node.metadata:
                call.least[generated.edges[node.position]] = least_vertices(
                    node.metadata["hybrid"][1], graph.num_vertices)
        schedules = {choice.schedule(direction) for each in self._choices.values()
                     for choice in each for direction in choice.directions}
        if "twc" in schedules:
            call.buckets = memory.reserve(3 * size)
        if "strict" in schedules:
            call.sums = memory.reserve(size + _CHUNKS * _WORD_BYTES)
        if generated.loops:
            call.pieces = memory.reserve(_WORD_BYTES * (4 * graph.num_edges // _PIECE + 2))
            call.most = _SHORT * FUSED_CTAS * _CTA * max(nvcc.multiprocessors(), 1)
        if generated.loses:
            call.lost = memory.reserve(self._lost_bytes)
        if generated.checks:
            call.wanted = memory.reserve(size)
        call.status = memory.reserve(ctypes.sizeof(CudaStatus))
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
        self._clear(self._call.status, ctypes.sizeof(CudaStatus))
        self._call.order = 0
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
        if self._call.weighs:
            found.arcs = int(self._graph.out_degrees[array].sum())
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

    def _perform(self, name, *arguments, waits=True):
        """Call an operator. If it ``waits``, raises the error of the first site that failed in this
        operator and those before; else the host goes on, but not for too many operators."""
        status = self._memory.status
        self._timed(name, ctypes.byref(self._call), *arguments, ctypes.byref(status))
        if status.fault:
            self._fail(status.fault)
        self._call.order = 0 if waits else self._call.order + 1
        if self._call.order == _MOST_ORDER:
            self.wait()

    def wait(self):
        if self._call.order:
            self._perform("graphloom_wait")

    def _fail(self, fault):
        """Raise the error of a fault: the complement of a number in the upper half, and that of
        its detail in the lower half."""
        number, detail = _LAST - (fault >> 32), _LAST - (fault & _LAST)
        number &= (1 << _FAULT_BITS) - 1
        self._call.order, self._marked = 0, None
        # Marks may be left.
        self._clear(self._call.marks)
        raise self._generated.faults[number].error(
            self._program, self._graph.num_vertices, self._bits, detail)

    def _timed(self, name, *arguments):
        before, begin = self._library.asked(), time.perf_counter()
        if self._call.order and self._library.busy():
            begin = self._ended
        self._library.call(name, *arguments)
        self._ended = time.perf_counter()
        self.seconds += self._ended - begin
        after = self._library.asked()
        self.kernels += after.kernels - before.kernels
        self.transfers += after.transfers - before.transfers

    def chosen(self, node, vset):
        """The CudaChoice and the direction of an EdgeSetIterator whose input is this set."""
        choice, *others = self._choices[node.position]
        if others and vset.count >= self._call.least[self._generated.edges[node.position]]:
            [choice] = others
        pulls = self._arcs(vset) * self._generated.pull_share(node) > self._graph.num_edges
        return choice, choice.direction or ("pull" if pulls else "push")

    def edges(self, node, vset, uniforms):
        found = self._begin(vset, uniforms, node.tracking is not None)
        choice, direction = self.chosen(node, vset)
        call = self._call
        call.creation = _CREATIONS.index(choice.creation(direction))
        call.deduplication = _DEDUPLICATIONS.index(choice.deduplication)
        call.members_shift = choice.members_shift
        bits = choice.members_shift == _BITS_SHIFT
        call.marked = bits and vset.name == self._marked
        if node.input_vset != ir.ALL and (
                direction == "pull" or choice.schedule(direction) == "edge_only"):
            self._marked = vset.name if bits and vset.place is not None else None
        if found is not None and choice.creation(direction) != "FUSED":
            self._marked = found.name
        self._perform(self._generated.function(node, choice, direction, self._even),
                      waits=found is not None)
        return None if found is None else self._filled(found)

    def vertices(self, node, vset, uniforms):
        self._begin(vset, uniforms)
        self._perform(f"vertices_{self._generated.vertices[node.position]}", waits=False)

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
            self._perform(f"settle_{self._generated.edges[node.position]}", waits=False)

    # Loops

    @property
    def loops(self):
        return self._generated.loops

    def suits(self, sets):
        return all(max(vset.count, self._arcs(vset)) <= self._call.most for vset in sets)

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
        self.wait()
        self._marked = None
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
        self.wait()
        return self._memory.read(self._call.now[self._numbers[vector]], self._graph.num_vertices)
