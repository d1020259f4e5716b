"""The SDRAM model of the native simulator (:mod:`sim.sdram`), for tests and benches."""

import ctypes
import functools
import pathlib
import subprocess

import numpy as np

from hw.sdram.timing import BYTES
from sim import cache, toolchain
from sim.sdram import SdramParameters, SdramPins, sdram_parameters
from tb.clocking import Beat, integer


__all__ = ["BrokenRule", "SdramModel", "SdramOnPins"]


_HARNESS = pathlib.Path(toolchain.__file__).resolve().parent / "harness"
_SOURCE = pathlib.Path(__file__).with_name("model.cpp")

_PINS = [name for name, _ in SdramPins._fields_]


class BrokenRule(AssertionError):
    """A command broke a rule of the chip's data sheet."""


@functools.cache
def _library():
    """The compiled model, from the cache if its content is unchanged."""
    compiler = toolchain.compiler()
    key = cache.hashed(_SOURCE.read_bytes(), (_HARNESS / "sdram.h").read_bytes(),
                       compiler.identity)

    def make(work):
        subprocess.run([*compiler.command, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror",
                        "-fPIC", f"-I{_HARNESS}", "-c", _SOURCE, "-o", work / "model.o"],
                       check=True, env=compiler.environment)
        subprocess.run([*compiler.link, "-shared", work / "model.o", "-o", work / "model.so"],
                       check=True, env=compiler.environment)
    place = cache.entry("bench", f"sdram-model-{key}", make, what="model of the SDRAM")
    library = ctypes.CDLL(place / "model.so")
    library.sdram_new.restype = ctypes.c_void_p
    library.sdram_new.argtypes = [ctypes.c_void_p, ctypes.c_uint64,
                                  ctypes.POINTER(SdramParameters)]
    library.sdram_delete.argtypes = [ctypes.c_void_p]
    library.sdram_power_on.argtypes = [ctypes.c_void_p]
    library.sdram_cycle.argtypes = [ctypes.c_void_p, ctypes.POINTER(SdramPins)]
    library.sdram_error.restype = ctypes.c_char_p
    library.sdram_error.argtypes = [ctypes.c_void_p]
    return library


class SdramModel:
    """A chip.

    Parameters
    ----------
    timing, frequency, io_delay
        As for the controller.
    size : int
        Bytes of the chip that exist.

    Attributes
    ----------
    memory : numpy.ndarray
        Bytes of the chip, at the controller's addresses.
    """
    def __init__(self, timing, *, frequency, io_delay=0, size=BYTES):
        self.memory = np.zeros(size, np.uint8)
        self._library = _library()
        self._model = self._library.sdram_new(
            self.memory.ctypes.data, size,
            sdram_parameters(timing, frequency=frequency, io_delay=io_delay))

    def __del__(self):
        if getattr(self, "_model", None):
            self._library.sdram_delete(self._model)

    def power_on(self):
        """Set the state after power-on. The memory keeps its contents."""
        self._library.sdram_power_on(self._model)

    def cycle(self, **pins) -> int:
        """Run a cycle with these pins, and the other pins at 0. Returns ``dq_i`` of the cycle.

        Raises BrokenRule.
        """
        value = self._library.sdram_cycle(self._model, SdramPins(**pins))
        error = self._library.sdram_error(self._model)
        if error:
            raise BrokenRule(error.decode())
        return value


class SdramOnPins:
    """A chip at the pins of a top.

    Parameters
    ----------
    dut
        The top; it has :data:`hw.sdram.pins.Pins` as ``pins``.
    model : SdramModel

    Attributes
    ----------
    broken : BrokenRule or None
        The first broken rule. The chip stops then.
    """
    def __init__(self, dut, model):
        self._model = model
        self._pins = {name: getattr(dut, f"pins__{name}") for name in _PINS}
        self._data = dut.pins__dq_i
        self.broken = None
        Beat.of(dut).add(self)

    def power_on(self):
        """Set the state after power-on, except for the memory. Call this at a falling edge."""
        self._model.power_on()
        self.broken = None

    def drive(self):
        """At a falling edge. The pins are registers, so they have settled."""
        if self.broken is None:
            try:
                self._data.value = self._model.cycle(
                    **{name: integer(pin) for name, pin in self._pins.items()})
            except BrokenRule as error:
                self.broken = error
