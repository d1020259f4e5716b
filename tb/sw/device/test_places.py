"""Places in a program's memory by name: sizes and types of elements, and refusals."""

import numpy as np
import pytest

from base.errors import UserError
from checks.campaign.elf_files import elf
from hw.config import preset
from hw.isa import encode
from sw.device import places
from sw.device.elf import load_elf


TINY = preset("tiny")
DATA = 0x8000_0000


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.elf"
    path.write_bytes(elf([(0, encode("tmc").to_bytes(4, "little"))], SYMBOLS))
    return load_elf(path, TINY)


SYMBOLS = [("byte", DATA, 1), ("half", DATA + 2, 2), ("word", DATA + 4, 4), ("long", DATA + 8, 8),
           ("odd", DATA + 16, 3), ("words", DATA + 20, 12), ("label", DATA + 4, 0),
           ("after", DATA + 32, 0)]


@pytest.mark.parametrize("text, values", [
    ("byte", [0xFF]), ("byte:1:i8", [-1]), ("half", [0x8003]), ("half:i16", [-0x7FFD]),
    ("word", [0x8706_8504]), ("word:4:u8", [4, 0x85, 6, 0x87]), ("long", [0x8F0E_8D0C_8B0A_8908]),
    ("long:2", [0x8B0A_8908, 0x8F0E_8D0C]), ("long:i64", [0x8F0E_8D0C_8B0A_8908 - (1 << 64)]),
    ("odd", [0x10, 0x91, 0x12]),
    ("words", [0x9716_9514, 0x9B1A_9918, 0x9F1E_9D1C]), ("words:2", [0x9716_9514, 0x9B1A_9918]),
    ("words:2:i16", [-0x6AEC, -0x68EA]), ("label", [0x8706_8504]),
    ("label:after", [0x8706_8504, 0x8B0A_8908, 0x8F0E_8D0C, 0x9312_9110, 0x9716_9514, 0x9B1A_9918,
                     0x9F1E_9D1C]),
    ("0x80000004", [0x8706_8504])])
def test_sizes(program, text, values):
    memory = np.arange(64, dtype=np.uint8)
    memory[1::2] |= 0x80
    memory[0] = 0xFF
    memory[2] = 3
    memory[3] = 0x80
    assert places.find(program, text, TINY).values(memory) == values


@pytest.mark.parametrize("text, word", [
    ("nothing", "no symbol 'nothing'"), ("word:2", "word has 4 bytes"), ("words:0", "at least 1"),
    ("word:x", "no symbol 'x'"), ("word:1:u9:u8", "SYMBOL:COUNT:TYPE"), ("after:label", "at least"),
    ("half:0x", "a number of elements"), ("0x80000001:1:u32", "aligned"), ("0x0", "global memory"),
    ("label:0x100000", "global memory"), ("word:\u0663", "a number of elements")])
def test_refused(program, text, word):
    with pytest.raises(UserError) as caught:
        places.find(program, text, TINY)
    assert word in str(caught.value)


def test_text_of_values():
    place = places.Place("x", DATA, 1, np.dtype("<u2"))
    assert place.text(0x8000) == "32768 (-32768, 0x8000)" and place.text(5) == "5 (0x0005)"
    assert places.Place("x", DATA, 1, np.dtype("<i2")).text(-1) == "-1 (65535, 0xffff)"
