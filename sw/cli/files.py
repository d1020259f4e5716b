"""Files that a command writes. A file that cannot be written is refused before the run. Afterwards
a file is written whole or not at all (:mod:`base.output`).

The name ``-`` is the standard output. A command that writes a file there prints everything else on
standard error, from :func:`check` on until :func:`release`.
"""

import json
import os
import sys

from base import output
from base.errors import UserError
from base.output import descriptor, identity


__all__ = ["STANDARD", "check", "distinct", "make_folder", "release", "write_arrays",
           "write_bytes", "write_json", "write_pieces", "write_results", "write_text"]


#: The name of the standard output.
STANDARD = "-"

#: A descriptor of the standard output while only a file is written there; else None.
_reserved: int | None = None


def _reserve():
    """Keep the standard output for a file: what else is printed goes to standard error."""
    global _reserved
    if _reserved is None:
        sys.stdout.flush()
        _reserved = os.dup(1)
        os.dup2(2, 1)


def release():
    """Print on the standard output again."""
    global _reserved
    if _reserved is not None:
        sys.stdout.flush()
        os.dup2(_reserved, 1)
        os.close(_reserved)
        _reserved = None


def _replacing(path):
    """:func:`base.output.replacing`, or the standard output."""
    if path != STANDARD:
        return output.replacing(path)
    _reserve()
    return output.replacing(f"/dev/fd/{_reserved}")


def check(path, suffixes=(), default=None):
    """Refuse a file that cannot be written, as :func:`base.output.check` does. Only the folder of
    the ``default`` path may be missing: :func:`make_folder` makes it later."""
    if path == STANDARD and len(suffixes) < 2:
        _reserve()
    elif path is None or path != default or os.path.exists(os.path.dirname(path)):
        output.check(path, suffixes)


def make_folder(path, default):
    """Make the folder of a file if the file is the ``default``. Raises UserError."""
    if path == default:
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        except OSError as error:
            raise UserError(f"{path}: its folder cannot be made: {error.strerror}") from None


def distinct(outputs, inputs=()):
    """Refuse two outputs to one file, and an output that is also read or is the standard output.

    Parameters
    ----------
    outputs : dict of str to (str or None)
        The files to write, by the options that name them; None for an option that is not given.
    inputs : iterable of str
        The files to read. A name that is no file, such as that of a generator, is left out.

    Raises
    ------
    UserError
        For such an output; the error names the option and its file.
    """
    taken = {identity(path): "is an input as well" for path in inputs if os.path.isfile(path)}
    standard = {identity(f"/dev/fd/{number}"): f"is the standard {name} as well"
                for number, name in ((1, "output"), (2, "error"))}
    for option, path in outputs.items():
        own = path if path is None or path == STANDARD else identity(path)
        if path is None or own is None:
            continue
        other = taken.get(own) or (standard.get(own) if descriptor(path) is None else None)
        if other is not None:
            raise UserError(f"{option} {path}: the file {other}; name another file")
        taken[own] = f"is the file of {option} as well"


def write_bytes(path, data):
    """Write a binary file."""
    with _replacing(path) as stream:
        stream.write(data)


def write_text(path, text):
    """Write a text file."""
    write_bytes(path, text.encode())


def write_pieces(path, pieces):
    """Write a text file that is made piece by piece."""
    with _replacing(path) as stream:
        for piece in pieces:
            stream.write(piece.encode())


def write_json(path, value):
    """Write JSON with sorted keys: the same value gives the same bytes. Without a path, nothing."""
    if path is not None:
        write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")


def write_arrays(path, arrays):
    """Write named numpy arrays as ``.npz``."""
    import numpy as np
    with _replacing(path) as stream:
        np.savez_compressed(stream, **arrays)


def write_results(path, arrays, graph):
    """Write the arrays of a run; where the graph's vertices have names, with the array ``id``."""
    from sw.graph.names import storable
    more = {} if graph.names is None else {"id": storable(graph.names)}
    write_arrays(path, arrays | more)
