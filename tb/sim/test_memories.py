"""Memories by name, field and text: the simple one, devices, and those of presets.

====================  ==========================================================
texts                 test_texts_and_back, test_wrong_texts
a field alone         test_check_field, test_field_names
presets               test_memory_of_a_preset
====================  ==========================================================
"""

import dataclasses

import pytest

from hw.config import ConfigError, preset
from sim.dram import DramConfig
from sim.dram_device import DramDevice
from sim.memories import changes_of, check_field, dram_of, field_names, parse_memory


OF_GPU = DramDevice.of("hbm2", ratio="25/16", answer_delay=247)


@pytest.mark.parametrize("name, memory, texts", [
    ("tiny", DramConfig(), []),
    ("tiny", DramConfig(latency=7), ["latency=7"]),
    ("tiny", DramConfig(slow_bytes_per_cycle=2, slow_queue=3),
     ["slow_bytes_per_cycle=2", "slow_queue=3"]),
    ("tiny", DramDevice.of("ddr4"), ["model=ddr4"]),
    ("gpu", OF_GPU, []),
    ("gpu", DramConfig(), ["model=simple"]),
    ("gpu", DramConfig(latency=7), ["model=simple", "latency=7"]),
    ("gpu", DramDevice.of("hbm2", tRP=15), ["model=hbm2", "tRP=15"]),
])
def test_texts_and_back(name, memory, texts):
    hardware = preset(name)
    assert changes_of(memory, hardware) == texts
    assert parse_memory(texts, hardware) == memory


def test_memory_of_a_preset():
    """Copies have it as well; a model, or no hardware, begins with the model's own values."""
    copy = preset("gpu").replace(warps=8)
    assert dram_of({}, preset("gpu")) == dram_of({}, copy) == OF_GPU
    assert parse_memory(["tRP=15"], copy) == dataclasses.replace(OF_GPU, tRP=15)
    assert parse_memory(["model=simple"], copy) == dram_of({}) == DramConfig()


@pytest.mark.parametrize("texts, message", [
    (["latency"], "DRAM option 'latency' is not FIELD=VALUE"),
    (["latency=1", "latency=1"], "DRAM: latency is set twice"),
    (["latency=many"], "latency = 'many': must be an integer from 1 to 10000"),
    (["colour=1"], "DramConfig has no field 'colour'; it has model, latency, "),
    (["tRP=1"], "tRP = 1: the simple model has no such field; choose a device as well"),
    (["model=hbm2", "latency=1"],
     "DramDevice: model = 'hbm2': a device has no field 'latency'; choose model=simple as well"),
    (["model=other"], "DRAM: model = 'other': must be one of simple, ddr4, "),
    (["slow_queue=64"], "slow_queue = 64: there is no slow region"),
])
def test_wrong_texts(texts, message):
    with pytest.raises(ConfigError, match=message):
        parse_memory(texts)
    assert parse_memory([" latency = 0x10 "]) == DramConfig(latency=16)


def test_check_field():
    """A value that any model takes is taken, as if there were a slow region."""
    for name, value in (("model", "ddr4"), ("latency", 1), ("slow_latency", 3), ("tRP", 9),
                        ("ratio", 16), ("ratio", "3/4"), ("slow_bytes_per_cycle", 1024)):
        check_field(name, value)
    for name, value, message in (
            ("model", "ddr5", "must be one of simple"), ("tRP", 0, "tRP = 0: must be"),
            ("slow_latency", 0, "slow_latency = 0: must be"),
            ("ratio", 17, "DramConfig: ratio = 17: must be an integer from 1 to 16")):
        with pytest.raises(ConfigError, match=message):
            check_field(name, value)


def test_field_names():
    names = field_names()
    assert names[:2] == ["model", "latency"] and names.count("ratio") == names.count("model") == 1
    assert set(names) == {"model", *(field.name for kind in (DramConfig, DramDevice)
                                     for field in dataclasses.fields(kind))}
