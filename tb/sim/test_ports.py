"""Programs on hardware with several memory ports, each with a DRAM of its own.

==================  ============================================================
counters by port    test_counters_of_each_port
bandwidth           test_each_port_has_a_bus
results, cycles     test_compiled.py; the campaign's configuration ``pair``
names in Verilog    tb/hw/test_top.py
refusals            tb/hw/link/test_flat.py, tb/hw/test_config.py
==================  ============================================================
"""

import functools

from hw.config import preset
from sim.dram import DramConfig
from sw.device import Device
from sw.graph.load import load


CONFIG = preset("tiny").replace(cores=2, l2_banks=4, l2_mshrs=16, load_queue=16)

#: A line of 16 bytes takes the bus of a port for 16 cycles, which is what binds.
DRAM = DramConfig(bytes_per_cycle=1, latency=20, queue=2)


@functools.cache
def _counters(ports):
    with Device.simulate(CONFIG.replace(memory_ports=ports), dram=DRAM) as device:
        return device.run("pagerank", load("rmat:scale=7,degree=8,seed=2"), schedule="em",
                          iterations=1).counters


def test_counters_of_each_port():
    counters, ports = _counters(2), range(2)
    assert not any(name.startswith("port_") for name in _counters(1))
    for total, name in (("dram_reads", "lines_read"), ("dram_writes", "lines_written")):
        each = [counters[f"port_{port}_{name}"] for port in ports]
        assert sum(each) == counters[total] and min(each) > 0.3 * counters[total]
    for port in ports:
        lines = counters[f"port_{port}_lines_read"] + counters[f"port_{port}_lines_written"]
        assert counters[f"port_{port}_busy"] == lines * DRAM.occupancy(CONFIG.line_bytes)
        assert 0 < counters[f"port_{port}_waits"] < counters["cycles"]


def test_each_port_has_a_bus():
    """What one bus binds is nearly twice as fast with two, and faster again with four."""
    one, two, four = (_counters(ports)["cycles"] for ports in (1, 2, 4))
    assert 0.5 < two / one < 0.6 and 0.5 < four / two < 0.7
