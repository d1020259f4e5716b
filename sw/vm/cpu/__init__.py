"""The GraphVM ``cpu``: a program becomes C++, which runs on the threads of this computer."""

from sw.vm.cpu.machine import CpuMachine, run


__all__ = ["CpuMachine", "run"]
