// A 16-bit SDRAM of 32 MiB at its pins, in front of the same memory as the DRAM model, and a check
// of every rule of its data sheet that a controller can break: sim/sdram.py lists them. The model
// gets picoseconds and rounds nothing, so its arithmetic differs from the controller's.

#pragma once

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are copied as they are");

/// The data sheet and the board, in picoseconds and cycles; sim/sdram.py has the same structure.
struct SdramParameters {
    std::int64_t period;
    std::int64_t rcd, rp, ras, rc, rrd, rfc, wr, mrd, refresh, power_up;
    std::int64_t rrd_cycles, wr_cycles, mrd_cycles;
    std::int64_t io_delay;  ///< cycles that data arrive later than the CAS latency says
};

/// Pins in a cycle; sim/sdram.py has the same structure. Commands are 1 when asserted.
struct SdramPins {
    std::uint8_t clk_en, cs, ras, cas, we, ba;
    std::uint16_t a;
    std::uint8_t dqm;
    std::uint16_t dq_o;
    std::uint8_t dq_oe;
};

class Sdram {
public:
    Sdram(std::uint8_t* memory, std::uint64_t bytes, const SdramParameters& parameters)
        : m_memory{memory}, m_bytes{bytes}, m_parameters{parameters} {}

    /// Sets the state after power on. Memory stays.
    void power_on() { *this = Sdram{m_memory, m_bytes, m_parameters}; }

    /// A message on the first broken rule, with the cycle; empty if no rule was broken.
    const std::string& error() const { return m_error; }

    /// A cycle of the clock. Returns the controller's dq_i of the cycle, which does not depend on
    /// the pins of the same cycle.
    std::uint16_t cycle(const SdramPins& pins) {
        ++m_now;
        m_masks[m_now % RING] = pins.dqm;
        if (pins.clk_en && m_enabled == NEVER) m_enabled = m_now;
        if (!pins.clk_en && m_enabled != NEVER) fail("the clock enable fell");
        if (pins.clk_en && pins.cs) {
            const unsigned code = pins.ras | pins.cas << 1 | pins.we << 2;
            if (code) command(code, pins);
        }
        if (m_left) beat(pins);
        if (since(m_refreshed) > m_parameters.refresh && m_refreshed != NEVER)
            fail("%lld ns since the last REFRESH, at most %lld are allowed",
                 ns(since(m_refreshed)), ns(m_parameters.refresh));
        return bus(pins);
    }

private:
    static constexpr unsigned BANKS = 4, ROWS = 8192, COLUMNS = 512, BURST = 8, REFRESHES = 8;
    static constexpr std::size_t RING = 16;
    static constexpr std::int64_t START = RING;  // so that no inspected cycle is negative
    static constexpr std::int64_t NEVER = -(std::int64_t{1} << 40);  // long ago, whatever the rule

    enum Code : unsigned {
        ACTIVATE = 1, READ = 2, REFRESH = 3, STOP = 4, PRECHARGE = 5, WRITE = 6, LOAD_MODE = 7,
    };

    struct Bank {
        bool open = false;
        unsigned row = 0;
        std::int64_t activated = NEVER, precharged = NEVER, written = NEVER;
    };

    /// The data that the chip drives in a cycle.
    struct Beat {
        std::int64_t time = NEVER;
        std::uint16_t value = 0;
    };

    std::int64_t since(std::int64_t time) const { return (m_now - time) * m_parameters.period; }
    static long long ns(std::int64_t ps) { return ps / 1000; }

    __attribute__((format(printf, 2, 3))) void fail(const char* format, ...) {
        if (!m_error.empty()) return;
        char text[256];
        std::va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        m_error = "cycle " + std::to_string(m_now - START) + ": " + text;
    }

    /// A rule of time: the command of this cycle, and the event that it must not follow too early.
    void wait(const char* what, const char* after, std::int64_t time, std::int64_t least,
              std::int64_t cycles = 1) {
        if (time == NEVER || (since(time) >= least && m_now - time >= cycles)) return;
        fail("%s %lld ns after %s: at least %lld ns", what, ns(since(time)), after,
             ns(std::max(least, cycles * m_parameters.period)));
    }

    void command(unsigned code, const SdramPins& pins) {
        const SdramParameters& t = m_parameters;
        Bank& bank = m_banks[pins.ba];
        static constexpr const char* NAMES[] = {"NOP", "ACTIVATE", "READ", "REFRESH",
                                                "BURST TERMINATE", "PRECHARGE", "WRITE",
                                                "LOAD MODE"};
        const char* name = NAMES[code];
        if (since(m_enabled) < t.power_up)
            fail("%s %lld ns after power-up: at least %lld ns", name, ns(since(m_enabled)),
                 ns(t.power_up));
        if (!m_cleared && !(code == PRECHARGE && (pins.a >> 10 & 1)))
            fail("the first command is %s, not PRECHARGE of all banks", name);
        if ((!m_latency || m_refreshes < REFRESHES) && (code == ACTIVATE))
            fail("ACTIVATE before %u REFRESH commands and LOAD MODE", REFRESHES);
        wait(name, "REFRESH", m_refreshed, t.rfc);
        wait(name, "LOAD MODE", m_loaded, t.mrd, t.mrd_cycles);
        switch (code) {
        case ACTIVATE:
            if (bank.open) fail("ACTIVATE of bank %u, which is open", pins.ba);
            wait(name, "PRECHARGE of the bank", bank.precharged, t.rp);
            wait(name, "ACTIVATE of the bank", bank.activated, t.rc);
            wait(name, "ACTIVATE of another bank", m_activated, t.rrd, t.rrd_cycles);
            bank.open = true;
            bank.row = pins.a;
            bank.activated = m_activated = m_now;
            break;
        case READ:
        case WRITE:
            if (!bank.open) fail("%s of bank %u, which is closed", name, pins.ba);
            if (pins.a >> 9) fail("%s of column %u", name, pins.a);
            if (m_left) fail("%s cuts a burst short", name);
            wait(name, "ACTIVATE of the bank", bank.activated, t.rcd);
            m_left = BURST;
            m_writes = code == WRITE;
            m_bank = pins.ba;
            m_column = pins.a % COLUMNS;
            break;
        case PRECHARGE:
            for (unsigned number = 0; number < BANKS; ++number)
                if ((pins.a >> 10 & 1) || number == pins.ba) precharge(number);
            m_cleared = true;
            break;
        case REFRESH:
            idle(name);
            for (const Bank& each : m_banks)
                wait(name, "ACTIVATE of a bank", each.activated, t.rc);
            m_refreshed = m_now;
            ++m_refreshes;
            break;
        case LOAD_MODE:
            idle(name);
            if ((pins.a & ~0x30u) != 3 || !(pins.a & 0x20) || pins.ba)
                fail("LOAD MODE of 0x%x: not bursts of 8 in order with a latency of 2 or 3",
                     pins.a);
            m_latency = pins.a >> 4 & 3;
            m_loaded = m_now;
            break;
        case STOP:
            fail("BURST TERMINATE, which no whole burst needs");
            break;
        }
    }

    void precharge(unsigned number) {
        const SdramParameters& t = m_parameters;
        Bank& bank = m_banks[number];
        if (!bank.open) return;
        if (m_left && m_bank == number) fail("PRECHARGE cuts a burst short");
        wait("PRECHARGE", "ACTIVATE of the bank", bank.activated, t.ras);
        wait("PRECHARGE", "the last data written", bank.written, t.wr, t.wr_cycles);
        bank.open = false;
        bank.precharged = m_now;
    }

    /// Checks that every bank is closed, and has been closed for long enough.
    void idle(const char* name) {
        for (const Bank& bank : m_banks) {
            if (bank.open) fail("%s while a bank is open", name);
            wait(name, "PRECHARGE of a bank", bank.precharged, m_parameters.rp);
        }
    }

    /// A beat of the burst under way: read data come out after the latency.
    void beat(const SdramPins& pins) {
        Bank& bank = m_banks[m_bank];
        const std::uint64_t place =
            2 * ((std::uint64_t{bank.row} * BANKS + m_bank) * COLUMNS + m_column);
        m_column = (m_column & ~(BURST - 1)) | ((m_column + 1) & (BURST - 1));
        --m_left;
        if (place + 2 > m_bytes) {
            fail("byte 0x%llx is outside the memory", static_cast<unsigned long long>(place));
            return;
        }
        std::uint8_t* word = m_memory + place;
        if (m_writes) {
            if (pins.dqm != 3 && !pins.dq_oe) fail("data are written that nobody drives");
            if (!(pins.dqm & 1)) word[0] = pins.dq_o & 0xFF;
            if (!(pins.dqm & 2)) word[1] = pins.dq_o >> 8;
            bank.written = m_now;
        } else {
            Beat& next = m_beats[(m_now + m_latency) % RING];
            next.time = m_now + m_latency;
            std::memcpy(&next.value, word, 2);
        }
    }

    /// The data pins: checks who drives them, and returns the data that arrive at the controller.
    std::uint16_t bus(const SdramPins& pins) {
        Beat& beat = m_beats[m_now % RING];
        // A beat that was masked two cycles before does not appear.
        if (beat.time == m_now && m_masks[(m_now - 2) % RING] == 3) beat.time = NEVER;
        if (beat.time == m_now) m_driven_here = m_now;
        if (pins.dq_oe) m_driven_there = m_now;
        if (m_now - m_driven_here < 2 && m_now - m_driven_there < 2)
            fail("chip and controller drive the data pins less than two cycles apart");
        const std::int64_t time = m_now - m_parameters.io_delay;
        const Beat& arrived = m_beats[time % RING];
        // Pins that nobody drives have a random value.
        m_noise = m_noise * 1103515245 + 12345;
        return arrived.time == time ? arrived.value : m_noise >> 16;
    }

    std::uint8_t* m_memory;
    std::uint64_t m_bytes;
    SdramParameters m_parameters;
    std::string m_error;
    std::int64_t m_now = START;
    std::int64_t m_enabled = NEVER, m_refreshed = NEVER, m_loaded = NEVER, m_activated = NEVER;
    std::int64_t m_driven_here = NEVER, m_driven_there = NEVER;
    unsigned m_refreshes = 0, m_latency = 0;
    bool m_cleared = false;
    std::array<Bank, BANKS> m_banks;
    unsigned m_left = 0, m_bank = 0, m_column = 0;  // of the burst under way
    bool m_writes = false;
    std::array<Beat, RING> m_beats;
    std::array<std::uint8_t, RING> m_masks{};
    std::uint32_t m_noise = 1;
};
