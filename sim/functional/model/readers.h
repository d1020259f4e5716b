// The units that read the graph themselves (hw/gather/eghw, hw/gather/graphpeg). A wrong address
// raises the trap of a load or store.

#pragma once

#include <deque>

#include "gather.h"

/// The part that both units share: memory and settings.
class ReadingUnit : public GatherUnit {
protected:
    ReadingUnit(const Config& config, const Memory& memory) : GatherUnit{config}, m_memory{memory} {}

    void clear_settings() { std::memset(m_settings, 0, sizeof m_settings); }

    /// The word beside an edge's neighbour, `distance` bytes away.
    u32 beside(u32 edge, u32 distance, u32 lane) const {
        return m_memory.load((edge << 2) + distance, lane);
    }

    const Memory& m_memory;
    u32 m_settings[32];
};

/// `gather = "eghw"`: reads vertex IDs, offsets and edges, and stores records in local memory.
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

/// `gather = "graphpeg"`: reads the input list, offsets and edges, and stores the output list. Cores
/// exchange no edges here: each hands out those of its own input.
class Graphpeg final : public ReadingUnit {
public:
    Graphpeg(const Config& config, const Memory& memory)
        : ReadingUnit{config, memory}, m_neighbors(config.warps * MOST_LANES),
          m_weights(config.warps * MOST_LANES) {
        reset();
    }

    void reset() override {
        clear_settings();
        m_started = false;
        m_entries.clear();
        m_vertices.clear();
        m_neighbors.assign(m_neighbors.size(), 0);
        m_weights.assign(m_weights.size(), 0);
        m_pushed = 0;
    }

    void set(u32 number, u32 value) override {
        m_settings[number & 31] = value;
        if (number == setting::START) {
            start(value);
        } else if (number == setting::CLOSE) {
            m_memory.store(m_settings[setting::COUNT], m_pushed, 0);
            m_pushed = 0;
        }
    }

    bool decode(u32 warp, Answer& answer) override {
        if (!m_started) return false;
        u32* neighbors = &m_neighbors[warp * MOST_LANES];
        u32* weights = &m_weights[warp * MOST_LANES];
        const u32 distance = m_settings[setting::WEIGHTS];
        u32 filled = 0;
        while (filled < m_threads && !m_entries.empty()) {
            Entry& entry = m_entries.front();
            neighbors[filled] = beside(entry.edge, 0, 0);
            weights[filled] = distance ? beside(entry.edge, distance, 0) : 0;
            answer.ids[filled] = entry.vertex;
            answer.places[filled] = neighbors[filled];
            if (++entry.edge == entry.end) m_entries.pop_front();
            ++filled;
        }
        finish(filled, answer);
        return true;
    }

    bool pop(u32, Answer& answer) override {
        if (!m_started) return false;
        u32 filled = 0;
        for (; filled < m_threads && !m_vertices.empty(); ++filled) {
            answer.ids[filled] = m_vertices.front();
            m_vertices.pop_front();
        }
        finish(filled, answer);
        return true;
    }

    void push(u32 mask, const u32* words) override {
        each_lane(mask, [&](unsigned lane) {
            // A push beyond the list's limit fails.
            const u32 place = m_pushed < m_settings[setting::LIMIT]
                                  ? m_settings[setting::OUTPUT] + 4 * m_pushed
                                  : memory_map::UNMAPPED;
            m_memory.store(place, words[lane], 0);
            ++m_pushed;
        });
    }

    const u32* neighbors(u32 warp) const override { return &m_neighbors[warp * MOST_LANES]; }
    const u32* weights(u32 warp) const override { return &m_weights[warp * MOST_LANES]; }

private:
    struct Entry {
        u32 vertex, edge, end;
    };

    /// Read the input, and the offsets of its vertices.
    void start(u32 value) {
        m_started = true;
        const u32 count = value & ~(input_mode::LIST | input_mode::RANGE);
        for (u32 index = 0; index < count; ++index) {
            const u32 place = m_settings[setting::INPUT] + 4 * index;
            const u32 vertex = value & input_mode::RANGE ? place : m_memory.load(place, 0);
            if (value & input_mode::LIST) {
                m_vertices.push_back(vertex);
                continue;
            }
            const u32 offsets = vertex + m_settings[setting::OFFSETS];
            const u32 edge = m_memory.load(offsets, 0), end = m_memory.load(offsets + 4, 0);
            if (edge != end) m_entries.push_back({vertex, edge, end});
        }
    }

    void finish(u32 filled, Answer& answer) const {
        for (u32 lane = filled; lane < m_threads; ++lane) answer.ids[lane] = answer.places[lane] = NONE;
        answer.mask = going_on(filled);
    }

    bool m_started;
    std::deque<Entry> m_entries;    // none of them empty
    std::deque<u32> m_vertices;     // for POP_VERT
    std::vector<u32> m_neighbors, m_weights;
    u32 m_pushed;                   // vertices in the output list that is open
};
