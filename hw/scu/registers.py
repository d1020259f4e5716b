"""The registers of the Stream Compaction Unit, and the effect of its operations.

The unit, the golden model, the host runtime and the generated documentation share this table.
Registers are 32 bits wide, at byte offsets from :data:`SCU_BASE` in the host's register space
(:mod:`hw.registers`).

**Operations** (Segura et al., ISCA 2019, section 3.1). An operation makes a stream of elements
from its ``LENGTH`` inputs, in order. If there is a ``BITMASK`` and its bit ``i`` is 0, input ``i``
gives no element. Otherwise input ``i`` gives

* BITMASK, DATA: the word ``i`` of ``SOURCE``;
* ACCESS: the word ``INDEXES[i]`` of ``SOURCE``;
* REPLICATION: the word ``i`` of ``SOURCE``, ``COUNTS[i]`` times;
* ACCESS_EXPANSION: ``COUNTS[i]`` consecutive words of ``SOURCE`` from word ``INDEXES[i]`` on;
* STREAM: the same words as ACCESS_EXPANSION. Each element has a cost: ``OPERAND[i]``, and if there
  are ``WEIGHTS``, plus the word of ``WEIGHTS`` with the number that the element has in ``SOURCE``.
  This operation is not the paper's.

STREAM may look up the rows of its inputs. ``INDEXES`` then has a *key* for each input, an address.
The word at key + ``ROWS`` stands for ``INDEXES[i]``, and the difference between the word behind it
and this word for ``COUNTS[i]``. STREAM may also look up their costs: the word at key + ``OPERAND``
stands for ``OPERAND[i]``. The two lowest bits of these addresses do not count. Inputs are looked up
whether or not they are selected.

If there is a ``FILTER``, an element stays in the stream only if its bit in the filter is 1. The
elements that stay are numbered ``k`` from 0. If there is an ``OPERAND`` and the output is DATA,
``OPERAND[k]`` is added to element ``k``. STREAM has neither ``FILTER`` nor ``ORDER``, and its
``OPERAND`` has ``LENGTH`` words.

**Outputs** (section 4.1).

* DATA: element ``k`` becomes word ``k`` of ``DESTINATION``. If there is an ``ORDER``, element ``k``
  becomes word ``ORDER[k]``; of several elements for one word, the last stays. The elements of
  BITMASK are single bits: whether the comparison with ``REFERENCE`` holds.
* FILTER_UNIQUE, FILTER_BEST: bit ``k`` of ``DESTINATION`` says whether element ``k`` is kept. The
  hash table holds elements that were kept. An element that is found in the table is not kept, with
  one exception. FILTER_BEST keeps the element if its cost ``OPERAND[k]``, unsigned, is less than
  the cost in the table; the element and its cost then replace the entry. An element that is not
  found is kept and goes into the first empty way of its set. If no way is empty, the element
  replaces the entry in way ``k mod ways``. The element 0xFFFFFFFF marks an empty way, so this
  element is always kept and never stored. Elements of BITMASK for which the comparison does not
  hold are not kept and not looked up.
* GROUP: word ``k`` of ``DESTINATION`` is the place of element ``k`` in a new order. In this order,
  elements that are indexes of words in the same cache line stand together in groups of at most
  :func:`group_limit`. The hash table is emptied first. The table holds groups by the number of
  their line (28 bits of the number). A group is given the next places when it is full, or when
  another group needs its way (chosen as above). At the end, the groups left in the table are given
  places, in the table's order. Elements of BITMASK for which the comparison does not hold are
  passed over and not numbered.

The elements of STREAM become words, also with a filter. Output DATA stores all elements from
``DESTINATION`` on, and their costs from ``COSTS`` on. A filter stores the kept elements and their
costs there, in order; the cost of STREAM is the cost of FILTER_BEST. STREAM does not group. An
element needs room for itself and all elements before it, kept or not.

**Bits** lie in words, the lowest bit first. The bits of the last word behind the last element are
written as 0, except where ``ORDER`` gives each bit its place.

**The hash table** has ``HASH_SETS`` sets of ``HASH_WAYS`` entries (:func:`entry_bytes`) at
``HASH``; see :func:`hash_set`. The table keeps its entries from one operation to the next.

**In place.** If there is no ``ORDER``, ``DESTINATION`` may be ``OPERAND``, and for operation DATA
also ``SOURCE``. If ``DESTINATION`` overlaps another vector in any other way, words of this vector
may be read before or after they are written.

**Errors** end an operation. Wrong registers end it before anything is read or written; they are
checked in the order of the numbers of :class:`ScuError`. An element ends the operation if it lies
outside the memory, if a vector is too short for it, or if there is no memory for its output. The
elements before it are handled as if the stream had ended there. An input whose row or cost lies
outside the memory ends the stream like its first element, before any other input is looked at.

An ``ORDER`` goes together with output DATA only. FILTER_BEST needs an ``OPERAND``; FILTER_UNIQUE
and GROUP exclude one. STREAM needs ``OPERAND`` and ``COSTS`` with every output; ``OPERAND`` may be
0 if costs are looked up. Only STREAM looks up rows, and costs are looked up with rows only.
"""

import enum
import typing


__all__ = ["EMPTY", "SCU_BASE", "SCU_REGISTERS", "SCU_REGISTER_DOCS", "ScuCommand", "ScuCompare",
           "ScuError", "SCU_ERROR_DOCS", "ScuOperation", "ScuOutput", "ScuRegister", "ScuResult",
           "ScuStatus", "entry_bytes", "error_text", "group_limit", "hash_set"]


#: First address of the registers in the host's register space, and the bytes that they take.
SCU_BASE = 0x0400
SCU_REGISTERS = 0x80

#: First word of an empty way of the hash table.
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
    COSTS          = 0x5C
    WEIGHTS        = 0x60
    ROWS           = 0x64


class ScuOperation(enum.IntEnum):
    BITMASK          = 0
    DATA             = 1
    ACCESS           = 2
    REPLICATION      = 3
    ACCESS_EXPANSION = 4
    STREAM           = 5


class ScuOutput(enum.IntEnum):
    """Output of an operation: the use of its elements."""
    DATA          = 0
    FILTER_UNIQUE = 1
    FILTER_BEST   = 2
    GROUP         = 3


class ScuCompare(enum.IntEnum):
    """Comparisons: element COMPARE reference."""
    EQ = 0
    NE = 1
    LT = 2
    GE = 3
    LE = 4
    GT = 5


class ScuCommand(enum.IntFlag):
    """Fields of COMMAND, as masks. :meth:`of` makes the word."""
    OPERATION = 0x7
    OUTPUT    = 0x30
    COMPARE   = 0x700
    SIGNED    = 0x800
    CLEAR     = 0x1000
    ROWS      = 0x2000
    LOOKS     = 0x4000

    @classmethod
    def of(cls, operation, output=0, compare=0, **flags) -> int:
        """The word for COMMAND. A flag is the name of a field of one bit, in lower case."""
        return (int(operation) | int(output) << 4 | int(compare) << 8
                | sum(int(cls[name.upper()]) for name, is_set in flags.items() if is_set))


class ScuStatus(enum.IntFlag):
    """Bits of STATUS. All but BUSY are cleared by the next start."""
    BUSY    = 1
    DONE    = 2     # the operation has ended without an error
    ERROR   = 4     # the operation has ended with an error
    REFUSED = 8     # COMMAND was written while an operation was under way, and ignored


class ScuError(enum.IntEnum):
    NONE        = 0
    OPERATION   = 1
    MISALIGNED  = 2
    HASH        = 3
    UNMAPPED    = 4
    VECTOR      = 5


SCU_ERROR_DOCS = {
    ScuError.NONE: "no error",
    ScuError.OPERATION: "the operation, output or comparison does not exist, or they do not go "
                        "together",
    ScuError.MISALIGNED: "a vector does not begin at a multiple of 4, or the hash table does not "
                         "begin at a multiple of the line size",
    ScuError.HASH: "the number of sets or ways is not a power of two, or a set is larger than a "
                   "line",
    ScuError.UNMAPPED: "an address outside the memory",
    ScuError.VECTOR: "FILTER, ORDER or OPERAND has fewer elements than the operation needs",
}

SCU_REGISTER_DOCS = {
    ScuRegister.COMMAND: ("w", "starts an operation: operation in bits 2:0, output in 5:4, "
                          "comparison in 10:8, whether the comparison is signed in 11, whether the "
                          "hash table is emptied first in 12, whether STREAM looks up rows in 13, "
                          "and their costs in 14"),
    ScuRegister.STATUS: ("r", "busy; done; ended with an error; a start was refused"),
    ScuRegister.RESULT: ("r", "number of elements of the output"),
    ScuRegister.SELECTED: ("r", "for BITMASK or a filter: number of output bits that are 1; for "
                           "GROUP: number of groups; for STREAM: number of elements before the "
                           "filter"),
    ScuRegister.ERROR: ("r", "reason why the last operation ended, as ScuError"),
    ScuRegister.ERROR_ADDRESS: ("r", "the wrong address; for ERROR 1 the command, for ERROR 3 the "
                                "wrong number"),
    ScuRegister.LENGTH: ("rw", "number of inputs"),
    ScuRegister.SOURCE: ("rw", "address of the data"),
    ScuRegister.DESTINATION: ("rw", "address of the output"),
    ScuRegister.BITMASK: ("rw", "address of a vector with a bit for each input; 0: all inputs are "
                          "selected"),
    ScuRegister.INDEXES: ("rw", "address of a vector with an index for each input"),
    ScuRegister.COUNTS: ("rw", "address of a vector with a count for each input"),
    ScuRegister.FILTER: ("rw", "address of the filter; 0: all elements stay"),
    ScuRegister.FILTER_LENGTH: ("rw", "number of bits of the filter"),
    ScuRegister.ORDER: ("rw", "address of the reordering vector; 0: the order stays"),
    ScuRegister.OPERAND: ("rw", "address of a vector with a word to add to each element, or with "
                          "the cost of each element; 0: none"),
    ScuRegister.OPERAND_LENGTH: ("rw", "number of elements of ORDER and of OPERAND"),
    ScuRegister.REFERENCE: ("rw", "the word that elements are compared with"),
    ScuRegister.HASH: ("rw", "address of the hash table"),
    ScuRegister.HASH_SETS: ("rw", "number of sets of the hash table, a power of two"),
    ScuRegister.HASH_WAYS: ("rw", "number of entries of a set, a power of two"),
    ScuRegister.COUNT_ADDRESS: ("rw", "address where RESULT + COUNT_OFFSET is written at the end; "
                                "0: nowhere"),
    ScuRegister.COUNT_OFFSET: ("rw", "see COUNT_ADDRESS"),
    ScuRegister.COSTS: ("rw", "address of the costs that STREAM stores"),
    ScuRegister.WEIGHTS: ("rw", "address of a vector with a word for each word of the data, which "
                          "STREAM adds to the costs; 0: none"),
    ScuRegister.ROWS: ("rw", "distance in bytes from a key to the address of its row, where STREAM "
                       "looks up rows"),
}


class ScuResult(typing.NamedTuple):
    """RESULT and SELECTED after an operation."""
    result: int
    selected: int


def error_text(error: int, address: int) -> str:
    """The text for ERROR and ERROR_ADDRESS."""
    text = f"unknown error {error}"
    if error in list(ScuError):
        text = SCU_ERROR_DOCS[ScuError(error)]
    what = {ScuError.OPERATION: "command", ScuError.HASH: "number"}.get(error, "address")
    return f"the SCU stopped: {text} ({what} 0x{address:08x})"


def entry_bytes(output, line_bytes) -> int:
    """Bytes of an entry of the hash table, for this output."""
    return {ScuOutput.FILTER_UNIQUE: 4, ScuOutput.FILTER_BEST: 8,
            ScuOutput.GROUP: min(64, line_bytes)}[output]


def group_limit(line_bytes) -> int:
    """Maximum number of elements of a group: 8, or as many as fit into an entry in one line."""
    return min(8, line_bytes // 4 - 1)


def hash_set(value, sets):
    """The set of an element, or, for GROUP, of the number of its line. ``sets`` is a power of two.

    The numbers of an aligned block of ``sets`` numbers all have different sets.
    """
    return (value ^ value >> 9 ^ value >> 18) & sets - 1
