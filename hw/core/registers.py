"""The register file: 32 registers for each lane of each warp, in block RAM."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.core.loads import writeback_layout


__all__ = ["RegisterFile"]


class RegisterFile(wiring.Component):
    """Register file. Throughput: three reads and one write a cycle, of all lanes of a warp.

    Latency: operands are valid in the cycle after their numbers. Only reads in later cycles see a
    write; the scoreboard keeps a register from being read in the cycle in which it is written.
    A value read in that cycle is not used. Each read port has a copy of the registers, so that each
    copy is a plain block RAM.

    Members
    -------
    warp, rs1, rs2, rs3 : In
        Registers to read.
    a, b, c : Out(ArrayLayout(32, threads))
        Values of rs1, rs2 and rs3 in all lanes, a cycle later. x0 reads 0.
    write : In(1)
        Write ``result``, in the lanes of its mask. Its ``rd`` must not be 0.
    result : In(writeback_layout)
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        lanes = data.ArrayLayout(32, config.threads)
        super().__init__({
            "warp": In(index_bits(config.warps)), "rs1": In(5), "rs2": In(5), "rs3": In(5),
            "a": Out(lanes), "b": Out(lanes), "c": Out(lanes),
            "write": In(1), "result": In(writeback_layout(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        for name, number, values in (("a", self.rs1, self.a), ("b", self.rs2, self.b),
                                     ("c", self.rs3, self.c)):
            copy = Memory(shape=data.ArrayLayout(32, config.threads), depth=32 * config.warps,
                          init=[], attrs={"no_rw_check": 1})
            m.submodules[f"copy_{name}"] = copy
            read, write = copy.read_port(), copy.write_port(granularity=1)
            m.d.comb += [
                read.addr.eq(Cat(number, self.warp)),
                values.eq(read.data),
                write.addr.eq(Cat(self.result.rd, self.result.warp)),
                write.data.eq(self.result.data),
                write.en.eq(Mux(self.write, self.result.mask, 0)),
            ]
        return m
