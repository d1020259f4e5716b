"""The record of a unit that hands out edges: all that others ask about the unit."""

import dataclasses
from collections.abc import Callable

from hw.inside import Inside
from hw.instruction import Instruction
from hw.operations import GatherOp


__all__ = ["GatherVariant"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class GatherVariant:
    """A unit that hands out edges."""
    #: The value of ``HardwareConfig.gather``, which is also the name of the unit's folder.
    name: str
    title: str  #: Its name in tables.
    doc: str  #: What the unit is, in half a sentence.
    #: The class in the folder's ``unit.py``, a :class:`hw.gather.unit.GatheringUnit`.
    component: str
    #: The instructions that the unit answers. Each has an ``op``, a
    #: :class:`~hw.operations.GatherOp`.
    instructions: tuple[Instruction, ...]
    #: Fields of the configuration that have an effect with this unit, and with not every other.
    settings: tuple[str, ...] = ()
    shown: tuple[Inside, ...] = ()  #: Its registers and memories on the live page.
    #: Whether all rows are registered before the first edge is handed out, and all edges handed out
    #: before the next row is registered. Without rounds, the unit asks warps for their rows.
    rounds: bool = True
    #: Whether the unit reads offsets and edges itself. It has a way to memory then.
    reads_memory: bool = False
    exchanges: bool = False  #: Whether the units of several cores can exchange edges.
    #: Whether a comparison has the unit if nobody names units: it is the paper's, or the best of
    #: its kind.
    compared: bool = True
    #: function from HardwareConfig to shape, or None. Of a unit that reads memory: the shape of
    #: what tells its loads apart, at most 5 bits.
    tag: Callable | None = None

    def answers(self, op: GatherOp) -> bool:
        """Whether the unit has an instruction of an operation."""
        return any(row.op is op for row in self.instructions)

    @property
    def registers(self) -> bool:
        """Whether warps register rows of vertices with the unit, in a table."""
        return self.answers(GatherOp.REG)

    @property
    def keeps_lists(self) -> bool:
        """Whether the unit reads and writes lists of vertices, and finds their edges."""
        return self.answers(GatherOp.POP_VERT)
