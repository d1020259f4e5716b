"""Speed of the native loop."""

import dataclasses


__all__ = ["Speed", "measure"]


@dataclasses.dataclass(frozen=True)
class Speed:
    """Simulated cycles, and the wall-clock seconds that the loop took for them."""
    cycles: int
    seconds: float

    @property
    def cycles_per_second(self) -> float:
        return self.cycles / self.seconds if self.seconds else 0.0


def measure(machine, work, *, seconds=2.0) -> Speed:
    """Repeats some work on a machine until the loop has run for `seconds`.

    Parameters
    ----------
    machine : sim.native.NativeMachine
        The machine to measure.
    work : callable
        Called with the machine; does at least one launch.
    seconds : float
        Seconds to simulate. Time that `work` spends outside of launches and flushes is not
        counted.
    """
    cycles, spent = machine.loop_cycles, machine.loop_seconds
    while True:
        before = machine.loop_cycles
        work(machine)
        if machine.loop_cycles == before:
            raise ValueError("the work to measure simulated no cycle")
        speed = Speed(machine.loop_cycles - cycles, machine.loop_seconds - spent)
        if speed.seconds >= seconds:
            return speed
