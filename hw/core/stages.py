"""The packets that the core's instructions carry from stage to stage.

A packet is named after the stage whose inputs it holds. :mod:`hw.core.core` lists the stages. In
the long pipeline all packets are registers. In the short pipeline O, X and C share a cycle, so
that only the packets of O and R are registers; the others are names for the inputs of a stage.
"""

from amaranth.hdl import Signal
from amaranth.lib import data

from hw.config import HardwareConfig
from hw.core.alu import AluControls
from hw.core.divergence import stack_depth
from hw.core.loads import writeback_layout
from hw.core.scheduler import issued_layout
from hw.operations import Unit


__all__ = ["Deciding", "Decision", "Executing", "Issued", "Leaving", "unit_signals"]


def unit_signals(config: HardwareConfig, stage) -> dict[Unit, Signal]:
    """A bit for each unit: an instruction of the unit is in the stage. ``stage`` is a prefix."""
    return {unit: Signal(name=f"{stage}_{unit.name.lower()}") for unit in config.units}


class Issued:
    """Packet that enters O: an issued instruction, whose operands come from the registers.

    Attributes
    ----------
    valid : Signal(1)
    instruction : Signal(issued_layout)
    mask : Signal(threads)
        The warp's thread mask.
    units : dict of Signal(1)
        By unit. At most one is high.
    """
    def __init__(self, config: HardwareConfig):
        self.valid = Signal(name="o_valid")
        self.instruction = Signal(issued_layout(config), name="o", reset_less=True)
        self.mask = Signal(config.threads, name="o_mask", reset_less=True)
        self.units = unit_signals(config, "o")


class Executing:
    """Packet that enters X: an instruction with its operands.

    Attributes
    ----------
    valid, instruction, mask, units
        As in :class:`Issued`.
    leader : Signal(threads)
        One-hot: the lowest active lane.
    a, b, c : Signal(ArrayLayout(32, threads))
        Values of rs1, rs2 and rs3.
    second : Signal(ArrayLayout(32, threads))
        The ALU's second operand: ``b`` or the immediate.
    control : Signal(AluControls)
    subtract : Signal(1)
        Controls of the ALU.
    scalar : Signal(32)
        A result that is the same in all lanes.
    is_thread : Signal(1)
        The result is the lane's number: only the CSR THREAD_ID differs from lane to lane.
    """
    def __init__(self, config: HardwareConfig):
        lanes = data.ArrayLayout(32, config.threads)
        self.valid = Signal(name="x_valid")
        self.instruction = Signal(issued_layout(config), name="x", reset_less=True)
        self.mask = Signal(config.threads, name="x_mask", reset_less=True)
        self.units = unit_signals(config, "x")
        self.leader = Signal(config.threads, name="x_leader", reset_less=True)
        self.a, self.b, self.c, self.second = (
            Signal(lanes, name=f"x_{name}", reset_less=True) for name in ("a", "b", "c", "second"))
        self.control = Signal(AluControls, name="x_control", reset_less=True)
        self.subtract = Signal(name="x_subtract", reset_less=True)
        self.scalar = Signal(32, name="x_scalar", reset_less=True)
        self.is_thread = Signal(name="x_is_thread", reset_less=True)


class Deciding:
    """Packet that enters C: an instruction with the facts on which the whole warp decides.

    Attributes
    ----------
    instruction, mask, leader
        As in :class:`Executing`.
    branches, changes_warp : Signal(1)
        An instruction of the unit BRANCH, or of the unit WARP, is in C.
    gives_result : Signal(1)
        The instruction in C is of a unit whose results come from C.
    passing, nonzero : Signal(threads)
        Lanes whose comparison holds, and lanes with an rs1 other than 0.
    scalar_1, scalar_2 : Signal(32)
        rs1 and rs2 of the lowest active lane.
    base : Signal(32)
        The address to which a jump adds its immediate.
    returned : Signal
        ``scalar_1``, at most one more than the divergence stack is deep.
    """
    def __init__(self, config: HardwareConfig):
        threads = config.threads
        self.instruction = Signal(issued_layout(config), name="c", reset_less=True)
        self.mask, self.leader, self.passing, self.nonzero = (
            Signal(threads, name=f"c_{name}", reset_less=True)
            for name in ("mask", "leader", "passing", "nonzero"))
        self.branches, self.changes_warp, self.gives_result = (
            Signal(name=f"c_{name}") for name in ("branch", "warp", "gives_result"))
        self.scalar_1, self.scalar_2, self.base = (
            Signal(32, name=f"c_{name}", reset_less=True)
            for name in ("scalar_1", "scalar_2", "base"))
        self.returned = Signal(range(stack_depth(config) + 2), name="c_returned", reset_less=True)


class Decision:
    """Decisions of C, in the same cycle.

    Attributes
    ----------
    target : Signal(32)
        The address of a jump.
    taken, jumps_outside : Signal(1)
        A jump is taken; it leaves instruction memory.
    is_bar, is_trap, is_mask_op : Signal(1)
        An instruction of the unit WARP: a BAR, a trap, or one that may change the thread mask.
    raises : Signal(1)
        An error, other than a barrier's.
    """
    def __init__(self):
        self.target = Signal(32, name="target")
        self.taken, self.jumps_outside, self.is_bar, self.is_trap, self.is_mask_op, self.raises = (
            Signal(name=name) for name in ("taken", "jumps_outside", "is_bar", "is_trap",
                                           "is_mask_op", "raises"))


class Leaving:
    """Packet that enters R: a result of the pipeline, to be written to the registers.

    Attributes
    ----------
    valid : Signal(1)
    result : Signal(writeback_layout)
    """
    def __init__(self, config: HardwareConfig):
        self.valid = Signal(name="r_valid")
        self.result = Signal(writeback_layout(config), name="r", reset_less=True)
