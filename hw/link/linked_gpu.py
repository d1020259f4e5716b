# amaranth: UnusedElaboratable=no
"""The GPU with its host link, and one memory port for both."""

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.config import ConfigError, HardwareConfig
from hw.gpu import Gpu
from hw.link.frames import check_divisor
from hw.link.link import Link
from hw.link.share import MemoryShare, shared_request_layout, shared_response_layout


__all__ = ["LinkedGpu"]


class LinkedGpu(wiring.Component):
    """The GPU, reached through a serial line.

    Parameters
    ----------
    config : HardwareConfig
    divisor : int
        Cycles of a bit on the line.
    clock_hz : int
        Clock frequency in Hz, which the board reports to the host.

    Members
    -------
    rx : In(1)
        From the host. Asynchronous; high while the line is idle.
    tx : Out(1)
        To the host, from a register.
    memory_request : Out(stream(shared_request_layout))
    memory_response : In(stream(shared_response_layout))
        The memory port, as for the :class:`~hw.gpu.Gpu`, with one more bit of tag
        (:func:`hw.link.share.shared_request_layout`).
    busy, error : Out(1)
        As for the :class:`~hw.gpu.Gpu`.
    opened : Out(1)
        A host has opened the link since the reset.

    Attributes
    ----------
    black_boxes : dict
        As for the :class:`~hw.gpu.Gpu`.

    Raises
    ------
    ConfigError
        The GPU has several memory ports.
    """
    def __init__(self, config: HardwareConfig, divisor, clock_hz):
        if config.memory_ports > 1:
            raise ConfigError(f"HardwareConfig: memory_ports = {config.memory_ports}: must be 1 on "
                              "a board, which has one memory")
        check_divisor(divisor)
        self._config = config
        self._gpu, self._link = Gpu(config), Link(config, divisor, clock_hz)
        self.black_boxes = self._gpu.black_boxes
        super().__init__({
            "rx": In(1, init=1), "tx": Out(1, init=1),
            "memory_request": Out(stream.Signature(shared_request_layout(config))),
            "memory_response": In(stream.Signature(shared_response_layout(config))),
            "busy": Out(1), "error": Out(1), "opened": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.link = link = self._link
        m.submodules.share = share = MemoryShare(self._config)
        # The GPU has the same clock and a separate reset. The reset comes from a register, because
        # it has a large fan-out.
        m.domains.gpu = ClockDomain("gpu", local=True)
        held = Signal(init=1, reset_less=True)
        m.d.sync += held.eq(ResetSignal() | link.reset)
        m.d.comb += [ClockSignal("gpu").eq(ClockSignal()), ResetSignal("gpu").eq(held)]
        m.submodules.gpu = DomainRenamer("gpu")(self._gpu)
        gpu = self._gpu
        m.d.comb += [
            link.rx.eq(self.rx), self.tx.eq(link.tx),
            gpu.host_read.eq(link.read), gpu.host_write.eq(link.write),
            gpu.host_address.eq(link.address), gpu.host_write_data.eq(link.write_data),
            link.read_data.eq(gpu.host_read_data),
            share.hold.eq(held), link.drained.eq(share.idle),
            self.busy.eq(gpu.busy), self.error.eq(gpu.error), self.opened.eq(link.session != 0),
        ]
        connect(m, gpu.memory_request, share.gpu_request)
        connect(m, share.gpu_response, gpu.memory_response)
        connect(m, link.request, share.link_request)
        connect(m, share.link_response, link.response)
        connect(m, share.memory_request, flipped(self.memory_request))
        connect(m, flipped(self.memory_response), share.memory_response)
        return m
