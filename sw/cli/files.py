"""Files that a command writes: refused before the run where they cannot be written, and whole or
not at all afterwards."""

import json
import os
import tempfile

from sw.errors import UserError


__all__ = ["check", "write_arrays", "write_bytes", "write_json", "write_pieces", "write_text"]


def check(path, suffixes=()):
    """Refuse an output path that cannot be written, by trying.

    Parameters
    ----------
    path : str or None
        None is accepted: the option was not given.
    suffixes : tuple of str
        Endings of which the name must have one.

    Raises
    ------
    UserError
        Naming the path and the reason.
    """
    if path is None:
        return
    if suffixes and not path.lower().endswith(suffixes):
        raise UserError(f"{path}: the name must end in {' or '.join(suffixes)}")
    if os.path.isdir(path):
        raise UserError(f"{path}: cannot be written: it is a folder")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise UserError(f"{path}: cannot be written: there is no folder {folder}")
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=".graphloom-")
        os.close(handle)
        os.unlink(name)
        if os.path.exists(path) and not os.access(path, os.W_OK):
            raise PermissionError(13, "it is read-only")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None


def _write(path, write):
    folder, base = os.path.split(path)
    beside = os.path.join(folder, f".{base}.{os.getpid()}.part")
    try:
        with open(beside, "wb") as stream:
            write(stream)
        os.replace(beside, path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        if os.path.exists(beside):
            os.unlink(beside)


def write_bytes(path, data):
    """Write a binary file beside its place and move it there."""
    _write(path, lambda stream: stream.write(data))


def write_text(path, text):
    """Write a text file beside its place and move it there."""
    _write(path, lambda stream: stream.write(text.encode()))


def write_pieces(path, pieces):
    """Write a text file that is made piece by piece, beside its place, and move it there."""
    def write(stream):
        for piece in pieces:
            stream.write(piece.encode())
    _write(path, write)


def write_json(path, value):
    """Write JSON with sorted keys: the same value gives the same bytes."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")


def write_arrays(path, arrays):
    """Write named numpy arrays as ``.npz``."""
    import numpy as np
    _write(path, lambda stream: np.savez_compressed(stream, **arrays))
