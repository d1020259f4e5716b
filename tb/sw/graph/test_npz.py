"""Archives: archives of numpy and scipy are read, and bad archives are refused by member.

Every refusal is tried as a graph and as an image, which share the reader.

====================================  ==========================================================
feature                               tests
====================================  ==========================================================
arrays of every type and shape        test_round_trip
members that are no arrays            test_refused
claims of the header and the archive  test_refused, test_members
archives cut or altered anywhere      test_mutated
====================================  ==========================================================
"""

import io
import random
import struct
import tracemalloc
import types
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays

from base.errors import UserError
from sw.compile.formats.store import load as load_image
from sw.graph import load as load_graph
from sw.graph.npz import read_arrays


def refused(path, words):
    """Assert that a file is refused as a graph and as an image, in a line that can be printed."""
    for load in (load_graph, load_image):
        tracemalloc.start()
        try:
            with pytest.raises(UserError) as caught:
                load(path)
            assert tracemalloc.get_traced_memory()[1] < 16 << 20
        finally:
            tracemalloc.stop()
        message = str(caught.value)
        assert message.startswith(f"{path}: ") and words in message
        assert message.isprintable() and len(message) < len(str(path)) + 200


def read(content):
    source = types.SimpleNamespace(head=content, seekable=lambda: io.BytesIO(content))
    return read_arrays("a.npz", source)


_DTYPES = (arrays.integer_dtypes() | arrays.unsigned_integer_dtypes() | arrays.floating_dtypes()
           | arrays.boolean_dtypes() | arrays.complex_number_dtypes()
           | arrays.byte_string_dtypes(min_len=1) | arrays.unicode_string_dtypes(min_len=1))


@settings(deadline=None, max_examples=100)
@given(arrays.arrays(_DTYPES, arrays.array_shapes(min_dims=0, min_side=0, max_dims=3)))
def test_round_trip(array):
    """Arrays of any shape and order, as numpy reads them."""
    for save, order in ((np.savez, "C"), (np.savez_compressed, "F")):
        stream = io.BytesIO()
        save(stream, one=np.asarray(array, order=order), two=np.arange(3))
        found = read(stream.getvalue())
        assert list(found) == ["one", "two"] and found["two"].tolist() == [0, 1, 2]
        with np.load(io.BytesIO(stream.getvalue())) as expected:
            assert found["one"].dtype == expected["one"].dtype
            assert found["one"].shape == expected["one"].shape
            assert found["one"].tobytes() == expected["one"].tobytes()


def npy(header, data=b"", version=b"\1\0"):
    """A member with a header that the test chooses."""
    header = header.encode()
    length = struct.pack("<H" if version == b"\1\0" else "<I", len(header))
    return b"\x93NUMPY" + version + length + header + data


def claims(shape, dtype="<u4"):
    return f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n"


@pytest.mark.parametrize("member, words", [
    (b"", "'src.npy' is not an array: it does not begin as an .npy file"),
    (b"hello, world", "'src.npy' is not an array"),
    (npy(claims("(1,)"), bytes(4), version=b"\7\0"), "'src.npy' is not an array"),
    (npy(claims("(1000000000000,)"), bytes(4)), "says 4000000000000 bytes, it has 4"),
    (npy(claims("(1" + "0" * 30 + ",)"), bytes(4)), "is damaged: its header says 4000000000"),
    (npy(claims("(100000, 100000, 100)"), bytes(4)), "says 4000000000000 bytes, it has 4"),
    (npy(claims("(2,)"), bytes(4)), "says 8 bytes, it has 4"),
    (npy(claims("(1,)"), bytes(8)), "says 4 bytes, it has 8"),
    (npy(claims("(-1,)"), bytes(4)), "its header cannot be read"),
    (npy(claims("(0, 1" + "0" * 30 + ")")), "is damaged"),
    (npy(claims("(" + "1, " * 9 + ")"), bytes(4)), "has 9 dimensions, at most 8"),
    (npy(claims("(1,)", "<u3"), bytes(4)), "has the type '<u3', which does not exist"),
    (npy(claims("(1,)", "|O"), bytes(8)), "is not an array of numbers"),
    (npy(claims("(" * 1000 + ")" * 1000)), "is not an array of numbers: its header cannot be"),
    (npy("-" * 3000 + "1"), "its header cannot be read"),
    (npy("[" * 60000), "has a header of 60000 bytes, at most 4096"),
    (npy("{" * 4000), "its header cannot be read"),
    (b"\x93NUMPY\2\0" + struct.pack("<I", (1 << 32) - 1), "has a header of 4294967295 bytes"),
    (b"\x93NUMPY\1\0\x00", "its header cannot be read"),
], ids=range(19))
def test_refused(tmp_path, member, words):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("src.npy", member)
    refused(path, words)


_ONE = npy(claims("(1,)"), bytes(4))


def _archive(*names, data=_ONE):
    stream = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, data)
    return stream.getvalue()


def _encrypted():
    content = bytearray(_archive("src.npy"))
    for place in (6, content.rindex(b"PK\1\2") + 8):
        content[place] |= 1
    return bytes(content)


def _method(number):
    content = bytearray(_archive("src.npy"))
    for place in (8, content.rindex(b"PK\1\2") + 10):
        content[place] = number
    return bytes(content)


def _size(claimed):
    content = bytearray(_archive("src.npy", data=npy(claims(f"({claimed // 4 - 18},)"), b"")))
    place = content.rindex(b"PK\1\2")
    content[place + 24:place + 28] = struct.pack("<I", claimed)
    return bytes(content)


@pytest.mark.parametrize("content, words", [
    (_archive("src.npy", "src.npy"), "member 'src.npy' is there twice"),
    (_archive("notes.txt"), "member 'notes.txt' is not an array, its name must end in .npy"),
    (_archive("\x1b[2Jsrc\n.npy"), ""),
    (_archive("\x1b[2Jsrc\n"), "member '\\x1b[2Jsrc\\n' is not an array"),
    (_archive("x" * 60_000), "member 'xxxxxxxxxx"),
    (_encrypted(), "member 'src.npy' is encrypted"),
    (_method(12), "member 'src.npy' is compressed by method 12, must be stored or deflated"),
    (_method(99), "is compressed by method 99"),
    (_size(1 << 31), "says that it expands to more than 100 times its size"),
    (_archive(), "is "),
    (b"PK\3\4", "the .npz file is damaged"),
], ids=range(11))
def test_members(tmp_path, content, words):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    refused(path, words)


def test_mutated():
    """With any bytes altered, and cut off anywhere, an archive gives one line of error or small
    arrays."""
    stream, rng = io.BytesIO(), random.Random(1)
    np.savez_compressed(stream, src=np.arange(40, dtype=np.uint32), dst=np.zeros(3))
    content = stream.getvalue()
    for _ in range(3000):
        altered = bytearray(content)
        for _ in range(rng.randint(1, 3)):
            altered[rng.randrange(len(content))] = rng.randrange(256)
        altered = altered[:rng.choice((len(content), len(content), rng.randrange(len(content))))]
        try:
            found = read(bytes(altered))
        except UserError as error:
            assert str(error).startswith("a.npz: ") and str(error).isprintable()
        else:
            for name, array in found.items():
                assert array.nbytes < 1000, name
