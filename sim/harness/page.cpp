// The machine for WebAssembly, behind sw/show/live/page/machine.js: the functions of harness.cpp, and
// those that show a running GPU. Compiled with GPU_PAGE and the definitions of harness.cpp.

#include "harness.cpp"
#include "heap.h"
#include "inside.h"

extern "C" {

EXPORT void pg_view(Machine* machine, View* view) { *view = machine->trace.view(); }

/// The address of a signal in the table of sim/inside.py, until the next power on.
EXPORT const void* pg_inside(Machine* machine, std::uint32_t number) {
    return inside(machine->models.gpu(), number);
}

/// Keeps the first byte of a signal in each row of the ring, until the next power on.
EXPORT void pg_watch(Machine* machine, std::uint32_t place, std::uint32_t number) {
    machine->trace.watch(
        place, static_cast<const std::uint8_t*>(inside(machine->models.gpu(), number)));
}

/// Counts the cycles in which the byte at a place of pg_watch is not 0, too.
EXPORT void pg_count(Machine* machine, std::uint32_t place) { machine->trace.count(place); }

}  // extern "C"
