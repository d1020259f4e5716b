"""Invariants of the Weaver: statements about its registers that hold in every cycle.

An entry with edges left is in exactly one place: in the sparse table, in the row that the scan has
taken, or in the current entry (CED). These places and the output (OD) together hold the edges that
the model has left, in the model's order. Further invariants relate the FSM's states to the work
left, bound the waiting time by the work left, and equate the queue of waiting warps and the dense
table with the model.
"""

from amaranth.hdl import Assert, Cat, Mux
from amaranth.lib import data

from checks.formal.weaver import DEGREE_BITS
from hw.gather.interface import warp_shape


__all__ = ["add_invariants"]


def add_invariants(m, config, model, wait, peek):
    """Assert the invariants. ``WeaverPromise`` describes the parameters."""
    warps, threads = config.warps, config.threads
    rows = config.weaver_table_entries // threads
    state, states = peek.states()

    def holds(condition):
        m.d.comb += Assert(condition)

    def holds_if(condition, *consequences):
        with m.If(condition):
            for consequence in consequences:
                holds(consequence)

    def in_states(*names):
        return Cat(state == states[name] for name in names).any()

    # Registers.

    registered = peek.signal("table", "store", "registered")
    row = peek.signal("table", "current")
    now = peek.signal("table", "left")
    st_entries, st_valid = (peek.memory("table", "store", name)
                            for name in ("st_entries", "st_valid"))
    taken_entries = peek.output("table", "store", "st_entries")
    ced_vid, ced_loc, ced_degree = (peek.signal(f"ced_{name}")
                                    for name in ("vid", "loc", "degree"))
    # A skip cuts off its edges a cycle later.
    skipped = peek.signal("skipped")
    ced_degree = Mux(skipped, 0, ced_degree)
    filled = peek.signal("filled")
    od_vid = data.View(data.ArrayLayout(32, threads), peek.signal("od_vid"))
    loc = data.View(data.StructLayout({"warp": warp_shape(config), "rd": 5, "mask": threads,
                                       "fused": 1}), peek.signal("dec_loc"))
    loc_valid, loc_held = peek.signal("loc_valid"), peek.signal("loc_held")
    dt_eid, dt_mask = peek.memory("dt_eid"), peek.memory("dt_mask")
    read_eid, read_mask = peek.output("dt_eid"), peek.output("dt_mask")
    level, consume, produce = (peek.signal("pending", name)
                               for name in ("level", "consume", "produce"))
    storage = peek.memory("pending", "storage")
    waits = model.count != 0

    # States.

    holds(state < len(states))
    holds(row < rows)
    holds(filled <= threads)
    holds_if(in_states("S0_INIT", "S1_LOAD_FIRST", "S6_WAIT", "S8_END"), filled == 0)
    holds_if(in_states("S2_DECODE", "S3_FETCH", "S4_UPDATE", "S7_DRAIN"), filled < threads)
    holds_if(in_states("S5_OUTPUT"), filled == threads,
             od_vid[threads - 1] == ced_vid)
    holds_if(in_states("S1_LOAD_FIRST", "S2_DECODE", "S3_FETCH", "S4_UPDATE", "S5_OUTPUT",
                       "S7_DRAIN"), waits)
    holds_if(~in_states("S2_DECODE", "S5_OUTPUT", "S6_WAIT"), ced_degree == 0)
    holds_if(in_states("S0_INIT", "S7_DRAIN", "S8_END"), now == 0)
    holds_if(in_states("S7_DRAIN"), registered == 0)
    holds_if(~waits & ~model.begun, now == 0, ced_degree == 0)
    holds_if(skipped, ~waits)

    # Entries, and their edges left after the OD is given out.

    def after_output(index, entry):
        value = 0
        for count in range(threads + 1):
            value = value | Mux(filled == count, model.steps[count][index][entry], 0)
        return value

    in_table, in_row, in_ced = [], [], []
    for entry in range(model.entries):
        entry_row, lane = divmod(entry, threads)
        in_table.append(registered[entry_row] & st_valid[entry_row][lane])
        in_row.append((row == entry_row) & now[lane])
        in_ced.append((ced_vid == entry) & (ced_degree != 0))
        places = [(in_table[-1], st_entries[entry_row][96 * lane:96 * lane + 96]),
                  (in_row[-1], taken_entries[96 * lane:96 * lane + 96]),
                  (in_ced[-1], Cat(ced_vid, ced_loc, ced_degree))]
        count, place = after_output(0, entry), after_output(1, entry)
        for is_there, content in places:
            holds_if(is_there, content[:32] == entry, content[32:64] == place,
                     content[64:] == count, count != 0)
        holds_if(~Cat(is_there for is_there, _ in places).any(), count == 0)
        holds(~(in_table[-1] & in_row[-1]))
    holds_if(ced_degree != 0, ced_vid < model.entries, ced_degree < 1 << DEGREE_BITS)
    for entry in range(model.entries):
        lower = range(entry + 1)
        holds(~(in_ced[entry] & Cat(in_row[other] | in_table[other] for other in lower).any()))
        holds(~(in_row[entry] & Cat(in_table[other] for other in lower).any()))
        later = in_table[entry] | in_row[entry]
        holds(~(model.begun & (model.current == entry) & later))
        for lane in range(threads):
            holds(~((lane < filled) & (od_vid[lane] == entry) & later))
    holds_if(~waits & (ced_degree != 0), ced_vid == model.current)
    holds(~model.begun | Cat(model.left).any())

    # Output and dense table. The table holds for each lane the EID that lane 0 would have.

    def eids(row):
        return [(row[32 * lane:32 * lane + 32] + lane)[:32] for lane in range(threads)]

    for lane in range(threads):
        with m.If(lane < filled):
            holds(model.work[lane])
            holds(od_vid[lane] == model.vids[lane])
            for warp in range(warps):
                holds_if(model.order[0] == warp,
                         eids(dt_eid[warp])[lane] == model.eids[lane])
    for warp in range(warps):
        with m.If(~model.waits_id[warp]):
            holds(dt_mask[warp] == model.has_work[warp])
            for lane in range(threads):
                holds_if(model.has_work[warp][lane],
                         eids(dt_eid[warp])[lane] == model.dense[warp][lane])
    holds(model.waits_loc == Mux(loc_valid, 1 << loc.warp, 0))
    holds_if(loc_held, loc_valid)
    with m.If(loc_valid):
        holds(loc.warp < warps)
        holds(loc.fused == (model.fused >> loc.warp)[0])
        got_work = model.has_work[loc.warp]
        with m.If(loc.fused):
            holds(loc.rd == model.rd2[loc.warp])
            holds(loc.mask == got_work)
        with m.Else():
            holds(loc.rd == model.rd[loc.warp])
            holds(loc.mask == model.mask[loc.warp])
            holds(read_mask == got_work)
        for lane in range(threads):
            holds_if((got_work >> lane)[0],
                     eids(read_eid)[lane] == model.dense[loc.warp][lane])

    # Queue of waiting warps.

    holds(level == model.count)
    holds(model.count == sum(model.waits_id))
    holds(model.waits_id & model.waits_loc == 0)
    holds((consume < warps) & (produce < warps))
    holds(produce == (consume + level) % warps)
    for place in range(warps):
        with m.If(place < level):
            warp = model.order[place]
            holds((model.waits_id >> warp)[0])
            for index in range(warps):
                holds_if((consume + place) % warps == index,
                         storage[index] == Cat(warp, model.rd[warp], model.rd2[warp],
                                               (model.fused >> warp)[0]))
            for other in range(place):
                holds(model.order[other] != warp)

    # The waiting time: greatest number of cycles from each state to the answer.

    work = 3 * sum(Cat(in_table)) + 3 * sum(Cat(in_row)) + 2 * sum(registered)
    cycles = {"S0_INIT": work + 1, "S1_LOAD_FIRST": Mux(now.any(), work, work + 2),
              "S2_DECODE": work + 2, "S3_FETCH": work + 1,
              "S4_UPDATE": Mux(now.any(), work, work + 2), "S6_WAIT": work + 3,
              "S8_END": work + 2}
    for name, bound in cycles.items():
        holds_if(in_states(name), wait + bound + 1 <= 3 * model.entries + 2 * rows + 4)
    # The OD of a DEC waits for the EIDs that are on offer, if there are any.
    fused = (model.fused >> model.order[0])[0]
    holds_if(in_states("S5_OUTPUT", "S7_DRAIN"),
             wait + (loc_held | (fused & loc_valid)) <= 3 * model.entries + 2 * rows + 4)
