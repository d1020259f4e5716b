"""The Weaver's promise, bounded: every run of a few cycles of a Weaver of 2 warps x 2 lanes."""

import pytest

from hw.config import HardwareConfig
from tb.formal.prove import prove, unavailable
from tb.formal.weaver import WeaverPromise


pytestmark = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))


def test_promise():
    prove(WeaverPromise(HardwareConfig(warps=2, threads=2), longest_wait=30), depth=9)
