"""The interface between a core and the rest of the GPU."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.counters import event_layout
from hw.gather.interface import exchange_signature
from hw.isa import Cause
from hw.memory.port import core_request_layout, core_response_layout
from hw.registers import BLOCK_BITS, Checks


__all__ = ["checks_layout", "core_signature", "fault_layout"]


def checks_layout(config: HardwareConfig):
    """Checks of a launch, beside the errors that always stop it (:class:`hw.registers.Checks`).

    Members
    -------
    lanes : unsigned(1)
        That active lanes agree at branches.
    stack : unsigned
        That these bits of the stack pointer stay. The lowest of them is that of the smallest stack,
        the highest that of global memory.
    """
    return data.StructLayout({
        "lanes": 1,
        "stack": ceil_log2(config.memory_bytes) - ceil_log2(Checks.LEAST_STACK),
    })


def fault_layout(config: HardwareConfig):
    """Cause and place of an error.

    Members
    -------
    cause : Cause
        What failed.
    warp, lane : unsigned
        Where. ``lane`` is the lane of a memory access or a stack, else 0.
    pc : unsigned(32)
        PC of the instruction that failed.
    address : unsigned(32)
        Memory address, PC, barrier, instruction word or lanes that failed.
    """
    return data.StructLayout({
        "cause": Cause, "warp": index_bits(config.warps), "lane": index_bits(config.threads),
        "pc": 32, "address": 32,
    })


def core_signature(config: HardwareConfig):
    """The members of :class:`hw.core.core.Core`, except the trace port, with the core's directions.

    The inputs of a core come from registers or from the host. So they do not depend on what the
    cores do in the same cycle. The exception is ``request.ready``, which has an effect only at the
    end of the cycle. So a simulator can evaluate the cores side by side, each once a cycle.
    """
    pc_bits = ceil_log2(config.imem_bytes)
    return wiring.Signature({
        "number": In(index_bits(config.cores)),
        "launch": In(1), "entry": In(pc_bits), "argument": In(32),
        "checks": In(checks_layout(config)),
        "write": In(1), "write_address": In(pc_bits - 2), "write_data": In(32),
        "request": Out(stream.Signature(core_request_layout(config))),
        "response": In(stream.Signature(core_response_layout(config))),
        "running": In(1), "halt": In(1), "busy": Out(1),
        "failed": Out(1), "fault": Out(fault_layout(config)),
        "events": Out(event_layout(config)),
        "clear": In(1), "read": In(1), "index": In(BLOCK_BITS - 2), "value": Out(32),
        **({"exchange": Out(exchange_signature())} if config.exchanges else {}),
    })
