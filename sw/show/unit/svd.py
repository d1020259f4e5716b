"""The registers of a unit as CMSIS-SVD, which debuggers and generators of headers read."""

from xml.etree import ElementTree


__all__ = ["svd"]


_ACCESS = {"r": "read-only", "w": "write-only", "rw": "read-write"}


def svd(described, name) -> str:
    """The text of the file: a device with one peripheral at address 0.

    Parameters
    ----------
    described : Described
        With registers.
    name : str
        The device's.
    """
    registers = described.registers()
    root = ElementTree.Element("device", schemaVersion="1.3")
    _add(root, name=name, version="1", description=described.unit.doc, addressUnitBits=8, width=32,
         size=32, resetValue="0x0")
    peripherals = ElementTree.SubElement(root, "peripherals")
    peripheral = ElementTree.SubElement(peripherals, "peripheral")
    _add(peripheral, name=name.upper(), description=described.unit.doc, baseAddress="0x0")
    block = ElementTree.SubElement(peripheral, "addressBlock")
    _add(block, offset="0x0", usage="registers", size=hex(max(
        each.address + each.count * (each.stride or each.bits // 8) for each in registers)))
    listed = ElementTree.SubElement(peripheral, "registers")
    for each in sorted(registers, key=lambda each: each.address):
        register = ElementTree.SubElement(listed, "register")
        if each.stride:
            _add(register, dim=each.count, dimIncrement=hex(each.stride))
        _add(register, name=each.name, description=each.doc, addressOffset=hex(each.address),
             size=each.bits, access=_ACCESS[each.access])
        if each.flags:
            fields = ElementTree.SubElement(register, "fields")
            for flag, mask in each.flags.items():
                lowest = (mask & -mask).bit_length() - 1
                _add(ElementTree.SubElement(fields, "field"), name=flag, bitOffset=lowest,
                     bitWidth=mask.bit_length() - lowest)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, "unicode")}\n'


def _add(element, **values):
    for name, value in values.items():
        ElementTree.SubElement(element, name).text = str(value)
