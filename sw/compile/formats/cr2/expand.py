"""The expand list: where the records of each vertex are (CR2, 3.3.4).

The list has the shape of compressed rows. A vertex's row has a pointer for each of its records.
A pointer is one word (figure 3.6), from the top: 1 bit, whether the record is of the inter-cluster
graph; the logarithm of its degree in as many bits as w + 1 values need; the number of the record in
its subgraph. A pointer has no cluster, since the vertex determines the cluster.
"""

import numpy as np

from base.errors import UserError

from sw.graph.compress import group


__all__ = ["expand_list", "fields", "pack", "unpack"]


def fields(warp_bits):
    """The numbers of bits of a pointer's degree and of its offset."""
    degree = warp_bits.bit_length()          # of w + 1 values: 0 to w
    return degree, 31 - degree


def pack(part, k, offsets, warp_bits):
    """Pointers to records of one subgraph.

    Raises
    ------
    UserError
        If an offset does not fit.
    """
    _, offset_bits = fields(warp_bits)
    offsets = np.asarray(offsets, dtype=np.uint32)
    if offsets.size and int(offsets.max()) >> offset_bits:
        raise UserError(f"format cr2: a subgraph of degree {1 << k} has more than "
                        f"{1 << offset_bits} records, too many for the expand list's pointers; "
                        f"build it with expand=no")
    return offsets | np.uint32(part << 31 | k << offset_bits)


def unpack(pointers, warp_bits):
    """``(part, k, offset)`` of pointers."""
    degree_bits, offset_bits = fields(warp_bits)
    pointers = np.asarray(pointers, dtype=np.uint32)
    return (pointers >> np.uint32(31),
            pointers >> np.uint32(offset_bits) & np.uint32((1 << degree_bits) - 1),
            pointers & np.uint32((1 << offset_bits) - 1))


def expand_list(geometry, owners):
    """The expand list.

    A vertex's pointers to the intra-cluster graph come first. In each part the largest degree comes
    first.

    Parameters
    ----------
    owners : list of (part, k, vertices)
        The vertex of each record, for the subgraphs in that order.

    Returns
    -------
    offsets : uint32[num_vertices + 1]
    pointers : uint32[records]
    """
    pointers = [pack(part, k, np.arange(len(vertices), dtype=np.uint32), geometry.warp_bits)
                for part, k, vertices in owners]
    return group(np.concatenate([vertices for _, _, vertices in owners]),
                 np.concatenate(pointers), geometry.num_vertices)
