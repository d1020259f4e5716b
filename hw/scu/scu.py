"""The Stream Compaction Unit (Segura et al., ISCA 2019, figures 7 and 8).

The blocks are a pipeline: Address Generator, Data Fetch, Bitmask Constructor or Filtering/Grouping
Unit, and Data Store. Streams of elements, up to four in a beat, connect the blocks
(:mod:`hw.scu.beats`). An operation begins with the check of its registers, while all blocks are
reset. Then the blocks run until the Data Store has written the last element. At last the count is
written, if COUNT_ADDRESS is not 0.

STREAM is one pass in place of several: beside the elements, their costs are made, and two Data
Stores write the elements and the costs that are left.
"""

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal, Value
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


class _Operation:
    """The operation under way, as the registers say."""
    def __init__(self, registers, start):
        self.registers, self.start = registers, start
        self.operation, self.output = registers.command[:3], registers.command[4:6]
        self.streams = self.operation == ScuOperation.STREAM
        self.expands = self.streams | (self.operation == ScuOperation.ACCESS_EXPANSION)
        self.by_rows, self.looks = ((registers.command & flag).any()
                                    for flag in (ScuCommand.ROWS, ScuCommand.LOOKS))


class _Blocks:
    """The blocks of the pipeline, each a submodule. All but the port, the vectors and the filters
    are reset by ``clear``."""
    def __init__(self, m, config, clear):
        width = config.scu
        m.submodules.port = self.port = Port(config)
        self.vectors = {
            name: kind(config, width) for name, kind in (
                ("bitmask", BitVector), ("indexes", WordVector), ("counts", WordVector),
                ("filter", BitVector), ("operand", WordVector), ("order", WordVector))}
        for name, vector in self.vectors.items():
            m.submodules[name] = vector

        def add(name, block):
            m.submodules[name] = ResetInserter(clear)(block)
            return block
        self.rows = add("row_lookup", RowLookup(config, width))
        self.generator = add("address_generator", AddressGenerator(width))
        self.sieve = add("sieve", Sieve(width))
        self.packer = add("packer", Packer(30, width))
        self.bounds = add("bounds", Bounds(config, width))
        self.fetch = add("data_fetch", DataFetch(config, width))
        self.result = add("output", OutputStage(config, width))
        self.store = add("data_store", DataStore(config, width))
        self.costs = add("costs", StreamCosts(config, width))
        self.costs_store = add("costs_store", DataStore(config, width))
        self.requests = add("stores", Gather(store_request_layout(config), 2))
        # Elements and costs are made of the same inputs.
        self.bits = add("bits_fork", Fork(width, 2))
        self.counts = add("counts_fork", Fork(self.vectors["counts"].o.payload.shape(), 2))
        self.words = add("words_fork", Fork(beat_layout(30, width), 2))
        m.submodules.filter_group = self.lookup = FilterBanks(config, width)


class _Progress(NamedTuple):
    """The pipeline's output in this cycle."""
    stored: Signal          # elements stored in this cycle
    ones: Signal            # elements among them that are 1
    groups: Signal          # number of groups
    fault: data.View
    done: Value             # all is written


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
        operation = _Operation(registers, start)
        blocks = _Blocks(m, config, clear)
        port = blocks.port
        self._read_vectors(m, operation, blocks)
        self._set_up(m, operation, blocks, check)
        self._connect_inputs(m, operation, blocks)
        self._connect_blocks(m, blocks)
        progress = self._finish(m, operation, blocks)

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
                m.d.sync += [result.eq(result + progress.stored),
                             selected.eq(selected + progress.ones)]
                with m.If(progress.done):
                    m.d.sync += fault.eq(progress.fault)
                    m.next = "DRAIN"
                    with m.If(registers.command[4:6] == ScuOutput.GROUP):
                        m.d.sync += selected.eq(progress.groups)
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
            self.events.elements.eq(progress.stored), self.events.read.eq(port.read),
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

    def _read_vectors(self, m, operation, blocks):
        """The vectors that the operation reads, each with its port."""
        r, streams, expands = operation.registers, operation.streams, operation.expands
        lengths = {"filter": r.filter_length, "order": r.operand_length,
                   "operand": Mux(streams, r.length, r.operand_length)}
        wanted = {
            "indexes": expands | (operation.operation == ScuOperation.ACCESS),
            "counts": expands & ~operation.by_rows
            | (operation.operation == ScuOperation.REPLICATION),
            "operand": (r.operand != 0) & ~operation.looks,
        }
        for name, vector in blocks.vectors.items():
            m.d.comb += [
                vector.start.eq(operation.start), vector.address.eq(r[name]),
                vector.length.eq(Mux(wanted.get(name, r[name] != 0),
                                     lengths.get(name, r.length), 0)),
            ]
            if name not in ("counts", "order"):
                connect(m, vector.read, getattr(blocks.port, f"read_{name}"))
                connect(m, getattr(blocks.port, f"response_{name}"), vector.response)

    def _set_up(self, m, operation, blocks, check):
        """Each block gets its part of the registers."""
        r, start, streams, output = (operation.registers, operation.start, operation.streams,
                                     operation.output)
        rows, generator, sieve, bounds, lookup, costs = (
            blocks.rows, blocks.generator, blocks.sieve, blocks.bounds, blocks.lookup, blocks.costs)
        m.d.comb += [
            rows.start.eq(start & operation.by_rows), rows.length.eq(r.length),
            rows.looks.eq(operation.looks),
            rows.to_row.eq(r.rows), rows.to_cost.eq(r.operand),
            generator.start.eq(start),
            generator.operation.eq(Mux(streams, ScuOperation.ACCESS_EXPANSION,
                                       operation.operation)),
            generator.length.eq(r.length), generator.masked.eq(r.bitmask != 0),
            sieve.start.eq(start), sieve.present.eq(r.filter != 0), sieve.address.eq(r.filter),
            sieve.length.eq(r.filter_length),
            bounds.start.eq(start), bounds.registers.eq(r),
            bounds.bits.eq(~streams & ((output == ScuOutput.FILTER_UNIQUE)
                                       | (output == ScuOutput.FILTER_BEST))
                           | ((output == ScuOutput.DATA)
                              & (operation.operation == ScuOperation.BITMASK))),
            blocks.result.start.eq(start), blocks.result.registers.eq(r),
            lookup.start.eq(start & (output != ScuOutput.DATA)), lookup.mode.eq(output),
            lookup.clear.eq(r.command[12]), lookup.address.eq(r.hash),
            lookup.sets_bits.eq(check.sets_bits), lookup.ways_bits.eq(check.ways_bits),
            blocks.store.bits.eq(blocks.result.bits), blocks.port.once.eq(streams),
            costs.start.eq(start & streams), costs.length.eq(r.length),
            costs.masked.eq(r.bitmask != 0), costs.weighted.eq(r.weights != 0),
            costs.distance.eq((r.weights - r.source)[2:]),
            blocks.bits.enable.eq(Cat(1, streams)), blocks.counts.enable.eq(Cat(1, streams)),
            blocks.words.enable.eq(Cat(1, streams & (r.weights != 0))),
        ]

    def _connect_inputs(self, m, operation, blocks):
        """From the vectors, or from the look-up of rows, to the blocks.

        INDEXES has the indexes, or the keys by which rows are looked up. OPERAND has the words of
        the inputs of STREAM, or the operands of the elements. STREAM has no order. Its weights are
        read in place of the order. Rows are looked up in place of the counts.
        """
        vectors, port, rows, costs = blocks.vectors, blocks.port, blocks.rows, blocks.costs
        by_rows, looks, streams = operation.by_rows, operation.looks, operation.streams
        connect(m, vectors["filter"].o, blocks.sieve.bits)
        connect(m, vectors["order"].o, blocks.result.order)
        connect(m, vectors["bitmask"].o, blocks.bits.i)
        indexes, given, operands = (
            stream.Signature(data.ArrayLayout(32, self._config.scu)).create(path=(name,))
            for name in ("given_indexes", "given_words", "given_operands"))
        _direct(m, by_rows, vectors["indexes"].o, rows.keys, indexes)
        _choose(m, by_rows, rows.indexes, indexes, blocks.generator.indexes)
        _choose(m, by_rows, rows.counts, vectors["counts"].o, blocks.counts.i)
        _direct(m, streams, vectors["operand"].o, given, operands)
        _choose(m, looks, rows.given, given, costs.given)
        _choose(m, streams, costs.o, operands, blocks.result.operands)
        for taken, name, block in ((streams, "order", costs), (by_rows, "counts", rows)):
            _choose(m, taken, block.read, vectors[name].read, getattr(port, f"read_{name}"))
            _direct(m, taken, getattr(port, f"response_{name}"), block.response,
                    vectors[name].response)

    def _connect_blocks(self, m, blocks):
        """From block to block, to the Data Stores."""
        port, fetch, result, lookup = blocks.port, blocks.fetch, blocks.result, blocks.lookup
        sieve, packer, bounds = blocks.sieve, blocks.packer, blocks.bounds
        for fork, sinks in ((blocks.bits, (blocks.generator.bits, blocks.costs.bits)),
                            (blocks.counts, (blocks.generator.counts, blocks.costs.counts)),
                            (blocks.words, (fetch.i, blocks.costs.elements))):
            for branch, sink in zip(fork.o, sinks):
                connect(m, branch, sink)
        for source, sink in ((blocks.generator.o, sieve.i), (sieve.o, packer.i),
                             (packer.o, bounds.i), (bounds.o, blocks.words.i),
                             (fetch.read, port.read_fetch), (port.response_fetch, fetch.response),
                             (fetch.o, result.i),
                             (result.lookups, lookup.i), (lookup.o, result.answers),
                             (lookup.places, result.places),
                             (lookup.request, port.hash), (port.response_hash, lookup.response),
                             (result.o, blocks.store.i), (result.o_costs, blocks.costs_store.i),
                             (blocks.costs_store.request, blocks.requests.i[1])):
            connect(m, source, sink)

    def _finish(self, m, operation, blocks):
        """Requests of the Data Stores, events, and what is done. The count is written when the Data
        Stores have no request."""
        streams, port, store, requests = (operation.streams, blocks.port, blocks.store,
                                          blocks.requests)
        result, lookup, costs_store = blocks.result, blocks.lookup, blocks.costs_store
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
        for name, stage_inputs in (("fetch", [blocks.fetch.i]), ("filter", [lookup.i]),
                                   ("store", [store.i, costs_store.i])):
            waits = Cat(given.valid & ~given.ready for given in stage_inputs).any()
            m.d.comb += self.events[f"stall_{name}"].eq(self.busy & waits)
        fault = Signal(fault_layout())
        m.d.comb += fault.eq(blocks.rows.fault)
        for later in (blocks.sieve.fault, blocks.bounds.fault, result.fault):
            with m.If(later.error != ScuError.NONE):
                m.d.comb += fault.eq(later)
        done = store.done & (costs_store.done | ~streams) & ~requests.o.valid
        return _Progress(result.stored, result.ones, lookup.groups, fault, done)
