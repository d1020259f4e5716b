"""Every schedule hands out every edge exactly once, with its base and neighbour.

The algorithm of this test counts. An edge's weight names words of its own, to which ``sum`` adds 1
and the numbers of both ends, by atomic additions. Void edges have weight 0, and words that nobody
reads. Where the sum of a source's word and a weight arrives, the sum tells the source's number and
the weight. Warps take turns at random. Schedules come from the registry, so a new one is tested at
once. Each test draws the other choices (options, format, split, form of the base) by its seed;
GRAPHLOOM_SEED draws others. :mod:`tb.sw.compile.test_probes` has the edges of a frontier.

=====================  ===========================================================================
feature                tests
=====================  ===========================================================================
all vertices           ``test_all_vertices``
several cores          ``test_cores``
planted faults         ``test_a_row_that_ends_elsewhere_is_seen``,
                       ``test_edges_left_out_are_seen``
=====================  ===========================================================================
"""

import numpy as np
import pytest

from base.errors import RunError, UserError
from hw.config import HardwareConfig
from sw.compile import schedules
from sw.compile.algorithm import Algorithm
from sw.compile.formats.compressed import CompressedRows
from sw.graph import Graph
from sw.compile.kernels.kernel import Vertex, log2
from sw.compile.options import Choice, Integer, Switch
from sw.compile.kernels.split import SPLITS
from sw.device import Device
from sw.compile.plan import Plan
from sw.compile.planning import make
from tb.seeds import draw


#: Warps and lanes.
SHAPES = [(1, 1), (1, 32), (32, 1), (32, 32), (4, 4)]
FORMATS = ("csr", "tigr:k=3", "tigr", "ell", "ell:width=2:rest=csr", "coo", "block-coo:block=32",
           "cr2:cluster_bits=6:warp_bits=3")

#: Draws that may be refused before there is one that works.
_TRIES = 20

_COUNTS = "counts", "bases", "neighbors"


class Count(Algorithm):
    """Counts how often each edge is handed out in a superstep.

    Parameters
    ----------
    graph : Graph
        The weight of arc number i is i + 1.

    Attributes
    ----------
    numbered : bool
        Whether schedules hand out bases by number.
    odd : bool
        Whether only edges of odd weight count.
    direction : str
    """
    numbered = odd = False
    direction = "pull"
    name = "count"
    weighted = sends = True
    directions = ("pull", "push")

    # Memory

    @property
    def _bits(self):
        """Bits of the largest weight."""
        return int(self.graph.num_edges).bit_length()

    def reserve(self, task):
        task.buffers.reserve("mark", task.vertex_words)
        for name in _COUNTS:
            task.buffers.reserve(f"edge_{name}", self.graph.num_edges + 1)

    def init_vertex_value(self, task):
        numbers = np.arange(self.graph.num_vertices, dtype=np.uint32)
        task.buffers.fill("mark", task.vertices.to_device(numbers << np.uint32(self._bits)))

    def base_array(self, task):
        return "mark"

    # Kernels

    def kernels(self, task):
        return {"gather": ("gather", None)}

    def token(self, k, base):
        return Vertex(k.number(base, k.a.reg("number")), None) if self.numbered else base

    def selective(self, task):
        return self.odd

    def gather(self, k, edges):
        weights = []
        for index, edge in enumerate(edges):
            weights.append(edge.weight or k.a.reg(f"number{index}"))
            if edge.weight is None:
                k.a.slli(weights[-1], edge.value, 32 - self._bits)
                k.a.srli(weights[-1], weights[-1], 32 - self._bits)
        return weights

    def accepts(self, k, data, into, counts=True):
        if self.odd:
            k.a.andi(into, data, 1)
        else:
            k.a.snez(into, data)
        if not counts:
            k.a.xori(into, into, 1)

    def sum(self, k, edge, data, predicate):
        a = k.a
        for name, vertex in zip(_COUNTS, (None, edge.base, edge.neighbor)):
            word, value = a.regs("word", "value")
            a.slli(word, data, 2)
            a.add(word, word, k.constant(k.address(f"edge_{name}"), name))
            if name == "counts":
                value = k.constant(1, "one")
            elif vertex is None:
                a.srli(value, edge.value, self._bits)
            else:
                value = k.original(vertex, value)
            a.amoadd_w(a.zero, value, word)

    # Host

    def drive(self, session):
        session.launch("gather", 0)
        return 1

    def outputs(self, session):
        return {name: session.read(f"edge_{name}", self.graph.num_edges + 1)[1:]
                for name in _COUNTS}

    def golden(self):
        graph = self.graph
        times = graph.weights & 1 if self.odd else np.ones(graph.num_edges, np.uint32)
        bases, neighbors = graph.src, graph.dst
        if self.direction == "pull":
            bases, neighbors = neighbors, bases
        return {"counts": times, "bases": times * bases, "neighbors": times * neighbors}

    def parameters(self):
        return {}


def graph(rng, warps, lanes, cores=1):
    """Rows without edges, of one, of a warp and of a core, of one more, and a giant one; more of
    them than the device has lanes. Vertex 0 leads to a half of the vertices."""
    core = warps * lanes
    sizes = [0, 1, lanes, lanes + 1, core, core + 1, 3 * core + 5]
    sizes += [rng.choice((0, 1, 2, 3)) for _ in range(cores * core + 9)]
    rng.shuffle(sizes)
    count = len(sizes) + 1
    src = np.repeat(np.arange(1, count), sizes)
    dst = np.array([rng.randrange(count) for _ in src], int)
    heads = rng.sample(range(1, count), count // 2)
    src, dst = np.append(src, np.zeros(len(heads), int)), np.append(dst, heads)
    if rng.random() < 0.5:
        src, dst = dst, src
        src, dst = np.append(src, np.zeros(len(heads), int)), np.append(dst, heads)
    return Graph(count, src, dst, np.arange(1, len(src) + 1), name=f"rows for {warps} x {lanes}")


def options(rng, schedule):
    """The schedule as a text, with options drawn."""
    text = schedule
    for name, option in schedules.make(schedule).OPTIONS.items():
        match option:
            case Integer():
                few = range(option.low, min(option.high, 4) + 1)
                value = rng.choice([None, *filter(option.accept, few)])
            case Choice():
                value = rng.choice(option.words)
            case Switch():
                value = rng.choice(("yes", "no"))
        if value is not None:
            text += f":{name}={value}"
    return text


def count(rng, schedule, shape, direction, cores=1, formats=FORMATS):
    """Run one draw of the other choices; a draw that is refused is drawn anew."""
    warps, lanes = shape
    config = HardwareConfig(cores=cores, warps=warps, threads=lanes, memory_bytes=1 << 22,
                            imem_bytes=1 << 15, l1_bytes=1 << 14, barriers=32,
                            local_bytes=max(1 << 14, 128 * warps * lanes),
                            gather=schedules.make(schedule).needs_unit or "fsm",
                            scu=4 * schedules.make(schedule).needs_scu)
    arcs = graph(rng, warps, lanes, cores)
    refused = []
    for _ in range(_TRIES):
        kind = type("Chosen", (Count,), {"direction": direction, "numbered": rng.random() < 0.3,
                                         "odd": rng.random() < 0.3})
        text, format = options(rng, schedule), rng.choice(formats)
        try:
            # The plan's own algorithm has no say: the plan only has to name one.
            plan = type("Plan", (Plan,), {"kind": kind})(
                "sssp", schedule=text, format=format, direction=direction,
                split=rng.choice(SPLITS), warps=rng.choice((None, None, rng.randint(1, warps))))
            task = make(config, plan, arcs)
            _ = task.program
        except UserError as error:
            refused.append(str(error))
            continue
        with Device.functional(config, seed=rng.randrange(1 << 30),
                               max_cycles=5_000_000) as device:
            assert device.run_task(task).verified, (text, format)
        return
    pytest.skip(f"{schedule} was refused: {set(refused)}")


SCHEDULES = schedules.names()
each = pytest.mark.parametrize("schedule", SCHEDULES)
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "{}x{}".format(*shape))


@each
@shapes
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.sample(80)
def test_all_vertices(schedule, shape, direction):
    count(draw(schedule, shape, direction), schedule, shape, direction)


@each
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.sample(24)
def test_cores(schedule, direction):
    count(draw(schedule, direction), schedule, (4, 4), direction, cores=2)


@pytest.mark.parametrize("schedule", [name for name in SCHEDULES
                                      if schedules.make(name).needs == "rows"
                                      and not schedules.make(name).reads_lists])
@pytest.mark.parametrize("change", [-1, 1])
def test_a_row_that_ends_elsewhere_is_seen(schedule, change, monkeypatch):
    whole = CompressedRows.get_neighbor

    def changed(self, k, row, begin, end):
        whole(self, k, row, begin, end)
        edge = k.a.reg("edge")
        k.a.sltu(edge, begin, end)                  # of rows with edges
        k.shifted(edge, edge, log2(self.step))
        (k.a.add if change > 0 else k.a.sub)(end, end, edge)

    monkeypatch.setattr(CompressedRows, "get_neighbor", changed)
    with pytest.raises(RunError, match="differs from the golden model"):
        count(draw(schedule), schedule, (4, 4), "push", formats=("csr", "tigr"))


@pytest.mark.parametrize("schedule", [name for name in SCHEDULES
                                      if schedules.make(name).needs == "edges"])
def test_edges_left_out_are_seen(schedule, monkeypatch):
    monkeypatch.setattr(CompressedRows, "edges_end", lambda self, k: k.constant(
        self.first_edge(k)
        + self.edge_bytes * (self.edges - self.task.schedule.edge_block(k.task))))
    with pytest.raises(RunError, match="differs from the golden model"):
        count(draw(schedule), schedule, (4, 4), "push", formats=("csr", "tigr"))
