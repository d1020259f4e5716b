// Operators new and delete on the C library alone. With them a simulator is linked without a C++
// library, which `zig c++` would compile first, for most of a minute. Defines functions: include it
// in one file of a simulator.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

void* operator new(std::size_t bytes) {
    void* memory = std::malloc(bytes);
    if (!memory) std::abort();
    return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    const auto unit = static_cast<std::size_t>(alignment);
    void* memory = ::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
    if (!memory) std::abort();
    return memory;
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return operator new(bytes, alignment);
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
