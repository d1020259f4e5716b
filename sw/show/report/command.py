"""The command line that repeats a run, from what its file of results says."""

import dataclasses
import shlex

from base.installation import PROGRAM
from hw.config import PRESETS, ConfigError, HardwareConfig
from hw.control import launch_cycles as port_cycles
from sim.dram import DramConfig
from sim.dram_device import DramDevice
from sim.memories import SimulatedDram, changes_of


__all__ = ["hardware_of", "hardware_text", "hardware_words", "memory_of", "run_command"]


def hardware_words(config, dram=None) -> list:
    """The options of a configuration: the preset with the fewest changed fields, and the changes.

    Parameters
    ----------
    config : HardwareConfig
    dram : DramConfig or DramDevice, optional
    """
    values = dataclasses.asdict(config)

    def changes(preset):
        return [f"{name}={_word(values[name])}" for name, value in
                dataclasses.asdict(preset).items() if name != "name" and values[name] != value]

    name, changed = min(((name, changes(preset)) for name, preset in PRESETS.items()),
                        key=lambda pair: (len(pair[1]), pair[0] != "default"))
    words = [] if name == "default" else ["--preset", name]
    for text in changed:
        words += ["--set", text]
    if dram is not None:
        for text in changes_of(dram, PRESETS[name]):
            words += ["--dram", text]
    return words


def _word(value):
    """A field's value as ``--set`` takes it."""
    return str(value).lower() if isinstance(value, bool) else value


def hardware_text(config) -> str:
    """The hardware in a few words."""
    words = [f"{config.cores} cores of {config.warps} warps x {config.threads} lanes"
             if config.cores > 1 else f"{config.warps} warps x {config.threads} lanes",
             f"L1 {config.l1_bytes // 1024} KiB",
             f"L2 {config.l2_bytes // 1024} KiB" if config.l2_bytes else "no L2 cache",
             f"unit {config.gather}" if config.gather != "none" else "no unit for edges"]
    if config.group_warps:
        words.append(f"groups of {config.group_warps} warps")
    if config.scu:
        words.append(f"SCU of {config.scu}")
    if config.memory_ports > 1:
        words.append(f"{config.memory_ports} memory ports")
    return f"{config.name}: " + ", ".join(words)


def run_command(plan, source, target) -> str:
    """The command line that runs a plan alone.

    Parameters
    ----------
    plan : str
        Text of the plan.
    source : GraphSource
    target : Target
        Its limits are left out.
    """
    spec, *options = source.words()
    words = [PROGRAM, "run", spec, "--plan", plan, *options]
    if target.functional:
        words.append("--functional")
    if target.board is not None:
        words += ["--device", f"serial:{target.board.port}@{target.board.baud}"]
    simulated = target.board is None and not target.functional
    words += hardware_words(target.config, target.dram if simulated else None)
    if target.launch_cycles not in (None, port_cycles(target.config)):
        words += ["--launch-cycles", f"{target.launch_cycles:.0f}"]
    return shlex.join(words)


def _record_of(kind, record, what):
    names = {field.name for field in dataclasses.fields(kind)}
    if not isinstance(record, dict) or record.keys() != names:
        raise ConfigError(f"its {what} is of another version of Graphloom")
    return kind(**record)


def hardware_of(record) -> HardwareConfig:
    """The configuration with these fields. Raises ConfigError, also for fields of other versions.
    """
    return _record_of(HardwareConfig, record, "configuration")


def memory_of(record) -> SimulatedDram:
    """The memory with these fields. Raises ConfigError, also for fields of other versions."""
    device = isinstance(record, dict) and "model" in record
    return _record_of(DramDevice if device else DramConfig, record, "memory")
