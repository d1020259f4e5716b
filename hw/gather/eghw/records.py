"""Works become records in local memory: loads of edges, stores of what they give, and answers."""

from amaranth.hdl import Assert, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.gather.eghw.topology import row_addresses
from hw.gather.eghw.works import work_layout
from hw.gather.eghw import AccessTag
from hw.gather.interface import (access_layout, fetched_layout, response_layout,
                                 warp_shape)
from hw.operations import NONE


__all__ = ["Records"]


class Records(wiring.Component):
    """Loads the edges of works, stores their records, and answers.

    A work without an edge is answered at once. Another work is loaded, its neighbours first; when
    everything that was loaded has been stored, its warp gets the answer. A warp has one work at a
    time.

    Members
    -------
    work : In(stream(work_layout))
        The work of the warp ``warp``, whose answer goes to register ``rd``.
    warp, rd : In
    weights : In(32)
        Distance from the address of a neighbour to that of the weight; 0 if there are no weights.
    records : In(32)
        Address of the records of warp 0 in local memory.
    load : Out(stream(access_layout))
        Loads of neighbours and of weights.
    fetched : In(stream(fetched_layout))
        The data of these loads, in any order.
    store : Out(stream(access_layout))
        Stores of records.
    answer : Out(stream(response_layout))
    busy : Out(1)
        An answer is on its way. Loads and their data do not count.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "work": In(stream.Signature(work_layout(config))),
            "warp": In(warp_shape(config)), "rd": In(5),
            "weights": In(32), "records": In(32),
            "load": Out(stream.Signature(access_layout(config))),
            "fetched": In(stream.Signature(fetched_layout(config))),
            "store": Out(stream.Signature(access_layout(config))),
            "answer": Out(stream.Signature(response_layout(config))),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config, threads = self._config, self._config.threads
        work, load, store = self.work.payload, self.load.payload, self.store.payload
        weighted = Signal()
        m.d.comb += weighted.eq(self.weights.any())

        # Loads: the neighbours, then the weights beside them.
        seconds = Signal()                 # the work's neighbours have been asked for
        distance = Signal(32)
        m.d.comb += [
            self.load.valid.eq(self.work.valid & work.mask.any()),
            load.tag.eq(Mux(seconds, AccessTag.WEIGHTS, AccessTag.NEIGHBORS)),
            load.once.eq(1), load.warp.eq(self.warp), load.mask.eq(work.mask),
            distance.eq(Mux(seconds, self.weights, 0)),
            *(load.address[lane].eq((work.edge[lane] << 2) + distance) for lane in range(threads)),
        ]
        with m.If(self.load.valid & self.load.ready):
            m.d.sync += seconds.eq(weighted & ~seconds)

        # Stores.
        fetched = self.fetched.payload
        row = Signal(range(2 * config.warps))
        stored = Signal()
        m.d.comb += [
            row.eq(Mux(weighted, (fetched.warp << 1) + (fetched.tag == AccessTag.WEIGHTS),
                       fetched.warp)),
            self.store.valid.eq(self.fetched.valid), self.fetched.ready.eq(self.store.ready),
            store.store.eq(1), store.warp.eq(fetched.warp), store.mask.eq(fetched.mask),
            store.data.eq(fetched.data), store.tag.eq(fetched.tag),
            *(store.address[lane].eq(address) for lane, address in
              enumerate(row_addresses(config, self.records, row))),
            stored.eq(self.store.valid & self.store.ready),
        ]

        # A warp is complete when all its records are stored: with weights, both of them. A work
        # without edges lets another warp's records go first.
        half = Signal(config.warps)        # warps with one record of two
        of_warp = Signal(config.warps)
        completes = Signal()
        ends = Signal()
        m.submodules.complete = complete = SyncFIFO(width=len(self.warp), depth=config.warps)
        m.d.comb += [
            of_warp.eq(Mux(stored, 1 << fetched.warp, 0)),
            completes.eq(stored & (~weighted | (half & of_warp).any())),
            ends.eq(self.work.valid & ~work.mask.any() & ~completes),
            self.work.ready.eq(ends | self.load.valid & self.load.ready & (~weighted | seconds)),
            complete.w_en.eq(completes | ends),
            complete.w_data.eq(Mux(completes, fetched.warp, self.warp)),
        ]
        with m.If(weighted):
            m.d.sync += half.eq(half ^ of_warp)

        # Answers.
        waiting = data.StructLayout({"vid": work.vid.shape(), "mask": threads, "rd": 5})
        # The depth is at least 2: Verilog has no address of zero bits.
        m.submodules.works = works = memory.Memory(shape=waiting, depth=max(2, config.warps),
                                                   init=[], attrs={"no_rw_check": 1})
        write, read = works.write_port(), works.read_port()
        answer, next_one = self.answer.payload, Signal(name="next_one")
        m.d.comb += [
            write.en.eq(self.work.valid & self.work.ready), write.addr.eq(self.warp),
            write.data.vid.eq(work.vid), write.data.mask.eq(work.mask), write.data.rd.eq(self.rd),
            next_one.eq(complete.r_rdy & (~self.answer.valid | self.answer.ready)),
            read.addr.eq(complete.r_data), read.en.eq(next_one), complete.r_en.eq(next_one),
            answer.rd.eq(read.data.rd), answer.set_mask.eq(1),
            answer.mask.eq(Mux(read.data.mask.any(), read.data.mask, (1 << threads) - 1)),
            *(answer.data[lane].eq(Mux(read.data.mask[lane], read.data.vid[lane], NONE))
              for lane in range(threads)),
            self.busy.eq(complete.r_rdy | self.answer.valid),
        ]
        with m.If(next_one):
            m.d.sync += [self.answer.valid.eq(1), answer.warp.eq(complete.r_data)]
        with m.Elif(self.answer.ready):
            m.d.sync += self.answer.valid.eq(0)
        m.d.sync += Assert(~(~ResetSignal() & complete.w_en & ~complete.w_rdy),
                           "a warp has two works")
        return m
