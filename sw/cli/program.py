"""``graphloom exec``: any bare-metal RV32 program on the GPU."""

import contextlib
import dataclasses
import enum
import sys
import time
from typing import Annotated

import typer

from base.errors import UserError
from base.input import open_file
from base import numbers

from .commands import app
from .options import folded, option
from .records import with_machine, with_outputs


#: Cycles after which a program is stopped, unless the user says otherwise: some minutes.
_MAX_CYCLES = 100_000_000

#: Instructions after which the functional simulator stops it: as long.
_MAX_INSTRUCTIONS = 5_000_000_000

#: Elements of an array that are printed.
_SHOWN = 16

_EPILOG = ("Exit code: 0 the program ended; 1 it stopped with an error, ended with another exit "
           "code than 0, or a check failed; 2 it could not be run; 3 it was not finished after "
           "--max-cycles. Example: graphloom exec program.elf --read result --preset tiny")

_WORK = "Program"
_FILES = "Files"


class _Lanes(enum.StrEnum):
    """The behaviour where active lanes disagree at a branch."""
    AGREE  = "agree"
    LEADER = "leader"


def _number(text):
    value = numbers.integer(text)
    if value is None or not 0 <= value < 1 << 32:
        raise UserError(f"--argument {text}: must be a number from 0 to 0xffffffff")
    return value


_OPTIONS = (
    option("read", list[str], _WORK, "Print the value at a symbol at the end, in the symbol's "
           "size; TYPE is u8, i8, u16, i16, u32, i32, u64 or i64. May be repeated.",
           metavar="SYMBOL[:COUNT][:TYPE]"),
    option("expect", list[str], _WORK, "Exit with code 1 if the symbol has another value at the "
           "end. For an array, VALUE is its first elements, separated by commas. May be repeated.",
           metavar="SYMBOL=VALUE"),
    option("dump", tuple[str, str], _FILES, "Write WORDS words at a symbol to a file at the end, "
           "as raw bytes; WORDS may be the symbol behind the last word.", metavar="SYMBOL:WORDS "
           "FILE"),
    option("load", tuple[str, str], _FILES, "Fill a symbol with the raw bytes of a file before the "
           "start.", metavar="SYMBOL FILE"),
    option("argument", str, _WORK, "Value that the CSR mscratch reads.", default="0", metavar="N"),
    option("lanes", _Lanes, _WORK, "Where active lanes of a warp disagree at a branch: stop with "
           "an error (agree), or let the lowest lane decide for all (leader), as programs may mean "
           "that know of lanes.", default=_Lanes.AGREE),
    option("stack", int, _WORK, "Bytes of each lane's stack, a power of two. The program stops "
           "where a lane leaves its stack.", metavar="BYTES", show_default="the program's"),
    option("anyway", bool, _WORK, "Run a program even if the hardware lacks some of its "
           "instructions. The program stops at the first such instruction."),
)


@app.command("exec", epilog=_EPILOG)
@with_machine("dram", "functional", max_cycles=Annotated[int | None, typer.Option(
    "--max-cycles", metavar="N", min=1, help="Stop after N cycles, with exit code 3.",
    rich_help_panel="Hardware", show_default=f"{_MAX_CYCLES}")])
@folded("asked", _OPTIONS)
@with_outputs("json", "wave")
def _exec(
        program: Annotated[str, typer.Argument(
            metavar="PROGRAM", help="A statically linked RV32 ELF file: text from address 0 on, "
            "data from 0x80000000.")],
        asked,
        machine,
        outputs):
    """Run a bare-metal program: every warp of every core begins at its entry point.

    Text that the program writes comes to standard output (docs/programs.md).
    """
    machine.check(wave=outputs.wave)
    config = machine.config()
    memory = machine.memory(config, "a bare-metal program")
    value = _number(asked.argument)

    from hw.registers import Checks
    from sw.device.elf import load_elf
    from sw.device.stacks import Stacks

    from . import files
    outputs.check([program, *(asked.load or ())[1:]], {"--dump": asked.dump and asked.dump[1]})
    executable = load_elf(program, config)
    if not asked.anyway:
        executable.check_units(config)
    stacks = Stacks(executable, config, asked.stack)
    checks = Checks(asked.lanes is _Lanes.AGREE, stacks.size)
    symbols = _Symbols(executable, config, asked)

    run = _Run(executable, config, None if machine.functional else memory, outputs.wave)
    began = time.perf_counter()
    with run:
        stacks.fill(run.machine.memory)
        symbols.fill(run.machine.memory)
        run.launch(value, checks, machine.max_cycles or (
            _MAX_INSTRUCTIONS if machine.functional else _MAX_CYCLES))
        found, wrong = symbols.look(run.machine.memory)
    files.write_json(outputs.json, {
        "program": program, "configuration": dataclasses.asdict(config),
        **({"functional": True} if machine.functional else
           {"dram": dataclasses.asdict(memory)}),
        "argument": value, "lanes": asked.lanes.value, "stack": stacks.size, **run.record(),
        "memory": {text: values[0] if len(values) == 1 else values
                   for text, values in found.items()},
        "unexpected": wrong, "wall_seconds": round(time.perf_counter() - began, 3)})
    _report(run, config, symbols.reads, found, wrong)
    code = run.code or (1 if wrong else 0)
    if code:
        raise typer.Exit(code)


class _Symbols:
    """The symbols of a program that options name: those that are filled before the start, and those
    that are read, compared or written to a file at the end."""

    def __init__(self, executable, config, asked):
        from sw.device import places

        from . import files
        self.reads = [(text, places.find(executable, text, config)) for text in asked.read or ()]
        self._expected = [_expectation(executable, text, config) for text in asked.expect or ()]
        self._dump = None
        if asked.dump is not None:
            symbol, file = asked.dump
            self._dump = places.find(executable, symbol, config, words=True), file
            files.check(file)
        self._loaded = None
        if asked.load is not None:
            name, file = asked.load
            self._loaded = _contents(executable, name, file, config)

    def fill(self, memory):
        """Write the contents of ``--load``."""
        if self._loaded is not None:
            start, content = self._loaded
            memory[start:start + len(content)] = content

    def look(self, memory):
        """The values that are read, by their texts, and the unexpected values in words; writes the
        file of ``--dump``."""
        from . import files
        if self._dump is not None:
            place, file = self._dump
            files.write_bytes(file, place.view(memory).tobytes())
        return ({text: place.values(memory) for text, place in self.reads},
                [text for check in self._expected if (text := _differs(memory, *check))])


class _Run:
    """A program on a simulated GPU.

    Attributes
    ----------
    name : str
        The file.
    machine : NativeMachine or FunctionalSimulator
        The functional simulator if ``dram`` is None.
    host : sw.device.host.Host
    stop : str
        Why the program stopped: ``"end"``, ``"exit"``, ``"error"`` or ``"limit"``.
    message : str
        The same in words.
    exit_code : int or None
        The exit code that the program wrote to ``tohost``.
    fault : sim.errors.Fault or None
    counters : dict
    """

    def __init__(self, executable, config, dram, wave):
        self._executable, self._config, self._dram, self._wave = executable, config, dram, wave
        self.name = executable.name
        self.stop, self.message, self.fault = "end", "all warps ended", None
        self.exit_code, self.counters = None, {}

    def __enter__(self):
        from base.output import Output
        from sim.functional.machine import FunctionalSimulator
        from sim.native import NativeMachine
        from sw.device.host import Host

        from .execute import progress_display
        with contextlib.ExitStack() as ends:
            self._show, tell = ends.enter_context(progress_display())
            wave = None if self._wave is None else Output(self._wave)
            self.machine = (
                FunctionalSimulator(self._config, report=tell) if self._dram is None else
                NativeMachine(self._config, self._dram, wave=wave, report=tell))
            ends.callback(self.machine.close)
            self.host = Host(self._executable, self.machine.memory, _print)
            self._executable.fill(self.machine.memory)
            self.machine.load_program(self._executable.words)
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *exception):
        self._ends.close()

    @property
    def unit(self):
        """The name of the counts of the machine."""
        return "instructions" if self._dram is None else "cycles"

    @property
    def code(self):
        """The exit code, without the results of checks."""
        if self.stop == "limit":
            return 3
        return 1 if self.stop == "error" or self.exit_code else 0

    def record(self):
        """How the program ended, and the counters, for JSON."""
        counters = self.counters
        return {"stop": self.stop, "message": self.message, "exit_code": self.exit_code,
                "fault": self.fault and self.fault._asdict(),
                "console": self.host.written.decode(errors="replace"),
                **({} if self._dram is None else {"cycles": counters.get("cycles", 0)}),
                "instructions": counters.get("instructions", 0), "counters": counters}

    def launch(self, argument, checks, max_cycles):
        """Run it, and bring what it has written to memory."""
        from hw.isa import Cause
        from sim.errors import SimulationError
        machine = self.machine
        try:
            machine.launch(self._executable.entry, argument, checks=checks, max_cycles=max_cycles,
                           progress=lambda count: self._show(f"{count:,} {self.unit}"),
                           watch=self.host.look if self.host.ends else None)
            self.counters = machine.counters()
        except SimulationError as error:
            if error.kind not in ("device", "limit"):
                raise
            self.counters, self.fault = error.counters, error.fault
            self.stop = "error" if error.kind == "device" else "limit"
            self.message = self._describe(error)
            if error.kind == "limit":
                machine.write_back()
        machine.flush()
        self.host.look()
        if self.fault is not None and self.fault.cause not in (Cause.ECALL, Cause.BREAKPOINT):
            return
        self.exit_code = self.host.exit_code
        if self.exit_code is not None:
            self.stop = "exit"
            self.message = f"exit code {self.exit_code}"
        elif self.host.request:
            self.stop = "error"
            self.message = (f"the program wrote 0x{self.host.request:x} to tohost: only exit codes "
                            "(odd, of 32 bits) are served; docs/programs.md says how to print")

    def _describe(self, error):
        """The message of an error, with the names of the program."""
        from hw.isa import Cause
        fault = error.fault
        if fault is None:
            return str(error)
        text = self._executable.describe(fault)
        if fault.cause == Cause.LOAD_ACCESS and fault.address < self._config.imem_bytes:
            text += "; instruction memory cannot be read as data"
        text += {Cause.LANES_DISAGREE: "; --lanes leader accepts that",
                 Cause.LANE_STACK: "; --stack BYTES gives it another size"}.get(fault.cause, "")
        if fault.cause == Cause.ILLEGAL and fault.pc >= 4 * len(self._executable.words):
            text += "; the program has run past its end"
        return text


def _print(content):
    """The program's text, as it is."""
    sys.stdout.flush()
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(content.decode(errors="replace"))
    else:
        stream.write(content)
    sys.stdout.flush()


def _expectation(executable, text, config):
    """The meaning of an ``--expect``: its text, the place and the values."""
    from sw.device import places
    name, equals, values = text.rpartition("=")
    if not equals:
        raise UserError(f"--expect {text}: must be SYMBOL=VALUE")
    numbers = [places.value_of(value.strip(), "a number") for value in values.split(",")]
    place = places.find(executable, name, config)
    bits = 8 * place.dtype.itemsize
    if len(numbers) > place.count:
        raise UserError(f"--expect {text}: {len(numbers)} values; {name} has {place.count}")
    for number in numbers:
        if not -(1 << bits - 1) <= number < 1 << bits:
            raise UserError(f"--expect {text}: {number} is not a number of {bits} bits, as "
                            f"{name} is")
    return text, place, numbers


def _differs(memory, text, place, numbers):
    """The difference from an expected value, in words; None if there is none."""
    bits = 8 * place.dtype.itemsize
    found = place.values(memory)
    for index, number in enumerate(numbers):
        if (found[index] - number) % (1 << bits):
            where = f"{place.name}[{index}]" if place.count > 1 else place.name
            return f"--expect {text}: {where} is {place.text(found[index])}, not {number}"
    return None


def _contents(executable, name, file, config):
    """The bytes that ``--load`` writes: an index of memory and an array of bytes."""
    import numpy as np

    from hw.isa import MemoryMap
    from sw.device import places
    place = places.find(executable, name + ":u8", config)
    start = place.address - MemoryMap.GLOBAL
    known = not name[:1].isdigit() and executable.symbol(name).size
    room = place.size if known else config.memory_bytes - start
    try:
        with open_file(file) as stream:
            content = stream.read(room + 1)
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from None
    if len(content) > room:
        raise UserError(f"{file}: larger than {name}, which has {room} bytes")
    return start, np.frombuffer(content, np.uint8)


def _report(run, config, reads, found, wrong):
    """Print how the program ended."""
    from .execute import console
    out = console()
    if run.host.written and not run.host.written.endswith(b"\n"):
        out.print()
    out.say(f"{run.name}: {run.message}")
    if run.host.lost:
        out.say(f"{run.host.lost} more bytes of text had no room in {run.host.CONSOLE}")
    if "cycles" not in run.counters:
        out.say(f"{run.counters['instructions']:,} instructions")
    elif config.counters:
        out.say(f"{run.counters['cycles']:,} cycles, {run.counters['instructions']:,} instructions")
    for text, place in reads:
        values = found[text]
        forms = place.text if len(values) == 1 else str
        shown = " ".join(map(forms, values[:_SHOWN]))
        more = f" … ({len(values)} in all)" if len(values) > _SHOWN else ""
        out.say(f"{text} = {shown}{more}")
    for text in wrong:
        out.say(text)
