"""The description of a unit's interface: one record, of which files are made."""

import dataclasses

from amaranth.lib.wiring import Out

from hw import isa, registers
from hw.config import PRESETS, HardwareConfig
from hw.flat_ports import FlatPorts
from hw.operations import EdgeTest, GatherOp, GatherSetting, InputMode
from hw.scu import registers as scu
from hw.units import Clock, HardwareUnit
from sw import __version__

from .members import member_docs, summary


__all__ = ["LICENCE", "Described", "DescribedRegister", "changes", "default_name", "described"]


LICENCE = "Apache-2.0"

_CLOCK = ("clk", "All of the unit works at its rising edge.")
_RESET = ("rst", "Synchronous reset, active high; hold it for a cycle or more.")

#: What the ports of a handshake say, by the direction of the payload.
_HANDSHAKE = {
    ("valid", True): "The payload is on offer. It stays until a cycle in which ready is high, too.",
    ("ready", True): "You take the payload at the end of a cycle in which valid is high, too.",
    ("valid", False): "You offer the payload, and keep it until a cycle in which ready is high, "
                      "too.",
    ("ready", False): "The unit takes the payload at the end of a cycle in which valid is high, "
                      "too.",
}


@dataclasses.dataclass(frozen=True)
class DescribedRegister:
    """A register, or several at equal distances, of a port with addresses in bytes."""
    name: str
    address: int
    access: str  #: ``"r"``, ``"w"`` or ``"rw"``.
    doc: str
    bits: int = 32
    #: {name of a field: its mask}.
    flags: dict[str, int] = dataclasses.field(default_factory=dict[str, int])
    count: int = 1
    stride: int = 0  #: Bytes from one of several to the next.


@dataclasses.dataclass(frozen=True)
class Described:
    """The interface of a unit.

    Attributes
    ----------
    unit : HardwareUnit
    module, command : str
        The name of its module, and the command that writes it.
    config : HardwareConfig
    clock : Clock or None
        Where it makes a difference.
    flat : FlatPorts
    docs : dict of str to (str, str)
        As of :func:`~.members.member_docs`.
    """
    unit: HardwareUnit
    module: str
    command: str
    config: HardwareConfig
    clock: Clock | None
    flat: FlatPorts
    docs: dict[str, tuple[str, str]]

    @property
    def header(self) -> str:
        """The lines at the beginning of the Verilog."""
        fields = [f"{key}={value}" for key, value in self.configuration.items()]
        lines, line = [], "Configuration:"
        for field in fields:
            if len(line) + len(field) > 96:
                lines.append(line)
                line = " "
            line += f" {field}"
        return "\n".join([
            f"{self.module}: {self.unit.doc}",
            f"Made by Graphloom {__version__}; SPDX-License-Identifier: {LICENCE}",
            f"Command: {self.command}", *lines, line, "", ""])

    @property
    def configuration(self) -> dict:
        """The fields of the configuration, by name."""
        return {field.name: getattr(self.config, field.name)
                for field in dataclasses.fields(self.config)}

    @property
    def summary(self) -> str:
        """What the component's docstring says of it: latency and throughput, too."""
        return summary(type(self.flat.component))

    def member(self, name) -> str:
        """What is said of a member of the component."""
        return self.docs.get(name, ("", ""))[1]

    def ports(self) -> list[dict]:
        """Each port: ``name``, ``direction``, ``width``, ``doc``, ``member``, and where they apply
        ``signed``, ``stream``, ``element`` (bits of each element), ``values`` (name of the
        enumeration)."""
        found = [{"name": name, "direction": "input", "width": 1, "doc": doc, "member": name}
                 for name, doc in (_CLOCK, _RESET)]
        for port in self.flat.ports:
            out = port.flow == Out
            record = {"name": port.name, "direction": "output" if out else "input",
                      "width": port.width, "doc": self._doc(port), "member": port.member}
            record |= {name: value for name, value in (
                ("signed", port.signed), ("stream", port.stream), ("element", port.element),
                ("values", port.values and port.values.__name__)) if value}
            found.append(record)
        return found

    def _doc(self, port):
        if port.stream in ("valid", "ready"):
            gives = (port.flow == Out) == (port.stream == "valid")
            return _HANDSHAKE[port.stream, gives]
        names = [name for name in port.fields if not name.isdigit()]
        doc = self.docs.get(".".join([port.member, *names]), ("", ""))[1]
        return doc or registers.COUNTERS.get(names[-1] if names else "", "")

    def values(self) -> dict[str, dict[str, int]]:
        """{name of an enumeration: {name: number}}, of all ports and registers."""
        kinds = [port.values for port in self.flat.ports if port.values]
        if self.unit.registers and self.config.scu:
            kinds += [scu.ScuOperation, scu.ScuOutput, scu.ScuCompare, scu.ScuError]
        if self.unit.registers == "gpu":
            kinds.append(isa.Cause)
        if any(row["op"] == GatherOp.SET.name for row in self.instructions()):
            kinds += [GatherSetting, InputMode, EdgeTest]
        return {kind.__name__: {value.name: int(value.value) for value in kind} for kind in kinds}

    def instructions(self) -> list[dict]:
        """The instructions that the unit answers, if it is a unit that hands out edges: the
        operation of the request, and what it does."""
        variant = self.config.unit
        if variant is None or not any(port.values is GatherOp for port in self.flat.ports):
            return []
        return [{"name": row.name, "op": row.op.name, "number": row.op.value,
                 "reads": [{"1": "request_vid", "2": "request_loc", "3": "request_degree"}[each]
                           for each in row.reads if each in "123"],
                 "writes": row.writes, "doc": row.doc} for row in variant.instructions]

    def registers(self) -> list[DescribedRegister]:
        """The registers of the unit's register port."""
        if self.unit.registers != "gpu":
            return _of_scu(0) if self.unit.registers else []
        flags = {registers.Register.CONTROL: registers.Control,
                 registers.Register.STATUS: registers.Status}
        found = [DescribedRegister(row.name, int(row), access, doc, flags=_flags(flags.get(row)))
                 for row, (access, doc) in registers.REGISTER_DOCS.items()]
        if self.config.scu:
            found += _of_scu(scu.SCU_BASE, "SCU_")
        found += [DescribedRegister(name.upper(), registers.counter_address(name), "r", doc, 64)
                  for name, doc in registers.GPU_COUNTERS.items()]
        return found + [
            DescribedRegister(f"CORE%s_{name.upper()}", registers.counter_address(name), "r", doc,
                              64, count=self.config.cores, stride=registers.CORE_STRIDE)
            for name, doc in registers.CORE_COUNTERS.items()] + [
            DescribedRegister("IMEM%s", registers.IMEM_BASE, "w", "a word of instruction memory",
                              count=self.config.imem_bytes // 4, stride=4)]

    def memory_map(self) -> dict[str, int]:
        """{region: its first address} of what programs see, if the unit runs programs."""
        return {name.lower(): value for name, value in vars(isa.MemoryMap).items()
                if name.isupper()} if self.unit.programs else {}

    def to_json(self) -> dict:
        """All of it."""
        return {
            "unit": self.unit.name, "doc": self.unit.doc, "module": self.module,
            "graphloom": __version__, "licence": LICENCE, "command": self.command,
            "configuration": self.configuration,
            "clock": dataclasses.asdict(self.clock) if self.clock else None,
            "ports": self.ports(), "values": self.values(), "instructions": self.instructions(),
            "registers": [dataclasses.asdict(each) for each in self.registers()],
            "memory_map": self.memory_map()}


def described(unit, config, clock, module, flat) -> Described:
    """The description of a unit.

    Parameters
    ----------
    unit : HardwareUnit
    config : HardwareConfig
    clock : Clock
    module : str
        The name of its module.
    flat : FlatPorts
        Of the unit, the configuration and the clock.
    """
    words = ["graphloom", "verilog", unit.name, *changes(config)]
    if module != default_name(unit):
        words += ["--name", module]
    if unit.clocked:
        words += ["--frequency", f"{clock.frequency:g}", "--baud", str(clock.baud)]
    return Described(unit, module, " ".join(words), unit.configure(config),
                     clock if unit.clocked else None, flat, member_docs(type(flat.component)))


def default_name(unit) -> str:
    """The name of a unit's module if none is given."""
    return f"graphloom_{unit.name.replace('-', '_')}"


def changes(config) -> list[str]:
    """The options that give a configuration."""
    base = PRESETS.get(config.name.rstrip("*"), HardwareConfig())
    return ["--preset", base.name, *(
        word for field in dataclasses.fields(config) if field.name != "name"
        and getattr(config, field.name) != getattr(base, field.name)
        for word in ("--set", f"{field.name}={getattr(config, field.name)}"))]


def _flags(kind) -> dict[str, int]:
    return {name: int(bits) for name, bits in kind.__members__.items()} if kind else {}


def _of_scu(base, prefix=""):
    flags = {scu.ScuRegister.COMMAND: scu.ScuCommand, scu.ScuRegister.STATUS: scu.ScuStatus}
    return [DescribedRegister(prefix + row.name, base + row, access, doc,
                              flags=_flags(flags.get(row)))
            for row, (access, doc) in scu.SCU_REGISTER_DOCS.items()]
