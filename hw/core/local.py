"""Local (shared) memory: one bank for each word of a line. Each bank has its own row address."""

from amaranth.hdl import Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.core.access import row_bits
from hw.memory.port import line_layout


__all__ = ["LocalMemory"]


class LocalMemory(wiring.Component):
    """Banks of local memory.

    Latency: the words read are valid in the next cycle. Throughput: one access a cycle. There are
    no bank conflicts, since a pass of the coalescer needs only one row of each bank.

    Members
    -------
    read : In(1)
        Read the rows.
    write : In(1)
        Write the rows. Data read in the same cycle is undefined.
    read_rows, write_rows : In
        A row address for each bank.
    mask : In(line_bytes)
        Bytes to write.
    write_data : In(line)
    read_data : Out(line)
        The rows read last.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "read": In(1), "write": In(1),
            "read_rows": In(data.ArrayLayout(row_bits(config), config.line_words)),
            "write_rows": In(data.ArrayLayout(row_bits(config), config.line_words)),
            "mask": In(config.line_bytes),
            "write_data": In(line_layout(config)),
            "read_data": Out(line_layout(config)),
        })

    def elaborate(self, platform):
        m = Module()
        for i in range(self._config.line_words):
            bank = Memory(shape=data.ArrayLayout(8, 4), depth=1 << row_bits(self._config),
                          init=[], attrs={"no_rw_check": 1})
            m.submodules[f"bank_{i}"] = bank
            read, write = bank.read_port(), bank.write_port(granularity=1)
            m.d.comb += [
                read.addr.eq(self.read_rows[i]), read.en.eq(self.read),
                self.read_data[i].eq(read.data.as_value()),
                write.addr.eq(self.write_rows[i]),
                write.data.as_value().eq(self.write_data[i]),
                write.en.eq(Mux(self.write, self.mask[4 * i:4 * i + 4], 0)),
            ]
        return m
