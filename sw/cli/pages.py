"""The pages of the documentation that are made from the code, so that they cannot be wrong.

Each page is a template in ``templates``; the functions here give the values. ``./graphloom docs``
writes the pages; CI checks that they are up to date.
"""

import dataclasses
import inspect
import itertools
import json
import pathlib
import re

import jinja2

from base import bootstrap
from base.installation import EXTRAS, ROOT
from hw import isa, operations, registers
from hw.config import LEGAL, PRESETS, HardwareConfig, preset
from hw.gather.variants import VARIANTS
from hw.link import frames
from hw.operations import Format
from hw.scu import registers as scu
from sim import dram, dram_device
from sim.dram import DramConfig
from sim.dram_device import DramDevice
from sim.dram_parts import PARTS
from sim.memories import dram_of
from sw.show.site.docstrings import comment, markdown
from synth import budgets


__all__ = ["pages"]


#: The measurements of ``synth overhead``, if they have been kept.
OVERHEAD = ROOT / "synth" / "overhead.json"

_NOTE = "<!-- Made by `./graphloom docs`; do not edit. -->"

_OPERANDS = {
    Format.R: "rd, rs1, rs2", Format.R4: "rd, rs1, rs2, rs3", Format.AMO: "rd, rs2, (rs1)",
    Format.I: "rd, rs1, imm", Format.SH: "rd, rs1, shamt", Format.S: "rs2, imm(rs1)",
    Format.B: "rs1, rs2, target", Format.U: "rd, imm", Format.J: "rd, target",
    Format.CSR: "rd, csr, rs1", Format.CSI: "rd, csr, imm", Format.N: "",
}


def _table(header, rows):
    """A Markdown table, without the last end of line."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |"
                     for line in lines)


def _bits(row):
    """The encoding as 32 characters, operand bits as dots, in groups that follow the fields."""
    text = "".join("." if not row.mask >> bit & 1 else str(row.match >> bit & 1)
                   for bit in range(31, -1, -1))
    cuts = (0, 7, 12, 17, 20, 25, 32)
    return " ".join(text[a:b] for a, b in itertools.pairwise(cuts))


def _operands(row):
    names = [name for name in _OPERANDS[row.format].split(", ") if name]
    if row.format in (Format.R, Format.R4):
        names = [name for name in names if (name == "rd" and row.writes)
                 or (name[:2] == "rs" and name[2] in row.named)] + ["imm"] * row.numbered
    if row.op is operations.MemOp.LOAD or row.branch is operations.BranchOp.JALR:
        names = ["rd", "imm(rs1)"]
    if row.op is operations.MemOp.FENCE:
        names = []
    return ", ".join(names)


def _isa():
    places = {name: value for name, value in vars(isa.MemoryMap).items() if name.isupper()}
    return {
        "instructions": [(f"`{row.name}`", f"`{_operands(row)}`" if _operands(row) else "",
                          f"`{_bits(row)}`", row.unit.name, row.doc) for row in isa.INSTRUCTIONS],
        "csrs": [(f"`0x{csr:03X}`", f"`{csr.name.lower()}`", doc)
                 for csr, doc in isa.CSR_DOCS.items()],
        "phases": [f"{number} {name}" for number, name in enumerate(isa.PHASES)],
        "causes": [(int(cause), f"`{cause.name}`", doc) for cause, doc in isa.CAUSE_DOCS.items()],
        "places": [(f"`0x{value:08X}`", name.lower()) for name, value in places.items()],
    }


def _documented_registers(docs, base=0):
    return [(f"`0x{base + register:04X}`", f"`{register.name}`", access, doc)
            for register, (access, doc) in docs.items()]


def _counters(docs, base=0, digits=4):
    return [(f"`0x{registers.counter_address(name) - base:0{digits}X}`", f"`{name}`", doc)
            for name, doc in docs.items()]


def _registers():
    def flags(kind):
        return [f"{bit.bit_length() - 1} `{bit.name}`" for bit in kind]

    return {
        "address_bits": registers.ADDRESS_BITS,
        "registers": _documented_registers(registers.REGISTER_DOCS),
        "control": flags(registers.Control), "status": flags(registers.Status),
        "imem": f"0x{registers.IMEM_BASE:04X}", "scu": f"0x{scu.SCU_BASE:04X}",
        "gpu": _counters(registers.GPU_COUNTERS),
        "stride": f"0x{registers.CORE_STRIDE:03X}", "base": f"0x{registers.CORE_BASE:04X}",
        "counters": _counters(registers.CORE_COUNTERS, registers.CORE_BASE, 3),
        "warps": f"0x{registers.WARP_OFFSET:03X}", "warp_counts": registers.WARP_COUNTS,
        "phases": isa.PHASES,
    }


def _field(mask):
    """The bits of a field."""
    high, low = mask.bit_length() - 1, (mask & -mask).bit_length() - 1
    return str(low) if high == low else f"{high}:{low}"


def _reference(text):
    """A docstring, or a part of one, as Markdown without links."""
    return markdown(text, lambda target: None).replace("``", "`").rstrip()


def _scu():
    lines = sorted({HardwareConfig(threads=threads, warps=1, l1_bytes=1 << 18,
                                   local_bytes=1 << 17, l2_bytes=0).line_bytes
                    for threads in LEGAL["threads"].values})
    outputs = [output for output in scu.ScuOutput if output]
    return {
        "registers": _documented_registers(scu.SCU_REGISTER_DOCS, scu.SCU_BASE),
        "fields": [f"{_field(field)} `{name}`"
                   for name, field in scu.ScuCommand.__members__.items()],
        "enums": [(name, [f"{int(value)} `{value.name}`" for value in kind])
                  for name, kind in (("OPERATION", scu.ScuOperation), ("OUTPUT", scu.ScuOutput),
                                     ("COMPARE", scu.ScuCompare))],
        "status": [f"{_field(bit)} `{bit.name}`" for bit in scu.ScuStatus],
        # The docstring of the registers describes the operations.
        "rules": _reference((scu.__doc__ or "")[(scu.__doc__ or "").index("**Operations**"):]),
        "errors": [(int(error), f"`{error.name}`", doc)
                   for error, doc in scu.SCU_ERROR_DOCS.items()],
        "hash_header": ("line", *(f"`{output.name}`" for output in outputs), "group"),
        "hash_rows": [(line, *(scu.entry_bytes(output, line) for output in outputs),
                       scu.group_limit(line)) for line in lines],
        "hash_set": inspect.getsource(scu.hash_set).rpartition("return ")[2].strip(),
    }


def _documented(cls):
    """{field: text} of the comments on the fields of a data class."""
    lines = inspect.getsource(cls).splitlines()
    return {match[1]: " ".join(comment(lines, number).split()).replace("``", "`")
            for number, line in enumerate(lines, 1) if (match := re.match(r"    (\w+): ", line))}


_UNITS = ((30, "GiB"), (20, "MiB"), (10, "KiB"))


def _value(value):
    if isinstance(value, bool) or not isinstance(value, int) or value < 4096:
        return f"`{str(value).lower() if isinstance(value, bool) else value}`"
    return next((f"{value >> shift} {unit}" for shift, unit in _UNITS[1:]
                 if value % (1 << shift) == 0), str(value))


def _size(match):
    number = int(match[0])
    return next((f"{number >> shift} {unit}" for shift, unit in _UNITS if number >= 1 << shift),
                f"{number} bytes" if number else "0")


def _legal(name):
    """The legal values of a field, as a command line takes them; sizes with their units."""
    text = LEGAL[name].text
    if name.endswith("_bytes"):
        return re.sub(r"\d+", _size, text)
    return re.sub(r"'(\w+)'|\b(?:True|False)\b",
                  lambda match: f"`{match[1] or match[0].lower()}`", text)


def _range(name):
    """The legal values of a field of a DRAM device; none if its meaning says them."""
    if name not in dram_device.RANGES:
        return ""
    return ("a power of two from " * (name in dram_device.POWERS)
            + " to ".join(map(str, dram_device.RANGES[name])))


def _configuration():
    docs, memory = _documented(HardwareConfig), _documented(DramConfig)
    device = _documented(DramDevice)
    docs["gather"] = "; ".join([docs["gather"].rstrip("."), *(
        f"`{name}`: {unit.doc}" for name, unit in VARIANTS.items())]) + "."
    return {
        "hardware_header": ("field", *PRESETS, "legal", "meaning"),
        "hardware": [(f"`{field.name}`", *(_value(getattr(config, field.name))
                                           for config in PRESETS.values()), _legal(field.name),
                      docs[field.name])
                     for field in dataclasses.fields(HardwareConfig) if field.name != "name"],
        "memory_of_gpu": ", ".join(f"`{text}`" for text in dram_of({}, preset("gpu")).changes),
        "dram": [(f"`{field.name}`", f"`{field.default}`",
                  " to ".join(map(str, dram.RANGES[field.name])), memory[field.name])
                 for field in dataclasses.fields(DramConfig)],
        "device_header": ("field", *PARTS, "legal", "meaning"),
        "device": [(f"`{field.name}`", *(f"`{getattr(DramDevice.of(name), field.name)}`"
                                         for name in PARTS),
                    _range(field.name), device[field.name])
                   for field in dataclasses.fields(DramDevice)],
    }


def _link():
    return {
        # The docstring of the frames describes them, after its first line.
        "rules": _reference(inspect.cleandoc(frames.__doc__ or "").partition("\n")[2].strip()),
        "operations": [(int(operation), f"`{operation.name}`",
                        "`count` words" if operation in frames.WRITES else "",
                        "yes" if operation in frames.ONCE else "", doc)
                       for operation, doc in frames.OPERATION_DOCS.items()],
        "statuses": [(int(status), f"`{status.name}`", doc)
                     for status, doc in frames.STATUS_DOCS.items()],
        "numbers": [("version of the link", frames.VERSION),
                    ("bits per second, unless host and board agree on another number", frames.BAUD),
                    ("FLAG, ESCAPE", f"`0x{frames.FLAG:02X}`, `0x{frames.ESCAPE:02X}`"),
                    ("words of a payload at most", frames.MAX_WORDS),
                    ("bytes that the board keeps while it works", frames.QUEUE_BYTES),
                    ("cycles of a bit", f"{frames.DIVISORS[0]} to {frames.DIVISORS[-1]}")],
        "magic": f"0x{frames.MAGIC:08X}",
        "fields": [f"`{name}`" for name in sorted(LEGAL)],
    }


def _memories(budget):
    """The rows of the table of a unit's memories: a kind, and the names."""
    kinds = {}
    for name, kind in budget.memories.items():
        kinds.setdefault(kind, []).append(f"`{name}`")
    return [(kind, ", ".join(names)) for kind, names in kinds.items()]


def _overhead_row(row):
    cells = []
    for name in budgets.RESOURCES:
        without, added = row["without"][name], row["added"][name]
        share = f" ({100 * added / without:+.2f} %)" if without else ""
        cells.append(f"{without:,} {added:+,}{share}")
    return (row["lanes"], row["unit"], row["host"], *cells)


def _resources():
    """The table that guards the units; and the overhead of the units, if that has been kept."""
    table = budgets.load()
    overhead = json.loads(OVERHEAD.read_text()) if OVERHEAD.exists() else None
    return {
        "unit_header": ("unit", "preset", *budgets.RESOURCES.values(), "of an ECP5-85F's LUT4"),
        "units": [(*budget.name.split("/"),
                   *(f"{budget.area.get(name, 0):,}" for name in budgets.RESOURCES),
                   f"{100 * budget.area.get('lut4', 0) / budgets.DEVICE.lut4:.1f} %")
                  for budget in table],
        "overhead": overhead,
        "overhead_header": ("lanes", "unit", "in", *budgets.RESOURCES.values()),
        "overhead_rows": [_overhead_row(row) for row in overhead["rows"]] if overhead else [],
        "memories": [(" on preset ".join(budget.name.split("/")), _memories(budget))
                     for budget in table],
    }


def _install():
    def row(name):
        chosen = bootstrap.packages(ROOT, bootstrap.LOCK_OF_EXTRAS, name)
        return (f"`{name}`", EXTRAS[name].purpose, len(chosen),
                f"{sum(package.megabytes for package in chosen):.1f}")

    return {"base": sum(package.megabytes for package in bootstrap.packages(ROOT, bootstrap.LOCK)),
            "extras": list(map(row, EXTRAS))}


_PAGES = {"install.md": _install, "isa.md": _isa, "registers.md": _registers,
          "scu-registers.md": _scu, "configuration.md": _configuration,
          "link-frames.md": _link, "resources.md": _resources}


def pages() -> dict:
    """{file name in docs: text}. The same code gives the same text."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True)
    templates.globals |= {"note": _NOTE, "table": _table}
    return {name: templates.get_template(f"{name}.jinja").render(values())
            for name, values in _PAGES.items()}
