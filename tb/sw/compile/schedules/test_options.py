"""Options of schedules: one that a plan accepts changes the program, or the run tells what it did
instead.

=================================  ==========================================================
every option of every schedule     test_no_option_is_idle
refused, each for its reason       test_refused, test_numbers_begin_at_one
=================================  ==========================================================
"""

import contextlib
import hashlib

import numpy as np
import pytest

from base.errors import UserError
from sw.compile import schedules
from sw.graph.load import load
from sw.compile.options import Integer, word
from sw.device import Device
from tb.sw.compile.kernels.test_programs import config

GRAPH = load("rmat:scale=6,degree=6,seed=1,weights=9")

#: Plans of different kinds: where all vertices take part, with a frontier as list and as map, with
#: weights, and with work that is shared by a counter.
PLANS = ({"algorithm": "pagerank", "direction": "pull"},
         {"algorithm": "pagerank", "direction": "push", "split": "counter"},
         {"algorithm": "bfs", "direction": "push", "frontier": "queue"},
         {"algorithm": "bfs", "direction": "push", "frontier": "bitmap", "split": "counter"},
         {"algorithm": "bfs", "direction": "push", "frontier": "lists"},
         {"algorithm": "sssp", "direction": "push"}, {"algorithm": "gcn", "direction": "pull"})

UNITS = {"weaver": ("fsm", "stream"), "graphpeg": ("graphpeg",)}


class _Memory:
    """A machine whose memory is only counted: everything that a task puts there."""

    def __init__(self):
        self.digest = hashlib.sha256()

    def write_memory(self, address, values):
        self.digest.update(f"{address} ".encode() + np.ascontiguousarray(values).tobytes())

    def fill_memory(self, address, words, fill):
        self.digest.update(f"{address} {words} {fill}".encode())


def device(schedule, gather):
    return Device.functional(config(8, 8, cores=2, gather=gather, imem_bytes=1 << 16,
                                    local_bytes=1 << 14, scu=4 * schedule.startswith("scu")))


def prepared(device, text, plan):
    """The task of a plan, and a digest of all that runs: program, memory, kernels, unit."""
    choices = dict(plan)
    task = device.plan(choices.pop("algorithm"), GRAPH, schedule=text, **choices)
    memory = _Memory()
    memory.digest.update(repr(task.program.words).encode())
    task.build()
    task.buffers.upload(memory)
    for name, steps in task.kernel_sets.items():
        memory.digest.update(repr([(name, step.name, step.once, step.in_turn)
                                   for step in steps]).encode())
    return task, memory.digest.hexdigest()


@pytest.mark.parametrize("name", [name for name in schedules.names()
                                  if schedules.make(name).OPTIONS])
@pytest.mark.sample(4)
def test_no_option_is_idle(name):
    """If two values of an option are accepted and give the same program and memory, the task tells
    a value that holds in their place."""
    found = set()
    for gather in UNITS.get(name, ("none",)):
        with device(name, gather) as there:
            for plan in PLANS:
                for option, what in schedules.make(name).OPTIONS.items():
                    if option == "ways":            # a setting of the unit alone
                        continue
                    made, told = {}, 0
                    for value in what.tries:
                        if value is None or len(set(made.values())) > 1:
                            continue
                        with contextlib.suppress(UserError):
                            task, made[value] = prepared(there, f"{name}:{option}={word(value)}",
                                                         plan)
                            told += task.used.get(option, value) != value
                    if len(made) > 1 and len(set(made.values())) == 1:
                        assert told >= len(made) - 1, (option, plan, gather)
                    elif made:
                        found.add(option)
    assert found == {*schedules.make(name).OPTIONS} - {"ways"}


@pytest.mark.parametrize("name, option", [
    (name, option) for name in schedules.names()
    for option, what in schedules.make(name).OPTIONS.items() if isinstance(what, Integer)])
def test_numbers_begin_at_one(name, option):
    """A lane that works on no edge at once would never end."""
    with pytest.raises(UserError, match=f"{option} is '0', must be an? "):
        schedules.canonical(f"{name}:{option}=0")


@pytest.mark.parametrize("schedule, gather, plan, words", [
    ("graphpeg:lists=own", "graphpeg", 2, "cannot follow lists=own here: no superstep reads"),
    ("graphpeg:lists=dealt", "graphpeg", 0, "cannot follow lists=dealt here"),
    ("scu-enhanced:sets=4", "none", 1, "cannot follow sets=4 here: the unit filters no edges, "
                                       "because every edge of 'pagerank' matters"),
    ("scu-stream:ways=2", "none", 1, "cannot follow ways=2 here: the unit filters no edges"),
    ("scu-enhanced:grouping=edges", "none", 2, "grouping=edges here: edges are grouped if they "
                                               "have weights, and 'bfs' uses none"),
    ("twc:once=yes", "none", 2, "once=yes here: a frontier says which rows a superstep has"),
    ("twc:kernels=one", "none", 1, "kernels=one here: with split=counter each queue has a kernel"),
    ("weaver:sums=local", "stream", 2, "sums=local here: no vertex collects"),
    ("weaver:sums=local", "fsm", 0, "with the option sums needs a Weaver without rounds")])
def test_refused(schedule, gather, plan, words):
    with device(schedule, gather) as there, pytest.raises(UserError, match=words):
        prepared(there, schedule, PLANS[plan])
