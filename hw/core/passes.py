"""The passes of one bank of the L1: the lanes that a pass serves, and the fields of the pass.

The coalescer (:mod:`hw.core.coalescer`) says which instruction's lanes are served. Its module has
the rules by which lanes share a pass.
"""

from typing import NamedTuple

from amaranth.hdl import Cat, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.utils import ceil_log2

from hw.bits import and_or, count_ones, lowest
from hw.config import HardwareConfig
from hw.core.access import AccessOp, bank_bits, operation_layout, pass_layout, row_bits
from hw.core.combine import combine, partners
from hw.core.related import Related, apart
from hw.memory.amo import controls
from hw.operations import AmoOp, MemOp
from hw.timing import Timing


__all__ = ["BankPasses", "Serving", "combined_in_time"]


class Serving(NamedTuple):
    """The instruction whose lanes a bank serves."""
    operation: data.View  #: Signal(operation_layout).
    slot: Signal  #: Its slot in the load queue.
    left: Signal  #: Signal(threads). The lanes of the bank that are not served yet.
    first: Signal  #: Signal(1). No pass of the first bank has left.
    #: Signal(threads). The lanes before which another lane that is left must be served, or goes to
    #: their place.
    rivaled: Signal
    related: Related  #: How its lanes are related.
    #: list of Value. The lanes' data. The operands of an atomic are combined, in the long pipeline
    #: in part.
    operands: list
    #: The partners of the levels that are not done (:mod:`hw.core.combine`).
    partners: list[list[Signal]]

    @property
    def leaves_lanes(self):
        """Whether a pass leaves lanes, without waiting for the lanes that the pass serves."""
        return Cat(self.left[i] & (self.left[:i] & part).any()
                   for i, part in enumerate(self.related.parts, 1)).any()


def _levels(config):
    """Levels of the tree that combines operands."""
    return range(ceil_log2(config.threads) if config.combines else 0)


def _late_levels(config):
    """The levels after the register of a picked pass, which only the long pipeline has."""
    levels = _levels(config)
    return levels[Timing(config).levels_in_time(len(levels)):]


def combined_in_time(m, config: HardwareConfig, current, left, related, suffix=""):
    """Combine the operands of an atomic's lanes that are left, in the levels that are not late.

    Lanes that share a pass and a word are mates. The lower of them is a rival of the higher.

    Returns
    -------
    operands : list of Value
        Each lane's data. The lowest lane of a word has the combined operand.
    partners : list of list of Signal
        The partners of each late level. They are 0 if the instruction is no atomic.
    """
    threads, late = config.threads, _late_levels(config)
    same = [Signal(high, name=f"same_{high}{suffix}") for high in range(threads)]
    with m.If(current.op == MemOp.AMO):
        m.d.comb += [below.eq(Mux(left[high], left & related.mates[high] & related.rivals[high], 0))
                     for high, below in enumerate(same)]
    found = [partners(m, same, threads, depth) for depth in _levels(config)]
    operands = [current.data[i] for i in range(threads)]
    for depth in _levels(config)[:late.start]:
        operands = combine(m, controls(current.amo), operands, found[depth], depth,
                           name="combined")
    return operands, found[late.start:]


class BankPasses:
    """Adds the logic that makes a bank's passes.

    Parameters
    ----------
    config : HardwareConfig
    bank : int
    """
    def __init__(self, config: HardwareConfig, bank: int):
        self._config, self._timing, self._bank = config, Timing(config), bank

    def _named(self, name):
        """The name of a signal of the bank."""
        return f"{name}_{self._bank}" if self._config.l1_banks > 1 else name

    def serve(self, m, serving: Serving, goes, access, local_conflict, load_words):
        """Serve lanes of the bank: one pass a cycle.

        Parameters
        ----------
        m : Module
        serving : Serving
        goes : Value
            A pass may leave. Then lanes are left.
        access : stream of pass_layout
            The passes.
        local_conflict : Signal(1)
            As in the coalescer; only the first bank sets it.
        load_words : Signal
            The bank's, as in the coalescer.

        Returns
        -------
        served : Signal(threads)
            The lanes of the pass.
        advance : Value
            The pass leaves.
        holds : Value
            A pass of the bank that has left waits to be taken.
        """
        config, timing, threads = self._config, self._timing, self._config.threads
        current, left, rivaled = serving.operation, serving.left, serving.rivaled

        # ``served`` are the lanes of the pass. Where words of several lanes go to the same place,
        # ``chosen`` is the lane whose word is taken.
        leader = lowest(m, left, name=self._named("leader"))
        group, ahead, gathered, chosen, served = (
            Signal(threads, name=self._named(name))
            for name in ("group", "ahead", "gathered", "chosen", "pass_lanes"))
        is_local = Signal(name=self._named("is_local"))
        single = Signal(name=self._named("apart"))
        room = Signal(name=self._named("room"))
        m.d.comb += [
            # Only the first bank has lanes in local memory.
            is_local.eq((leader & current.local).any() if self._bank == 0 else 0),
            single.eq((current.op == MemOp.STORE) & (current.size != 2)
                      | apart(config, current)),
            group.eq(and_or(leader, serving.related.mates)),
            ahead.eq(left & ~rivaled & current.local),
            gathered.eq(and_or(ahead, serving.related.mates)),
            chosen.eq(Mux(is_local, ahead, left & ~rivaled & group)),
            served.eq(left & Mux(is_local, gathered, group & ~Mux(single, rivaled, 0))),
        ]

        # From here on the fields of the pass are put together.
        m.submodules[self._named("leaving")] = leaving = timing.register(pass_layout(config))
        wiring.connect(m, leaving.o, wiring.flipped(access))
        picked_shape = data.StructLayout({
            "operation": operation_layout(config), "slot": len(serving.slot), "local": 1,
            "address": 32, "compare": 32, "served": threads, "chosen": threads,
            "partners": data.StructLayout({
                f"level_{depth}": data.ArrayLayout(1 << depth, threads // 2)
                for depth in _late_levels(config)})})
        picking = Signal(picked_shape, name=self._named("picking"))
        picked = Signal(picked_shape, name=self._named("picked"), reset_less=True)
        picked_valid = Signal(name=self._named("picked_valid"))
        # Loads of global memory place no words; their mask is for sectors. With ``chosen`` at 0 a
        # simulator skips the largest part of this unit's logic most of the time.
        places = Signal(name=self._named("places"))
        m.d.comb += [
            places.eq(goes & ((current.op != MemOp.LOAD) | is_local | (config.sectors > 1))),
            picking.operation.eq(current), picking.slot.eq(serving.slot),
            *(picking.operation.data[i].eq(operand) for i, operand in enumerate(serving.operands)),
            *(picking.partners[f"level_{depth}"][i].eq(one)
              for depth, found in zip(_late_levels(config), serving.partners)
              for i, one in enumerate(found)),
            picking.local.eq(is_local),
            picking.address.eq(and_or(leader, [current.address[i] for i in range(threads)])),
            picking.served.eq(served), picking.chosen.eq(Mux(places, chosen, 0)),
        ]
        with m.If((current.op == MemOp.AMO) & (current.amo == AmoOp.CAS)):
            m.d.comb += picking.compare.eq(
                and_or(leader, [current.compare[i] for i in range(threads)]))
        if timing.has_pick_stage:
            m.d.comb += room.eq(~picked_valid | leaving.i.ready)
            with m.If(room):
                m.d.sync += [picked_valid.eq(goes), picked.eq(picking)]
        else:
            m.d.comb += [room.eq(leaving.i.ready), picked_valid.eq(goes), picked.eq(picking)]
        m.d.comb += leaving.i.valid.eq(picked_valid)
        if self._bank == 0:
            m.d.comb += local_conflict.eq(goes & room & is_local & ~serving.first)
        if config.counters:
            with m.If(goes & room & (current.op == MemOp.LOAD) & ~is_local):
                m.d.comb += load_words.eq(count_ones(chosen))
        self._assemble(m, picked, leaving.i.payload)
        return served, goes & room, leaving.o.valid | timing.only_later(picked_valid)

    def _assemble(self, m, picked, access):
        """Build the pass of the lanes that were picked: operation, line or rows, words."""
        config, threads = self._config, self._config.threads
        current, is_local = picked.operation, picked.local
        lanes = range(threads)
        placed = Signal(access.data.shape())
        mask = Signal(config.line_bytes)
        operands = [current.data[i] for i in lanes]
        for depth in _late_levels(config):
            operands = combine(m, controls(current.amo), operands,
                               picked.partners[f"level_{depth}"], depth,
                               name=self._named("picked_operand"))
        # A lane's contribution to its word: data, byte mask, row.
        brought_shape = data.StructLayout({"data": 32, "mask": 4, "row": row_bits(config)})
        brought = [Signal(brought_shape, name=self._named(f"brought_{i}")) for i in lanes]
        for i, lane in enumerate(brought):
            low, value = current.address[i][:2], operands[i]
            m.d.comb += [
                lane.row.eq(current.address[i][config.line_bits:]),
                lane.mask.eq(0xF), lane.data.eq(value),
            ]
            with m.Switch(current.size):
                with m.Case(0):
                    m.d.comb += [lane.mask.eq(1 << low), lane.data.eq(value[:8].replicate(4))]
                with m.Case(1):
                    m.d.comb += [lane.mask.eq(3 << low), lane.data.eq(value[:16].replicate(2))]
        for word in range(config.line_words):
            choice = Signal(threads, name=self._named(f"choice_{word}"))
            taken = Signal(brought_shape, name=self._named(f"taken_{word}"))
            with m.If(picked.chosen.any()):
                m.d.comb += [
                    choice.eq(picked.chosen & Cat(address[2:config.line_bits] == word
                                                  for address in current.address)),
                    taken.as_value().eq(and_or(choice, brought)),
                ]
            m.d.comb += [
                access.rows[word].eq(taken.row),
                mask[4 * word:4 * word + 4].eq(taken.mask),
                placed[word].eq(taken.data),
            ]
        with m.Switch(current.op):
            with m.Case(MemOp.FENCE):
                m.d.comb += access.op.eq(AccessOp.FENCE)
            with m.Case(MemOp.AMO):
                m.d.comb += access.op.eq(Mux(is_local, AccessOp.LOCAL_AMO, AccessOp.AMO))
            with m.Case(MemOp.STORE):
                m.d.comb += access.op.eq(Mux(is_local, AccessOp.LOCAL_STORE, AccessOp.STORE))
            with m.Default():
                m.d.comb += access.op.eq(Mux(is_local, AccessOp.LOCAL_LOAD, AccessOp.LOAD))
        m.d.comb += [
            access.amo.eq(current.amo), access.wanted.eq(current.writes),
            access.slot.eq(picked.slot), access.lanes.eq(picked.served),
            access.line.eq(picked.address[config.line_bits + bank_bits(config):]),
            access.mask.eq(mask), access.data.eq(placed),
        ]
        if config.load_hints:
            m.d.comb += access.once.eq(current.once)
        # The word beside that of a CAS holds the value to compare with.
        with m.If((current.op == MemOp.AMO) & (current.amo == AmoOp.CAS)):
            for word in range(config.line_words):
                with m.If(picked.address[2] != word & 1):
                    m.d.comb += access.data[word].eq(picked.compare)
