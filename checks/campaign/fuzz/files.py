"""Mutations of files, and the commands that read each kind."""

import bz2
import gzip
import io
import lzma
import re
import struct
import warnings
import zipfile


__all__ = ["LOAD_IMAGE", "commands", "mutated"]


#: Stands for the function ``sw.compile.formats.store.load``, which no command calls with a user's
#: file.
LOAD_IMAGE = "load-image"


_TOKENS = (b"0", b"-1", b"1e9", b"1.0D+01", b"2147483646", b"2147483647", b"4294967295",
           b"4294967296", b"99999999999999999999", b"nan", b"0.5", b"\xd9\xa3", b"x", b"source",
           b"", b" ", b"\t", b"\n", b"\r\n", b"#", b"%", b",", b";", b"|", b"\"", b"{}", b"\0",
           b"\xff", b"\xef\xbb\xbf", b"\x1b[31m", b"{'weight': 3}")

#: Contents that replace a whole file.
_WHOLE = (b"", b"\n", b"\0" * 5000, b"PK\x03\x04", b"\x1f\x8b\x08\x00", b"\x7fELF", b"1 " * 60_000,
          b"0 2147483646\n", b"[" * 200_000 + b"\n", b"{" * 100_000, b'{"key":[1]}\n', b"null\n",
          b"%%MatrixMarket matrix coordinate real general\n2147483646 2147483646 1\n1 1 1\n",
          b"p sp 2147483646 1\na 1 2 3\n", b"9" * 100_000, b"0 1\n" * 3 + b"0 1",
          b"# graphloom: vertices 4000000000\n0 1\n", b"# graphloom: vertices 1\n0 5\n",
          b"4 3\n0 1\n1 2\n2 3\n", b"BZh9", b"\xfd7zXZ\0", b"graph {\n", b"\"" * 100_000,
          b"source,target\n" + b"\"," * 50_000, b"0 1 2\n" * 3 + b"3\n", b"a b\n" * 20_000,
          b"%%MatrixMarket matrix array real general\n2147483646 2147483646\n1\n")


#: Options with which the files of a kind are read.
_OPTIONS = {".complex.mtx": ["--no-weights"], ".ids.csv": ["--relabel"],
            ".counted": ["--input-format", "counted"], ".matrix": ["--input-format", "matrix"]}


def commands(kind):
    """Command lines that read a file of a kind from :data:`checks.campaign.fuzz.corpus.KINDS`.

    ``FILE`` stands for the file.
    """
    if kind == ".elf":
        return (["exec", "FILE"], ["exec", "FILE", "--read", "result", "--preset", "tiny"])
    if kind == ".jsonl":
        return (["campaign", "--only", "1", "--results", "FILE"],
                ["bench", "schedules", "--graph", "karate", "--results", "FILE"])
    if kind == ".image.npz":
        return ([LOAD_IMAGE, "FILE"],)
    if kind == ".features.npz":
        return (["run", "gcn", "karate", "--preset", "tiny", "--features", "FILE"],)
    lines = (["graph", "info", "FILE"], ["graph", "info", "FILE"],
             ["graph", "convert", "FILE", "out.npz"], ["graph", "convert", "FILE", "out.mtx"],
             ["run", "bfs", "FILE", "--preset", "tiny"],
             ["run", "sssp", "FILE", "--preset", "tiny", "--weights", "5"])
    return tuple(line + _OPTIONS.get(kind, []) for line in lines)


def _flip(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        place = rng.randrange(len(data))
        data[place] = data[place] ^ 1 << rng.randrange(8) if rng.random() < 0.6 \
            else rng.randrange(256)
    return bytes(data)


def _cut(rng, data):
    place = rng.randrange(len(data))
    return data[:place] if rng.random() < 0.5 else data[place:]


def _splice(rng, data):
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    b = min(b, a + 400)
    return (data[:a] + data[b:], data[:b] + data[a:b] * rng.choice((1, 2, 50)) + data[b:],
            data[:a] + bytes(b - a) + data[b:])[rng.randrange(3)]


def _number(rng, data):
    """Change a number in a text, or a word of 32 or 16 bits in a binary file."""
    found = [match.span() for match in re.finditer(rb"\d+", data[:20_000])]
    if found and rng.random() < 0.7:
        begin, end = rng.choice(found)
        return data[:begin] + rng.choice(_TOKENS) + data[end:]
    size = rng.choice((2, 4, 8))
    place = rng.randrange(max(1, len(data) - size))
    value = rng.choice((0, 1, 255, (1 << 8 * size) - 1, 1 << 8 * size - 1,
                        rng.getrandbits(8 * size)))
    return data[:place] + value.to_bytes(size, "little") + data[place + size:]


def _token(rng, data):
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(_TOKENS) + data[place:]


def _lines(rng, data):
    lines = data.split(b"\n")
    place, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[place] = rng.choice((b"", lines[other], lines[place] * 3, lines[place] + b" 1 2 3"))
    return b"\n".join(lines)


def _bomb(rng, data):
    """More data than a file of this kind needs, at once or after decompression."""
    return rng.choice((data + b"\n" * 400_000, data + b"0" * 3_000_000, b"#" * 3_000_000 + data,
                       data + data * 20))


def _npy(rng, data):
    """Change the header of one array of an .npz, with the same length if possible."""
    headers = [match.span() for match in re.finditer(rb"\{'descr':[^\n]*\n", data)]
    if not headers:
        return _flip(rng, data)
    begin, end = rng.choice(headers)
    text = rng.choice((
        b"{'descr': '<u4', 'fortran_order': False, 'shape': (10**30,), }",
        b"{'descr': '<u4', 'fortran_order': False, 'shape': (1000000000000,), }",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        b"{'descr': '<u4', 'fortran_order': False, 'shape': (-1,), }",
        b"{'descr': [('a', '<u4')], 'fortran_order': True, 'shape': (2,), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
        b"(" * 60 + b")" * 40, b"[" * 100))
    return data[:begin] + text.ljust(end - begin - 1)[:end - begin - 1] + b"\n" + data[end:]


_MUTATIONS = (_flip, _flip, _cut, _splice, _number, _number, _token, _token, _lines, _npy, _bomb)


#: {suffix: module that compresses}.
_PACKERS = {".gz": gzip, ".bz2": bz2, ".xz": lzma}


def _members(data):
    """Names and contents of a zip archive's members; None if the archive is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:                        # zipfile raises many kinds for a damaged archive
        return None


def _repacked(rng, data):
    """An .npz with one mutated member in a correct archive."""
    members = _members(data)
    if not members:
        return _flip(rng, data)
    place = rng.randrange(len(members))
    name, content = members[place]
    if rng.random() < 0.15:
        name = rng.choice((name[:-5] + ".npy", "x.npy", name + name, "\x1b[31m.npy", "../" + name,
                           members[0][0]))
    else:
        content = _once(rng, content, (_flip, _cut, _splice, _number, _npy, _npy))
    members[place] = name, content
    if rng.random() < 0.1:
        members.append(rng.choice(members))
    packed = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")      # two members of one name are intended
        with zipfile.ZipFile(packed, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) \
                as archive:
            for name, content in members:
                archive.writestr(name, content)
    return packed.getvalue()


def _once(rng, data, mutations=_MUTATIONS):
    return rng.choice(mutations)(rng, data) if data else rng.choice(_WHOLE)


def mutated(rng, kind, data):
    """A mutation of a file.

    Parameters
    ----------
    rng : random.Random
    kind : str
        A kind from :data:`checks.campaign.fuzz.corpus.KINDS`.
    data : bytes
        The valid file.

    Returns
    -------
    bytes
    """
    if rng.random() < 0.04:
        return rng.choice(_WHOLE)
    if kind.endswith("npz") and rng.random() < 0.6:
        return _repacked(rng, data)
    packer = _PACKERS.get(kind[kind.rindex("."):])
    inner = packer is not None and rng.random() < 0.7
    if inner:                                # a correct archive of a wrong file
        data = packer.decompress(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = _once(rng, data)
    if not inner:
        return data
    tail = rng.choice((b"", b"", b"", b"junk", struct.pack("<I", 0)))
    packed = gzip.compress(data, 1, mtime=0) if packer is gzip else packer.compress(data)
    return packed + tail
