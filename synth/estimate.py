"""A static timing estimate from the netlist alone. It takes seconds where placement takes an hour.

Every cell has the delay that nextpnr gives it, and all wires have the same delay. So the estimate
ranks paths and gives levels of logic. Its frequency is above the frequency that a placement
reaches.
"""

import dataclasses
import itertools

from sim.toolchain import ToolError

from .netlist import Netlist, PathStep


__all__ = ["Estimate", "LUT", "WIRE", "estimate"]


#: Nanoseconds, of nextpnr's ECP5 data base for speed grade 6.
LUT = 0.24
WIRE = 0.75
_MUX = 0.20             # into a multiplexer beside the LUTs that feed it
_SELECT = 0.26
_CARRY_IN, _CARRY, _CARRY_OUT = 0.45, 0.07, 0.44
_CLOCK_TO_Q = 0.52
_CLOCK_TO_RAM = 5.00
_MULTIPLY = 4.00
_CONTROL = 0.42         # set-up of a flip-flop's enable and reset

#: Ports that a net reaches without a wire of the fabric.
_DIRECT = {("PFUMX", "ALUT"), ("PFUMX", "BLUT"), ("L6MUX21", "D0"), ("L6MUX21", "D1"),
           ("CCU2C", "CIN")}


@dataclasses.dataclass(frozen=True)
class Estimate:
    """The longest path from register to register."""
    delay: float  #: Nanoseconds.
    #: Pieces of logic on the path, with a wire before each: LUTs, carry chains, and multiplexers
    #: that are not beside the LUTs that feed them.
    levels: int
    steps: tuple[PathStep, ...]  #: The steps from the path's first register to its end.

    @property
    def frequency(self) -> float:
        """MHz."""
        return 1000 / self.delay if self.delay else float("inf")


def _arcs(cell):
    """The combinational arcs of a cell: (input port, output port, delay)."""
    kind = cell.type
    if kind == "LUT4":
        return [(port, "Z", LUT) for port in "ABCD"]
    if kind == "PFUMX":
        return [("ALUT", "Z", _MUX), ("BLUT", "Z", _MUX), ("C0", "Z", _SELECT)]
    if kind == "L6MUX21":
        return [("D0", "Z", _MUX), ("D1", "Z", _MUX), ("SD", "Z", _SELECT)]
    if kind == "CCU2C":
        arcs = [("CIN", "COUT", _CARRY), ("CIN", "S0", _CARRY_OUT), ("CIN", "S1", _CARRY_OUT)]
        for half in "01":
            for port in "ABCD":
                arcs.append((port + half, "COUT", _CARRY_IN))
                arcs += [(port + half, f"S{to}", _CARRY_IN) for to in "01" if to >= half]
        return arcs
    if kind == "TRELLIS_DPR16X4":
        return [("RAD", "DO", LUT)]
    if kind in ("MULT18X18D", "ALU54B"):
        return [(source, target, _MULTIPLY) for source in cell.inputs
                if source[0] in "AB" and source[1:].isdigit() for target in cell.outputs
                if target[0] == "P"]
    return []


def _begins(cell):
    """The delay from the clock to the outputs of a cell; None if the cell has no state."""
    if cell.type.startswith("TRELLIS_FF"):
        return _CLOCK_TO_Q
    return _CLOCK_TO_RAM if cell.type in ("DP16KD", "PDPW16KD") else None


def _ends(cell):
    """The ports of a cell where paths end, each with its set-up time."""
    if cell.type.startswith("TRELLIS_FF"):
        return {"DI": 0.0, "M": 0.0, "CE": _CONTROL, "LSR": _CONTROL}
    if cell.type == "TRELLIS_DPR16X4":
        return dict.fromkeys(("DI", "WAD", "WRE"), 0.0)
    if cell.type in ("DP16KD", "PDPW16KD"):
        return {port: 0.0 for port in cell.inputs if not port.startswith("CLK")}
    return {}


class _Timing:
    """The arrival time of each net, and its longest path."""

    def __init__(self, netlist):
        self._netlist = netlist
        self._feeds = {}                # net -> (following net, delay), (...)
        self._waits = {}                # net -> arcs that have not been followed
        self._from = {}                 # net -> the previous net on its longest path
        self._drives = {}               # net -> the cell that drives it
        self.times = {}
        for cell in netlist.cells.values():
            for bits in cell.outputs.values():
                self._drives |= dict.fromkeys(bits, cell)
            self._join(cell)
        for bits in netlist.inputs.values():
            self.times |= dict.fromkeys(bits, _CLOCK_TO_Q)
        for cell in netlist.cells.values():
            first = _begins(cell)
            if first is not None:
                for bits in cell.outputs.values():
                    self.times |= dict.fromkeys(bits, first)
        self._follow()

    def _join(self, cell):
        for source, target, delay in _arcs(cell):
            if (cell.type, source) not in _DIRECT:
                delay += WIRE
            for before in cell.inputs.get(source, ()):
                for after in cell.outputs.get(target, ()):
                    if isinstance(before, int) and isinstance(after, int):
                        self._feeds.setdefault(before, []).append((after, delay))
                        self._waits[after] = self._waits.get(after, 0) + 1

    def _follow(self):
        # Nets that no cell drives, or that depend on constants only, are valid from time 0.
        for net in {*self._feeds, *self._waits}:
            if net not in self.times and not self._waits.get(net):
                self.times[net] = 0.0
        ready = [net for net in self.times if not self._waits.get(net)]
        while ready:
            net = ready.pop()
            for after, delay in self._feeds.get(net, ()):
                time = self.times[net] + delay
                if time > self.times.get(after, -1.0):
                    self.times[after], self._from[after] = time, net
                self._waits[after] -= 1
                if not self._waits[after]:
                    ready.append(after)
        stuck = [net for net, left in self._waits.items() if left]
        if stuck:
            names = sorted({self._netlist.place(net) or "" for net in stuck} - {""})
            raise ToolError("the netlist has a combinational loop through "
                            + (", ".join(names[:3]) or "nets without names"))

    def path(self, net):
        """The nets of the longest path to a net, each with the type of the cell that drives it."""
        nets = [net]
        while nets[-1] in self._from:
            nets.append(self._from[nets[-1]])
        found = []
        for each in reversed(nets):
            cell = self._drives.get(each)
            found.append((each, cell.type if cell else "input"))
        return found


def estimate(netlist: Netlist) -> Estimate:
    """The longest path of a netlist of ECP5 cells, whose ports count as registers.

    Raises ToolError if there is a combinational loop.
    """
    timing = _Timing(netlist)
    worst, end, target = 0.0, None, None
    for cell in netlist.cells.values():
        for port, setup in _ends(cell).items():
            for net in cell.inputs.get(port, ()):
                time = timing.times.get(net, 0.0) + WIRE + setup
                if isinstance(net, int) and time > worst:
                    worst, end, target = time, net, cell.name
    for port, bits in netlist.outputs.items():
        for net in bits:
            time = timing.times.get(net, 0.0) + WIRE
            if isinstance(net, int) and time > worst:
                worst, end, target = time, net, None
                output = port
    if end is None:
        return Estimate(0.0, 0, ())
    path = timing.path(end)
    steps = [PathStep(round(timing.times[net], 2), kind, netlist.place(net)) for net, kind in path]
    steps.append(PathStep(round(worst, 2), "end", output if target is None
                          else netlist.driven(target)))
    levels = sum(timing.times[net] - timing.times[before] > WIRE
                 for (before, _), (net, _) in itertools.pairwise(path))
    return Estimate(round(worst, 2), levels, tuple(steps))
