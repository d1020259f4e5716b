"""The configuration of the hardware: one frozen dataclass, presets, and all validation.

Every unit reads its sizes from a :class:`HardwareConfig`. Derived widths are computed here, once.
The constructor refuses an inconsistent configuration before anything is elaborated. Its error
names the field, the value and the reason.
"""

import contextlib
import dataclasses

from base import numbers
from base.errors import ConfigError
from hw.gather.variant import GatherVariant
from hw.gather.variants import VARIANTS
from hw.operations import Unit


__all__ = ["LEGAL", "PRESETS", "ConfigError", "HardwareConfig", "Legal", "preset"]


@dataclasses.dataclass(frozen=True)
class Legal:
    """Legal values of a field, over all configurations.

    The other fields of a configuration may exclude some of these values.
    """
    values: tuple  #: All legal values, the smallest first.
    text: str  #: The legal values in words.
    reason: str = ""  #: Why there are no others.

    @property
    def refusal(self) -> str:
        """What a value must be, and why."""
        return f"must be {self.text}" + (f": {self.reason}" if self.reason else "")


def _numbers(low, high, reason=""):
    return Legal(tuple(range(low, high + 1)), f"{low} to {high}", reason)


def _powers(low, high):
    values = tuple(1 << bit for bit in range(low.bit_length() - 1, high.bit_length()))
    return Legal(values, f"a power of two from {low} to {high}")


def _or_zero(legal):
    return Legal((0, *legal.values), f"0 or {legal.text}")


def _one_of(*values):
    return Legal(values, " or ".join(map(repr, values)))


#: A delay line has two cycles at least (:mod:`hw.delays`).
_LATENCIES = Legal((0, *range(2, 513)), "0 or a number from 2 to 512")

#: The legal values of every field but the name, listed only here. Validation, documentation and
#: ``./graphloom campaign`` read this table. The campaign builds and runs every legal value, and of
#: the exchange and of latencies the least and the greatest, and of sectors the smallest and two in
#: a line.
LEGAL = {
    "cores": _numbers(1, 16, "each core has its own port to each bank of the L2, and there are no "
                      "clusters of cores that share one"),
    "warps": _powers(1, 64),
    "threads": _powers(1, 32),
    "imem_bytes": _powers(1 << 10, 1 << 20),
    "local_bytes": _powers(1 << 8, 1 << 17),
    "l1_bytes": _powers(1 << 8, 1 << 18),
    "l1_ways": _powers(1, 8),
    "l1_banks": _powers(1, 4),
    "l1_mshrs": _powers(2, 512),
    "l1_latency": _LATENCIES,
    "coalescer_depth": _powers(1, 4),
    "load_queue": _powers(2, 512),
    "load_hints": _one_of(False, True),
    "atomic_words": _one_of("one", "line"),
    "combine": _one_of("lanes", "none"),
    "l2_bytes": _or_zero(_powers(1 << 5, 1 << 23)),
    "l2_ways": _powers(1, 16),
    "l2_banks": _powers(1, 16),
    "l2_mshrs": _powers(2, 512),
    "l2_latency": _LATENCIES,
    "sector_bytes": _or_zero(_powers(8, 64)),
    "fetch_sectors": _powers(1, 4),
    "memory_ports": _powers(1, 8),
    "barriers": _powers(1, 32),
    "group_warps": _or_zero(_powers(1, 64)),
    "memory_bytes": _powers(1 << 16, 1 << 31),
    "gather": _one_of("none", *VARIANTS),
    "eghw_requests": _powers(1, 16),
    "alwt_entries": _powers(4, 64),
    "gather_requests": _powers(1, 32),
    "edge_buffer_rows": _powers(4, 32),
    "graphpeg_filter": _one_of(False, True),
    "exchange_interval": _or_zero(_powers(64, 4096)),
    "exchange_threshold": _powers(128, 2048),
    "table_latency": Legal((0, 10, 20, 40, 80, 160), "0, 10, 20, 40, 80 or 160"),
    "scu": Legal((0, 1, 4), "0, 1 or 4"),
    "scu_vector_bytes": Legal((2 << 10, 5 << 10), "2048 or 5120"),
    "scu_request_bytes": Legal((2 << 10, 10 << 10, 38 << 10), "2048, 10240 or 38912"),
    "scu_hash_bytes": Legal((2 << 10, 6 << 10, 18 << 10), "2048, 6144 or 18432"),
    "divider": _one_of("none", "serial"),
    "float": _one_of("none", "half", "full"),
    "pipeline": _one_of("short", "long"),
    "counters": _one_of(False, True),
    "trace": _one_of(False, True),
}
LEGAL["weaver_entries"] = Legal(
    tuple(sorted({threads * warps for threads in LEGAL["threads"].values
                  for warps in range(LEGAL["warps"].values[-1] + 1)})),
    "0 or a multiple of threads, at most warps x threads")

#: {old name of a field: present name}.
_RENAMED = {"weaver": "gather"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class HardwareConfig:
    """Configuration of the hardware. :data:`LEGAL` has the legal values of each field.

    Raises
    ------
    ConfigError
        A field's value is not legal. The message names the field, its value and the legal values.
    """
    #: Name in tables. A changed copy of a preset has the preset's name and ``*``.
    name: str = "custom"
    cores: int = 1  #: SIMT cores.
    warps: int = 8  #: Warps per core.
    threads: int = 16  #: Lanes per warp.
    imem_bytes: int = 1 << 14  #: Instruction memory of a core, in bytes.
    local_bytes: int = 1 << 14  #: Local memory of a core, in bytes; at least two words a lane.
    #: Capacity of the L1 data cache, in bytes; at least two sets a bank.
    l1_bytes: int = 1 << 14
    l1_ways: int = 4  #: Associativity of the L1 data cache.
    #: Banks of the L1. Lines are interleaved among the banks, and the banks work in parallel. Each
    #: bank has an equal part of ``l1_bytes`` and ``l1_mshrs``.
    l1_banks: int = 1
    l1_mshrs: int = 64  #: Line misses that an L1 can have outstanding; at least two a bank.
    #: Cycles by which L1 and local memory answer loads later, hits and misses. As many accesses a
    #: cycle as without.
    l1_latency: int = 0
    #: Memory instructions whose lanes the coalescer serves at the same time: each bank of the L1
    #: goes on to its lanes of the next instruction by itself.
    coalescer_depth: int = 1
    load_queue: int = 32  #: Load instructions that a core can have outstanding.
    #: Whether the caches heed a load's hint that its line is not wanted again soon: the L1 does not
    #: keep the line, and the L2 replaces it first. ``lw.nt`` and the like have the hint, and the
    #: loads of edges by the units ``"eghw"`` and ``"graphpeg"``.
    load_hints: bool = False
    #: ``"line"``: one access performs an instruction's atomics of global memory on all words of a
    #: line, if their old values are not wanted, and a bank of the L2 has an ALU for each word;
    #: ``"one"``: one access performs the atomics on one word.
    atomic_words: str = "one"
    #: ``"lanes"``: lanes of an atomic that access one word, and do not want its old value, share an
    #: access, and their operands are combined; ``"none"``: each lane has an access of its own.
    combine: str = "lanes"
    #: Capacity of the L2, in bytes; at least two sets a bank. With 0 bytes there is no L2 cache:
    #: each bank is a buffer of eight lines, which still performs the atomics.
    l2_bytes: int = 1 << 17
    l2_ways: int = 8  #: Associativity of the L2.
    #: Banks of the L2. Lines are interleaved among the banks, and the banks work in parallel. Each
    #: bank has an equal part of ``l2_bytes``.
    l2_banks: int = 1
    #: Line requests that a bank of the L2 can have outstanding at the memory port.
    l2_mshrs: int = 64
    #: Cycles by which the L2 answers later, hits and misses. As many answers a cycle as without.
    l2_latency: int = 0
    #: Bytes of a sector, a part of a line that the caches fetch and write back by itself. 0: lines
    #: are not divided.
    sector_bytes: int = 0
    #: Sectors that the L2 fetches together: a sector that misses brings its neighbors, as far as
    #: they are not there. At most the sectors of a line.
    fetch_sectors: int = 1
    #: Memory ports, each with its own channel of memory behind it; at most ``l2_banks``. Each port
    #: serves an equal part of the banks of the L2.
    memory_ports: int = 1
    barriers: int = 4  #: Barriers of a core.
    #: Warps of a core that share work under the schedules ``cm``, ``twc``, ``twce`` and ``etwc``,
    #: unless a plan says otherwise: the size of a CTA, where a core holds several. 0: all warps.
    #: Each group needs a barrier, beside that of the core. Nothing else is built for groups.
    group_warps: int = 0
    memory_bytes: int = 1 << 28  #: Mapped global memory, in bytes.
    #: The unit that hands out edges, by the name of its folder in ``hw/gather``; ``none``: no such
    #: unit.
    gather: str = "fsm"
    #: Entries of the Weaver's sparse table; 0 means one entry per warp and lane. Warps from
    #: ``weaver_entries // threads`` on cannot register.
    weaver_entries: int = 0
    #: Loads, each of a word a lane, that the unit ``"eghw"`` can have under way.
    eghw_requests: int = 16
    #: Vertices whose edges the unit ``"graphpeg"`` gathers at the same time: entries of its
    #: adjacency list working table (ALWT).
    alwt_entries: int = 64
    #: Loads of edges, each of a word a lane, that the unit ``"graphpeg"`` can have under way.
    gather_requests: int = 32
    #: Rows of gathered edges that the unit ``"graphpeg"`` holds, beside a row for each warp. A row
    #: has an edge for each lane.
    edge_buffer_rows: int = 32
    #: Whether the unit ``"graphpeg"`` can read a word of each edge's neighbour, and drop edges that
    #: cannot count.
    graphpeg_filter: bool = False
    #: Cycles between two looks at the edges that the units ``"graphpeg"`` of the cores have left,
    #: upon which a core may get edges of another core. 0: no edges are exchanged, as with one core.
    exchange_interval: int = 0
    exchange_threshold: int = 512  #: Edges by which two cores must differ for an exchange.
    #: Cycles by which the tables of a Weaver answer later: the sparse table with a row, the dense
    #: table with the EIDs of a DEC_LOC or DEC. Reads are pipelined. (SparseWeaver, 4.6.4.)
    table_latency: int = 0
    #: Elements that the Stream Compaction Unit (SCU) takes in a cycle; 0 means that there is no
    #: SCU.
    scu: int = 0
    #: Buffers of the SCU for the vectors that an operation reads, in bytes. An element takes 8
    #: bytes. The default sizes of the SCU's buffers are those of Segura et al., table 1.
    scu_vector_bytes: int = 5 << 10
    #: Buffer of the SCU for elements that wait for their data, in bytes. An element takes 8 bytes.
    scu_request_bytes: int = 38 << 10
    #: Buffer of the SCU for look-ups in the hash table, in bytes. One half holds elements of 8
    #: bytes each, the other half holds lines of the table.
    scu_hash_bytes: int = 18 << 10
    #: ``"serial"``: one bit of the quotient a cycle; ``"none"``: division instructions are illegal.
    divider: str = "serial"
    #: Single-precision floats in the integer registers. ``"full"``: each lane has a pipeline;
    #: ``"half"``: two lanes share one, and an instruction takes two cycles; ``"none"``:
    #: floating-point instructions are illegal.
    float: str = "none"
    #: ``"short"``: the fewest cycles; ``"long"``: more pipeline registers, for the clock of an
    #: FPGA.
    pipeline: str = "short"
    counters: bool = True  #: Whether performance counters are built.
    trace: bool = False  #: Whether the cores have a trace port, for simulation.

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if type(value) is not field.type:
                self._refuse(field.name, f"must be of type {field.type.__name__}")
        for name, legal in LEGAL.items():
            if getattr(self, name) not in legal.values:
                self._refuse(name, legal.refusal)
        lanes = self.warps * self.threads
        entries = self.weaver_entries
        if entries and (entries % self.threads or not 0 < entries <= lanes):
            self._refuse("weaver_entries", f"must be 0 or a multiple of threads ({self.threads})"
                         f", at most warps x threads ({lanes})")
        if self.local_bytes < 8 * self.threads:
            self._refuse("local_bytes", f"must be at least 8 x threads ({8 * self.threads})")
        for cache, banks in (("l1", self.l1_banks), ("l2", self.l2_banks)):
            size, ways = getattr(self, f"{cache}_bytes"), getattr(self, f"{cache}_ways")
            least = 2 * ways * self.line_bytes
            if size and size < banks * least:
                each = f" in each of {banks} banks" if banks > 1 else ""
                self._refuse(f"{cache}_bytes", f"must hold two sets of {ways} ways of "
                             f"{self.line_bytes}-byte lines{each} ({banks * least})")
            if size >= ways * self.memory_bytes:
                self._refuse(f"{cache}_bytes", f"must be less than {cache}_ways x memory_bytes "
                             f"({ways * self.memory_bytes})")
        if self.exchange_interval and self.cores == 1:
            self._refuse("exchange_interval", "must be 0 with one core: there is no core to "
                         "exchange edges with")
        self._check_sectors()
        if self.float == "half" and self.threads == 1:
            self._refuse("float", "must be 'none' or 'full' with one lane: there are no two lanes "
                         "to share a pipeline")
        if self.group_warps > self.warps:
            self._refuse("group_warps", f"must be at most warps ({self.warps})")
        groups = self.warps // (self.group_warps or self.warps)
        if groups > 1 and groups >= self.barriers:
            self._refuse("group_warps", f"must leave fewer groups ({groups}) than barriers "
                         f"({self.barriers}): each group has one, and the core another")
        if self.memory_ports > self.l2_banks:
            self._refuse("memory_ports", f"must be at most l2_banks ({self.l2_banks}): each port "
                         "serves banks of its own")
        if self.l1_mshrs < 2 * self.l1_banks:
            self._refuse("l1_mshrs", f"must be at least 2 in each of {self.l1_banks} banks "
                         f"({2 * self.l1_banks})")

    def _check_sectors(self):
        if self.sector_bytes and not self.l2_bytes:
            self._refuse("sector_bytes", "must be 0 without an L2 (l2_bytes = 0): its buffer holds "
                         "whole lines")
        if self.sector_bytes >= self.line_bytes:
            self._refuse("sector_bytes", "must be 0 or less than the bytes of a line "
                         f"({self.line_bytes})")
        if self.fetch_sectors > self.sectors:
            self._refuse("fetch_sectors", f"must be at most the sectors of a line ({self.sectors})")

    def _refuse(self, name, reason):
        raise ConfigError(f"HardwareConfig: {name} = {getattr(self, name)!r}: {reason}")

    @staticmethod
    def _unknown(name, reason):
        """The error for a name that is not a field's, or an old name of a field."""
        if name in _RENAMED:
            return ConfigError(f"HardwareConfig: field {name!r} is now called {_RENAMED[name]!r}")
        return ConfigError(f"HardwareConfig has no field {name!r}{reason}")

    def replace(self, **changes: object) -> "HardwareConfig":
        """A copy with some fields changed. Raises ConfigError also for an unknown field."""
        names = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in names:
                raise self._unknown(name, f"; it has {', '.join(names)}")
        if changes and "name" not in changes:
            changes["name"] = self.name if self.name.endswith("*") else self.name + "*"
        return dataclasses.replace(self, **changes)

    def legal(self, field) -> tuple:
        """The values that :meth:`replace` accepts for a field while the other fields stay.

        Raises ConfigError for a field that is not in :data:`LEGAL`.
        """
        if field not in LEGAL:
            raise ConfigError(f"HardwareConfig has no legal values of {field!r}; it has legal "
                              f"values of {', '.join(LEGAL)}")
        found = []
        for value in LEGAL[field].values:
            with contextlib.suppress(ConfigError):
                self.replace(**{field: value})
                found.append(value)
        return tuple(found)

    @classmethod
    def parse(cls, name, assignments=()) -> "HardwareConfig":
        """A preset with ``FIELD=VALUE`` texts applied, as a command line gives them."""
        return preset(name).assign(assignments)

    def assign(self, assignments) -> "HardwareConfig":
        """A copy with ``FIELD=VALUE`` texts applied, each field at most once.

        Only the fields of :data:`LEGAL` can be set. The name is derived.

        Raises ConfigError.
        """
        types = {field.name: field.type for field in dataclasses.fields(self)}
        changes = {}
        for text in assignments:
            field, equals, value = (part.strip(" ") for part in text.partition("="))
            if not equals:
                raise ConfigError(f"{text!r} is not FIELD=VALUE")
            if field not in LEGAL:
                raise self._unknown(field, f" to set; it has {', '.join(LEGAL)}")
            if field in changes:
                raise ConfigError(f"HardwareConfig: {field} is set twice")
            if types[field] is int:
                changes[field] = numbers.integer(value)
            elif types[field] is bool:
                changes[field] = {"true": True, "false": False}.get(value.lower())
            else:
                changes[field] = value
            if changes[field] is None:
                raise ConfigError(f"HardwareConfig: {field} = {value!r}: must be "
                                  f"{LEGAL[field].text}")
        return self.replace(**changes)

    @property
    def origin(self) -> str:
        """Name of the preset of which this is a copy, if it is one, else its own name."""
        return self.name.removesuffix("*")

    @property
    def line_bytes(self) -> int:
        """Bytes of a cache line: one word a lane, at least 16."""
        return max(16, 4 * self.threads)

    @property
    def line_words(self) -> int:
        """32-bit words of a cache line."""
        return self.line_bytes // 4

    @property
    def line_bits(self) -> int:
        """log2 of the bytes of a line."""
        return self.line_bytes.bit_length() - 1

    @property
    def sectors(self) -> int:
        """Sectors of a line; 1 if lines are not divided."""
        return self.line_bytes // self.sector_bytes if self.sector_bytes else 1

    @property
    def bank(self) -> "HardwareConfig":
        """The configuration of one bank of the L2."""
        return self.replace(l2_bytes=self.l2_bytes // self.l2_banks, l2_banks=1, memory_ports=1)

    @property
    def port_banks(self) -> int:
        """Banks of the L2 that a memory port serves."""
        return self.l2_banks // self.memory_ports

    def port_names(self, prefix) -> tuple[str, ...]:
        """The beginning of the names of each memory port's signals: the prefix, and with several
        ports the port's number behind it, as in ``memory_0``."""
        if self.memory_ports == 1:
            return (prefix,)
        return tuple(f"{prefix}_{port}" for port in range(self.memory_ports))

    @property
    def requesters(self) -> int:
        """Number of requesters at the L2: the cores, then the SCU if there is one."""
        return self.cores + (self.scu > 0)

    @property
    def line_atomics(self) -> bool:
        """Whether one access performs atomics on all words of a line."""
        return self.atomic_words == "line"

    @property
    def combines(self) -> bool:
        """Whether lanes that perform an atomic on one word share an access."""
        return self.combine == "lanes"

    @property
    def floats(self) -> bool:
        """Whether there are floating-point instructions."""
        return self.float != "none"

    @property
    def float_lanes(self) -> int:
        """Lanes that a floating-point instruction enters at a time."""
        return self.threads // 2 if self.float == "half" else self.threads

    @property
    def units(self) -> tuple[Unit, ...]:
        """The execution units of which a core may have instructions, in the order of their
        numbers."""
        return tuple(unit for unit in Unit if self.floats or unit is not Unit.FLOAT)

    @property
    def long(self) -> bool:
        """Whether the pipeline is the long one."""
        return self.pipeline == "long"

    @property
    def unit(self) -> GatherVariant | None:
        """The record of the unit that hands out edges; ``None`` without a unit."""
        return VARIANTS.get(self.gather)

    @property
    def tells_once(self) -> bool:
        """Whether a request to the L2 tells that its line is not wanted again soon."""
        return self.load_hints or self.scu > 0

    @property
    def gather_reads(self) -> bool:
        """Whether the unit that hands out edges reads memory."""
        return self.unit is not None and self.unit.reads_memory

    @property
    def exchanges(self) -> bool:
        """Whether the units of the cores exchange edges."""
        return self.unit is not None and self.unit.exchanges and self.exchange_interval > 0

    @property
    def weaver_table_entries(self) -> int:
        """Entries of the Weaver's sparse table, 0 without a Weaver."""
        if self.unit is None:
            return 0
        return self.weaver_entries or self.warps * self.threads


PRESETS = {
    config.name: config for config in (
        HardwareConfig(name="tiny", warps=2, threads=4, imem_bytes=1 << 13, local_bytes=1 << 10,
                       l1_bytes=1 << 10, l1_ways=2, l1_mshrs=4, load_queue=4, l2_bytes=0,
                       l2_mshrs=4, memory_bytes=1 << 22),
        HardwareConfig(name="fpga", warps=8, threads=8, imem_bytes=1 << 13, local_bytes=1 << 13,
                       l1_bytes=1 << 14, l1_ways=1, l1_mshrs=8, load_queue=8, l2_bytes=0,
                       l2_mshrs=8, memory_bytes=1 << 25, divider="none", pipeline="long"),
        # The plainest machine: one bank, an atomic word at a time, and the Weaver of its paper.
        HardwareConfig(name="baseline", warps=8, threads=16),
        HardwareConfig(name="default", warps=8, threads=16, l1_banks=4, atomic_words="line",
                       graphpeg_filter=True),
        HardwareConfig(name="paper", cores=6, warps=32, threads=32, l1_bytes=1 << 15,
                       l2_bytes=1 << 20, l2_banks=4, weaver_entries=512),
        # A slice of a data-centre GPU, with its memory (sim/memories.py).
        HardwareConfig(name="gpu", cores=8, warps=32, threads=32, local_bytes=1 << 17, barriers=8,
                       l1_bytes=1 << 15, l1_mshrs=512, l1_latency=24, load_queue=512,
                       l2_bytes=1 << 20, l2_banks=8, l2_mshrs=256, l2_latency=200,
                       sector_bytes=32, fetch_sectors=2, memory_ports=4, group_warps=8),
    )
}


def preset(name) -> HardwareConfig:
    """The preset called ``name``. Raises ConfigError for a name that is not a preset's."""
    try:
        return PRESETS[name]
    except KeyError:
        raise ConfigError(f"no preset {name!r}; there are {', '.join(PRESETS)}") from None
