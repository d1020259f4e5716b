"""Table of the proved properties by unit and shape, for the tests and for ``graphloom prove``.

A proof by *induction* holds for runs of any length. A *bounded* proof holds for the first cycles
after reset. A proof by *structure* of the circuit holds for any run. Each proof holds only for its
shape. The benches cover larger shapes.
"""

import dataclasses
from collections.abc import Callable

from amaranth.lib import wiring

from checks.formal.address import ExpanderPromise, SelectorPromise
from checks.formal.banks import CollectPromise, DispatchPromise
from checks.formal.barrier import BarrierPromise
from checks.formal.coalescer import CoalescerPromise
from checks.formal.divergence import DivergencePromise
from checks.formal.eghw import EntryPromise, RecordPromise
from checks.formal.exchange import ExchangePromise
from checks.formal.fetch import FetchPromise
from checks.formal.filters import DEPTH, SLOTS, FilterPromise
from checks.formal.floats import BoundsPromise, OrderPromise
from checks.formal.graphpeg import EdgePromise, PlacePromise, VertexPromise
from checks.formal.issue_queue import IssueQueuePromise
from checks.formal.l1 import L1Promise
from checks.formal.l2 import L2Promise
from checks.formal.lane_checks import LaneChecksPromise
from checks.formal.loads import LoadPromise
from checks.formal.misses import MissPromise
from checks.formal.neighbor_filter import FilterPlacePromise, KeptEdgePromise
from checks.formal.packer import BitPackerPromise, PackerPromise
from checks.formal.prove import Refuted, prove
from checks.formal.rows import RowsPromise
from checks.formal.scoreboard import ScoreboardPromise
from checks.formal.sdram import SdramPromise
from checks.formal.store import StorePromise
from checks.formal.stream_weaver import StreamWeaverPromise
from checks.formal.streams import StreamPromise, waits_on_ready
from checks.formal.turns import TurnsPromise
from checks.formal.weaver import WeaverPromise
from checks.formal.weaver_invariants import add_invariants
from hw.config import HardwareConfig
from hw.core.coalescer import Coalescer
from hw.core.l1 import L1
from hw.core.loads import LoadQueue
from hw.float.format import SINGLE, FloatFormat
from hw.gather.eghw.unit import EdgeGenerator
from hw.gather.fsm.unit import Weaver
from hw.gather.graphpeg.unit import GraphPeg
from hw.gather.scan.unit import ScanWeaver
from hw.gather.stream.unit import StreamWeaver
from hw.gather.variants import OUTSIDE, VARIANTS, component
from hw.memory.l2_bank import L2Bank
from hw.scu.filter_banks import FilterBanks
from hw.scu.filter_group import FilterGroup
from hw.sdram.controller import SdramController
from hw.sdram.timing import SLOWEST
from hw.streams import StreamBuffer, StreamRegister


__all__ = ["PROPERTIES", "UNITS", "Proof", "Property", "proofs"]


@dataclasses.dataclass(frozen=True)
class Proof:
    """A property in one shape."""
    shape: str  #: Description of the built component.
    #: Makes the component: the harness, or for ``"structure"`` the unit itself.
    build: Callable[[], wiring.Component]
    mode: str = "induction"  #: ``"induction"``, ``"bounded"`` or ``"structure"``.
    depth: int = 1  #: Length in cycles of the induction or of the bounded runs.
    #: Whether the proof takes too long for the tests, and runs only with ``--full``.
    full: bool = False

    @property
    def kind(self) -> str:
        """The mode in words."""
        return f"bounded to {self.depth} cycles" if self.mode == "bounded" else self.mode

    def check(self, folder, *, timeout=600):
        """Run the proof in an existing folder.

        Raises
        ------
        Refuted, ToolError
            As for :func:`checks.formal.prove.prove`.
        """
        component = self.build()
        if self.mode == "structure":
            found = waits_on_ready(component)
            if found:
                raise Refuted(f"depends on ready: {', '.join(found)}", assertions=found)
            return
        prove(component, folder, depth=self.depth, timeout=timeout,
              mode="prove" if self.mode == "induction" else "bmc")


@dataclasses.dataclass(frozen=True)
class Property:
    """A promise of a unit, and its proofs."""
    unit: str  #: Names of the unit and of the property.
    name: str  #: Names of the unit and of the property.
    promise: str  #: The promise in a sentence.
    assumes: str  #: Assumptions about the unit's surroundings; empty if there are none.
    proofs: tuple[Proof, ...]  #: The proofs, one for each shape.
    #: The covers of the harness: events that a run from reset must reach. Without them the proof
    #: would say nothing about these events. Empty for a proof by structure.
    covers: tuple[str, ...] = ()
    covered: str = ""  #: The shape in which the covers are reached; by default the first shape.
    reach: int = 0  #: Cycles in which the covers are reached.

    def check_covers(self, folder, *, timeout=600):
        """Check in an existing folder that all covers of the harness are reached.

        Raises
        ------
        Refuted
            Some covers are not reached; ``assertions`` names them.
        ToolError
            As for :func:`checks.formal.prove.prove`.
        """
        [proof] = [proof for proof in self.proofs
                   if proof.shape == (self.covered or self.proofs[0].shape)]
        found = prove(proof.build(), folder, depth=self.reach, timeout=timeout, mode="cover")
        missing = [cover for cover in self.covers if cover not in found]
        if missing:
            raise Refuted(f"the harness has no covers {missing}", assertions=missing)


def _config(**fields):
    """A small configuration. A unit ignores the fields that it does not use."""
    return HardwareConfig(**{
        "warps": 2, "threads": 2, "imem_bytes": 1 << 10, "local_bytes": 256,
        "memory_bytes": 1 << 16, "load_queue": 2, "l1_bytes": 256, "l1_ways": 1, "l1_mshrs": 2,
        "l2_bytes": 0, "l2_mshrs": 2, "counters": False, **fields})


#: An L1 of two banks.
_BANKS = {"l1_banks": 2, "l1_bytes": 512, "l1_mshrs": 4}


#: A bank of the L2 of two lines, each in two sectors.
_SECTORS = {"l2_bytes": 32, "l2_ways": 1, "sector_bytes": 8}


def _shapes(harness, shapes, *, full=(), mode="induction", depth=1):
    """A proof for each shape, given as ``text: fields of the configuration``."""
    return tuple(Proof(shape, lambda fields=fields: harness(_config(**fields)), mode, depth,
                       shape in full)
                 for shape, fields in shapes.items())


#: A chip that is ready very soon, so that a proof needs few cycles.
_QUICK = SLOWEST.replace(power_up=20, rfc=20, rp=20, rcd=20)

#: Events of the Weavers with rounds.
_ROUNDS = ("an answer has edges of two entries", "an entry is given out in several answers",
           "an EID is reported", "a DEC gets its EIDs while another warp waits",
           "an entry is skipped", "two warps wait, and no work is left")

#: Those that a unit of one lane reaches also if it has one request at a time.
_OUTSIDE = ("an entry is given out in several answers", "an entry is skipped")

#: The Weaver that scans a row a step.
_SCAN_PROOFS = tuple(
    Proof(shape, lambda fields=fields: WeaverPromise(_config(gather="scan", **fields)), "bounded",
          depth, not fields)
    for shape, fields, depth in (
        ("2 warps x 1 lane", {"threads": 1}, 9), ("2 warps x 2 lanes", {}, 8)))

#: The Weaver without rounds. It takes 4 cycles from a registration to the first work.
_STREAM_PROOFS = tuple(
    Proof(shape, lambda fields=fields: StreamWeaverPromise(_config(gather="stream", **fields)),
          "bounded", depth, not fields)
    for shape, fields, depth in (
        ("2 warps x 1 lane", {"threads": 1}, 10), ("2 warps x 2 lanes", {}, 9)))

#: The unit that generates edges, in two halves.
_ENTRY_PROOFS, _RECORD_PROOFS = (
    tuple(Proof(shape, lambda promise=promise, fields=fields: promise(
        _config(gather="eghw", **fields)), "bounded", depth, full)
          for shape, fields, depth, full in shapes)
    for promise, shapes in (
        (EntryPromise, (("2 warps x 1 lane", {"threads": 1}, 11, False),
                        ("2 warps x 2 lanes", {}, 11, True))),
        (RecordPromise, (("2 warps x 1 lane", {"threads": 1}, 9, False),
                         ("2 warps x 2 lanes", {}, 8, False)))))

#: GraphPEG, in two halves, with the smallest table and buffer.
_PEG = {"gather": "graphpeg", "alwt_entries": 4, "gather_requests": 16, "edge_buffer_rows": 4}
_VERTEX_PROOFS, _EDGE_PROOFS = (
    tuple(Proof(shape, lambda promise=promise, fields=fields: promise(_config(**_PEG, **fields)),
                "bounded", depth)
          for shape, fields, depth in shapes)
    for promise, shapes in (
        (VertexPromise, (("2 warps x 1 lane", {"threads": 1}, 9), ("2 warps x 2 lanes", {}, 8))),
        (EdgePromise, (("2 warps x 1 lane", {"threads": 1}, 10),
                       ("2 warps x 2 lanes", {}, 9)))))

_FILTER = {**_PEG, "graphpeg_filter": True}
_KEPT_PROOFS = tuple(
    Proof(shape, lambda fields=fields: KeptEdgePromise(_config(**_FILTER, **fields)), "bounded",
          10, not fields)
    for shape, fields in (("2 warps x 1 lane", {"threads": 1}), ("2 warps x 2 lanes", {})))

_KEEPS = "each offer of a stream stays, unchanged, until it is taken"
_INDEPENDENT = "no offer depends on whether the receiver takes it in the same cycle"


def _streams(unit, build, shape, *, kept=(), reach=0):
    """Properties for the contract of a unit's streams.

    Induction proves that the streams named in ``kept`` keep their offers. Streams that another
    property covers are not named. Structure proves that no offer depends on ready.
    """
    if kept:
        yield Property(unit, "streams keep", _KEEPS, "inputs keep their offers in the same way",
                       (Proof(shape, lambda: StreamPromise(build())),),
                       covers=tuple(f"{name} is refused, then taken" for name in kept),
                       reach=reach)
    yield Property(unit, "streams offer", _INDEPENDENT, "", (Proof(shape, build, "structure"),))


def _outside(name):
    """Properties of a unit outside of the tree."""
    yield from _streams(name, lambda: component(_config(gather=name)), "2 warps x 2 lanes")
    if VARIANTS[name].rounds and VARIANTS[name].registers:
        yield Property(
            name, "distribution", "every registered edge is given out once, in order, with its "
            "vertex, to whichever warp asks next; no answer changes while it is offered",
            "as for weaver",
            (Proof("2 warps x 1 lane", lambda: WeaverPromise(
                _config(gather=name, threads=1), covers=_OUTSIDE), "bounded", 9),),
            covers=_OUTSIDE, reach=14)


def _widths(harness, *, full=()):
    """A proof by induction for each width of the SCU's blocks."""
    return tuple(Proof(f"width {width}", lambda width=width: harness(width), full=width in full)
                 for width in (2, 4))


PROPERTIES = (
    Property(
        "divergence", "masks and stack",
        "TMC, SPLIT, JOIN and PRED change mask and stack as the architecture says; the running "
        "lanes and the lanes left behind are disjoint, no lane is lost, and no stack overflows",
        "a warp performs with its own mask, one operation in two cycles; disjointness: no "
        "operation activates lanes of the other side; no lane lost: only SPLIT and JOIN change "
        "masks",
        _shapes(DivergencePromise, {
            "2 warps x 1 lane": {"threads": 1}, "2 warps x 2 lanes": {},
            "2 warps x 4 lanes": {"threads": 4},
            "4 warps x 4 lanes": {"warps": 4, "threads": 4},
            "2 warps x 8 lanes": {"threads": 8}},
            full=("4 warps x 4 lanes", "2 warps x 8 lanes")),
        covers=("a SPLIT leaves lanes behind", "a JOIN turns to the lanes left behind",
                "a JOIN brings both sides together", "the stack overflows",
                "the stack underflows"), covered="2 warps x 2 lanes", reach=7),
    Property(
        "barrier", "release",
        "all warps that wait at a barrier, and no others, are released when the count has "
        "arrived, and not before; no warp is lost; a deadlock is reported when all warps wait, "
        "and only then",
        "a warp that waits neither arrives nor ends",
        _shapes(BarrierPromise, {
            "2 warps, 1 barrier": {"barriers": 1},
            "4 warps, 2 barriers": {"warps": 4, "barriers": 2},
            "8 warps, 4 barriers": {"warps": 8, "barriers": 4}},
            full=("8 warps, 4 barriers",)),
        covers=("two warps are released together", "a warp joins a warp that waits",
                "all active warps wait", "a warp names a barrier that does not exist"), reach=4),
    Property(
        "checks", "lanes",
        "exactly the active lanes that disagree with the lowest at a branch, or that leave their "
        "stack, are named, with the instruction's warp and PC, and only where a rule asks for it",
        "the leader is the lowest active lane; an instruction does not branch and compute",
        _shapes(LaneChecksPromise, {
            "1 lane": {"threads": 1}, "2 lanes": {}, "2 lanes, long": {"pipeline": "long"},
            "4 lanes, long": {"threads": 4, "pipeline": "long"}}, depth=3),
        covers=("a lane disagrees, and the first does not", "two lanes leave their stacks",
                "a lane leaves, and the first does not", "the smallest stack is left"),
        covered="2 lanes", reach=4),
    Property(
        "float", "order",
        "comparisons, minimum and maximum follow the order of the words as signed magnitudes, in "
        "which -0 equals +0 or comes just before it; only a NaN is unordered, and invalid as the "
        "standard says", "",
        (Proof("single precision", lambda: OrderPromise(SINGLE), depth=5),),
        covers=("a minimum of zeros of both signs", "a negative number is less"), reach=6),
    Property(
        "float", "bounds",
        "of numbers, what a sum, a product or both at once give rounded down and rounded up are "
        "next to each other if inexact is raised, and else the same; a product has the sign of its "
        "factors, and the sum of their exponents or one more", "",
        (Proof("3 exponent and 3 fraction bits", lambda: BoundsPromise(FloatFormat(3, 3)),
               depth=5),
         Proof("4 exponent and 4 fraction bits", lambda: BoundsPromise(FloatFormat(4, 4)),
               depth=5, full=True)),
        covers=("a result is too large", "a sum is tiny and inexact", "numbers cancel"), reach=6),
    Property(
        "scoreboard", "issue",
        "no instruction is picked while a register that it reads or writes waits for a result, or "
        "while its unit takes no instruction; each word issues once and in order, no word behind "
        "an unresolved one; a warp that is ready waits at most once for each of the other warps",
        "words come when the warp may fetch; a warp resumes behind its last instruction",
        _shapes(ScoreboardPromise, {
            "1 warp": {"warps": 1}, "2 warps": {}, "2 warps, long": {"pipeline": "long"},
            "4 warps": {"warps": 4}, "4 warps, long": {"warps": 4, "pipeline": "long"}},
            full=("2 warps, long", "4 warps", "4 warps, long")),
        covers=("an instruction waits for a register",
                "an instruction waits for a second result", "one of two instructions is picked",
                "a warp fetches again behind a branch", "a warp that is ready waits for another "
                "warp"),
        covered="2 warps", reach=7),
    Property(
        "issue_queue", "room",
        "an instruction picked while there is room finds a place in the queue when it enters", "",
        _shapes(IssueQueuePromise, {"short": {}, "long": {"pipeline": "long"}}),
        covers=("the queue is full", "there is no room"), reach=7),
    Property(
        "coalescer", "lanes",
        "exactly one pass, in the lane's bank, serves each active lane and fits it; passes come "
        "without gaps; a FENCE comes to all banks at once, after all requests before it; faults "
        "are reported, and no access of a faulting instruction is served",
        "an instruction has an active lane",
        _shapes(CoalescerPromise, {
            "1 lane": {"threads": 1}, "2 lanes": {}, "4 lanes": {"threads": 4},
            "2 lanes, line": {"atomic_words": "line"},
            "2 lanes, 2 banks": _BANKS, "4 lanes, 2 banks": {"threads": 4, **_BANKS},
            "4 lanes, line": {"threads": 4, "atomic_words": "line"}},
            full=("4 lanes", "4 lanes, 2 banks", "4 lanes, line"))
        + _shapes(CoalescerPromise, {
            "2 lanes, long": {"pipeline": "long"},
            "2 lanes, 2 banks, long": {"pipeline": "long", **_BANKS},
            "1 lane, 2 banks, 2 deep": {"threads": 1, "coalescer_depth": 2, **_BANKS},
            "2 lanes, 2 banks, 2 deep": {"coalescer_depth": 2, **_BANKS},
            "1 lane, 2 banks, 4 deep, long": {"threads": 1, "coalescer_depth": 4,
                                              "pipeline": "long", **_BANKS}},
            full=("2 lanes, 2 banks, long", "2 lanes, 2 banks, 2 deep",
                  "1 lane, 2 banks, 4 deep, long"),
            mode="bounded", depth=6),
        covers=("a pass leaves lanes for the next", "all lanes load from one line",
                "an instruction comes while another is served",
                "an atomic of local memory is served", "lanes of an atomic share a pass",
                "a fault is reported",
                "a fence comes to all banks"),
        covered="2 lanes, 2 banks", reach=5),
    *_streams("coalescer", lambda: Coalescer(_config()), "2 lanes", kept=("operation", "access__0"),
              reach=6),
    Property(
        "loads", "write-back",
        "each load is written back once, complete, with its words; the loads that a bank completes "
        "are in order of completion",
        "a load enters while there is a slot; each of its lanes is served once, by its bank",
        _shapes(LoadPromise, {
            "2 lanes, 2 slots": {}, "2 lanes, 2 slots, 2 banks": _BANKS,
            "4 lanes, 4 slots": {"threads": 4, "load_queue": 4},
            "4 lanes, 4 slots, 2 banks": {"threads": 4, "load_queue": 4, **_BANKS}},
            full=("4 lanes, 4 slots", "4 lanes, 4 slots, 2 banks")),
        covers=("all loads are complete, and none is written back",
                "a second line completes a load",
                "a load is written back while all slots are in use",
                "lines of two banks complete a load in one cycle"),
        covered="2 lanes, 2 slots, 2 banks", reach=7),
    *_streams("loads", lambda: LoadQueue(_config()), "2 lanes, 2 slots",
              kept=("writeback",), reach=9),
    Property(
        "mshrs", "lists",
        "accesses that wait for a line are replayed once and in order; stale lines are reported",
        "there is room for each access that enters; a list is replayed to its end",
        tuple(Proof(f"{mshrs} MSHRs, {entries} entries" + ", 2 sectors" * (sectors == 2)
                    + ", a cycle ahead" * ahead,
                    lambda mshrs=mshrs, entries=entries, sectors=sectors, ahead=ahead: MissPromise(
                        mshrs=mshrs, entries=entries, sectors=sectors, ahead=ahead))
              for mshrs, entries, sectors, ahead in (
                  (2, 2, 1, False), (2, 4, 1, False), (4, 4, 1, False), (2, 4, 1, True),
                  (4, 4, 2, False), (2, 4, 2, True))),
        covers=("a list of several entries is replayed to its "
                "end", "a list grows during its replay",
                "a stale line is replayed", "a line is fetched again while it is stale",
                "there is no room"), covered="2 MSHRs, 4 entries", reach=8),
    Property(
        "l1", "loads",
        "each lane of a load, or of an atomic whose old value is wanted, gets its line once; no "
        "tag is used twice at a time; all assertions inside hold: queues do not overflow, a line "
        "is in one way; loads with the hint keep no line",
        "a lane has one access under way; only requests are answered",
        (*(Proof(f"{shape}, 4 sets x 4 ways" + ", long" * (pipeline == "long"),
                 lambda threads=threads, pipeline=pipeline: L1Promise(_config(
                     warps=1, threads=threads, l1_ways=4, pipeline=pipeline, load_hints=True)),
                 "bounded", depth, full)
           for shape, threads, pipeline, depth, full in (
               ("1 lane", 1, "short", 12, False), ("1 lane", 1, "long", 10, False),
               ("2 lanes", 2, "short", 12, True))),
         Proof("1 lane, the second of 2 banks, 4 sets x 4 ways", lambda: L1Promise(_config(
             warps=1, threads=1, load_hints=True, **_BANKS | {"l1_ways": 4}), 1), "bounded", 12)),
        covers=("a load hits", "a store writes a line in the L1", "an atomic drops a line",
                "a load takes its words from a stale line", "an atomic is answered",
                "an atomic of local memory is answered", "a line is given, and not kept"),
        reach=12),
    *_streams("l1", lambda: L1(_config(l1_ways=4)), "2 lanes, 4 sets x 4 ways",
              kept=("access", "request", "response"), reach=11),
    Property(
        "turns", "requests",
        "each request of a bank comes to its memory port once and unchanged, but for the bank's "
        "number; each read is answered once, at its bank; no other answer is given",
        "a bank reuses a tag when the read has its answer; the memory answers what was asked",
        _shapes(TurnsPromise, {
            "2 banks": {"l2_banks": 2}, "4 banks": {"l2_banks": 4},
            "2 banks, 2 ports": {"l2_banks": 2, "memory_ports": 2},
            "4 banks, 2 ports": {"l2_banks": 4, "memory_ports": 2}}),
        covers=("a read is answered after a later one",
                "the memory refuses a read, then takes it",
                "a line is written while a read is under way",
                "a bank does not take an answer at once"),
        covered="4 banks, 2 ports", reach=9),
    Property(
        "l2", "requests",
        "each read and wanted atomic is answered once, with what was written last; no tag is used "
        "twice at a time; all assertions inside hold",
        "a core reuses a tag when it has its answer; the memory answers what was asked; there is "
        "no flush",
        (Proof("2 sets, 2 sectors", lambda: L2Promise(_config(**_SECTORS)), "bounded", 10),
         Proof("2 sets, 2 sectors fetched together",
               lambda: L2Promise(_config(**_SECTORS, fetch_sectors=2)), "bounded", 10),
         Proof("2 sets", lambda: L2Promise(_config(**_SECTORS | {"sector_bytes": 0})),
               "bounded", 10)),
        covers=("a read returns a written byte", "a line is written back",
                "a part of a line is fetched"), reach=10),
    *_streams("l2", lambda: L2Bank(_config()), "line buffer, 2 MSHRs",
              kept=("request", "response", "memory_request", "memory_response"), reach=16),
    Property(
        "weaver", "distribution",
        "every registered edge is given out once, in order, with its vertex, to whichever warp "
        "asks next; no answer takes longer than the bound, or changes while it is offered",
        "nothing is registered or skipped while a DEC_ID or DEC waits for its VIDs; nothing is "
        "registered while an entry is being given out",
        _shapes(lambda config: WeaverPromise(config, invariants=add_invariants), {
            "2 warps x 1 lane": {"threads": 1}, "2 warps x 2 lanes": {},
            "4 warps x 2 lanes": {"warps": 4}, "2 warps x 4 lanes": {"threads": 4}},
            full=("4 warps x 2 lanes", "2 warps x 4 lanes")),
        covers=_ROUNDS, covered="2 warps x 2 lanes", reach=14),
    *_streams("weaver", lambda: Weaver(_config()), "2 warps x 2 lanes"),
    Property(
        "scan_weaver", "distribution",
        "as for weaver; all assertions inside hold: an entry that was divided is the first of the "
        "window, and only one entry of a work goes on",
        "as for weaver",
        _SCAN_PROOFS, covers=_ROUNDS, covered="2 warps x 2 lanes", reach=8),
    *_streams("scan_weaver", lambda: ScanWeaver(_config(gather="scan")), "2 warps x 2 lanes"),
    Property(
        "stream_weaver", "distribution",
        "every registered edge is given out once, in order, with its vertex, and none to a warp "
        "that asked after its vertex was skipped; only the last work is not full; the answer "
        "REGISTER stays until the warp registers or closes; the end comes when nothing is left, "
        "and nothing but the end comes behind it; no deadlock",
        "all warps that register are open before the first one asks; an open warp registers its "
        "next row when told to, and closes at most once",
        _STREAM_PROOFS,
        covers=("a work has edges of the vertex and others", "a warp is told to register",
                "the end", "the end without skipped edges", "a DEC gets its EIDs"),
        covered="2 warps x 2 lanes", reach=9),
    *_streams("stream_weaver", lambda: StreamWeaver(_config(gather="stream")),
              "2 warps x 2 lanes"),
    Property(
        "eghw", "entries",
        "a registered row is read in the lanes of its last registration; every vertex that is read "
        "gives its entry once, with its two offsets; the reader is idle only when no row waits and "
        "every entry was taken",
        "a vertex comes up once; memory gives the vertex its offsets",
        _ENTRY_PROOFS, covers=("a vertex gave its entry", "a row is registered again"),
        covered="2 warps x 2 lanes", reach=11),
    Property(
        "eghw", "records",
        "every edge of an entry has its records, neighbour and weight, in the rows of one warp, "
        "once, before the answer that names its vertex in its lane; a warp that asks after a SKIP "
        "gets none; the end comes when nothing is left",
        "a warp waits for its answer; an entry comes once; memory gives one edge a bit of its own",
        _RECORD_PROOFS,
        covers=("all edges of a vertex without weights", "all edges of a vertex with weights",
                "the end", "the end of a skipped vertex",
                "a work has edges of the vertex and others"),
        covered="2 warps x 2 lanes", reach=8),
    Property(
        "graphpeg", "entries",
        "every vertex of the input, a list or a range, gives its entry once, with its two offsets; "
        "the input is empty and the table idle only when every entry was taken",
        "a vertex comes up once; memory gives the vertex its offsets; addresses below 256",
        _VERTEX_PROOFS, covers=("a list ends", "a range ends"), covered="2 warps x 2 lanes",
        reach=8),
    Property(
        "graphpeg", "edges",
        "every edge of an entry is handed out once, with its neighbour and its weight; a row that "
        "is not full is the last; parts are idle only when every edge was handed out",
        "an entry comes once; memory gives one edge a bit of its own",
        _EDGE_PROOFS,
        covers=("all edges of a vertex without weights", "all edges of a vertex with weights",
                "a row has edges of the vertex and others"),
        covered="2 warps x 2 lanes", reach=9),
    Property(
        "graphpeg", "places",
        "each place of the edge buffer is free, chosen for the next row, awaits data, is complete, "
        "or a warp's: one of these, once",
        "data come once for each load; a warp returns its row before it pops; no row follows one "
        "that is not full",
        _shapes(PlacePromise, {"5 rows, 1 warp x 1 lane": {**_PEG, "warps": 1, "threads": 1},
                               "6 rows, 2 warps x 2 lanes": _PEG}),
        covers=("all places are taken", "a row is handed out of a full buffer",
                "the last row waits"),
        covered="6 rows, 2 warps x 2 lanes", reach=18),
    Property(
        "graphpeg", "kept",
        "an edge whose test is true is handed out once, with its neighbour and its weight, and "
        "another one is not; a row that is not full is the last; the filter is idle only when "
        "every edge was handed out or dropped",
        "an edge comes once; the words of its vertices stay; addresses have 4 bits, words 5",
        _KEPT_PROOFS,
        covers=("the edge is dropped", "the edge is kept, by the sum of a word and its weight",
                "the edge shares a row with others"),
        covered="2 warps x 2 lanes", reach=10),
    Property(
        "graphpeg", "filter_places",
        "each place of the filter's rows is free, chosen or being filled, awaits words, is queued, "
        "or a warp's: one of these, once",
        "data come once for each load; a warp returns its row before it pops",
        _shapes(FilterPlacePromise, {
            "4 and 5 rows, 1 warp x 1 lane": {**_FILTER, "warps": 1, "threads": 1},
            "4 and 6 rows, 2 warps x 2 lanes": _FILTER}),
        covers=("all places are taken", "a row is handed out of a full filter"),
        covered="4 and 5 rows, 1 warp x 1 lane", reach=20),
    Property(
        "graphpeg", "exchange",
        "over an exchange no edge is lost, and none is on two cores; the exchange is over only "
        "when all edges are in rows and none is on its way",
        "a core gives edges that it has, and says that it has none only then; a START follows the "
        "end of the last exchange; both cores have a warp; numbers of edges below 16",
        (Proof("2 cores", lambda: ExchangePromise(_config(
            **_PEG, cores=2, exchange_interval=64, exchange_threshold=128))),),
        covers=("the edge goes to another core", "the exchange is over",
                "a core has nothing to give"),
        covered="2 cores", reach=16),
    *_streams("graphpeg", lambda: GraphPeg(_config(**_PEG)), "2 warps x 2 lanes"),
    *_streams("eghw", lambda: EdgeGenerator(_config(gather="eghw")), "2 warps x 2 lanes"),
    Property(
        "filters", "first",
        "the first occurrence of an element since the table was emptied is kept; all assertions "
        "inside hold: a line is in one slot, a slot in use keeps its line, streams keep their "
        "offers",
        "a start comes when no operation is under way; table and filter stay the same; a bank gets "
        "only elements of its lines",
        (Proof("lines of 16 bytes, 2 slots, queue of 3",
               lambda: FilterPromise(_config(threads=1))),
         Proof("the same, bank 1 of 2",
               lambda: FilterPromise(_config(threads=1), bank=1, banks=2))),
        covers=("a first occurrence is kept", "a second occurrence is dropped",
                "two lines of the table are awaited"), reach=16),
    *_streams("filters",
              lambda: FilterGroup(_config(threads=1), slots=SLOTS, depth=DEPTH),
              "lines of 16 bytes, 2 slots, queue of 3"),
    *_streams("filters", lambda: FilterBanks(_config(threads=1, scu_hash_bytes=2048), 4),
              "lines of 16 bytes, 4 banks"),
    Property(
        "filters", "dispatch",
        "each element goes to its bank once; the elements of a bank stay in order; the end comes "
        "to each bank that takes part, behind its last element; streams keep their offers",
        "elements belong to banks that take part; the banks that take part stay the same",
        _widths(DispatchPromise),
        covers=("a bank takes its end", "a watched element leaves, and more of its bank wait",
                "a stream comes after another", "all banks take an element"), reach=8),
    Property(
        "filters", "collect",
        "each element leaves with the decision of its bank on it; beats stay in order; streams "
        "keep their offers",
        "a bank decides on elements that have come, in their order",
        tuple(Proof(f"width {width}, queue of 3", lambda width=width: CollectPromise(width),
                    "bounded", depth) for width, depth in ((2, 8), (4, 7))),
        covers=("an element is kept", "an element is dropped while more beats wait",
                "a stream ends with an element", "a bank waits for another"), reach=8),
    Property(
        "scu", "packer",
        "elements leave in order and in full beats; no element is lost or leaves twice; the end "
        "comes with the last element", "", _widths(PackerPromise),
        covers=("a full beat leaves, and more is held", "the last beat is not full",
                "a stream ends as the next comes in", "a watched element is the next"), reach=7),
    Property(
        "scu", "bit packer",
        "bits leave in order in words, with zeros behind them; the end comes with the last word "
        "or alone",
        "beats are full, or have one bit each, until the last beat", _widths(BitPackerPromise),
        covers=("a full word leaves, and more comes", "the last word leaves",
                "the end leaves alone", "bits come one by one"), covered="width 4", reach=12),
    Property(
        "scu", "selector",
        "each input is examined once, in order, and leaves if it is selected and wanted; vectors "
        "stay in step", "at most 2**30 inputs; registers stay", _widths(SelectorPromise),
        covers=("an input is passed over", "all vectors are used",
                "the last of several beats leaves", "an operation without inputs ends"),
        reach=5),
    Property(
        "scu", "expander",
        "each entry makes as many elements as its count, in order, from the right words",
        "counts are 1 to 3, for width 4 to 7", _widths(ExpanderPromise, full=(4,)),
        covers=("a beat is in the middle", "a beat comes as the last elements leave",
                "an entry continues in the next beat", "a stream ends"), reach=6),
    Property(
        "scu", "fetch",
        "each element gets its word, in order, whatever the order of answers; no slot is reused "
        "while its word is needed", "each requested line gets one answer; eight lines",
        tuple(Proof(f"width {width}, 3 beats, {slots} slots, window of {window}",
                    lambda width=width, slots=slots, window=window: FetchPromise(
                        _config(threads=4), width, beats=3, slots=slots, window=window),
                    "bounded", depth, full)
              for width, slots, window, depth, full in ((1, 2, 1, 9, False), (2, 4, 2, 10, True))),
        covers=("the watched element gets its word", "two elements have their words",
                "all slots wait for a line", "the second line comes before the first"), reach=9),
    Property(
        "scu", "rows",
        "each input gets the words of its row and its cost, in order; from the first input with a "
        "place outside the memory on, rows are empty", "at most 7 inputs; a plain queue in the "
        "place of the fetch",
        tuple(Proof(f"width {width}", lambda width=width: RowsPromise(_config(threads=4), width),
                    "bounded", 11, full) for width, full in ((1, False), (2, True))),
        covers=("indexes of a later beat leave", "counts of a later beat leave",
                "given of a later beat leave", "an input is wrong"), reach=11),
    Property(
        "scu", "store",
        "each element is written once, with its value, in its place; of several elements for one "
        "place the last stays; done comes after the last write", "",
        _widths(lambda width: StorePromise(_config(threads=4), width)),
        covers=("two elements are written at once", "two elements of a beat have one place",
                "a bit is written", "all elements are written"), reach=6),
    Property(
        "sdram", "rules of the chip",
        "no command breaks a rule of the chip, apart from the refresh interval: each transfer "
        "finds the row of its accepted line open; all times are kept; no burst is cut short; no "
        "beat that is read is lost", "",
        (Proof("16 bytes, 50 MHz, latency 2", lambda: SdramPromise(50, 2)),
         Proof("16 bytes, 100 MHz, latency 3", lambda: SdramPromise(100, 3)),
         Proof("16 bytes, 50 MHz, quick chip", lambda: SdramPromise(50, 2, _QUICK))),
        covers=("a burst is read", "a burst is written", "a row is closed for another",
                "two rows are open"), covered="16 bytes, 50 MHz, quick chip", reach=38),
    *_streams("sdram", lambda: SdramController(_config(threads=4), frequency=50, timing=_QUICK),
              "16 bytes", kept=("request", "response"), reach=46),
    *_streams("stages", lambda: StreamRegister(8), "register of 8 bits", kept=("i", "o"), reach=5),
    *_streams("stages", lambda: StreamBuffer(8), "buffer of 8 bits", kept=("i", "o"), reach=5),
    *_streams("stages", lambda: StreamRegister(8, cuts_ready=True),
              "register of 8 bits that cuts ready", kept=("i", "o"), reach=6),
    *(entry for name in OUTSIDE for entry in _outside(name)),
)

#: Names of the units, in order.
UNITS = tuple(dict.fromkeys(entry.unit for entry in PROPERTIES))


def proofs(units=UNITS, *, full=False):
    """Pairs of a property and one of its proofs.

    Parameters
    ----------
    units : iterable of str
        Names from :data:`UNITS`.
    full : bool
        Whether to include the long proofs.
    """
    for entry in PROPERTIES:
        if entry.unit in units:
            for proof in entry.proofs:
                if full or not proof.full:
                    yield entry, proof
