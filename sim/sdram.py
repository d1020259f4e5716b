"""Parameters of the harness's SDRAM model (``sim/harness/sdram.h``), and the rules that it checks.

The model sits at the pins of :class:`hw.sdram.controller.SdramController` and is called once a
cycle. It keeps its contents in a memory that the caller provides, at the controller's addresses. It
reports the first broken rule:

* **Power-up**: no command before its time is over; the first one closes all banks; eight REFRESH
  and LOAD MODE come before a row is opened; the mode is bursts of 8 in order, latency 2 or 3.
* **Rows**: a column command finds its bank open, ACTIVATE finds it closed, REFRESH and LOAD MODE
  find all closed.
* **Times**: ACTIVATE to column command (tRCD), to PRECHARGE (tRAS), to ACTIVATE or REFRESH of the
  bank (tRC) and to ACTIVATE of another (tRRD); PRECHARGE to ACTIVATE, REFRESH and LOAD MODE (tRP);
  the last data written to PRECHARGE (tWR); REFRESH and LOAD MODE to anything (tRFC, tMRD).
* **Refresh**: at most 64 ms / 8192 from one REFRESH to the next.
* **Bursts**: no burst is cut short; no auto-precharge, no column beyond the row.
* **Data pins**: the controller drives them for written data. It does not drive them for a cycle
  before and after the chip drives them.
* The clock enable, once high, stays high; nothing outside the memory is touched.
"""

import ctypes

from hw.sdram.timing import SdramTiming


__all__ = ["SdramParameters", "SdramPins", "sdram_parameters"]


_TIMES = ("rcd", "rp", "ras", "rc", "rrd", "rfc", "wr", "mrd", "refresh", "power_up")
_CYCLES = ("rrd_cycles", "wr_cycles", "mrd_cycles")


class SdramParameters(ctypes.Structure):
    """The structure of the same name in the harness; times in ps."""
    _fields_ = [(name, ctypes.c_int64) for name in ("period", *_TIMES, *_CYCLES, "io_delay")]


class SdramPins(ctypes.Structure):
    """The structure of the same name in the harness."""
    _fields_ = [(name, kind) for kind, names in (
        (ctypes.c_uint8, ("clk_en", "cs", "ras", "cas", "we", "ba")), (ctypes.c_uint16, ("a",)),
        (ctypes.c_uint8, ("dqm",)), (ctypes.c_uint16, ("dq_o",)), (ctypes.c_uint8, ("dq_oe",)))
        for name in names]


def sdram_parameters(timing: SdramTiming, *, frequency: float,
                     io_delay: int = 0) -> SdramParameters:
    """The model's parameters for a chip, a clock in MHz and the registers on the way. The
    controller takes the same three."""
    times = {name: round(1000 * getattr(timing, name)) for name in _TIMES}
    cycles = {name: getattr(timing, name) for name in _CYCLES}
    return SdramParameters(period=round(1e6 / frequency), **times, **cycles, io_delay=io_delay)
