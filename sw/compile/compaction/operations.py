"""The Stream Compaction Unit as the host calls it: the API of Segura et al. (ISCA 2019, 3.1, 4.1).

A call is one operation. Its vectors are addresses in global memory, its lengths numbers of
elements; :mod:`hw.scu.registers` says what each operation does, and what may overlap. Every
operation has these parameters:

``bitmask``
    Address of a bit for each input: only those whose bit is 1 take part.
``filter``
    A :class:`Filter`: only the elements whose bit is 1 are left.
``order``
    Address of the place of each element in the output, as an operation with :class:`Group` makes
    it.
``operand``
    Address of words that are added to the elements. For a filter by best cost, address of the
    costs.
``operands``
    Number of elements of ``order`` and ``operand``; required if either is given.
``output``
    None for the elements. :class:`Unique`, :class:`Best` or :class:`Group` for the hash table's
    answers about the elements.
``count``
    None, or (address, addend): the unit writes the number of elements of the output plus the addend
    to the word at this address, for kernels to read.
``name``
    The caller's name for the operation, for ``perform`` of :class:`ScuOperations`.

A call gives :class:`~hw.scu.registers.ScuResult`: the elements of the output, and how many bits of
it are 1 or how many groups there are. An operation that the unit refuses raises the machine's
error.
"""

import dataclasses

from hw.scu.registers import ScuCommand, ScuOperation, ScuOutput, ScuRegister, ScuResult


__all__ = ["Best", "Filter", "Group", "ScuOperations", "StreamRows", "Unique"]


@dataclasses.dataclass(frozen=True)
class Filter:
    """Bits that an operation with :class:`Unique` or :class:`Best` has made."""
    address: int
    length: int  #: Number of bits.


@dataclasses.dataclass(frozen=True)
class _Table:
    """The hash table, and the kind of output that it makes."""
    address: int  #: A multiple of the line size.
    sets: int  #: Powers of two.
    ways: int  #: Powers of two.
    clear: bool = False  #: Whether the table is emptied first.

    output = None


class Unique(_Table):
    """A filter that keeps elements that it has not seen."""
    output = ScuOutput.FILTER_UNIQUE


class Best(_Table):
    """A filter that keeps elements that it has not seen with a cost as low. ``operand`` has the
    costs."""
    output = ScuOutput.FILTER_BEST


class Group(_Table):
    """An order in which elements of one cache line stand together. The table is always emptied
    first."""
    output = ScuOutput.GROUP


@dataclasses.dataclass(frozen=True)
class StreamRows:
    """The inputs of STREAM: rows that are known, or keys whose rows the unit looks up."""
    first: int  #: Address of the position of each row's first word; or of the keys.
    given: int  #: Address of a cost for each input; or distance in bytes from a key to its cost.
    counts: int | None = None  #: Of known rows: address of each row's number of words.
    #: Of keys, which are addresses: distance in bytes from a key to two words, the positions of the
    #: row's first word, and of the word behind its last.
    rows: int = 0
    looks: bool = False  #: Whether ``given`` is a distance.

    @property
    def fields(self):
        """Flags of the command."""
        return {"rows": self.counts is None, "looks": self.looks}

    @property
    def registers(self):
        """Values of registers."""
        return {"INDEXES": self.first, "COUNTS": self.counts, "ROWS": self.rows,
                "OPERAND": self.given}

    def behind(self, inputs):
        """The inputs behind so many inputs."""
        moved = 4 * inputs
        return dataclasses.replace(
            self, first=self.first + moved, given=self.given + (0 if self.looks else moved),
            counts=None if self.counts is None else self.counts + moved)


class ScuOperations:
    """The five operations.

    Parameters
    ----------
    perform : callable
        ``perform(name, registers)`` performs an operation and gives its :class:`ScuResult`;
        ``name`` is the caller's name for the operation.
    """

    def __init__(self, perform):
        self._perform = perform

    @classmethod
    def of(cls, machine):
        """The unit of a machine that has ``compact``."""
        return cls(lambda name, registers: machine.compact(registers))

    def bitmask_constructor(self, source, length, destination, compare, reference, *,
                            signed=False, **options) -> ScuResult:
        """A bit for each word of ``source``: whether ``compare``, a
        :class:`~hw.scu.registers.ScuCompare`, holds between it and ``reference``."""
        return self._run(ScuOperation.BITMASK, source, length, destination, options,
                         {"compare": compare, "signed": signed}, REFERENCE=reference)

    def data_compaction(self, source, length, destination, **options) -> ScuResult:
        """The words of ``source``."""
        return self._run(ScuOperation.DATA, source, length, destination, options)

    def access_compaction(self, source, indexes, length, destination, **options) -> ScuResult:
        """The words of ``source`` at the positions in ``indexes``."""
        return self._run(ScuOperation.ACCESS, source, length, destination, options,
                         INDEXES=indexes)

    def replication_compaction(self, source, counts, length, destination, **options) -> ScuResult:
        """Each word of ``source`` as often as ``counts`` says."""
        return self._run(ScuOperation.REPLICATION, source, length, destination, options,
                         COUNTS=counts)

    def access_expansion_compaction(self, source, indexes, counts, length, destination,
                                    **options) -> ScuResult:
        """Runs of consecutive words of ``source``. Run i begins at ``indexes[i]`` and has
        ``counts[i]`` words."""
        return self._run(ScuOperation.ACCESS_EXPANSION, source, length, destination, options,
                         INDEXES=indexes, COUNTS=counts)

    def stream_expansion(self, source, inputs, length, destination, costs, *, weights=0,
                         **options) -> ScuResult:
        """The runs of :meth:`access_expansion_compaction` go to ``destination``, their costs to
        ``costs``. ``inputs`` are :class:`StreamRows`. The cost of each element is the word of its
        run, plus the word of ``weights`` with the element's position in ``source``. With a filter
        as ``output``, only kept elements are stored. ``selected`` is the number of elements before
        the filter.

        This operation is not the paper's. Its options are ``bitmask``, ``output``, ``count`` and
        ``name``."""
        return self._run(ScuOperation.STREAM, source, length, destination, options,
                         inputs.fields, **inputs.registers, COSTS=costs, WEIGHTS=weights)

    def _run(self, operation, source, length, destination, options, fields=None, **registers):
        registers |= {"SOURCE": source, "LENGTH": length, "DESTINATION": destination}
        name = options.pop("name", None) or operation.name.lower()
        more, table = _registers(**options)
        command = dict(fields or {})
        if table is not None:
            command |= {"output": table.output, "clear": table.clear}
        registers |= {key: value for key, value in more.items() if value}
        given = {ScuRegister[register]: int(value) & 0xFFFF_FFFF
                 for register, value in registers.items() if value}
        given[ScuRegister.COMMAND] = ScuCommand.of(operation, **command)
        return self._perform(name, given)


def _registers(*, bitmask=0, filter=None, order=0, operand=0, operands=0, output=None, count=None):
    """Registers of the options of an operation, and its table if it has one."""
    registers = {"BITMASK": bitmask, "ORDER": order, "OPERAND": operand,
                 "OPERAND_LENGTH": operands}
    if filter is not None:
        registers |= {"FILTER": filter.address, "FILTER_LENGTH": filter.length}
    if output is not None:
        registers |= {"HASH": output.address, "HASH_SETS": output.sets, "HASH_WAYS": output.ways}
    if count is not None:
        registers["COUNT_ADDRESS"], registers["COUNT_OFFSET"] = count
    return registers, output
