"""The serial port: bytes to a board and from it."""

import contextlib

import serial

from sw.errors import UserError


__all__ = ["Cable"]


class Cable:
    """A serial port that is open.

    Parameters
    ----------
    port : str
        Its name, as in ``/dev/ttyUSB0``.
    baud : int
        Bits per second.

    Raises
    ------
    UserError
        If it cannot be opened, or anywhere later, if it is gone.
    """

    def __init__(self, port, baud):
        self.port = port
        try:
            self._serial = serial.Serial(port, baud, timeout=0, exclusive=True)
        except (OSError, ValueError, OverflowError) as error:
            raise UserError(f"{port}: cannot be opened as a serial port at {baud} baud: "
                            f"{_reason(error)}") from None
        # Adapters keep bytes for up to 16 ms in the hope of more, if they are not told otherwise.
        with contextlib.suppress(OSError, ValueError, NotImplementedError):
            self._serial.set_low_latency_mode(True)

    def read(self, timeout) -> bytes:
        """What has arrived; waits for the first byte, at most so many seconds."""
        try:
            if self._serial.timeout != timeout:      # setting it sets the whole line anew
                self._serial.timeout = timeout
            first = self._serial.read(1)
            return first and first + self._serial.read(self._serial.in_waiting)
        except (OSError, TypeError) as error:    # pyserial's own is an OSError
            raise self._gone(error) from None

    def write(self, data) -> None:
        """Send all of it."""
        try:
            self._serial.write(data)
        except OSError as error:
            raise self._gone(error) from None

    def close(self) -> None:
        """Give the port back."""
        self._serial.close()

    def _gone(self, error):
        return UserError(f"{self.port}: the board is gone, or its cable was unplugged: "
                         f"{_reason(error)}")


def _reason(error):
    """What the system says, without what pyserial puts around it."""
    return getattr(error, "strerror", None) or str(error)
