"""How busy each resource of the hardware was, and the roofline of a run.

The roofline counts instructions of warps, as the instruction roofline of Ding and Williams does: a
level of the memory moves one line in an access, so a run with *i* instructions for each access to a
level issues at most *i* times the level's accesses a cycle, and at most one instruction a cycle and
core.
"""

import dataclasses

from hw.registers import cycles_of, memory_lines
from hw.stalls import STALLS


__all__ = ["BUSY", "LEVELS", "Resource", "binding", "issue_slots", "levels", "resources"]


#: Share of the cycles from which a resource counts as the one that binds.
BUSY = 0.6

#: The levels of the memory: {name: their accesses, by counters and configuration}.
LEVELS = {"L1": lambda counters, config: counters.get("l1_accesses", 0),
          "L2": lambda counters, config: counters.get("l2_accesses", 0), "DRAM": memory_lines}


@dataclasses.dataclass(frozen=True)
class Resource:
    """A resource and what a run took of it."""
    name: str
    used: float  #: The used part, in ``unit``.
    room: float  #: The room that there was in the same cycles, in ``unit``.
    unit: str  #: The counted things.

    @property
    def share(self) -> float:
        """The used part of the room, from 0 to 1."""
        return self.used / self.room if self.room else 0.0


def resources(counters, config, dram=None) -> list:
    """The resources that a run or a kernel used.

    Parameters
    ----------
    counters : dict of str to int
    config : HardwareConfig
    dram : DramConfig, DramDevice or None
        None for a board, whose memory is not known.
    """
    def of(*names):
        return sum(counters.get(name, 0) for name in names)

    cycles, launch = cycles_of(counters), of("cycles")
    found = []
    if launch:
        slots = launch * config.cores
        found += [Resource("issue slots", of("instructions"), slots, "instructions"),
                  Resource("L1", of("l1_accesses"), slots * config.l1_banks, "lines"),
                  Resource("local memory", of("local_accesses"), slots, "passes")]
    found.append(Resource("L2", of("l2_accesses"), cycles * config.l2_banks, "lines"))
    if dram is not None:
        slow = of("slow_bytes_read", "slow_bytes_written") / config.line_bytes
        found.append(Resource("DRAM", memory_lines(counters, config) - slow,
                              cycles / dram.line_cycles(config), "lines"))
        if "dram_activates" in counters:
            found.append(Resource("DRAM rows", of("dram_activates"),
                                  cycles / dram.activate_cycles(config), "activates"))
        if dram.has_slow:
            found.append(Resource("slow memory", slow,
                                  cycles * config.memory_ports
                                  / dram.slow_occupancy(config.line_bytes), "lines"))
    if config.scu and of("scu_cycles"):
        found.append(Resource("SCU", of("scu_elements"), of("scu_cycles") * config.scu, "elements"))
    return found


def binding(found, counters, config) -> str:
    """A sentence: the resource that binds, or that latency does.

    Parameters
    ----------
    found : list of Resource
    counters, config
        As in :func:`resources`.
    """
    first = max(found, key=lambda resource: resource.share)
    if first.share >= BUSY:
        return f"{first.name} binds: {100 * first.share:.0f} % of its room is used"
    slots = issue_slots(counters, config)
    total = sum(slots.values())
    waits = {cause: cycles for cause, cycles in slots.items() if cause != "issued"}
    text = (f"no resource is near its limit; the busiest is {first.name} with "
            f"{100 * first.share:.0f} %")
    if total and waits:
        cause = max(waits, key=lambda name: waits[name])
        text += (f". Latency binds: {100 * waits[cause] / total:.0f} % of the issue slots "
                 f"{_WAITS[cause]}")
    return text


_WAITS = {"memory": "wait for memory", "local": "wait for local memory",
          "weaver": "wait for the unit that hands out edges",
          "execute": "wait for an execution unit", "barrier": "wait at a barrier",
          "fetch": "wait for instructions", "idle": "have no warp left"}


def issue_slots(counters, config) -> dict:
    """The cycles of all cores' issue slots by their use: ``issued``, a cycle for each instruction;
    each cause of a stall; ``idle``."""
    return {"issued": counters.get("instructions", 0)} | {
        name: counters.get(f"stall_{name}", 0) for name in (*STALLS, "idle")}


def levels(config, dram=None) -> dict:
    """Accesses a cycle that each level of the memory can take, of the whole GPU."""
    found = {"L1": float(config.cores * config.l1_banks), "L2": float(config.l2_banks)}
    if dram is not None:
        found["DRAM"] = 1 / dram.line_cycles(config)
    return found
