// A memory port of the GPU, with the DRAM behind it. The GPU's signals of the port are in Pins.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dram.h"
#include "glue.h"

/// The signals of a memory port at a model, in the current cycle.
template <typename Tag, typename Data, typename Enables>
struct Pins {
    std::uint8_t *request_valid, *request_ready, *request_write;
    std::uint32_t* line;
    Data* written;
    Enables* mask;
    Tag* tag;
    std::uint8_t *response_valid, *response_ready;
    Tag* answered;
    Data* read;
};

/// The pins of the port with these names at `gpu`.
#define PINS(name) \
    Pins<std::remove_reference_t<decltype(gpu.name##_req_tag)>, \
         std::remove_reference_t<decltype(gpu.name##_req_data)>, \
         std::remove_reference_t<decltype(gpu.name##_req_mask)>>{ \
        &gpu.name##_req_valid, &gpu.name##_req_ready, &gpu.name##_req_write, \
        &gpu.name##_req_line, &gpu.name##_req_data, &gpu.name##_req_mask, &gpu.name##_req_tag, \
        &gpu.name##_rsp_valid, &gpu.name##_rsp_ready, &gpu.name##_rsp_tag, &gpu.name##_rsp_data}

/// Counts of a port. sim/interface.py has the same structure.
struct PortReport {
    std::uint64_t lines_read;     ///< requests, for whole lines or some of their sectors
    std::uint64_t lines_written;
    std::uint64_t busy;   ///< cycles that the transfers of the requests take on the buses
    std::uint64_t waits;  ///< cycles in which a request was on offer and was refused
};

/// The memory's answer in a cycle depends on earlier cycles only. So after a cycle the signals of
/// the whole next cycle are known.
template <std::size_t LINE_BYTES, std::size_t SECTOR_BYTES>
class MemoryPort {
public:
    /// What a cycle came to.
    enum class Outcome { OK, BROKEN, OUTSIDE };

    template <typename... Arguments>
    explicit MemoryPort(Arguments... arguments) : dram{arguments...} {}

    /// Forgets every request and the counts.
    void power_on() {
        dram.clear();
        m_ready = m_shown = m_offered = false;
        m_waits = 0;
    }

    /// Takes what the GPU shows in the cycle `now`. OUTSIDE is a request outside the memory.
    template <typename Pins>
    Outcome take(const Pins& pins, std::uint64_t now) {
        if (m_shown && *pins.response_ready) {
            dram.taken();
            m_shown = false;
        }
        if (*pins.request_valid) return request(pins, now);
        if (m_offered) return broken("a memory request was withdrawn before it was accepted");
        return Outcome::OK;
    }

    /// Sets the GPU's inputs of the cycle `now`. Not `open`, the port accepts no request.
    template <typename Pins>
    void show(const Pins& pins, std::uint64_t now, bool open) {
        m_ready = open && dram.ready(now);
        *pins.request_ready = m_ready;
        if (m_shown) return;
        const auto* response = dram.response(now);
        if (response) {
            *pins.answered = response->tag;
            std::memcpy(&(*pins.read)[0], response->data, LINE_BYTES);
        }
        *pins.response_valid = m_shown = response;
    }

    PortReport report() const {
        const auto &fast = dram.fast(), &slow = dram.slow();
        return {fast.lines_read + slow.lines_read, fast.lines_written + slow.lines_written,
                dram.busy(), m_waits};
    }
    void clear_report() {
        dram.clear_lines();
        m_waits = 0;
    }

    Dram<LINE_BYTES, SECTOR_BYTES> dram;

private:
    static Outcome broken(const char* why) {
        stop(why);
        return Outcome::BROKEN;
    }

    template <typename Pins>
    Outcome request(const Pins& pins, std::uint64_t now) {
        const std::uint32_t line = *pins.line;
        if (m_offered && line != m_offered_line)
            return broken("a memory request changed before it was accepted");
        m_offered = !m_ready;
        m_offered_line = line;
        m_waits += m_offered;
        if (!m_ready) return Outcome::OK;
        if (!dram.inside(line)) return Outcome::OUTSIDE;
        const Mask<LINE_BYTES> mask = mask_of<LINE_BYTES>(*pins.mask);
        if (*pins.request_write) {
            dram.write(now, line, &(*pins.written)[0], mask);
        } else {
            if (dram.waiting(*pins.tag))
                return broken("a memory read has the tag of one that was not answered yet");
            dram.read(now, line, *pins.tag, mask);
        }
        return Outcome::OK;
    }

    // At the GPU in the current cycle:
    bool m_ready = false;    // the request is accepted
    bool m_shown = false;    // an answer is on offer
    // From the last cycle:
    bool m_offered = false;  // a request was not accepted
    std::uint32_t m_offered_line = 0;
    std::uint64_t m_waits = 0;
};
