"""Plays the control processor for one core's GraphPEG."""

from hw.gather.interface import BalancingControl, BalancingState, entry_layout
from tb.clocking import Beat, Pins, integer, tick
from tb.hw.gather.graphpeg_driver import Core
from tb.streams import pack, unpack


__all__ = ["ExchangingCore"]


class ExchangingCore(Core):
    """A core whose unit exchanges edges with a pool.

    Given entries go to the pool, and come back from there. The exchange is over only when the pool
    is empty.

    Attributes
    ----------
    pool : list of dict
        Entries (``vertex``, ``sindex``, ``eindex``) that were given and did not come back.
    given : int
        Entries that were given so far.
    nothing : int
        Answers so far that nothing can be given.
    donates, receives : float
        Probability of a cycle without a command to ask for an entry, or to give back an entry.
    ends : bool
        Whether the exchange may be over.
    """

    def __init__(self, dut, **options):
        super().__init__(dut, **options)
        self.pool, self.given, self.nothing = [], 0, 0
        self.donates = self.receives = 0.0
        self.ends = True
        self._pins = Pins()
        self._idle()
        Beat.of(dut).add(self)

    def _idle(self):
        self._command, self._over, self._entry = BalancingControl.IDLE, False, None

    def _forget(self):
        super()._forget()
        self.pool.clear()
        self._idle()

    def _registers(self):
        dut = self.dut
        return {name: integer(getattr(dut, f"exchange__{name}"))
                for name in ("open", "dry", "room", "rbs")}

    def drive(self):
        """At a falling edge: the registers for the next rising edge."""
        put, dut = self._pins.put, self.dut
        put(dut.exchange__rbc, self._command.value)
        put(dut.exchange__over, int(self._over))
        if self._command is BalancingControl.ER:
            put(dut.exchange__received, pack(entry_layout(), self._entry))

    def sample(self):
        """When inputs have settled: decide on the registers of the next cycle."""
        if integer(self.dut.rst) == 1 or integer(self.dut.reset) == 1:
            self._idle()
            return
        now, command = self._registers(), self._command
        answer = BalancingState(now["rbs"])
        self._over = bool(now["open"] and now["dry"] and self.ends and not self.pool
                          and command is BalancingControl.IDLE and not self._over)
        if command is BalancingControl.ED:
            if answer is not BalancingState.IDLE:
                self._take(answer)
        elif command is BalancingControl.ERS:
            assert now["room"] and now["open"]
            if self.rng.random() < 0.5:
                self._command = BalancingControl.ER
                self._entry = self._returned()
        elif command is BalancingControl.ER:
            self._command = BalancingControl.IDLE
        elif now["open"] and not self._over and answer is BalancingState.IDLE:
            if self.pool and now["room"] and self.rng.random() < self.receives:
                self._command = BalancingControl.ERS
            elif self.rng.random() < self.donates:
                self._command = BalancingControl.ED

    def _take(self, answer):
        """The unit has answered ED."""
        self._command = BalancingControl.IDLE
        if answer is BalancingState.NOTHING:
            self.nothing += 1
            return
        entry = unpack(entry_layout(), integer(self.dut.exchange__rbw))
        entry = {name: int(entry[name]) for name in ("vertex", "sindex", "eindex")}
        assert entry["sindex"] < entry["eindex"], f"nothing is given: {entry}"
        self.pool.append(entry)
        self.given += 1

    def _returned(self):
        """An entry of the pool, or a part of it."""
        entry = self.pool.pop(self.rng.randrange(len(self.pool)))
        if entry["eindex"] - entry["sindex"] > 1 and self.rng.random() < 0.3:
            middle = self.rng.randrange(entry["sindex"] + 1, entry["eindex"])
            self.pool.append({**entry, "sindex": middle})
            entry = {**entry, "eindex": middle}
        return entry

    def refs(self):
        """REFS."""
        return integer(self.dut.exchange__refs)

    async def donation(self):
        """Ask for an entry. Returns the entry, or None if nothing can be given."""
        given, nothing = self.given, self.nothing
        self._command = BalancingControl.ED
        while (given, nothing) == (self.given, self.nothing):
            await tick(self.dut)
        while integer(self.dut.exchange__rbs) != BalancingState.IDLE.value:
            await tick(self.dut)
        return self.pool[-1] if self.given > given else None

    def rows_of(self, vertex):
        """The numbers of the edges of a vertex (a number): the first, and the one behind the last.
        """
        edges = self.graph.rows[self.graph.ids[vertex]]
        return edges[0], edges[0] + len(edges)
