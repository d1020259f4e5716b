// The banks of a DRAM channel: open rows, and the earliest cycle of each next command. Times are
// memory cycles. sim/dram_device.py has the rules.
//
// A constraint holds for a bank, for its group or for the whole channel, and is kept in one place
// of that kind. So a command changes a few numbers, whatever the number of banks. Compiled with
//   DRAM_LOG  for tests: a function that is called with each command

#pragma once

#include <algorithm>
#include <cstdint>

/// A device and its controller. sim/interface.py has the same structure.
struct DeviceParameters {
    // Times, in memory cycles.
    std::uint32_t burst, CL, CWL, tRCDRD, tRCDWR, tRP, tRAS, tRRD_S, tRRD_L, tFAW, t32AW;
    std::uint32_t tCCD_S, tCCD_L, tRTP, tWR, tWTR_S, tWTR_L, tRTRS, tPPD, tRFC, tREFI;
    // The controller of a channel.
    std::uint32_t read_queue, write_queue, bank_queue, hit_limit, keep_writes, answer_delay;
    std::uint32_t merge, close_page, two_commands;  ///< 0 or 1
    // The fields of an access's number: lowest bit, and number of bits. The row is all above.
    std::uint32_t channel_at, channel_bits, group_at, group_bits, bank_at, bank_bits, row_at;
    std::uint32_t hash;          ///< 1 if the fields are XORed with the lowest bits of the row
    std::uint32_t access_bytes;
    std::uint32_t port_at, port_bits;  ///< the bits of a line's number that choose the port
    std::uint32_t above, below;  ///< `below` memory cycles take `above` core cycles
};

enum class DramCommand : std::uint8_t { ACTIVATE, READ, WRITE, PRECHARGE };

/// The most banks of a channel.
constexpr unsigned MAX_BANKS = 64;

#if !defined(DRAM_LOG)
#define DRAM_LOG(now, command, bank, row)
#endif

class DramBanks {
public:
    static constexpr std::uint64_t NEVER = ~std::uint64_t{0};

    explicit DramBanks(const DeviceParameters& parameters)
        : m_p{parameters}
        , m_long{parameters.group_bits > 0}
        , m_short_column{std::max(m_p.burst, m_p.tCCD_S)}
        , m_long_column{std::max(m_p.burst, m_long ? m_p.tCCD_L : m_p.tCCD_S)}
        , m_read_to_write{m_p.CL + m_p.burst + m_p.tRTRS - m_p.CWL} {}

    unsigned count() const { return 1u << (m_p.group_bits + m_p.bank_bits); }
    void clear() { *this = DramBanks{m_p}; }

    bool open(unsigned bank) const { return m_banks[bank].is_open; }
    std::uint32_t row(unsigned bank) const { return m_banks[bank].row; }
    /// Column commands to the open row since its activate.
    std::uint32_t hits(unsigned bank) const { return m_banks[bank].hits; }

    /// The first cycle in which a bank can have a command.
    std::uint64_t time(DramCommand command, unsigned bank) const {
        const Bank& own = m_banks[bank];
        const Group& group = m_groups[bank >> m_p.bank_bits];
        switch (command) {
            case DramCommand::ACTIVATE:
                return std::max({own.activate, group.activate, m_activate, window()});
            case DramCommand::READ:
                return std::max({own.read, group.read, m_read});
            case DramCommand::WRITE:
                return std::max({own.write, group.write, m_write});
            default:
                return std::max(own.precharge, m_precharge);
        }
    }
    /// The first cycle in which all banks, if they are closed, can be refreshed.
    std::uint64_t refresh_time() const { return m_refresh; }

    void activate(std::uint64_t now, unsigned bank, std::uint32_t row) {
        DRAM_LOG(now, 'A', bank, row);
        Bank& own = m_banks[bank];
        own = {now + m_p.tRAS + m_p.tRP, now + m_p.tRCDRD, now + m_p.tRCDWR, now + m_p.tRAS, row,
               0, true};
        m_groups[bank >> m_p.bank_bits].activate = now + (m_long ? m_p.tRRD_L : m_p.tRRD_S);
        raise(m_activate, now + m_p.tRRD_S);
        m_activates[m_activated++ % WINDOW] = now;
    }
    void read(std::uint64_t now, unsigned bank) {
        DRAM_LOG(now, 'R', bank, m_banks[bank].row);
        Bank& own = m_banks[bank];
        column(now, bank);
        raise(m_write, now + m_read_to_write);
        raise(own.precharge, now + m_p.tRTP);
        if (m_p.close_page) {
            close(now + m_p.tRTP, own);
            raise(own.activate, now + m_p.burst + m_p.tRTP + m_p.tRP);
        }
    }
    void write(std::uint64_t now, unsigned bank) {
        DRAM_LOG(now, 'W', bank, m_banks[bank].row);
        Bank& own = m_banks[bank];
        column(now, bank);
        const std::uint64_t data = now + m_p.CWL + m_p.burst;
        raise(m_groups[bank >> m_p.bank_bits].read, data + (m_long ? m_p.tWTR_L : m_p.tWTR_S));
        raise(m_read, data + m_p.tWTR_S);
        raise(own.precharge, data + m_p.tWR);
        if (m_p.close_page) close(data + m_p.tWR, own);
    }
    void precharge(std::uint64_t now, unsigned bank) {
        DRAM_LOG(now, 'P', bank, m_banks[bank].row);
        close(now, m_banks[bank]);
        raise(m_precharge, now + m_p.tPPD);
    }
    void refresh(std::uint64_t now) {
        DRAM_LOG(now, 'F', 0, 0);
        raise(m_activate, now + m_p.tRFC);
    }

private:
    static constexpr unsigned WINDOW = 32;

    struct Bank {
        std::uint64_t activate = 0, read = 0, write = 0, precharge = 0;
        std::uint32_t row = 0, hits = 0;
        bool is_open = false;
    };
    struct Group {
        std::uint64_t activate = 0, read = 0, write = 0;
    };

    static void raise(std::uint64_t& time, std::uint64_t least) { time = std::max(time, least); }

    /// What a read and a write have in common: the time to the next command of the same kind.
    void column(std::uint64_t now, unsigned bank) {
        Group& group = m_groups[bank >> m_p.bank_bits];
        ++m_banks[bank].hits;
        raise(group.read, now + m_long_column);
        raise(group.write, now + m_long_column);
        raise(m_read, now + m_short_column);
        raise(m_write, now + m_short_column);
    }
    void close(std::uint64_t now, Bank& bank) {
        bank.is_open = false;
        raise(bank.activate, now + m_p.tRP);
        raise(m_refresh, now + m_p.tRP);
    }
    /// The first cycle in which the windows of activates have room.
    std::uint64_t window() const {
        std::uint64_t time = 0;
        if (m_p.tFAW && m_activated >= 4)
            time = m_activates[(m_activated - 4) % WINDOW] + m_p.tFAW;
        if (m_p.t32AW && m_activated >= WINDOW)
            raise(time, m_activates[m_activated % WINDOW] + m_p.t32AW);
        return time;
    }

    DeviceParameters m_p;
    bool m_long;  // whether there are groups, and so the long times hold within one
    std::uint32_t m_short_column, m_long_column, m_read_to_write;
    Bank m_banks[MAX_BANKS];
    Group m_groups[MAX_BANKS];
    std::uint64_t m_activate = 0, m_read = 0, m_write = 0, m_precharge = 0, m_refresh = 0;
    std::uint64_t m_activates[WINDOW] = {};  // when the last activates were
    std::uint64_t m_activated = 0;
};
