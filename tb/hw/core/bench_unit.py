"""The load/store unit that the benches of its parts run on.

Elaborating and compiling the coalescer and the L1 for 32 lanes takes long, so one design serves
the benches of both. With ``detached`` the coalescer's passes leave at a port of the design, not to
the L1. The coalescer's slots then come from a port, too.
"""

import functools
import random

import cocotb
from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.core.access import operation_layout, pass_layout
from hw.core.banks import EVENTS, add_banks, counted
from hw.core.coalescer import Coalescer
from hw.core.loads import LoadQueue, slot_layout, writeback_layout
from hw.isa import Cause
from hw.memory.port import core_request_layout, core_response_layout
from hw.stalls import L1_STALLS
from tb import emit, runner
from tb.hw.memories import memory_of


__all__ = ["DetachableUnit", "SHAPES", "configuration", "count", "generator", "run", "turns"]


#: Small caches, so that lines are replaced often. The keys name the tests.
SHAPES = {
    "1": {"threads": 1, "warps": 8, "local_bytes": 256, "l1_bytes": 256, "l1_ways": 1,
          "l1_mshrs": 2, "load_queue": 2},
    "4": {"threads": 4, "warps": 8, "local_bytes": 256, "l1_bytes": 256, "l1_ways": 2,
          "l1_mshrs": 4, "load_queue": 4},
    "8, long": {"threads": 8, "warps": 8, "local_bytes": 512, "l1_bytes": 512, "l1_ways": 2,
                "l1_mshrs": 4, "load_queue": 8, "pipeline": "long", "atomic_words": "line",
                "load_hints": True},
    "16": {"threads": 16, "warps": 8, "local_bytes": 1024, "l1_bytes": 1024, "l1_ways": 4,
           "l1_mshrs": 8, "load_queue": 16, "load_hints": True},
    "32": {"threads": 32, "warps": 8, "local_bytes": 2048, "l1_bytes": 1024, "l1_ways": 1,
           "l1_mshrs": 8, "load_queue": 8},
    "4, 2 banks": {"threads": 4, "warps": 8, "local_bytes": 256, "l1_bytes": 256, "l1_ways": 2,
                   "l1_banks": 2, "l1_mshrs": 4, "load_queue": 4},
    "8, 4 banks, long": {"threads": 8, "warps": 8, "local_bytes": 512, "l1_bytes": 512,
                         "l1_ways": 2, "l1_banks": 4, "l1_mshrs": 16, "load_queue": 8,
                         "pipeline": "long", "atomic_words": "line"},
    "16, 4 banks": {"threads": 16, "warps": 8, "local_bytes": 1024, "l1_bytes": 1024, "l1_ways": 2,
                    "l1_banks": 4, "l1_mshrs": 8, "load_queue": 16, "atomic_words": "line"},
    "4, 2 deep": {"threads": 4, "warps": 8, "local_bytes": 256, "l1_bytes": 256, "l1_ways": 2,
                  "l1_mshrs": 4, "load_queue": 8, "coalescer_depth": 2, "pipeline": "long"},
    "8, 4 banks, 2 deep": {"threads": 8, "warps": 8, "local_bytes": 512, "l1_bytes": 512,
                           "l1_ways": 2, "l1_banks": 4, "l1_mshrs": 16, "load_queue": 8,
                           "coalescer_depth": 2, "atomic_words": "line"},
    "8, 2 banks, 4 deep, long": {"threads": 8, "warps": 8, "local_bytes": 512, "l1_bytes": 512,
                                 "l1_ways": 2, "l1_banks": 2, "l1_mshrs": 16, "load_queue": 8,
                                 "coalescer_depth": 4, "pipeline": "long"},
    "4, late": {"threads": 4, "warps": 8, "local_bytes": 256, "l1_bytes": 256, "l1_ways": 2,
                "l1_mshrs": 4, "load_queue": 8, "l1_latency": 9},
    "4, uncombined": {"threads": 4, "warps": 8, "local_bytes": 256, "l1_bytes": 256, "l1_ways": 2,
                      "l1_mshrs": 4, "load_queue": 4, "combine": "none"},
    "8, uncombined, long": {"threads": 8, "warps": 8, "local_bytes": 512, "l1_bytes": 512,
                            "l1_ways": 2, "l1_mshrs": 4, "load_queue": 8, "pipeline": "long",
                            "atomic_words": "line", "combine": "none"},
    "4, line": {"threads": 4, "warps": 8, "local_bytes": 256, "l1_bytes": 256, "l1_ways": 2,
                "l1_mshrs": 4, "load_queue": 4, "atomic_words": "line"},
    "8, sectors": {"threads": 8, "warps": 8, "local_bytes": 512, "l1_bytes": 256, "l1_ways": 1,
                   "l1_mshrs": 4, "load_queue": 8, "sector_bytes": 8},
    "8, sectors, 2 banks": {"threads": 8, "warps": 8, "local_bytes": 512, "l1_bytes": 512,
                            "l1_ways": 2, "l1_banks": 2, "l1_mshrs": 8, "load_queue": 8,
                            "sector_bytes": 16, "atomic_words": "line", "load_hints": True},
    "8, sectors, long": {"threads": 8, "warps": 8, "local_bytes": 512, "l1_bytes": 512,
                         "l1_ways": 2, "l1_mshrs": 4, "load_queue": 8, "sector_bytes": 8,
                         "pipeline": "long"},
}


class DetachableUnit(wiring.Component):
    """Coalescer, load queue and L1 as the core connects them.

    Members
    -------
    detached : In(1)
        The coalescer works on its own: ``access`` has its passes, and ``slot`` and ``slot_free``
        replace the load queue.
    taken : Out(range(l1_banks + 1))
        Number of the banks that accept a pass.
    loaded_count : Out(range(l1_banks + 1))
        Number of the banks that give a line to the load queue.
    bank_conflict : Out(1)
    stall_* : Out(range(l1_banks + 1))
        Number of the banks in front of which a pass waits, by cause.
    coalescer_busy, busy : Out(1)
        The coalescer is busy; any of the three units is busy.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        warp_bits = index_bits(config.warps)
        number = range(config.l1_banks + 1)
        super().__init__({
            "detached": In(1),
            "operation": In(stream.Signature(operation_layout(config))),
            "access": Out(stream.Signature(pass_layout(config))).array(config.l1_banks),
            "slot": In(index_bits(config.load_queue)), "slot_free": In(1),
            "allot": Out(1), "entry": Out(slot_layout(config)),
            "fault": Out(1), "fault_cause": Out(Cause), "fault_address": Out(32),
            "fault_pc": Out(32), "fault_warp": Out(warp_bits),
            "started_global": Out(1), "started_local": Out(1),
            "started_warp": Out(warp_bits), "started_rd": Out(5), "local_conflict": Out(1),
            "coalescer_busy": Out(1), "busy": Out(1),
            "request": Out(stream.Signature(core_request_layout(config))),
            "response": In(stream.Signature(core_response_layout(config))),
            "writeback": Out(stream.Signature(writeback_layout(config))),
            "flush": In(1), "taken": Out(number), "loaded_count": Out(number),
            **{name: Out(number) for name in EVENTS}, "bank_conflict": Out(1),
            **{f"stall_{name}": Out(number) for name in L1_STALLS},
            "atomic_lanes": Out(ceil_log2(config.l1_banks * config.threads + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.coalescer = coalescer = Coalescer(config)
        m.submodules.loads = loads = LoadQueue(config)
        banks = add_banks(m, config, self.request, self.response)
        connect(m, flipped(self.operation), coalescer.operation)
        connect(m, loads.writeback, flipped(self.writeback))
        for i, bank in enumerate(banks):
            access = coalescer.access[i]
            m.d.comb += [
                self.access[i].valid.eq(access.valid & self.detached),
                self.access[i].payload.eq(access.payload),
                bank.access.valid.eq(access.valid & ~self.detached),
                bank.access.payload.eq(access.payload),
                access.ready.eq(Mux(self.detached, self.access[i].ready, bank.access.ready)),
                loads.loaded[i].eq(bank.loaded), loads.loaded_valid[i].eq(bank.loaded_valid),
                bank.flush.eq(self.flush),
            ]
        m.d.comb += [
            coalescer.asking.eq(Cat(bank.asking for bank in banks).any()),
            coalescer.slot.eq(Mux(self.detached, self.slot, loads.slot)),
            coalescer.slot_free.eq(Mux(self.detached, self.slot_free, loads.free)),
            loads.allot.eq(coalescer.allot & ~self.detached), loads.entry.eq(coalescer.entry),
            self.allot.eq(coalescer.allot), self.entry.eq(coalescer.entry),
            self.taken.eq(sum(bank.access.valid & bank.access.ready for bank in banks)),
            self.loaded_count.eq(sum(bank.loaded_valid for bank in banks)),
            self.atomic_lanes.eq(sum(Mux(bank.atomic_access, bank.atomic_lanes, 0)
                                     for bank in banks)),
            self.coalescer_busy.eq(coalescer.busy),
            self.busy.eq(coalescer.busy | loads.busy
                         | Cat(bank.busy for bank in banks).any()),
            *(getattr(self, name).eq(number) for name, number in counted(banks).items()),
            *(getattr(self, f"stall_{name}").eq(sum(bank.stalls[i] for bank in banks))
              for i, name in enumerate(L1_STALLS)),
        ]
        for name in ("fault", "fault_cause", "fault_address", "fault_pc", "fault_warp",
                     "started_global", "started_local", "started_warp", "started_rd",
                     "bank_conflict", "local_conflict"):
            m.d.comb += getattr(self, name).eq(getattr(coalescer, name))
        return m


@functools.cache
def _verilog(config):
    return emit.emit(DetachableUnit(config), "unit").text


def run(shape, test_module, *, simulator, tests, **parameters):
    """Run the benches ``tests`` of a module on the load/store unit of a shape."""
    fields = SHAPES[shape] | memory_of(simulator)
    runner.run_bench(_verilog(HardwareConfig(**fields)), "unit", test_module, simulator=simulator,
                     tests=tests, parameters={"config": fields, **parameters})


def configuration():
    """In a bench: the configuration of the unit under test."""
    return HardwareConfig(**runner.parameters()["config"])


def generator():
    """In a bench: a random generator that follows the seed."""
    return random.Random(cocotb.RANDOM_SEED)


def count(instructions):
    """In a bench: the number of instructions to send, fewer if they have many lanes."""
    return max(15, instructions * 8 // (8 + configuration().threads))


def turns(instructions):
    """In a bench: the number of random instructions to send (:func:`tb.runner.turns`)."""
    return runner.turns(count(instructions))
