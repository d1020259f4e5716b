# amaranth: UnusedElaboratable=no
"""The GPU: cores, SCU, L2, host control port, memory ports."""

from amaranth.hdl import Cat, ClockSignal, Instance, Module, Mux, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import lowest
from hw.config import HardwareConfig
from hw.control import ControlPort
from hw.core.core import Core
from hw.core.interface import core_signature
from hw.core.trace import trace_layout
from hw.counters import SCU_EVENTS, Counters, event_layout, gpu_event_layout
from hw.exchange import ControlProcessor
from hw.memory.l2 import L2
from hw.memory.port import memory_ports, memory_response_layout
from hw.registers import ADDRESS_BITS, BLOCK_BITS, WARP_OFFSET
from hw.scu.scu import Scu
from hw.streams import check_stream
from hw.timing import Timing


__all__ = ["CORE_MODULE", "Gpu", "Uncore"]


#: Verilog module of a core.
CORE_MODULE = "graphloom_core"


def _ports(config):
    """Members that the GPU has with and without its cores."""
    return {
        "host_read": In(1), "host_write": In(1), "host_address": In(ADDRESS_BITS),
        "host_write_data": In(32), "host_read_data": Out(32),
        "busy": Out(1), "error": Out(1),
        **memory_ports(config),
    }


def _black_box(module, interface, **outputs):
    """An instance of a component's Verilog module, connected to ``interface``.

    ``outputs`` are further output ports by name.
    """
    ports = {f"o_{name}": value for name, value in outputs.items()}
    for path, member, value in interface.signature.flatten(interface):
        direction = "i" if member.flow == In else "o"
        ports[f"{direction}_{'__'.join(map(str, path))}"] = value
    return Instance(module, i_clk=ClockSignal(), i_rst=ResetSignal(), **ports)


class Uncore(wiring.Component):
    """The GPU without its cores.

    Members
    -------
    host_read, host_write, host_address, host_write_data, host_read_data, busy, error, \
    memory_request, memory_response
        As for the :class:`Gpu`.
    core_0, … : In(core_signature)
        One interface for each core. The signals that lead to a core, except ``request.ready``,
        depend only on registers and on the host's inputs.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            **_ports(config),
            **{f"core_{core}": In(core_signature(config)) for core in range(config.cores)},
        })

    def elaborate(self, platform):
        m = Module()
        config, timing = self._config, Timing(self._config)
        m.submodules.control = control = ControlPort(config)
        m.submodules.l2 = l2 = L2(config)
        for name, answers in zip(config.port_names("memory"), config.port_names("answers")):
            response = getattr(self, f"{name}_response")
            connect(m, getattr(l2, f"{name}_request"), flipped(getattr(self, f"{name}_request")))
            # An answer from memory goes through a register before any logic uses it.
            m.submodules[answers] = register = timing.register(memory_response_layout(config))
            connect(m, flipped(response), register.i)
            connect(m, register.o, getattr(l2, f"{name}_response"))
            check_stream(m, response, name=f"{name}_response")

        cores = [getattr(self, f"core_{c}") for c in range(config.cores)]
        failed = Signal(config.cores)
        busy = Signal(config.cores)
        waiting = []                # buffered requests: neither core nor L2 counts them
        for c, core in enumerate(cores):
            request = timing.buffer(m, flipped(core.request), name=f"request_{c}")
            waiting.append(timing.only_later(request.valid))
            connect(m, request, l2.request[c])
            connect(m, l2.response[c], flipped(core.response))
            m.d.comb += [
                core.number.eq(c),
                core.launch.eq(control.launch), core.entry.eq(control.entry),
                core.argument.eq(control.argument), core.checks.eq(control.checks),
                core.running.eq(control.running),
                core.write.eq(control.imem_write), core.write_address.eq(control.imem_address),
                core.write_data.eq(control.imem_data),
                failed[c].eq(core.failed), busy[c].eq(core.busy),
            ]
            m.d.sync += core.halt.eq((failed & ~(1 << c)).any() & ~control.launch)
        scu = self._scu(m, control, l2) if config.scu else None
        exchange = self._exchange(m, control, cores) if config.exchanges else None
        # The lowest of the cores that fail in the same cycle is reported. A core that fails while
        # the GPU is being stopped is not reported.
        first_failed = Signal(config.cores)
        reported = Signal(config.cores)
        m.d.comb += first_failed.eq(lowest(m, failed, name="lowest_failed"))
        with m.If(control.launch):
            m.d.sync += reported.eq(0)
        with m.Elif(~reported.any()):
            m.d.sync += reported.eq(first_failed)
        chosen = Signal(config.cores)
        m.d.comb += chosen.eq(Mux(reported.any(), reported, first_failed))
        fault = Signal.like(control.fault)
        fault_core = Signal.like(control.fault_core)
        for c, core in enumerate(cores):
            with m.If(chosen[c]):
                m.d.comb += [fault.eq(core.fault), fault_core.eq(c)]
        m.d[Timing(config).later] += [control.fault.eq(fault), control.fault_core.eq(fault_core)]

        m.d.comb += [
            control.read.eq(self.host_read), control.write.eq(self.host_write),
            control.address.eq(self.host_address),
            control.write_data.eq(self.host_write_data),
            self.host_read_data.eq(control.read_data),
            self.busy.eq(control.busy), self.error.eq(control.failed),
            l2.flush.eq(control.flush), l2.invalidate.eq(control.invalidate),
            control.failed.eq(failed.any()),
        ]
        m.d[Timing(config).later] += [
            control.core_busy.eq(busy.any() | (exchange.busy if exchange is not None else 0)),
            control.l2_busy.eq(l2.busy | Cat(waiting).any()),
        ]
        if config.counters:
            self._counters(m, control, cores, l2, scu, exchange)
        return m

    def _exchange(self, m, control, cores):
        """Connects the control processor to the units of the cores."""
        m.submodules.exchange = exchange = ControlProcessor(self._config)
        m.d.comb += exchange.launch.eq(control.launch)
        for c, core in enumerate(cores):
            connect(m, flipped(core.exchange), exchange.core[c])
        return exchange

    def _scu(self, m, control, l2):
        """Connects the SCU to the host's registers and, after the last core, to the L2.
        """
        m.submodules.scu = scu = Scu(self._config)
        connect(m, scu.request, l2.request[-1])
        connect(m, l2.response[-1], scu.response)
        m.d.comb += [
            scu.read.eq(control.scu_read), scu.write.eq(control.scu_write),
            scu.address.eq(control.offset), scu.write_data.eq(self.host_write_data),
            control.scu_value.eq(scu.read_data), control.scu_busy.eq(scu.busy),
        ]
        return scu

    def _counters(self, m, control, cores, l2, scu, exchange):
        """The counters of each core and of the whole GPU, and their read-out by the host."""
        m.submodules.counters = counters = Counters(gpu_event_layout(self._config))
        m.d.comb += [
            counters.clear.eq(control.clear),
            counters.read.eq(control.gpu_read), counters.index.eq(control.offset[2:]),
            counters.events.l2_accesses.eq(l2.accesses),
            counters.events.l2_hits.eq(l2.hits),
            counters.events.dram_reads.eq(l2.memory_reads),
            counters.events.dram_writes.eq(l2.memory_writes),
        ]
        if scu is not None:
            m.d.comb += [counters.events[name].eq(scu.events[event])
                         for name, event in SCU_EVENTS.items()]
            m.d.comb += counters.events.scu_beside.eq(scu.busy & control.running)
        if exchange is not None:
            m.d.comb += [counters.events[name].eq(exchange.events[name])
                         for name in exchange.events.shape().members]
        # Each core's block of registers begins at a multiple of the block's size.
        place = control.address[:BLOCK_BITS]
        value = Signal(32)
        chosen = Signal(range(len(cores)))
        of_core = Signal()
        of_warp = Signal()
        m.d.sync += [chosen.eq(control.core), of_core.eq(control.core_read),
                     of_warp.eq(place >= WARP_OFFSET)]
        m.d.comb += control.counter_value.eq(Mux(of_core, value, counters.value))
        for c, core in enumerate(cores):
            m.submodules[f"counters_{c}"] = counters = Counters(event_layout(self._config))
            mine = Signal(name=f"reads_{c}")
            m.d.comb += [
                mine.eq(control.core_read & (control.core == c)),
                counters.clear.eq(control.clear), counters.events.eq(core.events),
                counters.read.eq(mine), counters.index.eq(place[2:]),
                core.clear.eq(control.clear), core.read.eq(mine),
                core.index.eq((place - WARP_OFFSET)[2:]),
            ]
            with m.If(chosen == c):
                m.d.comb += value.eq(Mux(of_warp, core.value, counters.value))


class Gpu(wiring.Component):
    """The GPU.

    A core is a black box here. The Verilog of a core is emitted once for any number of cores.

    Members
    -------
    host_read, host_write : In(1)
    host_address : In(ADDRESS_BITS)
    host_write_data, host_read_data : In(32), Out(32)
        Host register port (:class:`hw.control.ControlPort`).
    busy : Out(1)
        A launch, a flush or an operation of the SCU is under way.
    error : Out(1)
        The last launch stopped with an error.
    memory_request : Out(stream(memory_request_layout))
        The memory answers reads by tag, in any order, and does not answer writes. A read sees the
        writes requested before the read.
    memory_response : In(stream(memory_response_layout))
        With several memory ports ``memory_0_request`` and so on
        (:func:`hw.memory.port.memory_ports`). All requests for a line are at one port
        (:func:`hw.memory.port.port_of_line`), so the promise of order is each port's own.
    trace_0, … : Out(trace_layout)
        The trace port of each core; only with ``config.trace``.

    Attributes
    ----------
    black_boxes : dict
        Further components whose Verilog is needed, by the name of their module.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        self.black_boxes = {CORE_MODULE: Core(config)}
        super().__init__({
            **_ports(config),
            **{f"trace_{core}": Out(trace_layout(config))
               for core in range(config.cores if config.trace else 0)},
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.uncore = uncore = Uncore(config)
        m.d.comb += [
            uncore.host_read.eq(self.host_read), uncore.host_write.eq(self.host_write),
            uncore.host_address.eq(self.host_address),
            uncore.host_write_data.eq(self.host_write_data),
            self.host_read_data.eq(uncore.host_read_data),
            self.busy.eq(uncore.busy), self.error.eq(uncore.error),
        ]
        for name in config.port_names("memory"):
            request, response = f"{name}_request", f"{name}_response"
            connect(m, getattr(uncore, request), flipped(getattr(self, request)))
            connect(m, flipped(getattr(self, response)), getattr(uncore, response))
        for c in range(config.cores):
            trace = {"trace": getattr(self, f"trace_{c}")} if config.trace else {}
            m.submodules[f"core_{c}"] = _black_box(
                CORE_MODULE, flipped(getattr(uncore, f"core_{c}")), **trace)
        return m
