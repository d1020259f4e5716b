// GraphPEG (hw/gather/graphpeg).

#pragma once

#include <algorithm>
#include <deque>

#include "../reader.h"

/// Reads the input list, offsets and edges, and stores the output list. Cores
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
            const u32 vertex = entry.vertex, neighbor = beside(entry.edge, 0, 0);
            const u32 weight = distance ? beside(entry.edge, distance, 0) : 0;
            if (++entry.edge == entry.end) m_entries.pop_front();
            if (!counts(vertex, neighbor, weight)) continue;
            answer.ids[filled] = vertex;
            answer.places[filled] = neighbors[filled] = neighbor;
            weights[filled++] = weight;
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

    /// Whether an edge is handed out, by the words of now.
    bool counts(u32 vertex, u32 neighbor, u32 weight) const {
        using namespace edge_test;
        const u32 test = m_settings[setting::TEST];
        if (!m_config.graphpeg_filter || !(test & (ABOVE | BELOW | EQUAL))) return true;
        const u32 word = m_memory.load(neighbor + m_settings[setting::VALUES], 0);
        u64 other = test & BASE ? m_memory.load(vertex + m_settings[setting::BASES], 0)
                                : m_settings[setting::BOUND];
        if (test & WEIGHT) other = std::min<u64>(other + weight, ~0u);
        return test & (word > other ? ABOVE : word < other ? BELOW : EQUAL);
    }

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

inline std::unique_ptr<GatherUnit> make_graphpeg(const Config& config, const Memory& memory) {
    return std::make_unique<Graphpeg>(config, memory);
}
