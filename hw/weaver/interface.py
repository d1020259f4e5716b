"""What passes between a core and its Weaver: one request and one response stream."""

from amaranth.hdl import unsigned
from amaranth.lib import data
from amaranth.utils import ceil_log2

from hw.operations import WeaverOp


__all__ = ["warp_shape", "request_layout", "response_layout"]


def warp_shape(config):
    """The shape of a warp number; at least one bit wide."""
    return unsigned(max(1, ceil_log2(config.warps)))


def request_layout(config):
    """Payload of a Weaver instruction on its way in.

    Parameters
    ----------
    config : HardwareConfig
        Gives the number of warps and lanes.

    Members
    -------
    vid, loc, degree : ArrayLayout(32, threads)
        Operands rs1, rs2 and rs3: the vertex ID (REG and SKIP), the position of its first edge
        and the number of its edges (REG).
    op : WeaverOp
        Which instruction.
    warp : unsigned
        The warp that issued it.
    rd : unsigned(5)
        Destination register; travels through to the response.
    mask : unsigned(threads)
        Lanes that take part. DEC_ID ignores it, as it activates all lanes.
    """
    lanes = data.ArrayLayout(32, config.threads)
    # Whole words first: simulators handle them faster when they are aligned.
    return data.StructLayout({
        "vid": lanes,
        "loc": lanes,
        "degree": lanes,
        "op": WeaverOp,
        "warp": warp_shape(config),
        "rd": 5,
        "mask": config.threads,
    })


def response_layout(config):
    """Payload of an answer to DEC_ID or DEC_LOC.

    Parameters
    ----------
    config : HardwareConfig
        Gives the number of warps and lanes.

    Members
    -------
    data : ArrayLayout(32, threads)
        VIDs for DEC_ID, EIDs for DEC_LOC; all ones in lanes without work.
    warp : unsigned
        The warp that asked.
    rd : unsigned(5)
        The register it asked for.
    set_mask : unsigned(1)
        Whether ``mask`` becomes the thread mask of the warp (the answer to a DEC_ID does so).
    mask : unsigned(threads)
        Lanes that write ``rd``, and with ``set_mask`` lanes that are active from now on.
    """
    return data.StructLayout({
        "data": data.ArrayLayout(32, config.threads),
        "warp": warp_shape(config),
        "rd": 5,
        "set_mask": 1,
        "mask": config.threads,
    })
