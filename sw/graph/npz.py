"""A reader of ``.npz`` files that trusts no claim in the file.

``numpy.load`` allocates the size that a header claims, and evaluates the header as Python. This
reader matches the header with a pattern. The size in the header must agree with the size of the
member before anything is allocated. Members are arrays of numbers or of text; objects are refused.
"""

import contextlib
import math
import re
import struct
import zipfile
import zlib

import numpy as np

from base.errors import UserError

from .source import EXPANSION, FREE


__all__ = ["check_offsets", "read_arrays", "shown", "word_of"]


_SUFFIX = ".npy"
_MAGIC = b"\x93NUMPY"
_HEADER_LIMIT = 4096
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[biufcSU]\d{1,6})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,40}, ?)*(?:\d{1,40})?)\),? ?\}\s*")
_MOST_DIMENSIONS = 8
_PIECE = 1 << 20
_DAMAGE = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, ValueError, EOFError,
           KeyError, NotImplementedError, RuntimeError, OverflowError, IndexError)


def shown(text):
    """``text`` in quotes for a message: of bounded length, without control characters."""
    return ascii(text if len(text) <= 40 else text[:37] + "...")


def word_of(array):
    """The word that an array holds, as text or bytes; "" if it holds several."""
    word = array.item() if array.shape == () else ""
    return word.decode("ascii", "replace") if isinstance(word, bytes) else str(word)


def check_offsets(offsets, rows, entries, what):
    """Raise UserError, which begins with ``what``, unless offsets lead from row to row."""
    if len(offsets) != rows + 1 or offsets[0] != 0 or offsets[-1] != entries \
            or np.any(offsets[1:] < offsets[:-1]):
        raise UserError(f"{what} must ascend from 0 to {entries} in {rows + 1} numbers")


def _names(path, archive):
    """The members by the names of their arrays."""
    members = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(_SUFFIX)
        where = f"{path}: member {shown(member.filename)}"
        if name == member.filename:
            raise UserError(f"{where} is not an array, its name must end in {_SUFFIX}; "
                            "another zip archive must be unpacked")
        if name in members:
            raise UserError(f"{where} is there twice")
        if member.flag_bits & 1:
            raise UserError(f"{where} is encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UserError(f"{where} is compressed by method {member.compress_type}, must be "
                            f"stored or deflated")
        members[name] = member
    return members


def _array(stream, size, where):
    """The array of a member of ``size`` bytes."""
    start = stream.read(8)
    width = {b"\x01\x00": 2, b"\x02\x00": 4, b"\x03\x00": 4}.get(start[6:])
    if not start.startswith(_MAGIC) or width is None:
        raise UserError(f"{where} is not an array: it does not begin as an .npy file")
    length = int.from_bytes(stream.read(width), "little")
    if length > _HEADER_LIMIT:
        raise UserError(f"{where} has a header of {length} bytes, at most {_HEADER_LIMIT}")
    header = _HEADER.fullmatch(stream.read(length))
    if header is None:
        raise UserError(f"{where} is not an array of numbers: its header cannot be read")
    try:
        dtype = np.dtype(header[1].decode())
    except TypeError:
        raise UserError(f"{where} has the type {shown(header[1].decode())}, which does not "
                        f"exist") from None
    shape = tuple(int(part) for part in header[3].split(b",") if part.strip())
    if len(shape) > _MOST_DIMENSIONS:
        raise UserError(f"{where} has {len(shape)} dimensions, at most {_MOST_DIMENSIONS}")
    claimed, there = math.prod(shape) * dtype.itemsize, size - 8 - width - length
    if claimed != there:
        raise UserError(f"{where} is damaged: its header says {claimed} bytes, it has {there}")
    data = bytearray(there)
    left = memoryview(data)
    while left:
        count = stream.readinto(left[:_PIECE])
        if not count:
            raise EOFError("a member ends too early")
        left = left[count:]
    stream.read(1)                    # compares the checksum
    return np.ndarray(shape, dtype, data, order="F" if header[2] == b"True" else "C")


def read_arrays(path, source, only=None):
    """The arrays of an ``.npz`` file.

    Parameters
    ----------
    path : str
        Its name in errors.
    source : sw.graph.source.Source
        The file.
    only : collection of str, optional
        Names of the arrays to read; other arrays are not read.

    Returns
    -------
    dict of str to array or None
        Arrays by name, in the order of the file; ``None`` for an array that was not asked for.

    Raises
    ------
    UserError
        If the file is no zip archive, or a pipe. If a member is no array of numbers, is there
        twice, is encrypted, or has another size than its header claims; the error names the member.
        Also if the arrays are more than :data:`~sw.graph.source.EXPANSION` times as large as the
        file.
    """
    if not source.head.startswith(b"PK"):
        raise UserError(f"{path}: is not an .npz file: it does not begin as a zip archive")
    stream = source.seekable()
    size = stream.seek(0, 2)
    stream.seek(0)
    try:
        with contextlib.closing(zipfile.ZipFile(stream)) as archive:
            members = _names(path, archive)
            wanted = [name for name in members if only is None or name in only]
            if sum(members[name].file_size for name in wanted) > max(FREE, EXPANSION * size):
                raise UserError(f"{path}: says that it expands to more than {EXPANSION} times its "
                                f"size")
            arrays = dict.fromkeys(members)
            for name in wanted:
                with archive.open(members[name]) as member:
                    arrays[name] = _array(member, members[name].file_size,
                                          f"{path}: member {shown(members[name].filename)}")
            return arrays
    except _DAMAGE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{path}: the .npz file is damaged: {shown(reason)}") from None
