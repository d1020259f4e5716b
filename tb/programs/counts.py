"""Counters of random programs after power on, as text that tests expect whole (``tb/expected.py``).

All units count and wait as they did: a unit that only became slower gives right results, and no
budget of a large run moves by a few cycles. After a change of the hardware's timing that is meant,
write the texts again, and read what changed.
"""

import pathlib

from checks.campaign.machines import run
from checks.campaign.random_programs import random_case
from sim.dram import DramConfig
from sim.native import NativeMachine
from tb import expected


__all__ = ["check", "check_programs", "line"]


_FILE = pathlib.Path(__file__).with_name("counts.txt")

#: Memories: quick, and slow with a short queue.
_MEMORIES = ({"latency": 20}, {"latency": 3, "queue": 2, "bytes_per_cycle": 4})

#: Programs of a configuration with each memory.
_PROGRAMS = 3


def line(what, counters) -> str:
    """The counters that are not 0."""
    return f"{what}: " + ", ".join(f"{name} {value}" for name, value in counters.items() if value)


def check(name, lines):
    """Compare lines with those of a configuration."""
    expected.check(_FILE, name, "\n".join(lines))


def check_programs(name, config):
    """Run programs and compare their counters with those of before."""
    lines = []
    for memory in _MEMORIES:
        with NativeMachine(config, DramConfig(**memory)) as device:
            lines += [line(f"latency {memory['latency']}, seed {seed}",
                           run(device, random_case(config, seed)).counters)
                      for seed in range(_PROGRAMS)]
    check(name, lines)
