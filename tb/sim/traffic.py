"""A stand-in for the GPU: a traffic generator with the ports of ``graphloom_gpu``.

The generator executes its instruction memory as a list of memory traffic (:class:`Op`), one
operation after the other. So a test of the simulator can say exactly which requests the memory port
sees. Observations are read back through the counters, under the names of :data:`PROBES`.
"""

import functools

from amaranth import Assert, Cat, Const, Module, Mux, Signal
from amaranth.back import verilog
from amaranth.lib import enum, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.memory.port import memory_tag_bits
from hw.registers import ADDRESS_BITS, COUNTERS, IMEM_BASE, Register, counter_address


__all__ = ["Op", "PROBES", "TrafficGenerator", "pattern", "program", "traffic_verilog"]


class Op(enum.Enum, shape=4):
    """An operation. A program's word has it in bits 31:28, and an argument in the bits below."""
    END    = 0     # wait for every response, then be idle
    SEEK   = 1     # next line := argument (an absolute line address)
    READ   = 2     # request (argument) lines, one a cycle as long as there are tags
    WRITE  = 3     # write (argument) lines of `pattern`, through the mask
    DRAIN  = 4     # wait for every response
    WAIT   = 5     # wait (argument) cycles
    MASK   = 6     # byte enables of writes: a pattern of 16 bytes, repeated
    STALL  = 7     # take a response only every (argument + 1)th cycle
    UPDATE = 8     # for (argument) lines: read, add 1 to every word, write back; not overlapping
    FAIL   = 9     # stop with the cause in the argument
    HANG   = 10    # stay busy until reset
    ASSERT = 11    # fail an assertion
    PARTS  = 12    # parts of 16 bytes of a line that READ and WRITE name: a bit for each


#: Counters that hold the observations. Cycles are counted from the launch.
PROBES = {
    "first_request": "instructions",    # cycle in which the first request was accepted
    "last_request": "lanes",
    "first_response": "stall_memory",   # cycle in which the first response was taken
    "last_response": "stall_local",
    "checksum": "stall_execute",        # 3 x itself + first word, for each line that is read
    "reads": "dram_reads",
    "writes": "dram_writes",
}


def program(*operations):
    """Words of a program: pairs of an Op and its argument."""
    return [op.value << 28 | argument for op, argument in operations]


def pattern(line, word):
    """The value that WRITE puts into a word of a line."""
    return (line * 0x9E3779B1 + word) & 0xFFFF_FFFF


class TrafficGenerator(wiring.Component):
    """The stand-in for the GPU.

    Parameters
    ----------
    config : HardwareConfig
        Line size and tags are taken from it.
    """

    def __init__(self, config):
        self._line_bytes = config.line_bytes
        self._tag_bits = memory_tag_bits(config)
        line_bits, data = 32 - config.line_bits, 8 * config.line_bytes
        super().__init__({
            "host_write": In(1), "host_read": In(1), "host_addr": In(ADDRESS_BITS),
            "host_wdata": In(32),
            "host_rdata": Out(32), "busy": Out(1), "error": Out(1),
            "mem_req_valid": Out(1), "mem_req_ready": In(1), "mem_req_write": Out(1),
            "mem_req_line": Out(line_bits), "mem_req_data": Out(data),
            "mem_req_mask": Out(config.line_bytes), "mem_req_tag": Out(self._tag_bits),
            "mem_rsp_valid": In(1), "mem_rsp_ready": Out(1), "mem_rsp_tag": In(self._tag_bits),
            "mem_rsp_data": In(data),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.imem = imem = Memory(shape=32, depth=64, init=[])
        fetch, load = imem.read_port(domain="comb"), imem.write_port()
        pc, entry, argument, cause = Signal(6), Signal(32), Signal(32), Signal(28)
        probes = {name: Signal(64, name=name) for name in PROBES}
        cycles, op, left, stall = Signal(64), Signal(Op), Signal(28), Signal(28)
        outstanding = Signal(range(2 ** self._tag_bits + 1))
        busy = Signal(2 ** self._tag_bits)      # tags of the reads without an answer
        line, mask = Signal(32), Signal(16, init=0xFFFF)
        parts = Signal(self._line_bytes // 16, init=-1)
        updating, update_data = Signal(), Signal.like(self.mem_req_data)
        pause = Signal(28)

        accepted = self.mem_req_valid & self.mem_req_ready
        taken = self.mem_rsp_valid & self.mem_rsp_ready
        words = self._line_bytes // 4
        m.d.comb += [
            fetch.addr.eq(pc),
            load.addr.eq((self.host_addr - IMEM_BASE)[2:]),
            load.data.eq(self.host_wdata),
            load.en.eq(self.host_write & (self.host_addr >= IMEM_BASE)),
            self.mem_rsp_ready.eq((pause == 0) & ~updating),
            self.mem_req_line.eq(line),
        ]
        with m.If(pause != 0):
            m.d.sync += pause.eq(pause - 1)
        with m.Elif(taken):
            m.d.sync += pause.eq(stall)

        # The requests.
        fresh = Cat(((line * 0x9E3779B1)[:32] + word)[:32] for word in range(words))
        with m.If(updating):
            m.d.comb += [self.mem_req_valid.eq(1), self.mem_req_write.eq(1),
                         self.mem_req_data.eq(update_data), self.mem_req_mask.eq(-1)]
        with m.Elif((left != 0) & (op == Op.WRITE)):
            m.d.comb += [self.mem_req_valid.eq(1), self.mem_req_write.eq(1),
                         self.mem_req_data.eq(fresh),
                         self.mem_req_mask.eq(Cat(Mux(part, mask, 0) for part in parts))]
        with m.Elif((left != 0) & (op == Op.READ)):
            m.d.comb += [self.mem_req_valid.eq(~busy.bit_select(self.mem_req_tag, 1)),
                         self.mem_req_mask.eq(Cat(part.replicate(16) for part in parts))]
        with m.Elif((left != 0) & (op == Op.UPDATE)):
            m.d.comb += self.mem_req_valid.eq(outstanding == 0)
        with m.If(accepted):
            with m.If(self.mem_req_write):
                m.d.sync += probes["writes"].eq(probes["writes"] + 1)
            with m.Else():
                m.d.sync += [probes["reads"].eq(probes["reads"] + 1),
                             self.mem_req_tag.eq(self.mem_req_tag + 1)]
            with m.If((op != Op.UPDATE) | updating):
                m.d.sync += [left.eq(left - 1), line.eq(line + 1), updating.eq(0)]
            with m.If((probes["reads"] == 0) & (probes["writes"] == 0)):
                m.d.sync += probes["first_request"].eq(cycles)
            m.d.sync += probes["last_request"].eq(cycles)
        with m.If(taken):
            m.d.sync += busy.bit_select(self.mem_rsp_tag, 1).eq(0)
        with m.If(accepted & ~self.mem_req_write):
            m.d.sync += busy.bit_select(self.mem_req_tag, 1).eq(1)
        m.d.sync += outstanding.eq(outstanding + (accepted & ~self.mem_req_write) - taken)
        with m.If(taken):
            m.d.sync += [probes["checksum"].eq(probes["checksum"] * 3 + self.mem_rsp_data[:32]),
                         probes["last_response"].eq(cycles)]
            with m.If(probes["first_response"] == 0):
                m.d.sync += probes["first_response"].eq(cycles)
            with m.If(op == Op.UPDATE):
                m.d.sync += updating.eq(1)
                for word in range(words):
                    part = slice(32 * word, 32 * word + 32)
                    m.d.sync += update_data[part].eq(self.mem_rsp_data[part] + 1)

        # The program.
        waiting = Signal()
        m.d.comb += waiting.eq((left != 0) | ((op == Op.DRAIN) | (op == Op.END))
                               & (outstanding != 0) | (op == Op.HANG))
        with m.If(self.busy):
            m.d.sync += cycles.eq(cycles + 1)
            with m.If(op == Op.WAIT):
                m.d.sync += left.eq(left - (left != 0))
            with m.If(~waiting):
                with m.If(op == Op.END):
                    m.d.sync += self.busy.eq(0)
                with m.Else():
                    m.d.sync += [op.eq(fetch.data[28:]), pc.eq(pc + 1)]
                    value = fetch.data[:28]
                    with m.Switch(fetch.data[28:]):
                        with m.Case(Op.SEEK):
                            m.d.sync += line.eq(value)
                        with m.Case(Op.READ, Op.WRITE, Op.WAIT, Op.UPDATE):
                            m.d.sync += left.eq(value)
                        with m.Case(Op.MASK):
                            m.d.sync += mask.eq(value)
                        with m.Case(Op.PARTS):
                            m.d.sync += parts.eq(value)
                        with m.Case(Op.STALL):
                            m.d.sync += stall.eq(value)
                        with m.Case(Op.FAIL):
                            m.d.sync += [self.error.eq(1), cause.eq(value), op.eq(Op.END)]
        m.d.comb += Assert(~self.busy | (op != Op.ASSERT), "the program failed an assertion")
        self._host(m, pc, op, cycles, probes, entry, argument, cause)
        return m

    def _host(self, m, pc, op, cycles, probes, entry, argument, cause):
        """The control port."""
        with m.If(self.host_write):
            with m.Switch(self.host_addr):
                with m.Case(Register.ENTRY):
                    m.d.sync += entry.eq(self.host_wdata)
                with m.Case(Register.ARGUMENT):
                    m.d.sync += argument.eq(self.host_wdata)
                with m.Case(Register.CONTROL):
                    with m.If(self.host_wdata[0] & ~self.busy):
                        m.d.sync += [self.busy.eq(1), self.error.eq(0), pc.eq(entry[2:]),
                                     op.eq(Op.WAIT), cycles.eq(0)]
                        m.d.sync += [probe.eq(0) for probe in probes.values()]
        values = {
            Register.STATUS: Cat(self.busy, self.error), Register.ENTRY: entry,
            Register.ARGUMENT: argument, Register.ERROR_CAUSE: cause,
            Register.ERROR_PC: pc << 2, Register.ERROR_ADDRESS: Const(0x1234, 32),
            Register.ERROR_WARP: Const(0x0002_0503, 32),
        }
        for name in COUNTERS:
            place = counter_address(name)
            for probe, counter in PROBES.items():
                if counter == name:
                    values[place] = probes[probe][:32]
                    values[place + 4] = probes[probe][32:]
            if name == "cycles":
                values[place] = cycles[:32]
        with m.If(self.host_read):
            m.d.sync += self.host_rdata.eq(0)
            with m.Switch(self.host_addr):
                for address, value in values.items():
                    with m.Case(address):
                        m.d.sync += self.host_rdata.eq(value)


@functools.cache
def traffic_verilog(config):
    """The Verilog of the stand-in, as a module ``graphloom_gpu``."""
    return verilog.convert(TrafficGenerator(config), name="graphloom_gpu",
                           strip_internal_attrs=True)
