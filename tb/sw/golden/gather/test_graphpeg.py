"""The golden model of GraphPEG against values worked by hand."""

import numpy as np
import pytest

from hw.isa import UNMAPPED
from hw.operations import NONE, EdgeTest, GatherSetting, InputMode
from sw.golden.gather.graphpeg import GraphpegFollower, GraphpegModel


#: Vertices 0x100, 0x104, 0x108 have their offsets at 0x200: edges 100; 101 to 103; none. The words
#: at edge e and 0x1000 behind it are 7 e and 9 e. The list at 0x300 has all three vertices.
_WORDS = {0x200: 100, 0x204: 101, 0x208: 104, 0x20C: 104, 0x300: 0x104, 0x304: 0x108, 0x308: 0x100}


class _Memory:
    def __init__(self):
        self.words = dict(_WORDS)
        self.words |= {4 * edge: 7 * edge for edge in range(100, 104)}
        self.words |= {4 * edge + 0x1000: 9 * edge for edge in range(100, 104)}

    def load_word(self, address, lane=0):
        return self.words[address]

    def store_word(self, address, word, lane=0):
        self.words[address] = word


def unit(kind=GraphpegModel, *, weights=0, warps=2, threads=2, limit=4):
    model = kind(warps, threads)
    model.memory = _Memory()
    for setting, value in ((GatherSetting.OFFSETS, 0x100), (GatherSetting.WEIGHTS, weights),
                           (GatherSetting.INPUT, 0x300), (GatherSetting.OUTPUT, 0x800),
                           (GatherSetting.LIMIT, limit), (GatherSetting.COUNT, 0x900)):
        model.set(setting, value)
    return model


def array(values):
    return np.array(values, np.uint32)


def start(model, count, mode=0):
    model.set(GatherSetting.START, count | mode)


def lanes(answer):
    mask, words = answer
    return mask.astype(int).tolist(), words.tolist()


def test_edges_of_a_list():
    """Vertices give their edges in the order of the list. The last answer has what is left; then
    all lanes go on without an edge."""
    model = unit()
    start(model, 3)
    assert model.left == 4
    assert lanes(model.decode_id(1)) == ([1, 1], [0x104, 0x104])
    assert lanes(model.decode_id(0)) == ([1, 1], [0x104, 0x100])
    assert model.neighbor(1).tolist() == [707, 714]
    assert model.neighbor(0).tolist() == [721, 700]
    assert lanes(model.decode_id(0)) == ([1, 1], [NONE, NONE])
    assert model.left == 0


def test_edges_with_their_neighbours():
    model = unit(threads=3)
    assert model.decode(0) is None
    start(model, 3)
    model.decode_id(1)
    mask, bases, neighbors = model.decode(0)
    assert (mask.astype(int).tolist(), bases.tolist()) == ([1, 0, 0], [0x100, NONE, NONE])
    assert neighbors.tolist() == [700, NONE, NONE]
    assert model.decode(0)[2].tolist() == [NONE] * 3


def test_an_answer_that_is_not_full():
    model = unit(threads=3)
    start(model, 3)
    model.decode_id(0)
    assert lanes(model.decode_id(0)) == ([1, 0, 0], [0x100, NONE, NONE])
    assert int(model.neighbor(0)[0]) == 700


def test_weights():
    model = unit(weights=0x1000)
    start(model, 1)
    model.decode_id(0)
    assert model.weight(0).tolist() == [909, 918]
    assert unit().weight(0).tolist() == [0, 0]


def test_a_range_of_vertices():
    model = unit()
    model.set(GatherSetting.INPUT, 0x100)
    start(model, 2, InputMode.RANGE)
    assert lanes(model.decode_id(0)) == ([1, 1], [0x100, 0x104])


@pytest.mark.parametrize("mode, first", [(InputMode.LIST, [0x104, 0x108]),
                                         (InputMode.LIST | InputMode.RANGE, [0x300, 0x304])])
def test_vertices_of_a_list(mode, first):
    model = unit()
    start(model, 3, mode)
    assert lanes(model.decode_id(0)) == ([1, 1], [NONE, NONE])
    assert lanes(model.pop_vertices(0)) == ([1, 1], first)
    assert model.left == 1
    assert lanes(model.pop_vertices(1))[0] == [1, 0]
    assert lanes(model.pop_vertices(1)) == ([1, 1], [NONE, NONE])


def test_a_pop_before_the_start_waits():
    model = unit()
    assert model.decode_id(0) is None and model.pop_vertices(0) is None
    start(model, 0)
    assert lanes(model.decode_id(0)) == ([1, 1], [NONE, NONE])
    assert lanes(model.pop_vertices(0)) == ([1, 1], [NONE, NONE])


def test_another_start():
    """A launch may start the unit again. A reset forgets everything."""
    model = unit()
    start(model, 1)
    start(model, 1)
    assert model.left == 6
    model.reset()
    assert model.left == 0 and model.decode_id(0) is None


def test_the_output_list():
    model = unit()
    model.push(array([5]))
    model.push(array([6, 7]))
    stored = model.memory.words
    assert [stored[0x800 + 4 * place] for place in range(3)] == [5, 6, 7]
    assert model.pushed == 3 and 0x900 not in stored
    model.set(GatherSetting.CLOSE, 0)
    assert stored[0x900] == 3 and model.pushed == 0
    model.push(array([8]))
    assert stored[0x800] == 8


def test_a_list_begins_at_any_word():
    model = unit()
    model.set(GatherSetting.OUTPUT, 0x80C)
    model.push(array([5, 6]))
    assert (model.memory.words[0x80C], model.memory.words[0x810]) == (5, 6)


def test_a_push_beyond_the_limit_is_a_store_nowhere():
    model = unit(limit=1)
    model.push(array([5, 6]))
    assert model.memory.words[0x800] == 5 and model.memory.words[UNMAPPED] == 6
    assert 0x804 not in model.memory.words


def test_follower_takes_what_the_hardware_gave():
    """Edges may come in any order; what is left is known, and so is what is too much."""
    model = unit(GraphpegFollower, weights=0x1000)
    start(model, 3)
    assert lanes(model.decode_id(1)) == ([1, 1], [NONE, NONE])
    assert model.take(1, array([0x100, 0x104])) == [] and model.left == 2
    assert model.take_part(1, "neighbor", array([700, 721]), [0, 1]) == []
    assert model.take_part(1, "weight", array([900, 927]), [0, 1]) == []
    assert model.take(0, array([0x100, 0x104])) == [0x100] and model.left == 1
    assert model.take_part(0, "neighbor", array([1, 721]), [1]) == [1]


def test_follower_compares_pairs():
    """The neighbour of one edge and the weight of another are no edge."""
    model = unit(GraphpegFollower, weights=0x1000)
    start(model, 3)
    model.take(0, array([0x104, 0x104]))
    assert model.take_part(0, "neighbor", array([707, 714]), [0, 1]) == []
    assert model.take_part(0, "neighbor", array([707, 707]), [0, 1]) == [1]
    assert model.take_part(0, "weight", array([918, 918]), [0, 1]) == [0, 1]


def test_follower_believes_weights_that_are_not_there():
    """Without weights, a weight that the hardware gives is undefined."""
    model = unit(GraphpegFollower)
    start(model, 3)
    model.take(0, array([0x104, 0x104]))
    assert model.take_part(0, "weight", array([5, 6]), [0, 1]) == []
    assert model.take_part(0, "neighbor", array([707, 714]), [0, 1]) == []


def test_follower_compares_answers_to_early_pops_at_the_start():
    model = unit(GraphpegFollower)
    assert model.take(0, array([0x104, 0x104])) == []
    assert model.take(1, array([0x100, 0x100])) == []
    start(model, 3)
    assert model.left == 1
    assert model.take_part(0, "neighbor", array([721, 707]), [0, 1]) == []
    assert model.take(0, array([0x104, NONE])) == [0x100] and model.left == 0
    start(model, 3)                              # of its edges none was handed out
    assert model.left == 4


def test_follower_takes_vertices_in_their_order():
    model = unit(GraphpegFollower)
    start(model, 3, InputMode.LIST)
    assert model.take_vertices(0, array([0x104, 0x100])) == [0x100]
    assert model.left == 1 and model.take_vertices(0, array([0x100, NONE])) == []


def test_wrong_shapes():
    with pytest.raises(ValueError, match="warps must be at least 1, not 0"):
        GraphpegModel(0, 2)
    with pytest.raises(ValueError, match="threads must be at least 1, not 0"):
        GraphpegModel(2, 0)


def with_test(kind, test, bound=0, **options):
    """A unit with a filter. The neighbours 700, 707, 714 and 721 have the words 4, 5, 6 and 7 at a
    distance of 0x2000, the vertices 0x100 and 0x104 the words 4 and 5 at a distance of 0x3000."""
    model = unit(kind, **options)
    model.filters = True
    for neighbor, word in ((700, 4), (707, 5), (714, 6), (721, 7)):
        model.memory.words[neighbor + 0x2000] = word
    for base, word in ((0x100, 4), (0x104, 5)):
        model.memory.words[base + 0x3000] = word
    for setting, value in ((GatherSetting.VALUES, 0x2000), (GatherSetting.BASES, 0x3000),
                           (GatherSetting.BOUND, bound), (GatherSetting.TEST, test)):
        model.set(setting, value)
    return model


def neighbors(model):
    """The neighbours of all edges that are handed out."""
    got = []
    while (bases := model.decode_id(0)[1])[0] != NONE:
        got += [word for word, base in zip(model.neighbor(0).tolist(), bases) if base != NONE]
    return sorted(got)


@pytest.mark.parametrize("test, bound, expected", [
    (EdgeTest.ABOVE, 5, [714, 721]), (EdgeTest.BELOW, 5, [700]), (EdgeTest.EQUAL, 5, [707]),
    (EdgeTest.ABOVE | EdgeTest.BELOW, 5, [700, 714, 721]), (0, 5, [700, 707, 714, 721]),
    (EdgeTest.BASE, 5, [700, 707, 714, 721]), (EdgeTest.EQUAL | EdgeTest.BASE, 0, [700, 707]),
    (EdgeTest.ABOVE | EdgeTest.BASE, 0, [714, 721]), (EdgeTest.ABOVE, 9, [])])
def test_edges_that_count(test, bound, expected):
    model = with_test(GraphpegModel, test, bound)
    start(model, 3)
    assert neighbors(model) == expected
    # Without a filter the setting has no effect.
    model.filters = False
    start(model, 3)
    assert neighbors(model) == [700, 707, 714, 721]


def test_sums_with_weights():
    """The weights are 900, 909, 918 and 927; a sum beyond 32 bits is all ones."""
    for bound, expected in ((0xFFFFFFFF - 910, []), (0xFFFFFFFF - 909, [700, 707]),
                            (0xFFFFFFFF, [700, 707])):
        model = with_test(GraphpegModel, EdgeTest.BELOW | EdgeTest.WEIGHT, bound, weights=0x1000)
        for neighbor, word in ((700, 0xFFFFFFFF - 10), (707, 0xFFFFFFFE)):
            model.memory.words[neighbor + 0x2000] = word
        start(model, 3)
        assert [each for each in neighbors(model) if each < 714] == expected


def test_a_follower_of_tests():
    """If nothing is left, edges whose words are those of START must be judged by them; another one
    may be handed out or not."""
    for changes in (False, True):
        for handed, left in (([0x104, 0x104], 0), ([0x104], 1), ([0x104, 0x100], 2)):
            model = with_test(GraphpegFollower, EdgeTest.ABOVE, 5)
            start(model, 3)
            if changes:
                for neighbor in (700, 714):
                    model.memory.words[neighbor + 0x2000] = 5
            assert not model.take(0, array([*handed, NONE][:2]))
            assert model.left == (0 if changes else left)
