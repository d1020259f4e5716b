"""Which operation, comparison or call an operator puts in the place of another."""

import ast


__all__ = ["ARITHMETIC", "CALLS", "COMPARISONS", "JOINING", "NEGATED", "ORDERED", "ORDERED_CALLS",
           "SIGNS"]


#: Comparisons: of equality the contrary, of order the neighbour.
COMPARISONS = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}

#: Comparisons whose other one is their negation.
NEGATED = frozenset((ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn))

ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult, ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}

SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.LShift: "<<",
         ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|"}

#: Operations whose operands have different meanings.
ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift)

#: Operations either of whose operands could stand alone.
JOINING = (ast.Add, ast.BitAnd, ast.BitOr, ast.BitXor)

#: Instructions of kernels whose last two operands have different meanings.
ORDERED_CALLS = frozenset(("sub", "slt", "sltu", "sll", "srl", "sra", "div", "divu", "rem", "remu",
                           "blt", "bltu", "bge", "bgeu"))


def _pairs(*pairs):
    """A dict that leads from each word of a pair to the other."""
    return {one: other for pair in pairs for one, other in (pair, pair[::-1])}


#: Functions, methods and instructions, and their opposites.
CALLS = _pairs(
    ("min", "max"), ("any", "all"), ("minimum", "maximum"), ("signed", "unsigned"),
    ("append", "remove"), ("argmin", "argmax"), ("floor", "ceil"), ("add", "sub"), ("sll", "srl"),
    ("slli", "srli"), ("and_", "or_"), ("beq", "bne"), ("beqz", "bnez"), ("blt", "bge"),
    ("bltu", "bgeu"), ("minu", "maxu"), ("amominu_w", "amomaxu_w"), ("amoadd_w", "amoswap_w"),
    ("amoor_w", "amoand_w"),
)
