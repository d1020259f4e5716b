"""The functions of a program that the host may start, and the types of their parameters, from the
debug information of its ELF file."""

import dataclasses

import numpy as np
from elftools.elf.elffile import ELFFile

from base.errors import UserError


__all__ = ["CParameter", "CSignature", "signatures"]


#: DWARF's encodings of base types.
_FLOAT, _SIGNED = 4, (5, 6, 13)
_BOOLEAN = 2


@dataclasses.dataclass(frozen=True)
class CParameter:
    """A parameter of a function.

    Attributes
    ----------
    name : str
    text : str
        The type in C's words.
    dtype : numpy.dtype or None
        Of the value; of a pointer, of what it points to; None if neither is a number.
    pointer : bool
    constant : bool
        Whether it points to what the function does not write.
    """
    name: str
    text: str
    dtype: np.dtype | None
    pointer: bool
    constant: bool = False


@dataclasses.dataclass(frozen=True)
class CSignature:
    """A function that other files see: its name, its address and its parameters."""
    name: str
    address: int
    parameters: tuple[CParameter, ...]

    @property
    def text(self):
        """The function as in C."""
        inside = ", ".join(f"{each.text}{'' if each.text.endswith('*') else ' '}{each.name}"
                           for each in self.parameters)
        return f"{self.name}({inside})"


class _Types:
    """Reads types: a text, a numpy dtype or None, and whether it is constant."""

    def read(self, entry):
        """``(text, dtype, constant, entry of what a pointer points to)`` of a type."""
        constant, named = False, ""
        while entry is not None and entry.tag in (
                "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type",
                "DW_TAG_typedef", "DW_TAG_array_type"):
            constant = constant or entry.tag == "DW_TAG_const_type"
            named = _name(entry) or named
            entry = _type_of(entry)
        if entry is None:
            return "void", None, constant, None
        if entry.tag == "DW_TAG_pointer_type":
            return "", None, constant, entry
        size = entry.attributes["DW_AT_byte_size"].value \
            if "DW_AT_byte_size" in entry.attributes else 0
        if entry.tag == "DW_TAG_base_type":
            encoding = entry.attributes["DW_AT_encoding"].value
            kind = "f" if encoding == _FLOAT else "i" if encoding in _SIGNED else "u"
            kind = "b" if encoding == _BOOLEAN else kind
            return _name(entry), np.dtype(f"{kind}{size}"), constant, None
        if entry.tag == "DW_TAG_enumeration_type":
            return f"enum {_name(entry)}", np.dtype(f"u{size}"), constant, None
        named = f"struct {_name(entry)}" if _name(entry) else named or entry.tag[7:-5]
        return named, None, constant, None

    def parameter(self, entry):
        """The :class:`CParameter` of an entry of DWARF."""
        text, dtype, _, pointer = self.read(_type_of(entry))
        if pointer is None:
            return CParameter(_name(entry), text, dtype, False)
        text, dtype, constant, deeper = self.read(_type_of(pointer))
        stars = "*"
        while deeper is not None:
            text, _, _, deeper = self.read(_type_of(deeper))
            stars += "*"
        return CParameter(_name(entry), f"{'const ' * constant}{text} {stars}", dtype, True,
                          constant)


def _type_of(entry):
    return entry.get_DIE_from_attribute("DW_AT_type") if "DW_AT_type" in entry.attributes else None


def _name(entry):
    attribute = entry.attributes.get("DW_AT_name")
    return attribute.value.decode(errors="replace") if attribute else ""


def signatures(path):
    """dict of str to CSignature. The functions of an ELF file that other files see.

    Raises
    ------
    UserError
        The file has no debug information.
    """
    found = {}
    with open(path, "rb") as file:
        elf = ELFFile(file)
        if not elf.has_dwarf_info():
            raise UserError(f"{path}: has no debug information, which tells the types of arguments")
        for unit in elf.get_dwarf_info().iter_CUs():
            for entry in unit.get_top_DIE().iter_children():
                if entry.tag == "DW_TAG_subprogram" and "DW_AT_external" in entry.attributes and \
                        "DW_AT_low_pc" in entry.attributes:
                    types = _Types()
                    found[_name(entry)] = CSignature(
                        _name(entry), entry.attributes["DW_AT_low_pc"].value,
                        tuple(types.parameter(child) for child in entry.iter_children()
                              if child.tag == "DW_TAG_formal_parameter"))
    return found
