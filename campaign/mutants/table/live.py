"""Planted faults in recordings, in the server of the live page and in its export."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_RECORDING = "tb/sw/live/test_recording.py::"
_SERVER = "tb/sw/live/test_server.py::"
_EXPORT = "tb/sw/live/test_export.py::"
_HEAP = "tb/sim/test_heap.py::"
_INSIDE = "tb/sim/test_inside.py::"


MUTANTS = (
    Mutant("launches-are-not-recorded",
           "sw/live/recording.py", "RecordingMachine.launched",
           'self.steps.append(["launch", kernel])', "pass", (f"{_RECORDING}test_steps",)),
    Mutant("a-wait-is-recorded-with-all-cycles-since-power-on",
           "sw/live/recording.py", "RecordingMachine._run",
           "self._report().cycles - first", "self._report().cycles",
           (f"{_RECORDING}test_steps",)),
    Mutant("edges-of-reordered-graphs-are-lit",
           "sw/live/recording.py", "_shown",
           "side.new_ids is not None", "False", (f"{_RECORDING}test_not_drawn",)),
    Mutant("a-graph-of-any-size-is-recorded",
           "sw/live/recording.py", "check_graph",
           "graph.num_edges > MOST_EDGES", "False", (f"{_RECORDING}test_too_many_edges",)),
    Mutant("the-server-answers-every-site",
           "sw/live/server.py", "_Handler._own",
           "origin is not None", "False", (f"{_SERVER}test_other_origin",)),
    Mutant("the-page-names-files-of-the-server",
           "sw/live/server.py", "_Handler._request",
           "os.path.exists(request.graph)", "False",
           (f"{_SERVER}test_no_file_of_the_server",)),
    Mutant("files-outside-the-page-are-served",
           "sw/live/server.py", "_file",
           "path.is_relative_to(PAGE.resolve())", "True", (f"{_SERVER}test_no_other_file",)),
    Mutant("an-export-replaces-a-folder-of-the-users",
           "sw/live/export.py", "check_folder",
           "any(target.iterdir())", "False", (f"{_EXPORT}test_a_folder_of_others",)),
    Mutant("rows-of-65-bits-are-thought-to-lie-12-bytes-apart",
           "sim/inside.py", "ShownSignal.to_json", "64 if self.depth else 32", "32",
           (f"{_INSIDE}test_words",)),
    Mutant("operations-of-the-scu-do-not-count-on-the-page",
           "sim/harness/page.h", "", "if (!running && !scu) return;", "if (!running) return;",
           ("tb/sw/live/test_page.py::test_scu",)),
    Mutant("what-a-module-frees-is-lost",
           "sim/harness/heap.h", "", "heap_free = block;", "heap_free = nullptr;",
           (f"{_HEAP}test_same_again",)),
    Mutant("a-block-that-is-free-again-is-too-short",
           "sim/harness/heap.h", "", "block->bytes < bytes", "block->bytes + 1 < bytes",
           (f"{_HEAP}test_random",)),
    Mutant("blocks-that-are-free-again-lie-anywhere",
           "sim/harness/heap.h", "", "reinterpret_cast<std::uintptr_t>(block + 1) % alignment",
           "false", (f"{_HEAP}test_random",)),
    Mutant("memory-of-calloc-is-as-it-was",
           "sim/harness/heap.h", "", "std::memset(memory, 0, bytes)", "memory",
           (f"{_HEAP}test_zeros",)),
    Mutant("a-block-ends-where-no-address-is",
           "sim/harness/heap.h", "", "if (pages >= PAGE) return nullptr;", ";",
           (f"{_HEAP}test_end_of_the_addresses",)),
)
