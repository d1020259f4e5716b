"""The loop over all vertices of an apply kernel: a lane a vertex, in their order."""

import contextlib

from sw.kernels.assembler import Condition


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
        """Go on to the next vertex in one array, early; in those that are left if none is given."""
        for name in list(self._waiting) if array is None else [array]:
            self._waiting.remove(name)
            self._k.step(self._registers[name], self._step)


@contextlib.contextmanager
def each_vertex(k, *arrays):
    """The body for one vertex of each lane, and all of a kernel around it but its constants, which
    are to be asked for before.

    Gives the addresses of the vertex's words, by array. At its end the body's pointers go on to
    the next vertex; those that it has no more use for may be told to before.
    """
    a, task = k.a, k.task
    pointers = _Pointers(k, arrays, 4 * task.lanes)
    with a.scope("index") as (index,):
        k.lane_index(index)
        for array in arrays:
            k.scaled(pointers[array], index, array)
    end = k.constant(k.address(arrays[0]) + 4 * task.graph.num_vertices, "end")
    k.need_step(4 * task.lanes)
    k.seal()
    k.phase(5)
    with a.while_uniform(Condition("ltu", pointers[arrays[0]], end), "vertices"):
        yield pointers
        pointers.advance()
