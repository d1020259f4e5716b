// Collects the records of the cores' trace ports (hw/core/trace.py) into four buffers, which
// sim/trace.py reads as numpy arrays. Compiled with
//   GPU_TRACE_CORES  cores; without it there is no trace port, and nothing here is used
//   GPU_TRACE_LANES, GPU_TRACE_WARPS  lanes of a warp, and warps of a core
//
// The port shows a cycle's record in the following cycle. Cycles are those that the GPU counts: the
// launches since power on, one after another, without the time between them. A state record is kept
// only if it differs from the last. A launch ends with a state record whose stall is END.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

/// The kinds of record, in the order of sim/trace.py.
enum Stream : unsigned { ISSUE, ACCESS, WRITE, STATE, STREAMS };

/// Words that grow in number.
class TraceBuffer {
public:
    TraceBuffer() = default;
    TraceBuffer(const TraceBuffer&) = delete;
    ~TraceBuffer() { std::free(m_words); }

    const std::uint32_t* data() const { return m_words; }
    std::size_t size() const { return m_size; }
    void clear() { m_size = 0; }
    void add(const std::uint32_t* words, std::size_t count) {
        if (m_size + count > m_room) {
            m_room = 2 * (m_size + count);
            m_words = static_cast<std::uint32_t*>(std::realloc(m_words, 4 * m_room));
            if (!m_words) std::abort();
        }
        std::memcpy(m_words + m_size, words, 4 * count);
        m_size += count;
    }

private:
    std::uint32_t* m_words = nullptr;
    std::size_t m_size = 0, m_room = 0;
};

template <std::size_t CORES, std::size_t LANES, std::size_t WARPS>
class Trace {
public:
    /// Records the kinds in a mask, in cycles first <= n < last, until a buffer holds a number of
    /// bytes.
    void start(std::uint32_t streams, std::uint64_t first, std::uint64_t last,
               std::uint64_t bytes) {
        m_streams = streams;
        m_first = first;
        m_last = last;
        m_room = bytes;
        m_fresh = true;
    }

    void power_on() {
        m_cycle = 0;
        m_launch = 0;
        m_was_running = m_recorded = false;
        m_fresh = true;
        clear();
    }

    void clear() {
        for (auto& buffer : m_buffers) buffer.clear();
    }

    /// Whether there may be no room for another cycle.
    bool full() const {
        for (const auto& buffer : m_buffers)
            if (m_streams && buffer.size() * 4 + 4 * CORES * (HEADER + LARGEST) > m_room)
                return true;
        return false;
    }

    const TraceBuffer& buffer(unsigned stream) const { return m_buffers[stream]; }

    /// The words of each core's port in a cycle.
    void sample(const std::array<const std::uint32_t*, CORES>& words) {
        const bool running = words[0][0] & RUNNING;
        if (running && !m_was_running) m_fresh = true;
        if (!running && m_was_running) {
            if (m_recorded) {
                for (std::size_t core = 0; core < CORES; ++core) {
                    std::array<std::uint32_t, 1 + STATE_WORDS> state{END << STALL_AT};
                    put(STATE, core, state.data(), state.size());
                }
            }
            m_recorded = false;
            ++m_launch;
        }
        m_was_running = running;
        if (!running) return;
        if (m_cycle >= m_first && m_cycle < m_last) {
            for (std::size_t core = 0; core < CORES; ++core) record(core, words[core]);
            m_recorded = m_streams;
            m_fresh = false;
        }
        ++m_cycle;
    }

private:
    static constexpr std::uint32_t RUNNING = 1, ISSUED = 2, ACCESSED = 4, WRITTEN = 8;
    static constexpr unsigned STALL_AT = 8;
    static constexpr std::uint32_t END = 0xFF;
    static constexpr std::size_t HEADER = 4;
    static constexpr std::size_t STATE_WORDS = (WARPS + 3) / 4;
    static constexpr std::size_t ISSUE_AT = 1 + STATE_WORDS, ISSUE_WORDS = 3;
    static constexpr std::size_t ACCESS_AT = ISSUE_AT + ISSUE_WORDS, ACCESS_WORDS = 2 * LANES;
    static constexpr std::size_t WRITE_AT = ACCESS_AT + ACCESS_WORDS, WRITE_WORDS = 2 + LANES;
    static constexpr std::size_t WORDS = WRITE_AT + WRITE_WORDS;
    static constexpr std::size_t LARGEST = WORDS;

    void record(std::size_t core, const std::uint32_t* words) {
        const std::uint32_t status = words[0];
        if (status & ISSUED) put(ISSUE, core, words + ISSUE_AT, ISSUE_WORDS);
        if (status & ACCESSED) put(ACCESS, core, words + ACCESS_AT, ACCESS_WORDS);
        if (status & WRITTEN) put(WRITE, core, words + WRITE_AT, WRITE_WORDS);
        if (!(m_streams & 1u << STATE)) return;
        std::array<std::uint32_t, 1 + STATE_WORDS> state;
        state[0] = status & 0xFFu << STALL_AT;
        std::memcpy(&state[1], words + 1, 4 * STATE_WORDS);
        if (m_fresh || state != m_states[core]) {
            put(STATE, core, state.data(), state.size());
            m_states[core] = state;
        }
    }

    void put(unsigned stream, std::size_t core, const std::uint32_t* words, std::size_t count) {
        if (!(m_streams & 1u << stream)) return;
        auto& buffer = m_buffers[stream];
        const std::uint32_t header[HEADER] = {static_cast<std::uint32_t>(m_cycle),
                                              static_cast<std::uint32_t>(m_cycle >> 32), m_launch,
                                              static_cast<std::uint32_t>(core)};
        buffer.add(header, HEADER);
        buffer.add(words, count);
    }

    std::uint32_t m_streams = 0;
    std::uint64_t m_first = 0, m_last = 0, m_room = 0, m_cycle = 0;
    std::uint32_t m_launch = 0;
    bool m_was_running = false, m_fresh = true, m_recorded = false;
    std::array<std::array<std::uint32_t, 1 + STATE_WORDS>, CORES> m_states{};
    std::array<TraceBuffer, STREAMS> m_buffers;
};
