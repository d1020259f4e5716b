"""Components with a plain port for each field, for use from Verilog and VHDL."""

import dataclasses
from typing import Any

from amaranth.hdl import Module, Shape, Value
from amaranth.lib import data, enum, wiring


__all__ = ["FlatPorts", "PlainPort"]


@dataclasses.dataclass(frozen=True)
class PlainPort:
    """A port of a :class:`FlatPorts`."""
    name: str
    flow: wiring.Flow
    width: int  #: At least 1.
    member: str  #: The member of the component that it is, or is a field of.
    fields: tuple[str, ...]  #: The names on the way from the member's value to the field.
    signed: bool
    #: Bits of each element, the first in the lowest bits, of a port that is an array; else None.
    element: int | None
    values: type[enum.Enum] | None  #: The enumeration that the port's values are of.
    #: ``"payload"``, ``"valid"`` or ``"ready"`` of a port of a stream, or None.
    stream: str | None


class FlatPorts(wiring.Component):
    """A component with a plain port for each field of its members.

    A field of a member ``request`` is a port ``request_FIELD``, and so on for fields of fields. Of
    a stream, the fields of its payload are ports ``request_FIELD``, beside ``request_valid`` and
    ``request_ready``. An array of numbers is one port, with the first in the lowest bits; an array
    of structures or of ports has ports ``NAME_0_FIELD``. Fields without bits have no port.

    Parameters
    ----------
    component : wiring.Component

    Attributes
    ----------
    ports : tuple of PlainPort
        Beside ``clk`` and ``rst``, in the order of the component's members.
    component : wiring.Component
    black_boxes : dict
        As of the component.
    """
    def __init__(self, component):
        self.component = component
        self.black_boxes = getattr(component, "black_boxes", {})
        self._inner: list[Value] = []
        ports, members = [], {}
        for path, member, value in component.signature.flatten(component):
            for names, shape, field in _fields(member.shape, value):
                width = Shape.cast(shape).width
                if not width:
                    continue
                port = _port(path, member.flow, names, shape, width)
                assert port.name not in members, f"two ports have the name {port.name}"
                ports.append(port)
                self._inner.append(field)
                init = {} if names else {"init": member.init}
                members[port.name] = wiring.Member(member.flow, width, **init)
        self.ports = tuple(ports)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = self.component
        for port, inner in zip(self.ports, self._inner, strict=True):
            outer, inner = getattr(self, port.name), Value.cast(inner)
            m.d.comb += outer.eq(inner) if port.flow == wiring.Out else inner.eq(outer)
        return m


def _fields(shape, value, names=()):
    """``(names, shape, value)`` of each part of a value that becomes a port."""
    if isinstance(shape, data.StructLayout):
        for name, field in shape.members.items():
            yield from _fields(field, value[name], (*names, name))
    elif isinstance(shape, data.ArrayLayout) and isinstance(shape.elem_shape, data.Layout):
        for index in range(shape.length):
            yield from _fields(shape.elem_shape, value[index], (*names, str(index)))
    else:
        yield names, shape, value


def _port(path, flow, names, shape: Any, width):
    kind, head = None, [str(part) for part in path]
    if head[-1] in ("payload", "valid", "ready") and len(head) > 1:
        kind = head[-1]
        if kind == "payload" and names:
            head.pop()
    plain = Shape.cast(shape)
    return PlainPort(
        name="_".join([*head, *names]), flow=flow, width=width, member=str(path[0]),
        fields=(*(() if kind == "payload" else map(str, path[1:])), *names), signed=plain.signed,
        element=Shape.cast(shape.elem_shape).width if isinstance(shape, data.ArrayLayout) else None,
        values=shape if isinstance(shape, type) and issubclass(shape, enum.Enum) else None,
        stream=kind)


