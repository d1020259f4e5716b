"""How the cells of a netlist count on each device."""

import pytest

from base.errors import UserError
from synth.devices import DEVICES, Area, find_device


#: A number of cells of its own for each type of all families, and types that do not count.
CELLS = {name: 1 << bit for bit, name in enumerate((
    "LUT4", "CCU2C", "TRELLIS_DPR16X4", "TRELLIS_FF", "DP16KD", "PDPW16KD", "MULT18X18D",
    "SB_LUT4", "SB_CARRY", "SB_DFF", "SB_DFFESR", "SB_RAM40_4K", "SB_RAM40_4KNR", "SB_MAC16",
    "$lut", "$_DFF_P_", "$_SDFF_PP0_", "$_DFFE_PP_", "$_ALDFF_PP_", "PFUMX", "$scopeinfo"))}


def cells(*names):
    return sum(CELLS[name] for name in names)


@pytest.mark.parametrize("device, area", [
    ("ecp5-25k", Area(
        logic=cells("LUT4"), carry=cells("CCU2C"), lut_ram=cells("TRELLIS_DPR16X4"),
        ff=cells("TRELLIS_FF"), block_ram=cells("DP16KD", "PDPW16KD"), dsp=cells("MULT18X18D"),
        lut4=cells("LUT4") + 2 * cells("CCU2C") + 6 * cells("TRELLIS_DPR16X4"))),
    ("ice40-hx8k", Area(
        logic=cells("SB_LUT4"), carry=cells("SB_CARRY"), lut_ram=0, ff=cells("SB_DFF", "SB_DFFESR"),
        block_ram=cells("SB_RAM40_4K", "SB_RAM40_4KNR"), dsp=cells("SB_MAC16"),
        lut4=cells("SB_LUT4"))),
    ("generic", Area(
        logic=cells("$lut"), carry=0, lut_ram=0,
        ff=cells("$_DFF_P_", "$_SDFF_PP0_", "$_DFFE_PP_", "$_ALDFF_PP_"), block_ram=0, dsp=0,
        lut4=cells("$lut"))),
])
def test_area(device, area):
    assert find_device(device).area(CELLS) == area


def test_sums():
    one, other = Area(1, 2, 3, 4, 5, 6, 7), Area(10, 20, 30, 40, 50, 60, 70)
    assert other + one == Area(11, 22, 33, 44, 55, 66, 77)
    assert other - one == Area(9, 18, 27, 36, 45, 54, 63)


def test_names():
    assert all(find_device(name).name == name for name in DEVICES)
    with pytest.raises(UserError, match="there is no device 'ecp6'; there are ecp5-85k, "):
        find_device("ecp6")
