// The Stream Compaction Unit: the effect of an operation on memory. hw/scu/registers.py describes the
// operations; the order of checks and of elements is that of this page.

#pragma once

#include <vector>

#include "machine.h"

/// The result registers after an operation.
struct ScuOutcome {
    u32 result, selected, error, error_address;
};

class Scu {
public:
    Scu(const Config& config, u8* memory)
        : m_words{reinterpret_cast<u32*>(memory)}, m_end{u64{BASE} + config.memory_bytes},
          m_line_bytes{config.line_bytes} {}

    /// Perform an operation. Register N of hw.scu.registers is `registers[N / 4]`.
    ScuOutcome run(const u32* registers) {
        m_registers = registers;
        try {
            decode();
            check();
        } catch (const Error& error) {
            return {0, 0, error.kind, error.address};
        }
        m_error = {};
        if (m_output && (m_command & scu_command::CLEAR || m_output == scu_output::GROUP))
            for (u64 i = 0; i < m_table_bytes / 4; ++i) m_table[i] = EMPTY;
        select();
        stop_at_wrong();
        std::vector<u32> values(m_words_of.size());
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = *word(source_of(k));
        return m_streams ? store_stream(values) : store(values);
    }

private:
    static constexpr u32 BASE = memory_map::GLOBAL, EMPTY = ~0u;

    struct Error {
        u32 kind = scu_error::NONE, address = 0;
    };

    u32 get(u32 reg) const { return m_registers[reg / 4]; }
    bool mapped(u32 address) const { return address >= BASE && address < m_end; }
    u32* word(u32 address) const { return m_words + (address - BASE) / 4; }
    static bool bit(const u32* words, u64 number) { return words[number / 32] >> number % 32 & 1; }

    // Before an operation

    /// Decode the command. Throws an Error if there is no such operation.
    void decode() {
        using namespace scu_register;
        m_command = get(COMMAND);
        m_operation = m_command & scu_command::OPERATION;
        m_output = (m_command & scu_command::OUTPUT) >> 4;
        m_compare = (m_command & scu_command::COMPARE) >> 8;
        m_streams = m_operation == scu_operation::STREAM;
        m_rows = m_command & scu_command::ROWS;
        m_looks = m_command & scu_command::LOOKS;
        const bool ordered = get(ORDER), operand = get(OPERAND);
        const bool unique = m_output == scu_output::FILTER_UNIQUE;
        const bool best = m_output == scu_output::FILTER_BEST;
        const bool groups = m_output == scu_output::GROUP;
        const bool bits = m_operation == scu_operation::BITMASK;
        bool wrong = m_operation > scu_operation::STREAM ||
                     (bits && m_compare > scu_compare::GT) || (m_output && ordered) ||
                     (best && !operand && !m_streams) || (m_rows && !m_streams) ||
                     (m_looks && !m_rows);
        if (m_streams)
            wrong |= groups || ordered || !(operand || m_looks) || get(FILTER) || !get(COSTS);
        else
            wrong |= (unique || groups) && operand;
        if (wrong) throw Error{scu_error::OPERATION, m_command};
        m_expands = m_streams || m_operation == scu_operation::ACCESS_EXPANSION;
        m_counted = m_expands || m_operation == scu_operation::REPLICATION;
        m_indexed = m_expands || m_operation == scu_operation::ACCESS;
        m_adds = operand && m_output == scu_output::DATA && !m_streams;
        m_bits = !m_streams && (unique || best || (bits && m_output == scu_output::DATA));
    }

    /// Check addresses and sizes. Throws an Error for wrong ones.
    void check() {
        using namespace scu_register;
        struct Part {
            u32 name;
            u64 size;
        };
        const u64 inputs = get(LENGTH), filters = get(FILTER_LENGTH), operands = get(OPERAND_LENGTH);
        std::vector<Part> parts{{SOURCE, 0}, {DESTINATION, 0}};
        if (get(BITMASK)) parts.push_back({BITMASK, (inputs + 31) / 32 * 4});
        if (m_indexed) parts.push_back({INDEXES, 4 * inputs});
        if (m_counted && !m_rows) parts.push_back({COUNTS, 4 * inputs});
        if (get(FILTER)) parts.push_back({FILTER, (filters + 31) / 32 * 4});
        if (get(ORDER)) parts.push_back({ORDER, 4 * operands});
        if (get(OPERAND) && !m_looks)
            parts.push_back({OPERAND, 4 * (m_streams ? inputs : operands)});
        if (get(COUNT_ADDRESS)) parts.push_back({COUNT_ADDRESS, 4});
        if (m_streams) {
            parts.push_back({COSTS, 0});
            parts.push_back({WEIGHTS, 0});
        }
        for (const Part& part : parts)
            if (get(part.name) % 4) throw Error{scu_error::MISALIGNED, get(part.name)};
        if (m_output) check_table();
        for (const Part& part : parts) check_range(get(part.name), part.size);
    }

    void check_table() {
        using namespace scu_register;
        const u32 table = get(HASH), sets = get(HASH_SETS), ways = get(HASH_WAYS);
        const u32 entry = m_output == scu_output::FILTER_UNIQUE ? 4
                          : m_output == scu_output::FILTER_BEST ? 8
                          : m_line_bytes < 64                   ? m_line_bytes
                                                                : 64;
        if (table % m_line_bytes) throw Error{scu_error::MISALIGNED, table};
        if (!sets || sets & (sets - 1)) throw Error{scu_error::HASH, sets};
        if (!ways || ways & (ways - 1) || u64{ways} * entry > m_line_bytes)
            throw Error{scu_error::HASH, ways};
        const u64 bytes = u64{sets} * ways * entry;
        m_table_bytes = (bytes + m_line_bytes - 1) / m_line_bytes * m_line_bytes;
        check_range(table, m_table_bytes);
        m_table = word(table);
        m_sets = sets;
        m_ways = ways;
        m_entry = entry / 4;
    }

    void check_range(u32 address, u64 size) const {
        if (size && !(address >= BASE && address + size <= m_end))
            throw Error{scu_error::UNMAPPED, address};
    }

    // The stream

    /// Make the elements: the number of its word in SOURCE, and the input of each.
    void select() {
        using namespace scu_register;
        const u32 inputs = get(LENGTH);
        m_words_of.clear();
        m_inputs.clear();
        m_costs.clear();
        std::vector<u32> first(m_rows ? inputs : 0), counts(m_rows ? inputs : 0);
        if (m_rows) look_up(first, counts);
        const u64 room = 32 * (m_end - BASE) / 4 + 1;   // no more elements can be stored
        for (u32 input = 0; input < inputs; ++input) {
            if (get(BITMASK) && !bit(word(get(BITMASK)), input)) continue;
            const u32 index = m_rows      ? first[input]
                              : m_indexed ? word(get(INDEXES))[input]
                                          : input;
            u64 count = m_rows ? counts[input] : m_counted ? word(get(COUNTS))[input] : 1;
            if (count > room - m_words_of.size()) count = room - m_words_of.size();
            for (u32 i = 0; i < count; ++i) {
                m_words_of.push_back(m_expands ? index + i : index);
                m_inputs.push_back(input);
            }
        }
        if (get(FILTER)) filter_stream();
    }

    void filter_stream() {
        using namespace scu_register;
        const u32 length = get(FILTER_LENGTH);
        if (m_words_of.size() > length) {
            m_error = {scu_error::VECTOR, get(FILTER) + length / 32 * 4};
            m_words_of.resize(length);
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < m_words_of.size(); ++i)
            if (bit(word(get(FILTER)), i)) m_words_of[kept++] = m_words_of[i];
        m_words_of.resize(kept);
    }

    /// Look up the row of each input, and its cost, up to the first outside the memory.
    void look_up(std::vector<u32>& first, std::vector<u32>& counts) {
        using namespace scu_register;
        const u32* const keys = word(get(INDEXES));
        m_costs.resize(m_looks ? first.size() : 0);
        for (std::size_t input = 0; input < first.size(); ++input) {
            const u32 row = (keys[input] + get(ROWS)) & ~3u;
            const u32 places[] = {row, row + 4, (keys[input] + get(OPERAND)) & ~3u};
            for (unsigned i = 0; i < (m_looks ? 3 : 2); ++i)
                if (!mapped(places[i])) {
                    m_error = {scu_error::UNMAPPED, places[i]};
                    return;
                }
            first[input] = *word(places[0]);
            counts[input] = *word(places[1]) - first[input];
            if (m_looks) m_costs[input] = *word(places[2]);
        }
    }

    u32 source_of(std::size_t k) const { return get(scu_register::SOURCE) + 4 * m_words_of[k]; }
    u32 weight_of(std::size_t k) const { return get(scu_register::WEIGHTS) + 4 * m_words_of[k]; }

    /// End the stream before the first element that cannot be read, lacks an operand or has no place.
    void stop_at_wrong() {
        using namespace scu_register;
        const u64 count = m_words_of.size(), length = get(OPERAND_LENGTH);
        u64 stop = count;
        // Of several reasons at one element, the one that is found first counts.
        const auto wrong = [&](u64 number, u32 kind, u32 address) {
            if (number >= stop) return;
            stop = number;
            m_error = {kind, address};
        };
        for (u64 k = 0; k < stop; ++k)
            if (!mapped(source_of(k))) wrong(k, scu_error::UNMAPPED, source_of(k));
        if (m_streams && get(WEIGHTS))
            for (u64 k = 0; k < stop; ++k)
                if (!mapped(weight_of(k))) wrong(k, scu_error::UNMAPPED, weight_of(k));
        for (const u32 name : {OPERAND, ORDER})
            if (get(name) && !m_streams)
                wrong(length, scu_error::VECTOR, get(name) + 4 * static_cast<u32>(length));
        if (!get(ORDER))
            for (const u32 name : {DESTINATION, COSTS}) {
                if (name == COSTS && !m_streams) break;
                const u32 output = get(name);
                u64 room = mapped(output) ? (m_end - output) / 4 : 0;
                if (m_bits) room *= 32;
                wrong(room, scu_error::UNMAPPED,
                      output + 4 * static_cast<u32>(m_bits ? room / 32 : room));
            }
        m_words_of.resize(stop);
    }

    // Outputs

    ScuOutcome finish(u32 result, u32 selected) const {
        using namespace scu_register;
        if (get(COUNT_ADDRESS) && !m_error.kind)
            *word(get(COUNT_ADDRESS)) = result + get(COUNT_OFFSET);
        return {result, selected, m_error.kind, m_error.address};
    }

    /// A copy of the first words of a vector, before outputs overwrite them.
    std::vector<u32> vector(u32 name, std::size_t count) const {
        if (!count) return {};
        const u32* const from = word(get(name));
        return {from, from + count};
    }

    ScuOutcome store_stream(const std::vector<u32>& values) {
        using namespace scu_register;
        std::vector<u32> costs(values.size());
        for (std::size_t k = 0; k < values.size(); ++k) {
            costs[k] = m_looks ? m_costs[m_inputs[k]] : word(get(OPERAND))[m_inputs[k]];
            if (get(WEIGHTS)) costs[k] += *word(weight_of(k));
        }
        std::vector<bool> kept(values.size(), true);
        if (m_output) kept = filter(values, kept, costs);
        u32 count = 0;
        for (std::size_t k = 0; k < values.size(); ++k)
            if (kept[k]) word(get(DESTINATION))[count++] = values[k];
        count = 0;
        for (std::size_t k = 0; k < values.size(); ++k)
            if (kept[k]) word(get(COSTS))[count++] = costs[k];
        return finish(count, static_cast<u32>(values.size()));
    }

    ScuOutcome store(std::vector<u32>& values) {
        using namespace scu_register;
        if (m_adds) {
            const u32* const operand = word(get(OPERAND));
            for (std::size_t k = 0; k < values.size(); ++k) values[k] += operand[k];
        }
        std::vector<bool> chosen(values.size(), true);
        if (m_operation == scu_operation::BITMASK)
            for (std::size_t k = 0; k < values.size(); ++k) chosen[k] = holds(values[k]);
        if (m_output == scu_output::GROUP) return group(values, chosen);
        if (m_output)
            chosen = filter(values, chosen,
                            m_output == scu_output::FILTER_BEST ? vector(OPERAND, values.size())
                                                                : values);
        const std::vector<u64> places = places_of(values.size());
        if (!m_bits) {
            for (std::size_t k = 0; k < places.size(); ++k) m_words[places[k]] = values[k];
            return finish(static_cast<u32>(places.size()), 0);
        }
        u32 selected = 0;
        if (!get(ORDER) && !places.empty())         // the rest of the last word is 0
            m_words[places.back() / 32] = 0;
        for (std::size_t k = 0; k < places.size(); ++k) {
            u32& into = m_words[places[k] / 32];
            const u32 mask = 1u << places[k] % 32;
            into = chosen[k] ? into | mask : into & ~mask;
            selected += chosen[k];
        }
        return finish(static_cast<u32>(places.size()), selected);
    }

    /// Whether the comparison of BITMASK holds.
    bool holds(u32 value) const {
        const u32 flip = m_command & scu_command::SIGNED ? 1u << 31 : 0;
        const u32 first = value ^ flip, second = get(scu_register::REFERENCE) ^ flip;
        switch (m_compare) {
        case scu_compare::EQ: return first == second;
        case scu_compare::NE: return first != second;
        case scu_compare::LT: return first < second;
        case scu_compare::GE: return first >= second;
        case scu_compare::LE: return first <= second;
        default: return first > second;
        }
    }

    /// The place of each element, counted in words or bits of the memory, up to the first place
    /// outside the memory.
    std::vector<u64> places_of(std::size_t count) {
        using namespace scu_register;
        const u32 unit = m_bits ? 32 : 1, destination = get(DESTINATION);
        std::vector<u64> found;
        found.reserve(count);
        for (std::size_t k = 0; k < count; ++k) {
            const u32 place = get(ORDER) ? word(get(ORDER))[k] : static_cast<u32>(k);
            const u32 address = destination + 4 * (place / unit);
            if (get(ORDER) && !mapped(address)) {
                m_error = {scu_error::UNMAPPED, address};
                break;
            }
            found.push_back(u64{(address - BASE) / 4} * unit + place % unit);
        }
        return found;
    }

    // The hash table

    u32* set_of(u32 value) const {
        const u32 set = (value ^ value >> 9 ^ value >> 18) & (m_sets - 1);
        return m_table + u64{set} * m_ways * m_entry;
    }

    /// The first empty way of a set, or the one that the element's number chooses.
    u32* free_way(u32* set, std::size_t k) const {
        for (u32 way = 0; way < m_ways; ++way)
            if (set[way * m_entry] == EMPTY) return set + way * m_entry;
        return set + (k & (m_ways - 1)) * m_entry;
    }

    /// For each element, whether it is kept. Elements that are not shown are not.
    std::vector<bool> filter(const std::vector<u32>& values, const std::vector<bool>& shown,
                             const std::vector<u32>& costs) {
        const bool best = m_output == scu_output::FILTER_BEST;
        std::vector<bool> kept(values.size());
        for (std::size_t k = 0; k < values.size(); ++k) {
            if (!shown[k]) continue;
            if (values[k] == EMPTY) {
                kept[k] = true;
                continue;
            }
            u32* const set = set_of(values[k]);
            u32* entry = nullptr;
            for (u32 way = 0; way < m_ways && !entry; ++way)
                if (set[way * m_entry] == values[k]) entry = set + way * m_entry;
            if (entry) {
                kept[k] = best && costs[k] < entry[1];
                if (kept[k]) entry[1] = costs[k];
                continue;
            }
            entry = free_way(set, k);
            kept[k] = true;
            entry[0] = values[k];
            if (best) entry[1] = costs[k];
        }
        return kept;
    }

    /// Store the place of each element in the new order.
    ScuOutcome group(const std::vector<u32>& values, const std::vector<bool>& chosen) {
        const u32 line_words = m_line_bytes / 4, limit = line_words - 1 < 8 ? line_words - 1 : 8;
        u32* const destination = word(get(scu_register::DESTINATION));
        u32 place = 0, groups = 0, count = 0;
        const auto emit = [&](const u32* entry) {
            for (u32 i = 1; i <= (entry[0] & 15); ++i) destination[entry[i]] = place++;
            ++groups;
        };
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (!chosen[i]) continue;
            const u32 k = count++;
            const u32 line = (values[i] >> __builtin_ctz(line_words)) & 0xFFF'FFFF;
            u32* const set = set_of(line);
            u32* entry = nullptr;
            for (u32 way = 0; way < m_ways && !entry; ++way) {
                u32* const candidate = set + way * m_entry;
                if (candidate[0] != EMPTY && candidate[0] >> 4 == line) entry = candidate;
            }
            if (entry) {
                ++entry[0];
            } else {
                entry = free_way(set, k);
                if (entry[0] != EMPTY) emit(entry);
                entry[0] = line << 4 | 1;
            }
            entry[entry[0] & 15] = k;
            if ((entry[0] & 15) == limit) {
                emit(entry);
                entry[0] = EMPTY;
            }
        }
        for (u64 way = 0; way < u64{m_sets} * m_ways; ++way)
            if (m_table[way * m_entry] != EMPTY) emit(m_table + way * m_entry);
        return finish(count, groups);
    }

    u32* const m_words;             // global memory
    const u64 m_end;
    const u32 m_line_bytes;
    const u32* m_registers = nullptr;
    u32 m_command = 0, m_operation = 0, m_output = 0, m_compare = 0;
    bool m_streams = false, m_rows = false, m_looks = false;    // STREAM; its look-ups
    bool m_expands = false, m_counted = false, m_indexed = false;
    bool m_adds = false;            // OPERAND is added
    bool m_bits = false;            // elements become bits
    u32* m_table = nullptr;         // the hash table, and its shape in entries of m_entry words
    u64 m_table_bytes = 0;
    u32 m_sets = 0, m_ways = 0, m_entry = 0;
    std::vector<u32> m_words_of, m_inputs;  // of each element: its word of SOURCE, its input
    std::vector<u32> m_costs;               // looked up, of each input
    Error m_error;
};
