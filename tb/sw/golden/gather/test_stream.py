"""The golden Weaver without rounds against values worked by hand."""

import pytest

from sw.golden.gather.stream import NONE, REGISTER, StreamModel


def decode(weaver, warp):
    """(lanes that go on, VIDs, addresses) of an answer; ``None`` if the warp has to wait."""
    answer = weaver.decode(warp)
    return answer and tuple(column.astype(int).tolist() for column in answer)


def test_rows_are_asked_for_and_works_are_full():
    """An open warp whose row was taken is told to register. Works go on across rows, in turn."""
    weaver = StreamModel(2, 4)
    weaver.register(0, 0b0111, [0, 2, 4, 0], [2, 10, 30, 0], [1, 2, 3, 0])
    weaver.register(1, 0b0001, [7, 0, 0, 0], [70, 0, 0, 0], [2, 0, 0, 0])
    assert decode(weaver, 0) == ([1] * 4, [REGISTER] * 4, [NONE] * 4)
    # Only a lane in the mask can close the warp.
    weaver.skip([NONE, 9, NONE, NONE], 0b0010, warp=0)
    assert decode(weaver, 0) == ([1] * 4, [REGISTER] * 4, [NONE] * 4)
    weaver.skip([NONE], warp=0)
    assert decode(weaver, 0) == ([1] * 4, [0, 2, 2, 4], [8, 40, 44, 120])
    assert weaver.decode_loc(0).tolist() == [2, 10, 11, 30]
    assert decode(weaver, 1) == ([1] * 4, [REGISTER] * 4, [NONE] * 4)
    assert decode(weaver, 0)[1] == [4, 4, 7, 7]
    assert weaver.decode_loc(0).tolist() == [31, 32, 70, 71]
    assert decode(weaver, 0) is None                       # warp 1 may register more
    weaver.register(1, 0b0001, [8, 0, 0, 0], [80, 0, 0, 0], [1, 0, 0, 0])
    assert decode(weaver, 0) is None                       # a work that is not full waits
    weaver.skip([NONE] * 4, warp=1)
    assert decode(weaver, 0) == ([1, 0, 0, 0], [8, NONE, NONE, NONE], [320, NONE, NONE, NONE])
    for warp in (0, 1):
        assert decode(weaver, warp) == ([1] * 4, [NONE] * 4, [NONE] * 4)
    assert weaver.decode_loc(1).tolist() == [NONE] * 4


def test_a_row_registered_anew_keeps_what_was_taken():
    weaver = StreamModel(2, 2)
    weaver.register(0, 0b11, [1, 2], [10, 20], [3, 2])     # taken at once, and partly in the output
    weaver.register(0, 0b11, [3, 4], [30, 40], [1, 1])     # waits in the table
    weaver.register(0, 0b01, [7, 0], [70, 0], [1, 0])      # replaces an entry there
    weaver.skip([NONE], warp=0)
    assert [decode(weaver, 1)[1] for _ in range(4)] == [[1, 1], [1, 2], [2, 7], [4, NONE]]


def test_a_warp_with_several_rows_is_told_once_all_were_taken():
    weaver = StreamModel(4, 1)
    weaver.register(0, 1, [1], [10], [3])                  # goes on to the output
    weaver.register(0, 1, [2], [20], [1], distance=3)      # is taken
    weaver.register(0, 1, [3], [30], [1], distance=1)
    weaver.register(1, 1, [4], [40], [1], distance=3)      # beyond the table: ignored
    assert [decode(weaver, 0)[1] for _ in range(2)] == [[1], [1]]
    assert decode(weaver, 0)[1] == [REGISTER]              # row 1 was taken as well
    weaver.skip([NONE], warp=0)
    assert [decode(weaver, 1)[1] for _ in range(4)] == [[1], [2], [3], [NONE]]


def test_rows_come_in_turn():
    weaver = StreamModel(4, 1)
    for row, vid in ((2, 20), (3, 30), (1, 10), (0, 1), (3, 31)):
        weaver.register(row, 1, [vid], [0], [1])
    for warp in range(4):
        weaver.skip([NONE], warp=warp)
    # 20 and 30 and 10 were taken on the way to the output; row 3 comes before row 0 again.
    assert [int(decode(weaver, 0)[1][0]) for _ in range(6)] == [20, 30, 10, 31, 1, NONE]


def test_skip_takes_edges_out_of_the_output():
    weaver = StreamModel(1, 4)
    weaver.register(0, 0b0111, [1, 2, 3, 0], [10, 20, 30, 0], [6, 9, 1, 0])
    weaver.skip([NONE], warp=0)
    assert decode(weaver, 0)[1] == [1] * 4
    weaver.skip([2, 2, 0, 0], mask=0b0011)                 # not handed out yet
    weaver.skip([1, 9, 9, 9], mask=0b0010)                 # left out by the mask
    weaver.skip([1])
    assert decode(weaver, 0) == ([1] * 4, [2] * 4, [80, 84, 88, 92])
    weaver.skip([2])
    assert decode(weaver, 0) == ([1, 0, 0, 0], [3, NONE, NONE, NONE], [120, NONE, NONE, NONE])
    assert weaver.skipped == 2 + 5


def test_a_warp_beyond_the_table_is_never_open():
    weaver = StreamModel(2, 2, 2)
    weaver.register(1, 0b11, [1, 2], [10, 20], [1, 1])
    assert decode(weaver, 1)[1] == [NONE] * 2
    weaver.register(0, 0b11, [0, 0], [0, 0], [0, 0])
    assert decode(weaver, 1) is None
    assert decode(weaver, 0)[1] == [REGISTER] * 2
    weaver.reset()
    assert decode(weaver, 0)[1] == [NONE] * 2


@pytest.mark.parametrize("shape", [(0, 4), (2, 0), (2, 4, 6), (2, 4, 12)])
def test_wrong_shape(shape):
    with pytest.raises(ValueError, match="must be"):
        StreamModel(*shape)


def test_rows_under_way():
    """A warp whose row is under way is asked for its next row. The row comes behind the first."""
    late, prompt = StreamModel(4, 1, under_way=2), StreamModel(4, 1)
    for weaver in (late, prompt):
        for row in range(4):
            weaver.register(row, 1, [row], [10 * row], [2])
    # The output and the current entry have row 0. Row 1 was taken, rows 2 and 3 are under way.
    assert [decode(prompt, warp)[1] for warp in (0, 1)] == [[REGISTER]] * 2
    assert decode(prompt, 2)[1] == [0]
    assert [decode(late, warp)[1] for warp in range(4)] == [[REGISTER]] * 4
    late.register(1, 1, [9], [90], [1])
    for warp in range(4):
        late.skip([NONE], warp=warp)
    assert [int(decode(late, 0)[1][0]) for _ in range(10)] == [
        0, 0, 1, 1, 2, 2, 3, 3, 9, NONE]
