"""Opening input files: files are checked before reading, and decompression is bounded.

A file that is read must be a regular file, or a pipe that another program already writes to
(:mod:`base.input`).

A file that begins as one of gzip, bzip2, xz or zstd is decompressed, whatever its name. Graphs
compress 3 to 20 times. A file whose contents exceed both :data:`EXPANSION` times its size and
:data:`FREE` bytes is refused, so a small file cannot ask for memory without bound.
"""

import bz2
import contextlib
import io
import lzma
import os
import stat
import zlib

from base.errors import UserError
from base.input import open_file
from base.installation import need


__all__ = ["EXPANSION", "FREE", "PACKED", "Source", "beside", "opened", "unpacked_name"]


#: Contents may be this many times as large as the compressed file,
EXPANSION = 100

#: or this many bytes, whichever is more.
FREE = 64 << 20

_HEAD = 1 << 16
_GZIP_HEADER = 31          # window bits of zlib: a gzip header and checksum are expected
_XZ_MEMORY = 256 << 20     # of the decompressor; the program xz asks for 64 MiB with -9
_ZSTD_PIECE = 64           # bytes, which can become 2 MiB
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OTHER_MARKS = (b"\xff\xfe", b"\xfe\xff")


class _Gzip:
    """A member of a gzip file, by the interface of ``bz2.BZ2Decompressor``."""

    def __init__(self):
        self._member, self._waiting = zlib.decompressobj(_GZIP_HEADER), b""

    eof = property(lambda self: self._member.eof)
    unused_data = property(lambda self: self._member.unused_data)
    needs_input = property(lambda self: not self._waiting)

    def decompress(self, data, max_length):
        data = self._member.decompress(self._waiting + data, max_length)
        self._waiting = self._member.unconsumed_tail
        return data


class _Zstd:
    """A frame of a zstd file, by the same interface. A little of it is decompressed at a time, as
    zstandard gives all that it can at once."""

    def __init__(self):
        import zstandard
        self._error = zstandard.ZstdError
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._waiting, self._at, self._ready = b"", 0, b""

    eof = property(lambda self: self._frame.eof and not self._ready)
    unused_data = property(lambda self: self._frame.unused_data + self._waiting[self._at:])
    needs_input = property(lambda self: self._at == len(self._waiting) and not self._ready)

    def decompress(self, data, max_length):
        self._waiting, self._at = self._waiting[self._at:] + data, 0
        while not (self._ready or self._frame.eof or self._at == len(self._waiting)):
            piece = self._waiting[self._at:self._at + _ZSTD_PIECE]
            self._at += len(piece)
            try:
                self._ready = self._frame.decompress(piece)
            except self._error as error:
                raise OSError(error) from None
        data, self._ready = self._ready[:max_length], self._ready[max_length:]
        return data


def _xz():
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


#: {suffix: name of the compression, first bytes, decompressor of a member}.
_COMPRESSIONS = {".gz": ("gzip", b"\x1f\x8b", _Gzip),
                 ".bz2": ("bzip2", b"BZh", bz2.BZ2Decompressor),
                 ".xz": ("xz", b"\xfd7zXZ\0", _xz),
                 ".zst": ("zstd", b"\x28\xb5\x2f\xfd", _Zstd)}

#: Suffixes of compressed files.
PACKED = tuple(_COMPRESSIONS)

_LONGEST_START = max(len(start) for _, start, _ in _COMPRESSIONS.values())


def unpacked_name(path: str | os.PathLike[str]) -> str:
    """A file's path without the suffix of a compression."""
    path = os.fspath(path)
    for suffix in PACKED:
        if path.lower().endswith(suffix):
            return path[:-len(suffix)]
    return path


def beside(path, suffix, what):
    """The file of the same name with another suffix, perhaps of a compression.

    Raises UserError, which begins with ``what``, if there is none.
    """
    name = os.path.splitext(unpacked_name(path))[0] + suffix
    found = next((found for found in (name, *(name + packed for packed in PACKED))
                  if os.path.exists(found)), None)
    if found is None:
        raise UserError(f"{path}: {what} in {name}, which is not there")
    return found


class _Plain(io.RawIOBase):
    """The bytes of a file, preceded by bytes that were read and put back."""

    def __init__(self, file, head=b""):
        super().__init__()
        self._file, self._head = file, head

    def readable(self):
        return True

    def put_back(self, head):
        """Give these bytes before all others."""
        self._head = head

    def readinto(self, buffer):
        if not self._head:
            return self._fill(buffer)
        count = min(len(buffer), len(self._head))
        buffer[:count] = self._head[:count]
        self._head = self._head[count:]
        return count

    def _fill(self, buffer):
        return self._file.readinto(buffer)


class _Expanded(_Plain):
    """The contents of a compressed file of one member or several; UserError where they are too
    large."""

    def __init__(self, path, file, head, kind, member):
        super().__init__(file)
        self._path, self._packed, self._kind, self._new = path, head, kind, member
        self._read, self._given = len(head), 0
        self._member = member()

    def _fill(self, buffer):
        while True:
            if self._member.eof:
                self._packed = (self._member.unused_data + self._packed).lstrip(b"\0")    # padding
                if self._packed or self._more():
                    self._member = self._new()
                    continue
                return 0
            if not self._packed and self._member.needs_input and not self._more():
                raise EOFError
            packed, self._packed = self._packed, b""
            try:
                data = self._member.decompress(packed, len(buffer))
            except (zlib.error, lzma.LZMAError, OSError) as error:       # bzip2 has no own error
                raise UserError(f"{self._path}: the compressed file is damaged or not "
                                f"{self._kind}: {error}") from None
            if data:
                break
        self._given += len(data)
        if self._given > max(FREE, EXPANSION * self._read):
            raise UserError(f"{self._path}: expands to more than {EXPANSION} times its size, which "
                            f"no graph does")
        buffer[:len(data)] = data
        return len(data)

    def _more(self):
        """Read more of the file; whether there is more."""
        while not self._packed and (more := self._file.read(_HEAD)):
            self._read += len(more)
            self._packed = more.lstrip(b"\0") if self._member.eof else more
        return bool(self._packed)


class Source:
    """The contents of an input file.

    Attributes
    ----------
    stream : buffered binary stream
        The contents, decompressed, without a UTF-8 byte-order mark.
    head : bytes
        The first 64 KiB of the contents, or all of shorter contents. Reading ``stream`` gives them
        again.
    """

    def __init__(self, path, file, raw):
        self._path, self._file, self._raw = path, file, raw
        self.head = b""
        while len(self.head) < _HEAD and (more := raw.read(_HEAD - len(self.head))):
            self.head += more
        start = len(_BYTE_ORDER_MARK) if self.head.startswith(_BYTE_ORDER_MARK) else 0
        self.head = self.head[start:]
        if self.head.startswith(_OTHER_MARKS):
            raise UserError(f"{path}: the text is in UTF-16, must be in UTF-8; `iconv -f "
                            "UTF-16 -t UTF-8` converts it")
        if type(raw) is _Plain and file.seekable():
            file.seek(start)
            self.stream = io.BufferedReader(file)
        else:
            raw.put_back(self.head)
            self.stream = io.BufferedReader(raw)

    def seekable(self):
        """The contents as a stream that can seek, for archives. A compressed file is read whole.

        Raises UserError for a pipe.
        """
        if isinstance(self._raw, _Expanded):
            return io.BytesIO(self.stream.read())
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            raise UserError(f"{self._path}: an archive cannot be read from a pipe, give its file")
        self._file.seek(0)
        return self._file


@contextlib.contextmanager
def opened(path):
    """The :class:`Source` of an input file, for a ``with`` block.

    Raises
    ------
    UserError
        On entry or within the block: the file does not exist, may not be read, or is neither a file
        nor a pipe; or its compressed contents are damaged, cut or too large.
    """
    path = os.fspath(path)
    try:
        with open_file(path, pipes=True) as file:
            head = b""
            while len(head) < _LONGEST_START and (more := file.read(_LONGEST_START - len(head))):
                head += more
            for kind, start, member in _COMPRESSIONS.values():
                if head.startswith(start):
                    if member is _Zstd:
                        need(f"{path}: reading zstd", "zstandard")
                    yield Source(path, file, _Expanded(path, file, head, kind, member))
                    return
            for suffix, (kind, *_) in _COMPRESSIONS.items():
                if head and path.lower().endswith(suffix):
                    raise UserError(f"{path}: the compressed file is damaged or not {kind}: it "
                                    f"does not begin as one")
            yield Source(path, file, _Plain(file, head))
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file") from None
    except EOFError:
        raise UserError(f"{path}: the compressed file is truncated") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
