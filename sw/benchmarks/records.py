"""What became of many independent pieces of work, in a file: a line of JSON for each that has
ended, written when it ends."""

import json
import os
import pathlib

from sw.errors import UserError


__all__ = ["Records"]


class Records:
    """The file.

    Parameters
    ----------
    path : str or None
        Where it is; with None nothing is read or kept.
    """
    def __init__(self, path):
        self.path = None if path is None else pathlib.Path(path)

    def read(self):
        """Pairs of key and record, as they were kept. Raises UserError naming a line that is not
        of this kind."""
        for number, line in self._lines():
            try:
                record = json.loads(line)
                key = record.pop("key")
            except (ValueError, KeyError, TypeError, AttributeError):
                raise UserError(f"{self.path}: line {number} is not a line of a campaign; name "
                                "another file or remove it") from None
            yield key, record

    def _lines(self):
        if self.path is None or not self.path.exists():
            return []
        try:
            text = self.path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{self.path}: cannot be read: {error}") from None
        # A line that a crash cut off has no end; its work is done again.
        return [(number, line) for number, line in enumerate(text.split("\n")[:-1], 1) if line]

    def keep(self, key, record) -> dict:
        """Add a line. Returns the record as :meth:`read` will give it."""
        text = json.dumps({"key": key} | record, sort_keys=True)
        if self.path is not None:
            with open(self.path, "ab+") as file:
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)       # a line that was cut off
                file.write(text.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        return {name: value for name, value in json.loads(text).items() if name != "key"}
