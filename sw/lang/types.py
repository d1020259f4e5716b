"""The types of the algorithm language, and the places of a program's text."""

import dataclasses
import enum

from base.errors import UserError


__all__ = ["INFINITY", "LARGEST", "LanguageError", "NONE", "Named", "Position", "RESERVED", "Type",
           "WORD"]


#: Values of a word: 0 up to this, not included.
WORD = 1 << 32

#: The largest number that a uint can be; the next word is ``infinity``.
LARGEST = WORD - 2


class Named(int):
    """A number of the host that a name of the language stands for. A number that is computed is
    never one, even if it is equal: it is no ``infinity`` by accident.

    Attributes
    ----------
    name : str
    """
    name = ""

    @classmethod
    def of(cls, name: str) -> "Named":
        """The number of a name, which is the last word."""
        number = cls(WORD - 1)
        number.name = name
        return number


#: The values of ``infinity`` and ``none``: as words both are all ones.
INFINITY, NONE = Named.of("infinity"), Named.of("none")

#: Words of the language that no program can give another meaning.
RESERVED = frozenset({"infinity", "none", "vertices"})


class Type(enum.Enum):
    """The type of a value. All but the last four fit in a word of 32 bits.

    Attributes
    ----------
    UINT
        An unsigned number up to :data:`LARGEST`, or ``infinity``. A sum, product or difference
        that is no such number is an error of the run.
    BOOL
        0 or 1.
    VERTEX
        The number of a vertex, or ``none``.
    FRACTION
        A number from 0 to just below 1, with 32 fraction bits.
    FIXED
        A number of fixed point. A program has one number of fraction bits for all of them. A
        value that does not fit is an error of the run.
    DECIMAL
        An exact rational number of the host program.
    WHOLE
        An integer of the host program.
    VERTEXSET, QUEUE
        A set of vertices, and a queue of vertices by priority.
    """
    UINT = "uint"
    BOOL = "bool"
    VERTEX = "vertex"
    FRACTION = "fraction"
    FIXED = "fixed"
    DECIMAL = "decimal"
    WHOLE = "int"
    VERTEXSET = "vertexset"
    QUEUE = "PriorityQueue"

    @property
    def is_word(self) -> bool:
        """Whether a vector can have elements of this type."""
        return self in (Type.UINT, Type.BOOL, Type.VERTEX, Type.FRACTION, Type.FIXED)


@dataclasses.dataclass(frozen=True)
class Position:
    """A place in a text."""
    file: str
    line: int  #: Counts from 1.
    column: int  #: Counts from 1.

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class LanguageError(UserError):
    """A program that is not of the language.

    Parameters
    ----------
    position : Position
    message : str
        The fault, and the remedy.
    """

    def __init__(self, position: Position, message: str) -> None:
        super().__init__(f"{position}: {message}")
        self.position = position
