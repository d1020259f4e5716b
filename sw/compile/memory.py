"""The layout of memory: what a task reserves, in order, and what it fills the arrays with."""

import numpy as np

from sw.compile.kernels import fusion
from sw.compile.kernels.kernel import OLD_IDS
from sw.compile.kernels.split import reserve as reserve_splits


__all__ = ["build", "reserve", "reserve_layouts"]


def _inputs(task):
    """A side for each input; sides may share an input."""
    return list({id(side.input): side for side in task.sides.values()
                 if side.input is not None}.values())


def reserve(task, sides):
    """Reserve all arrays of a task and its sides. Raises UserError if they do not fit."""
    buffers = task.buffers
    task.algorithm.reserve(task)
    if task.new_ids is not None:
        buffers.reserve(OLD_IDS, task.vertex_words)
    for side in _inputs(task):
        side.input.reserve(side)
    for side in sides:
        side.format.reserve(side)
        reserve_layouts(side)
        side.schedule.reserve(side)
    if task.fused:
        fusion.check(task)
        fusion.reserve(task)
    buffers.place_edges()
    buffers.check(task.algorithm.subject)


def reserve_layouts(task):
    """Reserve the buffers of all layouts, and the buffers that split their work."""
    for layout in task.layouts:
        layout.reserve()
    reserve_splits(task)


def build(task):
    """Give the buffers of a task their contents."""
    task.algorithm.init_vertex_value(task)
    if task.fused:
        fusion.fill(task)
    if task.new_ids is not None:
        numbers = np.arange(len(task.new_ids), dtype=np.uint32)
        task.buffers.fill(OLD_IDS, task.vertices.to_device(numbers))
    for side in _inputs(task):
        side.input.fill(side)
    for side in task.sides.values() or [task]:
        side.format.build(side)
        side.schedule.build(side)
        for layout in side.layouts:
            layout.build()
