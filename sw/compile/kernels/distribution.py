"""Registration and distribution: lanes register rows, and all lanes share the rows' edges.

Software schedules have these two stages in common (SparseWeaver, 4.4.1 and figure 4.5).

*Registration.* Each lane loads one row: the base vertex, the location of the first edge, and the
number of edges (:func:`register`). Prefix sums over the numbers give each edge a *place*
(:class:`Scan`). The places of the registered edges are consecutive, in the order of the rows.

*Distribution.* A *window* is as many consecutive places as a warp has lanes. A lane takes the place
of its own number in each window (:class:`Share`). It finds the row of its place by the prefix sums,
by binary search or by walking on from its last row. Three words of the row, which a lane gets by
shuffles, then give the edge: the last place of the row, its location less its place, and the base.
A window that lies in the row of the last window needs no search: one branch tells so. Long rows
therefore cost no more than consecutive edges.

The scope is the lanes that share rows. A warp needs shuffles only. In a wider scope, a core or the
device, each warp leaves its rows in a *table* in local or global memory, as a *slice* of a row a
lane (:class:`SliceTable`). The prefix sums over the slices' sizes give every warp an equal part of
all places (:func:`part`). A warp reads the slices of its part one after the other, and its lanes
share each slice by shuffles (:class:`Slices`).

Places and locations count in the layout's :attr:`~sw.compile.formats.storage_format.Layout.step`.
All edges of a layout are in memory, so places are below 2**31, and signed comparisons are right.
"""

from hw.isa import Csr
from sw.compile.kernels.kernel import Vertex, log2
from sw.compile.kernels.row_search import BinarySearch, WalkingSearch
from sw.compile.options import Choice, Integer


__all__ = ["FIND", "UNROLL", "Scan", "Share", "Slices", "SliceTable", "EdgeWork", "at_once", "part",
           "register", "sums_of_rows"]


#: Options of schedules that share rows.
FIND = Choice(("binary", "walk"), "binary", "how a lane finds the row of its edge: binary search, "
              "or walking on from its last row")
UNROLL = Integer(1, 8, None, "edges of a long row that a lane works on at once; left out, 2 if the "
                 "mean degree is at least 8, else 1")

#: Mean degree from which the default is 2: shorter rows seldom have two windows.
_MANY = 8


def at_once(task):
    """The default of :data:`UNROLL`."""
    return 2 if task.graph.num_edges >= _MANY * task.graph.num_vertices else 1


def register(k, rows):
    """The row of a lane in this round, in new registers; an empty row if the vertex is not in the
    frontier.

    Parameters
    ----------
    k : Kernel
    rows : sw.compile.kernels.rows.Rows

    Returns
    -------
    begin, size : GeneralRegister
        The location of the first edge, and the number of edges times the step. ``begin`` is the
        register of ``rows``, so the next :meth:`~sw.compile.kernels.rows.Rows.advance` replaces it.
    base : Vertex
        The base in the algorithm's form.
    """
    a = k.a
    size, base = a.regs("size", "token")
    rows.size(size)
    token = k.algorithm.token(k, rows.vertex)
    a.mv(base, token.reg)
    return rows.begin, size, Vertex(base, token.array)


class Scan:
    """Prefix sums over the lanes of a warp.

    Parameters
    ----------
    k : Kernel
        All lanes are active, here and at each use.
    lanes : int, optional
        The lanes that take part, from lane 0 on, a power of two; all if not given.
    keep : bool
        Whether the masks of lanes stay in registers. If not, each use computes them.
    """

    def __init__(self, k, lanes=None, keep=True):
        self._k, self._lanes = k, lanes or k.config.threads
        self._masks = self._make() if keep else None

    def _make(self):
        """All ones in lanes from 1, 2, 4 and so on, else 0."""
        k, masks, step = self._k, {}, 1
        lane = k.a.reg("lane")
        if self._lanes > 1:
            k.a.csrr(lane, Csr.THREAD_ID)
        while step < self._lanes:
            mask = masks[step] = k.a.reg(f"from_{step}")
            k.a.slti(mask, lane, step)
            k.a.addi(mask, mask, -1)
            step *= 2
        return masks

    def sums(self, into, source):
        """``into`` = sum of ``source``, another register, over this lane and the lanes below."""
        k, a = self._k, self._k.a
        if self._lanes == 1:
            a.mv(into, source)
        other = a.reg("other")
        for step, mask in (self._masks or self._make()).items():
            a.shfl_up(other, source, k.constant(step))
            a.and_(other, other, mask)
            a.add(into, source, other)
            source = into

    def last(self, into, source):
        """``into`` = ``source`` of the last lane that takes part."""
        self._k.broadcast(into, source, self._lanes - 1)


def sums_of_rows(k, scan, begin, size):
    """The words by which :class:`Share` finds the rows of :func:`register`, in new registers.

    Parameters
    ----------
    k : Kernel
    scan : Scan
    begin, size : GeneralRegister

    Returns
    -------
    lasts, starts, total : GeneralRegister
        As :meth:`Share.slice` takes them; ``total`` is the sum of all lanes' sizes.
    """
    a = k.a
    lasts, starts, total = a.regs("lasts", "starts", "total")
    scan.sums(lasts, size)
    scan.last(total, lasts)
    a.sub(starts, lasts, size)
    a.sub(starts, begin, starts)
    a.addi(lasts, lasts, -1)
    return lasts, starts, total


class EdgeWork:
    """The work on edges that lanes have found: gather and sum.

    Parameters
    ----------
    k : Kernel
        In the prologue, with all lanes.
    at_once : int
        Largest number of edges of a lane.
    """

    def __init__(self, k, at_once=1):
        self._k, self._counts = k, []
        self._selective = k.algorithm.selective(k.task)
        if self._selective:
            self._counts = k.a.regs(*(f"counts{index}" for index in range(at_once)))
            for predicate in self._counts:
                k.a.mv(predicate, k.a.zero)         # in all lanes, see Kernel.narrow

    def turn(self, location, base, count=1, found=None):
        """Work on ``count`` edges of each active lane, which have the same base.

        Parameters
        ----------
        location : GeneralRegister
            Location of the first edge; the others are ``lanes_apart`` edges apart. It may change.
        base : Vertex
        count : int
            With more than one edge all lanes are active, or the algorithm is not selective.
        found : callable, optional
            Emits code that runs with all lanes if an edge counts in any of them, behind the sum.
            The algorithm is selective.

        Lane 0 is active. If the algorithm is selective, all lanes are active behind the turn.
        """
        k, a, algorithm = self._k, self._k.a, self._k.algorithm
        edges = [k.edge(base, index) for index in range(count)]
        k.edge_phase(3)
        k.layout.get_edge(k, location, edges)
        k.edge_phase(4)
        words = algorithm.gather(k, edges)
        if not self._selective:
            algorithm.sums(k, edges, words)
            return
        bottom = a.label("edges_next")
        for predicate, word in zip(self._counts, words):
            algorithm.accepts(k, word, predicate)
        if count > 1:
            k.narrow(k.any_of(self._counts[:count]), bottom)
        for edge, word, predicate in zip(edges, words, self._counts):
            after = a.label("edge_next")
            k.narrow(predicate, after)
            algorithm.sum(k, edge, word, predicate)
            k.widen()
            if found:
                found()
            a.place(after)
        a.place(bottom)


class Share:
    """The lanes of a warp share the edges of a slice, which has a row for each lane.

    Parameters
    ----------
    k : Kernel
        In the prologue, with all lanes.
    find : str
        ``"binary"`` or ``"walk"``.
    unroll : int
        Edges that a lane works on at once where a row has as many windows left.
    work : object, optional
        Other work on the edges than the algorithm's, with a method ``turn`` as of
        :class:`EdgeWork`.

    Attributes
    ----------
    work : EdgeWork
    where : GeneralRegister
        In a turn of the work: the lane's place, behind the windows of this turn.
    """

    def __init__(self, k, find, unroll, work=None):
        self._k, self._find, self._unroll = k, find, unroll
        self._threads, self._step = k.config.threads, k.layout.step
        self.work = work or EdgeWork(k, unroll)
        self._stops = work is None and k.algorithm.first_only(k)
        self._lane = k.a.reg("lane_place")
        k.a.csrr(self._lane, Csr.THREAD_ID)
        k.shifted(self._lane, self._lane, log2(self._step))

    def slice(self, lasts, starts, base, low, high):
        """Bring the edges whose places are from ``low`` to below ``high`` to the lanes. All lanes
        are active, here and afterwards.

        Parameters
        ----------
        lasts : GeneralRegister
            The last place of the lane's row, of those below ``high``. For a row without edges, the
            last place of the row before it.
        starts : GeneralRegister
            The location of the row's first edge, less its place.
        base : Vertex
            The base of the row.
        low, high : GeneralRegister
            The same in all lanes.
        """
        k, a, threads, step = self._k, self._k.a, self._threads, self._step
        narrow, find, check, one, several, done = (a.label(f"share_{name}") for name in (
            "narrow", "find", "check", "one", "several", "done"))
        where, limit, last, near, after = a.regs("where", "limit", "last", "near", "near_after")
        start, location, inside = a.regs("start", "location", "inside")
        own, self.where = Vertex(a.reg("base"), base.array), where
        a.add(where, low, self._lane)
        k.step(limit, (1 - threads) * step, high)
        finder = {"binary": BinarySearch, "walk": WalkingSearch}[self._find](k, threads, lasts)
        a.blt(where, limit, find)               # all lanes have an edge
        a.place(narrow)
        a.slt(inside, where, high)
        k.narrow(inside, done)
        a.place(find)
        k.edge_phase(2)
        row = finder.find(where, last)
        a.shfl_idx(start, starts, row)
        a.shfl_idx(own.reg, base.reg, row)
        k.step(near, (1 - threads) * step, last)
        k.broadcast(after, near, threads - 1)
        a.place(check)
        if self._unroll > 1:
            far = a.reg("far")
            k.step(far, (1 - self._unroll) * threads * step, near)
            a.bge(far, where, several)          # as many windows are in lane 0's row
        a.place(one)
        self._windows(location, start, where, near, own, 1)
        a.bge(near, where, one)                 # the next window is in lane 0's row
        a.bge(where, limit, narrow)             # not all lanes have an edge
        a.blt(after, where, find)
        for register in (start, own.reg, *finder.state):        # it is in the last lane's row
            k.broadcast(register, register, threads - 1)
        a.mv(near, after)
        a.j(check)
        if self._unroll > 1:
            a.place(several)
            self._windows(location, start, where, near, own, self._unroll)
            a.bge(far, where, several)
            a.bge(near, where, one)
            a.blt(where, limit, find)
            a.j(narrow)
        a.place(done)

    def _windows(self, location, start, where, near, base, count):
        """The work of ``count`` windows, which ``where`` then has passed. Where the first edge that
        counts settles the row, ``where`` passes the rest of a row that all lanes are in."""
        k, a = self._k, self._k.a
        a.add(location, start, where)
        k.step(where, count * self._threads * self._step)

        def found():
            other = a.label("share_other_row")
            a.blt(near, where, other)
            k.step(where, (self._threads - 1) * self._step + 1, near)
            a.add(where, where, self._lane)
            a.place(other)

        self.work.turn(location, base, count, found if self._stops else None)


class SliceTable:
    """Slices in memory: for each lane of a warp the words that :meth:`Share.slice` takes, each word
    of the lanes side by side.

    Parameters
    ----------
    k : Kernel
    address : int
        The table's address.
    slices : int
        Largest number of slices.
    padded : bool
        Whether there is a word between the same words of two slices, as :meth:`words` has been
        told. In local memory the words of lane 0 of all slices are then in different banks.
    """

    def __init__(self, k, address, slices, padded=False):
        self._k, self._address = k, address
        self._slice = 4 * (k.config.threads + padded)      # bytes
        self._column = self._slice * slices                     # bytes of one word of all lanes

    @staticmethod
    def words(task, slices, padded=False) -> int:
        """Words of a table."""
        return 3 * (task.config.threads + padded) * slices

    @property
    def slice_bytes(self) -> int:
        """Bytes from a word of a slice to the same word of the next slice."""
        return self._slice

    def pointer(self, into, number):
        """``into`` = the address of the lane's words of slice ``number``."""
        k, a = self._k, self._k.a
        k.times(into, number, self._slice)
        lane = a.reg("lane")
        a.csrr(lane, Csr.THREAD_ID)
        a.slli(lane, lane, 2)
        a.add(into, into, lane)
        a.add(into, into, k.constant(self._address, "table"))

    def store(self, pointer, *words):
        """Store the words of a slice."""
        for place, word in self._places(pointer, words):
            self._k.a.sw(word, *place)

    def load(self, pointer, *words):
        """Load the words of a slice."""
        for place, word in self._places(pointer, words):
            self._k.a.lw(word, *place)

    def _places(self, pointer, words):
        k = self._k
        for number, word in enumerate(words):
            offset = number * self._column
            if offset < 2048:
                yield (pointer, offset), word
            else:
                place = k.a.reg("column")
                k.a.add(place, pointer, k.constant(offset, "columns"))
                yield (place, 0), word


def part(k, total, taker, takers, low, high):
    """``low`` and ``high`` = the first place of a taker's part of ``total`` places, and the place
    behind the last. Parts are whole windows and, but for the last ones, equal.

    Parameters
    ----------
    k : Kernel
    total, taker : GeneralRegister
        The number of places, and the taker's number.
    takers : int
    low, high : GeneralRegister
    """
    a, window = k.a, k.config.threads * k.layout.step
    k.step(low, window * takers - 1, total)
    k.divided(high, low, window * takers)
    k.times(high, high, window)
    a.mul(low, taker, high)
    a.add(high, low, high)
    k.minimum(high, total, high, signed=True)


class Slices:
    """A warp's way through the slices of its part.

    Parameters
    ----------
    k : Kernel
        In the prologue, with all lanes.
    table : SliceTable
    share : Share
    """

    def __init__(self, k, table, share):
        self._k, self._table, self._share = k, table, share

    def go(self, pointer, low, high, form):
        """Bring the edges of places from ``low`` to below ``high`` to the lanes. All lanes are
        active, here and afterwards.

        Parameters
        ----------
        pointer : GeneralRegister
            The lane's words of the first slice (:meth:`SliceTable.pointer`). It changes.
        low, high : GeneralRegister
            Places, counted from the first of this slice; ``high`` is above 0. They change.
        form : str or None
            The array of the vertices of the table.
        """
        k, a = self._k, self._k.a
        threads = k.config.threads
        lasts, starts, end, size = a.regs("lasts", "starts", "end", "slice_size")
        base, first = Vertex(a.reg("slice_base"), form), a.reg("first_place")
        after, whole, done = (a.label(f"slice_{name}") for name in ("next", "whole", "done"))
        top = a.place("slice")
        self._table.load(pointer, lasts, starts, base.reg)
        k.step(pointer, self._table.slice_bytes)
        k.broadcast(size, lasts, threads - 1)
        a.addi(size, size, 1)
        a.mv(first, low)
        a.sub(low, low, size)
        a.bge(first, size, after)                       # the part begins in a later slice
        a.mv(low, a.zero)
        a.mv(end, size)
        a.bge(high, size, whole)
        a.mv(end, high)
        last = a.reg("last_place")
        a.addi(last, high, -1)
        k.minimum(lasts, last, lasts, signed=True)
        a.place(whole)
        a.sub(high, high, size)
        self._share.slice(lasts, starts, base, first, end)
        a.blt(a.zero, high, top)
        a.j(done)
        a.place(after)
        a.sub(high, high, size)
        a.j(top)
        a.place(done)
