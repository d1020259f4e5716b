"""A model of the DRAM with two regions, and of the traffic generator in front of it.

The model follows the rules of :mod:`sim.dram` literally: it keeps every request of a run, and asks
in every cycle which of them are still held. It shares no code with the harness.
"""

import dataclasses

from .traffic import PROBES, Op, pattern


__all__ = ["DramModel", "expected"]


@dataclasses.dataclass
class _Request:
    slow: bool
    write: bool
    accepted: int
    start: int
    over: int               # first cycle in which the bus is free again
    ready: int              # first cycle in which the response of a read may be offered
    value: int = 0
    offered: bool = False
    taken: int | None = None

    def held(self, cycle):
        """Whether the request takes a place in its queue in a cycle."""
        if self.write:
            return cycle < self.over
        return self.taken is None or cycle <= self.taken


class DramModel:
    """The memory.

    Parameters
    ----------
    dram : sim.dram.DramConfig
    line_bytes : int
    words : dict of int to int
        The first word of each line.
    slow_line : int or None
        The first slow line; None if no line is slow.
    """

    def __init__(self, dram, line_bytes, words, slow_line=None):
        self.requests, self.words, self._slow_line = [], words, slow_line
        self._occupancy = {False: dram.occupancy(line_bytes)}
        self._latency = {False: dram.latency * dram.ratio}
        self._queue = {False: dram.queue}
        if dram.has_slow:
            self._occupancy[True] = -(-line_bytes * dram.ratio // dram.slow_bytes_per_cycle)
            self._latency[True] = dram.slow_latency * dram.ratio
            self._queue[True] = dram.slow_queue

    def ready(self, cycle):
        """``mem_req_ready``."""
        return all(sum(request.held(cycle) for request in self.requests if request.slow == slow)
                   < queue for slow, queue in self._queue.items())

    def accept(self, cycle, line, write):
        """A request is accepted."""
        slow = self._slow_line is not None and line >= self._slow_line
        start = max([cycle + 1, *(request.over for request in self.requests
                                  if request.slow == slow)])
        occupancy = self._occupancy[slow]
        self.requests.append(_Request(
            slow, write, cycle, start, start + occupancy,
            start + max(self._latency[slow], occupancy), self.words[line]))
        if write:
            self.words[line] = pattern(line, 0)

    def response(self, cycle):
        """The response on offer, or None."""
        reads = [request for request in self.requests
                 if not request.write and request.taken is None]
        for request in reads:
            if request.offered:
                return request
        firsts = [next((request for request in reads if request.slow == slow), None)
                  for slow in (False, True)]
        ready = [request for request in firsts if request is not None and request.ready <= cycle]
        if not ready:
            return None
        found = min(ready, key=lambda request: (request.ready, request.slow))
        found.offered = True
        return found


def expected(memory, operations, tags) -> dict:
    """The observations of the traffic generator, as :data:`~tb.sim.traffic.PROBES` names them.

    Parameters
    ----------
    memory : DramModel
    operations : list of (Op, int)
        Without UPDATE, MASK and the operations that fail.
    tags : int
        Tags of the memory port.
    """
    seen = dict.fromkeys(PROBES, 0)
    program = iter([*operations, (Op.END, 0)])
    op, left, line, stall, pause, outstanding, cycle = Op.WAIT, 0, 0, 0, 0, 0, 0
    while True:
        write = op is Op.WRITE
        valid = left > 0 and (write or (op is Op.READ and outstanding != tags))
        accepted = valid and memory.ready(cycle)
        response = memory.response(cycle)
        taken = response is not None and pause == 0
        waiting = left > 0 or (op in (Op.DRAIN, Op.END) and outstanding > 0)
        if taken:
            response.taken = cycle
            seen["checksum"] = (3 * seen["checksum"] + response.value) % 2 ** 64
            seen["first_response"] = seen["first_response"] or cycle
            seen["last_response"] = cycle
        pause = pause - 1 if pause else stall if taken else 0
        outstanding += (accepted and not write) - taken
        if accepted:
            memory.accept(cycle, line, write)
            if not seen["reads"] and not seen["writes"]:
                seen["first_request"] = cycle
            seen["last_request"] = cycle
            seen["writes" if write else "reads"] += 1
            line, left = line + 1, left - 1
        elif op is Op.WAIT:
            left -= left > 0
        if not waiting:
            if op is Op.END:
                return seen
            op, argument = next(program)
            if op is Op.SEEK:
                line = argument
            elif op is Op.STALL:
                stall = argument
            elif op in (Op.READ, Op.WRITE, Op.WAIT):
                left = argument
        cycle += 1
