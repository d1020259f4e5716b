"""Netlists of ECP5 cells as Verilog that both simulators run, cell by cell, as they are placed.

Yosys' own models simulate LUTs, carry chains, flip-flops and LUT RAM. Yosys has no model of block
RAM; ``block_ram.v`` has one.
"""

import pathlib
import re

from synth import tools
from synth.devices import DEVICES
from synth.logic import synthesize


__all__ = ["netlist"]


_OWN = pathlib.Path(__file__).with_name("block_ram.v")

#: The modules taken from Yosys' models.
_CELLS = ("LUT2", "LUT4", "PFUMX", "L6MUX21", "CCU2C", "TRELLIS_DPR16X4", "TRELLIS_FF")


def _models():
    folder = tools.models() / "lattice"
    text = "".join((folder / name).read_text() for name in ("common_sim.vh", "ccu2c_sim.vh"))
    found = []
    for cell in _CELLS:
        module = re.search(rf"(?ms)^module {cell} ?\(.*?^endmodule$", text)
        assert module is not None, f"Yosys has no model of {cell}"
        found.append(re.sub(r"(?ms)^ *specify$.*?^ *endspecify$", "", module[0].expandtabs(4)))
    text = "\n".join(found) + "\n"
    # A wire has no value yet when initial blocks run.
    text, count = re.subn(r"initial Q = srval;", 'initial Q = REGSET == "SET";', text)
    assert count == 1, "the model of a flip-flop is another one"
    return text + _OWN.read_text()


def netlist(component, top) -> str:
    """The Verilog of a component's netlist and of its cells.

    Parameters
    ----------
    component : wiring.Component
    top : str
        Name of its module.
    """
    return synthesize(component, DEVICES["ecp5-85k"], top=top).verilog.read_text() + _models()
