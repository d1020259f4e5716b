"""Models of the load/store unit, in plain Python.

:func:`passes` gives the passes that the coalescer makes of an instruction, after the prose of the
coalescer's module. :class:`LaneMemory` executes an instruction one lane after the other, and knows
nothing of passes, lines or caches. :class:`DirectMapped` counts hits.
"""

import dataclasses
from functools import reduce

from hw.config import HardwareConfig
from hw.core.access import AccessOp
from hw.isa import Cause, MemoryMap
from hw.operations import AmoOp, MemOp


__all__ = ["DirectMapped", "LaneMemory", "Operation", "Pass", "WORD", "amo_result", "extend",
           "bank_of", "fault", "global_address", "is_local", "lanes_of", "local_address", "passes"]


WORD = 0xFFFF_FFFF


def lanes_of(mask):
    """The numbers of the bits that are set, ascending."""
    return [lane for lane in range(mask.bit_length()) if mask >> lane & 1]


def global_address(offset):
    return MemoryMap.GLOBAL + offset


def local_address(offset):
    return MemoryMap.LOCAL + offset


def is_local(config, address):
    """Whether an address is in local memory."""
    return 0 <= address - MemoryMap.LOCAL < config.local_bytes


def is_global(config, address):
    """Whether an address is in global memory."""
    return 0 <= address - MemoryMap.GLOBAL < config.memory_bytes


@dataclasses.dataclass
class Operation:
    """A memory instruction with the addresses and data of all lanes."""
    op: MemOp
    address: list
    mask: int
    data: list = None
    compare: list = None
    size: int = 2
    signed: int = 0
    amo: AmoOp = AmoOp.ADD
    writes: int = 0
    warp: int = 0
    rd: int = 0
    pc: int = 0
    once: int = 0

    def __post_init__(self):
        if self.data is None:
            self.data = [0] * len(self.address)
        if self.compare is None:
            self.compare = [0] * len(self.address)

    @property
    def lanes(self):
        """The active lanes, ascending."""
        return lanes_of(self.mask)

    @property
    def wants_slot(self):
        """Whether the instruction is a load, or an atomic whose old value is wanted."""
        return self.op is MemOp.LOAD or (self.op is MemOp.AMO and bool(self.writes))

    def payload(self, config):
        """The payload of a stream of ``operation_layout``."""
        has_addresses = self.op is not MemOp.FENCE
        local = [has_addresses and is_local(config, address) for address in self.address]
        failing = [lane_fault(config, self, lane) is not None for lane in range(len(self.address))]
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)
                if field.name != "once" or config.load_hints} | {
            name: sum(bit << lane for lane, bit in enumerate(bits))
            for name, bits in (("local", local), ("failing", failing))}


def lane_fault(config: HardwareConfig, operation, lane):
    """The cause of a lane's failure, or None."""
    if operation.op is MemOp.FENCE:
        return None
    load, address = operation.op is MemOp.LOAD, operation.address[lane]
    if address % (1 << operation.size):
        return Cause.LOAD_MISALIGNED if load else Cause.STORE_MISALIGNED
    if not is_global(config, address) and not is_local(config, address):
        return Cause.LOAD_ACCESS if load else Cause.STORE_ACCESS
    return None


def fault(config: HardwareConfig, operation):
    """(cause, address) of the lowest lane that fails, or None."""
    for lane in operation.lanes:
        cause = lane_fault(config, operation, lane)
        if cause is not None:
            return cause, operation.address[lane]
    return None


@dataclasses.dataclass
class Pass:
    """The fields of a pass. A field that does not matter for the operation is None.

    ``bank`` is the bank of the L1 that performs the pass. ``data`` maps a byte's place in the line
    to the byte's value. For a CAS, ``compare`` has the value to compare with. ``rows`` maps a bank
    of local memory to its row. ``words`` are the places of a load's words in the line.
    """
    op: AccessOp
    lanes: list
    line: int = None
    amo: AmoOp = None
    wanted: int = None
    compare: int = None
    data: dict = None
    rows: dict = None
    words: set = None
    bank: int = 0


def _stored(operation, lane):
    """The bytes that a lane stores, by their places in the line."""
    value = operation.data[lane]
    return {operation.address[lane] + i: value >> 8 * i & 0xFF
            for i in range(1 << operation.size)}


def _atomic_pass(config, operation, left):
    """The pass of an atomic whose lanes in ``left`` are not served yet."""
    address, line_bytes, leader = operation.address, config.line_bytes, left[0]
    cas = operation.amo is AmoOp.CAS
    made = Pass(AccessOp.AMO, [leader], amo=operation.amo, wanted=operation.writes,
                compare=operation.compare[leader] if cas else None)
    words = {address[leader]: [leader]}                         # {address: its lanes}
    if is_local(config, address[leader]):
        made.op = AccessOp.LOCAL_AMO
        made.rows = {address[leader] % line_bytes // 4: address[leader] % config.local_bytes
                     // line_bytes}
        for lane in left if not cas else ():
            bank = address[lane] % line_bytes // 4
            if is_local(config, address[lane]) and bank not in made.rows:
                made.rows[bank] = address[lane] % config.local_bytes // line_bytes
                words[address[lane]] = [lane]                   # the lowest lane's word
    else:
        made.line = address[leader] // line_bytes
        if config.line_atomics and not operation.writes and not cas:
            words = {address[lane]: [lane] for lane in reversed(left)
                     if address[lane] // line_bytes == made.line}
    if not operation.writes and not cas and config.combines:
        words = {word: [lane for lane in left if address[lane] == word] for word in words}
    made.lanes = sorted(lane for lanes in words.values() for lane in lanes)
    made.data = {}
    for word, lanes in words.items():
        operand = reduce(lambda low, high: amo_result(operation.amo, low, high),
                         [operation.data[lane] for lane in lanes])
        made.data |= {word % line_bytes + i: operand >> 8 * i & 0xFF for i in range(4)}
    return made


def bank_of(config: HardwareConfig, operation, lane):
    """The bank of the L1 that serves a lane: local memory is in the first."""
    address = operation.address[lane]
    return 0 if is_local(config, address) else address // config.line_bytes % config.l1_banks


def passes(config: HardwareConfig, operation):
    """The passes of an instruction that does not fail: bank after bank, those of a bank in
    order."""
    banks = range(config.l1_banks)
    if operation.op is MemOp.FENCE:
        return [Pass(AccessOp.FENCE, operation.lanes, bank=bank) for bank in banks]
    return [dataclasses.replace(made, bank=bank) for bank in banks for made in _bank_passes(
        config, operation, [lane for lane in operation.lanes
                            if bank_of(config, operation, lane) == bank])]


def _bank_passes(config, operation, left):
    """The passes of the lanes in ``left``, which are in one bank, in order."""
    line_bytes = config.line_bytes
    address = operation.address
    narrow = operation.op is MemOp.STORE and operation.size != 2
    result = []
    while left:
        leader = left[0]
        line = address[leader] // line_bytes
        if operation.op is MemOp.AMO:
            made = _atomic_pass(config, operation, left)
        else:
            local = is_local(config, address[leader])
            lanes = [lane for lane in left if (is_local(config, address[lane]) and local)
                     or address[lane] // line_bytes == line]
            bank = {lane: address[lane] % line_bytes // 4 for lane in lanes}
            row = {lane: address[lane] % config.local_bytes // line_bytes for lane in lanes}
            if narrow:
                first = {}
                for lane in lanes:
                    first.setdefault(bank[lane], lane)
                lanes = [lane for lane in lanes if first[bank[lane]] == lane]
            elif local:
                open_row = {bank[lane]: row[lane] for lane in lanes}    # the highest lane's
                lanes = [lane for lane in lanes if row[lane] == open_row[bank[lane]]]
            made = Pass(AccessOp.LOAD, lanes)
            if operation.op is MemOp.STORE:
                stored = {}
                for lane in lanes:
                    stored.update(_stored(operation, lane))             # the highest lane's stays
                made.op = AccessOp.STORE
                made.data = {place % line_bytes: byte for place, byte in stored.items()}
            if local:
                made.op = AccessOp(made.op.value + AccessOp.LOCAL_LOAD.value)
                made.rows = {bank[lane]: row[lane] for lane in lanes}
            else:
                made.line = line
                if made.op is AccessOp.LOAD:
                    made.words = set(bank.values())
        result.append(made)
        left = [lane for lane in left if lane not in made.lanes]
    return result


def _signed(value):
    return value - (1 << 32) if value >> 31 else value


def amo_result(op, old, operand, compare=None):
    """The word that an atomic operation stores; ``compare`` is needed for a CAS only."""
    match op:
        case AmoOp.ADD:
            return old + operand & WORD
        case AmoOp.SWAP:
            return operand
        case AmoOp.XOR:
            return old ^ operand
        case AmoOp.OR:
            return old | operand
        case AmoOp.AND:
            return old & operand
        case AmoOp.MIN:
            return min(old, operand, key=_signed)
        case AmoOp.MAX:
            return max(old, operand, key=_signed)
        case AmoOp.MINU:
            return min(old, operand)
        case AmoOp.MAXU:
            return max(old, operand)
        case AmoOp.CAS:
            return operand if old == compare else old


def extend(value, size, signed):
    """A loaded byte, halfword or word as a register holds it."""
    bits = 8 << size
    if signed and value >> bits - 1:
        value -= 1 << bits
    return value & WORD


class LaneMemory:
    """Global and local memory, and the effect of instructions on them.

    The instructions are executed one by one in the given order, and their lanes in ascending order.
    This is the sequential consistency that the load/store unit promises.

    Parameters
    ----------
    config : HardwareConfig
    initial : callable
        Gives the initial value of a byte of global memory from its address.
    """

    def __init__(self, config, initial):
        self._config = config
        self._initial = initial
        self._bytes = {}

    def read(self, address, count=4):
        """``count`` bytes as a little-endian number."""
        return sum(self._byte(address + i) << 8 * i for i in range(count))

    def _byte(self, address):
        if address not in self._bytes:
            self._bytes[address] = 0 if is_local(self._config, address) else \
                self._initial(address)
        return self._bytes[address]

    def write(self, address, value, count=4):
        """``count`` bytes from a little-endian number."""
        for i in range(count):
            self._bytes[address + i] = value >> 8 * i & 0xFF

    def execute(self, operation):
        """Execute an instruction. Returns a dict from lane to result, empty if there is none."""
        result = {}
        for lane in operation.lanes:
            address, value = operation.address[lane], operation.data[lane]
            count = 1 << operation.size
            if operation.op is MemOp.LOAD:
                result[lane] = extend(self.read(address, count), operation.size, operation.signed)
            elif operation.op is MemOp.STORE:
                self.write(address, value, count)
            elif operation.op is MemOp.AMO:
                old = self.read(address)
                self.write(address, amo_result(operation.amo, old, value,
                                               operation.compare[lane]))
                if operation.writes:
                    result[lane] = old
        return result

    def touched(self):
        """The addresses of all bytes of global memory that were read or written."""
        return [address for address in self._bytes if is_global(self._config, address)]


class DirectMapped:
    """A direct-mapped cache: write-through, no allocation on writes. Atomics drop the line. A load
    hits if the sectors of its words are there, and brings those sectors."""

    def __init__(self, config):
        self._sets = config.l1_bytes // config.line_bytes
        self._sector_words = config.line_words // config.sectors
        self._lines, self._sectors = {}, {}

    def perform(self, made):
        """Perform a pass. Returns whether a LOAD hits; None for other operations."""
        if made.op is AccessOp.FENCE:
            self._lines.clear()
        elif made.op is AccessOp.AMO:
            if self._lines.get(made.line % self._sets) == made.line:
                del self._lines[made.line % self._sets]
        elif made.op is AccessOp.LOAD:
            place = made.line % self._sets
            wanted = {word // self._sector_words for word in made.words}
            if self._lines.get(place) != made.line:
                self._lines[place], self._sectors[place] = made.line, set()
            hit = wanted <= self._sectors[place]
            self._sectors[place] |= wanted
            return hit
        return None
