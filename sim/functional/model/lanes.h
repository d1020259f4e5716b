// Values of all lanes of a warp as one vector. The compiler makes of it as many instructions of the
// processor as the lanes need. Comparisons give all ones in a lane where they hold, else zero.

#pragma once

#include "machine.h"

template <unsigned L>
struct Lanes {
    typedef u32 Vector __attribute__((vector_size(4 * L)));
    typedef i32 Signed __attribute__((vector_size(4 * L)));
    typedef u64 Wide __attribute__((vector_size(8 * L)));
    typedef i64 SignedWide __attribute__((vector_size(8 * L)));

    static Vector all(u32 value) { return Vector{} + value; }

    /// 0, 1, 2 and so on.
    static Vector numbers() {
        Vector found{};
        for (unsigned lane = 0; lane < L; ++lane) found[lane] = lane;
        return found;
    }

    static Vector bits() {
        Vector found{};
        for (unsigned lane = 0; lane < L; ++lane) found[lane] = 1u << lane;
        return found;
    }

    /// All ones in the lanes whose bit is set.
    static Vector of_mask(u32 mask) { return (Vector)((all(mask) & bits()) != 0); }

    /// A bit for each lane that is not 0.
    static u32 nonzero(const Vector& values) {
        const Vector found = (Vector)(values != 0) & bits();
        u32 mask = 0;
        for (unsigned lane = 0; lane < L; ++lane) mask |= found[lane];
        return mask;
    }

    static bool any(const Vector& values) {
        u32 found = 0;
        for (unsigned lane = 0; lane < L; ++lane) found |= values[lane];
        return found;
    }

    static Vector blend(const Vector& mask, const Vector& value, const Vector& other) {
        return (value & mask) | (other & ~mask);
    }

    /// The upper half of each product of 64 bits.
    static Vector high(const Wide& product) {
        return __builtin_convertvector(product >> 32, Vector);
    }
    static Wide wide(const Vector& values) { return __builtin_convertvector(values, Wide); }
    static Wide signed_wide(const Vector& values) {
        return (Wide)__builtin_convertvector((Signed)values, SignedWide);
    }
};

/// Division as RISC-V has it. In 64 bits -2**31 / -1 is no overflow.
inline u32 divide(u32 first, u32 second) {
    return second ? static_cast<u32>(i64{static_cast<i32>(first)} / static_cast<i32>(second)) : ~0u;
}
inline u32 divide_unsigned(u32 first, u32 second) { return second ? first / second : ~0u; }
inline u32 remainder(u32 first, u32 second) {
    return second ? static_cast<u32>(i64{static_cast<i32>(first)} % static_cast<i32>(second)) : first;
}
inline u32 remainder_unsigned(u32 first, u32 second) { return second ? first % second : first; }
