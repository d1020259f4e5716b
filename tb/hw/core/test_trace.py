# amaranth: UnusedElaboratable=no
"""The trace port: its layout and its states for software, and designs without the port.

``tb/programs/test_lockstep.py`` compares the records with the simulator.
``tb/sw/device/trace/test_trace.py`` compares the records with the counters.
"""

import numpy as np
import pytest

from hw.config import ConfigError, preset
from hw.core.trace import trace_layout
from hw.stalls import WARP_STATES
from hw.top import FlatGpu
from sim.native import NativeMachine
from sim.trace import Tracer, dtypes, record_words


@pytest.mark.parametrize("warps, threads", [(1, 1), (2, 4), (4, 1), (8, 8), (32, 32)])
def test_layout(warps, threads):
    """Each part has the place that the harness reads, and each field the place that numpy reads."""
    config = preset("baseline").replace(warps=warps, threads=threads)
    layout, kinds = trace_layout(config), dtypes(config)
    header, at = 16, 32
    for part, stream in (("state", "state"), ("issue", "issue"), ("access", "access"),
                         ("write", "write")):
        field, kind = layout[part], kinds[stream]
        assert field.offset == at
        size = kind.itemsize - header - (4 if part == "state" else 0)
        assert field.width == 8 * size
        at += field.width
        if part == "state":
            assert kind.fields["state"][1] == header + 4
            continue
        for name, inner in field.shape:
            if not name.startswith("_"):
                assert inner.offset == 8 * (kind.fields[name][1] - header), name
                assert inner.width == 8 * kind.fields[name][0].itemsize, name
    assert layout.size == at == 32 * record_words(config)
    status = layout["status"].shape
    assert [status[name].offset for name in ("running", "issued", "accessed", "written",
                                             "stall")] == [0, 1, 2, 3, 8]
    assert 8 * (kinds["state"].fields["stall"][1] - header) == 8


def test_port_only_if_asked_for():
    config = preset("tiny")
    assert "trace_words" not in FlatGpu(config).signature.members
    assert "trace_words" in FlatGpu(config.replace(trace=True)).signature.members


def test_refused_without_a_port():
    config = preset("tiny")
    with pytest.raises(ConfigError, match="trace = False"):
        NativeMachine(config, trace=Tracer(lambda chunk: None))


def test_streams():
    """Only the requested records are made, and none after the end; the same without counters."""
    config = preset("tiny").replace(trace=True, counters=False)
    chunks = []
    with NativeMachine(config, trace=Tracer(chunks.append, ("issue", "state"))) as machine:
        machine.load_program([0x0000_000B])              # tmc zero
        machine.launch(0, 0)
        machine.start_trace(None)
        machine.launch(0, 0)
    records = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
    assert [len(records[name]) for name in ("issue", "access", "write")] == [2, 0, 0]
    assert records["issue"]["warp"].tolist() == [0, 1]
    assert set(records["issue"]["launch"]) == {0} and set(records["issue"]["mask"]) == {15}
    state = records["state"]
    assert state["stall"][-1] == 0xFF and state["cycle"][0] == 0
    first = state[state["cycle"] <= records["issue"]["cycle"][0]][-1]
    assert first["stall"] == WARP_STATES.index("ready")


def test_a_trace_begins_and_ends_between_launches():
    """A machine that is switched on again goes on with its trace, and not with one that ended."""
    def trace():
        return Tracer(lambda chunk: launches.append(len(chunk["issue"])), ("issue",))

    launches = []
    with NativeMachine(preset("tiny").replace(trace=True, counters=False)) as machine:
        machine.load_program([0x0000_000B])              # tmc zero
        machine.launch(0, 0)
        assert launches == []
        machine.start_trace(trace())
        for _ in range(2):
            machine.launch(0, 0)
            machine.power_on()
        assert launches == [2, 2]
        machine.start_trace(None)
        for _ in range(2):
            machine.launch(0, 0)
            machine.power_on()
        assert launches == [2, 2]
