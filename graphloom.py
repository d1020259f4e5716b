"""The names that a script needs to run graphs on the GPU::

    from graphloom import Device, load, preset

    with Device.simulate(preset("default")) as device:
        result = device.run("bfs", load("karate"), schedule="weaver", source=0)
    print(result.cycles, result.by_name("depth")[33])

In the source tree this module stands beside the folders ``base``, ``hw``, ``sim``, ``sw``,
``synth`` and ``checks``. ``pip install`` makes it the package that holds these
folders, so that everything else is imported as ``graphloom.hw.config`` and so on (see
``hatch_build.py``).

The module imports a name when a script first uses the name: ``import graphloom`` alone loads
neither numpy nor Amaranth.
"""

from typing import TYPE_CHECKING

from sw import __version__


if TYPE_CHECKING:
    from base.errors import RunError, UserError
    from hw.config import ConfigError, HardwareConfig, preset
    from sim.dram import DramConfig
    from sim.dram_device import DramDevice
    from sw.graph import Graph, generate
    from sw.graph.load import load
    from sw.operators.hashing import HashTable
    from sw.lang.names import (Label, PriorityQueue, decimal, edgeset, fixed, fraction, infinity,
                               loopless, none, program, simple, symmetric, uint, vector, vertex,
                               vertexset, vertices)
    from sw.operators.reordering import Reordering
    from sw.device import Device, Result, Results
    from sw.cc.host import compile_c as compile
    from sw.study.sweep import SweepResult, sweep


__all__ = ["ConfigError", "Device", "DramConfig", "DramDevice", "Graph", "HardwareConfig",
           "HashTable", "Reordering", "Result", "Results", "RunError", "SweepResult", "UserError",
           "__version__", "compile", "generate", "load", "preset", "sweep",
           # the words of the algorithm language (docs/language.md)
           "Label", "PriorityQueue", "decimal", "edgeset", "fixed", "fraction", "infinity",
           "loopless", "none", "program", "simple", "symmetric", "uint", "vector", "vertex",
           "vertexset", "vertices"]


def __getattr__(name):
    """Import the public names when the first of them is used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from base.errors import RunError, UserError  # noqa: F401
    from hw.config import ConfigError, HardwareConfig, preset  # noqa: F401
    from sim.dram import DramConfig  # noqa: F401
    from sim.dram_device import DramDevice  # noqa: F401
    from sw.graph import Graph, generate, load  # noqa: F401
    from sw.cc.host import compile_c as compile  # noqa: F401
    from sw.operators.hashing import HashTable  # noqa: F401
    from sw.lang.names import (  # noqa: F401
        Label, PriorityQueue, decimal, edgeset, fixed, fraction, infinity, loopless, none, program,
        simple, symmetric, uint, vector, vertex, vertexset, vertices)
    from sw.operators.reordering import Reordering  # noqa: F401
    from sw.device import Device, Result, Results  # noqa: F401
    from sw.study.sweep import SweepResult, sweep  # noqa: F401
    found = locals()
    globals().update((public, found[public]) for public in __all__ if public in found)
    return found[name]


def __dir__():
    """The public names."""
    return sorted(__all__)


def main():
    """The command line: the process ends with its exit code."""
    from sw.cli.__main__ import start
    start()
