"""A program as one kernel: the kernels of its operators are sections, and one warp is the host.

The last warp of each core performs the host's part of the program (:mod:`.host_code`), on words of
its core's local memory, which no other warp writes. So the hosts of all cores go the same way, and
no word of the host is written while another warp reads it.

What a section needs is in a *record* (:class:`~sw.compile.frontiers.pool.Record`). There are two,
which sections use in turn, so that the host can make the next one while other warps are in a
section. What follows a section is one of three (:class:`~.host_paths.Onward`)::

    GO     host         makes the record; the core's barrier
           other warps  the core's barrier; go to the record's section
    ASK    host         makes the record, for the case that a set has vertices; the barrier;
                        looks whether it has
           other warps  the barrier; look, too; if it has, go to the record's section, else as WAIT
    WAIT   host         the barrier; reads what the section has left; makes the record; the barrier
           other warps  the barrier twice; go to the record's section

So in a loop that goes on as long as a set has vertices, no warp waits for the host. With several
cores the hosts wait for each other behind the barrier, and the other warps for them by another one.

A host reads sizes of sets and sums from global memory, and other warps read sizes. What they read
is not written by the section that follows, or else the hosts of all cores meet before it.

The host's numbers have 64 bits, as two words, unless they are known to stay within 32: numbers that
only grow or fall by a constant do, as a run has at most :data:`~sw.vm.host.MOST_ROUNDS` rounds.
"""

from __future__ import annotations

import itertools

from hw.isa import Csr
from sw.compile.frontiers.pool import ALL, Record
from sw.compile.kernels import barrier
from sw.compile.kernels.fusion import KERNEL, SUPERSTEPS
from sw.compile.kernels.kernel import Kernel
from sw.compile.lower.host_actions import HostCall, HostSum
from sw.compile.lower.host_code import HostCode
from sw.compile.lower.host_numbers import SLOTS
from sw.compile.lower.host_paths import HostPaths, Onward, onward_of
from sw.compile.lower.host_ranges import Ranges, fits


__all__ = ["DeviceProgram"]


#: The places of the host's words and of the records in local memory.
_PLACE, _RECORDS = "host", "host_records"


class DeviceProgram:
    """A run of a program as one launch (:mod:`sw.compile.kernels.fusion`).

    Parameters
    ----------
    parent : ProgramAlgorithm
    code : HostCode

    Attributes
    ----------
    turned : frozenset of str
        After a run, the vectors whose words are in their other array.
    """
    turned = frozenset()

    def __init__(self, parent, code: HostCode):
        self.parent, self.code = parent, code

    @property
    def names(self) -> list[str]:
        """The kernels that are sections."""
        return self.code.kernels

    def drive(self, session) -> int:
        """Run the program. Returns the number of executions of operators of edges."""
        session.launch_kernel(KERNEL, 0)
        supersteps, end = session.read(SUPERSTEPS).tolist()
        self.turned = self.code.ends[end]
        return supersteps

    def reserve(self, task):
        """Reserve the host's words. Raises UserError if local memory is full."""
        self.words = _Words(self)
        task.local.reserve(_PLACE, self.words.count)
        task.local.reserve(_RECORDS, 2 * Record.size() // 4, align=2 * Record.size() // 4)
        task.local.reserve(SLOTS, self.parent.host.words)

    def emit(self, task, assembler):
        """Emit the kernel."""
        _Emitter(self, task, assembler).emit()


class _Words:
    """The host's words: a place for each thing that it knows, in bytes."""

    def __init__(self, program):
        code = program.code
        self.ranges = Ranges(code, program.parent.graph)
        self._places, self.count = {}, 0
        self._add("return")
        self._add("answers", 3)
        self._add("results", 2)
        for storage in range(program.parent.pool.storages):
            self._add(("block", storage))
        for action in code.actions(HostCall):
            if action.supersteps:
                self._add(("count", action.head))
        for name in code.numbers:
            self._add(("number", name), 1 if fits(self.ranges.numbers[name]) else 2)
        for action in code.actions(HostSum):
            self._add(("sum", action.node), 2)

    def _add(self, key, words=1):
        if key not in self._places:
            self._places[key] = 4 * self.count
            self.count += words

    def __getitem__(self, key):
        return self._places[key]


class _Emitter:
    """The kernel under construction.

    Attributes
    ----------
    behind : dict of str to Onward
        What follows each section, by its name.
    """

    def __init__(self, program, task, assembler):
        self._program, self._task, self._a = program, task, assembler
        self._code, self._words = program.code, program.words
        self.behind = onward_of(program.code)
        self._steps = {name: task.kernel_sets[name] for name in program.names}
        self.sections = {name: assembler.label(f"section_{name}") for name in program.names}
        self.end = assembler.label("last")
        self._labels = {way: assembler.label(f"finish_{way.value}") for way in Onward}

    def emit(self):
        """Emit all sections."""
        a = self._a
        k = Kernel(a, self._task, KERNEL, None)
        a.argument, a.record = a.keep("argument"), Record.SUPERSTEP
        a.li(a.argument, self._task.local.address(_RECORDS))
        once = [step for step in dict.fromkeys(itertools.chain(*self._steps.values())) if step.once]
        if once:
            self._first_record(k)
        for step in once:
            step.emit(a)
            k = self.section()
            k.phase(0)
            barrier.meet(k)
        k, host = self.section(), a.label("is_host")
        a.beqz(self._is_other(k), host)
        self._turn(k)
        self._later()
        a.place(host)
        HostPaths(self, self._program, self._task, self._a).emit()
        for way in sorted(set(self.behind.values()), key=list(Onward).index):
            self._finish(way)
        for name, steps in self._steps.items():
            self.section(self.sections[name])
            for step in [step for step in steps if not step.once]:
                step.emit(a)
                k = self.section()
                if step is not steps[-1]:
                    k.phase(0)
                    barrier.meet(k)
            a.jump_to_section(self._labels[self.behind[name]])
        self.section(self.end)
        a.end_warp()

    def _first_record(self, k):
        """The record of kernels that run once, before the host: their sets are all vertices."""
        every = k.constant(self._program.parent.pool.address(k, ALL))
        k.a.sw(k.a.zero, k.a.argument, Record.SUPERSTEP)
        k.a.sw(k.a.zero, k.a.argument, Record.NUMBER)
        for place in range(Record.BLOCKS, Record.size(), 4):
            k.a.sw(every, k.a.argument, place)

    def section(self, label=None):
        """Begin a section, at a label if it has one."""
        k = self._k = Kernel(self._a, self._task, _PLACE, None)
        if label is not None:
            self._a.place(label)
        return k

    def word(self, k, key, into, place=0, store=False):
        """Load a word of the host, or store it: of several words with one key, that of a place."""
        where, offset = (SLOTS, 4 * key[1]) if key[0] == "slot" else (_PLACE, self._words[key])
        base = k.constant(self._task.local.address(where), where)
        (k.a.sw if store else k.a.lw)(into, base, offset + 4 * place)

    def answer(self, k, some):
        """A register with the address of two words that differ if ``some``, and are equal if not.
        """
        place = self._task.local.address(_PLACE) + self._words["answers"]
        return k.constant(place + 4 * some, "answer")

    def next_record(self, k):
        """A new register with the address of the record that the next section gets."""
        into = k.a.reg("record")
        k.a.xori(into, k.a.argument, Record.size())
        return into

    def launch(self, k, record, section):
        """The host goes to a section, whose record it has made. The section comes back to the place
        whose address the host has as ``return``."""
        k.a.mv(k.a.argument, record)
        k.a.jump_to_section(section)

    def _is_other(self, k):
        """A register that is 0 in the warp that is the host: the last one, which is the most likely
        to have no work."""
        warp = k.a.reg("warp")
        k.a.csrr(warp, Csr.WARP_ID)
        k.a.addi(warp, warp, 1 - self._task.warps)
        return warp

    def _finish(self, way):
        """Between a section and the next."""
        a, others = self._a, self._a.label("others")
        k = self.section(self._labels[way])
        k.phase(0)
        a.bnez(self._is_other(k), others)
        back = a.reg("back")
        self.word(k, "return", back)
        a.jalr(a.zero, back, 0)
        a.place(others)
        k.barrier()
        if way is not Onward.WAIT and k.config.cores > 1:
            k.barrier()
        self._turn(k)
        if way is Onward.ASK:
            later = a.label("later")
            place, some, none = a.regs("place", "end", "start")
            a.lw(place, a.argument, Record.ASK)
            a.lw(some, place)
            a.lw(none, place, 4)
            a.beq(some, none, later)
            self._go(Record.SECTION)
            a.place(later)
        if way is Onward.GO:
            self._go(Record.SECTION)
        else:
            self._later()

    def _turn(self, k):
        """The warp goes on with the other record."""
        k.a.xori(k.a.argument, k.a.argument, Record.size())

    def _later(self):
        """To the section that the host finds."""
        self._k.barrier()
        self._go(Record.LATER)

    def _go(self, word):
        """To the section in a word of the record."""
        section = self._a.reg("section")
        self._a.lw(section, self._a.argument, word)
        self._a.jalr(self._a.zero, section, 0)
