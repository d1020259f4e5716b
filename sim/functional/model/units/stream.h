// The Weaver without rounds (hw/gather/stream).

#pragma once

#include <deque>

#include "../weaver.h"

/// A Weaver without rounds. Rows leave the table in turn; a warp whose rows have
/// left is told to register the next.
class StreamWeaver final : public Weaver {
public:
    StreamWeaver(const Config& config)
        : Weaver{config}, m_table{config}, m_present(config.table_rows), m_owners(config.table_rows),
          m_most{1 + config.rows_under_way} {
        reset();
    }

    void reset() override {
        m_table.clear();
        clear_dense();
        m_present.assign(m_present.size(), false);
        m_taken.clear();
        m_output.clear();
        m_turn = m_open = 0;
        m_current = {};
        m_last = 0;
        m_last_vid = NONE;
    }

    void enter(u32 warp, u32 distance, u32 mask, const u32* vids, const u32* locs,
               const u32* degrees) override {
        const u32 row = warp + distance;
        if (row >= m_table.size()) return;
        m_open |= u64{1} << warp;
        m_owners[row] = warp;
        m_table.write(row, mask, vids, locs, degrees);
        if (m_table[row].valid) m_present[row] = true;
        settle();
    }

    void skip(u32 warp, u32 mask, const u32* vids) override {
        if (among(NONE, mask, vids)) m_open &= ~(u64{1} << warp);
        if (m_last && among(m_last_vid, mask, vids)) {
            std::size_t kept = 0;
            for (const Edge& edge : m_output)
                if (edge.entry != m_last) m_output[kept++] = edge;
            m_output.resize(kept);
            if (m_current.number == m_last) m_current = {};
            settle();
        }
    }

    bool decode(u32 warp, Answer& answer) override {
        u32 id = NONE;
        bool gives = false;
        if (m_open >> warp & 1 && !owns(warp)) {
            id = REGISTER;
        } else if (m_output.size() == m_threads ||
                   (!m_open && !any_present() && m_taken.empty() && !m_current.degree)) {
            gives = true;
        } else {
            return false;
        }
        u32* dense = begin(warp, answer);
        u32 filled = 0;
        for (u32 lane = 0; lane < m_threads; ++lane) answer.ids[lane] = id;
        if (gives) {
            for (const Edge& edge : m_output) {
                answer.ids[filled] = edge.vid;
                dense[filled] = edge.eid;
                answer.places[filled++] = edge.eid << 2;
                m_last = edge.entry;
                m_last_vid = edge.vid;
            }
            m_output.clear();
        }
        answer.mask = going_on(filled);
        settle();
        return true;
    }

private:
    struct Edge {
        u32 vid, eid;
        u64 entry;
    };

    bool owns(u32 warp) const {
        for (u32 row = 0; row < m_present.size(); ++row)
            if (m_present[row] && m_owners[row] == warp) return true;
        return false;
    }

    bool any_present() const {
        for (const bool present : m_present)
            if (present) return true;
        return false;
    }

    /// Move rows and edges on as far as possible.
    void settle() {
        for (;;) {
            if (m_current.degree && m_output.size() < m_threads) {
                m_output.push_back({m_current.vid, m_current.position++, m_current.number});
                if (!--m_current.degree) m_current = {};
            } else if (!m_current.degree && !m_taken.empty()) {
                m_current = m_taken.front().front();
                m_taken.front().pop_front();
                if (m_taken.front().empty()) m_taken.pop_front();
            } else if (m_taken.size() < m_most && any_present()) {
                take();
            } else {
                return;
            }
        }
    }

    /// Take the next row of the table, from the one in turn on.
    void take() {
        const u32 rows = m_table.size();
        u32 number = m_turn % rows;
        while (!m_present[number]) number = (number + 1) % rows;
        auto& row = m_table[number];
        std::deque<Entry> entries;
        each_lane(row.valid, [&](unsigned lane) {
            entries.push_back({row.vids[lane], row.positions[lane], row.degrees[lane], ++m_numbers});
        });
        if (!entries.empty()) m_taken.push_back(std::move(entries));
        row.valid = 0;
        m_present[number] = false;
        m_turn = number + 1;
    }

    SparseTable m_table;
    std::vector<bool> m_present;    // rows of the table; one may have lost all its entries
    std::vector<u32> m_owners;      // the warp that registered a row last
    const std::size_t m_most;
    std::deque<std::deque<Entry>> m_taken;
    std::vector<Edge> m_output;
    Entry m_current;                // degree 0 if there is none
    u64 m_numbers = 0, m_last;      // m_last: the entry handed out last, 0 if none was
    u32 m_last_vid, m_turn;
    u64 m_open; // a bit for each warp
};

inline std::unique_ptr<GatherUnit> make_stream(const Config& config, const Memory&) {
    return std::make_unique<StreamWeaver>(config);
}
