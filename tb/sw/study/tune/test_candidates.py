"""The digest by which plans that come to the same are known."""

import itertools

import numpy as np

from sw.study.tune.candidates import _Hash


def test_memory():
    """Any difference in what is written or filled, and where, makes another digest."""
    def digest(*steps):
        memory = _Hash()
        for name, *arguments in steps:
            getattr(memory, name)(*arguments)
        return memory.sha.hexdigest()

    def words(*values):
        return np.array(values, np.uint32)

    different = [
        (), (("write_memory", 4, words(1, 2)),), (("write_memory", 8, words(1, 2)),),
        (("write_memory", 4, words(2, 1)),),
        (("write_memory", 4, words(1)), ("write_memory", 8, words(2))),
        (("fill_memory", 4, 2, 0),), (("fill_memory", 8, 2, 0),), (("fill_memory", 4, 3, 0),),
        (("fill_memory", 4, 2, 1),)]
    for one, other in itertools.combinations(different, 2):
        assert digest(*one) != digest(*other)
    assert all(digest(*one) == digest(*one) for one in different)
