"""The signals inside a GPU that the live page shows, beside the records of the trace port.

:data:`INSIDE` is the one table. Each row names a register or a memory of the RTL by the path of its
instances and its name there. The page reads their values between two cycles; nothing in
the hardware changes. A test looks for every row in the netlist of its unit.
"""

import dataclasses

from hw.config import HardwareConfig
from hw.gpu import CORE_MODULE

from .errors import BuildError


__all__ = ["INSIDE", "ShownSignal", "Inside", "found_in", "header", "shown"]


@dataclasses.dataclass(frozen=True)
class Inside:
    """A register or a memory that is shown."""
    title: str  #: Its name on the page.
    module: str  #: The module of the Verilog that declares it, without the name of the top.
    name: str  #: Its name in that module.
    #: ``"state"``: the state of an FSM; ``"number"``; ``"mask"``: one bit for each lane, warp or
    #: row; ``"entries"``: items of several words each.
    kind: str
    #: Names of the words of an item, the lowest first. An item is a lane's part of a row.
    fields: tuple[str, ...] = ()
    #: Names of the states of an FSM, in the order of their numbers. Amaranth numbers states in the
    #: order in which the circuit first names them.
    states: tuple[str, ...] = ()
    #: Title of the mask that says which items of the same row hold anything.
    valid: str | None = None
    #: Whether the page counts the cycles in which this state is not the first.
    counts: bool = False


_UNIT = "gathering.unit"
_ENTRY = ("vid", "loc", "degree")
_ROWS = (
    Inside("entries of rows", "{}", "st_valid", "mask"),
    Inside("rows of vertices", "{}", "st_entries", "entries", _ENTRY, valid="entries of rows"),
)


def _rows(module):
    """The row store of a Weaver, which lies in a module."""
    return tuple(dataclasses.replace(row, module=row.module.format(module)) for row in _ROWS)


_SCU = "uncore.scu"
_FILTER = f"{_SCU}.filter_group.bank_0"

#: {unit: its rows}. A unit is a value of ``HardwareConfig.gather``, or ``"scu"``.
INSIDE = {
    "none": (),
    "fsm": (
        Inside("state machine", _UNIT, "fsm_state", "state", states=(
            "S0_INIT", "S1_LOAD_FIRST", "S7_DRAIN", "S2_DECODE", "S3_FETCH", "S5_OUTPUT",
            "S4_UPDATE", "S6_WAIT", "S8_END")),
        Inside("current entry: vertex", _UNIT, "ced_vid", "number"),
        Inside("current entry: next edge", _UNIT, "ced_loc", "number", ("loc",)),
        Inside("current entry: edges left", _UNIT, "ced_degree", "number"),
        Inside("lanes filled", _UNIT, "filled", "number"),
        Inside("output data: vertices", _UNIT, "od_vid", "entries", ("vid",)),
        *_rows("gathering.unit.table.store"),
        Inside("dense table: lanes", _UNIT, "dt_mask", "mask"),
        Inside("dense table by warp: edge of lane 0", _UNIT, "dt_eid", "entries", ("eid",),
               valid="dense table: lanes"),
    ),
    "scan": (
        Inside("current row", _UNIT, "current", "entries", _ENTRY),
        Inside("lanes filled", _UNIT, "filled", "number"),
        *_rows("gathering.unit.store"),
    ),
    "stream": (
        Inside("current entry: vertex", _UNIT, "vid", "number"),
        Inside("current entry: next edge", _UNIT, "loc", "number", ("loc",)),
        Inside("current entry: edges left", _UNIT, "degree", "number"),
        Inside("lanes filled", _UNIT, "filled", "number"),
        Inside("output data: vertices", _UNIT, "od_vid", "entries", ("vid",)),
        Inside("output data: edges", _UNIT, "od_eid", "entries", ("eid",)),
        *_rows("gathering.unit.store"),
    ),
    "eghw": (
        Inside("topology reader", "gathering.unit.topology", "fsm_state", "state", states=(
            "REST", "ASK_IDS", "IDS", "ASK_BEGINS", "ASK_ENDS", "OFFSETS")),
        Inside("current entry: vertex", "gathering.unit.works", "vid", "number"),
        Inside("current entry: next edge", "gathering.unit.works", "loc", "number",
               ("loc",)),
        Inside("current entry: edges left", "gathering.unit.works", "left", "number"),
        Inside("lanes filled", "gathering.unit.works", "filled", "number"),
        Inside("vertices read", "gathering.unit.topology", "ids_read", "entries", ("vid",)),
        Inside("first edges read", "gathering.unit.topology", "begins", "entries", ("loc",)),
        Inside("last edges read", "gathering.unit.topology", "ends", "entries", ("end",)),
    ),
    "graphpeg": (
        Inside("current entry: vertex", "gathering.unit.edges", "vertex", "number"),
        Inside("current entry: next edge", "gathering.unit.edges", "edge", "number"),
        Inside("current entry: edges left", "gathering.unit.edges", "left", "number"),
        Inside("lanes filled", "gathering.unit.edges", "filled", "number"),
        Inside("ALWT: start indices", "gathering.unit.table", "sindices", "entries", ("sindex",)),
        Inside("ALWT: end indices", "gathering.unit.table", "eindices", "entries", ("eindex",)),
        Inside("edge buffer: neighbours", "gathering.unit.buffer", "neighbors", "entries",
               ("neighbour",)),
    ),
    "scu": (
        Inside("SCU: state", _SCU, "fsm_state", "state", states=(
            "IDLE", "RUN", "CHECK", "BEGIN", "DRAIN", "COUNT", "WRITE"), counts=True),
        # Along the pipeline.
        Inside("SCU address generator: inputs left", f"{_SCU}.address_generator.selector", "left",
               "number"),
        Inside("SCU address generator: an entry is expanded", f"{_SCU}.address_generator.expander",
               "busy", "mask"),
        Inside("SCU data fetch: free slots", f"{_SCU}.data_fetch.coalescer", "free", "number"),
        Inside("SCU data fetch: lines that have come", f"{_SCU}.data_fetch", "arrived", "mask"),
        Inside("SCU filter: state", _FILTER, "fsm_state", "state", states=(
            "IDLE", "CLEAR", "RUN", "WALK", "DRAIN", "FLUSH", "END")),
        Inside("SCU filter: lines of the table", f"{_FILTER}.lines", "held", "mask"),
        Inside("SCU filter: lines under way", f"{_FILTER}.lines", "under_way", "number"),
        Inside("SCU output: first element of the beat", f"{_SCU}.output", "number", "number"),
        Inside("SCU data store: words of the line", f"{_SCU}.data_store", "mask", "mask"),
        Inside("SCU port: answers awaited", f"{_SCU}.port", "missing", "number"),
        Inside("SCU: elements stored", _SCU, "result", "number"),
        Inside("SCU: elements selected", _SCU, "selected", "number"),
    ),
}


@dataclasses.dataclass(frozen=True)
class ShownSignal:
    """A row of the table, as the netlist has it."""
    row: Inside
    width: int  #: Bits of the register, or of a row of the memory.
    depth: int  #: Rows of the memory; 0 for a register.
    member: str  #: The place of its value in C++: a member of the model's ports or of its state.

    def to_json(self) -> dict:
        """The description that the page reads. ``row_bytes`` is the distance of two rows."""
        word = 64 if self.depth else 32
        step = next((size for size in (1, 2, 4, 8) if self.width <= 8 * size),
                    -(-self.width // word) * word // 8)
        return {**dataclasses.asdict(self.row), "width": self.width, "depth": self.depth,
                "row_bytes": step}


def shown(config: HardwareConfig) -> tuple[Inside, ...]:
    """The rows of the units that a configuration has."""
    return INSIDE[config.gather] + (INSIDE["scu"] if config.scu else ())


def _path(row):
    """Where a row is in the netlist of a GPU: in its core, or beside the core."""
    module = tuple(row.module.split("."))
    return ("gpu", *module) if module[0] == "uncore" else (CORE_MODULE, *module)


def _is_kept(netlist, value):
    """Whether a value is a memory, or in registers."""
    return isinstance(value, int) or all(
        piece.node in netlist.nodes and netlist.nodes[piece.node].kind == "register"
        for piece in value)


def found_in(netlist, config: HardwareConfig) -> list[ShownSignal]:
    """The shown signals of a netlist. Registers become outputs of the netlist.

    Raises
    ------
    BuildError
        If a signal of the table is no register or memory of the netlist.
    """
    found = []
    for number, row in enumerate(shown(config)):
        path = _path(row)
        if not any(name[:-1] == path for name in netlist.names):
            raise BuildError(f"sim/inside.py: there is no module {row.module} in the netlist")
        # Amaranth adds a number to a name that the module has twice.
        values = [value for name, value in netlist.names.items()
                  if name[:-1] == path and name[-1].partition("$")[0] == row.name
                  and _is_kept(netlist, value)]
        if not values:
            raise BuildError(f"sim/inside.py: module {row.module} has no register {row.name}")
        value = values[0]
        if isinstance(value, int):
            memory = netlist.memories[value]
            found.append(ShownSignal(row, memory.width, memory.depth, f"state().m{value}"))
        else:
            netlist.outputs[f"shown_{number}"] = value
            width = sum(piece.width for piece in value)
            found.append(ShownSignal(row, width, 0, f"shown_{number}"))
    return found


def header(found: list[ShownSignal]) -> str:
    """C++ that gives the address of each signal of a model of type ``Vgpu``."""
    lines = ["// Generated by sim/inside.py.", "#pragma once", "#include <cstdint>",
             "inline const void* inside(const Vgpu& gpu, std::uint32_t number) {",
             "    switch (number) {"]
    lines += [f"    case {number}: return &gpu.{signal.member};"
              for number, signal in enumerate(found)]
    return "\n".join([*lines, "    }", "    return nullptr;", "}", ""])
