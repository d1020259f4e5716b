// The units that hand out edges, as the instructions see them. Each file of units/ has one, and a
// function make_NAME; nothing here knows of time. A unit answers at once, or says that the warp has to wait until
// another warp has told the unit something.

#pragma once

#include <memory>

#include "machine.h"

/// VIDs in answers: no work, and the request to register the next row.
constexpr u32 NONE = gather_answer::NONE, REGISTER = gather_answer::REGISTER;

/// The answer to an instruction that asks for work: `ids` go to rd, `places` to the second register
/// of DEC. `mask` becomes the warp's thread mask.
struct Answer {
    u32 mask;
    u32 ids[MOST_LANES], places[MOST_LANES];
};

class GatherUnit {
public:
    virtual ~GatherUnit() = default;

    /// Forget everything, as a launch does.
    virtual void reset() = 0;
    /// GATHER_SET.
    virtual void set(u32 /*number*/, u32 /*value*/) {}
    /// WEAVER_REG for the lanes in `mask`, in row `warp + distance`.
    virtual void enter(u32 /*warp*/, u32 /*distance*/, u32 /*mask*/, const u32* /*vids*/,
                       const u32* /*locs*/, const u32* /*degrees*/) {}
    /// WEAVER_SKIP of the VIDs of the lanes in `mask`.
    virtual void skip(u32 /*warp*/, u32 /*mask*/, const u32* /*vids*/) {}
    /// WEAVER_DEC_ID and WEAVER_DEC. False if the warp has to wait.
    virtual bool decode(u32 warp, Answer& answer) = 0;
    /// POP_VERT. False if the warp has to wait.
    virtual bool pop(u32 /*warp*/, Answer& /*answer*/) { return false; }
    /// PUSH of the words of the lanes in `mask`.
    virtual void push(u32 /*mask*/, const u32* /*words*/) {}
    /// One word a lane of the warp's last work: WEAVER_DEC_LOC, NEIGHBOR, WEIGHT.
    virtual const u32* locations(u32 /*warp*/) const { return nullptr; }
    virtual const u32* neighbors(u32 /*warp*/) const { return nullptr; }
    virtual const u32* weights(u32 /*warp*/) const { return nullptr; }

protected:
    GatherUnit(const Config& config) : m_config{config}, m_threads{config.threads} {}

    /// The lanes that go on if the lowest `filled` have work: all lanes if none has.
    u32 going_on(u32 filled) const {
        return filled == 0 || filled >= m_threads ? m_config.full() : (1u << filled) - 1;
    }

    const Config m_config;
    const u32 m_threads;
};

/// Whether a VID is among those of the lanes in `mask`.
inline bool among(u32 vid, u32 mask, const u32* vids) {
    bool found = false;
    each_lane(mask, [&](unsigned lane) { found |= vids[lane] == vid; });
    return found;
}

/// The unit of a configuration; null if it has none.
std::unique_ptr<GatherUnit> make_gather_unit(const Config& config, const Memory& memory);
