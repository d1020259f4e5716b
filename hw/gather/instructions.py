"""The instructions that several units have."""

from hw.instruction import gather
from hw.operations import Format, GatherOp


__all__ = ["DEC", "DEC_ID", "DEC_LOC", "REG", "SET", "SKIP", "WEAVER"]


SET = gather("gather.set", Format.R4, GatherOp.SET, 0, "1",
             "setting imm of the unit = rs1 of lane 0", numbered=True)
REG = gather("weaver.reg", Format.R4, GatherOp.REG, 1, "123",
             "register (VID, loc, degree) = (rs1, rs2, rs3) in this lane's entry of row W + imm, "
             "W = number of the warp", numbered=True)
SKIP = gather("weaver.skip", Format.R4, GatherOp.SKIP, 2, "1",
              "hand out no more work of VID rs1")
DEC_ID = gather("weaver.dec_id", Format.R, GatherOp.DEC_ID, 7, "",
                "rd = VID of this lane's next work, or -1 if there is none",
                writes=True, control=True)
DEC_LOC = gather("weaver.dec_loc", Format.R, GatherOp.DEC_LOC, 8, "",
                 "rd = edge ID of this lane's work from the last DEC_ID, -1 if there was none",
                 writes=True)
DEC = gather("weaver.dec", Format.R, GatherOp.DEC, 12, "",
             "rd = VID of this lane's next work, rs2 = 4 x its edge ID, or -1 in both if there "
             "is none; of a unit that reads the edges, rs2 = neighbour of the edge",
             writes=True, writes_rs2=True, control=True)

#: The instructions of a Weaver.
WEAVER = (REG, SKIP, DEC_ID, DEC_LOC, DEC)
