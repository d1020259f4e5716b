// The state of a warp: registers, thread mask, divergence stack.

#pragma once

#include "lanes.h"

/// An entry of the divergence stack.
struct Divergence {
    u32 mask;       ///< before the SPLIT
    u32 others;     ///< lanes that have not gone on yet
    u32 resume;     ///< their PC
    bool switched;  ///< whether they have
};

template <unsigned L>
struct Warp {
    using Vector = typename Lanes<L>::Vector;

    Vector registers[33];       // 0 stays 0; 32 is DISCARD
    Vector active_lanes;        // all ones in active lanes; follows from `mask`, as the next three
    u32 mask, lowest, active;
    u32 pc, phase, number;
    u32 fcsr;                   // FRM above the five bits of FFLAGS
    bool ready;                 // whether the warp can execute an instruction
    bool asks;                  // whether it waits for the unit that hands out edges
    bool waits;                 // whether it waits at `barrier`, since the BAR at `waits_pc`
    u32 barrier, waits_pc;
    u32 depth;                  // entries of the stack
    Divergence stack[MOST_LANES];

    const u32* lanes(unsigned number) const {
        return reinterpret_cast<const u32*>(&registers[number]);
    }
    u32 scalar(unsigned number) const { return registers[number][lowest]; }

    /// The lowest lane's value of a register becomes those of all active lanes.
    void set(unsigned number, const Vector& value, u32 full) {
        Vector& to = registers[number];
        to = mask == full ? value : Lanes<L>::blend(active_lanes, value, to);
    }
};
