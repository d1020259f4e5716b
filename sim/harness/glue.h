// The surroundings of models in every simulator: they handle the models' output and their requests
// to stop, and convert masks from their ports. Defines functions: include it in one file of a
// simulator. Compiled with
//   COMPILED  for models of sim/compiler in place of Verilated models

#pragma once

#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "dram.h"
#if defined(COMPILED)
#include "words.h"
#else
#include "verilated.h"
#endif

/// Receiver of the models' output; null to drop the output.
inline thread_local std::string* printed = nullptr;

/// Why a simulation cannot go on.
struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
};

#if defined(COMPILED)
void failed(const char* what) { throw Stop(what); }
#else
extern "C" int graphloom_print(const char* format, ...) {
    constexpr std::size_t limit = 4000;
    char text[1024];
    std::va_list arguments;
    va_start(arguments, format);
    const int size = std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (printed && printed->size() < limit) *printed += text;
    return size;
}

void vl_finish(const char* file, int line, const char*) {
    throw Stop("$finish at " + std::string(file) + ":" + std::to_string(line));
}
void vl_stop(const char* file, int line, const char*) {
    throw Stop("stopped at " + std::string(file) + ":" + std::to_string(line));
}
void vl_fatal(const char* file, int line, const char*, const char* message) {
    throw Stop(std::string(message) + " at " + file + ":" + std::to_string(line));
}
#endif

/// The byte enables of a line from a port.
template <std::size_t BYTES>
Mask<BYTES> mask_of(std::uint64_t bits) { return {{bits}}; }
#if defined(COMPILED)
template <std::size_t BYTES, std::size_t WORDS>
Mask<BYTES> mask_of(const std::array<std::uint32_t, WORDS>& bits) {
#else
template <std::size_t BYTES, std::size_t WORDS>
Mask<BYTES> mask_of(const VlWide<WORDS>& bits) {
#endif
    Mask<BYTES> mask;
    std::memcpy(mask.bits, &bits[0], sizeof mask.bits);
    return mask;
}

#define EXPORT __attribute__((visibility("default")))
