"""What the error registers say, as text."""

import pytest

from hw.isa import CAUSE_DOCS, Cause
from sim.errors import Fault


#: Core 3, lane 4, warp 5.
WHERE = 3 << 16 | 4 << 8 | 5


@pytest.mark.parametrize("cause", Cause)
def test_every_cause(cause):
    """Accesses and stacks fail in a lane. Accesses and fetches have an address, and illegal
    instructions their word."""
    fault = Fault.read(int(cause), 0x1C, 0xABC, WHERE)
    accesses = {Cause.LOAD_MISALIGNED, Cause.LOAD_ACCESS, Cause.STORE_MISALIGNED,
                Cause.STORE_ACCESS}
    lane = 4 if cause in accesses | {Cause.LANE_STACK} else None
    assert fault == Fault(cause, 3, 5, lane, 0x1C, 0xABC) and type(fault.cause) is Cause
    text = CAUSE_DOCS[cause]
    if cause in accesses | {Cause.FETCH_ACCESS}:
        text += " (address 0x00000abc)"
    elif cause == Cause.ILLEGAL:
        text += " (0x00000abc)"
    elif cause == Cause.LANES_DISAGREE:
        text = ("lanes of warp 5 disagree at this branch: lanes 2, 3, 4, 5, 7, 9, 11 differ from "
                "the lowest active lane, which would decide for all")
    place = "core 3, warp 5" + ", lane 4" * (lane is not None) + " stopped at PC 0x0000001c"
    assert fault.describe() == f"{place}: {text}"
    assert fault.describe("main+4") == f"{place}, in main+4: {text}"


@pytest.mark.parametrize("mask, words", [(1, "lane 0 differs"), (1 << 31, "lane 31 differs"),
                                         (1 | 1 << 31, "lanes 0, 31 differ")])
def test_lanes(mask, words):
    assert f": {words} from" in Fault.read(20, 0, mask, 0).describe()


def test_an_unknown_cause():
    fault = Fault.read(99, 4, 5, WHERE)
    assert fault == (99, 3, 5, None, 4, 5)
    assert fault.describe().endswith("PC 0x00000004: unknown cause 99")
