"""The records of many independent pieces of work, in a file. A piece that ends adds a line of JSON.
"""

import fcntl
import json
import os
import stat

from base.errors import UserError
from base.input import read_bytes


__all__ = ["RecordsFile"]


#: The beginning of every line.
_START = b'{"key": "'


class RecordsFile:
    """The file of a name. With None nothing is read or kept."""

    def __init__(self, path):
        self.path = None if path is None else os.fspath(path)

    def read(self):
        """The kept pairs of key and record, in the order of the file. Raises UserError if the file
        cannot be read or is not a file of records. A last line without its end is no error if it is
        the beginning of a record, as a crash leaves it. It is left out."""
        if self.path is None or not os.path.exists(self.path):
            return
        try:
            if not stat.S_ISREG(os.stat(self.path).st_mode):
                raise UserError(f"{self.path}: must be a regular file: earlier runs are read "
                                "from this file")
            lines = read_bytes(self.path).split(b"\n")
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read: {error.strerror}") from None
        last = lines.pop()
        for number, line in enumerate(lines, 1):
            if line:
                found = _parsed(line)
                if found is None:
                    raise self._foreign(number)
                yield found
        if last and (found := _parsed(last)):
            yield found                            # all of it but its end
        elif not _begun(last):
            raise self._foreign(len(lines) + 1)

    def keep(self, key, record) -> dict:
        """Add a line: a key, and a record of values that JSON can hold, without ``"key"``. Returns
        the record as :meth:`read` will give it. Raises UserError if the line cannot be written;
        then the file ends with the previous line."""
        text = json.dumps(record, sort_keys=True)
        if self.path is not None:
            line = json.dumps({"key": key} | json.loads(text)).encode() + b"\n"
            try:
                with open(self.path, "ab+", buffering=0) as file:
                    fcntl.flock(file, fcntl.LOCK_EX)     # another process may add to it
                    self._append(file, line)
            except OSError as error:
                raise UserError(f"{self.path}: cannot be written: {error.strerror}") from None
        return json.loads(text)

    def _append(self, file, line):
        file.seek(0)
        text = file.read()
        end = text.rfind(b"\n") + 1
        last = text[end:]
        if last and _parsed(last):
            end, line = len(text), b"\n" + line
        elif not _begun(last):
            raise self._foreign(text.count(b"\n") + 1)
        try:
            file.truncate(end)                           # a line that was cut off
            while line:
                line = line[file.write(line):]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(end)
            raise

    def _foreign(self, number):
        return UserError(f"{self.path}: line {number} is not a record of a run; name another file "
                         "or remove it")


def _parsed(line):
    """The key and the record of a line, or None if it is no record."""
    try:
        record = json.loads(line)
        key = record.pop("key")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return (key, record) if isinstance(key, str) else None


def _begun(line):
    """Whether a line without its end is the beginning of a record's line."""
    return line.startswith(_START) or _START.startswith(line)
