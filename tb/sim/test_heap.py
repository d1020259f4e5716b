"""The memory that a module of WebAssembly hands out (sim/harness/heap.h), under wasmtime.

====================  ==============================================================
blocks                test_random, test_zeros
the module's memory   test_same_again, test_no_room, test_end_of_the_addresses
====================  ==============================================================
"""

import random

import pytest
import wasmtime

from sim import wasm


_EXPORTS = ("malloc", "calloc", "aligned_alloc", "free", "_initialize")

_SOURCE = """
#include "heap.h"
"""


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    work = tmp_path_factory.mktemp("heap")
    source = work / "heap_alone.cpp"
    source.write_text(_SOURCE)
    return wasm.linked(work, [source], [], _EXPORTS, 1 << 21)


class Heap:
    """A fresh module. ``bytes`` is the size of its memory."""

    def __init__(self, binary, limit=1 << 26):
        self._store = wasmtime.Store()
        self._store.set_limits(memory_size=limit)
        module = wasmtime.Module(self._store.engine, binary)
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self._exports["_initialize"](self._store)

    def __getattr__(self, name):
        return lambda *values: self._exports[name](self._store, *values)

    @property
    def bytes(self):
        return self._exports["memory"].data_len(self._store)

    def fill(self, place, count, value):
        self._exports["memory"].write(self._store, bytes([value]) * count, place)

    def read(self, place, count):
        return bytes(self._exports["memory"].read(self._store, place, place + count))


def test_random(binary):
    """Blocks are where they may be, do not overlap, and keep what is written."""
    rng, heap, live = random.Random(1), Heap(binary), {}
    for turn in range(2000):
        if live and rng.random() < 0.48:
            place = rng.choice(list(live))
            count, value = live.pop(place)
            assert heap.read(place, count) == bytes([value]) * count
            heap.free(place)
            continue
        count = rng.choice((0, 1, 15, 16, 17, 64, 1000, rng.randrange(1, 70_000)))
        alignment = rng.choice((1, 16, 32, 128))
        place = heap.malloc(count) if alignment == 1 else heap.aligned_alloc(alignment, count)
        assert place and place % max(16, alignment) == 0
        assert all(place + count <= other or other + size <= place
                   for other, (size, _) in live.items()) and place not in live
        heap.fill(place, count, turn % 256)
        live[place] = count, turn % 256
    heap.free(0)                                 # which does nothing


def test_zeros(binary):
    """Memory of ``calloc`` is 0 although it was used before."""
    heap = Heap(binary)
    place = heap.malloc(1000)
    heap.fill(place, 1000, 255)
    heap.free(place)
    again = heap.calloc(250, 4)
    assert again == place and heap.read(again, 1000) == bytes(1000)


def test_same_again(binary):
    """Freed blocks are handed out again, so equal turns take no more memory."""
    heap, sizes = Heap(binary), [100_000, 64, 1 << 20, 5_000]
    for turn in range(50):
        places = [heap.malloc(size) for size in sizes]
        for place in places:
            heap.free(place)
        if turn == 0:
            before = heap.bytes
    assert heap.bytes == before


def test_no_room(binary):
    """The memory grows if need be. Without room, a null pointer comes and the rest goes on."""
    heap = Heap(binary, limit=1 << 23)
    before = heap.bytes
    place = heap.malloc(1 << 22)
    assert place and heap.bytes > before
    heap.fill(place, 1 << 22, 7)
    assert heap.malloc(1 << 23) == 0
    assert heap.malloc(0xFFFFFFF0) == heap.malloc(0xFFFFFFFF) == 0
    assert heap.calloc(1 << 16, 1 << 16) == 0 and heap.calloc(1 << 22, 2) == 0
    assert heap.malloc(100) and heap.read(place, 1 << 22) == b"\7" * (1 << 22)


def test_end_of_the_addresses(binary):
    """No block ends behind the last address, or at the first that is none."""
    heap = Heap(binary, limit=1 << 32)
    start = heap.malloc(64) + 64 + 16            # of the next block
    assert heap.malloc((1 << 32) - start) == heap.malloc((1 << 32) - start - 16) == 0
