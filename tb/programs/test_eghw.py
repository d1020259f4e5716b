"""Programs with the unit that generates edges: order of accesses, errors of accesses, counters.

================================  ================================================================
order with the core's accesses    test_ids_are_seen
errors                            test_an_access_fails
counters                          test_accesses_are_not_instructions
lockstep                          test_lockstep, test_lockstep_notices
================================  ================================================================
"""

import numpy as np
import pytest

from checks.campaign import lockstep
from checks.campaign.machines import CONFIGS, Launch, machine, run, verify
from hw.isa import Cause, Csr, MemoryMap
from hw.operations import GatherSetting
from sw.golden.gather.eghw import EghwFollower
from sw.golden.lockstep import Difference
from sw.compile.asm.assembler import Assembler


GLOBAL, LOCAL = MemoryMap.GLOBAL, MemoryMap.LOCAL
CONFIG = CONFIGS["eghw"]
_TRACED = CONFIG.replace(trace=True)
LANES = CONFIG.warps * CONFIG.threads

#: Word 0 to 15: offsets of 15 vertices with 2 edges each. Word 64 on: their edges.
_EDGES = GLOBAL // 4 + 64


def _memory():
    memory = np.arange(256, dtype=np.uint32) * 1000
    memory[:16] = _EDGES + 2 * np.arange(16)
    return memory


class _Program(Assembler):
    """A program whose warps all register a row, lane n vertex n, and take works until none is left.
    """

    def __init__(self, **settings):
        super().__init__()
        words = {GatherSetting.OFFSETS: 0, GatherSetting.WEIGHTS: 0, GatherSetting.IDS: LOCAL,
                 GatherSetting.RECORDS: LOCAL + 4 * LANES}
        words |= {GatherSetting[name]: value for name, value in settings.items()}
        self.own, self.word, self.id, self.total = self.regs("own", "word", "id", "total")
        for setting, value in words.items():
            self.li(self.word, value)
            self.gather_set(self.word, setting)
        # ``own``: the lane's place in the rows of IDs; ``id``: its vertex.
        self.csrr(self.own, Csr.THREAD_ID)
        self.csrr(self.word, Csr.WARP_ID)
        self.slli(self.word, self.word, CONFIG.threads.bit_length() - 1)
        self.add(self.own, self.own, self.word)
        self.slli(self.own, self.own, 2)
        self.li(self.word, GLOBAL)
        self.add(self.id, self.own, self.word)
        self.li(self.word, LOCAL)
        self.add(self.own, self.own, self.word)
        self.li(self.total, GLOBAL + 4 * 32)

    def register(self, before=0):
        """Store IDs, the vertex's own ID last, and register the row behind the stores."""
        for step in range(before, -1, -1):
            self.addi(self.word, self.id, 4 * step)
            self.sw(self.word, self.own)
        self.weaver_reg(self.zero, self.zero, self.zero)

    def meet(self):
        self.li(self.word, CONFIG.warps)
        self.bar(self.zero, self.word)

    def work(self):
        """Add each record, times its vertex's ID, to a word of global memory."""
        top, end = self.place("top"), self.label("end")
        self.weaver_dec_id(self.id)
        self.addi(self.word, self.id, 1)
        self.beqz(self.word, end)
        self.lw(self.word, self.own, 4 * LANES)
        self.mul(self.word, self.word, self.id)
        self.amoadd_w(self.zero, self.word, self.total)
        self.j(top)
        self.place(end)

    def case(self):
        self.end_warp()
        return Launch(self.finish().words, memory=_memory())


def _rounds(rounds=1, before=0, **settings):
    program = _Program(**settings)
    for _ in range(rounds):
        program.register(before)
        program.meet()
        program.work()
        program.meet()
        program.li(program.word, GLOBAL - LOCAL)
        program.add(program.id, program.own, program.word)
    return program.case()


def test_ids_are_seen():
    """The unit reads the IDs that were stored last before the REG, though the warps' stores and
    loads keep the load/store unit busy. The records are there when the warp loads them."""
    memory = _memory()
    total = sum((GLOBAL + 4 * vertex) * int(memory[edge - GLOBAL // 4])
                for vertex in range(CONFIG.weaver_table_entries)
                for edge in (_EDGES + 2 * vertex, _EDGES + 2 * vertex + 1))
    got = verify(machine("eghw"), _rounds(rounds=3, before=6))
    assert int(got.memory[32]) == int(memory[32]) + 3 * total & 0xFFFF_FFFF


@pytest.mark.parametrize("settings, cause, address", [
    ({"IDS": LOCAL + CONFIG.local_bytes}, Cause.LOAD_ACCESS, LOCAL + CONFIG.local_bytes),
    ({"OFFSETS": 2}, Cause.LOAD_MISALIGNED, GLOBAL + 2),
    ({"OFFSETS": 1 << 31}, Cause.LOAD_ACCESS, GLOBAL + (1 << 31) & 0xFFFF_FFFF),
    ({"WEIGHTS": 1 << 30}, Cause.LOAD_ACCESS, 4 * _EDGES + (1 << 30)),
    ({"RECORDS": 0}, Cause.STORE_ACCESS, 0),
])
def test_an_access_fails(settings, cause, address):
    """The error has the address, the lane, and the warp's last instruction for the unit: the REG
    for the topology, the DEC_ID for edges and records. The next launch works."""
    program = _Program(**settings)
    done = program.label("done")
    program.csrr(program.word, Csr.WARP_ID)
    program.bnez(program.word, done)
    program.register()
    topology = {"IDS", "OFFSETS"} & {*settings}
    if topology:
        wait = program.place("wait")
        program.j(wait)
    program.work()
    program.place(done)
    case = program.case()
    got = verify(machine("eghw"), case)
    assert (got.failure.cause, got.failure.warp, got.failure.lane) == (cause, 0, 0)
    assert got.failure.address == address
    assert verify(machine("eghw"), _rounds()).failure is None


def test_accesses_are_not_instructions():
    """The unit's accesses count as passes of the L1 and of local memory, not as instructions."""
    case = _rounds()
    counters = run(machine("eghw"), case).counters
    decodes = counters["weaver_decodes"]
    works = decodes - CONFIG.warps
    rows = CONFIG.weaver_table_entries // CONFIG.threads
    assert decodes > CONFIG.warps
    assert counters["memory_instructions"] == works                 # the atomics
    # Its loads: two of offsets for each row and one of edges for each work, in some lines.
    assert counters["l1_loads"] >= 2 * rows + works
    # IDs stored and read, records stored and read: four words of a row are in four banks.
    assert counters["local_accesses"] == CONFIG.warps + rows + 2 * works


def test_lockstep():
    device = lockstep.machine(_TRACED, lockstep.memory_of(_TRACED, 0))
    done = lockstep.compare(device, [_rounds(rounds=2, before=3)])
    assert done.instructions > 100 and done.taken > 0


def test_lockstep_notices(monkeypatch):
    """A record of another edge differs."""
    record = EghwFollower._record
    monkeypatch.setattr(EghwFollower, "_record",
                        lambda self, warp, lane, edge: record(self, warp, lane, edge ^ 1))
    device = lockstep.machine(_TRACED, lockstep.memory_of(_TRACED, 0))
    with pytest.raises(Difference, match="differs"):
        lockstep.compare(device, [_rounds()])
