"""Payloads of the request and the response stream between a core and its Weaver."""

from amaranth.hdl import unsigned
from amaranth.lib import data
from amaranth.utils import ceil_log2

from hw.operations import WeaverOp


__all__ = ["warp_shape", "request_layout", "response_layout"]


def warp_shape(config):
    """Shape of a warp number, at least one bit wide."""
    return unsigned(max(1, ceil_log2(config.warps)))


def request_layout(config):
    """Payload of the request stream: one Weaver instruction.

    Parameters
    ----------
    config : HardwareConfig
        Gives the number of warps and lanes.

    Members
    -------
    vid, loc, degree : ArrayLayout(32, threads)
        Operands rs1, rs2 and rs3. ``vid`` is the vertex ID (REG and SKIP), ``loc`` the position
        of the vertex's first edge (REG), ``degree`` the number of its edges (REG).
    op : WeaverOp
        The instruction.
    warp : unsigned
        The warp that issued it.
    rd : unsigned(5)
        Destination register. The response carries the same number.
    mask : unsigned(threads)
        Lanes that take part. DEC_ID ignores the mask: any lane may get work.
    """
    lanes = data.ArrayLayout(32, config.threads)
    # Whole words come first: simulators handle aligned words faster.
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
    """Payload of the response stream: one answer to a DEC_ID or a DEC_LOC.

    Parameters
    ----------
    config : HardwareConfig
        Gives the number of warps and lanes.

    Members
    -------
    data : ArrayLayout(32, threads)
        VIDs for DEC_ID, EIDs for DEC_LOC; all ones in lanes without work.
    warp : unsigned
        The warp that made the request.
    rd : unsigned(5)
        Destination register of the request.
    set_mask : unsigned(1)
        Whether ``mask`` becomes the thread mask of the warp: 1 for DEC_ID, 0 for DEC_LOC.
    mask : unsigned(threads)
        Lanes that write ``rd``. With ``set_mask``, also the lanes that are active from now on.
    """
    return data.StructLayout({
        "data": data.ArrayLayout(32, config.threads),
        "warp": warp_shape(config),
        "rd": 5,
        "set_mask": 1,
        "mask": config.threads,
    })
