"""The registers of the Stream Compaction Unit, and what an operation does.

One table, used by the unit, by the golden model, by the host runtime and by the generated
documentation. Registers are 32 bits wide, at byte offsets from :data:`SCU_BASE` in the host's
register space (:mod:`hw.registers`).

**Operations** (Segura et al., ISCA 2019, section 3.1). An operation makes a stream of elements
from its ``LENGTH`` inputs, in order. Input ``i`` is passed over if there is a ``BITMASK`` whose
bit ``i`` is 0. Else it gives

* BITMASK, DATA: the word ``i`` of ``SOURCE``;
* ACCESS: the word ``INDEXES[i]`` of ``SOURCE``;
* REPLICATION: the word ``i`` of ``SOURCE``, ``COUNTS[i]`` times;
* ACCESS_EXPANSION: ``COUNTS[i]`` consecutive words of ``SOURCE`` from word ``INDEXES[i]`` on.

If there is a ``FILTER``, of these elements only those whose bit in it is 1 are left. To the
elements left, numbered ``k`` from 0, ``OPERAND[k]`` is added where there is an ``OPERAND`` and the
output is not a filter.

**Outputs** (section 4.1).

* DATA: element ``k`` becomes word ``k`` of ``DESTINATION``; where there is an ``ORDER``, word
  ``ORDER[k]``, where the last of several stays. The elements of BITMASK are single bits: whether
  the comparison with ``REFERENCE`` holds.
* FILTER_UNIQUE, FILTER_BEST: bit ``k`` of ``DESTINATION`` says if the element is kept. The hash
  table holds elements that were; one that is found there is not kept, except that FILTER_BEST
  keeps it if its cost ``OPERAND[k]``, unsigned, is less than the one it was found with, which it
  then replaces. An element that is not found is kept and goes into the first empty way of its set,
  or else into way ``k mod ways``, over the one that is there. The element 0xFFFFFFFF, which is what
  an empty way holds, is always kept and never stored. Elements of BITMASK for which the comparison
  does not hold are not kept and not looked up.
* GROUP: word ``k`` of ``DESTINATION`` is the place of element ``k`` in a new order, in which
  elements that are indexes of words in the same cache line stand together, at most
  :func:`group_limit`. The hash table, which is emptied first, holds groups by the number of their
  line (28 bits of it); a full group, and one whose way (as above) another needs, is given the next
  places, and at the end those that are left, in the table's order. Elements of BITMASK for which
  the comparison does not hold are passed over and not numbered.

**Bits** lie in words, the lowest first; those behind the last of the last word are written as 0,
except where ``ORDER`` says where each bit goes.

**The hash table** has ``HASH_SETS`` sets of ``HASH_WAYS`` entries (:func:`entry_bytes`) at
``HASH``; see :func:`hash_set`. It keeps what it holds from one operation to the next.

**In place.** Where there is no ``ORDER``, ``DESTINATION`` may be ``OPERAND``, and of DATA
``SOURCE``; what overlaps otherwise may be read before or after it is written.

**Errors** end an operation. What is wrong with the registers (:class:`ScuError`, in the order of
their numbers) ends it before anything is read or written. Of the elements, the first that lies
outside the memory, that a vector is too short for, or for whose output there is no memory ends it:
those before it are as if it had been the end.
"""

import enum
import typing


__all__ = ["EMPTY", "SCU_BASE", "SCU_REGISTERS", "SCU_REGISTER_DOCS", "ScuCommand", "ScuCompare",
           "ScuError", "SCU_ERROR_DOCS", "ScuOperation", "ScuOutput", "ScuRegister", "ScuResult",
           "ScuStatus", "entry_bytes", "error_text", "group_limit", "hash_set"]


#: Where they are in the host's register space, and the bytes they take.
SCU_BASE = 0x0400
SCU_REGISTERS = 0x80

#: What an empty way of the hash table holds.
EMPTY = 0xFFFF_FFFF


class ScuRegister(enum.IntEnum):
    COMMAND        = 0x00
    STATUS         = 0x04
    RESULT         = 0x08
    SELECTED       = 0x0C
    ERROR          = 0x10
    ERROR_ADDRESS  = 0x14
    LENGTH         = 0x18
    SOURCE         = 0x1C
    DESTINATION    = 0x20
    BITMASK        = 0x24
    INDEXES        = 0x28
    COUNTS         = 0x2C
    FILTER         = 0x30
    FILTER_LENGTH  = 0x34
    ORDER          = 0x38
    OPERAND        = 0x3C
    OPERAND_LENGTH = 0x40
    REFERENCE      = 0x44
    HASH           = 0x48
    HASH_SETS      = 0x4C
    HASH_WAYS      = 0x50
    COUNT_ADDRESS  = 0x54
    COUNT_OFFSET   = 0x58


class ScuOperation(enum.IntEnum):
    BITMASK          = 0
    DATA             = 1
    ACCESS           = 2
    REPLICATION      = 3
    ACCESS_EXPANSION = 4


class ScuOutput(enum.IntEnum):
    """What becomes of the elements."""
    DATA          = 0
    FILTER_UNIQUE = 1
    FILTER_BEST   = 2
    GROUP         = 3


class ScuCompare(enum.IntEnum):
    """element COMPARE reference"""
    EQ = 0
    NE = 1
    LT = 2
    GE = 3
    LE = 4
    GT = 5


class ScuCommand(enum.IntFlag):
    """Fields of COMMAND, as shifts and masks: see :meth:`of`."""
    OPERATION = 0x7
    OUTPUT    = 0x30
    COMPARE   = 0x700
    SIGNED    = 0x800
    CLEAR     = 0x1000

    @classmethod
    def of(cls, operation, output=0, compare=0, signed=False, clear=False) -> int:
        """The word; ``clear``: empty the hash table first."""
        return (int(operation) | int(output) << 4 | int(compare) << 8
                | (int(cls.SIGNED) if signed else 0) | (int(cls.CLEAR) if clear else 0))


class ScuStatus(enum.IntFlag):
    """Bits of STATUS. All but BUSY are cleared by the next start."""
    BUSY    = 1
    DONE    = 2     # the operation has ended without an error
    ERROR   = 4     # it has ended with one
    REFUSED = 8     # COMMAND was written while an operation was under way: to no effect


class ScuError(enum.IntEnum):
    NONE        = 0
    OPERATION   = 1
    MISALIGNED  = 2
    HASH        = 3
    UNMAPPED    = 4
    VECTOR      = 5


SCU_ERROR_DOCS = {
    ScuError.NONE: "no error",
    ScuError.OPERATION: "no such operation, output or comparison, or they cannot go together",
    ScuError.MISALIGNED: "a vector does not begin at a multiple of 4, or the hash table at one of "
                         "the line size",
    ScuError.HASH: "a number of sets or ways is not a power of two, or a set is larger than a line",
    ScuError.UNMAPPED: "an address outside the memory",
    ScuError.VECTOR: "FILTER, ORDER or OPERAND has fewer elements than there are",
}

SCU_REGISTER_DOCS = {
    ScuRegister.COMMAND: ("w", "starts an operation: operation in bits 2:0, output in 5:4, "
                          "comparison in 10:8, whether it is signed in 11, whether the hash table "
                          "is emptied first in 12"),
    ScuRegister.STATUS: ("r", "busy; done; ended with an error; a start was refused"),
    ScuRegister.RESULT: ("r", "elements of the output"),
    ScuRegister.SELECTED: ("r", "of a BITMASK or a filter: its bits that are 1; of GROUP: groups"),
    ScuRegister.ERROR: ("r", "why the last operation ended, as ScuError"),
    ScuRegister.ERROR_ADDRESS: ("r", "the address that is wrong; of ERROR 1 the command, of 3 the "
                                "number"),
    ScuRegister.LENGTH: ("rw", "inputs"),
    ScuRegister.SOURCE: ("rw", "address of the data"),
    ScuRegister.DESTINATION: ("rw", "address of the output"),
    ScuRegister.BITMASK: ("rw", "address of a bit for each input; 0: all are selected"),
    ScuRegister.INDEXES: ("rw", "address of an index for each input"),
    ScuRegister.COUNTS: ("rw", "address of a count for each input"),
    ScuRegister.FILTER: ("rw", "address of the filter; 0: all elements are left"),
    ScuRegister.FILTER_LENGTH: ("rw", "bits of the filter"),
    ScuRegister.ORDER: ("rw", "address of the reordering vector; 0: the order stays"),
    ScuRegister.OPERAND: ("rw", "address of what is added to each element, or of its cost; "
                          "0: nothing"),
    ScuRegister.OPERAND_LENGTH: ("rw", "elements of ORDER and of OPERAND"),
    ScuRegister.REFERENCE: ("rw", "what elements are compared with"),
    ScuRegister.HASH: ("rw", "address of the hash table"),
    ScuRegister.HASH_SETS: ("rw", "its sets, a power of two"),
    ScuRegister.HASH_WAYS: ("rw", "entries of a set, a power of two"),
    ScuRegister.COUNT_ADDRESS: ("rw", "where RESULT + COUNT_OFFSET is written at the end; "
                                "0: nowhere"),
    ScuRegister.COUNT_OFFSET: ("rw", "see COUNT_ADDRESS"),
}


class ScuResult(typing.NamedTuple):
    """What RESULT and SELECTED say after an operation."""
    result: int
    selected: int


def error_text(error, address) -> str:
    """What ERROR and ERROR_ADDRESS say, in words."""
    text = f"unknown error {error}"
    if error in list(ScuError):
        text = SCU_ERROR_DOCS[ScuError(error)]
    what = {ScuError.OPERATION: "command", ScuError.HASH: "number"}.get(error, "address")
    return f"the SCU stopped: {text} ({what} 0x{address:08x})"


def entry_bytes(output, line_bytes) -> int:
    """Bytes of an entry of the hash table."""
    return {ScuOutput.FILTER_UNIQUE: 4, ScuOutput.FILTER_BEST: 8,
            ScuOutput.GROUP: min(64, line_bytes)}[output]


def group_limit(line_bytes) -> int:
    """Elements of a group, at most: 8, or as many as an entry in one line has room for."""
    return min(8, line_bytes // 4 - 1)


def hash_set(value, sets):
    """The set of an element (of GROUP: of its line's number), ``sets`` being a power of two.

    Of an aligned block of as many numbers as there are sets each has its own.
    """
    return (value ^ value >> 9 ^ value >> 18) & sets - 1
