"""Fusion: all supersteps in one kernel, which is launched once (UGF, 5.2.1).

Its sections are the kernels of supersteps, with a barrier of the device
(:mod:`sw.compile.kernels.barrier`) behind each. The argument of a section is in a register, from
which the section reads it in place of the launch's argument. Who makes the kernel is the
algorithm's :meth:`~sw.compile.algorithm.Algorithm.loop`. A kernel that the host takes part in, such
as an operation of the Stream Compaction Unit, cannot be fused.
"""

from base.errors import UserError
from sw.compile.kernels import barrier


__all__ = ["KERNEL", "SUPERSTEPS", "check", "fill", "reserve"]


#: The name of the fused kernel.
KERNEL = "loop"

#: The buffer for the number of supersteps, and for a number that tells the way to the end.
SUPERSTEPS = "supersteps"


def check(task):
    """Raise UserError if the loop of a task cannot be fused. The task has its layouts."""
    for name in task.loop.names:
        for step in task.kernel_sets[name]:
            if step.operate is not None or not step.in_turn:
                raise UserError(f"{task.algorithm.name}: fusion=yes needs kernels only, and with "
                                f"schedule {task.schedule.name!r} the host starts operations of "
                                "the Stream Compaction Unit within a superstep")


def reserve(task):
    """Reserve the buffers of a fused loop."""
    barrier.reserve(task)
    task.buffers.reserve(SUPERSTEPS, 2)
    task.loop.reserve(task)


def fill(task):
    """Fill these buffers."""
    barrier.fill(task)
    task.buffers.fill(SUPERSTEPS)
