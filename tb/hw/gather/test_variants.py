"""The table of the units that hand out edges.

=============  =====================================================================
all variants   test_every_variant: configuration, units, models and instructions name
               the same variants; a unit has the common signature
no unit        test_none
=============  =====================================================================
"""

import pytest
from amaranth.hdl import Fragment

from hw.config import LEGAL, ConfigError, HardwareConfig
from hw.gather import variants
from hw.gather.interface import unit_signature
from hw.isa import INSTRUCTIONS
from hw.operations import Unit
from sw.golden.gather import variants as models


def test_every_variant():
    names = set(LEGAL["gather"].values) - {"none"}
    assert names == set(variants.VARIANTS) == set(models.MODELS)
    rows = [row for row in INSTRUCTIONS if row.unit is Unit.GATHER]
    assert names == {name for row in rows for name in row.variants}
    assert not any(row.variants for row in INSTRUCTIONS if row not in rows)
    for name in names:
        config = HardwareConfig(gather=name)
        unit = variants.component(config)
        assert type(unit) is variants.VARIANTS[name]
        assert unit.signature.members == unit_signature(config).members
        Fragment.get(unit, None)
        assert models.model(config) is not None
        assert any(row.sets_mask for row in rows if row.exists(config))


def test_none():
    config = HardwareConfig(gather="none")
    assert models.model(config) is None
    assert not any(row.exists(config) for row in INSTRUCTIONS if row.unit is Unit.GATHER)
    with pytest.raises(ConfigError, match="gather = 'none': .* 'fsm' or 'scan' or 'stream'"):
        variants.component(config)
