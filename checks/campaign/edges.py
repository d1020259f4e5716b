"""Programs at the edges of a configuration: the last of everything, and one beyond.

One program ends well. It uses the last word of global memory, of local memory and of instruction
memory, the last barrier, and the last lane of the last warp of the last core. Each other program
uses something beyond the edge and ends with the matching error.
"""

from checks.campaign.lanes import place_of_lane
from checks.campaign.machines import Launch
from hw.config import HardwareConfig
from hw.isa import Csr, MemoryMap, encode
from sw.compile.asm.assembler import Assembler, Condition


__all__ = ["beyond", "last"]


def last(config: HardwareConfig) -> Launch:
    """The program that ends well.

    For each lane `n`, word `n` of global memory becomes the number of lanes of a core. The last
    word of global memory becomes the number of all lanes.
    """
    a = Assembler()
    one, place, number, warps, value = a.regs("one", "place", "number", "warps", "value")
    a.li(one, 1)
    a.li(place, MemoryMap.GLOBAL + config.memory_bytes - 4)
    a.amoadd_w(a.zero, one, place)
    # Local memory begins with the contents that an earlier program left.
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
    return Launch((*words, *padding, encode("tmc", rs1=0)))


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
    return Launch(a.finish().words)


def beyond(config: HardwareConfig) -> dict:
    """The programs that end with an error, by the name of the access beyond the edge."""
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
