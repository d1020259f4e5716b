"""The Weaver's promise, proved by induction: for runs of any length, in small shapes.

4 warps x 2 lanes and 2 x 4 can be shown likewise; they take one to three minutes.
"""

import pytest

from hw.config import HardwareConfig
from tb.formal import weaver
from tb.formal.prove import Refuted, prove, unavailable
from tb.formal.weaver_invariants import add_invariants


pytestmark = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))


@pytest.mark.parametrize("warps, threads", [(2, 1), (2, 2)])
def test_promise(tmp_path, warps, threads):
    config = HardwareConfig(warps=warps, threads=threads)
    prove(weaver.WeaverPromise(config, invariants=add_invariants), tmp_path, depth=1,
          mode="prove")


def test_a_wrong_answer_is_refuted(tmp_path, monkeypatch):
    """The harness is not empty: another answer of lanes without work is told from the right one."""
    monkeypatch.setattr(weaver, "NONE", 0)
    with pytest.raises(Refuted, match="failed assertion"):
        prove(weaver.WeaverPromise(HardwareConfig(warps=2, threads=1)), tmp_path, depth=5)
