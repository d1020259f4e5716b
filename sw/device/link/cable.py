"""The serial port: bytes to a board and from it."""

import contextlib
import termios

from base.errors import UserError
from base.installation import need


__all__ = ["Cable"]


#: Exceptions of pyserial and of the system calls below pyserial when a port is gone.
_ERRORS = (OSError, ValueError, TypeError, termios.error)

#: Seconds after which a port that takes no bytes is given up.
_WRITE_SECONDS = 10.0


class Cable:
    """A serial port that is open.

    Parameters
    ----------
    port : str
        The port's name, such as ``/dev/ttyUSB0``.
    baud : int
        Bits per second, at least 1.

    Raises
    ------
    UserError
        If the port cannot be opened. In any later call: if the port is gone or takes no bytes.
    """

    def __init__(self, port, baud):
        need(f"--device serial:{port}", "serial")
        import serial
        self.port = port
        if type(baud) is not int or baud < 1:
            raise UserError(f"{port}: the baud rate is {baud!r}, must be a whole number above 0")
        try:
            self._serial = serial.Serial(port, baud, timeout=0, write_timeout=_WRITE_SECONDS,
                                         exclusive=True)
        except (*_ERRORS, OverflowError) as error:
            raise UserError(f"{port}: cannot be opened as a serial port at {baud} baud: "
                            f"{_reason(error)}") from None
        # By default adapters keep bytes for up to 16 ms, to collect more bytes.
        with contextlib.suppress(OSError, ValueError, NotImplementedError):
            self._serial.set_low_latency_mode(True)

    def read(self, timeout) -> bytes:
        """The bytes that have arrived. Waits for the first byte, at most ``timeout`` seconds."""
        try:
            if self._serial.timeout != timeout:      # setting it configures the whole line anew
                self._serial.timeout = timeout
            first = self._serial.read(1)
            return first and first + self._serial.read(self._serial.in_waiting)
        except _ERRORS as error:
            raise self._gone(error) from None

    def write(self, data) -> None:
        """Send all of ``data``."""
        import serial
        try:
            self._serial.write(data)
        except serial.SerialTimeoutException:
            raise UserError(f"{self.port}: the port has taken no bytes for {_WRITE_SECONDS:g} s"
                            ) from None
        except _ERRORS as error:
            raise self._gone(error) from None

    def close(self) -> None:
        """Give the port back."""
        with contextlib.suppress(*_ERRORS):         # the port may be gone
            self._serial.close()

    def _gone(self, error):
        return UserError(f"{self.port}: the board is gone, or its cable was unplugged: "
                         f"{_reason(error)}")


def _reason(error):
    """The system's own message, without the text that pyserial puts around the message."""
    if isinstance(error, termios.error):
        return error.args[-1]
    return getattr(error, "strerror", None) or str(error)
