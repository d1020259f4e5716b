// A channel of a DRAM device: its queues, and the choice of a command. Times are memory cycles.
// sim/dram_device.py has the rules.
//
// A cycle costs nothing until the next one in which something can happen (next()): banks are looked
// at when the earliest of them can have a command, and an entry moves to its bank only after a
// queue has changed.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "dram_banks.h"

/// An access that waits. Reads of one line that were merged are a list of numbers.
struct DramEntry {
    std::uint32_t line;  ///< address, counted in accesses
    std::uint32_t row;
    std::uint32_t first;  ///< number of the first read
    std::uint8_t bank;
    bool write;
};

/// A queue of fixed capacity, from which any entry can leave.
class DramQueue {
public:
    void reserve(std::size_t capacity) {
        m_entries = std::make_unique<DramEntry[]>(capacity);
        m_capacity = capacity;
    }
    void clear() { m_size = 0; }
    bool empty() const { return m_size == 0; }
    bool full() const { return m_size == m_capacity; }
    std::size_t size() const { return m_size; }
    const DramEntry& operator[](std::size_t place) const { return m_entries[place]; }
    DramEntry* begin() { return m_entries.get(); }
    DramEntry* end() { return m_entries.get() + m_size; }
    void push(const DramEntry& entry) { m_entries[m_size++] = entry; }
    void erase(std::size_t place) {
        std::copy(begin() + place + 1, end(), begin() + place);
        --m_size;
    }
    /// The entry of a line and a kind, or null.
    DramEntry* find(std::uint32_t line, bool write) {
        for (DramEntry& entry : *this)
            if (entry.line == line && entry.write == write) return &entry;
        return nullptr;
    }

private:
    std::unique_ptr<DramEntry[]> m_entries;
    std::size_t m_capacity = 0, m_size = 0;
};

/// What a channel has done. sim/interface.py has the same structure.
struct ChannelCounts {
    std::uint64_t column_reads, column_writes;
    std::uint64_t row_hits;     ///< of them, those that were not the first after an activate
    std::uint64_t activates, precharges, refreshes;
    std::uint64_t turn_rounds;  ///< column commands of the other direction than the one before
};

/// The accesses that are complete, in the order of their times.
class DramAnswers {
public:
    /// Each answer comes `delay` later than its time.
    DramAnswers(std::size_t capacity, std::uint32_t delay)
        : m_items{std::make_unique<Item[]>(capacity)}, m_capacity{capacity}, m_delay{delay} {}

    void clear() { m_head = m_size = 0; }
    void push(std::uint64_t time, std::uint32_t number) {
        time += m_delay;
        std::size_t place = m_size++;
        for (; place > 0 && at(place - 1).time > time; --place) at(place) = at(place - 1);
        at(place) = {time, number};
    }
    /// Whether one is complete in this cycle.
    bool ready(std::uint64_t now) { return m_size && at(0).time <= now; }
    std::uint32_t pop() {
        const std::uint32_t number = at(0).number;
        m_head = m_head + 1 == m_capacity ? 0 : m_head + 1;
        --m_size;
        return number;
    }

private:
    struct Item {
        std::uint64_t time;
        std::uint32_t number;
    };
    Item& at(std::size_t place) {
        place += m_head;
        return m_items[place < m_capacity ? place : place - m_capacity];
    }

    std::unique_ptr<Item[]> m_items;
    const std::size_t m_capacity;
    const std::uint32_t m_delay;
    std::size_t m_head = 0, m_size = 0;
};

class DramChannel {
public:
    /// `links` has an item for each number that a read can have.
    DramChannel(const DeviceParameters& parameters, DramAnswers& answers, std::uint32_t* links)
        : m_p{parameters}, m_answers{answers}, m_links{links}, m_banks{parameters} {
        m_reads.reserve(m_p.read_queue);
        m_writes.reserve(m_p.write_queue);
        for (unsigned bank = 0; bank < m_banks.count(); ++bank)
            m_waiting[bank].reserve(m_p.bank_queue);
        clear();
    }

    void clear() {
        m_banks.clear();
        m_reads.clear();
        m_writes.clear();
        for (DramQueue& queue : m_waiting) queue.clear();
        for (Wants& wants : m_wants) wants = {};
        m_occupied = 0;
        m_last = m_banks.count() - 1;
        m_drain = 0;
        m_may_move = m_refreshing = m_yield = false;
        m_direction = Direction::NONE;
        m_look = NEVER;
        m_refresh_due = m_p.tREFI ? m_p.tREFI : NEVER;
        counts = {};
    }

    /// Whether an access is accepted in this cycle.
    bool room(bool write) const { return write ? !m_writes.full() : !m_reads.full(); }

    /// Accepts an access; `number` is what the answer of a read says. Call before tick().
    void accept(std::uint64_t now, const DramEntry& entry) {
        if (m_p.merge && merged(now, entry)) return;
        (entry.write ? m_writes : m_reads).push(entry);
        if (!entry.write) m_links[entry.first] = NONE;
        m_may_move = true;
    }

    /// The next cycle in which tick() does something, if nothing is accepted before.
    std::uint64_t next(std::uint64_t now) const {
        if (m_may_move || m_refreshing) return now + 1;
        return std::max(now + 1, std::min(m_refresh_due, m_look));
    }

    /// A cycle. Cycles before next() may be left out.
    void tick(std::uint64_t now) {
        if (now >= m_refresh_due) {
            m_refreshing = true;
            m_refresh_due += m_p.tREFI;
        }
        if (m_refreshing) {
            refresh(now);
        } else if (now >= m_look) {
            command(now);
        }
        if (m_may_move) move();
    }

    ChannelCounts counts{};

private:
    static constexpr std::uint64_t NEVER = DramBanks::NEVER;
    static constexpr std::uint32_t NONE = ~std::uint32_t{0};

    enum class Direction : std::uint8_t { NONE, READ, WRITE };

    /// What the queue of a bank asks of the open row.
    struct Wants {
        std::uint32_t reads, writes;  // entries of the row
        bool oldest;                  // whether the oldest entry is of the row
    };

    bool merged(std::uint64_t now, const DramEntry& entry) {
        DramQueue& waiting = m_waiting[entry.bank];
        if (m_writes.find(entry.line, true) || waiting.find(entry.line, true)) {
            if (!entry.write) m_answers.push(now + 1, entry.first);
            return true;
        }
        if (entry.write) return false;
        DramEntry* other = m_reads.find(entry.line, false);
        if (!other) other = waiting.find(entry.line, false);
        if (!other) return false;
        m_links[entry.first] = m_links[other->first];
        m_links[other->first] = entry.first;
        return true;
    }

    // Refresh

    void refresh(std::uint64_t now) {
        bool closed = true;
        for (unsigned bank = 0; bank < m_banks.count(); ++bank) {
            if (!m_banks.open(bank)) continue;
            closed = false;
            if (m_banks.time(DramCommand::PRECHARGE, bank) > now) continue;
            precharge(now, bank);
            return;
        }
        if (!closed || m_banks.refresh_time() > now) return;
        m_banks.refresh(now);
        ++counts.refreshes;
        m_refreshing = false;
        m_look = m_occupied ? now + 1 : NEVER;
    }

    // Commands

    void command(std::uint64_t now) {
        m_look = NEVER;
        DramCommand first, second;
        if (!find(now, first)) return;
        issue(now, first, m_last);
        if (m_p.two_commands && find(now, second) && is_column(first) != is_column(second))
            issue(now, second, m_last);
        m_look = m_occupied ? now + 1 : NEVER;
    }
    static bool is_column(DramCommand command) {
        return command == DramCommand::READ || command == DramCommand::WRITE;
    }

    /// The next bank in turn with a command that is ready becomes the last one. Without one, the
    /// earliest cycle of any bank is noted.
    bool find(std::uint64_t now, DramCommand& command) {
        const std::uint64_t behind = m_occupied & ~std::uint64_t{1} << m_last;
        for (std::uint64_t mask : {behind, m_occupied & ~behind}) {
            for (; mask; mask &= mask - 1) {
                const unsigned bank = __builtin_ctzll(mask);
                const std::uint64_t time = earliest(now, bank, command);
                if (time <= now) {
                    m_last = bank;
                    return true;
                }
                m_look = std::min(m_look, time);
            }
        }
        return false;
    }

    /// The first cycle in which a bank with waiting entries may have a command; if that is now,
    /// which one.
    std::uint64_t earliest(std::uint64_t now, unsigned bank, DramCommand& command) const {
        if (!m_banks.open(bank)) {
            command = DramCommand::ACTIVATE;
            return m_banks.time(command, bank);
        }
        const Wants& wants = m_wants[bank];
        std::uint64_t time = NEVER;
        const auto consider = [&](DramCommand each) {
            const std::uint64_t at = m_banks.time(each, bank);
            if (at < time && time > now) {
                time = at;
                command = each;
            }
        };
        if (!wants.oldest
            && (!(wants.reads || wants.writes) || m_banks.hits(bank) >= m_p.hit_limit))
            consider(DramCommand::PRECHARGE);
        if (time <= now) return time;
        if (wants.reads) consider(DramCommand::READ);
        if (wants.writes && time > now) {
            consider(DramCommand::WRITE);
        } else if (wants.writes && command == DramCommand::READ
                   && m_banks.time(DramCommand::WRITE, bank) <= now) {
            // Both are ready, so the older one is next.
            if (of_row(bank, false) > of_row(bank, true)) command = DramCommand::WRITE;
        }
        return time;
    }
    /// The place of the oldest entry of a kind to the open row.
    std::size_t of_row(unsigned bank, bool write) const {
        const DramQueue& queue = m_waiting[bank];
        std::size_t place = 0;
        while (queue[place].row != m_banks.row(bank) || queue[place].write != write) ++place;
        return place;
    }

    void issue(std::uint64_t now, DramCommand command, unsigned bank) {
        if (command == DramCommand::ACTIVATE) {
            m_banks.activate(now, bank, m_waiting[bank][0].row);
            ++counts.activates;
            look_at(bank);
        } else if (command == DramCommand::PRECHARGE) {
            precharge(now, bank);
        } else {
            column(now, bank, command == DramCommand::WRITE);
        }
    }
    void precharge(std::uint64_t now, unsigned bank) {
        m_banks.precharge(now, bank);
        ++counts.precharges;
    }
    void column(std::uint64_t now, unsigned bank, bool write) {
        DramQueue& queue = m_waiting[bank];
        const std::size_t place = of_row(bank, write);
        counts.row_hits += m_banks.hits(bank) > 0;
        const Direction direction = write ? Direction::WRITE : Direction::READ;
        counts.turn_rounds += m_direction != direction && m_direction != Direction::NONE;
        m_direction = direction;
        if (write) {
            m_banks.write(now, bank);
            ++counts.column_writes;
        } else {
            m_banks.read(now, bank);
            ++counts.column_reads;
            for (std::uint32_t number = queue[place].first; number != NONE;
                 number = m_links[number])
                m_answers.push(now + m_p.CL + m_p.burst, number);
        }
        queue.erase(place);
        if (queue.empty()) m_occupied &= ~(std::uint64_t{1} << bank);
        look_at(bank);
        m_may_move = true;
    }
    /// Counts what a bank's queue asks of the open row.
    void look_at(unsigned bank) {
        Wants wants{};
        DramQueue& queue = m_waiting[bank];
        const std::uint32_t row = m_banks.row(bank);
        for (const DramEntry& entry : queue)
            if (entry.row == row) ++(entry.write ? wants.writes : wants.reads);
        wants.oldest = !queue.empty() && queue[0].row == row;
        m_wants[bank] = wants;
    }

    // From the queues to the banks

    void move() {
        if (!m_drain && !m_yield
            && (m_writes.full() || (m_writes.size() > m_p.keep_writes && !m_occupied)))
            m_drain = m_writes.size();
        m_yield = false;
        DramQueue& queue = m_drain ? m_writes : m_reads;
        for (std::size_t place = 0; place < queue.size(); ++place) {
            const DramEntry entry = queue[place];
            DramQueue& waiting = m_waiting[entry.bank];
            if (waiting.full()) continue;
            if (entry.write) {
                if (m_p.merge && (m_reads.find(entry.line, false)
                                  || waiting.find(entry.line, false))) {
                    // The read comes first. Reads have their turn before writes drain again.
                    m_drain = 0;
                    m_yield = true;
                    return;
                }
                --m_drain;
            }
            queue.erase(place);
            put(entry);
            return;
        }
        m_may_move = false;
    }
    void put(const DramEntry& entry) {
        DramQueue& waiting = m_waiting[entry.bank];
        waiting.push(entry);
        m_occupied |= std::uint64_t{1} << entry.bank;
        if (m_banks.open(entry.bank) && entry.row == m_banks.row(entry.bank)) {
            Wants& wants = m_wants[entry.bank];
            ++(entry.write ? wants.writes : wants.reads);
            wants.oldest |= waiting.size() == 1;
        }
        m_look = 0;
    }

    const DeviceParameters m_p;
    DramAnswers& m_answers;
    std::uint32_t* const m_links;  // from each read to the next one of the same line
    DramBanks m_banks;
    DramQueue m_reads, m_writes;
    DramQueue m_waiting[MAX_BANKS];  // the commands of each bank
    Wants m_wants[MAX_BANKS];
    std::uint64_t m_occupied;        // banks with commands
    unsigned m_last;                 // bank that had the last command
    std::size_t m_drain;             // writes that are still to move before reads do
    bool m_may_move;                 // a queue has changed since the last attempt
    bool m_yield;                    // an attempt to drain writes has just ended
    bool m_refreshing;
    Direction m_direction;           // of the last column command
    std::uint64_t m_look;            // the next cycle in which a bank may have a command
    std::uint64_t m_refresh_due;
};
