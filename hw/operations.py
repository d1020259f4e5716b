"""Instruction formats, execution units, and the operations of each unit.

Decoder, execution units, models and tools use these names. The table in :mod:`hw.isa` gives the
operation of each instruction.
"""

from amaranth.lib import enum


__all__ = ["Format", "Unit", "AluOp", "MulOp", "DivOp", "FloatOp", "FloatDivOp", "RoundingMode",
           "CrossOp", "BranchOp", "MemOp", "AmoOp", "WarpOp", "EdgeTest", "GatherOp",
           "GatherSetting", "InputMode", "NONE", "REGISTER"]


class Format(enum.Enum):
    """Instruction formats: which bits hold which operand."""
    R   = "R"      # rd, rs1, rs2
    R4  = "R4"     # rd or a number, rs1, rs2, rs3 (funct2 in bits 26:25)
    AMO = "AMO"    # rd, rs1, rs2; the acquire and release bits 26:25 are accepted and ignored
    I   = "I"      # rd, rs1, 12-bit immediate
    SH  = "SH"     # rd, rs1, 5-bit shift amount
    S   = "S"      # rs1, rs2, 12-bit immediate
    B   = "B"      # rs1, rs2, 13-bit PC-relative target
    U   = "U"      # rd, upper 20 bits
    J   = "J"      # rd, 21-bit PC-relative target
    CSR = "CSR"    # rd, rs1, 12-bit CSR number
    CSI = "CSI"    # rd, 5-bit unsigned immediate, 12-bit CSR number
    N   = "N"      # no operands


class Unit(enum.Enum, shape=4):
    """The execution unit an instruction is issued to."""
    ALU    = 0
    MUL    = 1
    LSU    = 2
    WARP   = 3
    GATHER = 4     # the unit that hands out edges (hw.gather)
    DIV    = 5
    CROSS  = 6     # votes and shuffles: between the lanes of a warp
    BRANCH = 7     # branches and jumps
    FLOAT  = 8     # floating point, but for division and roots


class AluOp(enum.Enum, shape=4):
    ADD   = 0
    SUB   = 1
    SLL   = 2
    SLT   = 3
    SLTU  = 4
    XOR   = 5
    SRL   = 6
    SRA   = 7
    OR    = 8
    AND   = 9
    LUI   = 10
    AUIPC = 11
    LINK  = 12     # PC + 4: the result of JAL and JALR
    CSRRW = 13
    CSRRS = 14
    CSRRC = 15


class MulOp(enum.Enum, shape=2):
    MUL    = 0
    MULH   = 1
    MULHSU = 2
    MULHU  = 3


class DivOp(enum.Enum, shape=2):
    DIV  = 0
    DIVU = 1
    REM  = 2
    REMU = 3


class FloatOp(enum.Enum, shape=4):
    """Operations of the floating-point pipeline. The values of the first four are bits: the sign of
    the product and the sign of the addend change."""
    MADD     = 0   # rs1 x rs2 + rs3
    MSUB     = 1
    NMSUB    = 2
    NMADD    = 3
    ADD      = 4
    SUB      = 5
    MUL      = 6
    TO_INT   = 7
    FROM_INT = 8
    SIGN     = 9   # sign injection
    SELECT   = 10  # minimum and maximum
    COMPARE  = 11
    CLASS    = 12


class FloatDivOp(enum.Enum, shape=3):
    """Serial operations on floats: operations of the divider beside those of :class:`DivOp`."""
    DIV  = 4
    SQRT = 5


class RoundingMode(enum.Enum, shape=3):
    """Rounding modes. The values are RISC-V's."""
    NEAREST = 0    # ties to even
    ZERO    = 1
    DOWN    = 2
    UP      = 3
    AWAY    = 4    # to nearest, ties away from zero
    DYNAMIC = 7    # in an instruction: the mode of the CSR FRM


class CrossOp(enum.Enum, shape=3):
    """Votes and shuffles. The values are the encodings' funct3."""
    ALL    = 0
    ANY    = 1
    UNI    = 2
    BALLOT = 3
    UP     = 4
    DOWN   = 5
    BFLY   = 6
    IDX    = 7


class BranchOp(enum.Enum, shape=4):
    """How an ALU instruction changes the PC. The values of the conditions are RISC-V's funct3."""
    BEQ  = 0
    BNE  = 1
    NONE = 2
    JAL  = 3
    BLT  = 4
    BGE  = 5
    BLTU = 6
    BGEU = 7
    JALR = 8


class MemOp(enum.Enum, shape=2):
    LOAD  = 0
    STORE = 1
    AMO   = 2
    FENCE = 3


class AmoOp(enum.Enum, shape=4):
    """Atomic read-modify-write operations: memory keeps the result, the old value is returned."""
    ADD  = 0
    SWAP = 1
    XOR  = 2
    OR   = 3
    AND  = 4
    MIN  = 5
    MAX  = 6
    MINU = 7
    MAXU = 8
    CAS  = 9       # stores the operand if the old value equals the compared value


class WarpOp(enum.Enum, shape=3):
    TMC   = 0
    SPLIT = 2
    JOIN  = 3
    BAR   = 4
    PRED  = 5
    TRAP  = 6      # ECALL and EBREAK; the immediate holds the cause


class GatherOp(enum.Enum, shape=4):
    """Operations of the units that hand out edges."""
    REG      = 0
    SKIP     = 1
    DEC_ID   = 2
    DEC_LOC  = 3
    DEC      = 4   # DEC_ID and DEC_LOC in one; the location becomes a byte address
    SET      = 5
    NEIGHBOR = 6   # the neighbour of the lane's last edge
    WEIGHT   = 7   # its weight
    POP_VERT = 8   # the next vertices of the input list
    PUSH     = 9   # vertices for the output list


class GatherSetting(enum.IntEnum, shape=5):
    """Settings of the units that read memory. A unit that is told the rows of local memory has
    settings 0 to 3; one that keeps lists has settings 0, 1 and from 4 on."""
    OFFSETS = 0    # distance from a vertex ID to the address of the vertex's offset
    WEIGHTS = 1    # distance from an edge's neighbour to its weight; 0 if there are no weights
    IDS     = 2    # address of the rows of vertex IDs in local memory
    RECORDS = 3    # address of the rows of records in local memory
    INPUT   = 4    # address of the input list; or the first vertex itself, see ``RANGE``
    OUTPUT  = 5    # address of the output list
    LIMIT   = 6    # vertices for which the output list has room
    COUNT   = 7    # address of the word that gets the number of vertices in the output list
    START   = 8    # number of vertices of the input, with the bits of InputMode; starts the unit
    CLOSE   = 9    # stores what is left of the output list, and the number of its vertices
    BOUND   = 10   # what words of neighbours are compared with, without ``EdgeTest.BASE``
    VALUES  = 11   # distance from a neighbour to the address of its word
    BASES   = 12   # distance from a base vertex to the address of its word
    TEST    = 13   # which edges are handed out: an EdgeTest


class EdgeTest(enum.IntFlag, shape=5):
    """Bits of the setting ``TEST``. The word of an edge's neighbour is compared with BOUND as
    numbers without a sign; edges are handed out for which one of the first three is so. If none of
    them is set, all edges are."""
    ABOVE  = 1      # the neighbour's word is larger
    BELOW  = 2      # the neighbour's word is smaller
    EQUAL  = 4      # both are equal
    BASE   = 8      # the word of the edge's base vertex takes the place of BOUND
    WEIGHT = 16     # the edge's weight is added to it; a sum beyond 32 bits becomes all ones


class InputMode(enum.IntFlag, shape=32):
    """Bits of the setting ``START`` above the number of vertices."""
    LIST     = 1 << 30    # POP_VERT hands the vertices out; their edges are not gathered
    RANGE    = 1 << 31    # the input is the vertices INPUT, INPUT + 4 and so on, not a list


#: VIDs in the answers of a unit that hands out edges: in lanes without work, and in all lanes of
#: an answer that asks the warp to register its next row. NONE also stands for no vertex in a row of
#: vertex IDs.
NONE, REGISTER = 0xFFFF_FFFF, 0xFFFF_FFFE
