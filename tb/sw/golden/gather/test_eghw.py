"""The golden unit that generates edges against values worked by hand."""

import pytest

from hw.operations import NONE, GatherSetting
from sw.golden.gather.eghw import EghwFollower, EghwModel


#: IDs 0x100, 0x104, 0x108 have their offsets at 0x200: edges 100; 101 to 103; none. The words at
#: edge e and behind it are 7 e and 9 e.
_OFFSETS = {0x200: 100, 0x204: 101, 0x208: 104, 0x20C: 104}


class _Memory:
    def __init__(self, local):
        self.words = dict(_OFFSETS) | local
        self.words |= {4 * edge: 7 * edge for edge in range(100, 104)}
        self.words |= {4 * edge + 0x1000: 9 * edge for edge in range(100, 104)}

    def load_word(self, address, lane=0):
        return self.words[address]

    def store_word(self, address, word, lane=0):
        self.words[address] = word


def unit(kind=EghwModel, *, weights=0, warps=2, threads=2, **local):
    model = kind(warps, threads)
    model.memory = _Memory({int(place[1:], 16): word for place, word in local.items()})
    for setting, value in ((GatherSetting.OFFSETS, 0x100), (GatherSetting.WEIGHTS, weights),
                           (GatherSetting.IDS, 0x8000), (GatherSetting.RECORDS, 0x9000)):
        model.set(setting, value)
    return model


def answer(model, warp):
    lanes, ids = model.decode_id(warp)
    return lanes.astype(int).tolist(), ids.tolist()


def test_records():
    """Rows of IDs become works, whose records lie in the warp's row."""
    model = unit(x8000=0x100, x8004=NONE, x8008=0x108, x800C=0x104)
    model.register(1, 0b11)
    model.register(0, 0b11)
    assert answer(model, 0) == ([1, 1], [0x104, 0x104])
    assert answer(model, 1) == ([1, 1], [0x104, 0x100])
    words = model.memory.words
    assert [words[0x9000 + 4 * place] for place in range(4)] == [707, 714, 721, 700]
    assert answer(model, 0) == ([1, 1], [NONE, NONE])


def test_the_lowest_row_that_is_registered_comes_next():
    """Rows 3, 2 and 1 are read ahead: their entries are in hand, given out next, and behind."""
    model = unit(warps=4, threads=1, x8000=0x104, x8004=0x100, x8008=0x100, x800C=0x100)
    for row in (3, 2, 1, 0):
        model.register(row, 1)
    assert [answer(model, 0)[1][0] for _ in range(7)] == [0x100, 0x100, 0x100, 0x104, 0x104,
                                                          0x104, NONE]


def test_weights():
    """With weights a warp has two rows of records."""
    model = unit(weights=0x1000, x8000=0x104, x8004=0x104)
    model.register(0, 0b01)
    assert answer(model, 1) == ([1, 1], [0x104, 0x104])
    words = model.memory.words
    assert [words[0x9010 + 4 * place] for place in range(4)] == [707, 714, 909, 918]
    assert answer(model, 0) == ([1, 0], [0x104, NONE])
    assert (words[0x9000], words[0x9008]) == (721, 927)


def test_skip():
    """A SKIP ends the entry being handed out, if a lane that counts names it."""
    model = unit(x8000=0x104, x8004=0x100)
    model.register(0, 0b11)
    model.skip([0x100, 0x104], mask=0b01)
    assert answer(model, 0)[1] == [0x104, 0x104]
    model.skip([0x100, 0x104])
    assert answer(model, 0) == ([1, 0], [0x100, NONE])


def test_places_within_a_row_are_ignored():
    model = unit(x8000=0x104)
    model.set(GatherSetting.RECORDS, 0x9004)
    model.register(0, 1)
    answer(model, 0)
    assert model.memory.words[0x9000] == 707


def test_reset_and_rows_beyond():
    model = unit(x8000=0x104)
    model.register(0, 1)
    model.register(1, 1, distance=1)
    model.reset()
    assert answer(model, 0) == ([1, 1], [NONE, NONE])


def test_follower_takes_what_the_hardware_gave():
    """Entries may come in any order; what is left is known, and so is what is too much."""
    model = unit(EghwFollower, x8000=0x100, x8004=0x104)
    model.register(0, 0b11)
    assert model.left == 4
    ids = model.decode_id(1)[1].copy()
    ids[:] = 0x104, 0x100
    assert model.take(1, ids) == []
    assert [model.memory.words[place] for place in (0x9008, 0x900C)] == [707, 700]
    ids[:] = 0x104, 0x100
    assert model.take(0, ids) == [0x100] and model.memory.words[0x9000] == 714
    assert model.left == 1


def test_follower_forgets_a_skipped_entry_when_its_vertex_comes_again():
    model = unit(EghwFollower, x8000=0x104)
    model.register(0, 1)
    ids = model.decode_id(0)[1]
    ids[:] = 0x104, NONE
    model.take(0, ids)
    model.skip(ids, 0b01)
    assert model.left == 0
    model.register(0, 1)
    assert model.left == 3 and model.take(0, ids) == []
    assert model.memory.words[0x9000] == 707


def test_wrong_shapes():
    with pytest.raises(ValueError, match="entries must be a multiple"):
        EghwModel(2, 4, 6)
