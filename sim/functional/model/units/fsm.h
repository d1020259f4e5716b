// The Weaver (hw/gather/fsm).

#pragma once

#include "../weaver.h"

/// The state machine of the SparseWeaver paper. The scan is on one row, whose
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

inline std::unique_ptr<GatherUnit> make_fsm(const Config& config, const Memory&) {
    return std::make_unique<FsmWeaver>(config);
}
