"""The machine that runs a plan, and its limits, as one record."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

from hw.link.frames import BAUD
from sim.memories import dram_of
from sw.device.link import TIME_LIMIT
from sw.device.device import Device

if TYPE_CHECKING:
    from hw.config import HardwareConfig


__all__ = ["Board", "Target"]


class Board(NamedTuple):
    """A board at a serial port: the port, its baud rate, and the seconds that a run may take."""
    port: str
    baud: int = BAUD
    time_limit: float | None = TIME_LIMIT


@dataclasses.dataclass(frozen=True)
class Target:
    """A machine and its limits: the RTL, a board, or the functional simulator."""
    config: HardwareConfig
    #: The memory behind the RTL; left out, that of the configuration's preset.
    dram: Any = None
    board: Board | None = None  #: The board; left out, a simulation.
    #: Whether the functional simulator runs, which counts instructions, not cycles.
    functional: bool = False
    max_cycles: int | None = None  #: Cycles, or instructions, after which a run is given up.
    #: Cycles of the host for a launch; left out, those of the host port.
    launch_cycles: int | None = None

    def __post_init__(self) -> None:
        if self.dram is None:
            object.__setattr__(self, "dram", dram_of({}, self.config))

    @property
    def unit(self) -> str:
        """The unit of costs: ``"cycles"`` or ``"instructions"``."""
        return "instructions" if self.functional else "cycles"

    def on(self, config: HardwareConfig) -> Target:
        """The same with other hardware."""
        return dataclasses.replace(self, config=config)

    def device(self, *, show: Any = None, tell: Any = None, **watched: Any) -> Device:
        """The device.

        Parameters
        ----------
        show, tell : callable, optional
            Called with a line of text: for texts that change all the time, and for long steps.
        **watched
            ``progress``, and for the RTL ``wave`` and ``recorder``: as of
            :meth:`~sw.device.device.Device.simulate`.
        """
        if self.functional:
            return Device.functional(self.config, max_cycles=self.max_cycles, report=tell,
                                     progress=watched.get("progress"))
        limits: dict[str, Any] = {"max_cycles": self.max_cycles,
                                  "launch_cycles": self.launch_cycles}
        if self.board is None:
            return Device.simulate(self.config, dram=self.dram, report=tell, **limits, **watched)
        port, baud, time_limit = self.board
        return Device.serial(port, self.config, baud=baud, time_limit=time_limit, report=show,
                             progress=watched.get("progress"), **limits)

    def record(self) -> dict[str, Any]:
        """The machine, as files of results have it beside its configuration."""
        if self.functional:
            return {"functional": True}
        if self.board is None:
            return {"dram": dataclasses.asdict(self.dram)}
        return {"board": {"port": self.board.port, "baud": self.board.baud}}
