"""Small ELF files, made field by field, for the fuzzer and for tests of the ELF reader."""

import struct


__all__ = ["elf"]


def elf(segments, symbols=(), *, flags=0, entry=0, kind=2, machine=243, bits=32, big=False,
        code=None) -> bytes:
    """An ELF file.

    Parameters
    ----------
    segments : list of (int, bytes) or (int, bytes, dict)
        Virtual address and contents. The dict may have ``paddr`` and ``memsz``.
    symbols : list of (str, int, int) or (str, int, int, str)
        Name, address and size. A symbol with the name of a source file is local.
    flags, entry, kind, machine, bits, big
        Fields of the header.
    code : bytes or None
        Contents of an executable section at address 0. None means the
        contents of the first segment.
    """
    order = ">" if big else "<"
    names, table = b"\0", struct.pack(order + "IIIBBH", 0, 0, 0, 0, 0, 0)
    local = sorted(symbols, key=lambda symbol: len(symbol) < 4)
    first_global = 1
    for name, address, size, *file in local:
        if file:
            table += struct.pack(order + "IIIBBH", len(names), 0, 0, 4, 0, 0xFFF1)
            names += file[0].encode() + b"\0"
            first_global += 2
        table += struct.pack(order + "IIIBBH", len(names), address, size,
                             1 if file else 0x11, 0, 1)
        names += name.encode() + b"\0"
    text = segments[0][1] if code is None else code
    header_size, at = 52, 52 + 32 * len(segments)
    programs, contents = b"", b""
    for address, content, *more in segments:
        options = more[0] if more else {}
        programs += struct.pack(order + "8I", 1, at + len(contents), address,
                                options.get("paddr", address), len(content),
                                options.get("memsz", len(content)), 7, 4)
        contents += content
    text_at = at + len(contents)
    table_at = text_at + len(text)
    names_at = table_at + len(table)
    sections_at = names_at + len(names)
    sections = b"".join(struct.pack(order + "10I", *fields) for fields in (
        (0,) * 10,
        (0, 1, 6, 0, text_at, len(text), 0, 0, 4, 0),
        (0, 2, 0, 0, table_at, len(table), 3, first_global, 4, 16),
        (0, 3, 0, 0, names_at, len(names), 0, 0, 1, 0)))
    ident = b"\x7fELF" + bytes((bits // 32, 2 if big else 1, 1)) + bytes(9)
    header = ident + struct.pack(order + "HHIIIIIHHHHHH", kind, machine, 1, entry, header_size,
                                 sections_at, flags, 52, 32, len(segments), 40, 4, 3)
    return header + programs + contents + text + table + names + sections
