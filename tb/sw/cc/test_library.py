"""``graphloom.h``: what kernels ask the hardware for.

========================  ========================================================================
numbers, votes, shuffles  test_lanes
atomics, spawn            test_spawn
assertions, printf        test_assert
the wheel's libraries     test_a_wheel_that_fails
========================  ========================================================================

Barriers, the scratchpad and the Weaver are in the kernels of ``examples/c``.
"""

import pathlib

import numpy as np
import pytest

import graphloom
from base.errors import RunError
from hw.config import preset
from sim.toolchain import ToolError
from sw.cc.runtime import ZigLibrary
from sw.device import Device


TINY = preset("tiny").replace(imem_bytes=65536)

TEXT = """
#include <graphloom.h>
void lanes(unsigned *out) {
    unsigned thread = graphloom_thread(), odd = thread & 1, *own = out + 8 * thread;
    if (odd) own[0] = graphloom_ballot(graphloom_lane() == 3);
    else own[0] = graphloom_ballot(graphloom_lane() == 0);
    own[1] = graphloom_all(thread < 4) | graphloom_any(thread == 5) << 1
        | graphloom_agree(thread & 4) << 2 | graphloom_agree(odd) << 3;
    own[2] = graphloom_shuffle_up(thread, 1);
    own[3] = graphloom_shuffle_down(thread, 2);
    own[4] = graphloom_shuffle_xor(thread, 3);
    own[5] = graphloom_shuffle(thread, 2);
    own[6] = graphloom_lanes() + 16 * graphloom_warps() + 256 * graphloom_cores();
    own[7] = graphloom_warp() + 16 * graphloom_core();
}
struct sums { int add, max, min, last; unsigned or; };
static void each(unsigned index, void *argument) {
    struct sums *sums = argument;
    graphloom_atomic_add(&sums->add, index);
    graphloom_atomic_max(&sums->max, index);
    graphloom_atomic_min(&sums->min, -(int)index);
    graphloom_atomic_or(&sums->or, 1 << index);
    if (index == 5) graphloom_atomic_replace(&sums->last, 7, 9);
}
void spawn(unsigned n, struct sums *sums) { graphloom_spawn(n, each, sums); }
void check(unsigned limit) { graphloom_assert(graphloom_thread() < limit); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    file = tmp_path_factory.mktemp("c") / "library.c"
    file.write_text(TEXT)
    return graphloom.compile(file, config=TINY)


def test_lanes(program):
    out = np.zeros((8, 8), np.uint32)
    with Device.functional(TINY) as device:
        device.launch(program.lanes, out=out)
    for thread in range(8):
        warp, lane = divmod(thread, 4)
        assert out[thread].tolist() == [
            8 if thread & 1 else 1, (not warp) | warp << 1 | 1 << 2,
            thread - (lane > 0), thread + 2 * (lane < 2), 4 * warp + (lane ^ 3), 4 * warp + 2,
            4 + 32 + 256, warp]


def test_spawn(program):
    sums = np.array([0, 0, 0, 7, 0], np.int32)
    with Device.functional(TINY) as device:
        device.launch(program.spawn, n=21, sums=sums)
    assert sums.tolist() == [210, 20, -20, 9, (1 << 21) - 1]


def test_assert(program):
    for make in (Device.functional, Device.simulate):
        with make(preset("tiny") if make is Device.simulate else TINY) as device:
            if make is Device.functional:
                assert device.launch(program.check, limit=8).text == ""
            with pytest.raises(RunError, match=r"check: core 0, warp 1 stopped at PC .*EBREAK.*; "
                               r"it has printed: .*library.c:\d+: core 0, warp 1, lane 2: not "
                               r"graphloom_thread\(\) < limit"):
                device.launch(program.check, limit=6)


def test_a_wheel_that_fails(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))
    library = ZigLibrary(pathlib.Path("/bin/false"), "0", "c", "+m+a", small=False)
    with pytest.raises(ToolError, match="library c of ziglang cannot be compiled: exit code 1"):
        library.unit({"strlen"}, set())
