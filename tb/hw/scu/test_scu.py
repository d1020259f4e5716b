# amaranth: UnusedElaboratable=no
"""The whole Stream Compaction Unit: random operations against the golden model, and its promises.

The tests of each feature:

====================================  ==============================================================
all operations, outputs, errors       random_operations, on lines of 16 and 64 bytes
STREAM                                random_streams, wrong_streams, streams_by_rows, throughput
a second start                        a_start_while_busy_is_refused
reset                                 reset_in_the_middle
elements a cycle, lines a cycle       throughput
cycles of the shortest operation      latency
====================================  ==============================================================
"""

import pytest

from hw.scu.scu import Scu
from tb import runner
from tb.hw.scu.configs import scu_config


@pytest.mark.parametrize("width, line_bytes", [(1, 64), (4, 16), (4, 64)])
@pytest.mark.sample(1)
def test_scu(simulator, width, line_bytes):
    settings = {"line_bytes": line_bytes, "scu": width}
    # Icarus takes long over wide lines.
    slow = simulator == "icarus" and line_bytes > 16
    runner.run_bench(Scu(scu_config(**settings)), "scu", "tb.hw.scu.bench_scu",
                     simulator=simulator, seed=width + line_bytes,
                     parameters=settings | {"operations": 15 if slow else 50},
                     tests=["random_operations", "random_streams", "wrong_streams",
                            "reset_in_the_middle"] if slow else None)
