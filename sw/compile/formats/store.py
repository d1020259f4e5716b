"""Images on disk: ``.npz`` files, since building can cost more than running.

A file has the arrays by their names, and the host's arrays as ``host:NAME``. Its array ``image`` is
JSON text as bytes: the version of this layout, the format and its version, the graph and the
options of the image, and a checksum over all. The same image gives the same bytes.
"""

import hashlib
import json
import os

import numpy as np

from base.errors import UserError
from base.output import replacing
from sw.graph.graph import LIMIT
from sw.graph.npz import read_arrays, shown
from sw.graph.source import opened

from . import find_image, image_names
from .image import DIRECTIONS


__all__ = ["LAYOUT", "load", "save"]


#: Version of the layout that is written; no other is read.
LAYOUT = 1

_HEADER = "image"
_HOST = "host:"
_FIELDS = ("title", "direction", "num_vertices", "num_edges", "weighted", "options")


def _checksum(header, arrays):
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()


def save(image, path):
    """Write an image. The file is written beside its place and then moved there.

    Parameters
    ----------
    image : Image
    path : str or path
        Must end in ``.npz``.

    Raises
    ------
    UserError
        If the name has another ending, or the file cannot be written.
    """
    if not os.fspath(path).lower().endswith(".npz"):
        raise UserError(f"{path}: the name of an image must end in .npz")
    arrays = dict(image.arrays) | {_HOST + name: array for name, array in image.host.items()}
    header = {"layout": LAYOUT, "format": image.format, "version": image.VERSION}
    header |= {name: getattr(image, name) for name in _FIELDS}
    header["checksum"] = _checksum(header, arrays)
    text = np.frombuffer(json.dumps(header, sort_keys=True).encode(), dtype=np.uint8)
    with replacing(path) as stream:
        np.savez(stream, **{_HEADER: text}, **arrays)


def _read(path):
    """Every array of the file."""
    with opened(path) as source:
        if not source.head.startswith(b"PK\x03\x04"):
            raise UserError(f"{path}: is not an image: it does not begin as an .npz file")
        return read_arrays(path, source)


def _header(path, arrays):
    text = arrays.pop(_HEADER, None)
    if text is None:
        raise UserError(f"{path}: is an .npz file, but not an image: it has no array {_HEADER!r}")
    try:
        if text.dtype != np.uint8:
            raise TypeError
        header = json.loads(text.tobytes().decode())
        layout, name, version = header["layout"], header["format"], header["version"]
        checksum = header.pop("checksum")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"{path}: the image is damaged: its header cannot be read") from None
    if layout != LAYOUT:
        raise UserError(f"{path}: has layout {shown(str(layout))}, this program reads {LAYOUT}")
    if name not in image_names():
        raise UserError(f"{path}: there is no format {shown(str(name))}; there are "
                        f"{', '.join(image_names())}")
    cls = find_image(name)
    if version != cls.VERSION:
        raise UserError(f"{path}: has version {shown(str(version))} of format {name}, this program "
                        f"reads {cls.VERSION}")
    if checksum != _checksum(header, arrays):
        raise UserError(f"{path}: the image is damaged: its checksum does not match")
    return cls, header


def _checked(header):
    """The fields of a header that make an image; ValueError if they cannot be right."""
    fields = {name: header[name] for name in _FIELDS}
    for name in ("num_vertices", "num_edges"):
        if type(fields[name]) is not int or not 0 <= fields[name] < LIMIT:
            raise ValueError(f"{name} is {shown(str(fields[name]))}")
    if fields["num_vertices"] < 1 or fields["direction"] not in DIRECTIONS \
            or type(fields["weighted"]) is not bool or not isinstance(fields["title"], str):
        raise ValueError("num_vertices, direction, weighted or title in its header is wrong")
    return fields


def load(path):
    """Read an image that :func:`save` has written.

    Returns
    -------
    Image
        Equal to the saved image, array by array.

    Raises
    ------
    UserError
        If the file cannot be read, is no image, is damaged, or is of a layout, format or version
        that this program does not know; the message says which.
    """
    arrays = _read(path)
    cls, header = _header(path, arrays)
    try:
        fields = _checked(header)
        fields["options"] = cls.settle(fields["options"])
        image = cls(**fields)
        for name, array in arrays.items():
            host = name.startswith(_HOST)
            (image.host if host else image.arrays)[name.removeprefix(_HOST * host)] = array
        image.check()
    except (ValueError, KeyError, TypeError, AttributeError, UserError) as error:
        raise UserError(f"{path}: is no image of format {cls.format}: {error}") from None
    return image
