"""A program as one kernel: the kernels of its operators are sections, and one warp is the host.

The last warp of each core performs the host's part of the program (:mod:`.host_code`), on words of
its core's local memory, which no other warp writes. So the hosts of all cores go the same way, and
no word of the host is written while another warp reads it::

    other warps    a section, then the core's barrier twice
    last warp      a section; computes what it can; the core's barrier, and with several cores the
                   wait for the hosts of others; reads what the section has left; stores the
                   argument and the next section; the barrier again
    all warps      read both, and go to the section

A host reads sizes of sets and sums from global memory. What it reads is not written by the section
that follows, or else the hosts of all cores meet before it.

The host's numbers have 64 bits, as two words, unless they are known to stay within 32: numbers that
only grow or fall by a constant do, as a run has at most :data:`~sw.vm.host.MOST_ROUNDS` rounds.
"""

from __future__ import annotations

import itertools

from hw.isa import Csr
from sw.compile.kernels import barrier
from sw.compile.kernels.fusion import KERNEL, SUPERSTEPS
from sw.compile.kernels.kernel import Kernel
from sw.compile.lower.host_actions import HostCall, HostSum
from sw.compile.lower.host_code import HostCode
from sw.compile.lower.host_numbers import SLOTS
from sw.compile.lower.host_paths import HostPaths
from sw.compile.lower.host_ranges import Ranges, fits


__all__ = ["DeviceProgram"]


#: The place of the host's words in local memory.
_PLACE = "host"


class DeviceProgram:
    """A run of a program as one launch, as :class:`~sw.compile.kernels.fusion.Loop` is.

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
        for name in ("return", "argument", "section"):
            self._add(name)
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
    """The kernel under construction."""

    def __init__(self, program, task, assembler):
        self._program, self._task, self._a = program, task, assembler
        self._code, self._words = program.code, program.words
        self._steps = {name: task.kernel_sets[name] for name in program.names}
        self._sections = {name: assembler.label(f"section_{name}") for name in program.names}
        self._labels = {label: assembler.label(label)
                        for label in ("launch", "start", "finish", "last")}

    def emit(self):
        """Emit all sections."""
        a = self._a
        k = Kernel(a, self._task, KERNEL, None)
        a.argument = a.keep("argument")
        a.li(a.argument, 0)
        for step in dict.fromkeys(itertools.chain(*self._steps.values())):
            if step.once:
                step.emit(a)
                k = self.section()
                k.phase(0)
                barrier.meet(k)
        k = self.section()
        host = a.label("is_host")
        a.beqz(self._is_other(k), host)
        a.jump_to_section(self._labels["start"])
        a.place(host)
        HostPaths(self, self._program, self._task, self._a).emit()
        self._dispatch()
        for name, steps in self._steps.items():
            self.section(self._sections[name])
            for step in [step for step in steps if not step.once]:
                step.emit(a)
                k = self.section()
                if step is not steps[-1]:
                    k.phase(0)
                    barrier.meet(k)
            a.jump_to_section(self._labels["finish"])
        self.section(self._labels["last"])
        a.end_warp()

    def section(self, label=None):
        """Begin a section, at a label if it has one."""
        k = Kernel(self._a, self._task, _PLACE, None)
        if label is not None:
            self._a.place(label)
        return k

    def word(self, k, key, into, place=0, store=False):
        """Load a word of the host, or store it: of several words with one key, that of a place."""
        where, offset = (SLOTS, 4 * key[1]) if key[0] == "slot" else (_PLACE, self._words[key])
        base = k.constant(self._task.local.address(where), where)
        (k.a.sw if store else k.a.lw)(into, base, offset + 4 * place)

    def section_of(self, k, name):
        """A register with the address of a section, or of the end of the program."""
        into = k.a.reg("section")
        k.a.section_address(into, self._sections.get(name) or self._labels["last"])
        return into

    def launch(self, k):
        """The host has the next section, and all warps go there. The host goes on behind this when
        it has done the section."""
        k.barrier()
        k.a.jump_to_section(self._labels["launch"], k.a.argument)

    def _is_other(self, k):
        """A register that is 0 in the warp that is the host: the last one, which is the most likely
        to have no work."""
        warp = k.a.reg("warp")
        k.a.csrr(warp, Csr.WARP_ID)
        k.a.addi(warp, warp, 1 - self._task.warps)
        return warp

    def _dispatch(self):
        """Between the host and sections."""
        a = self._a
        k = self.section(self._labels["start"])
        k.barrier()
        self._go(k)
        k = self.section(self._labels["launch"])
        self.word(k, "return", a.argument, store=True)
        self._go(k)
        k = self.section(self._labels["finish"])
        others = a.label("others")
        k.phase(0)
        a.bnez(self._is_other(k), others)
        self.word(k, "return", a.argument)
        a.jalr(a.zero, a.argument, 0)
        a.place(others)
        k.barrier()
        a.jump_to_section(self._labels["start"])

    def _go(self, k):
        """To the next section."""
        section = k.a.reg("section")
        self.word(k, "section", section)
        self.word(k, "argument", k.a.argument)
        k.a.jalr(k.a.zero, section, 0)
