"""A board at the end of a serial line: the cable, the protocol, and the machine it makes."""

from sw.device.link.machine import TIME_LIMIT, SerialMachine


__all__ = ["TIME_LIMIT", "SerialMachine"]
