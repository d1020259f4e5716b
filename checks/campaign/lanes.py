"""Code that test programs share: the number of a lane within the device."""

from hw.isa import Csr


__all__ = ["place_of_lane"]


def place_of_lane(a, into, base):
    """Set ``into`` to the address of this lane's word in an array with a word for each lane."""
    with a.scope("part", "size") as (part, size):
        a.csrr(into, Csr.CORE_ID)
        a.csrr(size, Csr.NUM_WARPS)
        a.mul(into, into, size)
        a.csrr(part, Csr.WARP_ID)
        a.add(into, into, part)
        a.csrr(size, Csr.NUM_THREADS)
        a.mul(into, into, size)
        a.csrr(part, Csr.THREAD_ID)
        a.add(into, into, part)
        a.slli(into, into, 2)
        a.li(part, base)
        a.add(into, into, part)
