"""An executor that does pieces of work in the process of the test."""

from sw.study.benchmarks.executors import Executor, Slots


__all__ = ["InThisProcess"]


class _Slot(Slots):
    _piece = None

    def free(self):
        return self._piece is None

    def begin(self, number, function, arguments):
        self._piece = number, function, arguments

    def heard(self):
        number, function, arguments = self._piece
        self._piece = None
        yield number, function(*arguments)

    def __exit__(self, *error):
        return None


class InThisProcess(Executor):
    """Does one piece after another, so that a test can replace what the pieces call.

    Parameters
    ----------
    here : bool
        Whether it claims to run on this machine.
    """
    in_order = True

    def __init__(self, here=True):
        self.here = here

    def slots(self, fresh):
        return _Slot()
