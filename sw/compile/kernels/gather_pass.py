"""A pass of a schedule for one layout, between the prologues of the parts that it joins."""

from sw.compile.kernels.split import passed


__all__ = ["gather"]


def gather(k, item, others=(), last=True):
    """Emit a pass, except its end.

    Parameters
    ----------
    k : Kernel
        Of the layout.
    item : sw.compile.kernels.passes.Pass
    others : list of Task
        The task's other sides.
    last : bool
        Whether no further layout follows in the kernel.
    """
    task, layout = k.task, k.layout
    done = k.a.label("layout_done")
    entered = () if item.enter is None else (item.enter(k, done),)
    layout.enter(k, done)
    task.algorithm.prepare(k)
    for other in others:            # in each layout, as any but one may have no work
        passed(k, other)
        other.format.passed(k)
        other.schedule.passed(k, other)
    layout.prepare(k)
    item.emit(k, *entered)
    if item.gathers:
        task.algorithm.end(k)
        if task.frontier is not None:
            task.frontier.finish()
    if not last:
        task.schedule.go_on(k)
    k.a.place(done)
