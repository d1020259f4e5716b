"""The covering: every legal value of every field has an effect in some configuration.

======================  =====================================================================
completeness            test_every_value, test_a_new_value_is_covered, test_what_cannot_be
size                    test_no_more_than_needed, test_large_ones_come_once
possible runs           test_programs_fit, test_what_is_refused
======================  =====================================================================
"""

import dataclasses

import pytest

from base.errors import UserError
from checks.campaign.checks import WEIGHTS, graph_of
from checks.campaign.covering import covered_by, covering, required
from checks.campaign.random_programs import fitting_case
from checks.campaign.random_statements import memory_needed
from hw import config as configuration
from hw.config import LEGAL, HardwareConfig, Legal
from sw.compile import algorithms, schedules
from sw.graph.load import load
from sw.compile.kernels.split import SPLITS
from sw.device import Device
from tb import runner


CONFIGS = [point.config for point in covering()]


@pytest.mark.parametrize("name", sorted({field.name for field in dataclasses.fields(HardwareConfig)}
                                        - {"name", "weaver_entries", "exchange_interval",
                                           "exchange_threshold", "l1_latency", "l2_latency",
                                           "sector_bytes", "fetch_sectors"}))
def test_every_value(name):
    """Every field, also a new field, has legal values, and all of them are covered."""
    configs = CONFIGS
    if name == "l2_ways":
        configs = [config for config in CONFIGS if config.l2_bytes]
    if name == "table_latency":
        configs = [config for config in CONFIGS if config.gather != "none"]
    if name.startswith("scu_"):
        configs = [config for config in CONFIGS if config.scu]
    assert {getattr(config, name) for config in configs} == set(LEGAL[name].values)


@pytest.mark.parametrize("name", ["l1_latency", "l2_latency"])
def test_extremes_of_latencies(name):
    values = LEGAL[name].values
    assert {getattr(config, name) for config in CONFIGS} == {0, values[1], values[-1]}


def test_sectors():
    """No sectors, the smallest, and two in a line; fetched one by one, and together."""
    assert {covered_by(config)["fetch_sectors"] for config in CONFIGS} \
        == set(required()["fetch_sectors"])
    assert {covered_by(config)["sector_bytes"] for config in CONFIGS} \
        == set(required()["sector_bytes"])
    assert {0, LEGAL["sector_bytes"].values[1]} < {config.sector_bytes for config in CONFIGS}
    assert any(config.sectors == 2 for config in CONFIGS)


def test_extremes_of_the_exchange():
    """No exchange; and the least and the greatest interval and threshold of an exchange."""
    assert any(not config.exchange_interval for config in CONFIGS)
    for name in ("exchange_interval", "exchange_threshold"):
        values = [value for value in LEGAL[name].values if value]
        assert {values[0], values[-1]} == {getattr(config, name) for config in CONFIGS
                                           if config.exchanges}


def test_entries_of_the_weaver():
    """0; entries for all lanes; entries for one warp; and a number that is no power of two."""
    configs = [config for config in CONFIGS if config.gather != "none"]
    rows = {(config.weaver_entries // config.threads, config.warps) for config in configs}
    assert any(entries == 0 for entries, _ in rows)
    assert any(entries == warps > 1 for entries, warps in rows)
    assert any(entries == 1 < warps for entries, warps in rows)
    assert any(entries & (entries - 1) for entries, _ in rows)
    assert set(required()["weaver_entries"]) == {
        covered_by(config)["weaver_entries"] for config in configs
        if "weaver_entries" in covered_by(config)}


def test_points_say_what_they_are_the_first_to_have():
    found = set()
    for number, point in enumerate(covering(), 1):
        assert point.number == number and point.config.name.startswith(f"{number}: ")
        new = set(covered_by(point.config).items()) - found
        assert set(point.first) == new != set()
        found |= new
    assert len(found) == sum(map(len, required().values()))


def test_no_more_than_needed():
    """There are as many configurations as values in the longest list, or as needed for one core
    first, six times, and then for each other number."""
    assert len(CONFIGS) == max(5 + len(LEGAL["cores"].values),
                               *(len(values) for values in required().values()))
    covering.cache_clear()
    assert [point.config for point in covering()] == CONFIGS


def test_large_ones_come_once():
    assert [(c.warps, c.cores) for c in CONFIGS if c.threads == 32] == [(32, 1)]
    assert [(c.threads, c.cores) for c in CONFIGS if c.warps == 32] == [(32, 1)]
    assert [c.cores for c in CONFIGS if c.cores > 1] == list(LEGAL["cores"].values[1:])
    lanes = [c.cores * c.warps * c.threads for c in CONFIGS]
    assert sum(count > 512 for count in lanes) == 1
    # Every square shape up to the largest is compared instruction by instruction.
    assert [(c.warps, c.threads, c.trace) for c in CONFIGS[:6]] == [
        (1 << i, 1 << i, True) for i in range(6)]


def changed(monkeypatch, name, *values):
    """The covering with additional legal values of a field."""
    legal = LEGAL[name]
    monkeypatch.setitem(configuration.LEGAL, name, Legal((*legal.values, *values), legal.text))
    covering.cache_clear()
    return covering


@pytest.fixture(autouse=True)
def forget():
    yield
    covering.cache_clear()


def test_a_new_value_is_covered(monkeypatch):
    configs = [point.config for point in changed(monkeypatch, "barriers", 64, 128)()]
    assert {64, 128} <= {config.barriers for config in configs}
    configs = [point.config for point in changed(monkeypatch, "divider", "quick")()]
    assert "quick" in {config.divider for config in configs}
    assert len(configs) == len(CONFIGS)


def test_what_cannot_be(monkeypatch):
    """No configuration has room for an L2 of this many ways: this is reported, not left out."""
    with pytest.raises(AssertionError, match="l2_ways.*1048576"):
        changed(monkeypatch, "l2_ways", 1 << 20)()


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_programs_fit(config):
    assert memory_needed(config) <= config.memory_bytes
    assert any(fitting_case(config, seed) for seed in range(4))


@pytest.mark.parametrize("algorithm", algorithms.names())
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.sample(1)
def test_what_is_refused(split, algorithm):
    """Only impossible combinations of algorithm, schedule and direction are refused. A usual run
    takes every second configuration."""
    configs = CONFIGS if runner.whole else CONFIGS[::2]
    class Nothing(Exception):
        """Raised when everything was accepted and the machine is needed."""

    def machine():
        raise Nothing

    refused = {}
    for config in configs:
        graph, device = load(graph_of(config), weights=WEIGHTS), Device(config, machine)
        for schedule in schedules.names():
            for direction in schedules.make(schedule).directions(algorithms.find(algorithm)):
                try:
                    device.run(algorithm, graph, schedule=schedule, direction=direction,
                               split=split)
                except Nothing:
                    continue
                except UserError as error:
                    # GCN has two operators in a program and rows of words in local memory.
                    # Lists of edges have no room for its weights.
                    if algorithm == "gcn" and (
                            "no room for weights" in str(error)
                            or ("imem_bytes is" in str(error) and config.imem_bytes <= 4096)
                            or ("memory is full" in str(error) and config.local_bytes <= 512)):
                        continue
                    refused.setdefault(config, []).append((schedule, str(error)))
    for config, reasons in refused.items():
        for schedule, reason in reasons:
            assert (("(scu = 0)" in reason and config.scu == 0)
                    or ("gather = 'none'" in reason and config.gather == "none")
                    or ("needs a Weaver or EGHW" in reason and config.gather == "graphpeg")
                    or ("needs GraphPEG" in reason and config.gather != "graphpeg")
                    or ("cannot have split=counter" in reason and schedule == "graphpeg")
                    or ("warps of at least 2 lanes" in reason and config.threads == 1)
                    or ("warps of at least 4 lanes" in reason and config.threads < 4)
                    # These keep rows, queues or many registers of each lane in local memory.
                    or ("local memory is full" in reason
                        and config.local_bytes <= max(8192, 256 * config.warps)
                        and schedule in ("wm", "cm", "twce", "etwc", "tile"))
                    or ("vertex_ids" in reason and config.gather_reads)
                    or ("imem_bytes is 1024" in reason and config.imem_bytes == 1024)
                    # Eight elements of a lane make a byte of the kept bits.
                    or ("imem_bytes is 2048" in reason and config.threads == 1)
                    # A walk for each of three queues, and the sums of owned rows.
                    or ("imem_bytes is 4096" in reason and schedule in ("twc", "twce"))), \
                (schedule, reason)
    units = "(scu = 0)", "needs GraphPEG", "needs a Weaver", "cannot have split=counter"
    refused = {config: {schedule for schedule, reason in reasons
                        if not any(words in reason for words in units)}
               for config, reasons in refused.items()}
    everything = [config for config in configs if config.gather != "none"
                  and config.imem_bytes > 1024 and config.threads > 1]
    assert len(everything) >= len(configs) // 2
    for config in everything:
        assert refused.get(config, set()) <= {"wm", "cm", "twc", "twce", "etwc", "tile"}, \
            config.name
    assert len([config for config in everything if not refused.get(config)]) >= len(configs) // 4
