"""The memory behind a block of the SCU that only reads."""

from hw.scu.interface import line_response_layout, read_layout
from tb.hw.memory.responders import Responder


__all__ = ["LATENCIES", "ReadPort"]


#: Ranges of cycles until an answer is offered.
LATENCIES = [(1, 1), (1, 10), (1, 200), (40, 60)]


class ReadPort(Responder):
    """Answers with lines, late and out of order.

    Parameters
    ----------
    prefix : str
        Prefix of the names of the streams ``read`` and ``response``.
    """
    def __init__(self, dut, config, rng, prefix=""):
        super().__init__(dut, config, f"{prefix}read", read_layout, f"{prefix}response",
                         line_response_layout, rng)
        self._line_bytes = config.line_bytes

    def perform(self, request):
        return {"slot": request.slot, "data": self.store.value(request.line)}

    def word(self, number):
        """The word of this number in the address space."""
        per_line = self._line_bytes // 4
        return self.store.value(number // per_line) >> 32 * (number % per_line) & 0xFFFF_FFFF

    def shake(self):
        """Set random latencies and stalls."""
        self.latency = self._rng.choice(LATENCIES)
        self.stall = self.sink.stall = self._rng.choice([0, 0, 0.5, 0.9])
        self.source.idle = self._rng.choice([0, 0, 0.5])
