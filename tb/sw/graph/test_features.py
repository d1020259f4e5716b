"""Features of vertices: files, bad files, and random features."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array, save_npz

from base.errors import UserError
from sw.graph.features import random_features, read_features

GOOD = {"indptr": np.array([0, 2, 2, 3]), "indices": np.array([1, 3, 0]),
        "data": np.array([0.5, -2.0, 1.0]), "shape": np.array([3, 4])}


def written(folder, **changes):
    """A file with changed arrays; None leaves an array out."""
    path = folder / "features.npz"
    np.savez(path, **{name: array for name, array in (GOOD | changes).items() if array is not None})
    return str(path)


def test_a_file(tmp_path):
    found = read_features(written(tmp_path, labels=np.arange(3), weight=np.ones((4, 2), np.int8)))
    assert (found.num_vertices, found.num_columns) == (3, 4)
    assert found.rows.tolist() == [0, 0, 2] and found.columns.tolist() == [1, 3, 0]
    assert found.values.tolist() == [0.5, -2, 1] and found.weight.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.bool_])
def test_matrices_of_scipy(tmp_path, dtype):
    matrix = csr_array(random_array((20, 30), density=0.2, rng=1) * 90).astype(dtype)
    save_npz(tmp_path / "m.npz", matrix)
    found = read_features(tmp_path / "m.npz")
    again = csr_array((found.values, found.columns, found.offsets), shape=(20, 30))
    assert np.array_equal(again.toarray(), matrix.toarray()) and found.weight is None


def test_the_largest_integers(tmp_path):
    """Integers that int64 does not hold are no negative numbers."""
    data = np.array([1, (1 << 64) - 1, 1 << 63], np.uint64)
    found = read_features(written(tmp_path, data=data, weight=np.full((4, 1), 1 << 63, np.uint64)))
    assert found.values.tolist() == [1, 2.0 ** 64, 2.0 ** 63] and found.weight[0] == 2.0 ** 63


@pytest.mark.skipif(np.finfo(np.longdouble).maxexp <= 1024, reason="long doubles are doubles")
def test_no_number_becomes_infinite(tmp_path):
    with pytest.raises(UserError, match=r"data\[1\] is -1e\+400, must be a finite number, and"):
        read_features(written(tmp_path, data=np.array([1, -np.longdouble("1e400"), 2])))


@pytest.mark.parametrize("changes, words", [
    ({"indptr": None}, ["array 'indptr' is missing", "csr"]),
    ({"data": None}, ["array 'data' is missing"]),
    ({"shape": np.array([3])}, ["shape is (3,)", "two numbers"]),
    ({"shape": np.array([3, 0])}, ["shape is (3, 0)"]),
    ({"shape": np.array([3.0, 4.0])}, ["shape is of type float64", "list of integers"]),
    ({"shape": np.array([4, 4])}, ["indptr must ascend from 0 to 3 in 5 numbers"]),
    ({"shape": np.array([3, (1 << 31) - 1])}, ["2147483647 columns are too many for 3 entries"]),
    ({"indptr": np.array([0, 2, 1, 3])}, ["indptr must ascend"]),
    ({"indptr": np.array([0, 2, 2, 2])}, ["indptr must ascend"]),
    ({"indices": np.array([1, 4, 0])}, ["indices must be from 0 to 3"]),
    ({"indices": np.array([1, -1, 0])}, ["indices must be from 0 to 3"]),
    ({"indices": np.array([[1, 2, 0]])}, ["indices is of type", "2 dimensions"]),
    ({"indices": np.array([1, 1 << 63, 0], np.uint64)}, ["indices has the number", "too large"]),
    ({"data": np.array([1.0, 2.0])}, ["data has 2 numbers and indices 3"]),
    ({"data": np.array([1, np.nan, 2])}, ["data[1] is nan", "finite"]),
    ({"data": np.array([1, 2, -np.inf])}, ["data[2] is -inf", "finite"]),
    ({"data": np.array(["a", "b", "c"])}, ["data is of type <U1", "real numbers"]),
    ({"data": np.array([1j, 0, 0])}, ["data is of type complex128"]),
    ({"data": np.array([1, None, 2])}, ["'data.npy'", "not an array of numbers"]),
    ({"weight": np.ones(4)}, ["weight is of type float64 with 1 dimensions"]),
    ({"weight": np.ones((3, 2))}, ["weight has 3 rows, must have 4"]),
    ({"weight": np.full((4, 2), np.nan)}, ["weight[0, 0] is nan"]),
    ({"format": np.array("csc")}, ["format 'csc'", "tocsr()"])])
def test_bad_files(tmp_path, changes, words):
    path = written(tmp_path, **changes)
    with pytest.raises(UserError) as error:
        read_features(path)
    assert all(word in str(error.value) for word in [path, *words])


def test_what_is_no_file(tmp_path):
    (tmp_path / "text.npz").write_text("0 1\n")
    with pytest.raises(UserError, match="is not an .npz file"):
        read_features(tmp_path / "text.npz")
    with pytest.raises(UserError, match="there is no such file"):
        read_features(tmp_path / "none.npz")


def test_random_features():
    one, same, other = (random_features(50, 40, 0.25, seed) for seed in (3, 3, 4))
    assert np.array_equal(one.values, same.values) and np.array_equal(one.columns, same.columns)
    assert not np.array_equal(one.columns[:50], other.columns[:50])
    assert 380 < len(one.values) < 500 and abs(one.values).max() < 1 and one.values.min() < -0.9
    assert len(np.unique(one.rows * 40 + one.columns)) == len(one.values)
    assert len(random_features(5, 5, 0, 1).values) == 0
    with pytest.raises(UserError, match="at most 67108864"):
        random_features(1 << 20, 1 << 20, 0.5, 1)
