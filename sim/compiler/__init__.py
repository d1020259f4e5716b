"""A compiler of hardware to C++ that evaluates only what can change.

In half of all cycles fewer than one signal in a hundred changes. Verilator's code evaluates all
signals in each cycle. This compiler divides a design into parts, and a part is evaluated only in
cycles in which one of its inputs has changed.

netlist
    Amaranth's netlist of a component as nodes.
optimize
    Nodes without those that are constant, equal to others or not read.
neighbours
    Equal operations on neighbouring values as operations on wider values.
arrays
    Equal operations on many values as operations on arrays.
partition
    Parts of nodes that are evaluated together.
blocks
    The order of a part's statements, and the conditions under which they run.
expressions
    C++ for values and operators.
statements
    C++ statements of a part.
emit
    C++ for a whole design.
"""

from .emit import emitted
from .netlist import HardwareNetlist, netlist
from .optimize import optimized


__all__ = ["HardwareNetlist", "emitted", "netlist", "optimized"]
