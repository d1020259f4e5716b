// What all Weavers share: units that hand out the edges of registered rows.

#pragma once

#include "gather.h"

/// The part that all Weavers share: the dense table, which keeps the EIDs of each warp's last work.
class Weaver : public GatherUnit {
public:
    const u32* locations(u32 warp) const override { return &m_dense[warp * MOST_LANES]; }

protected:
    struct Entry {
        u32 vid, position, degree;
        u64 number;         ///< tells entries of the same VID apart
    };

    Weaver(const Config& config) : GatherUnit{config}, m_dense(config.warps * MOST_LANES, NONE) {}

    void clear_dense() { m_dense.assign(m_dense.size(), NONE); }

    /// The answer of lanes without work. The EIDs of the warp's last work are forgotten.
    u32* begin(u32 warp, Answer& answer) {
        u32* dense = &m_dense[warp * MOST_LANES];
        for (u32 lane = 0; lane < m_threads; ++lane)
            dense[lane] = answer.ids[lane] = answer.places[lane] = NONE;
        return dense;
    }

    /// Hand out the next edges of an entry from lane `filled` on. Returns the lanes filled then.
    u32 give(Entry& entry, u32 filled, u32* dense, Answer& answer) const {
        u32 count = m_threads - filled;
        if (entry.degree < count) count = entry.degree;
        for (u32 i = 0; i < count; ++i) {
            const u32 eid = entry.position + i;
            answer.ids[filled + i] = entry.vid;
            dense[filled + i] = eid;
            answer.places[filled + i] = eid << 2;
        }
        entry.position += count;
        entry.degree -= count;
        return filled + count;
    }

    std::vector<u32> m_dense;
};

/// A sparse table: rows of one entry a lane.
class SparseTable {
public:
    SparseTable(const Config& config) : m_rows(config.table_rows) {}

    struct Row {
        u32 valid = 0;
        u32 vids[MOST_LANES], positions[MOST_LANES], degrees[MOST_LANES];
    };

    u32 size() const { return static_cast<u32>(m_rows.size()); }
    Row& operator[](u32 row) { return m_rows[row]; }
    void clear() {
        for (auto& row : m_rows) row.valid = 0;
    }

    /// Entries replace those of the same lanes. A degree of 0 leaves a lane empty.
    void write(u32 number, u32 mask, const u32* vids, const u32* locs, const u32* degrees) {
        Row& row = m_rows[number];
        each_lane(mask, [&](unsigned lane) {
            row.vids[lane] = vids[lane];
            row.positions[lane] = locs[lane];
            row.degrees[lane] = degrees[lane];
            const u32 bit = 1u << lane;
            row.valid = degrees[lane] ? row.valid | bit : row.valid & ~bit;
        });
    }

    /// The lowest row with an entry, or size().
    u32 first() const {
        u32 row = 0;
        while (row < size() && !m_rows[row].valid) ++row;
        return row;
    }

private:
    std::vector<Row> m_rows;
};
