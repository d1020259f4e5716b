"""Recorder of a machine's trace in a window of cycles."""

import functools
from collections.abc import Sequence

import numpy as np

from base.errors import UserError
from base import numbers
from hw.isa import PHASES
from hw.stalls import WARP_STATES
from sim.trace import END, STREAMS, Tracer, access_of, dtypes, written_by
from hw.disassembler import REGISTER_NAMES, disassemble, operands


__all__ = ["CYCLES", "LIMIT", "Recorder", "lanes_text", "phase_name", "window"]


#: Cycles that are kept if no window is asked for, and the most that can be asked for.
CYCLES, LIMIT = 20_000, 200_000

#: Lanes whose values are shown.
_LANES = 4


def phase_name(number) -> str:
    """The name of a value of the phase CSR."""
    return PHASES[number] if number < len(PHASES) else f"phase {number}"


def window(text: str) -> tuple:
    """``FROM:TO`` as two cycles. Raises UserError."""
    first, colon, last = text.partition(":")
    first, last = numbers.integer(first), numbers.integer(last)
    if not colon or first is None or last is None or first < 0:
        raise UserError(f"cycles {text!r}: must be FROM:TO, such as 1000:3000")
    if not 0 < last - first <= LIMIT:
        raise UserError(f"cycles {text!r}: must be a range of 1 to {LIMIT} cycles")
    return first, last


class Recorder:
    """Takes a machine's trace, launch by launch.

    Parameters
    ----------
    config : HardwareConfig
        The machine's configuration.
    window : (int, int), optional
        The cycles to keep, counted over all launches. If it is left out, at most the first
        :data:`CYCLES` cycles of the first launch are kept.

    Attributes
    ----------
    words : sequence of int
        The instruction words of the program.
    kernels : list of str
        Name of each launch.
    """

    def __init__(self, config, window=None):
        self.config = config
        self.words: Sequence[int] = ()
        self.kernels = []
        self._first_launch_only = window is None
        self.window = (0, CYCLES) if window is None else window
        self._chunks = []

    def tracer(self) -> Tracer:
        """The tracer to give to the machine."""
        return Tracer(self._take, window=self.window)

    def launched(self, kernel, words) -> None:
        """A launch is about to begin."""
        self.kernels.append(kernel)
        self.words = words

    def _take(self, chunk):
        if self._first_launch_only:
            chunk = {stream: array[array["launch"] == 0] for stream, array in chunk.items()}
        self._chunks.append(chunk)

    @functools.cached_property
    def records(self) -> dict:
        """{stream: records}, when all has been recorded."""
        kinds = dtypes(self.config)
        return {stream: np.concatenate([np.empty(0, kinds[stream]),
                                        *(chunk[stream] for chunk in self._chunks)])
                for stream in STREAMS}

    @functools.cached_property
    def writes(self):
        """For each issue record the indices of its two write records, or -1."""
        return written_by(self.records["issue"], self.records["write"])

    @functools.cached_property
    def accesses(self):
        """For each issue record the index of its access record, or -1."""
        return access_of(self.records["issue"], self.records["access"])

    def word(self, pc) -> int:
        """The instruction word at a PC."""
        return int(self.words[pc // 4]) if pc // 4 < len(self.words) else 0

    def launches(self) -> list:
        """(launch, first cycle, cycle after the last kept cycle) of each launch."""
        state, found = self.records["state"], []
        for launch in np.unique(state["launch"]).tolist():
            mine = state[state["launch"] == launch]
            last = int(mine["cycle"][-1])
            if mine["stall"][-1] != END:        # the launch was stopped, or outlasts the window
                last = 1 + max(int(array["cycle"][array["launch"] == launch].max(initial=0))
                               for array in self.records.values())
            found.append((launch, int(mine["cycle"][0]), min(last, self.window[1])))
        return found

    def states(self, launch, core, end, warp=None):
        """Runs of cycles in which a warp was in one state, as (first, after the last, state).

        Without a warp, the runs are those of the core: ``ready`` in cycles with an issue, or else
        the cause of no issue.
        """
        state = self.records["state"]
        mine = state[(state["launch"] == launch) & (state["core"] == core)
                     & (state["stall"] != END)]
        if not len(mine):
            return []
        values = mine["stall"] if warp is None else mine["state"][:, warp]
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        cycles = mine["cycle"][starts].tolist()
        return [(first, after, WARP_STATES[value]) for first, after, value in
                zip(cycles, [*cycles[1:], end], values[starts].tolist()) if first < after]

    def instructions(self, launch, core, warp):
        """Indices of the issue records of a warp in a launch, in order."""
        issue = self.records["issue"]
        return np.flatnonzero((issue["launch"] == launch) & (issue["core"] == core)
                              & (issue["warp"] == warp)).tolist()

    def describe(self, index) -> dict:
        """One instruction in words.

        Keys: ``cycle``, ``phase``, ``pc``, ``text``, ``mask``. An instruction that has them also
        gets ``result`` and ``latency`` (cycles from issue to the last write-back), ``addresses``,
        ``data``.
        """
        issue = self.records["issue"][index]
        pc, mask = int(issue["pc"]), int(issue["mask"])
        word = self.word(pc)
        found = {"cycle": int(issue["cycle"]), "phase": phase_name(int(issue["phase"])),
                 "pc": pc, "text": disassemble(word, pc), "mask": mask}
        writes = [self.records["write"][place] for place in self.writes[index] if place >= 0]
        if writes:
            found["result"] = "; ".join(f"{REGISTER_NAMES[int(write['rd'])]} = "
                                        + lanes_text(write["value"], int(write["mask"]))
                                        for write in writes)
            found["latency"] = max(int(write["cycle"]) for write in writes) - found["cycle"]
        place, fields = self.accesses[index], operands(word)
        if place >= 0 and fields is not None and "1" in fields.row.reads:
            access = self.records["access"][place]
            found["addresses"] = lanes_text(access["address"], mask)
            if "2" in fields.row.reads:
                found["data"] = lanes_text(access["data"], mask)
        return found


def lanes_text(values, mask) -> str:
    """The values of the first few lanes in a mask; one value if all lanes have the same."""
    chosen = [f"{value:x}" for lane, value in enumerate(values.tolist()) if mask >> lane & 1]
    if len(chosen) > 1 and len(set(chosen)) == 1:
        return f"{chosen[0]} (all)"
    return " ".join(chosen[:_LANES]) + (" …" if len(chosen) > _LANES else "")
