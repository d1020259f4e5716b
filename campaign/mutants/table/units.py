"""Planted faults in Weaver, SCU, host link, SDRAM controller, control and counters."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_WEAVER = ("tb/hw/weaver/test_weaver.py::test_weaver[icarus-full]",)
_WEAVER_RANDOM = ("tb/hw/weaver/test_weaver_random.py::test_weaver[icarus-tiny]",)
_ADDRESS = ("tb/hw/scu/test_address.py::test_address_generator[icarus-4]",)
_CHECKS = ("tb/hw/scu/test_checks.py::test_checks[icarus-4-16]",)
_FILTER = ("tb/hw/scu/test_filter_group.py::test_directed[icarus-32 bytes]",)
_GROUPING = ("tb/hw/scu/test_filter_group.py::test_random[icarus-32 bytes]",)
_OUTPUT = ("tb/hw/scu/test_output.py::test_output[icarus-4]",)
_PORT = ("tb/hw/scu/test_port.py::test_port[icarus-16]",)
_VECTORS = ("tb/hw/scu/test_vectors.py::test_vectors[icarus-4-16]",)
_FRAMING = ("tb/hw/link/test_framing.py::test_receiver[icarus]",)
_SENDING = ("tb/hw/link/test_framing.py::test_transmitter[icarus]",)
_LINK = ("tb/hw/link/test_link.py::test_link[icarus]",)
_SHARE = ("tb/hw/link/test_share.py::test_share[icarus-tiny]",)
_RECEIVER = ("tb/hw/link/test_uart.py::test_receiver[icarus-5]",)
_SDRAM = ("tb/hw/sdram/test_controller.py::test_controller[icarus-16 bytes, 40 MHz]",)
_CONTROL = ("tb/hw/test_control.py::test_control[icarus]",)
_COUNTERS = ("tb/hw/test_counters.py::test_counters[icarus-3]",)


MUTANTS = (
    # Weaver
    Mutant("weaver-skip-is-lost-while-the-entry-refills",
           "hw/weaver/weaver.py", "Weaver.elaborate",
           "Mux(skipped, 0, surplus)", "surplus", _WEAVER),
    Mutant("weaver-skip-ends-another-vertex",
           "hw/weaver/weaver.py", "Weaver.elaborate",
           "(request.mask & named).any()", "request.mask.any()", _WEAVER_RANDOM),
    Mutant("weaver-edges-begin-again-after-a-full-answer",
           "hw/weaver/weaver.py", "Weaver.elaborate",
           "ced_loc.eq(first_eid + threads)", "ced_loc.eq(ced_loc)", _WEAVER_RANDOM),
    Mutant("weaver-mask-is-not-set-where-there-is-no-work",
           "hw/weaver/weaver.py", "Weaver.elaborate",
           "Mux(filled == 0, (1 << threads) - 1, filled_mask)", "filled_mask", _WEAVER_RANDOM),
    Mutant("weaver-table-keeps-entries-without-edges",
           "hw/weaver/table.py", "SparseTable.elaborate",
           "nonzero.eq(self.mask & Cat(degree.any() for degree in self.degree))",
           "nonzero.eq(self.mask)", _WEAVER_RANDOM,
           survives="equivalent in what is given out: an entry without edges only takes cycles"),
    Mutant("weaver-table-forgets-a-row-that-is-registered-again",
           "hw/weaver/table.py", "SparseTable.elaborate",
           "Mux(kept, self.mask, (1 << self._threads) - 1)", "(1 << self._threads) - 1",
           _WEAVER_RANDOM),

    # Stream Compaction Unit
    Mutant("scu-selector-ignores-counts-of-0",
           "hw/scu/address.py", "Selector.elaborate",
           "(count != 0) | ~counted", "1", _ADDRESS),
    Mutant("scu-expander-repeats-consecutive-words",
           "hw/scu/address.py", "AddressGenerator.elaborate",
           "self.operation == ScuOperation.ACCESS_EXPANSION", "0", _ADDRESS),
    Mutant("scu-table-size-forgets-its-ways",
           "hw/scu/checks.py", "RegisterCheck.elaborate",
           "table_bits.eq(self.sets_bits + encode(r.hash_ways) + entry_bits)",
           "table_bits.eq(self.sets_bits + entry_bits)", _CHECKS),
    Mutant("scu-hash-sets-need-no-power-of-two",
           "hw/scu/checks.py", "RegisterCheck.elaborate",
           "(r.hash_sets == 0) | ((r.hash_sets & r.hash_sets - 1) != 0)", "r.hash_sets == 0",
           _CHECKS),
    Mutant("scu-sieve-passes-what-the-filter-lacks",
           "hw/scu/checks.py", "Sieve.elaborate",
           "i.valid & ~lacking & (self.bits.payload | ~self.present.replicate(width))",
           "i.valid & (self.bits.payload | ~self.present.replicate(width))", _CHECKS),
    Mutant("scu-bounds-begin-a-word-late",
           "hw/scu/checks.py", "Bounds.elaborate",
           "full.eq((r.order == 0) & (room <= k))", "full.eq((r.order == 0) & (room < k))",
           _CHECKS),
    Mutant("scu-bounds-ignore-operands-without-order",
           "hw/scu/checks.py", "Bounds.elaborate",
           "((r.operand != 0) | (r.order != 0)) & (operands <= k)",
           "(r.order != 0) & (operands <= k)", _CHECKS),
    Mutant("scu-filter-best-keeps-equal-costs",
           "hw/scu/filtering.py", "Filtering.elaborate",
           "self.cost < self.line[i + 1]", "self.cost <= self.line[i + 1]", _FILTER),
    Mutant("scu-filter-best-keeps-the-old-cost",
           "hw/scu/filtering.py", "Filtering.elaborate",
           "Mux(self.best, self.way << 1, 0)", "0", _FILTER),
    Mutant("scu-search-takes-the-turn-before-an-empty-way",
           "hw/scu/search.py", "Search.elaborate",
           "Mux(empty.any(), first_empty, self.turn)", "self.turn", _GROUPING),
    Mutant("scu-grouping-groups-are-one-short",
           "hw/scu/grouping.py", "Grouping.elaborate",
           "after == limit", "after == limit - 1", _GROUPING),
    Mutant("scu-grouping-loses-the-displaced-group",
           "hw/scu/grouping.py", "Grouping.elaborate",
           "full | self.displaces", "full", _FILTER),
    Mutant("scu-hashing-walk-ends-early",
           "hw/scu/hashing.py", "Hashing.elaborate",
           "self.position[halves:] == table_words[words:][:line_shape]",
           "self.position[halves:] == table_words[words + 1:][:line_shape]", _GROUPING),
    Mutant("scu-serializer-numbers-begin-at-1",
           "hw/scu/serializer.py", "Serializer.elaborate",
           "number.eq(0)", "number.eq(1)", _GROUPING),
    Mutant("scu-output-counts-what-has-a-bad-place",
           "hw/scu/output.py", "OutputStage.elaborate",
           "Mux(packed, beat.valid, passing)", "beat.valid", _OUTPUT),
    Mutant("scu-output-adds-costs-to-hashed-elements",
           "hw/scu/output.py", "OutputStage.elaborate",
           "Mux(hashed, 0, joined.o.payload.operands[k])", "joined.o.payload.operands[k]", _OUTPUT),
    Mutant("scu-output-bits-of-ordered-words-share-a-word",
           "hw/scu/output.py", "OutputStage._direct",
           "Mux(self.bits, order[k] >> 5, order[k])", "order[k]", _OUTPUT),
    Mutant("scu-port-clears-bits-by-or",
           "hw/scu/port.py", "Port.elaborate",
           "Mux(self.store.payload.sets, AmoOp.OR, AmoOp.AND)", "AmoOp.OR", _PORT),
    Mutant("scu-port-is-idle-with-answers-missing",
           "hw/scu/port.py", "Port.elaborate",
           "(missing == 0) & ~reads.o.valid & ~self.request.valid",
           "~reads.o.valid & ~self.request.valid", _PORT),
    Mutant("scu-vectors-of-one-line-too-few",
           "hw/scu/vectors.py", "WordVector.elaborate",
           "first_word + self.length - 1", "first_word + self.length - 2", _VECTORS),
    Mutant("scu-bit-vector-forgets-its-last-word",
           "hw/scu/vectors.py", "BitVector.elaborate",
           "(self.length >> 5) + self.length[:5].any()", "self.length >> 5", _VECTORS),

    # Host link
    Mutant("link-receiver-accepts-a-wrong-crc",
           "hw/link/framing.py", "FrameReceiver.elaborate",
           "crc.match_detected & (length[:2] == 0) & ~length[-1]",
           "(length[:2] == 0) & ~length[-1]", _FRAMING),
    Mutant("link-receiver-accepts-half-a-word",
           "hw/link/framing.py", "FrameReceiver.elaborate",
           "crc.match_detected & (length[:2] == 0) & ~length[-1]",
           "crc.match_detected & (length[0] == 0) & ~length[-1]", _FRAMING),
    Mutant("link-transmitter-does-not-escape-the-flag",
           "hw/link/framing.py", "FrameTransmitter.elaborate",
           "((byte == FLAG) | (byte == ESCAPE)) & ~escaped", "(byte == ESCAPE) & ~escaped",
           _SENDING),
    Mutant("link-repeats-a-command-that-is-performed-once",
           "hw/link/link.py", "Link.elaborate",
           "~once | ~performed | (sequence != last_once)", "1", _LINK),
    Mutant("link-takes-commands-one-sequence-bit-apart-for-one",
           "hw/link/link.py", "Link.elaborate",
           "sequence != last_once", "sequence[:15] != last_once[:15]", _LINK),
    Mutant("link-obeys-a-stranger",
           "hw/link/link.py", "Link.elaborate",
           "own.eq(given == self.session)", "own.eq(1)", _LINK),
    Mutant("link-fills-a-word-too-many",
           "hw/link/link.py", "Link.elaborate",
           "left.eq(get.data)", "left.eq(get.data + 1)", _LINK),
    Mutant("uart-takes-noise-for-a-start-bit",
           "hw/link/uart.py", "UartReceiver.elaborate",
           "m.If(line)", "m.If(0)", _RECEIVER, occurrence=1),
    Mutant("uart-takes-a-byte-without-stop-bit",
           "hw/link/uart.py", "UartReceiver.elaborate",
           "arrived.eq(line)", "arrived.eq(1)", _RECEIVER),
    Mutant("share-hands-on-answers-while-it-holds",
           "hw/link/share.py", "", "answer.valid & ~for_link & ~self.hold",
           "answer.valid & ~for_link", _SHARE),
    Mutant("share-writes-the-neighbours-word",
           "hw/link/share.py", "",
           "link.payload.word[:place_bits] == word", "link.payload.word[:place_bits] == word ^ 1",
           _SHARE),

    # SDRAM controller
    Mutant("sdram-lines-overlap",
           "hw/sdram/controller.py", "SdramController.elaborate",
           "line << ceil_log2(self._line_bytes // 2)", "line << ceil_log2(self._line_bytes // 4)",
           _SDRAM),
    Mutant("sdram-mask-is-not-inverted",
           "hw/sdram/transfer.py", "Transfer.elaborate",
           "masked.eq(~line.mask)", "masked.eq(line.mask)", _SDRAM),
    Mutant("sdram-answers-have-the-next-reads-tag",
           "hw/sdram/answers.py", "Answers.elaborate",
           "m.If(beat == 0)", "m.If(1)", _SDRAM),
    Mutant("sdram-refreshes-too-seldom",
           "hw/sdram/controller.py", "SdramController.interval",
           "cycles.refresh - (transfer + rest + 2 * cycles.rp + cycles.rcd + 8)",
           "cycles.refresh + 200", _SDRAM),

    # Control and counters
    Mutant("control-launches-while-busy",
           "hw/control.py", "ControlPort.elaborate",
           "command.eq(ordered & ~self.busy)", "command.eq(ordered)", _CONTROL),
    Mutant("control-is-idle-while-the-scu-works",
           "hw/control.py", "ControlPort.elaborate",
           "self.launch | self.flush | settling | self.core_busy | self.l2_busy | self.scu_busy"
           " | self.running",
           "self.launch | self.flush | settling | self.core_busy | self.l2_busy"
           " | self.running", _CONTROL),
    Mutant("counters-lose-what-happens-in-their-turn",
           "hw/counters.py", "Counters.elaborate",
           "Mux(turn == i, 0, count) + events[name]", "Mux(turn == i, 0, count + events[name])",
           _COUNTERS),
    Mutant("counters-keep-their-old-count-after-clear",
           "hw/counters.py", "Counters.elaborate",
           "counted.eq(Mux(self.clear, 0, counted | 1 << place))",
           "counted.eq(counted | 1 << place)", _COUNTERS),
)
