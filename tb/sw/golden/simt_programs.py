"""Small machines for tests of the simulator, and structured programs to run on them.

A program is a tree of tuples over four variables a lane. :func:`interpret` runs it for one lane
with Python integers; :func:`compile_program` emits code for it with SPLIT, JOIN and PRED. Tests
compare the two functions, which share nothing but the tree.

``("add", d, a, b)``, ``("xor", d, a, b)``, ``("addi", d, a, imm)``, ``("less", d, a, b)``,
``("if", variable, then, otherwise)``, ``("repeat", variable, body)``: the variable's low two bits,
when the loop is reached, give the number of times that the body is executed.
"""

from hypothesis import strategies as st

from hw.config import HardwareConfig
from hw.isa import encode
from sw.golden.simulator import Simulator


__all__ = ["END", "VARIABLES", "shape", "started", "programs", "depth_of", "interpret",
           "compile_program"]


VARIABLES = 4
WORD = 0xFFFF_FFFF
_FIRST = 10         # registers of the variables
_COUNTER = 16       # registers of the counters of nested loops, by depth
_POINTER = 24       # registers of stack pointers and saved masks, by depth

#: The instruction that ends a warp.
END = encode("tmc", rs1=0)

_variable = st.integers(0, VARIABLES - 1)


def shape(warps=2, threads=4, gather="none"):
    """A small configuration of this shape."""
    return HardwareConfig(name="test", warps=warps, threads=threads, imem_bytes=1 << 14,
                          local_bytes=1 << 10, l1_bytes=1 << 12, l2_bytes=0,
                          memory_bytes=1 << 16, gather=gather)


def started(*program, config=None, seed=None, **registers):
    """A simulator ready to execute ``program``, with registers ``x<n>`` of every warp set."""
    simulator = Simulator(config or shape(), seed=seed)
    simulator.load_program([*program, END])
    simulator.start(0)
    for name, values in registers.items():
        simulator.registers[:, int(name[1:])] = values
    return simulator


def programs(depth):
    """Programs whose nests are at most ``depth`` deep."""
    simple = st.one_of(
        st.tuples(st.sampled_from(["add", "xor", "less"]), _variable, _variable, _variable),
        st.tuples(st.just("addi"), _variable, _variable, st.integers(-2048, 2047)))
    if not depth:
        return st.lists(simple, max_size=4)
    inner = programs(depth - 1)
    return st.lists(st.one_of(simple, st.tuples(st.just("if"), _variable, inner, inner),
                              st.tuples(st.just("repeat"), _variable, inner)), max_size=4)


def depth_of(program):
    """The depth of a program's nests."""
    return max((1 + max(map(depth_of, statement[2:])) for statement in program
                if statement[0] in ("if", "repeat")), default=0)


def interpret(program, values):
    """Run ``program`` on the list of one lane's variables, in place."""
    for statement in program:
        match statement:
            case "add", d, a, b:
                values[d] = (values[a] + values[b]) % (1 << 32)
            case "xor", d, a, b:
                values[d] = values[a] ^ values[b]
            case "less", d, a, b:
                values[d] = int(values[a] < values[b])
            case "addi", d, a, imm:
                values[d] = (values[a] + imm) % (1 << 32)
            case "if", variable, then, otherwise:
                interpret(then if values[variable] else otherwise, values)
            case "repeat", variable, body:
                for _ in range(values[variable] % 4):
                    interpret(body, values)


def compile_program(program, depth=0):
    """The words of ``program`` as SIMT code that can be placed anywhere."""
    words = []
    for statement in program:
        match statement:
            case "addi", d, a, imm:
                words.append(encode("addi", rd=_FIRST + d, rs1=_FIRST + a, imm=imm))
            case (("add" | "xor" | "less") as name, d, a, b):
                words.append(encode("sltu" if name == "less" else name, rd=_FIRST + d,
                                    rs1=_FIRST + a, rs2=_FIRST + b))
            case "if", variable, then, otherwise:
                words += _compile_if(variable, compile_program(then, depth + 1),
                                     compile_program(otherwise, depth + 1), depth)
            case "repeat", variable, body:
                words += _compile_repeat(variable, compile_program(body, depth + 1), depth)
    return words


def _compile_if(variable, then, otherwise, depth):
    pointer = _POINTER + depth
    return [
        encode("split", rd=pointer, rs1=_FIRST + variable),
        encode("beq", rs1=_FIRST + variable, rs2=0, imm=4 * (len(then) + 2)),
        *then,
        encode("jal", rd=0, imm=4 * (len(otherwise) + 1)),
        *otherwise,
        encode("join", rs1=pointer),
    ]


def _compile_repeat(variable, body, depth):
    # PRED switches off a lane whose count is used up. With the last lane, the old mask comes back.
    # The lowest lane then has nothing left to do and leaves the loop.
    counter, saved = _COUNTER + depth, _POINTER + depth
    return [
        encode("andi", rd=counter, rs1=_FIRST + variable, imm=3),
        encode("csrrs", rd=saved, csr=0xCC4),
        encode("pred", rs1=counter, rs2=saved),
        encode("beq", rs1=counter, rs2=0, imm=4 * (len(body) + 4)),
        *body,
        encode("addi", rd=counter, rs1=counter, imm=-1),
        encode("pred", rs1=counter, rs2=saved),
        encode("bne", rs1=counter, rs2=0, imm=-4 * (len(body) + 2)),
    ]
