# amaranth: UnusedElaboratable=no
"""The Verilog of a board: its ports, with a memory port and with the pins of an SDRAM."""

import re

import pytest

from hw.config import ConfigError, preset
from hw.link import flat
from hw.sdram.pins import Pins


CONFIG = preset("tiny")
PORTS = {"clk", "rst", "rx", "tx", "busy"}
MEMORY = {f"mem_{name}" for name in (
    "req_valid", "req_ready", "req_write", "req_line", "req_data", "req_mask", "req_tag",
    "rsp_valid", "rsp_ready", "rsp_tag", "rsp_data")}


@pytest.mark.parametrize("sdram, more", [
    (True, {f"sdram_{name}" for name in Pins.members}), (False, MEMORY)], ids=["sdram", "memory"])
def test_ports(sdram, more):
    text = flat.verilog(CONFIG, 48, 48_000_000, sdram=sdram)
    ports = re.search(r"(?m)^module graphloom_board\((.*?)\);", text)[1]
    assert set(ports.split(", ")) == PORTS | more


@pytest.mark.parametrize("clock_hz", [39_000_000, 101_000_000])
def test_clocks_that_an_sdram_does_not_have(clock_hz):
    with pytest.raises(ConfigError, match=f"SDRAM clock of {clock_hz // 1_000_000} MHz"):
        flat.FlatSystem(CONFIG, 48, clock_hz)


@pytest.mark.parametrize("board", [flat.FlatBoard, flat.FlatSystem])
def test_a_board_has_one_memory_port(board):
    with pytest.raises(ConfigError, match="memory_ports = 2: must be 1 on a board, which has one "
                                          "memory"):
        board(CONFIG.replace(l2_banks=2, memory_ports=2), 48, 48_000_000)
