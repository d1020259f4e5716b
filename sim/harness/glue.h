// The surroundings of models in every simulator: they handle the models' output and their requests
// to stop, and convert masks from their ports. Defines functions: include it in one file of a
// simulator. Compiled with
//   COMPILED  for models of sim/compiler in place of Verilated models

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dram.h"
#if defined(COMPILED)
#include "words.h"
#else
#include <cstdarg>
#include <cstdio>

#include "verilated.h"
#endif

/// What models print, and behind it why a simulation cannot go on. What has no room is dropped.
class Log {
public:
    void clear() {
        m_size = 0;
        m_stopped = false;
    }
    bool stopped() const { return m_stopped; }
    const char* text() const { return m_text; }

    template <typename... Parts>
    void add(Parts... parts) {
        if (!m_stopped) (put(parts), ...);
        m_text[m_size] = 0;
    }

    /// The models are not evaluated again. Only the first reason counts.
    template <typename... Parts>
    void stop(Parts... parts) {
        add(parts...);
        m_stopped = true;
    }

private:
    void put(const char* text) {
        for (; *text && m_size < sizeof m_text - 1; ++text) m_text[m_size++] = *text;
    }
    void put(std::size_t number) {
        char digits[21];
        char* first = &digits[20];
        *first = 0;
        do *--first = '0' + number % 10; while (number /= 10);
        put(first);
    }

    char m_text[5000] = "";
    std::size_t m_size = 0;
    bool m_stopped = false;
};

/// The log of what this thread evaluates.
inline thread_local Log* current_log = nullptr;

template <typename... Parts>
[[gnu::cold, gnu::noinline]] void stop(Parts... parts) {
    if (current_log) current_log->stop(parts...);
}

#if defined(COMPILED)
void failed(const char* what) { stop(what); }

template <typename Model>
void evaluate(Model& model) { model.eval(); }
#else
/// Thrown out of a Verilated model that stops. It would otherwise search for ever for values of
/// signals that depend on themselves.
struct Leave {};

template <typename Model>
void evaluate(Model& model) {
    try {
        model.eval();
    } catch (const Leave&) {
    }
}

extern "C" int graphloom_print(const char* format, ...) {
    char text[1024];
    std::va_list arguments;
    va_start(arguments, format);
    const int size = std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (current_log) current_log->add(text);
    return size;
}

void vl_finish(const char* file, int line, const char*) {
    stop("$finish at ", file, ":", std::size_t(line));
    throw Leave{};
}
void vl_stop(const char* file, int line, const char*) {
    stop("stopped at ", file, ":", std::size_t(line));
    throw Leave{};
}
void vl_fatal(const char* file, int line, const char*, const char* message) {
    stop(message, " at ", file, ":", std::size_t(line));
    throw Leave{};
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
