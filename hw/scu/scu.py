"""The Stream Compaction Unit (Segura et al., ISCA 2019, figures 7 and 8).

The blocks are a pipeline: Address Generator, Data Fetch, Bitmask Constructor or Filtering/Grouping
Unit, and Data Store. Streams of elements, up to four in a beat, connect the blocks
(:mod:`hw.scu.beats`). An operation begins with the check of its registers, while all blocks are
reset. Then the blocks run until the Data Store has written the last element. At last the count is
written, if COUNT_ADDRESS is not 0.

STREAM is one pass in place of several: beside the elements, their costs are made, and two Data
Stores write the elements and the costs that are left.
"""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.config import HardwareConfig
from hw.memory.crossbar import Gather
from hw.memory.port import core_request_layout, core_response_layout
from hw.state_text import state_text
from hw.streams import check_stream

from .address import AddressGenerator
from .beats import Packer, beat_layout
from .checks import Bounds, RegisterCheck, Sieve, fault_layout, register_layout
from .costs import StreamCosts
from .fetch import DataFetch
from .filter_banks import FilterBanks
from .fork import Fork
from .interface import event_layout
from .output import OutputStage
from .port import Port
from .registers import ScuCommand, ScuError, ScuOperation, ScuOutput, ScuRegister, ScuStatus
from .rows import RowLookup
from .store import DataStore, store_request_layout
from .vectors import BitVector, WordVector


__all__ = ["Scu"]


def _choose(m, choice, first, second, sink):
    """Connects the first of two streams if ``choice``, else the second."""
    m.d.comb += [
        sink.valid.eq(Mux(choice, first.valid, second.valid)),
        sink.payload.eq(Mux(choice, first.payload, second.payload)),
        first.ready.eq(sink.ready & choice), second.ready.eq(sink.ready & ~choice),
    ]


def _direct(m, choice, source, first, second):
    """Connects a stream to the first of two sinks if ``choice``, else to the second."""
    m.d.comb += source.ready.eq(Mux(choice, first.ready, second.ready))
    for is_chosen, sink in ((choice, first), (~choice, second)):
        m.d.comb += [sink.valid.eq(source.valid & is_chosen), sink.payload.eq(source.payload)]


class Scu(wiring.Component):
    """The Stream Compaction Unit.

    Throughput: ``config.scu`` inputs a cycle, and as many elements. Elements in lines that were not
    just read or written: a line a cycle. Through a filter: an element a cycle in each of
    ``config.scu`` banks. Groups: an element a cycle. Every line read, and every line written, takes
    a cycle of the port.

    Latency: an operation requests its first element in its 21st cycle. An operation of a single
    element takes 31 cycles if the memory answers in one cycle.

    Members
    -------
    read, write : In(1)
        Access the register at ``address`` (:mod:`hw.scu.registers`).
    address : In(7)
        Offset of the register in bytes.
    write_data : In(32)
        Word to write. While ``busy``, no write changes a register but REFUSED in STATUS.
    read_data : Out(32)
        Word read, valid in the cycle after ``read``.
    busy : Out(1)
        An operation is under way; high from the cycle after its start.
    request : Out(stream(core_request_layout))
        READ and WRITE, and ATOMIC without an answer. The L2 fills in the tag's ``core``.
    response : In(stream(core_response_layout))
        Answers to READs, in any order.
    events : Out(event_layout)
        Events of this cycle, for the counters.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "read": In(1), "write": In(1), "address": In(7), "write_data": In(32),
            "read_data": Out(32), "busy": Out(1),
            "request": Out(stream.Signature(core_request_layout(config))),
            "response": In(stream.Signature(core_response_layout(config))),
            "events": Out(event_layout()),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        registers = Signal(register_layout())
        result = Signal(32)
        selected = Signal(32)
        fault = Signal(fault_layout())
        done = Signal()
        refused = Signal()
        command = Signal()              # COMMAND is written
        starts = Signal()
        m.d.comb += [
            command.eq(self.write & (self.address == ScuRegister.COMMAND)),
            starts.eq(command & ~self.busy),
        ]
        self._access(m, registers, result, selected, fault, done, refused)

        m.submodules.check = check = RegisterCheck(config)
        m.d.comb += [check.start.eq(starts), check.registers.eq(registers)]
        # The pipeline is cleared, then started.
        clear = Signal()
        start = Signal()
        stored, ones, groups, pipeline_fault, finished, port = self._pipeline(
            m, registers, check, clear, start)

        with m.FSM() as fsm:
            # After a fault, blocks may still request lines that will not be used.
            m.d.comb += [self.busy.eq(~fsm.ongoing("IDLE")), port.stop.eq(~fsm.ongoing("RUN"))]
            with m.State("IDLE"):
                with m.If(starts):
                    m.d.sync += [done.eq(0), refused.eq(0), fault.eq(0), result.eq(0),
                                 selected.eq(0)]
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += clear.eq(1)
                with m.If(check.done):
                    m.d.sync += fault.eq(check.fault)
                    m.next = "BEGIN"
                    with m.If(check.fault.error != ScuError.NONE):
                        m.next = "IDLE"
            with m.State("BEGIN"):
                m.d.comb += start.eq(1)
                m.next = "RUN"
            with m.State("RUN"):
                m.d.sync += [result.eq(result + stored), selected.eq(selected + ones)]
                with m.If(finished):
                    m.d.sync += fault.eq(pipeline_fault)
                    m.next = "DRAIN"
                    with m.If(registers.command[4:6] == ScuOutput.GROUP):
                        m.d.sync += selected.eq(groups)
            with m.State("DRAIN"):
                with m.If(port.idle):
                    m.next = "COUNT"
                    with m.If((registers.count_address == 0)
                              | (fault.error != ScuError.NONE)):
                        m.d.sync += done.eq(fault.error == ScuError.NONE)
                        m.next = "IDLE"
            with m.State("COUNT"):
                with m.If(port.store.ready):
                    m.next = "WRITE"
            with m.State("WRITE"):
                with m.If(port.idle):
                    m.d.sync += done.eq(1)
                    m.next = "IDLE"
        counting = fsm.ongoing("COUNT")
        with m.If(counting):
            word = registers.count_address[2:]
            word_bits = config.line_bits - 2
            value = (result + registers.count_offset)[:32]
            m.d.comb += [
                port.store.valid.eq(1), port.store.payload.line.eq(word[word_bits:]),
                port.store.payload.data.eq(value.replicate(config.line_words)),
                port.store.payload.mask.eq(0xF << (word[:word_bits] << 2)),
                port.store.payload.bit.eq(0),
            ]
        with m.If(command & self.busy):
            m.d.sync += refused.eq(1)
        state_text(m, fsm, name="state_text")

        connect(m, port.request, flipped(self.request))
        connect(m, flipped(self.response), port.response)
        check_stream(m, self.request, name="request")
        m.d.comb += [
            self.events.busy.eq(self.busy), self.events.started.eq(starts),
            self.events.elements.eq(stored), self.events.read.eq(port.read),
            self.events.written.eq(port.written),
            self.events.stall_l2.eq(self.busy & self.request.valid & ~self.request.ready),
        ]
        return m

    def _access(self, m, registers, result, selected, fault, done, refused):
        """The host's reads and writes of the registers."""
        readable = {
            ScuRegister.STATUS: (
                Mux(self.busy, ScuStatus.BUSY, 0) | Mux(done, ScuStatus.DONE, 0)
                | Mux(fault.error != ScuError.NONE, ScuStatus.ERROR, 0)
                | Mux(refused, ScuStatus.REFUSED, 0)),
            ScuRegister.RESULT: result, ScuRegister.SELECTED: selected,
            ScuRegister.ERROR: fault.error, ScuRegister.ERROR_ADDRESS: fault.address,
        }
        m.d.sync += self.read_data.eq(0)
        with m.Switch(self.address):
            for register in ScuRegister:
                with m.Case(register):
                    if register in readable:
                        m.d.sync += self.read_data.eq(readable[register])
                    else:
                        value = registers[register.name.lower()]
                        m.d.sync += self.read_data.eq(value)
                        with m.If(self.write & ~self.busy):
                            m.d.sync += value.eq(self.write_data)

    def _pipeline(self, m, registers, check, clear, start):
        """The blocks and their connections.

        Returns six values: the elements stored in this cycle, the elements among them that are 1,
        the number of groups, the fault, whether all is written, and the port.
        """
        config, width, r = self._config, self._config.scu, registers
        operation, output = r.command[:3], r.command[4:6]
        streams = operation == ScuOperation.STREAM
        expands = streams | (operation == ScuOperation.ACCESS_EXPANSION)
        by_rows, looks = ((r.command & flag).any() for flag in (ScuCommand.ROWS, ScuCommand.LOOKS))
        m.submodules.port = port = Port(config)

        vectors = {}
        for name, kind, address, length in (
                ("bitmask", BitVector, r.bitmask, r.length),
                ("indexes", WordVector, r.indexes, r.length),
                ("counts", WordVector, r.counts, r.length),
                ("filter", BitVector, r.filter, r.filter_length),
                ("operand", WordVector, r.operand, Mux(streams, r.length, r.operand_length)),
                ("order", WordVector, r.order, r.operand_length)):
            vector = kind(config, width)
            vectors[name] = m.submodules[name] = vector
            wanted = address != 0
            if name == "indexes":
                wanted = expands | (operation == ScuOperation.ACCESS)
            if name == "counts":
                wanted = expands & ~by_rows | (operation == ScuOperation.REPLICATION)
            if name == "operand":
                wanted = wanted & ~looks
            m.d.comb += [vector.start.eq(start), vector.address.eq(address),
                         vector.length.eq(Mux(wanted, length, 0))]
            if name not in ("counts", "order"):
                connect(m, vector.read, getattr(port, f"read_{name}"))
                connect(m, getattr(port, f"response_{name}"), vector.response)

        def add(name, block):
            m.submodules[name] = ResetInserter(clear)(block)
            return block
        rows = add("row_lookup", RowLookup(config, width))
        generator = add("address_generator", AddressGenerator(width))
        sieve = add("sieve", Sieve(width))
        packer = add("packer", Packer(30, width))
        bounds = add("bounds", Bounds(config, width))
        fetch = add("data_fetch", DataFetch(config, width))
        result = add("output", OutputStage(config, width))
        store = add("data_store", DataStore(config, width))
        costs = add("costs", StreamCosts(config, width))
        costs_store = add("costs_store", DataStore(config, width))
        requests = add("stores", Gather(store_request_layout(config), 2))
        # Elements and costs are made of the same inputs.
        bits = add("bits_fork", Fork(width, 2))
        counts = add("counts_fork", Fork(vectors["counts"].o.payload.shape(), 2))
        words = add("words_fork", Fork(beat_layout(30, width), 2))
        m.submodules.filter_group = lookup = FilterBanks(config, width)

        m.d.comb += [
            rows.start.eq(start & by_rows), rows.length.eq(r.length), rows.looks.eq(looks),
            rows.to_row.eq(r.rows), rows.to_cost.eq(r.operand),
            generator.start.eq(start),
            generator.operation.eq(Mux(streams, ScuOperation.ACCESS_EXPANSION, operation)),
            generator.length.eq(r.length), generator.masked.eq(r.bitmask != 0),
            sieve.start.eq(start), sieve.present.eq(r.filter != 0), sieve.address.eq(r.filter),
            sieve.length.eq(r.filter_length),
            bounds.start.eq(start), bounds.registers.eq(r),
            bounds.bits.eq(~streams & ((output == ScuOutput.FILTER_UNIQUE)
                                       | (output == ScuOutput.FILTER_BEST))
                           | ((output == ScuOutput.DATA) & (operation == ScuOperation.BITMASK))),
            result.start.eq(start), result.registers.eq(r),
            lookup.start.eq(start & (output != ScuOutput.DATA)), lookup.mode.eq(output),
            lookup.clear.eq(r.command[12]), lookup.address.eq(r.hash),
            lookup.sets_bits.eq(check.sets_bits), lookup.ways_bits.eq(check.ways_bits),
            store.bits.eq(result.bits), port.once.eq(streams),
            costs.start.eq(start & streams), costs.length.eq(r.length),
            costs.masked.eq(r.bitmask != 0), costs.weighted.eq(r.weights != 0),
            costs.distance.eq((r.weights - r.source)[2:]),
            bits.enable.eq(Cat(1, streams)), counts.enable.eq(Cat(1, streams)),
            words.enable.eq(Cat(1, streams & (r.weights != 0))),
        ]
        connect(m, vectors["filter"].o, sieve.bits)
        connect(m, vectors["order"].o, result.order)
        connect(m, vectors["bitmask"].o, bits.i)
        connect(m, bounds.o, words.i)
        for fork, sinks in ((bits, (generator.bits, costs.bits)),
                            (counts, (generator.counts, costs.counts)),
                            (words, (fetch.i, costs.elements))):
            for branch, sink in zip(fork.o, sinks):
                connect(m, branch, sink)
        # INDEXES has the indexes, or the keys by which rows are looked up. OPERAND has the words of
        # the inputs of STREAM, or the operands of the elements.
        indexes, given, operands = (stream.Signature(data.ArrayLayout(32, width)).create(
            path=(name,)) for name in ("given_indexes", "given_words", "given_operands"))
        _direct(m, by_rows, vectors["indexes"].o, rows.keys, indexes)
        _choose(m, by_rows, rows.indexes, indexes, generator.indexes)
        _choose(m, by_rows, rows.counts, vectors["counts"].o, counts.i)
        _direct(m, streams, vectors["operand"].o, given, operands)
        _choose(m, looks, rows.given, given, costs.given)
        _choose(m, streams, costs.o, operands, result.operands)
        # STREAM has no order. Its weights are read in place of the order. Rows are looked up in
        # place of the counts.
        for taken, name, block in ((streams, "order", costs), (by_rows, "counts", rows)):
            _choose(m, taken, block.read, vectors[name].read, getattr(port, f"read_{name}"))
            _direct(m, taken, getattr(port, f"response_{name}"), block.response,
                    vectors[name].response)
        for source, sink in ((generator.o, sieve.i), (sieve.o, packer.i), (packer.o, bounds.i),
                             (fetch.o, result.i), (result.o_costs, costs_store.i),
                             (costs_store.request, requests.i[1]),
                             (result.lookups, lookup.i), (lookup.o, result.answers),
                             (lookup.places, result.places),
                             (result.o, store.i), (fetch.read, port.read_fetch),
                             (port.response_fetch, fetch.response), (lookup.request, port.hash),
                             (port.response_hash, lookup.response)):
            connect(m, source, sink)
        # Requests of the Data Stores. The count is written when they have no request.
        m.d.comb += [
            requests.i[0].valid.eq(store.request.valid & streams),
            requests.i[0].payload.eq(store.request.payload),
            port.store.valid.eq(Mux(streams, requests.o.valid, store.request.valid)),
            port.store.payload.eq(Mux(streams, requests.o.payload, store.request.payload)),
            store.request.ready.eq(Mux(streams, requests.i[0].ready, port.store.ready)),
            requests.o.ready.eq(port.store.ready & streams),
            self.events.looked_up.eq(lookup.looked_up), self.events.found.eq(lookup.found),
            self.events.fetched.eq(lookup.fetched),
        ]
        for name, stage_inputs in (("fetch", [fetch.i]), ("filter", [lookup.i]),
                                   ("store", [store.i, costs_store.i])):
            waits = Cat(given.valid & ~given.ready for given in stage_inputs).any()
            m.d.comb += self.events[f"stall_{name}"].eq(self.busy & waits)
        fault = Signal(fault_layout())
        m.d.comb += fault.eq(rows.fault)
        for later in (sieve.fault, bounds.fault, result.fault):
            with m.If(later.error != ScuError.NONE):
                m.d.comb += fault.eq(later)
        done = store.done & (costs_store.done | ~streams) & ~requests.o.valid
        return result.stored, result.ones, lookup.groups, fault, done, port
