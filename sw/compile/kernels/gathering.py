"""GraphPEG as kernels program it: its settings, and the vertices of each core.

One warp of a core programs the core's unit (:mod:`hw.gather.graphpeg`). It stores START last, and
the pops of the other warps wait for it.

A core's share of the vertices of a graph is a *slice*: consecutive vertices, as many that every
core has about the same number of vertices and edges together. A slice begins at a multiple of a row
of lanes, so that a list of vertices of a slice fits into the slice's place of an array.
"""

import contextlib

import numpy as np

from hw.isa import Csr
from hw.operations import GatherSetting
from sw.compile.kernels.kernel import log2


__all__ = ["CoreSlices", "by_first_warp", "close_list", "core_place", "open_list", "program",
           "start"]


@contextlib.contextmanager
def by_first_warp(k):
    """The part that only warp 0 of each core runs, with all lanes."""
    a, done = k.a, k.a.label("programmed")
    with a.scope("warp") as (warp,):
        a.csrr(warp, Csr.WARP_ID)
        a.bnez(warp, done)
    yield
    a.place(done)


def program(k, settings):
    """Store settings: ``settings`` has a number or a register for each GatherSetting."""
    a = k.a
    for setting, value in settings.items():
        if isinstance(value, int):
            with a.scope("setting") as (word,):
                a.li(word, value)
                a.gather_set(word, setting)
        else:
            a.gather_set(value, setting)


def start(k, first, count, mode=0):
    """Start the unit on ``count`` vertices at ``first``: registers."""
    if mode:
        with k.a.scope("start") as (word,):
            k.a.li(word, int(mode))
            k.a.or_(count, count, word)
    program(k, {GatherSetting.INPUT: first, GatherSetting.START: count})


def open_list(k, first, limit, count):
    """Where pushed vertices go: the list at ``first``, for ``limit`` vertices, whose number goes to
    the word at ``count``; all are numbers or registers."""
    program(k, {GatherSetting.OUTPUT: first, GatherSetting.LIMIT: limit,
                GatherSetting.COUNT: count})


def close_list(k):
    """All warps have pushed their vertices: store the rest of the list, and its length."""
    k.barrier()
    with by_first_warp(k):
        k.a.gather_set(k.a.zero, GatherSetting.CLOSE)


def core_place(k, into, address, size):
    """``into`` = ``address`` + the core's number x ``size`` bytes."""
    a = k.a
    a.li(into, address)
    if k.config.cores > 1:
        with a.scope("core", "size") as (core, amount):
            a.csrr(core, Csr.CORE_ID)
            if size & size - 1:
                a.li(amount, size)
                a.mul(core, core, amount)
            else:
                k.shifted(core, core, log2(size))
            a.add(into, into, core)


class CoreSlices:
    """The slices of a task's vertices, one for each core, in a small array.

    Parameters
    ----------
    task : Task
    layout : Layout
        Its index names the array.
    """

    def __init__(self, task, layout):
        self._task, self._array = task, layout.array("slices")

    def bounds(self):
        """The first vertex of each slice, and the number of vertices."""
        task = self._task
        graph, lanes, cores = task.graph, task.config.threads, task.config.cores
        degrees = graph.in_degrees if task.direction == "pull" else graph.out_degrees
        work = np.cumsum(task.vertices.to_device(np.asarray(degrees, np.int64)) + 1)
        total = int(work[-1]) if len(work) else 0
        inner = np.searchsorted(work, [total * core // cores for core in range(1, cores)])
        inner = np.minimum(-(-inner // lanes) * lanes, graph.num_vertices)
        return np.array([0, *np.maximum.accumulate(inner), graph.num_vertices])

    def reserve(self):
        """Reserve the array."""
        self._task.buffers.reserve(self._array, 2 * self._task.config.cores)

    def fill(self):
        """Fill the array: of each core, the distance in bytes from vertex 0 to the core's first
        vertex, and the number of its vertices."""
        bounds = self.bounds()
        words = np.stack([4 * bounds[:-1], np.diff(bounds)], axis=1)
        self._task.buffers.fill(self._array, words.astype(np.uint32).reshape(-1))

    def load(self, k, distance, count):
        """Load both words of the core into registers."""
        with k.a.scope("slice") as (place,):
            core_place(k, place, k.address(self._array), 8)
            k.a.lw(distance, place)
            k.a.lw(count, place, 4)
