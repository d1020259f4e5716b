"""The signals inside a GPU that the live page shows, beside the records of the trace port.

The record of a unit that hands out edges lists them; :data:`SCU` lists those of the Stream
Compaction Unit. Each row names a register or a memory of the RTL by the path of its instances and
its name there. The page reads their values between two cycles; nothing in the hardware changes. A
test looks for every row in the netlist of its unit.
"""

import dataclasses

from hw.config import HardwareConfig
from hw.gpu import CORE_MODULE
from hw.inside import Inside

from .errors import BuildError


__all__ = ["SCU", "SCU_MODULE", "UNIT_MODULE", "ShownSignal", "found_in", "header", "shown"]


#: The module of the unit that hands out edges, in a core.
UNIT_MODULE = "gathering.unit"

#: The module of the Stream Compaction Unit.
SCU_MODULE = _SCU = "uncore.scu"
_FILTER = f"{_SCU}.filter_group.bank_0"

#: The rows of the Stream Compaction Unit.
SCU = (
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
)


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
    unit = config.unit.shown if config.unit is not None else ()
    return (*(dataclasses.replace(row, module=".".join(filter(None, (UNIT_MODULE, row.module))))
              for row in unit), *(SCU if config.scu else ()))


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
