# amaranth: UnusedElaboratable=no
"""The GPU with plain ports, and the GPU's Verilog as one text or in parts for a simulator."""

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.config import HardwareConfig
from hw.core.core import Core
from hw.core.interface import core_signature
from hw.core.trace import trace_layout
from hw.emit import verilog as emit
from hw.gpu import CORE_MODULE, Gpu, Uncore
from hw.memory.port import plain_connect, plain_ports
from hw.registers import ADDRESS_BITS


__all__ = ["FlatGpu", "parts", "verilog"]


class FlatGpu(wiring.Component):
    """The GPU with a plain port for each field of a memory port, for use from other languages.

    Parameters
    ----------
    config : HardwareConfig
    cores : bool
        Whether the cores are inside. If not, the ports that lead to the cores are members.

    Members
    -------
    host_read, host_write : In(1)
    host_addr : In(ADDRESS_BITS)
    host_wdata, host_rdata : In(32), Out(32)
        Host register port. ``host_rdata`` is valid in the cycle after ``host_read``.
    busy, error : Out(1)
        A launch, a flush or an operation of the SCU is under way; the last launch failed.
    mem_req_valid, mem_req_ready, mem_req_write : Out(1), In(1), Out(1)
    mem_req_line : Out(32 - line_bits)
    mem_req_data, mem_req_mask : Out(8 * line_bytes), Out(line_bytes)
    mem_req_tag : Out(memory_tag_bits)
        Line requests. ``mem_req_line`` is the byte address divided by the line size.
    mem_rsp_valid, mem_rsp_ready : In(1), Out(1)
    mem_rsp_tag, mem_rsp_data : In(memory_tag_bits), In(8 * line_bytes)
        Answers to reads, in any order. With several memory ports the names are ``mem_0_req_valid``
        and so on, with the port's number.
    trace_words : Out(cores * size of a record)
        The records of all cores (:func:`hw.core.trace.trace_layout`), core 0 first; only with
        ``config.trace``, and only if the cores are inside.
    core_0, … : In(core_signature)
        The interface of each core (:func:`hw.core.interface.core_signature`); only if the cores
        are not inside.

    Attributes
    ----------
    black_boxes : dict
        As for the :class:`~hw.gpu.Gpu`.
    """
    def __init__(self, config: HardwareConfig, *, cores=True):
        self._config, self._cores = config, cores
        self._gpu = Gpu(config) if cores else Uncore(config)
        self.black_boxes = getattr(self._gpu, "black_boxes", {})
        super().__init__({
            "host_read": In(1), "host_write": In(1), "host_addr": In(ADDRESS_BITS),
            "host_wdata": In(32), "host_rdata": Out(32), "busy": Out(1), "error": Out(1),
            **{name: member for port in config.port_names("mem")
               for name, member in plain_ports(config, port).items()},
            **({"trace_words": Out(config.cores * trace_layout(config).size)}
               if cores and config.trace else {}),
            **{f"core_{core}": In(core_signature(config))
               for core in range(0 if cores else config.cores)},
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.gpu = gpu = self._gpu
        m.d.comb += [
            gpu.host_read.eq(self.host_read), gpu.host_write.eq(self.host_write),
            gpu.host_address.eq(self.host_addr), gpu.host_write_data.eq(self.host_wdata),
            self.host_rdata.eq(gpu.host_read_data),
            self.busy.eq(gpu.busy), self.error.eq(gpu.error),
        ]
        for inner, port in zip(self._config.port_names("memory"), self._config.port_names("mem")):
            plain_connect(m, self, port, getattr(gpu, f"{inner}_request"),
                          getattr(gpu, f"{inner}_response"))
        if not self._cores:
            for core in range(self._config.cores):
                name = f"core_{core}"
                connect(m, getattr(gpu, name), flipped(getattr(self, name)))
        elif self._config.trace:
            m.d.comb += self.trace_words.eq(Cat(
                getattr(gpu, f"trace_{i}").as_value() for i in range(self._config.cores)))
        return m


def verilog(config: HardwareConfig) -> str:
    """Verilog of the GPU; the top module is ``graphloom_gpu``.

    Equal configurations give equal text.
    """
    gpu = FlatGpu(config)
    return emit({"graphloom_gpu": gpu, **gpu.black_boxes})


def parts(config: HardwareConfig) -> tuple[str, str]:
    """Verilog of the GPU without its cores, and Verilog of one core.

    The GPU's top module is ``graphloom_gpu``.
    """
    return (emit({"graphloom_gpu": FlatGpu(config, cores=False)}),
            emit({CORE_MODULE: Core(config)}))
