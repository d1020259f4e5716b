// What the live page shows of a running GPU, in place of the buffers of trace.h. Compiled with the
// definitions of trace.h and
//   GPU_TRACE_DELAY  cycles from a cycle to its record at the trace port
//
// A counted cycle is one of a launch or of an operation of the SCU, as for the result of a run. It
// goes into a ring of the last cycles, as its record at the trace port. It is added to the overview
// of the whole run. The overview has a fixed number of buckets. When they are
// full, each two become one, and a bucket from then on stands for twice as many cycles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Addresses and numbers of what is shown. sw/show/live/page/machine.js reads the same words.
struct View {
    std::uint32_t ring;            ///< address of the ring: RING rows of `row` words
    std::uint32_t rows, row;
    std::uint32_t buckets;         ///< address of the overview
    std::uint32_t bucket_count, bucket_words;
    std::uint32_t shift;           ///< a bucket has 2 ** shift cycles
    std::uint32_t launches;        ///< launches that have ended
    std::uint64_t cycles;          ///< counted cycles so far: the next one's number
};

template <std::size_t CORES, std::size_t LANES, std::size_t WARPS>
class Trace {
    static_assert(CORES == 1, "the page shows one core");

public:
    void power_on() {
        m_cycle = 0;
        m_shift = m_launches = 0;
        m_was_running = false;
        m_watched.fill(nullptr);
        m_counted = WATCHED;
        m_bytes.fill(0);
        std::memset(&m_buckets, 0, sizeof m_buckets);
    }

    bool full() const { return false; }

    /// Keeps a byte of the model in each row of the ring, behind the record.
    void watch(std::size_t place, const std::uint8_t* byte) {
        if (place < WATCHED) m_watched[place] = byte;
    }

    /// The watched byte at a place is the state of the SCU, which is 0 while the SCU rests.
    void count(std::size_t place) { m_counted = place; }

    void sample(const std::array<const std::uint32_t*, CORES>& words) {
        const std::uint32_t* record = words[0];
        const bool running = record[0] & RUNNING;
        m_launches += m_was_running && !running;
        m_was_running = running;
        look();
        const bool scu = m_counted < WATCHED && m_bytes[DELAY] >> 8 * m_counted & 0xFF;
        if (!running && !scu) return;
        keep(record);
        summarize(record, running);
        ++m_cycle;
    }

    View view() const {
        return {address(m_ring.data()), RING, ROW, address(m_buckets.data()), BUCKETS,
                sizeof(Bucket) / 4, m_shift, m_launches, m_cycle};
    }

private:
    static constexpr std::uint32_t RUNNING = 1, ISSUED = 2;
    static constexpr unsigned STALL_AT = 8;
    static constexpr std::size_t STATES = 8;
    static constexpr std::size_t STATE_WORDS = (WARPS + 3) / 4, MASK_AT = 3 + STATE_WORDS;
    static constexpr std::size_t WORDS = 1 + STATE_WORDS + 3 + 2 * LANES + 2 + LANES;
    static constexpr std::size_t ROW = WORDS + 2;      // the launch and the watched bytes behind it
    static constexpr std::size_t DELAY = GPU_TRACE_DELAY;
    static constexpr std::size_t RING = 4096, BUCKETS = 512, WATCHED = 4;

    struct Bucket {
        std::uint32_t issued, lanes, launch;
        std::uint32_t stalls[STATES];
        std::uint32_t states[WARPS][STATES];
    };

    static std::uint32_t address(const void* pointer) {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer));
    }

    /// Keeps the watched bytes until the record of this cycle comes.
    void look() {
        for (std::size_t place = DELAY; place > 0; --place) m_bytes[place] = m_bytes[place - 1];
        m_bytes[0] = 0;
        for (std::size_t place = 0; place < WATCHED; ++place)
            if (m_watched[place]) m_bytes[0] |= std::uint32_t{*m_watched[place]} << 8 * place;
    }

    void keep(const std::uint32_t* record) {
        std::uint32_t* row = &m_ring[m_cycle % RING * ROW];
        std::memcpy(row, record, 4 * WORDS);
        row[WORDS] = m_launches;
        row[WORDS + 1] = m_bytes[DELAY];
    }

    void summarize(const std::uint32_t* record, bool running) {
        if (m_cycle >> m_shift == BUCKETS) halve();
        Bucket& bucket = m_buckets[m_cycle >> m_shift];
        bucket.launch = m_launches;
        if (!running) return;
        if (record[0] & ISSUED) {
            ++bucket.issued;
            bucket.lanes += __builtin_popcount(record[MASK_AT]);
        }
        ++bucket.stalls[record[0] >> STALL_AT & STATES - 1];
        const auto* states = reinterpret_cast<const std::uint8_t*>(record + 1);
        for (std::size_t warp = 0; warp < WARPS; ++warp)
            ++bucket.states[warp][states[warp] & STATES - 1];
    }

    /// Joins each two buckets, and clears the second half.
    void halve() {
        constexpr std::size_t words = sizeof(Bucket) / 4;
        auto* all = reinterpret_cast<std::uint32_t*>(m_buckets.data());
        for (std::size_t bucket = 0; bucket < BUCKETS / 2; ++bucket) {
            for (std::size_t word = 0; word < words; ++word) {
                const std::uint32_t *first = all + 2 * bucket * words + word,
                                    *second = first + words;
                const bool is_launch = word == offsetof(Bucket, launch) / 4;
                all[bucket * words + word] = is_launch ? *second : *first + *second;
            }
        }
        std::memset(all + BUCKETS / 2 * words, 0, BUCKETS / 2 * sizeof(Bucket));
        ++m_shift;
    }

    std::uint64_t m_cycle = 0;
    std::uint32_t m_shift = 0, m_launches = 0;
    bool m_was_running = false;
    std::array<const std::uint8_t*, WATCHED> m_watched{};
    std::size_t m_counted = WATCHED;                   // a place, or none
    std::array<std::uint32_t, DELAY + 1> m_bytes{};    // of this cycle, and of those before
    std::array<std::uint32_t, RING * ROW> m_ring{};
    std::array<Bucket, BUCKETS> m_buckets{};
};
