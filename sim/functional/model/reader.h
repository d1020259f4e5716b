// What the units share that read the graph themselves. A wrong address raises the trap of a load or
// store.

#pragma once

#include "gather.h"

/// Memory and settings.
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
