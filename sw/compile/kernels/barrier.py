"""The barrier of the device: all warps of all cores that take part wait for each other.

It does what the end of a launch and the next launch do (docs/memory.md): behind the barrier every
warp sees what any warp has stored before it.

1. The warps of a core meet at the core's barrier. Their accesses are with the load/store unit then.
2. The first warp of a core executes a FENCE. The L2 has accepted all writes of the core before it
   accepts what follows, and the L1 has dropped its lines. Nobody loads a line between the FENCE and
   step 4, because the other warps wait. So one FENCE serves both sides of the barrier.
3. One lane of this warp adds to a counter in global memory, and then reads the counter by atomics
   until all cores have added. The L2 performs atomics, so these reads see through the L1.
4. The warps of the core meet once more.

The counter needs no resetting. Core 0 adds 2^31 - (cores - 1), and any other core 1. So the upper
bit of the counter changes when the last core has come, and only then. A core that is ahead cannot
come to the next barrier before all have come to this one, but may come before a late core looks.
Then the upper bit is still the changed one, because it changes again only with the last core.

A device of one core needs step 1 only, because one L1 sees all accesses.
"""

from hw.isa import Csr


__all__ = ["fill", "meet", "meet_cores", "reserve"]


#: The buffer of the counter.
_COUNTER = "barrier"

#: The upper bit of a word.
_UPPER = 1 << 31


def reserve(task):
    """Reserve the counter, if the device has several cores."""
    if task.config.cores > 1:
        task.buffers.reserve(_COUNTER, 1)


def fill(task):
    """Fill the counter."""
    if task.config.cores > 1:
        task.buffers.fill(_COUNTER)


def meet(k):
    """Emit the barrier. All lanes are active, here and afterwards.

    Every warp that takes part must come here, as often as any other.

    Parameters
    ----------
    k : Kernel
    """
    k.barrier()
    if k.config.cores > 1:
        others = k.a.label("met")
        warp = k.a.reg("warp")
        k.a.csrr(warp, Csr.WARP_ID)
        k.a.bnez(warp, others)
        meet_cores(k)
        k.a.place(others)
        k.barrier()


def meet_cores(k):
    """Emit the wait of the first warp of a core for those of all other cores. All lanes are active,
    here and afterwards."""
    a, cores = k.a, k.config.cores
    amount, mask, counter = a.regs("amount", "mask", "counter")
    before, now = a.regs("before", "now")
    a.fence()
    a.csrr(amount, Csr.CORE_ID)
    a.seqz(amount, amount)
    a.neg(amount, amount)
    a.li(mask, _UPPER - cores)
    a.and_(amount, amount, mask)
    a.addi(amount, amount, 1)
    a.li(counter, k.address(_COUNTER))
    a.li(mask, 1)
    a.tmc(mask)
    a.amoadd_w(before, amount, counter)
    top = a.place("meeting")
    a.amoor_w(now, a.zero, counter)
    a.xor(now, now, before)
    a.bge(now, a.zero, top)
    k.widen()
