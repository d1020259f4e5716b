"""Every counter of a simulated machine has a text."""

from hw.registers import COUNTERS
from sim.interface import ChannelCounts, PortReport
from sim.meanings import meaning


def test_every_counter_has_a_text_of_its_own():
    ports, channels = ([name for name, *_ in of._fields_] for of in (PortReport, ChannelCounts))
    names = [*COUNTERS, *(f"{memory}_bytes_{way}" for memory in ("dram", "slow")
                          for way in ("read", "written")),
             *(f"dram_{name}" for name in channels),
             *(f"channel_{number}_{name}" for number in (0, 15) for name in channels),
             *(f"port_{number}_{name}" for number in (0, 7) for name in ports)]
    texts = {meaning(name) for name in names}
    assert len(texts) == len(names) and "" not in texts
    assert meaning("port_0_lines_read").startswith("memory port 0: ")
    assert meaning("dram_row_hits").endswith(", of all channels")


def test_no_text_for_another_name():
    for name in ("port_0", "port_0_nothing", "channel", "dram_nothing", "lanes_of"):
        assert meaning(name) == ""
