"""Speed of the native loop, and of the functional simulator."""

import dataclasses


__all__ = ["Speed", "measure"]


@dataclasses.dataclass(frozen=True)
class Speed:
    """The work of a machine, and the seconds that its loop took: cycles and wall-clock seconds of
    the native machine, thread instructions and processor seconds of the functional simulator."""
    amount: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.amount / self.seconds if self.seconds else 0.0


def measure(machine, work, *, seconds=2.0, counter="loop_cycles") -> Speed:
    """Repeats some work on a machine until the loop has run for `seconds`.

    Parameters
    ----------
    machine : sim.native.NativeMachine or sim.functional.machine.FunctionalSimulator
        The machine to measure.
    work : callable
        Called with the machine; does at least one launch.
    seconds : float
        Seconds to simulate. Time that `work` spends outside of launches and flushes is not
        counted.
    counter : str
        The machine's attribute with the amount simulated: ``loop_cycles`` or ``loop_lanes``.
    """
    amount, spent = getattr(machine, counter), machine.loop_seconds
    while True:
        before = getattr(machine, counter)
        work(machine)
        if getattr(machine, counter) == before:
            raise ValueError("the work to measure simulated nothing")
        speed = Speed(getattr(machine, counter) - amount, machine.loop_seconds - spent)
        if speed.seconds >= seconds:
            return speed
