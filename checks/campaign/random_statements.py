"""The simple statements of random programs: arithmetic, votes and shuffles, memory, atomics, CSRs.

The statements use regions of memory, so that the result does not depend on the order of the warps.
:mod:`checks.campaign.random_programs` has the table of the regions.
"""

import numpy as np
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.isa import FLOAT_CSRS, INSTRUCTIONS, Csr, MemoryMap
from hw.operations import Format, RoundingMode, Unit


__all__ = ["SimpleStatements", "memory_needed"]


_ALU = [row for row in INSTRUCTIONS if row.unit is Unit.ALU and row.format is Format.R]
_IMMEDIATE = [row for row in INSTRUCTIONS if row.unit is Unit.ALU and row.format is Format.I]
_SHIFTS = [row for row in INSTRUCTIONS if row.format is Format.SH]
_MUL = [row for row in INSTRUCTIONS if row.unit is Unit.MUL]
_DIV = [row for row in INSTRUCTIONS if row.unit is Unit.DIV and not row.is_float]
_FLOATS = [row for row in INSTRUCTIONS if row.is_float]
_CROSS = [row for row in INSTRUCTIONS if row.unit is Unit.CROSS]
_AMOS = [row for row in INSTRUCTIONS if row.format is Format.AMO]
#: One commutative operation for each word of the common region, in this order.
_COMMON = [row for row in _AMOS if row.name not in ("amoswap.w", "amocas.w")]
_LOADS = ("lw", "lw", "lw", "lb", "lbu", "lh", "lhu", "lw.nt", "lbu.nt", "lhu.nt")
_STORES = ("sw", "sw", "sw", "sb", "sh")
_CSRS = (Csr.MSCRATCH, Csr.PHASE, Csr.THREAD_ID, Csr.WARP_ID, Csr.CORE_ID, Csr.ACTIVE_MASK,
         Csr.NUM_THREADS, Csr.NUM_WARPS, Csr.NUM_CORES, Csr.CYCLEH, Csr.INSTRETH)

#: Operands at the edges of arithmetic.
_CORNERS = (0, 1, 2, 31, 32, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF)

#: Floats at the edges: zero, subnormal numbers, the least normal number, 1.0, the largest number,
#: infinity, a quiet and a signalling NaN.
_FLOAT_CORNERS = (0, 1, 0x7F_FFFF, 0x80_0000, 0x3F80_0000, 0x7F7F_FFFF, 0x7F80_0000, 0x7FC0_0000,
                  0x7F80_0001)

_CONSTANT_WORDS = 256
_PRIVATE_WORDS = 64         # private words of a warp
_LOCAL_WORDS = 512          # words of local memory of a warp, at most
_COMMON_WORDS = 4 * len(_COMMON)


def _list_words(config):
    """Words of a core's list of pushed vertices: one for each edge or vertex that the core's unit
    may hand out, or for a few pushes; then a row with the number of vertices. 0 without lists.
    """
    if config.unit is None or not config.unit.keeps_lists:
        return 0
    room = max(128, config.warps * config.threads, 4 * config.threads)
    return room + config.threads


def _region_words(config):
    """Words of the regions of memory, in the order of the table. The lists begin at a multiple of a
    row of lanes."""
    warps = config.cores * config.warps
    lanes = warps * config.threads
    lists = _list_words(config)
    return (_CONSTANT_WORDS, _PRIVATE_WORDS << ceil_log2(warps), _COMMON_WORDS, lanes, 32 * lanes,
            lists and config.cores * lists + config.threads)


def memory_needed(config: HardwareConfig) -> int:
    """Bytes of global memory that the programs of a configuration use."""
    return 4 * sum(_region_words(config))


class SimpleStatements:
    """Emits statements on the variables into an assembler.

    Before the first statement, a subclass sets ``a``, the assembler, and four registers or lists of
    registers: ``variables``; ``lane``, the lane's number within the device; ``privates`` and
    ``locals``, the addresses of the warp's first words in the private region and in local memory.

    Parameters
    ----------
    config : HardwareConfig
    rng : random.Random

    Attributes
    ----------
    generates : bool
        Whether the unit reads the edges of registered rows, and there is room in local memory for
        its rows.
    lists, list_words : int
        With a unit that keeps lists, the address of core 0's list of pushed vertices, and the words
        from a core's list to the next core's.
    """

    def __init__(self, config: HardwareConfig, rng):
        self.config, self.rng = config, rng
        # log2 of the distance of a warp's consecutive words.
        self.warp_shift = 2 + ceil_log2(config.cores * config.warps)
        words = _region_words(config)
        starts = np.cumsum([0, *words]) * 4 + MemoryMap.GLOBAL
        (self.constants, self.private, self.common, self.exchange,
         self.registers, lists, _) = (int(start) for start in starts)
        self.lists = lists + -lists % (4 * config.threads)
        self.list_words = _list_words(config)
        self.memory_words = sum(words)
        assert 4 * self.memory_words <= config.memory_bytes
        # Words of local memory of one warp, a power of two. The warps use the words at the end of
        # local memory.
        self.local_words = min(config.local_bytes // 4 // config.warps, _LOCAL_WORDS)
        # Such a unit has rows at the beginning: IDs, neighbours and weights.
        rows = 12 * config.warps * config.threads
        self.generates = (config.gather_reads and config.unit.registers
                          and 2 * rows <= config.local_bytes)
        if self.generates:
            self.local_words = min(self.local_words, config.local_bytes // 8 // config.warps)
        self.local = MemoryMap.LOCAL + config.local_bytes - 4 * self.local_words * config.warps
        self.computations = (*_ALU, *_IMMEDIATE, *_SHIFTS, *_MUL, *_MUL)
        if config.divider != "none":
            self.computations += (*_DIV, *_DIV)

    def _variable(self):
        return self.rng.choice(self.variables)

    def _simple(self):
        rng = self.rng
        if self.config.floats and rng.random() < 0.2:
            self._float()
            return
        kind = rng.random()
        if kind < 0.3:
            self._compute()
        elif kind < 0.35:
            self._cross()
        elif kind < 0.55:
            self._load()
        elif kind < 0.8:
            self._store()
        elif kind < 0.88:
            self._private_atomic()
        elif kind < 0.94:
            self._common_atomic()
        elif kind < 0.96:
            self.a.fence()
        else:
            self._csr()

    def _compute(self):
        a, rng = self.a, self.rng
        for _ in range(rng.randrange(1, 4)):
            rd = rng.choice((*self.variables, a.zero)) if rng.random() < 0.1 else self._variable()
            row = rng.choice(self.computations)
            if rng.random() < 0.1:
                self._corner(self._variable())
            fields = {"rd": rd, "rs1": self._variable()}
            if row.format is Format.R:
                fields["rs2"] = self._variable()
            else:
                fields["imm"] = (rng.randrange(32) if row.format is Format.SH
                                 else rng.randrange(-2048, 2048))
            a.emit(row, **fields)
        if rng.random() < 0.1:
            (a.lui if rng.random() < 0.5 else a.auipc)(self._variable(), rng.getrandbits(20))

    def _float(self):
        """Floating-point instructions, on words of any kind and on numbers that are close to each
        other, and accesses to the flags and the mode."""
        a, rng = self.a, self.rng
        for _ in range(rng.randrange(1, 5)):
            kind = rng.random()
            if kind < 0.1:
                a.li(self._variable(), rng.choice(_FLOAT_CORNERS) | rng.randrange(2) << 31)
            elif kind < 0.3:
                self._near_one(self._variable())
            elif kind < 0.4:
                a.csrrs(self._variable(), rng.choice(FLOAT_CSRS), a.zero)
            elif kind < 0.5:
                csr, rd = rng.choice(FLOAT_CSRS), rng.choice((self._variable(), a.zero))
                if rng.random() < 0.5:
                    rng.choice((a.csrrw, a.csrrs, a.csrrc))(rd, csr, self._variable())
                else:
                    rng.choice((a.csrrwi, a.csrrsi, a.csrrci))(rd, csr, rng.randrange(32))
            else:
                row = rng.choice(_FLOATS)
                fields = {f"rs{source}": self._variable() for source in row.reads}
                if row.rounds:
                    fields["rm"] = rng.choice(list(RoundingMode)).value
                a.emit(row, rd=self._variable() if rng.random() < 0.9 else a.zero, **fields)

    def _near_one(self, into):
        """Gives a word an exponent near that of 1.0."""
        a = self.a
        with a.scope("bits") as (bits,):
            a.li(bits, 0x803F_FFFF | self.rng.choice((0, 0x780_0000)))
            a.and_(into, into, bits)
            a.li(bits, 0x3C00_0000)
            a.or_(into, into, bits)

    def _corner(self, into):
        """A number at an edge of arithmetic, in all lanes or in the lanes with odd numbers."""
        a, rng = self.a, self.rng
        if rng.random() < 0.5:
            a.li(into, rng.choice(_CORNERS))
            return
        with a.scope("value", "choice") as (value, choice):
            a.andi(choice, self._variable(), 1)
            a.neg(choice, choice)
            a.li(value, rng.choice(_CORNERS))
            a.xor(value, value, into)
            a.and_(value, value, choice)
            a.xor(into, into, value)

    def _cross(self):
        """A vote or a shuffle, with any operand or with an operand that names existing lanes."""
        a, rng = self.a, self.rng
        row = rng.choice(_CROSS)
        rd = self._variable() if rng.random() < 0.95 else a.zero
        if "2" not in row.reads:
            a.emit(row, rd=rd, rs1=self._variable())
            return
        threads = self.config.threads
        with a.scope("how") as (how,):
            if rng.random() < 0.3:
                a.mv(how, self._variable())
            else:
                width = 1 << rng.randrange(threads.bit_length())
                a.li(how, rng.randrange(threads + 1)
                     | rng.choice((0, width - 1, rng.randrange(64))) << 6 | (-width & 63) << 12)
            if rng.random() < 0.3:
                a.xor(how, how, self.lane)
            a.emit(row, rd=rd, rs1=self._variable(), rs2=how)

    def _csr(self):
        a, rng = self.a, self.rng
        if rng.random() < 0.5:
            a.csrr(self._variable(), rng.choice(_CSRS))
            return
        name = rng.choice(("csrrw", "csrrs", "csrrc"))
        rd = rng.choice((*self.variables, a.zero))
        if rng.random() < 0.5:
            getattr(a, name)(rd, Csr.PHASE, self._variable())
        else:
            getattr(a, name + "i")(rd, Csr.PHASE, rng.randrange(32))

    def _address(self, into, name):
        """A random address of a word in a region; each lane picks its own address."""
        a = self.a
        words = {"constant": _CONSTANT_WORDS, "private": _PRIVATE_WORDS,
                 "local": self.local_words}[name]
        words = self.rng.choice((words, min(8, words), min(2, words)))
        a.andi(into, self._variable(), words - 1)
        if name == "constant":
            a.slli(into, into, 2)
            with a.scope("base") as (base,):
                a.li(base, self.constants)
                a.add(into, into, base)
            return
        # Words of the warps take turns.
        shift = self.warp_shift if name == "private" else 2 + ceil_log2(self.config.warps)
        a.slli(into, into, shift)
        a.add(into, into, self.privates if name == "private" else self.locals)

    def _place(self, into, *names):
        """An address in one region, or in two regions with some lanes in each."""
        a = self.a
        self._address(into, self.rng.choice(names))
        if self.rng.random() < 0.15:
            with a.scope("other", "choice") as (other, choice):
                self._address(other, self.rng.choice(names))
                a.andi(choice, self._variable(), 1)
                a.neg(choice, choice)
                a.xor(other, other, into)
                a.and_(other, other, choice)
                a.xor(into, into, other)

    def _offset(self, name):
        """A byte of a word at which an access of this name may begin."""
        return self.rng.choice({"b": (0, 1, 2, 3), "h": (0, 2), "w": (0,)}[name[1]])

    def _load(self):
        a, rng = self.a, self.rng
        with a.scope("pointer") as (pointer,):
            self._place(pointer, "constant", "private", "local")
            for _ in range(rng.randrange(1, 4)):
                name = rng.choice(_LOADS)
                rd = self._variable() if rng.random() < 0.95 else a.zero
                getattr(a, name.replace(".", "_"))(rd, pointer, self._offset(name))

    def _store(self):
        a, rng = self.a, self.rng
        with a.scope("pointer") as (pointer,):
            self._place(pointer, "private", "private", "local")
            for _ in range(rng.randrange(1, 4)):
                name = rng.choice(_STORES)
                getattr(a, name)(self._variable(), pointer, self._offset(name))
                if rng.random() < 0.3:
                    a.lw(self._variable(), pointer, 0)

    def _private_atomic(self):
        """Any atomic on words of this warp. The old values are known."""
        a, rng = self.a, self.rng
        with a.scope("pointer") as (pointer,):
            self._place(pointer, "private", "local")
            for _ in range(rng.randrange(1, 3)):
                rd = a.zero if rng.random() < 0.4 else self._variable()
                row = rng.choice((*_AMOS, *(row for row in _AMOS if "d" in row.reads)))
                if "d" in row.reads and rng.random() < 0.7:
                    # Among lanes on the same word, the lowest lane finds the loaded value.
                    a.lw(rd, pointer, 0)
                a.emit(row, rd=rd, rs1=pointer, rs2=self._variable())

    def _common_atomic(self):
        """An atomic on words of all warps, of a kind for which the order does not matter."""
        a, rng = self.a, self.rng
        kind = rng.randrange(len(_COMMON))
        with a.scope("pointer", "base") as (pointer, base):
            a.andi(pointer, self._variable(), rng.choice((3, 1, 0)))
            a.slli(pointer, pointer, 2 + 3)
            a.li(base, self.common + 4 * kind)
            a.add(pointer, pointer, base)
            if rng.random() < 0.7:
                a.emit(_COMMON[kind], rd=a.zero, rs1=pointer, rs2=self._variable())
            else:
                # The old value depends on the order, so the program waits for it and drops it.
                a.emit(_COMMON[kind], rd=base, rs1=pointer, rs2=self._variable())
                a.li(base, kind)
