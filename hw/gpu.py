"""The GPU: core, shared level, host control port, one memory port."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.config import HardwareConfig
from hw.control import ControlPort
from hw.core.core import Core
from hw.counters import Counters
from hw.memory.port import memory_request_layout, memory_response_layout
from hw.memory.shared import SharedLevel
from hw.util import StreamRegister, check_stream


__all__ = ["Gpu"]


class Gpu(wiring.Component):
    """The GPU.

    Members
    -------
    host_read, host_write, host_address, host_write_data, host_read_data : In, Out
        Host register port (:class:`hw.control.ControlPort`).
    busy : Out(1)
        A launch or a flush is under way.
    error : Out(1)
        The last launch stopped with an error.
    memory_request : Out(stream(memory_request_layout))
        Reads are answered by tag, in any order; writes are not answered. A read sees the writes
        requested before it.
    memory_response : In(stream(memory_response_layout))
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "host_read": In(1), "host_write": In(1), "host_address": In(16),
            "host_write_data": In(32), "host_read_data": Out(32),
            "busy": Out(1), "error": Out(1),
            "memory_request": Out(stream.Signature(memory_request_layout(config))),
            "memory_response": In(stream.Signature(memory_response_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.control = control = ControlPort(config)
        m.submodules.core = core = Core(config)
        m.submodules.shared = shared = SharedLevel(config)
        connect(m, core.request, shared.request)
        connect(m, shared.response, core.response)
        connect(m, shared.memory_request, flipped(self.memory_request))
        # An answer is registered before anything depends on it.
        m.submodules.answers = answers = StreamRegister(memory_response_layout(config))
        connect(m, flipped(self.memory_response), answers.i)
        connect(m, answers.o, shared.memory_response)
        check_stream(m, self.memory_response, name="memory_response")
        m.d.comb += [
            control.read.eq(self.host_read), control.write.eq(self.host_write),
            control.address.eq(self.host_address),
            control.write_data.eq(self.host_write_data),
            self.host_read_data.eq(control.read_data),
            self.busy.eq(control.busy), self.error.eq(core.failed),
            core.launch.eq(control.launch), core.entry.eq(control.entry),
            core.argument.eq(control.argument), core.running.eq(control.running),
            core.write.eq(control.imem_write), core.write_address.eq(control.imem_address),
            core.write_data.eq(control.imem_data),
            shared.flush.eq(control.flush), shared.invalidate.eq(control.invalidate),
            control.core_busy.eq(core.busy), control.shared_busy.eq(shared.busy),
            control.failed.eq(core.failed), control.fault.eq(core.fault),
        ]
        if config.counters:
            m.submodules.counters = counters = Counters(config.threads)
            m.d.comb += [
                counters.clear.eq(control.clear),
                counters.read.eq(control.counter_read),
                counters.index.eq(control.counter_index),
                control.counter_value.eq(counters.value),
                counters.events.eq(core.events),
                counters.events.l2_accesses.eq(shared.access),
                counters.events.l2_hits.eq(shared.hit),
                counters.events.dram_reads.eq(shared.memory_read),
                counters.events.dram_writes.eq(shared.memory_write),
            ]
        return m
