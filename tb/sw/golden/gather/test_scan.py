"""The reference model of the Weaver that scans a row a step, with values worked by hand."""

from sw.golden.gather.fsm import NONE
from sw.golden.gather.scan import ScanModel


def test_a_window_of_two_rows():
    """A row registered while it is in the window is another row."""
    model = ScanModel(4, 2)
    for row in range(3):
        model.register(row, 0b11, [row, row], [10 * row, 10 * row], [1, 1])
    assert model.decode_id(0)[1].tolist() == [0, 0]
    assert model.decode_loc(0).tolist() == [0, 0]
    # Rows 1 and 2 are in the window. Row 0 comes before row 3, and row 1 is in the table again.
    model.register(1, 0b01, [9, 9], [90, 90], [1, 1])
    model.register(3, 0b11, [3, 3], [30, 30], [3, 1])
    model.register(0, 0b10, [8, 8], [80, 80], [1, 1])
    assert [model.decode_id(0)[1].tolist() for _ in range(5)] == [
        [1, 1], [2, 2], [8, 9], [3, 3], [3, 3]]
    assert model.decode(0)[2].tolist() == [NONE, NONE]


def test_rounds():
    """Before the first decode of a round, a registration replaces one of the same entry."""
    model = ScanModel(2, 2)
    for first in (5, 7):
        model.register(1, 0b11, [1, 2], [10, 20], [4, 4])
        model.register(1, 0b11, [first, 2], [50, 60], [1, 3])
        model.register(0, 0b01, [3, 3], [30, 30], [2, 2])
        lanes, vids = model.decode_id(1)
        assert vids.tolist() == [3, 3] and model.decode_loc(1).tolist() == [30, 31]
        assert model.decode_id(0)[1].tolist() == [first, 2]
        assert model.decode_loc(0).tolist() == [50, 60]
        lanes, vids, places = model.decode(1)
        assert vids.tolist() == [2, 2] and places.tolist() == [4 * 61, 4 * 62]
        lanes, vids = model.decode_id(1)
        assert vids.tolist() == [NONE, NONE] and lanes.all()


def test_skip():
    """The entry whose edges were handed out last ends; an entry of the same vertex does not."""
    model = ScanModel(2, 2)
    model.register(0, 0b11, [1, 1], [10, 20], [5, 1])
    model.register(1, 0b11, [2, 4], [30, 40], [3, 1])
    assert model.decode_id(0)[1].tolist() == [1, 1]
    model.skip([2, 1], mask=0b01)
    model.skip([2, 1], mask=0b10)
    assert model.decode_id(0)[1].tolist() == [1, 2]
    assert model.decode_loc(0).tolist() == [20, 30]
    model.skip([1, 1])                           # all of its edges have been handed out
    assert model.decode_id(0)[1].tolist() == [2, 2]
    model.skip([2, 2])
    assert model.decode_id(0)[1].tolist() == [4, NONE]
    model.register(0, 0b11, [5, 6], [10, 20], [2, 2])
    assert model.decode_id(0)[1].tolist() == [5, 5]
    model.skip([6, 6])                           # none of its edges has been handed out
    assert model.decode_id(0)[1].tolist() == [6, 6]
    assert model.skipped == 3


def test_rows_under_way():
    """Rows under way have left the table: a registration of one of them comes last."""
    model = ScanModel(4, 1, under_way=1)
    for row in range(4):
        model.register(row, 1, [row], [10 * row], [2])
    assert model.decode_id(0)[1].tolist() == [0]
    model.register(2, 1, [8], [80], [1])         # one row is under way behind the window
    model.register(3, 1, [9], [90], [1])         # still in the table: replaced
    assert [int(model.decode_id(0)[1][0]) for _ in range(8)] == [0, 1, 1, 2, 2, 8, 9, NONE]
