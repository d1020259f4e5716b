"""The signature of a unit that hands out edges, and the payloads of its two streams."""

from amaranth.hdl import unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.operations import GatherOp


__all__ = ["BalancingControl", "BalancingState", "access_layout", "entry_layout",
           "event_layout", "exchange_signature", "fetched_layout", "request_layout",
           "response_layout", "row_shape", "tag_shape", "unit_signature", "warp_shape"]


#: Bits of the distance from a warp's number to a row that it registers.
_DISTANCE_BITS = 5


def warp_shape(config):
    """Shape of a warp number, at least one bit wide."""
    return unsigned(max(1, ceil_log2(config.warps)))


def row_shape(config):
    """Shape of the number of a row that a REG can name."""
    return range(config.warps + (1 << _DISTANCE_BITS) - 1)


def request_layout(config):
    """Payload of the request stream: one instruction.

    Parameters
    ----------
    config : HardwareConfig
        Gives the number of warps and lanes.

    Members
    -------
    vid, loc, degree : ArrayLayout(32, threads)
        Operands rs1, rs2 and rs3. ``vid`` is the vertex ID (REG and SKIP), ``loc`` the position
        of the vertex's first edge (REG), ``degree`` the number of its edges (REG).
    op : GatherOp
        The instruction. SET has a value in lane 0 of ``vid``, PUSH has vertices there.
    warp : unsigned
        The warp that issued it.
    rd, rd2 : unsigned(5)
        Destination registers; ``rd2`` of a DEC only. Responses carry the same numbers. A REG has
        the distance of its row from the warp's number in ``rd``, a SET the number of a setting.
    mask : unsigned(threads)
        Lanes that take part. DEC_ID, DEC and POP_VERT ignore the mask: any lane may get work.
    """
    lanes = data.ArrayLayout(32, config.threads)
    # Whole words come first: simulators handle aligned words faster.
    return data.StructLayout({
        "vid": lanes,
        "loc": lanes,
        "degree": lanes,
        "op": GatherOp,
        "warp": warp_shape(config),
        "rd": _DISTANCE_BITS,
        "rd2": 5,
        "mask": config.threads,
    })


def response_layout(config):
    """Payload of the response stream: the answer to an instruction that writes a register, or a
    part of the answer to a DEC. The VIDs of a DEC come first; the addresses, or of a unit that
    reads the edges the neighbours, follow and set the mask.

    Parameters
    ----------
    config : HardwareConfig
        Gives the number of warps and lanes.

    Members
    -------
    data : ArrayLayout(32, threads)
        VIDs for DEC_ID, EIDs for DEC_LOC, both in turn for DEC, with the EIDs times 4; all ones in
        lanes without work.
    warp : unsigned
        The warp that made the request.
    rd : unsigned(5)
        Destination register: ``rd`` of the request, or ``rd2`` for the addresses of a DEC.
    set_mask : unsigned(1)
        Whether ``mask`` becomes the thread mask of the warp: 1 for DEC_ID and POP_VERT, and for the
        second part of a DEC, else 0.
    mask : unsigned(threads)
        Lanes that write ``rd``: all for the VIDs of a DEC. With ``set_mask``, the lanes that are
        active from now on.
    """
    return data.StructLayout({
        "data": data.ArrayLayout(32, config.threads),
        "warp": warp_shape(config),
        "rd": 5,
        "set_mask": 1,
        "mask": config.threads,
    })


def event_layout():
    """Events of a unit in a cycle, for the performance counters.

    Members
    -------
    decoded : unsigned(1)
        A DEC_ID or POP_VERT is answered, or a DEC gets its VIDs, or where the first part
        of its answer is at hand in any case, the second part.
    waiting : unsigned(1)
        At least one DEC_ID, POP_VERT or DEC waits for this.
    skipped : unsigned(32)
        Number of edges that a SKIP has cut off: they were registered and are never handed out.
    """
    return data.StructLayout({"decoded": 1, "waiting": 1, "skipped": 32})


def tag_shape(config):
    """Shape of the tag by which a unit that reads memory knows the data of its loads.

    The unit's record has it; at most 5 bits.
    """
    return config.unit.tag(config)


def access_layout(config):
    """An access of a unit that reads memory: a word a lane.

    Members
    -------
    address, data : ArrayLayout(32, threads)
        Byte addresses, multiples of 4, in global or local memory; and the words of a store.
    store : unsigned(1)
        Whether it is a store.
    once : unsigned(1)
        A load of edges, which are read once: the L1 need not keep the line (``load_hints``).
    tag : tag_shape(config)
        Comes back with the data of a load.
    warp : unsigned
        The warp for which it is made.
    mask : unsigned(threads)
        Lanes that take part, at least one.
    """
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({"address": lanes, "data": lanes, "store": 1, "once": 1,
                              "tag": tag_shape(config), "warp": warp_shape(config),
                              "mask": config.threads})


def fetched_layout(config):
    """The data of a load.

    Members
    -------
    data : ArrayLayout(32, threads)
        The words.
    tag, warp : tag_shape, unsigned
        Of the load.
    mask : unsigned(threads)
        The lanes that take part.
    """
    return data.StructLayout({"data": data.ArrayLayout(32, config.threads),
                              "tag": tag_shape(config), "warp": warp_shape(config),
                              "mask": config.threads})


def entry_layout():
    """An entry that cores exchange: edges of a vertex.

    Members
    -------
    vertex : unsigned(32)
        The base vertex.
    sindex, eindex : unsigned(32)
        Number of its first edge, and the number behind its last edge.
    """
    return data.StructLayout({"vertex": 32, "sindex": 32, "eindex": 32})


class BalancingControl(enum.Enum, shape=2):
    """Commands to a core's unit: the register RBC."""
    IDLE = 0
    ED   = 1       # edge donating: give edges of the largest entry
    ERS  = 2       # edge receiving standby: edges may come
    ER   = 3       # edge receiving: take the entry


class BalancingState(enum.Enum, shape=2):
    """Answers of a core's unit to ED: the register RBS."""
    IDLE    = 0
    GIVES   = 1    # the working registers have the entry that is given
    NOTHING = 2    # no entry has two edges


def exchange_signature():
    """The registers by which a core's unit and the control processor exchange edges, with the
    unit's directions. (The third working register, for the vertex, is ours.)

    Members
    -------
    refs : Out(32)
        REFS: edges that the unit has, and has not handed out.
    open : Out(1)
        The unit has started to gather edges, and may get more from other cores. The core has a
        warp.
    dry : Out(1)
        The unit is open, and all its edges are in rows, so it has none to give; or the core has no
        warp.
    room : Out(1)
        The unit has a place for an entry.
    rbc : In(BalancingControl)
        ED stays until the answer. ERS and ER come only while ``open`` and ``room``. ER is there for
        a cycle.
    rbs : Out(BalancingState)
        An answer stays until ``rbc`` is IDLE.
    rbw : Out(entry_layout)
        RBW0, RBW1 and RBW2: the entry that is given, with at least one edge.
    received : In(entry_layout)
        The entry of ER.
    over : In(1)
        All cores are dry, and no entry is on its way: the units close.
    """
    return wiring.Signature({
        "refs": Out(32), "open": Out(1), "dry": Out(1), "room": Out(1),
        "rbc": In(BalancingControl), "rbs": Out(BalancingState), "rbw": Out(entry_layout()),
        "received": In(entry_layout()), "over": In(1),
    })


def unit_signature(config):
    """The members of every unit that hands out edges, with the unit's directions.

    Members
    -------
    request : In(stream(request_layout))
        Instructions. No request waits behind a DEC_ID or POP_VERT that has no answer yet.
    response : Out(stream(response_layout))
        Answers, one for each register that an instruction writes.
    reset : In(1)
        Forget everything, responses on offer included. No request is accepted in the same cycle.
    events : Out(event_layout)
        Events of this cycle.

    Only of a unit that reads memory (``config.gather_reads``):

    access : Out(stream(access_layout))
        Accesses, performed in their order. They come behind all memory instructions that the core
        has issued before the access is on offer.
    fetched : In(stream(fetched_layout))
        Data of loads, in any order. Never waits for ``access``.
    busy : Out(1)
        An access, or an answer, is on offer or about to be.

    Only of a unit that exchanges edges (``config.exchanges``):

    exchange : Out(exchange_signature)
    """
    memory = {
        "access": Out(stream.Signature(access_layout(config))),
        "fetched": In(stream.Signature(fetched_layout(config))),
        "busy": Out(1),
    } if config.gather_reads else {}
    return wiring.Signature({
        "request": In(stream.Signature(request_layout(config))),
        "response": Out(stream.Signature(response_layout(config))),
        "reset": In(1),
        "events": Out(event_layout()),
        **memory,
        **({"exchange": Out(exchange_signature())} if config.exchanges else {}),
    })
