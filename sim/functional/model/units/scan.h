// The Weaver with a row a step (hw/gather/scan).

#pragma once

#include <deque>

#include "../weaver.h"

/// Rows leave the table as soon as the window has room, from the first decode of
/// a round until no edge is left.
class ScanWeaver final : public Weaver {
public:
    ScanWeaver(const Config& config)
        : Weaver{config}, m_table{config}, m_most{2 + config.rows_under_way} {
        reset();
    }

    void reset() override {
        m_table.clear();
        clear_dense();
        m_window.clear();
        m_started = m_divided = false;
    }

    void enter(u32 warp, u32 distance, u32 mask, const u32* vids, const u32* locs,
               const u32* degrees) override {
        if (warp + distance < m_table.size())
            m_table.write(warp + distance, mask, vids, locs, degrees);
        settle();
    }

    void skip(u32, u32 mask, const u32* vids) override {
        if (m_divided && among(m_window.front().front().vid, mask, vids)) {
            m_divided = false;
            drop();
        }
    }

    bool decode(u32 warp, Answer& answer) override {
        m_started = true;
        settle();
        u32* dense = begin(warp, answer);
        u32 filled = 0;
        while (filled < m_threads && !m_window.empty()) {
            Entry& entry = m_window.front().front();
            filled = give(entry, filled, dense, answer);
            m_divided = entry.degree > 0;
            if (!m_divided) drop();
        }
        answer.mask = going_on(filled);
        return true;
    }

private:
    /// Drop the first entry of the window.
    void drop() {
        m_window.front().pop_front();
        if (m_window.front().empty()) m_window.pop_front();
        settle();
    }

    /// Take rows while there is room.
    void settle() {
        while (m_started && m_window.size() < m_most) {
            const u32 number = m_table.first();
            if (number == m_table.size()) break;
            auto& row = m_table[number];
            m_window.emplace_back();
            each_lane(row.valid, [&](unsigned lane) {
                m_window.back().push_back(
                    {row.vids[lane], row.positions[lane], row.degrees[lane], 0});
            });
            row.valid = 0;
        }
        m_started = m_started && !m_window.empty();
    }

    SparseTable m_table;
    const std::size_t m_most;
    std::deque<std::deque<Entry>> m_window;
    bool m_started, m_divided;      // m_divided: edges of the first entry were handed out
};

inline std::unique_ptr<GatherUnit> make_scan(const Config& config, const Memory&) {
    return std::make_unique<ScanWeaver>(config);
}
