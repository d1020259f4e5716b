"""The loop over all vertices, or their words, of an apply kernel: one per lane, in order."""

import contextlib

from sw.compile.asm.assembler import Condition


__all__ = ["each_vertex"]


class _Pointers:
    """Addresses of the lane's vertex in some arrays, by name."""

    def __init__(self, k, arrays, step):
        self._k, self._step = k, step
        self._registers = dict(zip(arrays, k.a.regs(*arrays)))
        self._waiting = list(arrays)

    def __getitem__(self, array):
        return self._registers[array]

    def advance(self, array=None):
        """Move on to the next vertex: early, in the given array; or in all arrays that are left."""
        for name in list(self._waiting) if array is None else [array]:
            self._waiting.remove(name)
            self._k.step(self._registers[name], self._step)


@contextlib.contextmanager
def each_vertex(k, *arrays, words=1):
    """The body for one vertex of each lane, and the whole kernel around it, except for its
    constants. The caller asks for the constants before. If the arrays have several ``words`` for a
    vertex, the body is for one word of each lane.

    Gives the addresses of the vertex's words, by array. At the end of the body the pointers move on
    to the next vertex. The body may advance a pointer that it no longer needs earlier.
    """
    a, task = k.a, k.task
    pointers = _Pointers(k, arrays, 4 * task.lanes)
    index = a.reg("index")
    k.lane_index(index)
    for array in arrays:
        k.scaled(pointers[array], index, array)
    end = k.constant(k.address(arrays[0]) + 4 * words * task.graph.num_vertices, "end")
    k.phase(5)
    with a.while_uniform(Condition("ltu", pointers[arrays[0]], end), "vertices"):
        yield pointers
        pointers.advance()
