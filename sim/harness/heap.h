// The start of a module of WebAssembly, and what it needs of a C library: malloc, calloc,
// aligned_alloc, free and abort. So no C library is linked, which zig would compile first, for half
// a minute. The free blocks are a list, because a simulator allocates little, and the same again at
// each power on. Defines functions: include it in one file.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {

extern unsigned char __heap_base;    // of the linker
void __wasm_call_ctors();            // of the linker: the constructors of global objects

/// Before a block, in as many bytes as the least alignment.
struct alignas(16) HeapBlock {
    std::size_t bytes;
    HeapBlock* next;
};

static HeapBlock* heap_free;
static std::uintptr_t heap_end = reinterpret_cast<std::uintptr_t>(&__heap_base);

void _initialize() { __wasm_call_ctors(); }

void abort() { __builtin_trap(); }

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    constexpr std::size_t PAGE = 1 << 16;
    if (alignment < sizeof(HeapBlock)) alignment = sizeof(HeapBlock);
    for (HeapBlock** at = &heap_free; *at; at = &(*at)->next) {
        HeapBlock* block = *at;
        if (block->bytes < bytes || block->bytes / 2 > bytes) continue;
        if (reinterpret_cast<std::uintptr_t>(block + 1) % alignment) continue;
        *at = block->next;
        return block + 1;
    }
    // 64 bits, so that no sum overflows.
    const std::uint64_t start = (std::uint64_t{heap_end} + sizeof(HeapBlock) + alignment - 1)
        / alignment * alignment;
    const std::uint64_t pages = (start + bytes + PAGE - 1) / PAGE;
    const std::size_t present = __builtin_wasm_memory_size(0);
    if (pages >= PAGE) return nullptr;    // the end would not be an address
    if (pages > present && __builtin_wasm_memory_grow(0, pages - present) == SIZE_MAX) {
        return nullptr;
    }
    heap_end = static_cast<std::uintptr_t>(start + bytes);
    auto* block = reinterpret_cast<HeapBlock*>(start) - 1;
    block->bytes = bytes;
    return block + 1;
}

void* malloc(std::size_t bytes) { return aligned_alloc(1, bytes); }

void* calloc(std::size_t count, std::size_t bytes) {
    void* memory = __builtin_mul_overflow(count, bytes, &bytes) ? nullptr : malloc(bytes);
    return memory ? std::memset(memory, 0, bytes) : nullptr;
}

void free(void* memory) {
    if (!memory) return;
    auto* block = static_cast<HeapBlock*>(memory) - 1;
    block->next = heap_free;
    heap_free = block;
}

}  // extern "C"
