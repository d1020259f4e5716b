"""The table of the units that hand out edges.

=============  =====================================================================
all variants   test_every_variant: configuration, records and instructions name the
               same units; a unit has the common signature, and its settings are
               fields
no unit        test_none
=============  =====================================================================
"""

import dataclasses

import pytest
from amaranth.hdl import Fragment

from hw.config import LEGAL, ConfigError, HardwareConfig
from hw.gather.interface import unit_signature
from hw.gather.variants import VARIANTS, component
from hw.isa import INSTRUCTIONS
from hw.operations import Unit
from sw.golden.gather import variants as models


def test_every_variant():
    names = set(LEGAL["gather"].values) - {"none"}
    assert names == set(VARIANTS)
    rows = [row for row in INSTRUCTIONS if row.unit is Unit.GATHER]
    assert names == {name for row in rows for name in row.variants}
    assert not any(row.variants for row in INSTRUCTIONS if row not in rows)
    fields = {field.name for field in dataclasses.fields(HardwareConfig)}
    for name, record in VARIANTS.items():
        config = HardwareConfig(gather=name)
        assert config.unit is record and record.name == name
        unit = component(config)
        assert type(unit).__name__ == record.component
        assert unit.signature.members == unit_signature(config).members
        Fragment.get(unit, None)
        assert models.model(config) is not None
        assert any(row.sets_mask for row in rows if row.exists(config))
        assert {row.name for row in rows if row.exists(config)} \
            == {row.name for row in record.instructions}
        assert fields.issuperset(record.settings)


def test_none():
    config = HardwareConfig(gather="none")
    assert models.model(config) is None and models.follower(config) is None
    assert not any(row.exists(config) for row in INSTRUCTIONS if row.unit is Unit.GATHER)
    with pytest.raises(ConfigError, match="gather = 'none': .* 'fsm' or 'scan' or 'stream'"):
        component(config)
