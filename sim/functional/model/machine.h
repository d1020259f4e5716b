// What all parts of the functional simulator share: the configuration, decoded instructions, errors,
// and the memories. `isa.h` is generated from hw/ by sim/functional/build.py.

#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "isa.h"

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

/// The most lanes of a warp, and cores of a GPU.
constexpr unsigned MOST_LANES = 32;

/// The fields of hw.config.HardwareConfig that have a meaning without time.
/// sim/functional/library.py has the same structure.
struct Config {
    u32 cores, warps, threads;
    u32 imem_bytes, local_bytes, memory_bytes, line_bytes;
    u32 barriers;
    u32 graphpeg_filter;
    u32 gather;             ///< a constant of namespace `gather`
    u32 table_rows;         ///< rows of the Weaver's sparse table
    u32 rows_under_way;     ///< rows that a late table can have under way

    u32 full() const { return threads == 32 ? ~0u : (1u << threads) - 1; }
};

/// An instruction as sim/functional/decode.py decodes it. A result for x0 goes to register 32.
struct Instruction {
    Op op;
    u8 rd, rs1, rs2, rs3;
    u8 sets_sp;             ///< whether it is an instruction of the ALU that writes the stack pointer
    u16 csr;                ///< of a floating-point instruction, its rounding mode
    u32 imm;                ///< constants and targets of jumps are complete: they include the PC
    u32 word;
};
static_assert(sizeof(Instruction) == 16);

/// The register for results that are written to x0. Nothing reads the register.
constexpr unsigned DISCARD = 32;

/// An instruction failed. `lane` is that of a load, store, atomic or stack, else 0.
struct Trap {
    u32 cause, address, lane = 0;
};

/// Words of global and of one core's local memory.
struct Memory {
    u8* global;
    u32 global_bytes;
    u8* local;
    u32 local_bytes;

    /// The place of an aligned address, or null if the address is unmapped.
    u8* place(u32 address) const {
        const u32 in_global = address - memory_map::GLOBAL, in_local = address - memory_map::LOCAL;
        if (in_global < global_bytes) return global + in_global;
        if (in_local < local_bytes) return local + in_local;
        return nullptr;
    }

    /// A word that a unit, not an instruction, reads for a lane.
    u32 load(u32 address, u32 lane) const {
        u32 word;
        std::memcpy(&word, checked(address, lane, cause::LOAD_MISALIGNED, cause::LOAD_ACCESS), 4);
        return word;
    }

    void store(u32 address, u32 word, u32 lane) const {
        std::memcpy(checked(address, lane, cause::STORE_MISALIGNED, cause::STORE_ACCESS), &word, 4);
    }

private:
    u8* checked(u32 address, u32 lane, u32 misaligned, u32 unmapped) const {
        if (address & 3) throw Trap{misaligned, address, lane};
        u8* found = place(address);
        if (!found) throw Trap{unmapped, address, lane};
        return found;
    }
};

/// Calls a function with the number of each bit that is set, from the lowest on.
template <typename F>
inline void each_lane(u32 mask, F function) {
    for (; mask; mask &= mask - 1) function(static_cast<unsigned>(__builtin_ctz(mask)));
}
