"""Programs from ELF files.

====================  =====================================================
place of the program  test_virtual_address, test_overlap, test_too_large
kinds of program      test_refused_by_name
kinds of file         test_what_is_no_file, test_a_segment_that_claims_gigabytes
symbols               test_functions, test_ambiguous
missing units         test_missing_unit
====================  =====================================================
"""

import os
import tracemalloc

import pytest

from base.errors import UserError
from checks.campaign.elf_files import elf
from hw.config import preset
from hw.isa import encode
from sw.device import places
from sw.device.elf import load_elf


TINY = preset("tiny")
DATA = 0x8000_0000
NOP = encode("addi").to_bytes(4, "little")
DIV = encode("div", rd=5, rs1=6, rs2=7).to_bytes(4, "little")


def read(tmp_path, *arguments, config=TINY, **options):
    path = tmp_path / "program.elf"
    path.write_bytes(elf(*arguments, **options))
    return load_elf(path, config)


def refused(tmp_path, *arguments, config=TINY, **options):
    """Check that a program is refused in one line. Returns the message."""
    with pytest.raises(UserError) as caught:
        read(tmp_path, *arguments, config=config, **options)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "program.elf")) and "\n" not in message
    return message


def test_what_is_no_file(tmp_path):
    """A named pipe that nobody writes to would block, and a device has no end."""
    os.mkfifo(tmp_path / "pipe")
    for path, words in ((tmp_path / "pipe", "a named pipe"), (tmp_path, "a folder"),
                        ("/dev/zero", "a device")):
        with pytest.raises(UserError, match=words):
            load_elf(path, TINY)


def test_virtual_address(tmp_path):
    found = read(tmp_path, [(0, 3 * NOP), (DATA + 8, b"data", {"paddr": 12, "memsz": 8})])
    assert found.data == [(DATA + 8, b"data\0\0\0\0")]
    assert found.words == [encode("addi")] * 3


@pytest.mark.parametrize("options, words", [
    ({"flags": 0x1}, ("compressed", "RVC", "-march=rv32ima_zicsr")),
    ({"flags": 0x2}, ("single-precision", "-mabi=ilp32")),
    ({"flags": 0x4}, ("double-precision",)), ({"flags": 0x6}, ("quad-precision",)),
    ({"flags": 0x8}, ("RVE",)), ({"big": True}, ("big-endian",)),
    ({"machine": 62}, ("EM_X86_64", "EM_RISCV")), ({"kind": 3}, ("ET_DYN", "ET_EXEC")),
    ({"entry": 2}, ("entry point", "0x00000002"))])
def test_refused_by_name(tmp_path, options, words):
    message = refused(tmp_path, [(0, NOP)], **options)
    assert all(word in message for word in words), message


@pytest.mark.parametrize("field", [4, 16, 20])      # offset, size in the file, size in memory
def test_a_segment_that_claims_gigabytes(tmp_path, field):
    content = bytearray(elf([(0, NOP), (DATA, b"data")]))
    place = 52 + 32 + field
    content[place:place + 4] = (0x7700_0000).to_bytes(4, "little")
    path = tmp_path / "program.elf"
    path.write_bytes(content)
    tracemalloc.start()
    with pytest.raises(UserError):
        load_elf(path, TINY)
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_64_bits(tmp_path):
    path = tmp_path / "program.elf"
    content = bytearray(elf([(0, NOP)]) + bytes(64))
    content[4] = 2
    path.write_bytes(content)
    with pytest.raises(UserError, match="RV64, must be for RV32"):
        load_elf(path, TINY)


@pytest.mark.parametrize("first, second", [((0, 2 * NOP), (4, NOP)),
                                           ((DATA, bytes(8)), (DATA + 7, b"x"))])
def test_overlap(tmp_path, first, second):
    message = refused(tmp_path, [(64, NOP), first, second], entry=64)
    assert "segment 2" in message and "overlaps segment 1" in message
    read(tmp_path, [(64, NOP), first, (second[0] + 8, second[1])], entry=64)


def test_too_large(tmp_path):
    message = refused(tmp_path, [(0, 3000 * NOP)])
    assert "imem_bytes is 8192" in message and "--set imem_bytes=16384" in message
    assert "1048576" in message
    read(tmp_path, [(0, 3000 * NOP)], config=TINY.replace(imem_bytes=16384))
    read(tmp_path, [(0, NOP * (1 << 18))], config=TINY.replace(imem_bytes=1 << 20))
    message = refused(tmp_path, [(0, NOP * ((1 << 18) + 1))])
    assert "may be 1048576 at most" in message
    message = refused(tmp_path, [(0, NOP), (DATA, b"x", {"memsz": (1 << 22) + 1})])
    assert "memory_bytes is 4194304" in message


def test_functions(tmp_path):
    found = read(tmp_path, [(0, 8 * NOP)], [("_start", 0, 8), ("main", 8, 24), ("x", DATA, 4)])
    assert [found.function(pc) for pc in (0, 4, 8, 28, 32)] == [
        "_start", "_start+0x4", "main", "main+0x14", ""]


def test_ambiguous(tmp_path):
    segments = [(0, NOP), (DATA, bytes(range(16)))]
    both = [("count", DATA, 4, "a.c"), ("count", DATA + 8, 2, "b.c")]
    found = read(tmp_path, segments, both)
    with pytest.raises(UserError) as caught:
        places.find(found, "count", TINY)
    for word in ("'count'", "a.c at 0x80000000, 4 bytes", "b.c at 0x80000008, 2 bytes"):
        assert word in str(caught.value)
    assert places.find(found, "0x80000008:2:u8", TINY).address == DATA + 8
    found = read(tmp_path, segments, [*both, ("count", DATA + 12, 4)])
    assert found.symbol("count").address == DATA + 12


def test_missing_unit(tmp_path):
    symbols = [("_start", 0, 8), ("average", 8, 8)]
    found = read(tmp_path, [(0, 3 * NOP + DIV)], symbols, config=preset("fpga"))
    with pytest.raises(UserError) as caught:
        found.check_units(preset("fpga"))
    assert ("contains DIV at 0x0000000c in average+0x4; preset fpga has divider=none: use --set "
            "divider=serial") in str(caught.value)
    found.check_units(TINY)
    # Bytes that the file does not mark as code may be anything.
    found = read(tmp_path, [(0, 3 * NOP + DIV)], symbols, config=preset("fpga"), code=3 * NOP)
    found.check_units(preset("fpga"))
