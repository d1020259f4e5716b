"""Messages of a program to the host in memory: text, exit code, and requests that are not served.
"""

import numpy as np
import pytest

from base.errors import UserError
from checks.campaign.elf_files import elf
from hw.config import preset
from hw.isa import encode
from sw.device.elf import load_elf
from sw.device.host import Host


DATA = 0x8000_0000


def make(tmp_path, *symbols):
    """A host, its memory in words, and the list of texts it has shown."""
    path = tmp_path / "program.elf"
    path.write_bytes(elf([(0, encode("tmc").to_bytes(4, "little"))], symbols))
    memory, shown = np.zeros(64, np.uint8), []
    return Host(load_elf(path, preset("tiny")), memory, shown.append), memory.view(np.uint32), shown


def test_text(tmp_path):
    host, words, shown = make(tmp_path, ("graphloom_console", DATA + 4, 20))
    assert not host.look() and not host.ends and shown == []
    words[2:6] = np.frombuffer(b"Hello, RTL 12345", np.uint32)
    for count, new, lost in ((5, b"Hello", 0), (5, None, 0), (16, b", RTL 12345", 0),
                             (23, None, 7)):
        words[1] = count
        shown.clear()
        assert not host.look()
        assert shown == [new] * (new is not None) and host.lost == lost
    assert host.written == b"Hello, RTL 12345" and host.exit_code is None


@pytest.mark.parametrize("size, low, high, code", [
    (4, 1, 9, 0), (8, 1, 0, 0), (8, 11, 0, 5), (0, 0xFFFF_FFFF, 1, 0x7FFF_FFFF), (8, 0, 0, None),
    (8, 0x40, 0, None), (8, 0x41, 0x101_0000, None)])
def test_exit_code(tmp_path, size, low, high, code):
    host, words, _ = make(tmp_path, ("tohost", DATA + 8, size))
    assert host.ends and not host.look()
    words[2:4] = low, high
    assert host.exit_code == code
    assert host.look() == bool(low) == (host.request != 0)


@pytest.mark.parametrize("name, address, size", [
    ("tohost", DATA, 2), ("tohost", DATA + 2, 4), ("tohost", DATA + 64, 4),
    ("graphloom_console", DATA, 4)])
def test_refused(tmp_path, name, address, size):
    with pytest.raises(UserError, match=f"{name} at .* must be at least"):
        make(tmp_path, (name, address, size))
