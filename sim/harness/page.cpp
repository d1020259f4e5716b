// The machine for WebAssembly, behind sw/live/page/machine.js: the functions of harness.cpp, and
// those that show a running GPU. Compiled with GPU_PAGE and the definitions of harness.cpp.
//
// WebAssembly of this compiler has no exceptions. What would throw one keeps its message and ends
// the instance with a trap. JavaScript then asks for the message.

#include <cstdlib>
#include <typeinfo>

#include "harness.cpp"
#include "inside.h"

namespace {

std::string last_words;

}  // namespace

extern "C" {

void* __cxa_allocate_exception(std::size_t bytes) noexcept { return std::malloc(bytes); }
void __cxa_free_exception(void* exception) noexcept { std::free(exception); }

[[noreturn]] void __cxa_throw(void* exception, std::type_info* type, void (*)(void*)) {
    if (printed) last_words = *printed;
    if (*type == typeid(Stop)) last_words += static_cast<const Stop*>(exception)->what();
    else if (*type == typeid(Machine::Outside)) last_words += "a request outside the memory";
    else last_words += "an exception";
    __builtin_trap();
}

/// Why the instance ended with a trap.
EXPORT const char* pg_last_words() { return last_words.c_str(); }

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

}  // extern "C"
