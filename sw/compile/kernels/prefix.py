"""Prefix sums over words in global memory, by one warp of the device."""

import itertools

from hw.isa import Csr
from sw.compile.asm.assembler import Condition
from sw.compile.kernels.distribution import Scan


__all__ = ["padded", "prefix_sums"]


#: Words of a lane in a turn.
_AT_ONCE = 4


def padded(task, count) -> int:
    """Words to reserve for ``count`` words: a turn may run over the end."""
    return count + _AT_ONCE * task.config.threads


def prefix_sums(k, array, end):
    """Replace each word of ``array`` by the sum of the words before it.

    Parameters
    ----------
    k : Kernel
        With all lanes of one warp.
    array : str
        Has :func:`padded` words.
    end : GeneralRegister
        The address behind the last word.

    Returns
    -------
    GeneralRegister
        The sum of all words.
    """
    a = k.a
    scan = Scan(k)
    place, before, total = a.regs("place", "before", "total")
    a.csrr(place, Csr.THREAD_ID)
    k.scaled(place, place, array, 4 * _AT_ONCE)
    a.mv(before, a.zero)
    with a.while_uniform(Condition("ltu", place, end), "words"):
        sums = a.regs(*(f"sum{index}" for index in range(_AT_ONCE)))
        inside, where = a.regs("inside", "where")
        for index, word in enumerate(sums):
            a.lw(word, place, 4 * index)
        for index, word in enumerate(sums):
            a.addi(where, place, 4 * index)             # words behind the last count as 0
            a.sltu(inside, where, end)
            k.masked(word, inside)
        for first, second in itertools.pairwise(sums):
            a.add(second, second, first)
        upto = a.reg("upto")
        scan.sums(upto, sums[-1])
        scan.last(total, upto)
        a.sub(upto, upto, sums[-1])
        a.add(upto, upto, before)
        a.sw(upto, place)
        for index, word in enumerate(sums[:-1], 1):
            a.add(word, word, upto)
            a.sw(word, place, 4 * index)
        a.add(before, before, total)
        k.step(place, 4 * _AT_ONCE * k.config.threads)
    return before
