"""A board at the end of a serial line: the cable, the protocol, and the machine it makes."""

from sw.link.machine import SerialMachine


__all__ = ["SerialMachine"]
