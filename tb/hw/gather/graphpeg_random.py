"""Parts that random benches of GraphPEG share: graphs, inputs, memory, and lists of vertices."""

from hw.operations import NONE, GatherSetting
from tb.hw.gather.graphpeg_driver import COUNT, INPUT, OUTPUT, Graph
from tb.hw.gather.warps import random_degree


__all__ = ["SIZES", "close_list", "fill_with_mark", "golden_records", "pusher", "random_graph",
           "random_input", "random_memory"]


#: Sizes of the table, of the loads under way and of the buffer.
SIZES = {
    "least": {"alwt_entries": 4, "gather_requests": 1, "edge_buffer_rows": 4},
    "middle": {"alwt_entries": 16, "gather_requests": 8, "edge_buffer_rows": 8},
    "default": {},
}


def random_input(core, mode=0):
    """Queue a START with a list or a range of vertices; returns their numbers."""
    rng, count = core.rng, len(core.graph.ids)
    if rng.random() < 0.4:
        first = rng.randrange(count)
        vertices = range(first, rng.randrange(first, count + 1))
        core.start_range(first, len(vertices), mode)
    else:
        vertices = [rng.randrange(count) for _ in range(rng.randrange(count + 1))]
        core.start_list(vertices, mode, INPUT + 4 * rng.randrange(40))
    return vertices


def random_graph(core):
    """Give the unit a graph of few vertices, with weights or not."""
    rng = core.rng
    count = rng.choice([1, 2, core.threads, 3 * core.threads + 1, 40])
    core.use(Graph([random_degree(rng, core.threads) for _ in range(count)]), rng.random() < 0.5)


def random_memory(core):
    """Choose how late loads are answered, and how often accesses wait."""
    core.latency = core.rng.choice([1, 4, 40])
    core.accesses.stall = core.rng.choice([0.0, 0.0, 0.3, 0.8])


def pusher(core, pushed):
    """Now and then a warp pushes words, which are kept in ``pushed``."""
    def work(warp):
        if core.rng.random() < 0.5:
            mask = core.rng.getrandbits(core.threads)
            words = [core.rng.getrandbits(32) for _ in range(core.threads)]
            core.push(warp, words, mask)
            pushed.extend(word for lane, word in enumerate(words) if mask >> lane & 1)
    return work


def fill_with_mark(core):
    """Fill the place of the output list with a mark, to see what lies behind the list."""
    mark = core.rng.getrandbits(32)
    for index in range(1 << 12):
        core.memory[OUTPUT + 4 * index] = mark
    return mark


async def close_list(core, pushed, mark):
    """End the output list and check it."""
    core.set(GatherSetting.CLOSE, core.rng.getrandbits(32))
    await core.rest()
    assert core.memory[COUNT] == len(pushed)
    assert [core.memory[OUTPUT + 4 * index] for index in range(len(pushed))] == pushed
    assert core.memory[OUTPUT + 4 * len(pushed)] == mark


def golden_records(core):
    """All records that the golden model gives."""
    model, records = core.model, []
    while True:
        mask, bases = model.decode_id(0)
        if bases[0] == NONE:
            return records
        weights = model.weight(0) if core.weighted else [None] * core.threads
        records += [record for record, lane in zip(
            zip(bases.tolist(), model.neighbor(0).tolist(), weights), mask) if lane]
