// A DRAM device behind a memory port: where an address lies, the channels, and the two clocks.
// sim/dram_device.py has the rules. Lines are lines of the GPU; numbers of accesses are inside.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dram_channel.h"

class DramDevice {
public:
    static constexpr std::uint32_t NONE = ~std::uint32_t{0};

    /// Tags of reads are below `tags`.
    DramDevice(const DeviceParameters& parameters, std::uint32_t line_bytes,
               std::uint32_t sector_bytes, std::uint32_t tags)
        : m_p{parameters}
        , m_pieces{line_bytes > m_p.access_bytes ? line_bytes / m_p.access_bytes : 1}
        , m_lines{line_bytes < m_p.access_bytes ? m_p.access_bytes / line_bytes : 1}
        , m_tags{tags}
        , m_answers{std::size_t{tags} * m_pieces, m_p.answer_delay}
        , m_links{std::make_unique<std::uint32_t[]>(std::size_t{tags} * m_pieces)}
        , m_left{std::make_unique<std::uint32_t[]>(tags)}
        , m_channels{std::make_unique<std::unique_ptr<Channel>[]>(count())} {
        for (std::size_t c = 0; c < count(); ++c)
            m_channels[c].reset(new Channel{{m_p, m_answers, m_links.get()}, NEVER});
        for (std::uint32_t piece = 0; piece < m_pieces; ++piece)
            for (std::uint32_t sector = 0; sector < line_bytes / sector_bytes; ++sector)
                if (piece * m_p.access_bytes < (sector + 1) * sector_bytes &&
                    sector * sector_bytes < (piece + 1) * m_p.access_bytes)
                    m_of_sector[sector] |= 1u << piece;
        clear();
    }

    std::size_t count() const { return std::size_t{1} << m_p.channel_bits; }
    const ChannelCounts& counts(std::size_t channel) const {
        return m_channels[channel]->channel.counts;
    }

    void clear() {
        m_answers.clear();
        m_time = m_credit = m_reads = 0;
        m_is_new = true;
        m_next = NEVER;
        m_to_offer = 0;
        for (std::size_t c = 0; c < count(); ++c) {
            m_channels[c]->channel.clear();
            note(c, m_channels[c]->channel.next(0));
        }
    }
    /// Core cycles that the transfers take on the data buses, in the mean of the channels.
    std::uint64_t busy() const {
        std::uint64_t columns = 0;
        for (std::size_t c = 0; c < count(); ++c)
            columns += counts(c).column_reads + counts(c).column_writes;
        return columns * m_p.burst * m_p.above / m_p.below / count();
    }
    /// Clears the counts. If no read is under way, the device begins anew, so that what comes does
    /// not depend on what was: a run takes the same cycles whenever it starts.
    void restart() {
        if (!m_reads) return clear();
        for (std::size_t c = 0; c < count(); ++c) m_channels[c]->channel.counts = {};
    }

    /// Whether a request is accepted in a core cycle. Call once a cycle, with rising times.
    bool ready(std::uint64_t now) {
        if (!m_is_new) m_credit += (now - m_core) * m_p.below;
        m_is_new = false;
        m_core = now;
        std::uint64_t time = m_time;
        for (; m_credit >= m_p.above; m_credit -= m_p.above) ++time;
        while (m_next < time) {
            m_time = m_next;
            tick();
            offer(m_time + 1);
        }
        m_time = time;
        return !m_to_offer;
    }

    /// Accepts a request for some sectors of a line in the cycle of the last ready(). The tag is
    /// that of a read.
    void accept(std::uint32_t line, bool write, std::uint32_t tag, std::uint32_t sectors) {
        const std::uint32_t below = line & ((1u << m_p.port_at) - 1);
        m_line = line >> (m_p.port_at + m_p.port_bits) << m_p.port_at | below;
        m_write = write;
        m_tag = tag;
        for (; sectors; sectors &= sectors - 1)
            m_to_offer |= m_of_sector[__builtin_ctz(sectors)];
        if (!write) {
            m_left[tag] = __builtin_popcount(m_to_offer);
            ++m_reads;
        }
        offer(m_time);
    }

    /// The tag of a read that is complete in the cycle of the last ready(), or NONE. A read is
    /// told once.
    std::uint32_t answer() {
        while (m_answers.ready(m_time)) {
            const std::uint32_t tag = m_answers.pop() % m_tags;
            if (--m_left[tag]) continue;
            --m_reads;
            return tag;
        }
        return NONE;
    }

private:
    static constexpr std::uint64_t NEVER = DramBanks::NEVER;

    struct Channel {
        DramChannel channel;
        std::uint64_t next;  // the next cycle in which it has something to do
    };

    void note(std::size_t channel, std::uint64_t next) {
        m_channels[channel]->next = next;
        m_next = std::min(m_next, next);
    }

    /// A cycle of the channels that have something to do in it.
    void tick() {
        m_next = NEVER;
        for (std::size_t c = 0; c < count(); ++c) {
            Channel& each = *m_channels[c];
            if (each.next <= m_time) {
                each.channel.tick(m_time);
                each.next = each.channel.next(m_time);
            }
            m_next = std::min(m_next, each.next);
        }
    }

    /// Gives the channels as much of the request at the port as they accept in a cycle.
    void offer(std::uint64_t time) {
        for (; m_to_offer; m_to_offer &= m_to_offer - 1) {
            const std::uint32_t piece = __builtin_ctz(m_to_offer);
            const std::uint32_t access = m_line / m_lines * m_pieces + piece;
            const std::uint32_t row = access >> m_p.row_at;
            std::uint32_t salt = m_p.hash ? row : 0;
            const std::uint32_t group = field(access, m_p.group_at, m_p.group_bits, salt);
            const std::uint32_t bank = field(access, m_p.bank_at, m_p.bank_bits, salt);
            const std::uint32_t c = field(access, m_p.channel_at, m_p.channel_bits, salt);
            DramChannel& channel = m_channels[c]->channel;
            if (!channel.room(m_write)) return;
            channel.accept(time, {access, row, m_tag + piece * m_tags,
                                  static_cast<std::uint8_t>(group << m_p.bank_bits | bank),
                                  m_write});
            note(c, time);
        }
    }
    /// A field of an access's number, XORed with the lowest bits of `salt`, which it takes away.
    static std::uint32_t field(std::uint32_t access, std::uint32_t at, std::uint32_t bits,
                               std::uint32_t& salt) {
        const std::uint32_t value = (access >> at ^ salt) & ((1u << bits) - 1);
        salt >>= bits;
        return value;
    }

    const DeviceParameters m_p;
    const std::uint32_t m_pieces;  // accesses of a line
    const std::uint32_t m_lines;   // lines of an access
    const std::uint32_t m_tags;
    DramAnswers m_answers;
    std::unique_ptr<std::uint32_t[]> m_links;
    std::unique_ptr<std::uint32_t[]> m_left;  // accesses of each read that are not complete
    std::unique_ptr<std::unique_ptr<Channel>[]> m_channels;
    std::uint64_t m_next = NEVER;  // the next cycle in which a channel has something to do
    bool m_is_new;                 // no core cycle has been since clear()
    std::uint64_t m_core = 0;      // the core cycle
    std::uint64_t m_reads;         // that were not answered
    std::uint64_t m_time = 0;      // the memory cycle, which has not ticked yet
    std::uint64_t m_credit = 0;    // of `above` for a memory cycle, what core cycles have brought
    // The request at the port.
    std::uint32_t m_line = 0, m_tag = 0;
    std::uint32_t m_to_offer = 0;  // a bit for each access of it that no channel has yet
    bool m_write = false;
    std::uint32_t m_of_sector[32] = {};  // the accesses of each sector
};
