# amaranth: UnusedElaboratable=no
"""A board's system: GPU, host link and memory, without the parts that differ between FPGAs."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.config import ConfigError, HardwareConfig
from hw.link.linked_gpu import LinkedGpu
from hw.link.frames import check_divisor
from hw.link.share import shared_request_layout, shared_response_layout
from hw.memory.block import BlockMemory
from hw.sdram.controller import SdramController
from hw.sdram.pins import Pins
from hw.sdram.timing import SLOWEST, SdramTiming


__all__ = ["BLOCK_BYTES", "BoardSystem", "bit_cycles"]


#: Largest memory of block RAM, in bytes.
BLOCK_BYTES = 1 << 18


def bit_cycles(frequency, baud) -> int:
    """Cycles of a bit on the serial line, for a clock frequency in MHz.

    Raises ConfigError if the line cannot be that slow or fast, or if its rate would be off by more
    than 2 %. A byte would not survive a larger deviation.
    """
    cycles = max(1, round(1e6 * frequency / baud))
    got = 1e6 * frequency / cycles
    if abs(got / baud - 1) > 0.02:
        raise ConfigError(f"a clock of {frequency:g} MHz cannot give {baud:.0f} baud: {cycles} "
                          f"cycles a bit give {got:.0f} baud")
    try:
        check_divisor(cycles)
    except ValueError as error:
        raise ConfigError(f"a clock of {frequency:g} MHz cannot give {baud:.0f} baud: "
                          f"{error}") from None
    return cycles


class BoardSystem(wiring.Component):
    """GPU, link, and either an SDRAM controller or a memory of block RAM.

    Parameters
    ----------
    config : HardwareConfig
        Its ``memory_bytes`` are at most the size of the SDRAM, or :data:`BLOCK_BYTES`.
    frequency : float
        Frequency of the clock, in MHz.
    baud : int
        Bits a second on the serial line.
    memory : str
        ``"sdram"`` or ``"bram"``.
    timing, cas_latency, io_delay
        As for the :class:`SdramController`.

    Members
    -------
    rx, tx : In(1), Out(1)
        The serial line, as for the :class:`LinkedGpu`.
    busy, error, opened : Out(1)
        As for the :class:`LinkedGpu`.
    pins : Out(Pins)
        The pins of the SDRAM; only with ``memory="sdram"``.

    Attributes
    ----------
    black_boxes : dict
        As for the :class:`~hw.gpu.Gpu`.

    Raises
    ------
    ConfigError
        A parameter is not legal, or the clock cannot give the rate of the line.
    """
    def __init__(self, config: HardwareConfig, *, frequency, baud, memory="sdram",
                 timing: SdramTiming = SLOWEST, cas_latency=2, io_delay=0):
        request, response = shared_request_layout(config), shared_response_layout(config)
        if memory == "sdram":
            self._memory = SdramController(
                config, frequency=frequency, timing=timing, cas_latency=cas_latency,
                io_delay=io_delay, tag_bits=request["tag"].width)
        elif memory == "bram":
            if config.memory_bytes > BLOCK_BYTES:
                raise ConfigError(f"HardwareConfig: memory_bytes = {config.memory_bytes}: block "
                                  f"RAM holds at most {BLOCK_BYTES}")
            self._memory = BlockMemory(request, response,
                                       config.memory_bytes // config.line_bytes)
        else:
            raise ConfigError(f"memory is {memory!r}, must be 'sdram' or 'bram'")
        self._linked = LinkedGpu(config, bit_cycles(frequency, baud), round(1e6 * frequency))
        self.black_boxes = self._linked.black_boxes
        super().__init__({
            "rx": In(1, init=1), "tx": Out(1, init=1),
            "busy": Out(1), "error": Out(1), "opened": Out(1),
            **({"pins": Out(Pins)} if memory == "sdram" else {}),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.linked = linked = self._linked
        m.submodules.memory = memory = self._memory
        connect(m, linked.memory_request, memory.request)
        connect(m, memory.response, linked.memory_response)
        m.d.comb += [
            linked.rx.eq(self.rx), self.tx.eq(linked.tx),
            self.busy.eq(linked.busy), self.error.eq(linked.error),
            self.opened.eq(linked.opened),
        ]
        if hasattr(self, "pins"):
            connect(m, memory.pins, flipped(self.pins))
        return m
