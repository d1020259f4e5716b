"""The split of a kernel's work among warps and cores.

The work is a sequence of vertices, of queue entries or of blocks of edges. The sequence is divided
into parts of equal size. A *taker* takes one part after another: a warp for itself, or the warps of
a :mod:`scope <sw.compile.kernels.scope>` together: those of a core or of a group. Every taker
begins with the part of its own number. A split distributes the other parts:

*static*
    The takers go on in turn: each of n takers goes on by n parts.
*counter*
    The takers ask a counter in global memory, by one atomic addition a part. A taker that is done
    early takes more.

A warp asks one part ahead, so that the latency passes while the warp works on a part. In a scope,
the first warp asks at the beginning of a round. Two counters change roles: superstep s takes from
counter s mod 2 and makes the other counter ready for the next superstep.
"""

from hw.isa import Csr
from sw.compile.asm.assembler import Condition


__all__ = ["SPLITS", "Split", "passed", "reserve", "split"]


#: The place in local memory where the warp that asks for its scope leaves the answer.
_SLOT = "ticket"


def _arrays(layout, name):
    """The names of the array with the counters of a pass in a layout, and of the array with their
    value at the beginning of a superstep."""
    suffix = f"_{name}" if name else ""
    return layout.array(f"tickets{suffix}"), layout.array(f"first_tickets{suffix}")


def _all_arrays(task):
    return [_arrays(layout, item.name) for layout in task.layouts
            for item in task.schedule.passes(task)]


def reserve(task):
    """Reserve the counters, if the task needs them."""
    if task.split == "counter":
        for names in _all_arrays(task):
            for name, words in zip(names, (2, 1)):
                task.buffers.reserve(name, words)
        task.scope.reserve(task.local, _SLOT, 1)


def passed(k, task):
    """In the prologue of a kernel that does not use the counters of a task: make the counters of
    the next superstep ready."""
    a = k.a
    if task.split != "counter":
        return
    parity, place, first = a.regs("parity", "place", "first")
    k.superstep(parity)
    a.xori(parity, parity, 1)
    a.andi(parity, parity, 1)
    a.slli(parity, parity, 2)
    for counters, firsts in _all_arrays(task):
        a.li(place, k.address(firsts))
        a.lw(first, place)
        a.li(place, k.address(counters))
        a.add(place, place, parity)
        a.sw(first, place)


class Split:
    """The static split, and the common part of all splits.

    A part is known by its *place*: bytes from the beginning of the work, whose address a counter
    does not need to know; where the split is static, it may be the address itself.

    Parameters
    ----------
    k : Kernel
    part : int
        Bytes of a part, the work of a taker in a round.
    warps : int
        Warps of a core that take part.
    together : bool
        Whether the warps of a scope are one taker.
    """

    def __init__(self, k, part, warps, together):
        self._k, self._warps, self._together = k, warps, together
        self._part, self._scope = part, k.task.scope
        self._takers = self._scope.takers if together else k.config.cores * warps
        self._stride = self._part * self._takers
        self._end = self._place = None

    #: Whether there must be a barrier between :meth:`offer` and :meth:`take`.
    waits = False

    def start(self, end=None, origin=None, own=1):
        """In the prologue.

        Parameters
        ----------
        end : int or GeneralRegister, optional
            The place behind the work; needed for :meth:`more`. With an ``origin``, its address.
        origin : GeneralRegister, optional
            The address of the beginning of the work, if that is not known before. The register is
            taken over.
        own : int
            Number of first parts that each taker owns. If there are two, :meth:`second` gives the
            second, and the taker always takes a part ahead.
        """
        if self._needs_place(end):
            self._start_place(origin)
        if end is not None:
            self._end = self._k.constant(end, "work_end") if isinstance(end, int) else end

    def _needs_place(self, end):
        return end is not None

    def _start_place(self, origin):
        k, a = self._k, self._k.a
        if origin is not None:
            self._place = origin
        else:
            self._place = k.a.reg("place")
            a.mv(self._place, a.zero)
        if self._takers == 1:
            return
        taker, factor = a.regs("taker", "factor")
        if self._together:
            self._scope.taker(k, taker)
        else:
            a.csrr(taker, Csr.WARP_ID)
        if not self._together and k.config.cores > 1:
            core = a.reg("core")
            a.csrr(core, Csr.CORE_ID)
            a.li(factor, self._warps)
            a.mul(core, core, factor)
            a.add(taker, taker, core)
        a.li(factor, self._part)
        a.mul(taker, taker, factor)
        a.add(self._place, self._place, taker)

    def second(self, into, pointer):
        """In the prologue: take the second part; ``into`` = the pointer moved there."""
        self._k.step(into, self._stride, pointer)

    def ask(self):
        """At the beginning of a round, if the warps of a scope are one taker. Gives the register in
        which the answer is going to be, or None."""

    def offer(self, answer):
        """Pass the register that :meth:`ask` gave on to the warps that :meth:`take`."""

    def go_on(self):
        """The next round begins, with the part that was taken ahead, or that is taken next."""
        if self._place is not None:
            self._k.step(self._place, self._stride)

    def take(self, *pointers):
        """Take a part, and move the pointers to it. All lanes must be active."""
        for pointer in pointers:
            self._k.step(pointer, self._stride)

    def more(self) -> Condition:
        """Whether there is work in the round. All warps of a taker agree."""
        return Condition("ltu", self._place, self._end)


class _Counter(Split):
    """Parts from a counter, which holds the place of the next part."""

    def start(self, end=None, origin=None, own=1):
        k, a, task = self._k, self._k.a, self._k.task
        counters, firsts = _arrays(k.layout, k.pass_name)
        for name, words in ((counters, 2), (firsts, 1)):
            task.buffers.fill(name, words * [own * self._stride])
        self._counter = k.a.reg("counter")
        self._now = k.a.reg("now") if end is not None and own == 2 else None
        value, other = a.regs("value", "other")
        k.superstep(self._counter)
        a.andi(self._counter, self._counter, 1)
        a.slli(self._counter, self._counter, 2)
        a.li(other, k.address(counters))
        a.add(self._counter, self._counter, other)
        a.xori(other, self._counter, 4)
        a.li(value, own * self._stride)
        a.sw(value, other)
        if origin is not None and end is not None:
            length = a.reg("work_length")
            a.sub(length, end, origin)
            end = length
        super().start(end, own=own)
        if not self._together:
            self._drawn = k.a.reg("ticket")
            self._draw(self._drawn)

    def _needs_place(self, end):
        return True                 # to know how far to move

    def _draw(self, into):
        """Add to the counter, by one lane; ``into`` = the old value."""
        a = self._k.a
        a.li(into, 1)
        a.tmc(into)
        a.li(into, self._part)
        a.amoadd_w(into, into, self._counter)
        self._k.widen()

    def _first_warp(self, body):
        a = self._k.a
        after = a.label("others")
        warp = a.reg("warp")
        self._scope.warp(self._k, warp)
        a.bnez(warp, after)
        body()
        a.place(after)

    @property
    def waits(self):
        return self._together

    def ask(self):
        if not self._together:
            return None
        answer = self._k.a.reg("answer")
        self._first_warp(lambda: self._draw(answer))
        return answer

    def offer(self, answer):
        if answer is not None:
            self._first_warp(lambda: self._leave(answer))

    def _leave(self, answer):
        a = self._k.a
        slot = a.reg("slot")
        a.shfl_idx(answer, answer, a.zero)
        self._slot(slot)
        a.sw(answer, slot)

    def _slot(self, into):
        self._k.a.li(into, self._k.task.local.address(_SLOT))
        self._scope.move(self._k, into, 1)

    def second(self, into, pointer):
        a = self._k.a
        stride = a.reg("stride")
        a.li(stride, self._stride)
        a.add(into, pointer, stride)
        a.add(self._place, self._place, stride)

    def go_on(self):
        if self._now is not None:
            self._k.a.mv(self._now, self._place)

    def more(self):
        return Condition("ltu", self._now or self._place, self._end)

    def take(self, *pointers):
        a = self._k.a
        distance = a.reg("distance")
        if self._together:
            self._slot(distance)
            a.lw(distance, distance)
        else:
            a.shfl_idx(distance, self._drawn, a.zero)
        a.sub(distance, distance, self._place)
        for register in (self._place, *pointers):
            a.add(register, register, distance)
        if not self._together:
            self._draw(self._drawn)


_KINDS = {"static": Split, "counter": _Counter}

#: Names of the splits.
SPLITS = tuple(_KINDS)


def split(k, part, *, warps=None, together=False) -> Split:
    """The split that the kernel's task asks for; parameters as of :class:`Split`."""
    return _KINDS[k.task.split](k, part, warps or k.task.warps, together)
