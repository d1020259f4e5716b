"""Layouts of the requests and answers at the L2 and at the memory ports."""

from amaranth.hdl import Cat, Const
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.operations import AmoOp


__all__ = ["LineOp", "line_layout", "core_tag_layout", "core_request_layout",
           "core_response_layout", "memory_ports", "memory_tag_bits", "memory_request_layout",
           "memory_response_layout", "plain_connect", "plain_ports", "port_of_line",
           "sector_bytes_of", "sectors_of", "sectors_written"]


#: Bits of the tag's ``mshr`` that the SCU uses.
SCU_TAG_BITS = 10


class LineOp(enum.Enum, shape=2):
    """Operation on a line at the L2."""
    READ   = 0     # the answer is the line
    WRITE  = 1     # writes the bytes of the mask; no answer
    ATOMIC = 2     # the words of the mask; the answer, if wanted, is the line before the operation


def line_layout(config: HardwareConfig):
    """A line as an array of 32-bit words."""
    return data.ArrayLayout(32, config.line_words)


def sectors_of(config: HardwareConfig, mask):
    """The sectors that have a byte of ``mask``. A line that is not divided is one sector, which
    every request has."""
    if config.sectors == 1:
        return Const(1, 1)
    return Cat(_of_sector(config, mask, s).any() for s in range(config.sectors))


def sectors_written(config: HardwareConfig, mask):
    """The sectors all of whose bytes are in ``mask``."""
    return Cat(_of_sector(config, mask, s).all() for s in range(config.sectors))


def sector_bytes_of(config: HardwareConfig, sectors):
    """The byte mask of some sectors."""
    return Cat(sectors[s].replicate(config.line_bytes // config.sectors)
               for s in range(config.sectors))


def _of_sector(config, mask, sector):
    size = config.line_bytes // config.sectors
    return mask[sector * size:(sector + 1) * size]


def core_tag_layout(config: HardwareConfig):
    """Tag of a request, which leads the answer back to the requester.

    Members
    -------
    core : unsigned
        The requester, filled in on the way to the L2. The SCU has the number after the last core's.
    bank : unsigned
        The bank of the core's L1.
    atomic : unsigned(1)
        Whether ``slot`` and ``lane`` count, and not ``mshr``.
    mshr : unsigned
        The miss in the bank. The SCU uses it freely.
    slot, lane : unsigned
        The load slot and the lane of an atomic whose old value is wanted.
    """
    mshr = index_bits(config.l1_mshrs // config.l1_banks)
    return data.StructLayout({
        "core": ceil_log2(config.requesters),
        "bank": ceil_log2(config.l1_banks),
        "atomic": 1,
        "mshr": max(mshr, SCU_TAG_BITS) if config.scu else mshr,
        "slot": index_bits(config.load_queue),
        "lane": index_bits(config.threads),
    })


def core_request_layout(config: HardwareConfig):
    """A core's request.

    Members
    -------
    op : LineOp
        What is done to the line.
    amo : AmoOp
        For ATOMIC: the operation.
    wanted : unsigned(1)
        For ATOMIC: whether there is an answer, with the old line.
    once : unsigned(1)
        The line is not wanted again soon; only with an SCU or ``load_hints``.
    line : unsigned
        The byte address / line size.
    data : line_layout
        A line. For ATOMIC, it holds an operand at the place of each word. CAS has one word. The
        word beside it, whose number differs in the lowest bit, is the value to compare with.
    mask : unsigned(line_bytes)
        The bytes that are written. For ATOMIC the bytes of the words: of one word, unless the
        configuration has atomics of whole lines. For READ, bytes of the wanted sectors, and no
        meaning if lines are not divided.
    tag : core_tag_layout
        Comes back with the answer.
    """
    return data.StructLayout({
        "op": LineOp,
        "amo": AmoOp,
        "wanted": 1,
        **({"once": 1} if config.tells_once else {}),
        "line": 32 - config.line_bits,
        "data": line_layout(config),
        "mask": config.line_bytes,
        "tag": core_tag_layout(config),
    })


def core_response_layout(config: HardwareConfig):
    """The L2's answer to a READ or to a wanted ATOMIC, in any order.

    Members
    -------
    tag : core_tag_layout
        Of the request.
    data : line_layout
        The line, with any value in sectors that the request does not name.
    """
    return data.StructLayout({
        "tag": core_tag_layout(config),
        "data": line_layout(config),
    })


def memory_ports(config: HardwareConfig):
    """The members of a component for its memory ports: ``memory_request`` and ``memory_response``,
    or with several ports ``memory_0_request`` and so on (:meth:`HardwareConfig.port_names`)."""
    request, response = memory_request_layout(config), memory_response_layout(config)
    return {f"{name}_{member}": port for name in config.port_names("memory")
            for member, port in (("request", Out(stream.Signature(request))),
                                 ("response", In(stream.Signature(response))))}


def port_of_line(config: HardwareConfig, line):
    """The number of the memory port that a line, given by byte address / line size, belongs to.

    The lowest bits of a line's address name its bank of the L2. Of these, the upper ones name the
    port. So as many consecutive lines as a port has banks belong to one port.
    """
    return line // config.port_banks % config.memory_ports


def memory_tag_bits(config: HardwareConfig):
    """Bits of a tag at a memory port: the bank among the port's banks, and the MSHR."""
    return ceil_log2(config.l2_mshrs) + ceil_log2(config.port_banks)


def memory_request_layout(config: HardwareConfig, tag_bits=None):
    """A request at a memory port of the GPU. ``tag_bits`` is the width of the tag at a port that
    the GPU shares with other requesters.

    Members
    -------
    write : unsigned(1)
        Whether it is a write, which has no answer.
    line : unsigned
        The byte address / line size.
    data : line_layout
        Of a write: the line.
    mask : unsigned(line_bytes)
        The bytes that are written, or for a read those that are wanted: of a GPU, whole sectors,
        and so whole lines if these are not divided.
    tag : unsigned(tag_bits)
        Comes back with the answer.
    """
    return data.StructLayout({
        "write": 1,
        "line": 32 - config.line_bits,
        "data": line_layout(config),
        "mask": config.line_bytes,
        "tag": memory_tag_bits(config) if tag_bits is None else tag_bits,
    })


def memory_response_layout(config: HardwareConfig, tag_bits=None):
    """The memory's answer to a read, in any order; ``tag_bits`` as for the request.

    Members
    -------
    tag : unsigned(tag_bits)
        Of the request.
    data : line_layout
        The line. Bytes that the request did not want have any value.
    """
    return data.StructLayout({
        "tag": memory_tag_bits(config) if tag_bits is None else tag_bits,
        "data": line_layout(config),
    })


def plain_ports(config: HardwareConfig, name, tag_bits=None):
    """The members of a component that has a plain port for each field of a memory port, for use
    from other languages: ``NAME_req_valid`` and so on. ``tag_bits`` as for the request."""
    line, tag = 8 * config.line_bytes, memory_tag_bits(config) if tag_bits is None else tag_bits
    return {f"{name}_{port}": member for port, member in {
        "req_valid": Out(1), "req_ready": In(1), "req_write": Out(1),
        "req_line": Out(32 - config.line_bits), "req_data": Out(line),
        "req_mask": Out(config.line_bytes), "req_tag": Out(tag),
        "rsp_valid": In(1), "rsp_ready": Out(1), "rsp_tag": In(tag), "rsp_data": In(line),
    }.items()}


def plain_connect(m, component, name, request, response):
    """Connect the plain ports of a component to the streams of a memory port inside it."""
    def plain(port):
        return getattr(component, f"{name}_{port}")

    asked, answer = request.payload, response.payload
    m.d.comb += [
        plain("req_valid").eq(request.valid), request.ready.eq(plain("req_ready")),
        plain("req_write").eq(asked.write), plain("req_line").eq(asked.line),
        plain("req_data").eq(asked.data.as_value()), plain("req_mask").eq(asked.mask),
        plain("req_tag").eq(asked.tag),
        response.valid.eq(plain("rsp_valid")), plain("rsp_ready").eq(response.ready),
        answer.tag.eq(plain("rsp_tag")), answer.data.as_value().eq(plain("rsp_data")),
    ]
