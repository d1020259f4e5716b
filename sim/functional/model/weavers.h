// The Weavers: units that hand out the edges of registered rows (hw/gather/fsm.py, scan.py,
// stream.py).

#pragma once

#include <deque>

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

/// `gather = "fsm"`: the state machine of the SparseWeaver paper. The scan is on one row, whose
/// contents were copied when it was taken, and loads an entry after the other.
class FsmWeaver final : public Weaver {
public:
    FsmWeaver(const Config& config) : Weaver{config}, m_table{config} { reset(); }

    void reset() override {
        m_table.clear();
        clear_dense();
        m_row = m_left = 0;
        m_current = {};
    }

    void enter(u32 warp, u32 distance, u32 mask, const u32* vids, const u32* locs,
               const u32* degrees) override {
        const u32 row = warp + distance;
        if (row >= m_table.size()) return;
        if (row == m_row) m_left &= ~mask;
        m_table.write(row, mask, vids, locs, degrees);
    }

    void skip(u32, u32 mask, const u32* vids) override {
        if (among(m_current.vid, mask, vids)) m_current.degree = 0;
    }

    bool decode(u32 warp, Answer& answer) override {
        u32* dense = begin(warp, answer);
        u32 filled = 0;
        while (filled < m_threads && (m_current.degree || load()))
            filled = give(m_current, filled, dense, answer);
        answer.mask = going_on(filled);
        return true;
    }

private:
    /// Load the next entry. False if nothing is registered.
    bool load() {
        if (!m_left) {
            const u32 row = m_table.first();
            if (row == m_table.size()) return false;
            m_row = row;
            m_taken = m_table[row];
            m_left = m_taken.valid;
            m_table[row].valid = 0;
        }
        const unsigned lane = __builtin_ctz(m_left);
        m_left &= m_left - 1;
        m_current = {m_taken.vids[lane], m_taken.positions[lane], m_taken.degrees[lane], 0};
        return true;
    }

    SparseTable m_table;
    SparseTable::Row m_taken;   // the row that the scan is on, as it was when taken
    u32 m_row, m_left;          // its number; its lanes that are still to be loaded
    Entry m_current;
};

/// `gather = "scan"`: rows leave the table as soon as the window has room, from the first decode of
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

/// `gather = "stream"`: a Weaver without rounds. Rows leave the table in turn; a warp whose rows have
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
        m_open |= 1u << warp;
        m_owners[row] = warp;
        m_table.write(row, mask, vids, locs, degrees);
        if (m_table[row].valid) m_present[row] = true;
        settle();
    }

    void skip(u32 warp, u32 mask, const u32* vids) override {
        if (among(NONE, mask, vids)) m_open &= ~(1u << warp);
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
    u32 m_last_vid, m_turn, m_open; // m_open: a bit for each warp
};
