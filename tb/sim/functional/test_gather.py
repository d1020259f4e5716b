"""The Weavers of the functional simulator, against their golden models.

Warps register, skip and decode in a random order, which no kernel has: registrations replace
entries that were not loaded, rows are registered while others wait, skips cut entries in the
middle. Every answer is stored. Some programs end with warps that wait for ever.
"""

import numpy as np
import pytest

from checks.campaign import functional
from checks.campaign.machines import CONFIGS, Launch
from hw.isa import Csr, MemoryMap, encode
from sw.golden.cores import Cores
from sw.golden.simulator import InstructionLimit
from tb.seeds import draw


CONFIG = CONFIGS["tiny"].replace(warps=4, threads=4, imem_bytes=1 << 15)
CONFIGURATIONS = [CONFIG.replace(gather=gather, weaver_entries=entries, table_latency=latency)
                  for gather in ("fsm", "scan", "stream") for entries in (0, 12)
                  for latency in (0, 10)]

#: Statements of a warp, and decodes after the last.
STATEMENTS, DECODES = 30, 25

FULL = (1 << CONFIG.threads) - 1


def tmc(mask):
    return [encode("addi", rd=3, imm=mask), encode("tmc", rs1=3)]


def decode(rng):
    """A decode, and its answers: x8 VIDs, x9 places, x10 EIDs, x11 the mask."""
    words = [encode("weaver.dec", rd=8, rs2=9) if rng.random() < 0.5 else
             encode("weaver.dec_id", rd=8), encode("csrrs", rd=11, csr=Csr.ACTIVE_MASK), *tmc(FULL),
             encode("weaver.dec_loc", rd=10)]
    return words + [word for place, register in enumerate((8, 9, 10, 11)) for word in (
        encode("sw", rs1=2, rs2=register, imm=16 * place),)] + [encode("addi", rd=2, rs1=2, imm=64)]


def statement(rng):
    words = []
    kind = rng.randrange(5)
    if kind < 3:
        for register, region in ((5, 0), (6, 512), (7, 1024)):
            words.append(encode("lw", rd=register, rs1=1, imm=region + 4 * rng.randrange(100)))
        words += tmc(rng.randrange(1, FULL + 1))
        words += [encode("weaver.reg", rs1=5, rs2=6, rs3=7, imm=rng.choice((0, 0, 0, 1))),
                  *tmc(FULL)]
    elif kind == 3:
        # Lanes outside of the mask may name the vertex, or close the warp.
        words += [*tmc(rng.choice((FULL, rng.randrange(1, FULL + 1)))),
                  encode("weaver.skip", rs1=rng.choice((5, 8, 14))), *tmc(FULL)]
    else:
        words += decode(rng)
    return words


def program(rng):
    """Each warp has a text of its own. x1 points to the tables, x2 to the answers. A skip of x14
    closes a warp if an odd lane is active."""
    texts = []
    for _ in range(CONFIG.warps):
        words = [word for _ in range(STATEMENTS) for word in statement(rng)]
        words += [encode("addi", rd=5, imm=-1), encode("weaver.skip", rs1=5)]      # it closes
        texts.append([*words, *(word for _ in range(DECODES) for word in decode(rng)),
                      encode("tmc")])
    start = [encode("lui", rd=1, imm=MemoryMap.GLOBAL >> 12),
             encode("csrrs", rd=4, csr=Csr.THREAD_ID), encode("andi", rd=14, rs1=4, imm=1),
             encode("sub", rd=14, rs2=14), encode("slli", rd=4, rs1=4, imm=2),
             encode("add", rd=1, rs1=1, rs2=4), encode("csrrs", rd=4, csr=Csr.WARP_ID),
             encode("addi", rd=12, rs1=4, imm=1), encode("slli", rd=12, rs1=12, imm=13),
             encode("add", rd=2, rs1=1, rs2=12),
             # The warp's jump, behind these words.
             encode("slli", rd=3, rs1=4, imm=2), encode("auipc", rd=13),
             encode("add", rd=13, rs1=13, rs2=3), encode("jalr", rs1=13, imm=12)]
    jumps, place = [], 4 * CONFIG.warps
    for warp, text in enumerate(texts):
        jumps.append(encode("jal", imm=place - 4 * warp))
        place += 4 * len(text)
    return (*start, *jumps, *(word for text in texts for word in text))


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=lambda config: (
    f"{config.gather}-{config.weaver_entries}-{config.table_latency}"))
def test_any_order_of_operations(config):
    ended = 0
    for number in range(4):
        rng = draw("weavers", number)
        memory = np.array([rng.randrange(6) for _ in range(128)]
                          + [rng.randrange(1 << 32) for _ in range(128)]
                          + [rng.choice((0, 0, 1, 1, 2, 3, 9)) for _ in range(128)], np.uint32)
        case = Launch(program(rng), memory=memory)
        reference = Cores(config)
        case.fill(reference.memory)
        reference.load_program(case.words)
        reference.start(0, 0)
        for simulator in reference.simulators:
            simulator.registers[:] = 0
        try:
            reference.run()
            failure = None
        except InstructionLimit:
            failure = "limit"
        machine = functional.functional_machine(config)
        machine.power_on()
        got = functional.outcome(machine, case)
        assert got.failure == failure
        assert np.array_equal(got.memory, reference.memory.view(np.uint32))
        assert got.counters == reference.counters()
        assert len(np.flatnonzero(got.memory[2048:])) > 100
        ended += failure is None
    assert ended
