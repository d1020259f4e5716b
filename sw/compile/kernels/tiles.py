"""Tiles: groups of lanes that work as one, each half as wide as the one before (SAGE, 5.1).

The lanes of a core take a row each. A tile of *n* lanes works on whole turns of a row: *n* edges a
turn, an edge a lane. A row's number of edges tells in advance how many turns it has at each width.
The widest tiles take as many whole turns as the row has. A tile of half the width then finds one
turn left or none, and so on. The edges that are left behind the narrowest tile are a *fragment*.

The lane whose row a tile works on is the tile's leader. Within a warp (:class:`WarpTiles`) a ballot
tells the lanes that stand for election, and the lowest bit of it is elected. Its row comes to the
lanes of the tile by shuffles. The tiles of a warp take their turns at the same time, so they share
the candidates: each takes the lowest that the tiles before it leave. A tile of several warps
(:class:`TileLists`) has a list of leaders in local memory. All lists of a round are filled before
one barrier. So the warps of a tile never wait for each other between two leaders.
"""

from hw.isa import Csr
from sw.compile.kernels.kernel import ANY_LANE, Vertex, log2


__all__ = ["Election", "TileLists", "WarpTiles", "turns", "whole_turns"]


#: Bytes of local memory, besides a quarter of it, that lists of leaders leave to others.
_OTHERS = 256

#: A de Bruijn sequence: the upper five bits of its product with a power of two below 2^32 tell
#: which power it is.
_DE_BRUIJN = 0x077CB531


def whole_turns(k, into, size, turn, several):
    """``into`` = the places of the whole turns of ``turn`` places, a power of two, in ``size``;
    without ``several`` there is one turn at most."""
    k.a.and_(into, size, k.constant(-turn if several else turn, "whole_turns"))


class TileLists:
    """Lists of leaders of the tiles of several warps, in local memory.

    The widest tile has as many warps as the power of two that divides the number of warps. There is
    a list for each tile of each width, which has room for every lane of the tile. A lane appends
    its row by an atomic addition to the end of the list.

    A *block* has the end and the beginning of each list. The warps append by one of four blocks,
    and to one of two sets of lists, in turn. While a warp appends, it makes the next block ready,
    and empties the next set's lists. So one barrier a round is enough.

    Parameters
    ----------
    k : Kernel
        In the prologue, with all lanes. A barrier must follow.
    work : EdgeWork
    """
    _BLOCKS, _SETS = 4, 2
    _ENTRY = 12                     # bytes: base, location of the first edge, and bytes of places
    _ENDS, _ENTRIES = "leader_ends", "leaders"

    def __init__(self, k, work):
        a, task = k.a, k.task
        self._k, self._work, self._widths = k, work, self.widths(task)
        self._block_size = self._block_bytes(task, len(self._widths))
        self._set_size = self._set_bytes(task, len(self._widths))
        self._block, self._set, own = a.regs("block", "set_of_lists", "own_list")
        self._own_end, self._own_first = a.regs("own_end", "own_first")
        # A lane makes the list of the width of its number ready. All warps of a tile store the
        # same. A lane without a list has one that nobody reads, behind the last.
        warp, mask = a.regs("warp", "mask")
        count = len(self._widths)
        a.csrr(own, Csr.THREAD_ID)
        k.minimum(own, own, k.constant(count))
        a.li(mask, -self._widths[0])
        a.sra(mask, mask, own)
        a.csrr(warp, Csr.WARP_ID)
        a.and_(warp, warp, mask)                    # the first warp of the lane's tile
        k.times(own, own, task.warps)
        a.add(own, own, warp)
        k.scaled(self._own_end, own, task.local.address(self._ENDS), 8)
        k.times(own, own, self._ENTRY * task.config.threads)
        a.li(self._own_first, task.local.address(self._ENTRIES))
        a.add(self._own_first, self._own_first, own)
        a.li(self._block, self._BLOCKS * self._block_size)
        a.mv(self._set, a.zero)
        self._ready()

    @classmethod
    def widths(cls, task) -> list:
        """The warps of tiles of several warps, the widest tiles first: halves, as long as there is
        room for their lists."""
        warps = task.warps & -task.warps
        room = task.config.local_bytes * 3 // 4 - _OTHERS
        count = min(log2(warps), task.config.threads)
        while count and (cls._BLOCKS * cls._block_bytes(task, count)
                         + cls._SETS * cls._set_bytes(task, count)) > room:
            count -= 1
        return [warps >> number for number in range(count)]

    @staticmethod
    def _block_bytes(task, count):
        """Bytes of a block for ``count`` widths, a power of two."""
        return 8 << ((count + 1) * task.warps - 1).bit_length()

    @classmethod
    def _set_bytes(cls, task, count):
        """Bytes of a set of lists, likewise."""
        return cls._ENTRY * count * task.warps * task.config.threads

    @classmethod
    def reserve(cls, task):
        """Reserve local memory. Raises UserError, with sizes, if there is too little."""
        count = len(cls.widths(task))
        if count:
            task.local.share(cls._ENDS, cls._BLOCKS * cls._block_bytes(task, count) // 4)
            task.local.share(cls._ENTRIES, cls._SETS * cls._set_bytes(task, count) // 4)

    def _ready(self):
        """Go on to the next block and the next set, and empty its lists."""
        k, a, size = self._k, self._k.a, self._block_size
        end, first = a.regs("end", "first")
        k.step(self._block, size)
        k.keep_bits(self._block, self._BLOCKS * size - 1)
        a.sub(self._set, k.constant(self._set_size, "set_bytes"), self._set)
        a.add(end, self._own_end, self._block)
        a.add(first, self._own_first, self._set)
        a.sw(first, end)
        a.sw(first, end, 4)

    def _place(self, into, number, block):
        """``into`` = the address of the end of the warp's list of a width, less the distance that
        is returned."""
        k, a, task = self._k, self._k.a, self._k.task
        a.csrr(into, Csr.WARP_ID)
        a.andi(into, into, -self._widths[number])
        k.shifted(into, into, 3)
        a.add(into, into, block)
        return 8 * number * task.warps

    def append(self, begin, size, base):
        """Append the whole turns of the lanes' rows. ``begin`` and ``size`` then tell what is left.
        A barrier must follow."""
        k, a = self._k, self._k.a
        threads, step = k.config.threads, k.layout.step
        part, some, ends, old = a.regs("part", "some", "list_ends", "old_end")
        none = a.label("none_appended")
        a.add(ends, self._block, k.constant(k.task.local.address(self._ENDS), "ends"))
        self._ready()
        k.shifted(part, size, -log2(self._widths[-1] * threads * step))
        a.snez(part, part)
        a.vote_any(some, part)
        a.beqz(some, none)
        for number, warps in enumerate(self._widths):
            whole_turns(k, part, size, warps * threads * step, several=number == 0)
            with k.only(part, "not_leader"):
                place = a.reg("place")
                distance = self._place(place, number, ends)
                k.step(place, distance)
                a.amoadd_w(old, k.constant(self._ENTRY), place)
                for word, register in enumerate((base, begin, part)):
                    a.sw(register, old, 4 * word)
            a.add(begin, begin, part)
        a.and_(size, size, k.constant(self._widths[-1] * threads * step - 1, "rest"))
        a.place(none)

    def go(self, form):
        """Behind the barrier: work on the turns of the leaders, from the widest tile on.

        Parameters
        ----------
        form : str or None
            The array of the bases.
        """
        k, a, size = self._k, self._k.a, self._block_size
        block = a.reg("past_block")             # the block is that of the next round by now
        k.step(block, (self._BLOCKS - 1) * size, self._block)
        k.keep_bits(block, self._BLOCKS * size - 1)
        a.add(block, block, k.constant(k.task.local.address(self._ENDS), "ends"))
        k.tile = k.config.threads
        for number, warps in enumerate(self._widths):
            self._list(number, warps, block, form)
        k.tile = None

    def _list(self, number, warps, block, form):
        k, a = self._k, self._k.a
        turn = warps * k.config.threads * k.layout.step
        entry, end, lane = a.regs("leader", "leaders_end", "tile_lane")
        location, start = a.regs("location", "start")
        base, none = Vertex(a.reg("base"), form), a.label("no_leaders")
        place = a.reg("place")
        distance = self._place(place, number, block)
        a.lw(end, place, distance)
        a.lw(entry, place, distance + 4)
        a.bgeu(entry, end, none)
        self._tile_lane(lane, warps)
        top = a.place("leaders")
        a.lw(base.reg, entry)
        a.lw(start, entry, 4)
        a.add(location, start, lane)
        if number:
            k.step(entry, self._ENTRY)
            self._work.turn(location, base)
        else:
            behind, next_turn = a.regs("turns_end", "next_turn")
            a.lw(behind, entry, 8)
            k.step(entry, self._ENTRY)
            a.add(behind, behind, start)
            a.mv(next_turn, location)
            turns(k, self._work, location, base, next_turn, behind, turn)
        a.bltu(entry, end, top)
        a.place(none)

    def _tile_lane(self, into, warps):
        """``into`` = the distance from a turn's first place to the lane's."""
        k, a = self._k, self._k.a
        warp = a.reg("warp")
        a.csrr(warp, Csr.WARP_ID)
        a.andi(warp, warp, warps - 1)
        k.shifted(warp, warp, log2(k.config.threads * k.layout.step))
        a.csrr(into, Csr.THREAD_ID)
        k.shifted(into, into, log2(k.layout.step))
        a.add(into, into, warp)


def turns(k, work, location, base, next_turn, end, turn):
    """Work on turns of a row, of which a lane's first is at ``next_turn``, to below ``end``. All
    lanes of a warp have equally many turns, one at least. If the first edge that counts settles the
    row, the warp leaves its other turns."""
    a, settled = k.a, k.a.label("settled")
    top = a.place("turns")
    a.mv(location, next_turn)
    k.step(next_turn, turn)
    found = (lambda: a.j(settled)) if k.algorithm.first_only(k) else None
    work.turn(location, base, found=found)
    a.bltu(next_turn, end, top)
    a.place(settled)


class Election:
    """The lowest bit of a ballot, as the operand by which shuffles read the lane of this bit.

    A table in local memory has the operand for each lane.

    Parameters
    ----------
    k : Kernel
        In the prologue, with all lanes.
    """
    _TABLE = "lanes_of_leaders"

    def __init__(self, k):
        a = k.a
        self._k = k
        lane, one, slot = a.regs("lane", "one", "slot")
        a.csrr(lane, Csr.THREAD_ID)
        a.li(one, 1)
        a.sll(one, one, lane)
        self._slot(slot, one)
        a.or_(lane, lane, k.constant(ANY_LANE, "any_lane"))
        a.sh(lane, slot)

    @classmethod
    def reserve(cls, task):
        """Reserve local memory for the table: 16 bits a lane."""
        task.local.share(cls._TABLE, 16)

    def _slot(self, into, bit):
        """``into`` = the address of the operand for the lane with this bit."""
        k, a = self._k, self._k.a
        a.mul(into, bit, k.constant(_DE_BRUIJN, "de_bruijn"))
        a.srli(into, into, 27)
        a.slli(into, into, 1)
        a.add(into, into, k.constant(k.task.local.address(self._TABLE), "lanes_of_leaders"))

    def elect(self, leader, elected, left):
        """``elected`` = the lowest bit of ``left``, which loses it; ``leader`` = the operand."""
        a = self._k.a
        a.neg(elected, left)
        a.and_(elected, elected, left)
        a.xor(left, left, elected)
        self._slot(leader, elected)
        a.lhu(leader, leader)


class WarpTiles:
    """Tiles of the lanes of a warp, whose leaders are elected by ballots.

    Parameters
    ----------
    k : Kernel
        In the prologue, with all lanes.
    work : EdgeWork
    widths : list of int
        Lanes of the tiles, the widest first: all lanes of the warp, and halves.
    several : bool
        Whether a row may have several turns of the widest tile, which has all lanes of the warp.
    """

    def __init__(self, k, work, widths, several):
        self._k, self._work, self._widths, self._several = k, work, widths, several
        self._election = Election(k)

    def go(self, begin, size, base):
        """Work on the whole turns of the lanes' rows. ``begin`` and ``size`` then tell what is
        left. All lanes are active, here and afterwards."""
        for width in self._widths:
            self._k.tile = width
            self._level(width, begin, size, base)
        self._k.tile = None

    def _level(self, width, begin, size, base):
        k, a = self._k, self._k.a
        threads, turn = k.config.threads, width * k.layout.step
        several = width == threads and self._several
        stands, left, part, lane = a.regs("stands", "candidates", "part", "lane")
        none = a.label("no_leaders")
        whole_turns(k, part, size, turn, several)
        a.snez(stands, part)
        a.vote_ballot(left, stands)
        a.beqz(left, none)
        k.edge_phase(2)
        a.csrr(lane, Csr.THREAD_ID)
        tile, place = a.regs("tile", "tile_lane")
        k.shifted(tile, lane, -log2(width))
        a.andi(place, lane, width - 1)
        k.shifted(place, place, log2(k.layout.step))
        self._leaders(threads // width, several, left, tile, place, begin, part, base, turn)
        a.add(begin, begin, part)
        a.sub(size, size, part)
        a.place(none)

    def _leaders(self, tiles, several, left, tile, lane, begin, part, base, turn):
        """Elect leaders, one for each tile of the warp at a time. ``tile`` is the lane's tile, and
        ``lane`` the distance from a turn's first place to the lane's."""
        k, a = self._k, self._k.a
        less, elected, leader, location = a.regs("less", "elected", "leader", "location")
        own, bottom = Vertex(a.reg("base"), base.array), a.label("leaders_next")
        top = a.place("leaders")
        k.edge_phase(2)
        for number in range(1, tiles):      # a tile leaves the first candidates to those before it
            behind = tile
            if tiles > 2:
                behind = a.reg("behind")
                a.sltu(behind, k.constant(number - 1), tile)
            a.sub(less, left, behind)
            a.and_(left, left, less)
        self._election.elect(leader, elected, left)
        if tiles > 1:
            k.broadcast(left, left, k.config.threads - 1)
        a.shfl_idx(location, begin, leader)
        a.shfl_idx(own.reg, base.reg, leader)
        a.add(location, location, lane)
        if several:
            behind, next_turn = a.regs("turns_end", "next_turn")
            a.shfl_idx(behind, part, leader)
            a.add(behind, behind, location)
            a.mv(next_turn, location)
            turns(k, self._work, location, own, next_turn, behind, turn)
        elif tiles > 1:
            k.narrow(elected, bottom)
            self._work.turn(location, own)
            k.widen()
        else:
            self._work.turn(location, own)
        a.place(bottom)
        a.bnez(left, top)
