// EGHW (hw/gather/eghw).

#pragma once

#include <deque>

#include "../reader.h"

/// Reads vertex IDs, offsets and edges, and stores records in local memory.
class Eghw final : public ReadingUnit {
public:
    Eghw(const Config& config, const Memory& memory)
        : ReadingUnit{config, memory}, m_registered(config.table_rows) {
        reset();
    }

    void reset() override {
        clear_settings();
        for (auto& row : m_registered) row = {};
        m_read.clear();
        m_serving.clear();
        m_has_current = false;
    }

    void set(u32 number, u32 value) override { m_settings[number & 31] = value; }

    void enter(u32 warp, u32 distance, u32 mask, const u32*, const u32*, const u32*) override {
        if (warp + distance < m_registered.size()) m_registered[warp + distance] = {true, mask};
        settle();
    }

    void skip(u32, u32 mask, const u32* vids) override {
        if (m_has_current && among(m_current.vertex, mask, vids)) {
            m_has_current = false;
            settle();
        }
    }

    bool decode(u32 warp, Answer& answer) override {
        u32 filled = 0;
        for (u32 lane = 0; lane < m_threads; ++lane) answer.ids[lane] = answer.places[lane] = NONE;
        while (filled < m_threads && m_has_current) {
            answer.ids[filled] = m_current.vertex;
            record(warp, filled, m_current.edge++);
            ++filled;
            settle();
        }
        answer.mask = going_on(filled);
        return true;
    }

private:
    struct Entry {
        u32 vertex, edge, end;
    };
    struct Lanes {
        bool registered = false;
        u32 mask = 0;
    };

    /// Move rows and entries on as far as possible.
    void settle() {
        for (;;) {
            if (m_has_current && m_current.edge == m_current.end) {
                m_has_current = false;
            } else if (!m_has_current && !m_serving.empty()) {
                m_current = m_serving.front();
                m_serving.pop_front();
                m_has_current = true;
            } else if (m_serving.empty() && !m_read.empty()) {
                m_serving.swap(m_read);
            } else if (!m_read.empty() || !read_row()) {
                return;
            }
        }
    }

    /// Read the IDs of the next row, and the offsets of its vertices. False if there is no row.
    bool read_row() {
        for (u32 row = 0; row < m_registered.size(); ++row) {
            if (!m_registered[row].registered) continue;
            m_registered[row].registered = false;
            each_lane(m_registered[row].mask, [&](unsigned lane) {
                const u32 vertex = m_memory.load(local(setting::IDS, row, lane), lane);
                if (vertex == NONE) return;
                const u32 place = vertex + m_settings[setting::OFFSETS];
                const u32 edge = m_memory.load(place, lane);
                m_read.push_back({vertex, edge, m_memory.load(place + 4, lane)});
            });
            return true;
        }
        return false;
    }

    /// Load an edge and store its record.
    void record(u32 warp, u32 lane, u32 edge) const {
        const u32 weights = m_settings[setting::WEIGHTS], row = warp * (weights ? 2 : 1);
        m_memory.store(local(setting::RECORDS, row, lane), beside(edge, 0, lane), lane);
        if (weights)
            m_memory.store(local(setting::RECORDS, row + 1, lane), beside(edge, weights, lane), lane);
    }

    /// The address of a lane's word in a row of local memory.
    u32 local(u32 number, u32 row, u32 lane) const {
        const u32 size = 4 * m_threads;
        return (m_settings[number] & -size) + row * size + 4 * lane;
    }

    std::vector<Lanes> m_registered;
    std::deque<Entry> m_read, m_serving;    // of the row read last, and of the row before
    Entry m_current;
    bool m_has_current;
};

inline std::unique_ptr<GatherUnit> make_eghw(const Config& config, const Memory& memory) {
    return std::make_unique<Eghw>(config, memory);
}
