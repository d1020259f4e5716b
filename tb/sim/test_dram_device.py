"""The DRAM devices: cycles of their channels, and the whole behind the traffic generator.

====================  ==========================================================
cycles, latencies     test_base, test_options: equal to another simulator's records
skipped cycles        test_skipped_cycles
times                 test_times: every pair of commands of random devices
answers               test_times: each read once
data                  test_data: reads see earlier writes; pieces of a line, shared accesses
clocks, mapping       test_latency, test_channels, test_hash
configuration         test_wrong_parameter, test_parse, test_parts
limits                test_limits
====================  ==========================================================
"""

import csv
import dataclasses
import fractions
import math
import pathlib
import random

import numpy as np
import pytest

from hw.config import ConfigError, HardwareConfig
from sim.dram import DramConfig
from sim.dram_device import DramDevice
from sim.dram_parts import PARTS
from sim.memories import parse_memory
from sim.native import NativeMachine
from tb.sim.dram_channels import run
from tb.sim.dram_traces import trace
from tb.sim.test_dram import BASE, CONFIG, WIDE
from tb.sim.test_dram import run as run_program
from tb.sim.traffic import Op, pattern, traffic_verilog


#: The records of another simulator (its header names it).
with (pathlib.Path(__file__).with_name("dram_reference.csv")).open() as file:
    RECORDS = list(csv.DictReader(line for line in file if not line.startswith("#")))

_COMMON = {"hash": 0, "tRTRS": 1, "t32AW": 0, "tPPD": 0, "access_bytes": 64,
           "mapping": "column-group-bank-channel-row"}

#: The parameters of the records.
REFERENCE = {
    "ddr4": DramDevice.of("ddr4", **_COMMON),
    "lpddr4": DramDevice.of("lpddr4", **_COMMON | {
        "groups": 2, "banks": 4, "CL": 17, "CWL": 14, "tRCDRD": 15, "tRCDWR": 15, "tRP": 15,
        "tRAS": 32, "tRRD_S": 8, "tRRD_L": 8, "tFAW": 32, "tCCD_S": 4, "tCCD_L": 6, "tWR": 30,
        "tWTR_S": 8, "tWTR_L": 16, "tPPD": 2, "tRFC": 392, "tREFI": 8660}),
    "gddr6": DramDevice.of("gddr6", **_COMMON | {
        "groups": 1, "banks": 16, "row_bytes": 8192, "burst": 1, "CL": 24, "CWL": 16, "tRCDRD": 24,
        "tRCDWR": 20, "tRP": 24, "tRAS": 54, "tRRD_S": 9, "tRRD_L": 9, "tFAW": 32, "t32AW": 420,
        "tCCD_S": 3, "tCCD_L": 4, "tRTP": 5, "tWR": 16, "tWTR_S": 7, "tWTR_L": 7, "tPPD": 2,
        "tRFC": 126, "tREFI": 11862}),
    "hbm2": DramDevice.of("hbm2", **_COMMON | {
        "row_bytes": 2048, "mapping": "column-channel-bank-group-row", "tCCD_S": 1, "tCCD_L": 2,
        "tFAW": 30, "tRTRS": 2, "tRFC": 260}),
}


def _reference(record):
    """The device of a record."""
    name, _, value = record["config"].rpartition("_")
    by_line = {"mapping": "channel-group-bank-column-row"}
    changes = {
        "cmd_queue": {"bank_queue": value}, "trans_queue": {"read_queue": value,
                                                            "write_queue": value},
    }.get(name) or {
        "no_refresh": {"tREFI": 0}, "close_page": {"close_page": 1}, "map_line": by_line,
        "map_line_close": by_line | {"close_page": 1}, "channels8": {"channels": 8},
        "trans8_cmd1": {"read_queue": 8, "write_queue": 8, "bank_queue": 1},
        "trans8_cmd2": {"read_queue": 8, "write_queue": 8, "bank_queue": 2},
    }.get(record["config"], {})
    changes = {field: int(each) if str(each).isdigit() else each
               for field, each in changes.items()}
    return dataclasses.replace(REFERENCE[record["device"]], **changes)


def _check(record):
    """Run a record again, and compare every figure."""
    requests = trace(record["device"], record["trace"], by_line="map_line" in record["config"])
    found = run(_reference(record), requests, window=int(record["window"]))
    counts = found.counts
    figures = {"cycles": found.cycles}
    figures |= {name: counts[name] for name in ("activates", "precharges", "refreshes")}
    reads = sorted(latency for latency in found.latencies if latency >= 0)
    if reads:
        figures |= {"read_p50": reads[len(reads) // 2], "read_p99": reads[int(0.99 * len(reads))],
                    "read_max": reads[-1]}
        assert sum(reads) / len(reads) == pytest.approx(float(record["read_mean"]), abs=0.0501)
    assert figures == {name: int(record[name]) for name in figures}
    columns = counts["column_reads"] + counts["column_writes"]
    assert counts["row_hits"] / columns == pytest.approx(float(record["row_hit_rate"]), abs=6e-5)


@pytest.mark.parametrize("device", REFERENCE)
def test_base(device):
    records = [record for record in RECORDS
               if record["device"] == device and record["config"] == "base"]
    assert len(records) == 23
    for record in records:
        _check(record)


@pytest.mark.parametrize("device", REFERENCE)
def test_options(device):
    """Windows, queues, mappings, closed pages, no refresh and eight channels."""
    records = [record for record in RECORDS
               if record["device"] == device and record["config"] != "base"]
    assert len(records) > 25
    for record in records:
        _check(record)


@pytest.mark.parametrize("device", REFERENCE)
def test_skipped_cycles(device):
    """Cycles in which a channel says that it has nothing to do may be left out."""
    for name in ("rand_rw_mid", "refresh", "pingpong_slow"):
        requests = trace(device, name)[:3000]
        each, some = (run(REFERENCE[device], requests, skip=skip, commands=True)
                      for skip in (False, True))
        assert each == some


def _spacing(d, one, other, same_bank, same_group):
    """The least cycles between two commands, by the rules of :mod:`sim.dram_device`; None if there
    is no rule."""
    near = same_group and d.groups > 1
    column = max(d.burst, d.tCCD_L if near else d.tCCD_S)
    turn = d.CL + d.burst + d.tRTRS - d.CWL
    data = d.CWL + d.burst
    of_bank = {"AA": d.tRAS + d.tRP, "AR": d.tRCDRD, "AW": d.tRCDWR, "AP": d.tRAS, "RP": d.tRTP,
               "WP": data + d.tWR, "PA": d.tRP}
    of_all = {"AA": d.tRRD_L if near else d.tRRD_S, "RR": column, "WW": column, "RW": turn,
              "WR": data + (d.tWTR_L if near else d.tWTR_S), "PP": d.tPPD, "PF": d.tRP,
              "FA": d.tRFC}
    pair = one + other
    rules = [table[pair] for table, holds in ((of_bank, same_bank), (of_all, True))
             if holds and pair in table]
    return max(rules, default=None)


def _check_times(d, commands):
    """Assert that no two commands are too close, and that each finds its bank open or closed."""
    rows = {}
    activates = []
    for place, (time, what, bank, row) in enumerate(commands):
        if what == "A":
            assert bank not in rows
            rows[bank] = row
            activates.append(time)
            for size, window in ((4, d.tFAW), (32, d.t32AW)):
                if window and len(activates) > size:
                    assert time - activates[-1 - size] >= window
        elif what == "F":
            assert not rows
        else:
            assert rows[bank] == row
            if what == "P":
                del rows[bank]
        for before, first, other, _ in reversed(commands[max(0, place - 60):place]):
            least = _spacing(d, first, what, bank == other, bank // d.banks == other // d.banks)
            assert least is None or time - before >= least, (first, what, before, time)
        # One command a cycle, or one of a row and one of a column.
        together = [each[1] in "RW" for each in commands[max(0, place - 2):place]
                    if each[0] == time]
        assert not together or (d.two_commands and together == [what not in "RW"])


@pytest.mark.parametrize("seed", range(6))
def test_times(seed):
    """Random devices and requests: every command keeps every time, and each read is answered."""
    rng = random.Random(seed)
    groups, banks = rng.choice((1, 2, 4)), rng.choice((1, 2, 4, 8))
    rrd, ccd, wtr = (sorted(rng.choices(range(1, 13), k=2)) for _ in range(3))
    d = DramDevice.of(
        rng.choice(list(PARTS)), hash=0, groups=groups, banks=banks, burst=rng.choice((1, 2, 4)),
        CL=rng.randrange(8, 30), CWL=rng.randrange(4, 9), tRCDRD=rng.randrange(5, 20),
        tRCDWR=rng.randrange(5, 20), tRP=rng.randrange(5, 30), tRAS=rng.randrange(20, 60),
        tRRD_S=rrd[0], tRRD_L=rrd[1], tCCD_S=ccd[0], tCCD_L=ccd[1], tWTR_S=wtr[0], tWTR_L=wtr[1],
        tFAW=rng.choice((0, 50)), t32AW=rng.choice((0, 500)), tPPD=rng.randrange(4),
        tRFC=rng.randrange(50, 200), tREFI=rng.randrange(400, 900), tRTP=rng.randrange(1, 15),
        tWR=rng.randrange(1, 30), two_commands=rng.randrange(2), merge=rng.randrange(2),
        bank_queue=rng.randrange(1, 9), read_queue=rng.randrange(1, 33),
        write_queue=rng.randrange(1, 33), hit_limit=rng.randrange(1, 6),
        keep_writes=rng.randrange(9))
    requests, time = [], 0
    for _ in range(1000):
        time += rng.choice((0, 0, 1, 2, 20 * (seed % 2)))
        line = rng.randrange(40) if rng.random() < 0.3 else rng.randrange(1 << 16)
        requests.append((64 * line, int(rng.random() < 0.3), time))
    found = run(d, requests, commands=True)
    _check_times(d, found.commands)
    assert all((latency < 0) == bool(write)
               for latency, (_, write, _) in zip(found.latencies, requests))
    reads = sum(not write for _, write, _ in requests)
    letters = [what for _, what, _, _ in found.commands]
    assert letters.count("R") == found.counts["column_reads"]
    assert letters.count("R") <= reads if d.merge else letters.count("R") == reads
    assert found.counts["refreshes"] > 3 and found.counts["turn_rounds"] > 10


def machine_of(config, device, **changes):
    return NativeMachine(config, DramDevice.of(device, **changes),
                         verilog=(traffic_verilog(config),))


@pytest.mark.parametrize("ratio, delay", [(1, 0), ("1/2", 0), ("3/2", 100), (4, 0)])
def test_latency(ratio, delay):
    """A read of a closed row is answered after 1 + tRCD + CL + burst memory cycles, counted from
    the one in which it was accepted, and the delay in core cycles, to the nearest memory cycle."""
    with machine_of(CONFIG, "ddr4", ratio=ratio, tREFI=0, answer_delay=delay) as machine:
        seen = run_program(machine, (Op.READ, 1))
        taken = seen["first_response"] - seen["first_request"]
        cycle = fractions.Fraction(ratio)
        later = round(delay / cycle) * cycle
        assert 48 * cycle < taken - later <= math.ceil(49 * cycle) and abs(later - delay) <= cycle


def test_data():
    """Reads see the writes before them, whatever the order in which they are served."""
    for device, changes in (("ddr4", {}), ("hbm2", {"channels": 4}), ("gddr6", {"merge": 0}),
                            ("ddr4", {"access_bytes": 256, "burst": 16})):
        with machine_of(WIDE, device, **changes) as machine:
            machine.memory.view(np.uint32)[:] = np.arange(machine.memory.size // 4)
            seen = run_program(machine, (Op.UPDATE, 40), (Op.WRITE, 300), (Op.SEEK, BASE),
                               (Op.READ, 340), (Op.STALL, 3), (Op.READ, 60))
            assert seen["reads"] == 440 and seen["writes"] == 340
            words = machine.memory.view(np.uint32)[::16]
            assert (words[:40] == 16 * np.arange(40) + 1).all()
            assert all(words[line] == pattern(BASE + line, 0) for line in range(40, 340))
            counters = machine.counters()
            pieces = max(1, 64 // machine.dram.access_bytes)
            if not machine.dram.merge:
                assert counters["dram_column_reads"] == 440 * pieces
            assert 0 < counters["dram_column_reads"] <= 440 * pieces
            machine.clear_counters()
            assert machine.counters()["dram_activates"] == 0


def test_channels():
    """Channels work side by side, up to a line a cycle of the port."""
    cycles = []
    for channels in (1, 2, 4, 8):
        with machine_of(WIDE, "hbm2", channels=channels, tREFI=0) as machine:
            seen = run_program(machine, (Op.READ, 1000))
            cycles.append(seen["last_response"] - seen["first_request"])
            assert sum(map(bool, (channel["column_reads"] for channel
                                  in machine.channel_counters()))) == channels
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[0] >= 4 * 1000 and cycles[3] < 0.4 * cycles[0]


def test_wrong_parameter():
    for changes, text in (
            ({"tFAW": 2}, "tFAW = 2: .*must be 0 or at least tRRD_S = 4"),
            ({"tREFI": 300}, "tREFI = 300: refreshes would leave no time.*more than 420"),
            ({"tCCD_S": 9}, "tCCD_S = 9: .*must be at most tCCD_L = 4"),
            ({"tRAS": 13}, "tRAS = 13: .*must be at least tRCDRD = 14"),
            ({"CWL": 60}, "tRTRS = 2: .*must be at least 45, for CWL = 60"),
            ({"t32AW": 5}, "t32AW = 5: .*at least tFAW = 16"),
            ({"channels": 3}, "channels = 3: must be a power of two from 1 to 64"),
            ({"banks": 32}, "banks = 32: .*at most 16 for groups = 4"),
            ({"row_bytes": 64, "access_bytes": 128}, "row_bytes = 64: .*access_bytes = 128"),
            ({"ratio": "3/0"}, "ratio = '3/0': .*such as 3/4"),
            ({"ratio": 17}, "ratio = 17: .*from 1/16 to 16"),
            ({"mapping": "row-column-group-bank-channel"}, "mapping = .*row last"),
            ({"mapping": "column6-channel-column-bank-group-row"}, "at most 5 bits"),
            ({"CL": 0}, "CL = 0: must be an integer from 1 to 100000"),
            ({"latency": 5}, "has no field 'latency'")):
        with pytest.raises(ConfigError, match=text):
            DramDevice.of("hbm2", **changes)
    with pytest.raises(ConfigError, match="model = 'ddr5': must be one of ddr4"):
        dataclasses.replace(DramDevice.of("hbm2"), model="ddr5")
    with pytest.raises(ConfigError, match="a device has no slow region"):
        DramDevice.of("ddr4").with_slow(4, 600)


def test_parse():
    found = parse_memory(["model=hbm2", "tFAW=30", "ratio=6/4"])
    assert found == DramDevice.of("hbm2", tFAW=30, ratio="3/2")
    assert found.changes == ["model=hbm2", "ratio=3/2", "tFAW=30"]
    assert parse_memory(found.assignments) == found
    assert parse_memory(["model=simple", "queue=3"]) == DramConfig(queue=3)
    with pytest.raises(ConfigError, match="model = 'ddr5': must be one of simple, ddr4"):
        parse_memory(["model=ddr5"])
    with pytest.raises(ConfigError, match="tFAW = 3: the simple model has no such field"):
        parse_memory(["tFAW=3"])


def test_parts():
    """The shipped devices have the bandwidth of their names: bytes a memory cycle of a channel."""
    peaks = {name: DramDevice.of(name).peak_bytes(CONFIG) for name in PARTS}
    assert peaks == {"ddr4": 16, "lpddr4": 8, "gddr6": 16, "hbm2": 16}


def test_limits():
    """What a device can do at best, by hand: two ports, lines of 64 bytes."""
    config = HardwareConfig(threads=16, l2_banks=2, memory_ports=2)
    device = DramDevice.of("hbm2", channels=2, ratio="1/2")
    assert device.peak_bytes(config) == 2 * min(2 * 32 / (2 * 0.5), 64)
    assert device.line_cycles(config) == 0.5
    assert DramDevice.of("hbm2").peak_bytes(config) == 32
    assert DramDevice.of("ddr4", access_bytes=128).peak_bytes(config) == 2 * 64 / 4
    # The largest of 4 between two, 16 in four, none of 32, and 48 for a row in one of 16 banks.
    assert device.activate_cycles(config) == 4 * 0.5 / (2 * 2)
    for change, cycles in (({"tFAW": 24}, 6), ({"t32AW": 160}, 5), ({"tRAS": 130}, 9),
                           ({"tRRD_S": 6}, 6)):
        changed = DramDevice.of("hbm2", **change)
        assert changed.activate_cycles(config) == cycles / 2
    assert device.wider(4).channels == 8 and not device.has_slow
    with pytest.raises(ConfigError, match="channels = 128"):
        device.wider(64)
    with pytest.raises(ConfigError, match="model = 'ddr5': must be one of ddr4"):
        DramDevice.of("ddr5")
    assert DramDevice.of("hbm2", groups=16, banks=4).banks == 4             # 64 in a channel
    with pytest.raises(ConfigError, match="banks = 8: .*at most 4 for groups = 16"):
        DramDevice.of("hbm2", groups=16, banks=8)
