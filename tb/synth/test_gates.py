# amaranth: UnusedElaboratable=no
"""Netlists of ECP5 cells behave like the RTL: the benches of the units run on the netlists.

====================  ============================================================
block RAM             test_block_ram: each width that a port can have, with and
                      without bytes, against a model; and a colliding read does
                      not give the old bits
Weaver                test_weaver: directed and random tests of tb.hw.gather
SCU                   test_scu: random operations of tb.hw.scu.bench_scu
====================  ============================================================
"""

import random

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.scu.scu import Scu
from hw.gather.fsm.unit import Weaver
from synth.devices import DEVICES
from synth.logic import BLOCK, synthesize
from tb import runner
from tb.clocking import integer, start, tick
from tb.hw.scu.configs import scu_config
from tb.hw.gather import test_fsm as directed
from tb.hw.gather import test_rounds_random as at_random
from tb.synth.gates import netlist


#: Depth, bits, and bits of a byte of each memory; one memory for each width of a port.
MEMORIES = {
    "one": (16384, 1, 1), "two": (8192, 2, 2), "four": (4096, 4, 4), "nine": (2048, 9, 9),
    "eighteen": (1024, 18, 18), "bytes": (1024, 18, 9), "pair": (512, 36, 36),
    "pair_bytes": (512, 36, 9), "rom": (512, 36, 36),
}


class Memories(wiring.Component):
    """A write port and a read port of each memory, all with the same inputs."""
    def __init__(self):
        super().__init__({
            "write": In(4), "to": In(14), "data": In(36), "read": In(1), "at": In(14),
            **{f"q_{name}": Out(width) for name, (_, width, _) in MEMORIES.items()}})

    def elaborate(self, platform):
        m = Module()
        for name, (depth, width, byte) in MEMORIES.items():
            m.submodules[f"memory_{name}"] = store = memory.Memory(
                shape=width, depth=depth, init=[n * 0x9E3779B9 & (1 << width) - 1
                                                for n in range(depth)],
                attrs={"no_rw_check": 1, "ram_style": "block"})
            write, read = store.write_port(granularity=byte), store.read_port()
            m.d.comb += [
                write.addr.eq(self.to), write.data.eq(self.data), write.en.eq(self.write),
                read.addr.eq(self.at), read.en.eq(self.read),
                getattr(self, f"q_{name}").eq(read.data),
            ]
        return m


@cocotb.test()
async def memories(dut):
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    stored = {name: [n * 0x9E3779B9 & (1 << width) - 1 for n in range(depth)]
              for name, (depth, width, _) in MEMORIES.items()}
    wanted = dict.fromkeys(MEMORIES, 0)
    for cycle in range(2000):
        write, to, data = rng.choice([0, 15, rng.getrandbits(4)]), rng.getrandbits(14), \
            rng.getrandbits(36)
        read, at = rng.random() < 0.8, rng.choice([rng.getrandbits(14), to ^ 1, to ^ 256])
        dut.write.value, dut.to.value, dut.data.value = write, to, data
        dut.read.value, dut.at.value = read, at
        for name, (depth, width, byte) in MEMORIES.items():
            words = stored[name]
            if read:
                wanted[name] = words[at % depth]
            mask = sum((1 << byte) - 1 << byte * lane for lane in range(width // byte)
                       if write >> lane & 1)
            if mask and read and to % depth == at % depth:
                wanted[name] ^= mask
            words[to % depth] = words[to % depth] & ~mask | data & mask
        await tick(dut)
        for name in MEMORIES:
            got = integer(getattr(dut, f"q_{name}"))
            assert got == wanted[name], f"{name}, cycle {cycle}: {got:#x}, not {wanted[name]:#x}"


@pytest.mark.sample(1)
def test_block_ram(simulator):
    found = synthesize(Memories(), DEVICES["ecp5-85k"], top="memories")
    assert set(found.memories.values()) == {BLOCK}
    runner.run_bench(netlist(Memories(), "memories"), "memories", __name__, simulator=simulator,
                     seed=1)


TINY = {"warps": 2, "threads": 4}


@pytest.mark.sample(1)
def test_weaver(simulator):
    text = netlist(Weaver(HardwareConfig(**TINY)), "weaver")
    runner.run_bench(text, "weaver", directed.__name__, simulator=simulator,
                     parameters={"config": TINY}, tests=directed.TESTS)
    runner.run_bench(text, "weaver", at_random.__name__, simulator=simulator, seed=1,
                     parameters={"config": TINY, "rounds": 8, "steps": 600, "resets": 12})


@pytest.mark.full
def test_scu():
    """The test uses one simulator. Verilator, on which all benches of the unit pass as well, takes
    minutes to build the netlist."""
    simulator = "icarus" if runner.unavailable("icarus") is None else "verilator"
    settings = {"line_bytes": 16, "scu": 1, "scu_vector_bytes": 2048, "scu_request_bytes": 2048,
                "scu_hash_bytes": 2048}
    runner.run_bench(netlist(Scu(scu_config(**settings)), "scu"), "scu", "tb.hw.scu.bench_scu",
                     simulator=simulator, seed=1, parameters=settings | {"operations": 2},
                     tests=["random_operations"])
