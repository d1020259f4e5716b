"""Programs that use the last of everything a configuration sizes, and then one more.

The last word of global memory, of local memory and of instruction memory, the last barrier and the
last lane of the last warp of the last core are used by a program that ends well; each of the others
ends with the error that belongs to what is not there any more.
"""

from campaign.lanes import place_of_lane
from campaign.machines import Case
from hw.config import HardwareConfig
from hw.isa import Csr, MemoryMap, encode
from sw.kernels.assembler import Assembler, Condition


__all__ = ["beyond", "last"]


def last(config: HardwareConfig) -> Case:
    """The program that ends well. Word `n` of global memory becomes the number of lanes of a core,
    for each lane `n`, and the last word of global memory that of all lanes."""
    a = Assembler()
    one, place, number, warps, value = a.regs("one", "place", "number", "warps", "value")
    a.li(one, 1)
    a.li(place, MemoryMap.GLOBAL + config.memory_bytes - 4)
    a.amoadd_w(a.zero, one, place)
    # What local memory holds at the beginning is left from whoever was there before.
    a.li(place, MemoryMap.LOCAL + config.local_bytes - 4)
    a.sw(a.zero, place)
    a.li(number, config.barriers - 1)
    a.csrr(warps, Csr.NUM_WARPS)
    a.bar(number, warps)
    a.amoadd_w(a.zero, one, place)
    a.bar(number, warps)
    a.lw(value, place)
    place_of_lane(a, place, MemoryMap.GLOBAL)
    a.sw(value, place)
    a.li(place, config.imem_bytes - 4)
    a.jalr(a.zero, place, 0)
    words = a.finish().words
    padding = (0,) * (config.imem_bytes // 4 - len(words) - 1)
    return Case((*words, *padding, encode("tmc", rs1=0)))


def _by_the_last_warp(config, build):
    """A program that the last warp of the last core executes alone."""
    a = Assembler()
    mine, wanted = a.regs("mine", "wanted")
    for csr, number in ((Csr.CORE_ID, config.cores - 1), (Csr.WARP_ID, config.warps - 1)):
        a.csrr(mine, csr)
        a.li(wanted, number)
        with a.if_uniform(Condition("ne", mine, wanted)):
            a.end_warp()
    build(a, mine, wanted)
    a.end_warp()
    return Case(a.finish().words)


def beyond(config: HardwareConfig) -> dict:
    """The programs that end with an error, by what they ask for."""
    def load(address):
        def build(a, place, value):
            a.li(place, address & 0xFFFF_FFFF)
            a.lw(value, place)
        return build

    def barrier(a, number, count):
        a.li(number, config.barriers)
        a.li(count, 1)
        a.bar(number, count)

    def fetch(a, place, _):
        a.li(place, config.imem_bytes)
        a.jalr(a.zero, place, 0)

    return {name: _by_the_last_warp(config, build) for name, build in (
        ("a word behind global memory", load(MemoryMap.GLOBAL + config.memory_bytes)),
        ("a word behind local memory", load(MemoryMap.LOCAL + config.local_bytes)),
        ("a barrier behind the last", barrier),
        ("an instruction behind the last", fetch))}
