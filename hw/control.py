"""The host control port: registers, launch, flush, and read-out of the counters."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.core.interface import checks_layout, fault_layout
from hw.counters import counting_cycles
from hw.registers import (ADDRESS_BITS, BLOCK_BITS, CORE_BASE, CORE_STRIDE, GPU_BASE, Checks,
                          Control, Register, Status)
from hw.scu.registers import SCU_BASE, SCU_REGISTERS


__all__ = ["ControlPort", "launch_cycles"]


#: Cycles of a launch in which the host writes ENTRY, ARGUMENT and CONTROL; in which the port passes
#: the command on, and sees that the GPU is idle; and in which the host reads STATUS.
_LAUNCH_CYCLES = 3 + 2 + 1


def launch_cycles(config: HardwareConfig) -> int:
    """Cycles that a launch takes beside those that the counter ``cycles`` counts: from its first
    write to the first write of the next launch, if the host accesses the port in every cycle.

    After the launch the port stays busy until all counters have counted the last events. A host
    that is slower than the port, or behind a link, takes more.
    """
    return _LAUNCH_CYCLES + counting_cycles(config)


class ControlPort(wiring.Component):
    """Host register port (:mod:`hw.registers`).

    Members
    -------
    read, write : In(1)
        Access the register at ``address``. A read's ``read_data`` is valid in the next cycle.
    address : In(ADDRESS_BITS)
    write_data : In(32)
    read_data : Out(32)
    busy : Out(1)
        A launch, a flush or an operation of the SCU is under way. High from reset on, and from the
        cycle after a command, until the counters have counted all events.
    launch : Out(1)
        Start the cores at ``entry`` with ``argument``. High for a cycle, the cycle after the write
        of the command.
    entry : Out(ceil_log2(imem_bytes))
    argument : Out(32)
    checks : Out(checks_layout)
        Checks of launches (:class:`hw.registers.Checks`).
    running : Out(1)
        High from the launch until the launch's last memory access is done.
    flush, invalidate : Out(1)
        Commands to the L2. ``flush`` is high for a cycle, the cycle after the write of
        the command. ``invalidate`` stays until the next flush.
    clear : Out(1)
        Zero the counters. High for a cycle, the cycle after the write of the command.
    core_busy, l2_busy, scu_busy, failed : In(1)
        A core is busy; the L2 is busy; the SCU is busy; a core has failed. The busy
        signals are at most a cycle late.
    fault, fault_core : In(fault_layout), In(index_bits(cores))
        Record of the failure (:func:`hw.core.interface.fault_layout`), and number of the core.
    gpu_read : Out(1)
        Read the GPU's counter at ``offset``.
    core_read : Out(1)
        Read a counter of core ``core``. The lowest ``BLOCK_BITS`` of ``address`` select the
        counter.
    core : Out(index_bits(cores))
    offset : Out(BLOCK_BITS)
        The byte address among the GPU's counters or among the SCU's registers.
    counter_value : In(32)
        Value of the counter, in the cycle after the read.
    scu_read, scu_write : Out(1)
        Access the SCU's register at ``offset``; only if there is an SCU.
    scu_value : In(32)
        Value of the SCU's register, in the cycle after the read.
    imem_write, imem_address, imem_data : Out(1), Out(ceil_log2(imem_bytes) - 2), Out(32)
        Write a word of instruction memory.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        pc_bits = ceil_log2(config.imem_bytes)
        super().__init__({
            "read": In(1), "write": In(1), "address": In(ADDRESS_BITS), "write_data": In(32),
            "read_data": Out(32), "busy": Out(1),
            "launch": Out(1), "entry": Out(pc_bits), "argument": Out(32), "running": Out(1),
            "checks": Out(checks_layout(config)),
            "flush": Out(1), "invalidate": Out(1), "clear": Out(1),
            "core_busy": In(1), "l2_busy": In(1), "scu_busy": In(1),
            "failed": In(1), "fault": In(fault_layout(config)),
            "fault_core": In(index_bits(config.cores)),
            "gpu_read": Out(1), "core_read": Out(1), "core": Out(index_bits(config.cores)),
            "offset": Out(BLOCK_BITS), "counter_value": In(32),
            "scu_read": Out(1), "scu_write": Out(1), "scu_value": In(32),
            "imem_write": Out(1), "imem_address": Out(pc_bits - 2), "imem_data": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        # Commands take effect in the cycle after the write. The units' busy signals follow one or
        # two cycles later.
        settling = Signal()
        ordered = Signal()
        command = Signal()
        flush = Signal()
        working = Signal()
        # Cycles for which the last events are still on their way to the counters. After reset:
        # cycles for which the busy signals are still on their way.
        patience = counting_cycles(self._config) + 1
        worked = Signal(range(patience + 1), init=patience)
        m.d.comb += [
            ordered.eq(self.write & (self.address == Register.CONTROL)),
            command.eq(ordered & ~self.busy),
            flush.eq(ordered & (self.write_data & Control.FLUSH).any()
                     & (~self.busy | self.running)),
            working.eq(self.launch | self.flush | settling | self.core_busy | self.l2_busy
                       | self.scu_busy | self.running),
            self.busy.eq(working | (worked != 0)),
        ]
        with m.If(working):
            m.d.sync += worked.eq(patience)
        with m.Elif(worked != 0):
            m.d.sync += worked.eq(worked - 1)
        m.d.sync += [
            self.launch.eq(command & (self.write_data & Control.LAUNCH).any()),
            self.flush.eq(flush),
            self.clear.eq(command & (self.write_data & Control.CLEAR).any()),
            settling.eq(self.launch | self.flush),
        ]
        with m.If(flush):
            m.d.sync += self.invalidate.eq((self.write_data & Control.INVALIDATE).any())
        with m.If(self.launch):
            m.d.sync += self.running.eq(1)
        with m.Elif(~settling & ~self.core_busy & ~self.l2_busy):
            m.d.sync += self.running.eq(0)

        stack_bit = ceil_log2(Checks.LEAST_STACK)
        with m.If(self.write):
            with m.Switch(self.address):
                with m.Case(Register.ENTRY):
                    m.d.sync += self.entry.eq(self.write_data)
                with m.Case(Register.ARGUMENT):
                    m.d.sync += self.argument.eq(self.write_data)
                with m.Case(Register.CHECKS):
                    m.d.sync += [self.checks.lanes.eq(self.write_data[0]),
                                 self.checks.stack.eq(self.write_data[stack_bit:])]
        m.d.comb += [
            self.imem_write.eq(self.write & self.address[-1]),
            self.imem_address.eq(self.address[2:]),
            self.imem_data.eq(self.write_data),
        ]

        value = Signal(32)
        reads_counter = Signal()
        reads_scu = Signal()
        of_scu = Signal()
        m.d.comb += [
            of_scu.eq((self.address >= SCU_BASE) & (self.address < SCU_BASE + SCU_REGISTERS)
                      & (self._config.scu > 0)),
            self.scu_read.eq(self.read & of_scu), self.scu_write.eq(self.write & of_scu),
            self.core_read.eq(self.read & (self.address >= CORE_BASE)
                              & (self.address < CORE_BASE + CORE_STRIDE * self._config.cores)),
            self.gpu_read.eq(self.read & (self.address >= GPU_BASE)
                                & (self.address < CORE_BASE) & ~of_scu),
            self.core.eq((self.address - CORE_BASE)[BLOCK_BITS:]),
            self.offset.eq(self.address - Mux(of_scu, SCU_BASE, GPU_BASE)),
            self.read_data.eq(Mux(reads_counter, self.counter_value,
                                  Mux(reads_scu, self.scu_value, value))),
        ]
        m.d.sync += [
            reads_counter.eq((self.core_read | self.gpu_read) & self._config.counters),
            reads_scu.eq(self.scu_read),
        ]
        with m.If(self.read):
            m.d.sync += value.eq(0)
            with m.Switch(self.address):
                with m.Case(Register.STATUS):
                    m.d.sync += value.eq(Mux(self.busy, Status.BUSY, 0)
                                         | Mux(self.failed, Status.ERROR, 0))
                with m.Case(Register.ENTRY):
                    m.d.sync += value.eq(self.entry)
                with m.Case(Register.ARGUMENT):
                    m.d.sync += value.eq(self.argument)
                with m.Case(Register.CHECKS):
                    m.d.sync += value.eq(self.checks.lanes | self.checks.stack << stack_bit)
                with m.Case(Register.ERROR_CAUSE):
                    m.d.sync += value.eq(self.fault.cause)
                with m.Case(Register.ERROR_PC):
                    m.d.sync += value.eq(self.fault.pc)
                with m.Case(Register.ERROR_ADDRESS):
                    m.d.sync += value.eq(self.fault.address)
                with m.Case(Register.ERROR_WARP):
                    m.d.sync += value.eq(self.fault.warp | self.fault.lane << 8
                                         | self.fault_core << 16)
        return m
