"""Floating-point units alone, on batches of operands.

=======================  =======================================================
single precision         test_special_values, test_random_operands
the golden model         test_the_model_of_the_instructions
every operand there is   test_a_format_of_six_bits, test_fused_of_six_bits,
                         test_roots_of_half_precision
errors                   test_a_difference_is_told, test_init_wrong_format
=======================  =======================================================
"""

import numpy as np
import pytest

from checks.campaign import floats
from checks.campaign.floats import FloatBatch, differences, drawn, modelled, softfloat
from hw.float.format import FloatFormat
from hw.operations import FloatDivOp, FloatOp, RoundingMode
from tb.seeds import draw


SIX_BITS = FloatFormat(3, 2)
FUSED = (FloatOp.MADD, FloatOp.MSUB, FloatOp.NMSUB, FloatOp.NMADD)


@pytest.fixture(scope="module", params=[False, True], ids=["short", "long"])
def batch(request):
    return FloatBatch(request.param)


def generator(*names):
    return np.random.default_rng(draw(*names).getrandbits(64))


def test_special_values(batch):
    rows = floats.special_pairs()
    assert len(rows) > 40_000
    assert not differences(rows, batch.run(rows), softfloat(rows))[:5]


def test_random_operands(batch, request):
    rows = drawn(generator("floats", request.node.callspec.id), 50_000)
    assert not differences(rows, batch.run(rows), softfloat(rows))[:5]


def test_the_model_of_the_instructions():
    rows = drawn(generator("model of floats"), 30_000)
    assert not differences(rows, modelled(rows), softfloat(rows))[:5]


def test_a_format_of_six_bits():
    """Every operand of every operation with up to two, in every rounding mode."""
    rows = floats.exhaustive(SIX_BITS, [op for op in floats.OPERATIONS
                                        if op not in FUSED and op is not FloatOp.CLASS])
    assert not differences(rows, FloatBatch(True, SIX_BITS).run(rows), modelled(rows, SIX_BITS),
                           SIX_BITS)[:5]


@pytest.mark.full
@pytest.mark.parametrize("mode", floats.MODES)
def test_fused_of_six_bits(mode):
    """Every three operands of a fused multiplication and addition."""
    rows = floats.exhaustive(SIX_BITS, [FloatOp.MADD], [mode])
    assert not differences(rows, FloatBatch(False, SIX_BITS).run(rows), modelled(rows, SIX_BITS),
                           SIX_BITS)[:5]


@pytest.mark.full
@pytest.mark.full
def test_roots_of_half_precision():
    """Every square root of 16 bits."""
    half = FloatFormat(5, 10)
    rows = floats.exhaustive(half, [FloatDivOp.SQRT], [RoundingMode.NEAREST])
    assert not differences(rows, FloatBatch(False, half).run(rows), modelled(rows, half), half)[:5]


def test_a_difference_is_told():
    rows = drawn(generator("told"), 10)
    wrong = modelled(rows)
    wrong[3, 0] ^= 1
    told, = differences(rows, wrong, modelled(rows))
    assert RoundingMode(int(rows[3]["mode"])).name in told


@pytest.mark.parametrize("sizes", [(2, 5), (4, 1)])
def test_init_wrong_format(sizes):
    with pytest.raises(ValueError, match=rf"{sizes[0]} exponent bits and {sizes[1]} fraction bits"):
        FloatFormat(*sizes)
