"""Planted faults in tiles, resident tiles, and the orderings that come from them."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_TILE = "tb/sw/schedules/test_tile.py::"
_ORDER = "tb/sw/graph/test_order.py::"
_ROUNDS = "tb/sw/runtime/test_reordering.py::"
_PROGRAMS = "tb/sw/vm/test_rtl.py::"
_FIGURES = "tb/sw/reproduce/test_sage.py::"
_TILES = "sw/kernels/tiles.py"
_RESIDENT = "sw/kernels/resident_tiles.py"
_SAGE = "sw/graph/sage.py"

_RESULTS = tuple(f"{_TILE}test_rounds_that_overlap[{schedule}]"
                 for schedule in ("tile", "tile:min_tile=1"))
_WIDEST = (f"{_TILE}test_each_edge_has_the_widest_tile",)
_BECOME = (f"{_TILE}test_rows_become_tiles",)


MUTANTS = (
    # Tiles of several warps
    Mutant("tile-lists-are-not-emptied",
           _TILES, "TileLists._ready", "a.sw(first, end)", "pass", _RESULTS),
    Mutant("tile-lists-of-two-rounds-are-one-set",
           _TILES, "TileLists._ready",
           'a.sub(self._set, k.constant(self._set_size, "set_bytes"), self._set)', "pass",
           _RESULTS),
    Mutant("tile-leader-is-appended-without-its-turns",
           _TILES, "TileLists.append", "a.add(begin, begin, part)", "pass", _WIDEST),
    Mutant("tile-rest-keeps-a-turn",
           _TILES, "TileLists.append", "self._widths[-1] * threads * step - 1",
           "2 * self._widths[-1] * threads * step - 1", _WIDEST),
    Mutant("tile-narrower-tiles-have-the-lists-of-the-widest",
           _TILES, "TileLists._place", "-self._widths[number]", "-self._widths[0]", _RESULTS),
    Mutant("tile-warps-of-a-tile-take-the-same-edges",
           _TILES, "TileLists._tile_lane", "warps - 1", "0", _RESULTS),
    Mutant("tile-lists-of-all-widths-overlap",
           _TILES, "TileLists.__init__", "k.times(own, own, task.warps)", "pass", _RESULTS),
    Mutant("tile-wide-tiles-take-more-room-than-there-is",
           _TILES, "TileLists.widths", "task.config.local_bytes * 3 // 4 - _OTHERS",
           "task.config.local_bytes * 3",
           (f"{_TILE}test_wide_tiles_that_local_memory_has_room_for",)),
    Mutant("tile-row-ends-after-a-turn",
           _TILES, "turns", "a.bltu(next_turn, end, top)", "pass", _WIDEST),
    # Tiles of a warp
    Mutant("tile-elects-the-same-leader-again",
           _TILES, "Election.elect", "a.xor(left, left, elected)", "pass",
           (f"{_TILE}test_an_election",)),
    Mutant("tile-two-lanes-have-the-same-slot",
           _TILES, "Election._slot", "27", "28", (f"{_TILE}test_an_election",)),
    Mutant("tile-both-tiles-take-the-first-candidate",
           _TILES, "WarpTiles._leaders", "a.and_(left, left, less)", "pass", _RESULTS),
    Mutant("tile-candidates-are-those-of-the-first-tile",
           _TILES, "WarpTiles._leaders", "k.task.config.threads - 1", "0", _RESULTS),
    Mutant("tile-idle-tiles-work",
           _TILES, "WarpTiles._leaders", "k.narrow(elected, bottom)", "pass", _RESULTS),
    Mutant("tile-lanes-of-a-tile-begin-at-their-own-number",
           _TILES, "WarpTiles._level", "a.andi(place, lane, width - 1)", "a.mv(place, lane)",
           _RESULTS),
    Mutant("tile-turns-of-a-warp-stay-in-the-row",
           _TILES, "WarpTiles._level", "a.sub(size, size, part)", "pass", _RESULTS),
    Mutant("tile-fragments-are-lost",
           "sw/schedules/tile.py", "TiledPartitioning.get_next_edge",
           "self._fragments(k, begin, size, base)", "pass", _RESULTS),
    Mutant("tile-resident-without-a-counter-runs",
           "sw/schedules/tile.py", "TiledPartitioning.check", 'task.split != "counter"', "False",
           (f"{_TILE}test_refused",)),
    Mutant("tile-narrowest-may-be-wider-than-a-warp",
           "sw/schedules/tile.py", "TiledPartitioning.check_config",
           "narrowest > config.threads", "False", (f"{_TILE}test_refused",)),
    # Resident tiles
    Mutant("resident-tiles-are-as-long-as-the-row",
           _RESIDENT, "ResidentTiles._widest_tiles", "k.minimum(part, whole, widest)",
           "a.mv(part, whole)", _BECOME),
    Mutant("resident-tiles-of-a-long-row-end-too-late",
           _RESIDENT, "ResidentTiles._long_row",
           "k.maximum(part, part, a.zero, signed=True)", "pass", _BECOME),
    Mutant("resident-lanes-make-the-same-tile",
           _RESIDENT, "ResidentTiles._long_row", "a.add(start, start, lane)", "pass", _BECOME),
    Mutant("resident-long-row-has-tiles-for-one-turn-of-the-lanes",
           _RESIDENT, "ResidentTiles._long_row", "a.bltu(start, end, top)", "pass",
           (f"{_TILE}test_a_very_long_row",)),
    Mutant("resident-fragment-has-the-tiles-before-it",
           _RESIDENT, "ResidentTiles._other_tiles", "self._narrowest * step - 1",
           "2 * self._narrowest * step - 1", _BECOME),
    Mutant("resident-tiles-of-the-frontier-serve-all-supersteps",
           "sw/schedules/tile.py", "TiledPartitioning.passes",
           "not task.queued and not task.algorithm.filters(task) "
           "and not any(layout.active for layout in task.layouts)", "True",
           (f"{_TILE}test_tiles_serve_all_supersteps",)),
    Mutant("resident-lists-have-room-for-rows-only",
           _RESIDENT, "ResidentTiles.__init__", "layout.edges // self._widest", "0",
           (f"{_TILE}test_a_very_long_row",)),
    # Orderings
    Mutant("gorder-window-never-moves",
           "sw/graph/gorder.py", "gorder", "score[others] -= scores", "pass",
           (f"{_ORDER}test_gorder_on_larger_graphs",)),
    Mutant("gorder-counts-large-sources",
           "sw/graph/gorder.py", "gorder",
           "np.diff(out.indptr) <= np.sqrt(num_vertices)", "np.diff(out.indptr) >= 0",
           (f"{_ORDER}test_gorder_takes_the_best_vertex",)),
    Mutant("gorder-forgets-edges-into-a-vertex",
           "sw/graph/gorder.py", "_near", "[successors, sources, *shared]",
           "[successors, *shared]", (f"{_ORDER}test_gorder_takes_the_best_vertex",)),
    Mutant("sage-tiles-of-the-widest-width-only",
           _SAGE, "windows", "width //= 2", "break", (f"{_ORDER}test_windows",)),
    Mutant("sage-count-has-the-vertex-itself",
           _SAGE, "count", "range(1, width)", "range(width)", (f"{_ORDER}test_a_count",)),
    Mutant("sage-equal-halves-go-up",
           _SAGE, "one_round", "upper > lower", "upper >= lower",
           (f"{_ORDER}test_equal_halves",)),
    Mutant("sage-moves-without-gain",
           _SAGE, "one_round", "after > before", "after >= before",
           (f"{_ORDER}test_a_round_of_the_paper",)),
    Mutant("sage-moved-vertices-come-first",
           _SAGE, "one_round", "(prefix << bits) + sector - 1", "(prefix << bits)",
           (f"{_ORDER}test_a_round_of_the_paper",)),
    Mutant("sage-all-sweeps-sample-the-same",
           _SAGE, "sampled", "sweep * SWEEP & 0xFFFF_FFFF", "0", (f"{_ORDER}test_samples",)),
    Mutant("reordering-does-not-add-up",
           "sw/runtime/reordering.py", "Reordering.round",
           'self.order[result.outputs["order"]]', 'result.outputs["order"]',
           (f"{_ROUNDS}test_rounds_are_those_of_the_ordering",)),
    Mutant("reordering-results-come-in-the-new-order",
           "sw/runtime/reordering.py", "Reordering.in_order", "words[self.ids]",
           "words[self.order]",
           (f"{_ROUNDS}test_results_come_back_in_order",)),
    Mutant("reordering-counts-are-not-cleared",
           "sw/runtime/reordering.py", "TileSampling.drive",
           'session.write("counts", np.zeros(count, np.uint32))', "pass",
           (f"{_ROUNDS}test_rounds_are_those_of_the_ordering",)),
    # Orderings of programs
    Mutant("ordering-of-a-transposed-graph-is-its-own",
           "sw/formats/image.py", "Image.build", "graph.ordered_as or graph", "graph",
           (f"{_PROGRAMS}test_orderings[gorder]",)),
    Mutant("ordering-of-a-program-s-arrays-is-the-graph-s",
           "sw/vm/rtl/run.py", "ProgramRun.fill_arrays", "task.to_device(words)", "words",
           (f"{_PROGRAMS}test_orderings[rcm]",)),
    Mutant("ordering-of-a-program-s-sets-is-the-graph-s",
           "sw/vm/rtl/algorithm.py", "ProgramAlgorithm.init_vertex_value",
           "task.to_device(members)", "members", (f"{_PROGRAMS}test_orderings[rcm]",)),
    Mutant("ordering-of-a-program-s-elements-is-the-graph-s",
           "sw/vm/rtl/machine.py", "RtlMachine._set_vertex",
           "self._device().task.vertex(vertex)", "vertex",
           (f"{_PROGRAMS}test_orderings[rcm]",)),
    Mutant("ordering-is-taken-by-a-program-that-indexes-by-words",
           "sw/vm/rtl/algorithm.py", "ProgramAlgorithm._check_order",
           "task.new_ids is None", "True", (f"{_PROGRAMS}test_orderings[sage]",)),
    # Models
    Mutant("sage-subway-does-not-wait-for-the-bus",
           "sw/reproduce/sage/beyond.py", "OutOfCore._subway",
           "max(cycles, _SLOW_LATENCY + _EDGE * arcs // _SLOW_BYTES)", "cycles",
           (f"{_FIGURES}test_out_of_core",)),
    Mutant("sage-a-device-tells-a-vertex-again",
           "sw/reproduce/sage/beyond.py", "Frontiers.measure",
           "np.minimum.at(told, ends[crossing], depths[starts[crossing]])",
           "np.maximum.at(told, ends[crossing], depths[starts[crossing]])",
           (f"{_FIGURES}test_frontiers",)),
)
