"""The pages of the documentation that are made from the code, so that they cannot be wrong.

``./graphloom docs`` writes them; CI checks that they are up to date.
"""

import dataclasses
import inspect
import itertools
import re

from hw import isa, operations, registers
from hw.config import LEGAL, PRESETS, HardwareConfig
from hw.link import frames
from hw.operations import Format
from hw.scu import registers as scu
from sim.dram import DramConfig

from .tests import ROOT


__all__ = ["pages"]


#: What ``synth overhead`` measured, if it has been kept.
OVERHEAD = ROOT / "synth" / "overhead.json"

_NOTE = "<!-- Made by `./graphloom docs`; do not edit. -->\n\n"

_OPERANDS = {
    Format.R: "rd, rs1, rs2", Format.R4: "rs1, rs2, rs3", Format.AMO: "rd, rs2, (rs1)",
    Format.I: "rd, rs1, imm", Format.SH: "rd, rs1, shamt", Format.S: "rs2, imm(rs1)",
    Format.B: "rs1, rs2, target", Format.U: "rd, imm", Format.J: "rd, target",
    Format.CSR: "rd, csr, rs1", Format.CSI: "rd, csr, imm", Format.N: "",
}


def _table(header, rows):
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |\n"
                   for line in lines)


def _bits(row):
    """The encoding as 32 characters, operand bits as dots, in groups that follow the fields."""
    text = "".join("." if not row.mask >> bit & 1 else str(row.match >> bit & 1)
                   for bit in range(31, -1, -1))
    cuts = (0, 7, 12, 17, 20, 25, 32)
    return " ".join(text[a:b] for a, b in itertools.pairwise(cuts))


_LANES = """
## Several lanes

Lanes of one instruction that meet in memory do so in ascending order: of stores the highest lane's
value is left; of atomics each lane reads what the lanes below it left. That holds for global and
local memory alike, and one instruction's lanes may be in both.

`amocas.w` compares with `rd` as it was before the instruction, each lane with its own; with
`rd` = `x0` it compares with 0.

Votes are taken on bit 0 of `rs1` in the active lanes.

### Shuffles

Each lane reads `rs1` of a lane that its own `rs2` names: `b` in bits 5:0, `c` in bits 11:6, and in
bits 17:12 `mask`, the bits of a lane's number that are the number of its segment. With `first` =
lane & mask and `last` = first | (c & ~mask), the lane read is

| instruction | lane | if |
| --- | --- | --- |
| `shfl.up` | lane - b | >= first |
| `shfl.down` | lane + b | <= last |
| `shfl.bfly` | lane ^ b | <= last |
| `shfl.idx` | first \\| (b & ~mask) | <= last |

and the lane itself if the condition does not hold or there is no lane of that number. A lane that
is not active is read like any other: the value is what its register holds.
"""


def _operands(row):
    names = [name for name in _OPERANDS[row.format].split(", ") if name]
    if row.format in (Format.R, Format.R4):
        names = [name for name in names if (name == "rd" and row.writes)
                 or (name[:2] == "rs" and name[2] in row.reads)]
    if row.op is operations.MemOp.LOAD or row.branch is operations.BranchOp.JALR:
        names = ["rd", "imm(rs1)"]
    if row.op is operations.MemOp.FENCE:
        names = []
    return ", ".join(names)


def _isa():
    rows = [(f"`{row.name}`", f"`{_operands(row)}`" if _operands(row) else "",
             f"`{_bits(row)}`", row.unit.name, row.doc) for row in isa.INSTRUCTIONS]
    text = ("# Instructions\n\n" + _NOTE
            + "RV32IM, Zicsr, Zaamo, `amocas.w` of Zacas and FENCE as RISC-V defines them, the "
            "SIMT instructions of\nVortex 2.x, and the Weaver's. An encoding is given from bit 31 "
            "down in the fields of the R format\n(funct7, rs2, rs1, funct3, rd, opcode); a dot is "
            "an operand's bit. A unit that the configuration lacks\n(DIV, WEAVER) makes its "
            "instructions illegal.\n\n"
            + _table(("instruction", "operands", "encoding", "unit", "what it does"), rows)
            + _LANES)
    text += "\n## Control and status registers\n\n" + _table(
        ("number", "name", "what it holds"),
        [(f"`0x{csr:03X}`", f"`{csr.name.lower()}`", doc) for csr, doc in isa.CSR_DOCS.items()])
    text += "\nValues of `phase`: " + ", ".join(
        f"{number} {name}" for number, name in enumerate(isa.PHASES)) + ".\n"
    text += "\n## Causes of an error\n\n" + _table(
        ("cause", "name", "meaning"),
        [(int(cause), f"`{cause.name}`", doc) for cause, doc in isa.CAUSE_DOCS.items()])
    places = {name: value for name, value in vars(isa.MemoryMap).items() if name.isupper()}
    text += "\n## Memory map\n\n" + _table(
        ("from", "what"), [(f"`0x{value:08X}`", name.lower()) for name, value in places.items()])
    return text


def _registers():
    text = ("# Host registers\n\n" + _NOTE
            + "The host reads and writes these through the control port: 32-bit registers at byte "
            "addresses of\n"
            f"{registers.ADDRESS_BITS} bits.\n\n"
            + _table(("address", "name", "access", "what it is"),
                     [(f"`0x{register:04X}`", f"`{register.name}`", access, doc)
                      for register, (access, doc) in registers.REGISTER_DOCS.items()]))
    for title, kind in (("CONTROL", registers.Control), ("STATUS", registers.Status)):
        text += f"\nBits of `{title}`: " + ", ".join(
            f"{bit.bit_length() - 1} `{bit.name}`" for bit in kind) + ".\n"
    text += ("\nA command that is written while the GPU is busy is ignored. Only `FLUSH` is "
             "performed during a launch, as\nsoon as nothing is under way at the shared level.\n")
    text += (f"\nInstruction memory is written from `0x{registers.IMEM_BASE:04X}` on, one word a "
             f"register. From `0x{scu.SCU_BASE:04X}` on\nare the [registers of the SCU]"
             "(scu-registers.md), if there is one.\n\n## Counters\n\n64 bits each, low half first. "
             "What the cores share:\n\n"
             + _table(("address", "name", "what it counts"),
                      [(f"`0x{registers.counter_address(name):04X}`", f"`{name}`", doc)
                       for name, doc in registers.SHARED_COUNTERS.items()])
             + "\nThose of the SCU are 0 where there is none.\n"
             + f"\nEach core has a block of `0x{registers.CORE_STRIDE:03X}` bytes, the first at "
             f"`0x{registers.CORE_BASE:04X}`. In the block of a core:\n\n"
             + _table(("offset", "name", "what it counts"),
                      [(f"`0x{registers.counter_address(name) - registers.CORE_BASE:03X}`",
                        f"`{name}`", doc) for name, doc in registers.CORE_COUNTERS.items()])
             + f"\nFrom offset `0x{registers.WARP_OFFSET:03X}` on come {registers.WARP_COUNTS} "
             "counters for each warp: its cycles in each phase\n("
             + ", ".join(isa.PHASES) + "), and last its cycles from the launch to its end.\n")
    return text


def _field(mask):
    """The bits of a field."""
    high, low = mask.bit_length() - 1, (mask & -mask).bit_length() - 1
    return str(low) if high == low else f"{high}:{low}"


def _scu():
    text = ("# Registers of the SCU\n\n" + _NOTE
            + "What the host writes to have the Stream Compaction Unit perform an operation, and "
            "what the operation does.\nHow it is done is told in [scu.md](scu.md). All registers "
            "are 32 bits wide and 0 after reset; the addresses\nare those of the host's [register "
            "space](registers.md).\n\n"
            + _table(("address", "name", "access", "what it is"),
                     [(f"`0x{scu.SCU_BASE + register:04X}`", f"`{register.name}`", access, doc)
                      for register, (access, doc) in scu.SCU_REGISTER_DOCS.items()]))
    text += "\nFields of `COMMAND`: " + ", ".join(
        f"{_field(field)} `{name}`" for name, field in scu.ScuCommand.__members__.items()) + ".\n"
    for title, kind in (("OPERATION", scu.ScuOperation), ("OUTPUT", scu.ScuOutput),
                        ("COMPARE", scu.ScuCompare)):
        text += f"\nValues of `{title}`: " + ", ".join(
            f"{int(value)} `{value.name}`" for value in kind) + ".\n"
    text += "\nBits of `STATUS`: " + ", ".join(
        f"{_field(bit)} `{bit.name}`" for bit in scu.ScuStatus) + ".\n"
    # What operations do is told where the registers are, of which this page has a table.
    told = scu.__doc__ or ""
    rules = told[told.index("**Operations**"):]
    rules = re.sub(r":\w+:`([^`]+)`", r"`\1`", rules).replace("``", "`")
    text += "\n## What an operation does\n\n" + rules
    text += "\n## Errors\n\n" + _table(
        ("`ERROR`", "name", "meaning"),
        [(int(error), f"`{error.name}`", doc) for error, doc in scu.SCU_ERROR_DOCS.items()])
    lines = sorted({HardwareConfig(threads=threads, warps=1, l1_bytes=1 << 18,
                                   local_bytes=1 << 17, l2_bytes=0).line_bytes
                    for threads in LEGAL["threads"].values})
    outputs = [output for output in scu.ScuOutput if output]
    text += ("\n## The hash table\n\nBytes of an entry (`entry_bytes`), and elements of a group at "
             "most (`group_limit`), by the bytes of a cache line:\n\n"
             + _table(("line", *(f"`{output.name}`" for output in outputs), "group"),
                      [(line, *(scu.entry_bytes(output, line) for output in outputs),
                        scu.group_limit(line)) for line in lines])
             + "\nThe set of an element, or of the number of its line (`hash_set`), is\n`"
             + inspect.getsource(scu.hash_set).rpartition("return ")[2].strip() + "`.\n")
    return text


def _documented(cls):
    """{field: text} from the Parameters section of a class's docstring."""
    section = cls.__doc__.partition("Parameters\n")[2].partition("Raises\n")[0]
    found = {}
    for match in re.finditer(r"(?m)^    (\w[\w, ]*) : .*\n((?:(?: {8}.*)?\n)+)", section):
        text = " ".join(match[2].split()).replace("``", "`")
        for name in match[1].split(", "):
            found[name] = text
    return found


def _value(value):
    if isinstance(value, bool) or not isinstance(value, int) or value < 4096:
        return f"`{str(value).lower() if isinstance(value, bool) else value}`"
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if value % (1 << shift) == 0:
            return f"{value >> shift} {unit}"
    return str(value)


def _size(match):
    number = int(match[0])
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if number >= 1 << shift:
            return f"{number >> shift} {unit}"
    return f"{number} bytes" if number else "0"


def _legal(name):
    """The legal values of a field, as a command line takes them; sizes with their units."""
    text = LEGAL[name].text
    if name.endswith("_bytes"):
        return re.sub(r"\d+", _size, text)
    return re.sub(r"'(\w+)'|\b(?:True|False)\b",
                  lambda match: f"`{match[1] or match[0].lower()}`", text)


def _configuration():
    docs = _documented(HardwareConfig)
    rows = [(f"`{field.name}`", *(_value(getattr(config, field.name))
                                  for config in PRESETS.values()), _legal(field.name),
             docs[field.name])
            for field in dataclasses.fields(HardwareConfig) if field.name != "name"]
    text = ("# Configuration\n\n" + _NOTE
            + "`--preset` names a column of values, `--set FIELD=VALUE` changes one; in Python, "
            "`hw.config.preset(name)`\nand `.replace(field=value)`. Sizes are given in bytes, in "
            "decimal or hexadecimal (`0x4000`). An illegal\nvalue is refused by name, value and "
            "reason before anything is built;\n`./graphloom campaign` builds and runs every "
            "legal one.\n\n"
            + _table(("field", *PRESETS, "legal", "what it is"), rows))
    docs = _documented(DramConfig)
    text += ("\n## The simulated DRAM\n\n`--dram FIELD=VALUE`.\n\n"
             + _table(("field", "default", "what it is"),
                      [(f"`{field.name}`", f"`{field.default}`", docs[field.name])
                       for field in dataclasses.fields(DramConfig)]))
    return text


def _link():
    # What frames are is told where they are made, of which this page has tables.
    told = re.sub(r":\w+:`([^`]+)`", r"`\1`", inspect.cleandoc(frames.__doc__ or ""))
    _, told = told.replace("``", "`").split("\n", 1)
    told = re.sub(r"::\n\n( +.*\n)+", lambda match: ":\n\n" + match[0][4:], told)
    text = ("# Frames of the host link\n\n" + _NOTE
            + "How the link works and what it is made of is told in [link.md](link.md).\n" + told
            + "\n\n## Operations\n\n"
            + _table(("number", "name", "payload", "once", "what it does"),
                     [(int(operation), f"`{operation.name}`",
                       "`count` words" if operation in frames.WRITES else "",
                       "yes" if operation in frames.ONCE else "", doc)
                      for operation, doc in frames.OPERATION_DOCS.items()])
            + "\n## Statuses\n\n"
            + _table(("number", "name", "meaning"),
                     [(int(status), f"`{status.name}`", doc)
                      for status, doc in frames.STATUS_DOCS.items()])
            + "\n## Numbers\n\n"
            + _table(("what", "value"),
                     [("version of the link", frames.VERSION),
                      ("bits per second, unless something else is agreed", frames.BAUD),
                      ("FLAG, ESCAPE", f"`0x{frames.FLAG:02X}`, `0x{frames.ESCAPE:02X}`"),
                      ("words of a payload at most", frames.MAX_WORDS),
                      ("bytes that the board keeps while it is at work", frames.QUEUE_BYTES),
                      ("cycles of a bit", f"{frames.DIVISORS[0]} to {frames.DIVISORS[-1]}")])
            + "\n## What a board says of itself\n\nWords of the answer to `OPEN`: "
            f"`0x{frames.MAGIC:08X}`; the version of the link; a CRC-32 of the fields that a "
            "configuration\nhas and their legal values; cycles in a second; and for each field, in "
            "the order of their names, the place of\nits value among those that are legal "
            "([configuration.md](configuration.md)): "
            + ", ".join(f"`{name}`" for name in sorted(LEGAL)) + ".\n")
    return text


def _resources():
    """What units take, from the table that guards it; and what the units add, if that has been
    measured and kept."""
    import json

    from synth import budgets
    table = budgets.load()
    text = ("# Resources\n\n" + _NOTE
            + "What each unit takes of an ECP5, by logic synthesis alone: the table that "
            "`./graphloom synth budgets`\nholds the hardware to. LUT4 is logic and the LUTs that "
            "carry chains (2 a cell) and LUT RAM (6 a cell) take up.\nHow it is measured is told "
            "in [synthesis.md](synthesis.md).\n\n"
            + _table(("unit", "preset", *budgets.RESOURCES.values(), "of an ECP5-85F's LUT4"),
                     [(*budget.name.split("/"),
                       *(f"{budget.area.get(name, 0):,}" for name in budgets.RESOURCES),
                       f"{100 * budget.area.get('lut4', 0) / budgets.DEVICE.lut4:.1f} %")
                      for budget in table]))
    if OVERHEAD.exists():
        found = json.loads(OVERHEAD.read_text())
        rows = []
        for row in found["rows"]:
            cells = []
            for name in budgets.RESOURCES:
                without, added = row["without"][name], row["added"][name]
                share = f" ({100 * added / without:+.2f} %)" if without else ""
                cells.append(f"{without:,} {added:+,}{share}")
            rows.append((row["lanes"], row["unit"], row["host"], *cells))
        text += ("\n## What the units add\n\nTo a core without a Weaver, and to a GPU of one core "
                 f"without an SCU: preset `{found['config']}`, over the\nlanes of a warp. Logic "
                 "synthesis only, at every number of lanes; the GPU is the core and what is "
                 f"around it,\nsynthesized apart and added. `{found['device']}`, "
                 f"{found['yosys']}; written by\n`./graphloom synth overhead --results "
                 "synth/overhead.json`.\n\n"
                 + _table(("lanes", "unit", "in", *budgets.RESOURCES.values()), rows))
    text += ("\n## Memories\n\nWhat each memory is made of: `block` RAM, `distributed` (LUT RAM of "
             "16 words), or `flip-flops`. A memory that is\nmade of something else, or is missing "
             "here, fails `./graphloom synth budgets`.\n")
    for budget in table:
        kinds = {}
        for name, kind in budget.memories.items():
            kinds.setdefault(kind, []).append(f"`{name}`")
        text += f"\n### {' on preset '.join(budget.name.split('/'))}\n\n" + _table(
            ("made of", "memories"), [(kind, ", ".join(names)) for kind, names in kinds.items()])
    return text


def pages() -> dict:
    """{file name in docs: text}. The same code gives the same text."""
    return {"isa.md": _isa(), "registers.md": _registers(), "scu-registers.md": _scu(),
            "configuration.md": _configuration(), "link-frames.md": _link(),
            "resources.md": _resources()}
