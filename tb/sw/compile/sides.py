"""What tests look into: the side of a task, and the lines of its kernels."""

__all__ = ["lines_of", "only_side"]


def only_side(task):
    """The side with the layouts of a task that goes through edges in one way: the task itself where
    it has no sides."""
    side, = task.sides.values() or [task]
    return side


def lines_of(program, kernel):
    """The lines of a kernel of a program, up to the next kernel."""
    start = program.entries[kernel]
    ends = [entry for entry in program.entries.values() if entry > start]
    return program.lines[start // 4:min(ends, default=4 * len(program.lines)) // 4]
