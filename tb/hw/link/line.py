"""The host's end of a serial line, in a bench."""

import collections

from tb.clocking import Beat, Pins, integer


__all__ = ["Line"]


class Line:
    """Sends bytes to a pin of the top and receives bytes from another pin.

    Parameters
    ----------
    dut
        The top.
    rx, tx : str or None
        The top's pins: ``rx`` gets the sent bytes, ``tx`` gives the received bytes. None means
        that there is no such pin.
    cycles : float
        Cycles of a sent bit.
    divisor : int
        Cycles of a received bit.

    Attributes
    ----------
    received : list
        The received bytes.
    broken : int
        Number of received bytes without a stop bit.
    """

    def __init__(self, dut, *, rx="rx", tx="tx", cycles, divisor):
        self._rx, self._tx = (None if pin is None else getattr(dut, pin) for pin in (rx, tx))
        self._cycles, self._divisor = cycles, divisor
        self._levels, self._pins = collections.deque(), Pins()
        self._time = 0.0
        self._phase = None
        self._bits = []
        self.received, self.broken = [], 0
        self._pins.put(self._rx, 1)
        Beat.of(dut).add(self)

    def send(self, data, gap=0):
        """Append bytes, with a pause of ``gap`` bits behind each byte."""
        for byte in data:
            self.send_bits([0, *(byte >> bit & 1 for bit in range(8)), 1] + [1] * gap)

    def send_bits(self, levels):
        """Append levels. Each level lasts one bit."""
        self._levels.extend(levels)

    @property
    def sent(self):
        """Whether nothing is left to be sent."""
        return not self._levels

    def drive(self):
        """At a falling edge."""
        if self._rx is None:
            return
        self._pins.put(self._rx, self._levels[0] if self._levels else 1)
        if not self._levels:
            self._time = 0.0
            return
        self._time += 1
        if self._time >= self._cycles:
            self._time -= self._cycles
            self._levels.popleft()

    def sample(self):
        """When inputs have settled."""
        if self._tx is None:
            return
        level = integer(self._tx)
        if self._phase is None:
            if level:
                return
            self._phase, self._bits = 0, []
        if self._phase % self._divisor == self._divisor // 2:
            self._bits.append(level)
        self._phase += 1
        if len(self._bits) == 10:
            start, *bits, stop = self._bits
            if stop and not start:
                self.received.append(sum(bit << place for place, bit in enumerate(bits)))
            else:
                self.broken += 1
            self._phase = None
