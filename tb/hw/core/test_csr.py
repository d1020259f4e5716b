"""Every CSR reads its own value, each half of a wide one in its place."""

import random

import pytest
from amaranth.sim import Simulator

from hw.config import HardwareConfig
from hw.core.csr import CsrFile
from hw.isa import Csr


CONFIG = HardwareConfig(cores=2, warps=4, threads=8)


def values(argument, cycle, instret, warp, core, active, mask):
    """The value of each CSR, THREAD_ID and PHASE apart."""
    low = 0xFFFF_FFFF
    return {
        Csr.MSCRATCH: argument, Csr.CYCLE: cycle & low, Csr.CYCLEH: cycle >> 32,
        Csr.INSTRET: instret & low, Csr.INSTRETH: instret >> 32, Csr.WARP_ID: warp,
        Csr.CORE_ID: core, Csr.ACTIVE_WARPS: active, Csr.ACTIVE_MASK: mask,
        Csr.NUM_THREADS: 8, Csr.NUM_WARPS: 4, Csr.NUM_CORES: 2,
    }


@pytest.mark.parametrize("pipeline", ["short", "long"])
def test_each_csr(pipeline):
    dut, rng = CsrFile(CONFIG.replace(pipeline=pipeline)), random.Random(5)

    async def bench(ctx):
        for _ in range(20):
            fields = {"argument": rng.getrandbits(32), "cycle": rng.getrandbits(64),
                      "instret": rng.getrandbits(64), "core": rng.randrange(2),
                      "active": rng.getrandbits(4), "mask": rng.getrandbits(8)}
            warp = rng.randrange(4)
            for name, value in fields.items():
                ctx.set(getattr(dut, name), value)
            ctx.set(dut.reads_warp, warp)
            for number in Csr:
                ctx.set(dut.reads_number, number)
                await ctx.tick()
                assert ctx.get(dut.is_thread) == (number is Csr.THREAD_ID)
                right = values(warp=warp, **fields).get(number, 0)
                assert ctx.get(dut.value) == right, number.name

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
