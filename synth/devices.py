"""The devices for synthesis, and how cells of a netlist count on each device."""

import dataclasses
from collections.abc import Mapping

from base.errors import UserError


__all__ = ["DEVICES", "Area", "TargetDevice", "find_device"]


@dataclasses.dataclass(frozen=True)
class Area:
    """The resources that a netlist takes, in cells of the device."""
    logic: int  #: LUTs that compute.
    carry: int  #: Cells of carry chains.
    lut_ram: int  #: Memory cells that are made of LUTs.
    ff: int  #: Flip-flops.
    block_ram: int  #: Block RAMs.
    dsp: int  #: Multipliers.
    lut4: int  #: All LUTs together, including the LUTs of carry chains and memories.

    def __add__(self, other: "Area") -> "Area":
        return self._each(other, 1)

    def __sub__(self, other: "Area") -> "Area":
        return self._each(other, -1)

    def _each(self, other: "Area", sign: int) -> "Area":
        return Area(**{field.name: getattr(self, field.name) + sign * getattr(other, field.name)
                       for field in dataclasses.fields(self)})


@dataclasses.dataclass(frozen=True)
class TargetDevice:
    """A device, or a whole family."""
    name: str  #: Its name on the command line.
    family: str  #: ``"ecp5"``, ``"ice40"`` or ``"generic"``: how Yosys synthesizes.
    #: Options of nextpnr that choose this device of the family; empty if placement is not
    #: supported.
    options: tuple[str, ...] = ()
    # 0 of a resource: the device has none, or has no limit.
    lut4: int = 0  #: LUTs with four inputs.
    ff: int = 0  #: Flip-flops.
    block_ram: int = 0  #: Block RAMs.
    dsp: int = 0  #: Multipliers.

    def area(self, cells: Mapping[str, int]) -> Area:
        """The resources that a netlist takes.

        A cell of an ECP5's carry chain takes two LUTs. A memory cell takes four LUTs that hold the
        bits, and two LUTs whose inputs are used to write the bits.

        Parameters
        ----------
        cells : dict of str to int
            How many cells there are of each type.
        """
        def count(*types: str) -> int:
            return sum(number for name, number in cells.items() if name.startswith(types))

        if self.family == "ecp5":
            logic, carry, ram = count("LUT4"), count("CCU2C"), count("TRELLIS_DPR16X4")
            return Area(logic, carry, ram, count("TRELLIS_FF"), count("DP16KD", "PDPW16KD"),
                        count("MULT18X18D"), logic + 2 * carry + 6 * ram)
        if self.family == "ice40":
            # The carry of a cell is beside its LUT, which adds with it.
            logic = count("SB_LUT4")
            return Area(logic, count("SB_CARRY"), 0, count("SB_DFF"), count("SB_RAM40_4K"),
                        count("SB_MAC16"), logic)
        logic = count("$lut")
        return Area(logic, 0, 0, count("$_DFF", "$_SDFF", "$_DFFE", "$_ALDFF"), 0, 0, logic)


#: The devices by name. Packages are those of boards with the device; no result depends on them.
DEVICES = {device.name: device for device in (
    TargetDevice("ecp5-85k", "ecp5", ("--85k", "--package", "CABGA381", "--speed", "6"),
                 lut4=83640, ff=83640, block_ram=208, dsp=156),
    TargetDevice("ecp5-45k", "ecp5", ("--45k", "--package", "CABGA381", "--speed", "6"),
                 lut4=43848, ff=43848, block_ram=108, dsp=72),
    TargetDevice("ecp5-25k", "ecp5", ("--25k", "--package", "CABGA381", "--speed", "6"),
                 lut4=24288, ff=24288, block_ram=56, dsp=28),
    TargetDevice("ice40-hx8k", "ice40", lut4=7680, ff=7680, block_ram=32),
    TargetDevice("generic", "generic"),
)}


def find_device(name: str) -> TargetDevice:
    """The device of that name. Raises UserError naming those there are."""
    if name not in DEVICES:
        raise UserError(f"there is no device {name!r}; there are {', '.join(DEVICES)}")
    return DEVICES[name]
