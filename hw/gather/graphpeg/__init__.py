"""The unit that gathers edges and keeps vertex lists: GraphPEG (TACO 2021)."""

from amaranth.hdl import unsigned

from hw.gather.instructions import DEC, DEC_ID, SET
from hw.gather.variant import GatherVariant
from hw.inside import Inside
from hw.instruction import gather
from hw.operations import Format, GatherOp
from hw.bits import index_bits


__all__ = ["VARIANT"]


VARIANT = GatherVariant(
    name="graphpeg", title="GraphPEG", component="GraphPeg",
    doc="a unit that also keeps the lists of vertices",
    instructions=(
        SET, DEC_ID, DEC,
        gather("graphpeg.push_vert", Format.R4, GatherOp.PUSH, 3, "1",
               "append rs1 of the active lanes, in their order, to the output list"),
        gather("graphpeg.neighbor", Format.R, GatherOp.NEIGHBOR, 9, "",
               "rd = neighbour of this lane's edge from the last DEC_ID", writes=True),
        gather("graphpeg.weight", Format.R, GatherOp.WEIGHT, 10, "",
               "rd = weight of this lane's edge from the last DEC_ID", writes=True),
        gather("graphpeg.pop_vert", Format.R, GatherOp.POP_VERT, 11, "",
               "rd = next vertex of the input list for this lane, or -1 if there is none",
               writes=True, control=True),
    ),
    settings=("alwt_entries", "gather_requests", "edge_buffer_rows", "graphpeg_filter"),
    reads_memory=True, exchanges=True,
    tag=lambda config: unsigned(index_bits(config.gather_requests)),
    shown=(
        Inside("current entry: vertex", "edges", "vertex", "number"),
        Inside("current entry: next edge", "edges", "edge", "number"),
        Inside("current entry: edges left", "edges", "left", "number"),
        Inside("lanes filled", "edges", "filled", "number"),
        Inside("ALWT: start indices", "table", "sindices", "entries", ("sindex",)),
        Inside("ALWT: end indices", "table", "eindices", "entries", ("eindex",)),
        Inside("edge buffer: neighbours", "buffer", "neighbors", "entries", ("neighbour",)),
    ))
