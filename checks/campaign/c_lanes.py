"""C in every lane against the same C on this computer, called once for each lane."""

import ctypes
import dataclasses
import pathlib
import subprocess
import tempfile

import numpy as np

from base.errors import RunError
from checks.campaign.c_functions import functions
from sim import toolchain
from sw.cc.host import compile_c
from sw.device import Device


__all__ = ["CDifference", "compare"]


_LANES = """\
static int lane_of_device(void) {
    int core, warps, warp, lanes, lane;
    __asm__("csrr %0, 0xCC2" : "=r"(core));
    __asm__("csrr %0, 0xFC1" : "=r"(warps));
    __asm__("csrr %0, 0xCC1" : "=r"(warp));
    __asm__("csrr %0, 0xFC0" : "=r"(lanes));
    __asm__("csrr %0, 0xCC0" : "=r"(lane));
    return (core * warps + warp) * lanes + lane;
}
#define LANE lane_of_device()
"""

#: Bytes of a lane's stack, for chains of calls and for recursion.
_STACK = 16384


@dataclasses.dataclass(frozen=True)
class CDifference:
    """What went wrong with the functions of a seed."""
    seed: int
    count: int
    parted: str
    reason: str


#: The machines that run a program.
_MACHINES = {"functional": Device.functional, "rtl": Device.simulate}


def compare(seed, count, config, *, parted="found", level="2", machines=("functional",)):
    """Compare ``count`` random functions in all lanes with this computer's results.

    Parameters
    ----------
    seed, count : int
    config : HardwareConfig
    parted, level : str
        As of :class:`sw.cc.driver.CompileChoices`.
    machines : sequence of str
        What runs the program, one after the other: ``"functional"`` and ``"rtl"``.

    Returns
    -------
    CDifference or None
    """
    lanes = config.cores * config.warps * config.threads
    text, expected = functions(seed, count, config.floats), np.zeros(lanes * count, np.int32)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, f"functions{seed}.c")
        source.write_text(_LANES + text)
        program = compile_c(source, config=config, defines=(f"LANES={lanes}",), parted=parted,
                            optimisation=level, stack=_STACK)
        _run_here(pathlib.Path(folder), text, lanes, expected)
    for machine in machines:
        reason = _difference(program, _MACHINES[machine](config), lanes, expected)
        if reason:
            return CDifference(seed, count, parted, f"{machine}: {reason}")
    return None


def _difference(program, device, lanes, expected):
    """Run the program on a device. Returns what is wrong with its results, or None."""
    found = np.zeros_like(expected)
    with device:
        try:
            device.launch(program.check, results=found, max_cycles=100_000_000)
        except RunError as error:
            return str(error)
    wrong = np.flatnonzero(found != expected)
    if not len(wrong):
        return None
    number, lane = divmod(int(wrong[0]), lanes)
    return (f"f{number} in lane {lane}: {found[wrong[0]]}, not {expected[wrong[0]]}; "
            f"{len(wrong)} results differ")


def _run_here(folder, text, lanes, expected):
    """Fill ``expected`` by this computer."""
    source, library = folder / "here.c", folder / "here.so"
    source.write_text(f"#define LANES {lanes}\nstatic int LANE;\n{text}\n"
                      "void all(int *results) { for (; LANE < LANES; LANE++) check(results); }\n")
    tool = toolchain.compiler()
    objects = folder / "here.o"
    for command in ([*tool.command, "-x", "c", "-O1", "-fwrapv", "-w", "-fPIC", "-c", str(source),
                     "-o", str(objects)],
                    [*tool.link, "-shared", str(objects), "-o", str(library)]):
        subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
    ctypes.CDLL(str(library)).all(expected.ctypes.data_as(ctypes.c_void_p))
