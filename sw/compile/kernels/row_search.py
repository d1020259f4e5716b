"""The search for the row of a place by the last places of rows (:mod:`.distribution`)."""

from sw.compile.kernels.kernel import ANY_LANE, log2


__all__ = ["BinarySearch", "WalkingSearch", "search"]


def search(k, lanes, lasts, place, middle=None):
    """A register with the lane, and upper bits for ``shfl.idx``, that has a place by binary search.

    Parameters
    ----------
    k : Kernel
    lanes : int
        Number of lanes to search, a power of two.
    lasts : GeneralRegister
        The last place of each lane, which ascends.
    place : GeneralRegister
        Below the last place of the last lane, or equal.
    middle : GeneralRegister, optional
        ``lasts`` of lane ``lanes // 2 - 1``.
    """
    a, step = k.a, lanes // 2
    row, probe = a.regs("row", "probe")
    before = k.constant(ANY_LANE, "any_lane")
    if not step:
        a.mv(row, before)
    while step:
        if middle is not None and step == lanes // 2:
            a.slt(probe, middle, place)
        else:
            if step > 1:
                a.addi(probe, before, step - 1)
            a.shfl_idx(probe, lasts, probe if step > 1 else before)
            a.slt(probe, probe, place)
        if step > 1:
            a.slli(probe, probe, log2(step))
        a.add(row, before, probe)
        before = row
        step //= 2
    return row


class BinarySearch:
    """The row of a place by binary search in the slice's last places.

    Attributes
    ----------
    state : list of GeneralRegister
        The registers that a lane keeps from one place to the next.
    """
    state = ()

    def __init__(self, k, threads, lasts):
        self._k, self._threads, self._lasts, self._middle = k, threads, lasts, None
        if threads > 1:
            self._middle = k.a.reg("middle")
            k.broadcast(self._middle, lasts, threads // 2 - 1)

    def find(self, where, last):
        """A register with the row of the place ``where``; ``last`` = the row's last place."""
        row = search(self._k, self._threads, self._lasts, where, self._middle)
        self._k.a.shfl_idx(last, self._lasts, row)
        return row


class WalkingSearch:
    """The row of a place by walking on from the row of the lane's last place; attributes as of
    :class:`BinarySearch`."""

    def __init__(self, k, threads, lasts):
        self._k, self._lasts = k, lasts
        self._row = k.a.reg("row")
        k.a.mv(self._row, k.constant(ANY_LANE, "any_lane"))
        self._last = k.a.reg("walked")
        k.broadcast(self._last, lasts, 0)
        self.state = self._row, self._last

    def find(self, where, last):
        """As of :class:`BinarySearch`."""
        a = self._k.a
        top = a.label("walk")
        beyond, some = a.regs("beyond", "some_beyond")
        a.slt(beyond, self._last, where)
        a.place(top)
        a.add(self._row, self._row, beyond)
        a.shfl_idx(self._last, self._lasts, self._row)
        a.slt(beyond, self._last, where)
        a.vote_any(some, beyond)
        a.bnez(some, top)
        a.mv(last, self._last)
        return self._row
