"""The host's side of a hash lookup: the table that a device has, the plan, and the result::

    with Device.simulate(preset("default")) as device:
        table = HashTable(device, [5, 9, 5], [50, 90, 51])
        result = table.lookup([9, 5, 7], schedule="vm")
    print(result.found, result.values, result.cycles)

The table is built by :mod:`sw.operators.hashing.table`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from hw.gather.variants import VARIANTS
from sw.compile import schedules
from sw.operators.hashing.buckets import BucketFormat
from sw.operators.hashing.lookup import HashLookup, Queries
from sw.operators.hashing.table import PairTable, buckets_of, words
from sw.compile.options import Switch, settle, word
from sw.compile import planning
from sw.compile.plan import CLOSED, Plan
from sw.device.result import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hw.config import HardwareConfig
    from sw.compile.task import Task


__all__ = ["HashTable", "LookupPlan", "LookupResult"]


_PARAMETERS = {"count": Switch(False, "whether to count the pairs of each key")}


@dataclasses.dataclass(frozen=True)
class LookupPlan(Plan):
    """The plan of a lookup: the choices ``schedule``, ``split``, ``warps`` and ``phases``, and the
    parameter ``count``."""
    algorithm: str = HashLookup.name
    format: str = BucketFormat.name

    def __post_init__(self):
        given = settle(_PARAMETERS, dict(self.parameters), "lookup")
        form = {"parameters": tuple(given.items()),
                "schedule": schedules.canonical(self.schedule),
                **settle(CLOSED, {name: getattr(self, name) for name in CLOSED}, "lookup")}
        for name, value in form.items():
            object.__setattr__(self, name, value)

    @property
    def text(self) -> str:
        """The choices, as a plan of a graph has them."""
        given = ",".join(f"{name}={word(value)}" for name, value in self.parameters)
        fields = {name: getattr(self, name) for name in ("split", "warps", "phases")}
        return " ".join([f"{self.algorithm}({given}) schedule={self.schedule}",
                         *(f"{name}={word(value)}" for name, value in fields.items()
                           if value != CLOSED[name].default)])

    @property
    def kind(self) -> type[HashLookup]:
        """The class of the algorithm."""
        return HashLookup

    def stored(self, graph: Any) -> BucketFormat:
        """The table of a :class:`~sw.operators.hashing.lookup.Queries` for kernels."""
        return BucketFormat(graph)

    def check(self, config: HardwareConfig | None = None) -> None:
        """Raise UserError if the schedule cannot look keys up, or not on this hardware."""
        schedule = schedules.make(self.schedule)
        if schedule.has_lists:
            raise schedule.refuse("cannot look up keys: it lists the edges that leave a frontier, "
                                  "and a lookup has none")
        if schedule.reads_lists:
            raise schedule.refuse("cannot look up keys: its unit reads the rows of a graph, and "
                                  "the row of a key is found by its hash")
        super().check(config)
        if config is not None and schedule.name == "weaver" and config.gather_reads:
            *others, last = (repr(name) for name, unit in VARIANTS.items()
                             if not unit.reads_memory)
            raise schedule.refuse(f"cannot look up keys with gather = {config.gather!r}: this unit "
                                  "reads the rows of a graph, and the row of a key is found by its "
                                  f"hash; gather = {', '.join(others)} or {last} can")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LookupResult(Result):
    """One lookup of some queries. ``vertices`` counts the queries, and ``edges`` the pairs in the
    buckets of all queries together; ``graph`` describes the table."""

    @property
    def index(self) -> NDArray[np.int32]:
        """For each query the number of the first pair with this key, in the order in which the
        pairs were given; -1 if there is none."""
        return self.outputs["index"]

    @property
    def found(self) -> NDArray[np.bool_]:
        """For each query whether there is a pair with this key."""
        return self.outputs["index"] >= 0

    @property
    def values(self) -> NDArray[np.uint32]:
        """For each query the value of the first pair with this key; 0 if there is none."""
        return self.outputs["value"]

    @property
    def counts(self) -> NDArray[np.uint32] | None:
        """For each query how many pairs have this key; None if they were not counted."""
        return self.outputs.get("count")


class HashTable:
    """A hash table, in which kernels of a device look keys up (SparseWeaver, 4.7.2).

    The host groups the pairs by bucket, once. Each lookup brings the table to the device's memory.
    As with graphs, neither is in the cycles of a result.

    Parameters
    ----------
    device : Device
    keys, values : array or sequence of int
        Unsigned words: the value of each key. A key may occur several times.
    buckets : int, optional
        Number of buckets; left out, one for every 8 keys.

    Attributes
    ----------
    table : sw.operators.hashing.table.PairTable
        The pairs by bucket.

    Raises
    ------
    UserError
        Keys, values or buckets that are not legal, or that do not fit in the device's memory.
    """

    def __init__(self, device: Any, keys: Any, values: Any, buckets: int | None = None) -> None:
        self._device = device
        self.table = PairTable(keys, values, buckets, device.config.memory_bytes)

    @property
    def buckets(self) -> int:
        """Number of buckets."""
        return self.table.buckets

    def __len__(self) -> int:
        return len(self.table.keys)

    def bucket_of(self, keys: Any) -> NDArray[np.int64]:
        """The bucket of each key, whether the table has the key or not; ``keys`` as of
        :meth:`lookup`."""
        return buckets_of(words(keys, "keys"), self.buckets)

    def lookup(self, queries: Any, *, max_cycles: int | None = None, verify: bool = True,
               **choices: Any) -> LookupResult:
        """Look keys up.

        Parameters
        ----------
        queries : array or sequence of int
            The keys to look up, unsigned words.
        max_cycles : int, optional
            Cycles after which the lookup is given up.
        verify : bool
            Whether to compare the answers with the golden model.
        **choices
            As of :meth:`plan`.

        Raises
        ------
        UserError
            Something that was asked for does not exist, cannot work, or does not fit. Nothing has
            run.
        RunError
            The device stopped with an error or at the limit, or the answers differ from the golden
            model's.
        """
        result = self._device.run_task(self.plan(queries, **choices), max_cycles=max_cycles,
                                       verify=verify)
        return LookupResult(**{field.name: getattr(result, field.name)
                               for field in dataclasses.fields(Result)})

    def plan(self, queries: Any, *, schedule: str = "weaver", count: bool = False,
             split: str = "static", warps: int | None = None, phases: bool = False) -> Task:
        """The task that :meth:`lookup` would run; ``task.program.listing()`` is its code.

        Parameters
        ----------
        queries : array or sequence of int
        schedule : str
            ``NAME[:OPTION=VALUE]...``, as for graphs.
        count : bool
            Whether to count the pairs of each key. If not, the first match ends the work on a
            bucket, where the schedule can end it.
        split, warps, phases
            As of :class:`~sw.compile.plan.Plan`.

        Raises
        ------
        UserError
            As of :meth:`lookup`.
        """
        plan = LookupPlan(schedule=schedule, parameters=(("count", count),), split=split,
                          warps=warps, phases=phases)
        work = Queries(self.table, words(queries, "queries"))
        return planning.make(self._device.config, plan, work)
