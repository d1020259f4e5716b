// Values of all lanes of a warp as one vector. The compiler makes of it as many instructions of the
// processor as the lanes need. Comparisons give all ones in a lane where they hold, else zero.

#pragma once

#include "machine.h"

/// Vectors by their number of lanes. GCC knows no vector whose size is a parameter of a template.
template <unsigned L>
struct VectorOf;

#define VECTORS(lanes) \
    template <> \
    struct VectorOf<lanes> { \
        typedef u32 Unsigned __attribute__((vector_size(4 * lanes))); \
        typedef i32 Signed __attribute__((vector_size(4 * lanes))); \
    };
VECTORS(8)
VECTORS(16)
VECTORS(32)
#undef VECTORS

template <unsigned L>
struct Lanes {
    using Vector = typename VectorOf<L>::Unsigned;
    using Signed = typename VectorOf<L>::Signed;

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

    /// The upper half of each product of 64 bits. `First` and `Second`, i32 or u32, say
    /// how the operands are extended.
    template <typename First, typename Second>
    static Vector high_product(const Vector& first, const Vector& second) {
        Vector found{};
        for (unsigned lane = 0; lane < L; ++lane) {
            const u64 product = static_cast<u64>(static_cast<i64>(static_cast<First>(first[lane]))) *
                                static_cast<u64>(static_cast<i64>(static_cast<Second>(second[lane])));
            found[lane] = static_cast<u32>(product >> 32);
        }
        return found;
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
