"""Launches of C from Python::

    program = graphloom.compile("saxpy.c")
    with graphloom.Device.simulate(graphloom.preset("default")) as device:
        launch = device.launch(program.saxpy, n=len(x), a=3, x=x, y=y)

A launch runs the function in every lane of the device, with the same arguments. Arrays lie behind
the stacks in global memory while it runs; those that the function may write come back. Each launch
begins with the data of the program's files.
"""

from __future__ import annotations

import dataclasses
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from base.errors import RunError, UserError
from hw.config import preset
from hw.isa import Cause, MemoryMap
from hw.registers import Checks, cycles_of
from sim.errors import SimulationError
from sw.cc.driver import CompileChoices, compile_files
from sw.cc.signatures import signatures
from sw.device.elf import load_elf
from sw.device.host import Host
from sw.device.stacks import Stacks

if TYPE_CHECKING:
    from hw.config import HardwareConfig


__all__ = ["CKernel", "CLaunch", "CProgram", "compile_c"]


#: Words of arguments that a launch passes, in registers.
_WORDS = 8

#: Arrays begin at multiples of this, the largest line.
_ALIGNMENT = 64

#: What lies on both sides of an array. A kernel that writes there has left the array.
_GUARD = np.full(_ALIGNMENT // 4, 0xdeadbeef, np.uint32)


def compile_c(*files: Any, config: HardwareConfig | None = None, **choices: Any) -> CProgram:
    """Compile C files for all lanes.

    Parameters
    ----------
    *files : path
        C files.
    config : HardwareConfig, optional
        The hardware, by default the preset ``default``.
    **choices
        Fields of :class:`sw.cc.driver.CompileChoices`, such as ``optimisation="3"`` and
        ``stack=4096``.

    Raises
    ------
    UserError
        As :func:`sw.cc.driver.compile_files`.
    """
    if not files:
        raise UserError("compile: no C file")
    config = config or preset("default")
    folder = tempfile.TemporaryDirectory(prefix="graphloom-c-")
    target = pathlib.Path(folder.name, pathlib.Path(files[0]).stem + ".elf")
    try:
        compile_files(files, target, config, CompileChoices(**choices), needs_main=False)
    except TypeError as error:
        raise UserError(f"compile: {error}") from None
    return CProgram(target, folder)


class CProgram:
    """A program of C. Its functions that other files see are attributes: ``program.saxpy``.

    Parameters
    ----------
    path : path
        The ELF file.
    keeps : object, optional
        What has to live as long as the file.
    """

    def __init__(self, path, keeps=None):
        self.path, self._keeps = path, keeps
        self._signatures = signatures(path)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name):
        if name not in self._signatures:
            there = ", ".join(sorted(each for each in self._signatures if each[0] != "_"))
            raise UserError(f"{self.path.name}: no function {name!r}; there are: {there or 'none'}")
        return CKernel(self, self._signatures[name])

    def __repr__(self):
        return f"<program of {self.path.name}: " + "; ".join(
            self[name].signature.text for name in sorted(self._signatures)) + ">"


@dataclasses.dataclass(frozen=True)
class CLaunch:
    """What a launch has done."""
    cycles: int  #: 0 where the machine has no cycles.
    instructions: int
    counters: dict[str, int]
    text: str  #: What the lanes have printed.


class _Memory:
    """Places arrays behind the stacks."""

    def __init__(self, executable, config):
        self._next = executable.symbol("__stacks_end").address
        self._end = MemoryMap.GLOBAL + config.memory_bytes
        self._names = []
        self.contents = []          # (address, array, whether it comes back)

    def place(self, array, comes_back, what):
        """The address of an array. One that is given twice has one place."""
        for number, (address, other, already) in enumerate(self.contents):
            if not np.may_share_memory(array, other):
                continue
            if array.ctypes.data == other.ctypes.data and array.nbytes == other.nbytes:
                self.contents[number] = address, array, already or comes_back
                return address
            if already or comes_back:
                raise UserError(f"{what}: the array overlaps {self._names[number]}: must be the "
                                "same or apart")
        address = -(-self._next // _ALIGNMENT) * _ALIGNMENT + _GUARD.nbytes
        self._next = address + array.nbytes + _GUARD.nbytes
        if self._next > self._end:
            raise UserError(f"{what}: {array.nbytes} bytes at 0x{address:08x} do not fit in the "
                            f"memory, which ends at 0x{self._end:08x}; use a larger memory_bytes")
        self._names.append(what)
        self.contents.append((address, array, comes_back))
        return address

    def _guards(self):
        """The addresses of the guards, each with the name of its array and which side it is."""
        for (address, array, _), what in zip(self.contents, self._names):
            yield address - _GUARD.nbytes, what, "before the start"
            yield address + -(-array.nbytes // 4) * 4, what, "behind the end"

    def write(self, machine):
        """Write arrays and guards."""
        for address, array, _ in self.contents:
            machine.write_memory(address, _as_words(array))
        for address, _, _ in self._guards():
            machine.write_memory(address, _GUARD)

    def read(self, machine):
        """Fill the arrays that come back. Raises RunError if the kernel has written beside one."""
        for address, what, side in self._guards():
            if (machine.read_memory(address, len(_GUARD)) != _GUARD).any():
                raise RunError(f"{what}: the kernel has written {side} of the array")
        for address, array, comes_back in self.contents:
            if comes_back:
                found = machine.read_memory(address, -(-array.nbytes // 4))
                array.reshape(-1).view(np.uint8)[:] = found.view(np.uint8)[:array.nbytes]


class CKernel:
    """A function of a program, which :meth:`sw.device.Device.launch` runs in every lane."""

    def __init__(self, program, signature):
        self.program, self.signature = program, signature
        self.name = signature.name

    def launch(self, machine: Any, config: HardwareConfig, arguments: dict[str, Any], *,
               stack: int | None = None, max_cycles: int | None = None, progress: Any = None,
               launched: Any = None) -> CLaunch:
        """Run it on a machine.

        Parameters
        ----------
        machine
            A simulator or a board.
        config : HardwareConfig
        arguments : dict of str to object
            An int for each number, a numpy array for each pointer.
        stack : int, optional
            Bytes of a lane's stack.
        max_cycles, progress
            As of the machine.
        launched : callable, optional
            Told the function's name and the words of the program before it runs.

        Raises
        ------
        UserError
            An argument is missing or unknown, or its type, range or size is not that of the
            function. Nothing has run.
        RunError
            The program stopped with an error, or at the limit, or it has written beside an array.
        """
        executable = load_elf(self.program.path, config)
        executable.check_units(config)
        stacks = Stacks(executable, config, stack)
        memory = _Memory(executable, config)
        words = self._words(arguments, memory)
        entry = next(symbol.address for symbol in executable.functions
                     if symbol.name == "graphloom_launch")
        block = executable.symbol("graphloom_arguments").address
        image = _image(executable, stacks)
        machine.power_on()
        machine.flush(invalidate=True)
        for address, content in image:
            machine.write_memory(address, content)
        machine.write_memory(block, np.array([self.signature.address, *words], np.uint32))
        memory.write(machine)
        machine.load_program(executable.words)
        machine.clear_counters()
        if launched is not None:
            launched(self.name, executable.words)
        try:
            machine.launch(entry, 0, checks=Checks(True, stacks.size), max_cycles=max_cycles,
                           progress=progress)
        except SimulationError as error:
            machine.flush()
            printed = _text(executable, machine).strip()
            raise RunError(f"{self.name}: {_describe(error, executable)}"
                           + (f"; it has printed: {printed}" if printed else ""),
                           error.counters) from error
        counters = machine.counters()
        machine.flush()
        memory.read(machine)
        return CLaunch(cycles_of(counters) if "cycles" in counters else 0,
                       counters.get("instructions", 0), counters, _text(executable, machine))

    def _words(self, arguments, memory):
        """The words that are passed in registers."""
        parameters = self.signature.parameters
        what = f"{self.signature.text}"
        unknown = arguments.keys() - {each.name for each in parameters}
        missing = [each.name for each in parameters if each.name not in arguments]
        if unknown or missing:
            reason = f"no parameter {min(unknown)!r}" if unknown else f"{missing[0]!r} is missing"
            raise UserError(f"{what}: {reason}")
        words = []
        for each in parameters:
            value, where = arguments[each.name], f"{what}: {each.name}"
            if each.pointer:
                words.append(memory.place(_checked(each, value, where), not each.constant, where))
            else:
                words += _number(each, value, where)
        if len(words) > _WORDS:
            raise UserError(f"{what}: {len(words)} words of arguments; a launch passes {_WORDS}")
        return words


def _image(executable, stacks):
    """What lies in memory before the start, as (address, words)."""
    found = []
    for address, content in executable.data:
        start = address & ~3
        padded = bytes(address - start) + content
        padded += bytes(-len(padded) % 4)
        words = np.frombuffer(padded, np.uint32).copy()
        found.append((start, words))
    place = executable.symbol(Stacks.SYMBOL).address
    return [*found, (place, np.array([stacks.size], np.uint32))]


def _as_words(array):
    content = array.tobytes()
    return np.frombuffer(content + bytes(-len(content) % 4), np.uint32)


def _checked(parameter, array, where):
    """The array of a pointer, if it is one that the function can take."""
    dtype = parameter.dtype
    if not isinstance(array, np.ndarray):
        raise UserError(f"{where}: must be a numpy array"
                        + (f" of {dtype}" if dtype is not None else ""))
    if dtype is not None and array.dtype != dtype:
        raise UserError(f"{where}: an array of {array.dtype}, must be of {dtype}")
    if not array.flags.c_contiguous or (not parameter.constant and not array.flags.writeable):
        raise UserError(f"{where}: the array must be contiguous"
                        + ("" if parameter.constant else ", and may not be read-only"))
    return array


def _number(parameter, value, where):
    """The words of a number."""
    dtype = parameter.dtype
    if dtype is None:
        raise UserError(f"{where}: a {parameter.text} cannot be passed by the host")
    if dtype.kind == "f":
        if not isinstance(value, (int, float, np.integer, np.floating)):
            raise UserError(f"{where}: must be a number, not {value!r}")
        with np.errstate(over="ignore"):
            given = np.array([value], dtype)
        if np.isinf(given[0]) and not np.isinf(value):
            raise UserError(f"{where}: {value} does not fit in a {parameter.text}")
        content = given.tobytes()
    else:
        if (isinstance(value, bool) and dtype.kind != "b") or \
                not isinstance(value, (bool, int, np.integer, np.bool_)):
            raise UserError(f"{where}: must be an integer, not {value!r}")
        limits = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if not limits[0] <= int(value) <= limits[1]:
            raise UserError(f"{where}: {value} is not from {limits[0]} to {limits[1]}")
        content = int(value).to_bytes(max(4, dtype.itemsize), "little", signed=int(value) < 0)
    return np.frombuffer(content, np.uint32).tolist()


def _describe(error, executable):
    if error.fault is None:
        return str(error)
    remedy = "; only parted=\"none\" leaves that to the program" \
        if error.fault.cause == Cause.LANES_DISAGREE else ""
    return executable.describe(error.fault) + remedy


def _text(executable, machine):
    """What the program has printed."""
    if not executable.has(Host.CONSOLE):
        return ""
    symbol = executable.symbol(Host.CONSOLE)
    words = machine.read_memory(symbol.address, symbol.size // 4)
    return words[1:].tobytes()[:int(words[0])].decode(errors="replace")
