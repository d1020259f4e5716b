// The memory behind a port: its contents, and one of two models of the time. The simple one is a bus
// with a latency and a queue in front, and a second one for the slow region; sim/dram.py has the
// rules. The other one is a device (dram_device.h). Times are core cycles. Nothing is allocated after
// construction.

#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "dram_device.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "lines are copied as they are");

/// Byte enables of a line, one bit per byte.
template <std::size_t BYTES>
struct Mask {
    static constexpr std::size_t WORDS = (BYTES + 63) / 64;
    std::uint64_t bits[WORDS];

    unsigned nibble(std::size_t word) const { return bits[word / 16] >> (word % 16 * 4) & 15; }

    /// A bit for each `SIZE` bytes, a power of two from 4 on, that have a byte of the mask.
    template <std::size_t SIZE>
    std::uint32_t parts() const {
        if (SIZE == BYTES) return 1;
        std::uint32_t result = 0;
        for (std::size_t word = 0; word < BYTES / 4; ++word)
            result |= std::uint32_t{nibble(word) != 0} << (4 * word / SIZE);
        return result;
    }
};

/// A ring buffer of fixed capacity. Pushing to a full buffer is an error of the caller.
template <typename T>
class Ring {
public:
    explicit Ring(std::size_t capacity) {
        std::size_t size = 1;
        while (size < capacity) size *= 2;
        m_items = std::make_unique<T[]>(size);
        m_mask = size - 1;
    }
    bool empty() const { return m_head == m_tail; }
    T& front() { return m_items[m_head & m_mask]; }
    T& push() { return m_items[m_tail++ & m_mask]; }
    void pop() { ++m_head; }
    void clear() { m_head = m_tail = 0; }

private:
    std::unique_ptr<T[]> m_items;
    std::size_t m_mask = 0;
    std::size_t m_head = 0;
    std::size_t m_tail = 0;
};

/// Largest number of tags at the memory port: 512 MSHRs in each of 16 banks, and a bit on a board.
constexpr std::size_t TAGS = 16384;

/// How fast a region is. sim/interface.py has the same structure.
struct DramTiming {
    std::uint32_t bytes_per_cycle;  ///< bytes that the bus carries in a memory cycle
    std::uint32_t ratio;            ///< core cycles in a memory cycle
    std::uint32_t latency;          ///< core cycles from the start of a read to its data
    std::uint32_t queue;            ///< requests that the region holds
};

/// A region without a line, whose queue is never full.
constexpr DramTiming NO_REGION{1, 1, 1, 1};

/// What a region has moved.
struct DramCounts {
    std::uint64_t lines_read, lines_written;  ///< requests
    std::uint64_t bytes_read, bytes_written;  ///< of their sectors
    std::uint64_t busy;                       ///< cycles that the transfers take on the bus
};

template <std::size_t LINE_BYTES>
struct DramRead {
    std::uint64_t time;  ///< first cycle in which the response is ready
    std::uint32_t tag;
    alignas(16) std::uint8_t data[LINE_BYTES];
};

/// The requests of a region.
template <std::size_t LINE_BYTES>
class DramRegion {
public:
    explicit DramRegion(const DramTiming& timing)
        : m_bytes_per_cycle{timing.bytes_per_cycle}
        , m_ratio{timing.ratio}
        , m_latency{timing.latency}
        , m_queue{timing.queue}
        , m_reads{timing.queue}
        , m_writes{timing.queue} {}

    void clear() {
        counts = {};
        m_reads.clear();
        m_writes.clear();
        m_held = 0;
        m_bus_free = 0;
    }

    /// Whether the queue has room in this cycle. Call with rising times.
    bool ready(std::uint64_t now) {
        while (!m_writes.empty() && m_writes.front() <= now) {
            m_writes.pop();
            --m_held;
        }
        return m_held < m_queue;
    }

    /// A new read of some bytes of a line, whose data the caller fills in.
    DramRead<LINE_BYTES>& read(std::uint64_t now, std::uint32_t bytes) {
        DramRead<LINE_BYTES>& entry = m_reads.push();
        const std::uint32_t occupancy = occupied(bytes);
        entry.time = start(now, occupancy) + std::max(m_latency, occupancy);
        return entry;
    }
    void write(std::uint64_t now, std::uint32_t bytes) {
        const std::uint32_t occupancy = occupied(bytes);
        m_writes.push() = start(now, occupancy) + occupancy;
    }

    /// The response that is ready in this cycle, or null.
    const DramRead<LINE_BYTES>* response(std::uint64_t now) {
        if (m_reads.empty() || m_reads.front().time > now) return nullptr;
        return &m_reads.front();
    }
    /// The response was taken.
    void taken() {
        m_reads.pop();
        --m_held;
    }

    DramCounts counts{};

private:
    /// Cycles that some bytes take on the bus.
    std::uint32_t occupied(std::uint32_t bytes) const {
        return (bytes * m_ratio + m_bytes_per_cycle - 1) / m_bytes_per_cycle;
    }
    std::uint64_t start(std::uint64_t now, std::uint32_t occupancy) {
        const std::uint64_t time = std::max(now + 1, m_bus_free);
        m_bus_free = time + occupancy;
        counts.busy += occupancy;
        ++m_held;
        return time;
    }

    const std::uint32_t m_bytes_per_cycle;
    const std::uint32_t m_ratio;
    const std::uint32_t m_latency;
    const std::uint32_t m_queue;
    Ring<DramRead<LINE_BYTES>> m_reads;
    Ring<std::uint64_t> m_writes;  // when each transfer is over
    std::uint32_t m_held = 0;
    std::uint64_t m_bus_free = 0;
};

/// Of a request, the sectors move that have a byte of its mask.
template <std::size_t LINE_BYTES, std::size_t SECTOR_BYTES>
class Dram {
public:
    using Region = DramRegion<LINE_BYTES>;
    using Read = DramRead<LINE_BYTES>;

    /// With a device there is no slow region, and `timing` is not used.
    Dram(std::uint8_t* memory, std::uint64_t bytes, std::uint32_t first_line,
         const DramTiming& timing, const DramTiming& slow, const DeviceParameters* device)
        : m_memory{memory}
        , m_lines{bytes / LINE_BYTES}
        , m_first_line{first_line}
        , m_slow_place{m_lines}
        , m_fast{timing}
        , m_slow{slow} {
        if (!device) return;
        m_device = std::make_unique<DramDevice>(*device, LINE_BYTES, SECTOR_BYTES, TAGS);
        m_held = std::make_unique<Read[]>(TAGS);
    }

    /// The first slow line, if it is inside; else no line is slow.
    void place_slow(std::uint64_t line) {
        m_slow_place = line < m_first_line ? m_lines : line - m_first_line;
    }

    /// Forgets every request and the counts. Memory and the place of the slow region stay.
    void clear() {
        m_fast.clear();
        m_slow.clear();
        m_tags.reset();
        if (m_device) m_device->clear();
    }
    void clear_lines() {
        for (Region* region : {&m_fast, &m_slow}) region->counts = {};
        if (m_device) m_device->restart();
    }

    /// Whether a request offered in this cycle is accepted. Call once a cycle, with rising times.
    bool ready(std::uint64_t now) {
        if (m_device) return m_device->ready(now);
        const bool fast = m_fast.ready(now);
        const bool slow = m_slow.ready(now);
        return fast && slow;
    }

    bool inside(std::uint32_t line) const {
        return static_cast<std::uint32_t>(line - m_first_line) < m_lines;
    }
    /// Whether a read of this tag has not been answered.
    bool waiting(std::uint32_t tag) const { return m_tags[tag]; }

    void read(std::uint64_t now, std::uint32_t line, std::uint32_t tag,
              const Mask<LINE_BYTES>& mask) {
        const std::uint32_t sectors = mask.template parts<SECTOR_BYTES>();
        const std::uint32_t bytes = __builtin_popcount(sectors) * SECTOR_BYTES;
        Read* entry;
        if (m_device) {
            m_device->accept(line - m_first_line, false, tag, sectors);
            entry = &m_held[tag];
        } else {
            entry = &of(line).read(now, bytes);
        }
        ++of(line).counts.lines_read;
        of(line).counts.bytes_read += bytes;
        entry->tag = tag;
        std::memcpy(entry->data, at(line), LINE_BYTES);
        m_tags[tag] = true;
    }

    void write(std::uint64_t now, std::uint32_t line, const void* data,
               const Mask<LINE_BYTES>& mask) {
        const std::uint32_t sectors = mask.template parts<SECTOR_BYTES>();
        const std::uint32_t bytes = __builtin_popcount(sectors) * SECTOR_BYTES;
        if (m_device)
            m_device->accept(line - m_first_line, true, 0, sectors);
        else
            of(line).write(now, bytes);
        ++of(line).counts.lines_written;
        of(line).counts.bytes_written += bytes;
        std::uint8_t* to = at(line);
        const auto* from = static_cast<const std::uint8_t*>(data);
        for (std::size_t word = 0; word < LINE_BYTES / 4; ++word) {
            const unsigned enables = mask.nibble(word);
            if (enables == 15) {
                std::memcpy(to + 4 * word, from + 4 * word, 4);
            } else if (enables) {
                for (std::size_t byte = 0; byte < 4; ++byte)
                    if (enables >> byte & 1) to[4 * word + byte] = from[4 * word + byte];
            }
        }
    }

    /// The response to be offered from this cycle on, or null. Call only while none is on offer.
    const Read* response(std::uint64_t now) {
        if (m_device) {
            const std::uint32_t tag = m_device->answer();
            return m_offered = tag == DramDevice::NONE ? nullptr : &m_held[tag];
        }
        const Read* fast = m_fast.response(now);
        const Read* slow = m_slow.response(now);
        const bool first = slow && (!fast || slow->time < fast->time);
        m_offering = first ? &m_slow : &m_fast;
        m_offered = first ? slow : fast;
        return m_offered;
    }
    /// The response on offer was taken.
    void taken() {
        m_tags[m_offered->tag] = false;
        if (!m_device) m_offering->taken();
    }

    const DramCounts& fast() const { return m_fast.counts; }
    const DramCounts& slow() const { return m_slow.counts; }
    /// Cycles that the transfers take on the buses.
    std::uint64_t busy() const {
        return m_device ? m_device->busy() : m_fast.counts.busy + m_slow.counts.busy;
    }
    /// The device, or null.
    const DramDevice* device() const { return m_device.get(); }

private:
    Region& of(std::uint32_t line) {
        return std::uint64_t{line - m_first_line} < m_slow_place ? m_fast : m_slow;
    }
    std::uint8_t* at(std::uint32_t line) {
        return m_memory + std::uint64_t{line - m_first_line} * LINE_BYTES;
    }

    std::uint8_t* const m_memory;
    const std::uint64_t m_lines;
    const std::uint32_t m_first_line;
    std::uint64_t m_slow_place;  // of the first slow line, counted from the first line
    Region m_fast;
    Region m_slow;
    std::unique_ptr<DramDevice> m_device;  // null for the simple model
    std::unique_ptr<Read[]> m_held;        // the reads of the device, by tag
    Region* m_offering = nullptr;  // region of the response on offer
    const Read* m_offered = nullptr;
    std::bitset<TAGS> m_tags;  // tags of unanswered reads
};
