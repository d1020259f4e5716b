"""Progress of many independent runs."""

import contextlib
from base.printable import one_line


__all__ = ["progress"]


@contextlib.contextmanager
def progress(total, done, describe, outcome, every=1):
    """Show it on standard error: a bar on a terminal, else lines.

    Parameters
    ----------
    total, done : int
        Runs, and how many of them have been done before.
    describe : callable
        Called with a case; gives it in a few words.
    outcome : callable
        Called with a record; gives it in a few words.
    every : int
        Where there is no terminal, a line is printed for one run in so many, and for failures.

    Yields
    ------
    tuple
        A function to call with a case at its beginning, and later with a text on how it gets on; a
        function to call with a case and its record at its end; and a context in which other text
        may be printed.
    """
    from .execute import console
    err = console(stderr=True)
    if done:
        err.print(f"{done} of {total} runs are in the file")
    if not err.is_terminal:
        def ended(case, record):
            nonlocal done
            done += 1
            if done % every == 0 or "error" in record:
                err.say(f"{done}/{total} {describe(case)}: {outcome(record)}")
        yield lambda case, text="": None, ended, contextlib.nullcontext
        return

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, \
        TimeElapsedColumn
    with Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                  TextColumn("{task.description}", markup=False), console=err,
                  transient=True) as bar:
        task = bar.add_task("", total=total, completed=done)

        @contextlib.contextmanager
        def aside():
            bar.stop()
            yield
            bar.start()

        def begun(case, text=""):
            bar.update(task, description=one_line(f"{describe(case)}{text and ': '}{text}"))

        yield begun, lambda case, record: bar.advance(task), aside
