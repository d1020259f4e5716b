"""The whole output of ``exec`` on the functional simulator: each end of a program, each form of a
value, and what the options write. Programs are a few instructions, so that every count is known."""

import pathlib

import pytest

from hw.isa import encode
from tb.cli.test_exec import DATA, END, code, write


EXPECTED = pathlib.Path(__file__).parent / "outputs_exec.txt"

#: A word of each kind, arrays, and the words by which a program speaks to its host.
SYMBOLS = [("byte", DATA, 1), ("half", DATA + 2, 2), ("word", DATA + 4, 4), ("double", DATA + 8, 8),
           ("bytes", DATA + 16, 5), ("many", DATA + 24, 72), ("tohost", DATA + 96, 8),
           ("main", 0, 64), ("start", DATA + 4, 0), ("behind", DATA + 104, 0)]

CONTENT = bytes(range(0xF0, 0x100)) + b"hello" + bytes(3) + b"".join(
    (number - 3).to_bytes(4, "little", signed=True) for number in range(18)) + bytes(8)

#: Register 5 leads to the data.
BASE = encode("lui", rd=5, imm=DATA >> 12)


@pytest.fixture
def runs(shows, tmp_path):
    """A function that runs a program of some instructions, with options."""
    def run(name, instructions, *options, content=CONTENT, symbols=SYMBOLS):
        program = write(tmp_path, [(0, code(BASE, *instructions)), (DATA, content)], symbols)
        shows(EXPECTED, name, "exec", program, "--preset", "tiny", "--functional", "--json",
              "run.json", *options)
    return run


def test_values(runs, tmp_path):
    read = [word for text in ("byte", "half", "word", "double", "bytes", "many", "many:3",
                              "many:2:i16", "word:i32", "byte:i8", "double:u64", "half:1:u8")
            for word in ("--read", text)]
    runs("values", [END], *read)
    runs("expectations that hold", [END], "--expect", "word=0xf7f6f5f4", "--expect",
         "word:i32=-134810124", "--expect", "bytes=104,101", "--expect", "many:2:i32=-3,-2")
    runs("expectations", [END], "--expect", "word=7", "--expect", "many:4:i32=-3,-2,-1,1",
         "--expect", "byte=-15")
    (tmp_path / "given.bin").write_bytes(b"ABCDE")
    runs("load and dump", [encode("lw", rd=6, rs1=5, imm=16),
                           encode("sw", rs1=5, rs2=6, imm=4), END],
         "--load", "bytes", "given.bin", "--dump", "start:behind", "taken.bin", "--read", "bytes")
    assert (tmp_path / "taken.bin").read_bytes() == (
        b"ABCD" + CONTENT[8:16] + b"ABCDE" + CONTENT[21:])
    runs("argument", [encode("csrrs", rd=6, csr=0x340), encode("sw", rs1=5, rs2=6, imm=4), END],
         "--argument", "0xffffffff", "--read", "word", "--set", "cores=2")


@pytest.mark.parametrize("text", ["word", "word=1=2", "byte=256", "byte=-129", "byte=x",
                                  "bytes=1,2,3,4,5,6", "nothing=1", "word:0=1", "word:u7=1"])
def test_expectations_that_mean_nothing(runs, text):
    runs(f"expect {text}", [END], "--expect", text)


@pytest.mark.parametrize("words", [
    ["--argument", "4294967296"], ["--argument", "x"], ["--load", "bytes", "long.bin"],
    ["--load", "bytes", "none.bin"], ["--dump", "word:27", "x.bin"], ["--stack", "100"],
    ["--read", "many:19"], ["--lanes", "both"]])
def test_refused(runs, tmp_path, words):
    (tmp_path / "long.bin").write_bytes(b"ABCDEF")
    runs(f"refused {' '.join(words)}", [END], *words)


@pytest.mark.parametrize("place", [
    "0x803ffffc:1", "0x803ffffc:2", "0x803ffffe:1", "0x7ffffffc:1", "0x80000000",
    "0x80000002:1:u16", "0x80000001:1:u16", "start:half", "start:many:u8", "start:half:u8",
    "half:start:u16", "byte:half:u32", "many::u8", "double:1", "many:0x2"])
def test_places(runs, place):
    """Places are in global memory, which has 4 MiB, and aligned; a symbol says how far."""
    runs(f"read {place}", [END], "--read", place)


@pytest.mark.parametrize("symbol, address, size, content", [
    ("graphloom_console", 0, 8, b"\4\0\0\0abc\n"), ("graphloom_console", 0, 8, b"\5\0\0\0abcd"),
    ("graphloom_console", 4, 11, bytes(4) + b"\3\1\0\0abcdefg"),
    ("graphloom_console", 0, 7, b""), ("graphloom_console", 2, 8, b""),
    ("graphloom_console", (1 << 22) - 8, 8, b""), ("graphloom_console", (1 << 22) - 8, 12, b""),
    ("tohost", 0, 4, b"\7\0\0\0\1"), ("tohost", 0, 8, b"\7\0\0\0\1"),
    ("tohost", 0, 0, b"\7\0\0\0\1"), ("tohost", 0, 3, b"")])
def test_host(runs, symbol, address, size, content):
    """What a program finds in memory at its start is seen by the host: no more than there is room
    for."""
    runs(f"{symbol} of {size} at {address}: {content!r}", [END], content=content + bytes(16),
         symbols=[(symbol, DATA + address, size)])


def _word(register, value, place):
    """Write a small number to a place of the data."""
    return [encode("addi", rd=register, imm=value), encode("sw", rs1=5, rs2=register, imm=place)]


@pytest.mark.parametrize("name, instructions, options", [
    ("exit 0", [*_word(6, 1, 96), END], []),
    ("exit 5", [*_word(6, 11, 96), END], ["--expect", "word=7"]),
    ("exit and wait", [*_word(6, 11, 96), encode("jal")], []),
    ("a request", [*_word(6, 64, 96), END], []),
    ("ebreak", [encode("ebreak"), END], []),
    ("ecall after an exit", [*_word(6, 7, 96), encode("ecall")], []),
    ("load from text", [encode("lw", rd=6), END], []),
    ("load from nowhere", [encode("addi", rd=7, imm=-4), encode("lw", rd=6, rs1=7), END], []),
    ("load beside a word", [encode("lw", rd=6, rs1=5, imm=2), END], []),
    ("store beside a half", [encode("sh", rs1=5, rs2=6, imm=3), END], []),
    ("past the end", [encode("addi")], []),
    ("an illegal instruction", [0, END], []),
])
def test_ends(runs, name, instructions, options):
    runs(name, instructions, *options)


#: Lanes other than 0 branch.
SPLIT = [encode("csrrs", rd=6, csr=0xCC0), encode("bne", rs1=6, imm=8),
         *_word(7, 9, 4), END]


@pytest.mark.parametrize("lanes", ["agree", "leader"])
def test_lanes(runs, lanes):
    runs(f"lanes {lanes}", [encode("addi", rd=8, imm=-1), encode("tmc", rs1=8), *SPLIT],
         "--lanes", lanes, "--read", "word")
