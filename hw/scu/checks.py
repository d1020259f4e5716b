"""Checks of an operation: its registers before it begins, its elements on their way.

The Sieve drops elements as a filter says, and ends the stream where the filter is too short. The
Bounds end the stream at the first element that cannot be read or stored, or lacks an operand. If
both report a fault, the fault of the block further down the pipeline counts: its element is the
earlier one in the stream.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import and_or, encode, lowest
from hw.config import HardwareConfig

from .beats import beat_layout
from .registers import (ScuCommand, ScuCompare, ScuError, ScuOperation, ScuOutput, ScuRegister,
                        entry_bytes)


__all__ = ["Bounds", "RegisterCheck", "Sieve", "fault_layout", "mapped", "register_layout"]


def register_layout():
    """The registers that the host writes, as fields with their names in lower case."""
    fields = {name.name.lower(): 32 for name in ScuRegister
              if name == ScuRegister.COMMAND or name >= ScuRegister.LENGTH}
    return data.StructLayout(fields)


def fault_layout():
    """A fault that ends an operation: ERROR and ERROR_ADDRESS. Error 0 means no fault."""
    return data.StructLayout({"error": 3, "address": 32})


def mapped(config: HardwareConfig, word):
    """Whether the word of this number in the address space is in the memory."""
    return word[-1] & (word[ceil_log2(config.memory_bytes) - 2:-1] == 0)


class RegisterCheck(wiring.Component):
    """Checks the registers of an operation.

    Latency: twelve cycles, fewer if a register is wrong.

    Members
    -------
    start : In(1)
        Begin. Ignored during a check.
    registers : In(register_layout)
        The registers to check, which hold during the check.
    done : Out(1)
        High for one cycle when the check is over.
    fault : Out(fault_layout)
        The first fault; valid with ``done``.
    sets_bits : Out(5)
        log2 of the number of sets of the hash table, if this number is a power of two.
    ways_bits : Out(3)
        log2 of the number of ways of a set, if this number is a power of two.
    table_bytes : Out(32)
        Bytes of the hash table, in whole lines.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "start": In(1), "registers": In(register_layout()), "done": Out(1),
            "fault": Out(fault_layout()), "sets_bits": Out(5), "ways_bits": Out(3),
            "table_bytes": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        config, r = self._config, self.registers
        command = r.command
        operation, output, compare = command[:3], command[4:6], command[8:11]
        hashed = output != ScuOutput.DATA
        streams = operation == ScuOperation.STREAM
        expands = streams | (operation == ScuOperation.ACCESS_EXPANSION)
        indexed = expands | (operation == ScuOperation.ACCESS)
        rows, looks = ((command & flag).any() for flag in (ScuCommand.ROWS, ScuCommand.LOOKS))
        counted = expands & ~rows | (operation == ScuOperation.REPLICATION)
        bit_bytes = [Cat(Const(0, 2), (length >> 5) + length[:5].any())
                     for length in (r.length, r.filter_length)]
        # Each vector, in the order of the check: its address, whether it is used, and the bytes
        # that are certainly read.
        vectors = [
            (r.hash, hashed, self.table_bytes),
            (r.bitmask, r.bitmask != 0, bit_bytes[0]),
            (r.indexes, indexed, r.length << 2), (r.counts, counted, r.length << 2),
            (r.filter, r.filter != 0, bit_bytes[1]),
            (r.order, r.order != 0, r.operand_length << 2),
            (r.operand, (r.operand != 0) & ~looks, Mux(streams, r.length, r.operand_length) << 2),
            (r.count_address, r.count_address != 0, Const(4, 32)),
        ]
        aligned = [(r.source, 1), (r.destination, 1), *(vector[:2] for vector in vectors[1:]),
                   (r.costs, streams), (r.weights, streams)]

        entry_bits = Signal(3)
        table_bits = Signal(range(64))
        with m.Switch(output):
            for kind in (ScuOutput.FILTER_UNIQUE, ScuOutput.FILTER_BEST, ScuOutput.GROUP):
                with m.Case(kind):
                    m.d.comb += entry_bits.eq(ceil_log2(entry_bytes(kind, config.line_bytes)))
        m.d.comb += [
            self.sets_bits.eq(encode(r.hash_sets)), self.ways_bits.eq(encode(r.hash_ways)),
            table_bits.eq(self.sets_bits + encode(r.hash_ways) + entry_bits),
            self.table_bytes.eq(Mux(
                table_bits > 31, 0xFFFF_FFFF,
                Mux(table_bits < config.line_bits, config.line_bytes, 1 << table_bits[:5]))),
        ]

        step = Signal(range(len(vectors) + 4))
        misaligned = Signal(len(aligned))
        m.d.comb += misaligned.eq(Cat(used & (base[:2] != 0) for base, used in aligned))
        which = lowest(m, misaligned, name="first_misaligned")
        base = Signal(32)
        used = Signal()
        size = Signal(34)

        def refuse(error, address):
            m.d.sync += [self.fault.error.eq(error), self.fault.address.eq(address), step.eq(0)]
            m.d.sync += self.done.eq(1)

        m.d.sync += self.done.eq(0)
        with m.If(step == 0):
            with m.If(self.start):
                m.d.sync += [step.eq(1), self.fault.eq(0)]
        with m.Else():
            m.d.sync += step.eq(step + 1)
        with m.Switch(step):
            with m.Case(1):
                with m.If((operation > max(ScuOperation))
                          | ((operation == ScuOperation.BITMASK) & (compare > max(ScuCompare)))
                          | (hashed & (r.order != 0))
                          | (hashed & ~streams
                             & ((output == ScuOutput.FILTER_BEST) == (r.operand == 0)))
                          | (rows & ~streams) | (looks & ~rows)
                          | (streams & ((output == ScuOutput.GROUP) | ((r.operand == 0) & ~looks)
                                        | (r.costs == 0) | (r.filter != 0) | (r.order != 0)))):
                    refuse(ScuError.OPERATION, command)
            with m.Case(2):
                with m.If(misaligned.any()):
                    refuse(ScuError.MISALIGNED, and_or(which, [base for base, _ in aligned]))
                with m.Elif(hashed & (r.hash[:config.line_bits] != 0)):
                    refuse(ScuError.MISALIGNED, r.hash)
            with m.Case(3):
                with m.If(hashed & ((r.hash_sets == 0) | ((r.hash_sets & r.hash_sets - 1) != 0))):
                    refuse(ScuError.HASH, r.hash_sets)
                with m.Elif(hashed & ((r.hash_ways == 0) | ((r.hash_ways & r.hash_ways - 1) != 0)
                                      | (encode(r.hash_ways) + entry_bits > config.line_bits))):
                    refuse(ScuError.HASH, r.hash_ways)
            for number, vector in enumerate(vectors):
                with m.Case(4 + number):
                    m.d.comb += [base.eq(vector[0]), used.eq(vector[1]), size.eq(vector[2])]
        with m.If(step > 3):
            with m.If(used & (size != 0)
                      & (~base[31] | (base[:31] + size > config.memory_bytes))):
                refuse(ScuError.UNMAPPED, base)
            with m.Elif(step == len(vectors) + 3):
                m.d.sync += [step.eq(0), self.done.eq(1)]
        return m


class Sieve(wiring.Component):
    """Drops elements whose bit in the filter is 0.

    Latency: none. Throughput: a beat a cycle.

    Members
    -------
    start : In(1)
        Begin. The next three inputs hold from now until the last beat is taken.
    present : In(1)
        Whether there is a filter.
    address, length : In(32)
        Address of the filter, and the number of its bits.
    bits : In(stream(width))
        The filter.
    i : In(stream(beat_layout(30)))
        Packed beats.
    o : Out(stream(beat_layout(30)))
        The same beats with gaps. The stream ends before the first element for which the filter
        has no bit.
    fault : Out(fault_layout)
        VECTOR if the filter is too short.
    """
    def __init__(self, width):
        self._width = width
        beats = stream.Signature(beat_layout(30, width))
        super().__init__({
            "start": In(1), "present": In(1), "address": In(32), "length": In(32),
            "bits": In(stream.Signature(width)), "i": In(beats), "o": Out(beats),
            "fault": Out(fault_layout()),
        })

    def elaborate(self, platform):
        m = Module()
        width = self._width
        i, o = self.i.payload, self.o.payload
        left = Signal(32)
        ended = Signal()
        lacking = Signal(width)
        passes = Signal()
        m.d.comb += [
            lacking.eq(Cat(i.valid[k] & self.present & (left <= k) for k in range(width))),
            passes.eq(~ended & (self.bits.valid | ~self.present | (left == 0))),
            self.o.valid.eq(self.i.valid & passes), self.i.ready.eq(self.o.ready & passes),
            self.bits.ready.eq(self.i.valid & self.o.ready & passes & self.present),
            o.elements.eq(i.elements), o.end.eq(i.end | lacking.any()),
            o.valid.eq(i.valid & ~lacking & (self.bits.payload | ~self.present.replicate(width))),
        ]
        # If fewer bits are left than a beat takes, the stream ends with this beat. So ``left``
        # need not stop at 0.
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [left.eq(left - width), ended.eq(o.end)]
            with m.If(lacking.any()):
                m.d.sync += [self.fault.error.eq(ScuError.VECTOR),
                             self.fault.address.eq(self.address + (self.length >> 5 << 2))]
        with m.If(self.start):
            m.d.sync += [left.eq(self.length), ended.eq(0), self.fault.eq(0)]
        return m


class Bounds(wiring.Component):
    """Lets elements pass up to the first that cannot be read, lacks an operand or has no place.

    Latency: one cycle. Throughput: a beat a cycle.

    Members
    -------
    start : In(1)
        Begin. ``registers`` and ``bits`` hold from now until the last beat is taken.
    registers : In(register_layout)
        The registers of the operation.
    bits : In(1)
        Whether the output consists of bits.
    i : In(stream(beat_layout(30)))
        Packed beats of words, numbered from SOURCE on.
    o : Out(stream(beat_layout(30)))
        Packed beats of words, numbered from address 0 on.
    fault : Out(fault_layout)
        UNMAPPED if a word, its weight or a place is outside the memory, VECTOR if OPERAND or ORDER
        is too short.
    """
    def __init__(self, config: HardwareConfig, width):
        self._config, self._width = config, width
        beats = stream.Signature(beat_layout(30, width))
        super().__init__({
            "start": In(1), "registers": In(register_layout()), "bits": In(1),
            "i": In(beats), "o": Out(beats), "fault": Out(fault_layout()),
        })

    def elaborate(self, platform):
        m = Module()
        config, width, r = self._config, self._width, self.registers
        i, o = self.i.payload, self.o.payload
        operands = Signal(32)       # operands left
        room = Signal(37)           # places left
        costs_room = Signal(31)     # places left for costs
        streams = r.command[:3] == ScuOperation.STREAM
        ended = Signal()
        free = Signal()
        begin = Signal()
        m.d.sync += begin.eq(self.start)
        words = Signal(30)
        costs_words = Signal(30)
        for count, address in ((words, r.destination), (costs_words, r.costs)):
            first_word = address[2:]
            m.d.comb += count.eq(Mux(mapped(config, first_word), (config.memory_bytes >> 2)
                                     - first_word[:ceil_log2(config.memory_bytes) - 2], 0))
        with m.If(begin):
            m.d.sync += [operands.eq(r.operand_length), costs_room.eq(costs_words),
                         room.eq(Mux(self.bits, words << 5, words))]
        bad = Signal(width)
        addresses = [Signal(30, name=f"address_{k}") for k in range(width)]
        faults = []
        for k in range(width):
            unmapped, unweighed, lacks, full, costs_full = (
                Signal(name=f"{name}_{k}")
                for name in ("unmapped", "unweighed", "lacks", "full", "costs_full"))
            weight = Signal(30, name=f"weight_{k}")
            fault = Signal(fault_layout(), name=f"fault_{k}")
            m.d.comb += [
                addresses[k].eq(i.elements[k] + r.source[2:]),
                unmapped.eq(~mapped(config, addresses[k])),
                weight.eq(i.elements[k] + r.weights[2:]),
                unweighed.eq(streams & (r.weights != 0) & ~mapped(config, weight)),
                lacks.eq(((r.operand != 0) | (r.order != 0)) & ~streams & (operands <= k)),
                full.eq((r.order == 0) & (room <= k)),
                costs_full.eq(streams & (costs_room <= k)),
                bad[k].eq(i.valid[k] & (unmapped | unweighed | lacks | full | costs_full)),
            ]
            with m.If(unmapped):
                m.d.comb += [fault.error.eq(ScuError.UNMAPPED),
                             fault.address.eq(Cat(Const(0, 2), addresses[k]))]
            with m.Elif(unweighed):
                m.d.comb += [fault.error.eq(ScuError.UNMAPPED),
                             fault.address.eq(Cat(Const(0, 2), weight))]
            with m.Elif(lacks):
                m.d.comb += [
                    fault.error.eq(ScuError.VECTOR),
                    fault.address.eq(Mux(r.operand != 0, r.operand, r.order)
                                     + (r.operand_length << 2)),
                ]
            with m.Else():
                m.d.comb += [
                    fault.error.eq(ScuError.UNMAPPED),
                    fault.address.eq(Mux(full, r.destination + (words << 2),
                                         r.costs + (costs_words << 2))),
                ]
            faults.append(fault.as_value())
        first = lowest(m, bad, name="first_bad")
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(free & ~ended),
        ]
        with m.If(free):
            m.d.sync += self.o.valid.eq(self.i.valid & ~ended)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                o.valid.eq(Mux(bad.any(), i.valid & (first - 1), i.valid)),
                o.end.eq(i.end | bad.any()), ended.eq(i.end | bad.any()),
                operands.eq(operands - width),
                room.eq(room - width),
                costs_room.eq(costs_room - width),
                *(o.elements[k].eq(addresses[k]) for k in range(width)),
            ]
            with m.If(bad.any()):
                m.d.sync += self.fault.eq(and_or(first, faults))
        with m.If(self.start):
            m.d.sync += [ended.eq(0), self.fault.eq(0), self.o.valid.eq(0)]
        return m
