"""The golden Weaver against SparseWeaver's own example, and against values worked by hand from the
paper's description. Entries come in the order of warps and lanes, edges of an entry in rising
order. Every lane is filled while there is work; other lanes read -1."""

import pytest

from sw.golden.gather.fsm import WeaverModel


NO = 0xFFFF_FFFF


def decode(weaver, warp):
    """(lanes that go on, VIDs, EIDs) of the next work."""
    mask, vids = weaver.decode_id(warp)
    return [int(lane) for lane in mask], vids.tolist(), weaver.decode_loc(warp).tolist()


def test_example_of_the_paper():
    """Figure 4.6: (0, 2, 1), (2, 10, 2) and (4, 30, 5) fill (0, 2), (2, 10), (2, 11), (4, 30)."""
    weaver = WeaverModel(2, 4)
    weaver.register(0, 0b0111, [0, 2, 4, 0], [2, 10, 30, 0], [1, 2, 5, 0])
    assert decode(weaver, 1) == ([1] * 4, [0, 2, 2, 4], [2, 10, 11, 30])
    assert decode(weaver, 0) == ([1] * 4, [4] * 4, [31, 32, 33, 34])
    assert weaver.decode_loc(1).tolist() == [2, 10, 11, 30]
    for warp in (0, 1):
        assert decode(weaver, warp) == ([1] * 4, [NO] * 4, [NO] * 4)


def test_order_is_that_of_warps_and_lanes():
    """The order of registration does not matter. Entries without edges are left out."""
    weaver = WeaverModel(3, 2)
    weaver.register(2, 0b11, [50, 60], [500, 600], [1, 1])
    weaver.register(0, 0b10, [10, 20], [100, 200], [9, 2])
    weaver.register(1, 0b11, [30, 40], [300, 400], [0, 1])
    assert decode(weaver, 0) == ([1, 1], [20, 20], [200, 201])
    assert decode(weaver, 1) == ([1, 1], [40, 50], [400, 500])
    assert decode(weaver, 2) == ([1, 0], [60, NO], [600, NO])
    assert decode(weaver, 2) == ([1, 1], [NO, NO], [NO, NO])


def test_a_mask_may_be_one_bool_a_lane():
    weaver = WeaverModel(1, 3)
    weaver.register(0, [True, False, True], [1, 2, 3], [10, 20, 30], [1, 1, 1])
    assert decode(weaver, 0) == ([1, 1, 0], [1, 3, NO], [10, 30, NO])


def test_positions_wrap():
    weaver = WeaverModel(1, 4)
    weaver.register(0, 1, [7, 0, 0, 0], [0xFFFF_FFFE, 0, 0, 0], [6, 0, 0, 0])
    assert decode(weaver, 0) == ([1] * 4, [7] * 4, [0xFFFF_FFFE, 0xFFFF_FFFF, 0, 1])
    assert decode(weaver, 0) == ([1, 1, 0, 0], [7, 7, NO, NO], [2, 3, NO, NO])


def test_decode_gives_four_times_the_positions():
    weaver = WeaverModel(2, 4)
    weaver.register(0, 0b0011, [7, NO, 0, 0], [0xBFFF_FFFE, 0x3FFF_FFFF, 0, 0], [5, 1, 0, 0])
    lanes, vids, places = weaver.decode(1)
    assert lanes.tolist() == [True] * 4 and vids.tolist() == [7] * 4
    assert places.tolist() == [0xFFFF_FFF8, 0xFFFF_FFFC, 0, 4]
    assert weaver.decode_loc(1).tolist() == [0xBFFF_FFFE, 0xBFFF_FFFF, 0xC000_0000, 0xC000_0001]
    # A VID of -1 is one like any other.
    lanes, vids, places = weaver.decode(0)
    assert lanes.tolist() == [True, True, False, False]
    assert vids.tolist() == [7, NO, NO, NO] and places.tolist() == [8, 0xFFFF_FFFC, NO, NO]
    lanes, vids, places = weaver.decode(0)
    assert lanes.tolist() == [True] * 4 and vids.tolist() == places.tolist() == [NO] * 4


def test_skip():
    """The current entry alone ends, and only if a lane of the mask names it."""
    weaver = WeaverModel(1, 2)
    weaver.register(0, 0b11, [1, 2], [10, 20], [7, 4])
    assert decode(weaver, 0) == ([1, 1], [1, 1], [10, 11])
    weaver.skip([2, 3])
    weaver.skip([1, 2], mask=0b10)
    assert decode(weaver, 0) == ([1, 1], [1, 1], [12, 13])
    weaver.skip([9, 1])
    assert decode(weaver, 0) == ([1, 1], [2, 2], [20, 21])
    weaver.skip([2, 9], mask=0b01)
    assert decode(weaver, 0) == ([1, 1], [NO, NO], [NO, NO])
    assert weaver.skipped == 3 + 2


def test_a_skip_does_not_reach_entries_that_are_not_loaded():
    weaver = WeaverModel(1, 2)
    weaver.register(0, 0b11, [1, 1], [10, 20], [3, 2])
    assert decode(weaver, 0) == ([1, 1], [1, 1], [10, 11])
    weaver.skip([1, 1])
    assert decode(weaver, 0) == ([1, 1], [1, 1], [20, 21])


def test_registrations_are_replaced_until_they_are_loaded():
    weaver = WeaverModel(2, 2)
    weaver.register(0, 0b11, [1, 2], [10, 20], [2, 2])
    weaver.register(0, 0b10, [0, 3], [0, 30], [0, 1])       # replaces vertex 2
    assert decode(weaver, 0) == ([1, 1], [1, 1], [10, 11])
    weaver.register(0, 0b01, [4, 0], [40, 0], [2, 0])       # comes after vertex 3, which is taken
    assert decode(weaver, 0) == ([1, 1], [3, 4], [30, 40])
    weaver.register(0, 0b01, [5, 0], [50, 0], [2, 0])
    weaver.register(0, 0b01, [5, 0], [50, 0], [0, 0])       # no edges after all
    weaver.register(1, 0b01, [6, 0], [60, 0], [1, 0])
    assert decode(weaver, 1) == ([1, 1], [4, 6], [41, 60])


def test_a_row_written_while_it_is_scanned_drops_what_is_not_loaded():
    weaver = WeaverModel(2, 2)
    weaver.register(0, 0b11, [1, 2], [10, 20], [2, 2])
    weaver.register(1, 0b01, [3, 0], [30, 0], [2, 0])
    assert decode(weaver, 0) == ([1, 1], [1, 1], [10, 11])
    weaver.register(0, 0b10, [0, 4], [0, 40], [0, 2])
    assert decode(weaver, 0) == ([1, 1], [4, 4], [40, 41])
    assert decode(weaver, 0) == ([1, 1], [3, 3], [30, 31])


def test_warps_beyond_the_table_cannot_register():
    weaver = WeaverModel(2, 2, entries=2)
    weaver.register(1, 0b11, [1, 1], [10, 10], [1, 1])
    weaver.register(0, 0b01, [2, 0], [20, 0], [1, 0])
    assert decode(weaver, 1) == ([1, 0], [2, NO], [20, NO])


def test_a_launch_forgets_everything():
    weaver = WeaverModel(1, 2)
    weaver.register(0, 0b11, [1, 2], [10, 20], [5, 5])
    decode(weaver, 0)
    weaver.reset()
    assert decode(weaver, 0) == ([1, 1], [NO, NO], [NO, NO])
    weaver.register(0, 0b10, [0, 3], [0, 30], [0, 1])
    assert decode(weaver, 0) == ([1, 0], [3, NO], [30, NO])


@pytest.mark.parametrize("shape, message", [
    ((0, 4), "warps must be at least 1, not 0"), ((2, 0), "threads must be at least 1, not 0"),
    ((2, 4, 6), "multiple of threads \\(4\\)"), ((2, 4, 12), "at most warps x threads \\(8\\)")])
def test_init_wrong_shape(shape, message):
    with pytest.raises(ValueError, match=message):
        WeaverModel(*shape)
