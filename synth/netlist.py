"""A netlist of ECP5 cells, as Yosys writes it for nextpnr, with the names of our own signals.

Most nets have names that Yosys made up from the cells that they reach. A net that is also a signal
of the design has the signal's name as well. The best name of a cell is the signal that it drives.
"""

import dataclasses
import json
import re


__all__ = ["Cell", "Netlist", "PathStep", "strip"]


#: The suffixes that Yosys appends to a name: cell types of the ECP5, and their ports.
_MADE_UP = re.compile(r"_(?:LUT4|PFUMX|L6MUX21|CCU2C|TRELLIS_FF|TRELLIS_DPR16X4|DP16KD|PDPW16KD|"
                      r"MULT18X18D|SB_\w+?)_(?:[A-Z]+\d*)(?=_|\[|$).*")

#: The number of a memory's cell after the memory's name, and the suffix that Yosys appends.
_RAM = re.compile(r"\.\d+\.\d+_[A-Z].*")

#: Names that Amaranth and Yosys make up where a name is missing or already taken.
_NUMBERED = re.compile(r"\.?\\?\$.*")


def strip(name) -> str:
    """The part of a name that stands in our source, without suffixes of Yosys and Amaranth."""
    return _NUMBERED.sub("", _RAM.sub("", _MADE_UP.sub("", name)))


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell."""
    name: str
    type: str
    inputs: dict  #: The nets at each of its inputs, bit by bit: numbers, or texts for constants.
    outputs: dict  #: The nets at each of its outputs, likewise.


@dataclasses.dataclass(frozen=True)
class PathStep:
    """A place on a path from register to register."""
    time: float  #: Nanoseconds since the clock's edge.
    #: The step that ends here: a type of cell in an estimate; ``clk-to-q``, ``routing``, ``logic``
    #: or ``setup`` in a placement.
    kind: str
    #: Name of the signal in our source. A signal without such a name has ``~`` and the name of a
    #: signal that it belongs to.
    signal: str | None


class Netlist:
    """A netlist.

    Parameters
    ----------
    text : str
        JSON, as ``write_json`` writes it.
    top : str
        Name of the top module.

    Attributes
    ----------
    cells : dict of str to Cell
    inputs, outputs : dict
        The nets at each port of the top.
    """
    def __init__(self, text, top):
        module = json.loads(text)["modules"][top]
        self.cells = {}
        for name, cell in module["cells"].items():
            sides = {"input": {}, "output": {}, "inout": {}}     # the last: pads
            for port, bits in cell["connections"].items():
                sides[cell["port_directions"][port]][port] = bits
            self.cells[name] = Cell(name, cell["type"], sides["input"], sides["output"])
        sides = {"input": {}, "output": {}, "inout": {}}
        for port, found in module["ports"].items():
            sides[found["direction"]][port] = found["bits"]
        self.inputs, self.outputs = sides["input"], sides["output"]
        self._names, self._near, self._nets = {}, {}, {}
        for name, found in module["netnames"].items():
            bits, own = found["bits"], strip(name)
            names = self._names if own == name else self._near
            for index, bit in enumerate(bits):
                full = f"{name}[{index}]" if len(bits) > 1 else name
                self._nets[full] = bit
                if found.get("hide_name") or not own:
                    continue
                if own != name:
                    full = own
                if bit not in names or self._rank(full) < self._rank(names[bit]):
                    names[bit] = full

    @staticmethod
    def _rank(name):
        """A lower rank is a better name of a net. The innermost name is best, because the signal is
        made there."""
        return -name.count("."), len(name), name

    def place(self, net):
        """The place of a net: its name in our sources, or ``~`` and the name of a signal beside the
        net. None if there is neither."""
        if net in self._names:
            return self._names[net]
        return f"~{self._near[net]}" if net in self._near else None

    def place_of(self, name):
        """:meth:`place` of the net with a name in the netlist."""
        return self.place(self._nets.get(name))

    def driven(self, name):
        """The name in our source of the signal that a cell drives; else the part of the cell's name
        that comes from our source."""
        cell = self.cells.get(name)
        if cell is not None and cell.type.startswith("TRELLIS_FF"):
            for bits in cell.outputs.values():
                if bits and bits[0] in self._names:
                    return self._names[bits[0]]
        if cell is not None and cell.type in ("TRELLIS_DPR16X4", "DP16KD", "PDPW16KD"):
            return re.sub(r"\.\d+\.\d+$", "", name)
        return strip(name) or name
