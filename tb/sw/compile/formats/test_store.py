"""Images on disk: a saved image is read back, and a bad file is refused by name."""

import json

import numpy as np
import pytest

from base.errors import UserError
from sw.compile import formats
from sw.graph import Graph
from sw.compile.formats.store import load, save
from tb.sw.graphs import random_graph

from .test_images import VARIANTS


@pytest.fixture
def saved(tmp_path):
    """A function that saves an image after a change of its header or arrays."""
    def write(change=lambda header, arrays: None, resign=True):
        path = tmp_path / "image.npz"
        save(formats.build_image(random_graph(20, 60, 1, weights=True), "cr2:cluster_bits=3"),
             path)
        with np.load(path) as archive:
            arrays = dict(archive)
        header = json.loads(arrays.pop("image").tobytes())
        header.pop("checksum")
        change(header, arrays)
        from sw.compile.formats.store import _checksum
        header["checksum"] = _checksum(header, arrays) if resign else "0" * 64
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        with open(path, "wb") as stream:
            np.savez(stream, image=text, **arrays)
        return path
    return write


@pytest.mark.parametrize("text", VARIANTS)
@pytest.mark.parametrize("weights", [False, True])
def test_round_trip(tmp_path, text, weights):
    path = tmp_path / "image.npz"
    for direction in ("push", "pull"):
        image = formats.build_image(random_graph(50, 400, 7, weights), text, direction)
        save(image, path)
        first = path.read_bytes()
        back = load(path)
        assert type(back) is type(image)
        for name in ("title", "direction", "num_vertices", "num_edges", "weighted", "options"):
            assert getattr(back, name) == getattr(image, name)
        for of in ("arrays", "host"):
            ours, theirs = getattr(image, of), getattr(back, of)
            assert list(ours) == list(theirs)
            for name, array in ours.items():
                assert array.dtype == theirs[name].dtype and np.array_equal(array, theirs[name])
        save(back, path)
        assert path.read_bytes() == first
    assert [entry.name for entry in tmp_path.iterdir()] == ["image.npz"]


def test_the_smallest_graph(tmp_path):
    save(formats.build_image(Graph(1, [], [], name="one"), "csr"), tmp_path / "image.npz")
    back = load(tmp_path / "image.npz")
    assert (back.num_vertices, back.num_edges, back.title) == (1, 0, "one")


def refused(path, *words):
    with pytest.raises(UserError) as error:
        load(path)
    assert str(path) in str(error.value) and str(error.value).isprintable()
    assert len(str(error.value)) < len(str(path)) + 300
    for word in words:
        assert word in str(error.value)


def test_untouched(saved):
    assert load(saved()).format == "cr2"


@pytest.mark.parametrize("change, words", [
    (lambda header, arrays: header.update(layout=2), ["layout '2'", "reads 1"]),
    (lambda header, arrays: header.update(version=9), ["version '9'", "cr2", "reads 1"]),
    (lambda header, arrays: header.update(format="cr3"), ["cr3", "cr2"]),
    (lambda header, arrays: header.update(format="csr"), ["csr", "option"]),
    (lambda header, arrays: header.update(format=["\x1b[2J"] * 999), ["x1b"]),
    (lambda header, arrays: header.update(version="\x1b" * 999), ["x1b"]),
    (lambda header, arrays: arrays.update({"\x1b": np.zeros(1)}), ["array '\\x1b'"]),
    (lambda header, arrays: header.pop("options"), ["options"]),
    (lambda header, arrays: header["options"].update(cluster_bits=40), ["cluster_bits", "1 to 16"]),
    (lambda header, arrays: header["options"].update(cluster_bits=9), ["uint8"]),
    (lambda header, arrays: header.update(num_vertices=21), ["entries"]),
    (lambda header, arrays: header.update(num_edges=-1), ["num_edges"]),
    (lambda header, arrays: header.update(num_edges=61), ["61"]),
    (lambda header, arrays: header.update(direction="up"), ["is wrong"]),
    (lambda header, arrays: arrays.pop("intra_4_bases"), ["intra_4_bases"]),
    (lambda header, arrays: arrays.update(more=np.zeros(3)), ["more"]),
    (lambda header, arrays: arrays.update(expand_offsets=np.zeros(21)), ["float64"]),
])
def test_not_an_image_of_ours(saved, change, words):
    refused(saved(change), *words)


def test_new_ids_are_checked(tmp_path):
    """An image of reordered vertices has the number of each, and no other image has."""
    path, graph = tmp_path / "image.npz", random_graph(20, 60, 1)
    image = formats.build_image(graph, "csr:reorder=rcm")
    image.host["new_ids"][0] = image.host["new_ids"][1]
    save(image, path)
    refused(path, "format csr", "new_ids are not the vertices, each once")
    image.host.clear()
    save(image, path)
    refused(path, "has nothing for the host, must have new_ids")
    image = formats.build_image(graph, "csr")
    image.host["new_ids"] = np.arange(20, dtype=np.uint32)
    save(image, path)
    refused(path, "has 'new_ids' for the host, must have nothing")


def test_wrong_checksum(saved):
    refused(saved(resign=False), "checksum")
    change = saved(lambda header, arrays: None)
    with np.load(change) as archive:
        arrays = dict(archive)
    arrays["expand_pointers"][0] ^= 1
    np.savez(change, **arrays)
    refused(change, "checksum")


def test_damaged(saved, tmp_path):
    path = saved()
    data = path.read_bytes()
    path.write_bytes(data[:len(data) // 2])
    refused(path, "damaged")
    for place in range(60, len(data) - 60, 331):
        broken = bytearray(data)
        broken[place] ^= 0x55
        path.write_bytes(broken)
        try:
            back = load(path)
        except UserError as error:
            assert str(path) in str(error) and "\n" not in str(error)
        else:                                 # a byte of the zip that has no meaning
            assert back.num_edges == 60


def test_foreign(tmp_path):
    path = tmp_path / "other.npz"
    refused(path, "no such file")
    path.write_bytes(b"0 1\n")
    refused(path, "does not begin as an .npz file")
    np.savez(path, src=np.zeros(3))
    refused(path, "not an image")
    np.savez(path, image=np.array([{}], dtype=object))
    refused(path, "not an array of numbers")
    for text in (b"[1]", b"[" * 100_000, b"{}", b"\xff", b"9" * 9999):
        np.savez(path, image=np.frombuffer(text, dtype=np.uint8))
        refused(path, "cannot be read")
    np.savez(path, image=np.full((2, 2), 2j))
    refused(path, "cannot be read")


def test_where_to_save(tmp_path):
    image = formats.build_image(random_graph(5, 5, 1), "csr")
    with pytest.raises(UserError, match="must end in .npz"):
        save(image, tmp_path / "image.bin")
    with pytest.raises(UserError, match="cannot be written"):
        save(image, tmp_path / "none" / "image.npz")
    assert not list(tmp_path.iterdir())
