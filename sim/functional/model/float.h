// Single-precision arithmetic on integers, so that nothing depends on the processor that simulates.
// Every result is computed with enough bits, of which the lowest stands for all that lie lower, and
// is rounded once.

#pragma once

#include "machine.h"

namespace floating {

enum Mode : u32 { NEAREST, ZERO, DOWN, UP, AWAY, DYNAMIC = 7 };
enum Flag : u32 { INEXACT = 1, UNDERFLOW = 2, OVERFLOW = 4, BY_ZERO = 8, INVALID = 16 };

constexpr u32 SIGN = 1u << 31, INFINITE = 0x7f800000, CANONICAL = 0x7fc00000;

/// What an operation gives.
struct Result {
    u32 word, flags;
};

inline bool is_nan(u32 a) { return (a & ~SIGN) > INFINITE; }
inline bool is_infinite(u32 a) { return (a & ~SIGN) == INFINITE; }
inline bool is_zero(u32 a) { return !(a & ~SIGN); }
inline bool signals(u32 a) { return is_nan(a) && !(a & 0x400000); }

/// The NaN of an operation of these operands.
inline Result not_a_number(u32 a, u32 b = 0, u32 c = 0, bool invalid = false) {
    return {CANONICAL, invalid || signals(a) || signals(b) || signals(c) ? u32{INVALID} : 0};
}

/// A number: significand times 2 to the power.
struct Number {
    u32 sign;           ///< 0 or SIGN
    u64 significand;
    int power;
};

inline Number number(u32 a) {
    const int exponent = a >> 23 & 255;
    const u64 fraction = a & 0x7fffff;
    return {a & SIGN, exponent ? fraction | 0x800000 : fraction, (exponent ? exponent : 1) - 150};
}

/// Shifts to the right; the lowest bit is also set if a bit that is set is lost.
inline u64 shifted(u64 value, int by) {
    if (by <= 0) return value;
    if (by > 63) return value != 0;
    return value >> by | ((value & ((u64{1} << by) - 1)) != 0);
}

/// Whether a magnitude is rounded up: its last bit is odd, `half` is the first bit below it, and
/// `rest` says whether there are more.
inline bool rounds_up(u32 mode, u32 sign, bool odd, bool half, bool rest) {
    switch (mode) {
    case ZERO: return false;
    case DOWN: return sign && (half || rest);
    case UP: return !sign && (half || rest);
    case AWAY: return half;
    default: return half && (rest || odd);
    }
}

/// A number whose highest bit is put at bit 62.
inline Number normalised(Number value) {
    const int by = __builtin_clzll(value.significand) - 1;
    value.significand = by < 0 ? shifted(value.significand, 1) : value.significand << by;
    value.power -= by;
    return value;
}

/// The float of a number, which may be 0.
inline Result rounded(Number value, u32 mode) {
    if (!value.significand) return {value.sign, 0};
    value = normalised(value);
    int exponent = value.power + 62 + 127;
    // With all bits of a significand: is the number below the least normal one?
    const auto up = [&](u64 bits, int below) {
        const u64 half = u64{1} << (below - 1);
        return rounds_up(mode, value.sign, bits >> below & 1, bits & half, bits & (half - 1));
    };
    const u64 kept = (value.significand >> 39) + up(value.significand, 39);
    const bool tiny = exponent + static_cast<int>(kept >> 24) < 1;
    u64 bits = value.significand;
    if (exponent < 1) {
        bits = shifted(bits, 1 - exponent);
        exponent = 0;
    }
    u64 word = (bits >> 39) + up(bits, 39);
    const bool inexact = bits & ((u64{1} << 39) - 1);
    // A significand has its highest bit where the exponent begins.
    word = exponent ? word + (static_cast<u64>(exponent - 1) << 23) : word;
    if (word >= INFINITE) {
        const bool to_infinity = rounds_up(mode, value.sign, true, true, true);
        return {value.sign | (INFINITE - !to_infinity), OVERFLOW | INEXACT};
    }
    return {value.sign | static_cast<u32>(word), (inexact ? u32{INEXACT} : 0) |
                                                     (inexact && tiny ? u32{UNDERFLOW} : 0)};
}

/// The sum of two numbers, at most one of them with 48 bits and the other with 24.
inline Result sum(Number a, Number b, u32 mode) {
    if (!a.significand && !b.significand)
        return {a.sign == b.sign ? a.sign : mode == DOWN ? SIGN : 0, 0};
    if (!a.significand) return rounded(b, mode);
    if (!b.significand) return rounded(a, mode);
    a = normalised(a);
    b = normalised(b);
    // One place of room at the top. 14 bits and more are free at the bottom: no bit that matters is
    // lost if the numbers are close.
    a.significand >>= 1;
    b.significand >>= 1;
    ++a.power;
    ++b.power;
    if (a.power < b.power || (a.power == b.power && a.significand < b.significand)) {
        const Number other = a;
        a = b;
        b = other;
    }
    b.significand = shifted(b.significand, a.power - b.power);
    if (a.sign == b.sign) {
        a.significand += b.significand;
    } else {
        a.significand -= b.significand;
        if (!a.significand) a.sign = mode == DOWN ? SIGN : 0;
    }
    return rounded(a, mode);
}

inline Result add(u32 a, u32 b, u32 mode) {
    if (is_nan(a) || is_nan(b)) return not_a_number(a, b);
    if (is_infinite(a) && is_infinite(b) && a != b) return not_a_number(0, 0, 0, true);
    if (is_infinite(a)) return {a, 0};
    if (is_infinite(b)) return {b, 0};
    return sum(number(a), number(b), mode);
}

/// The exact product of two numbers.
inline Number product(u32 a, u32 b) {
    const Number x = number(a), y = number(b);
    return {x.sign ^ y.sign, x.significand * y.significand, x.power + y.power};
}

inline bool infinity_times_zero(u32 a, u32 b) {
    return (is_infinite(a) && is_zero(b)) || (is_zero(a) && is_infinite(b));
}

inline Result multiply(u32 a, u32 b, u32 mode) {
    if (is_nan(a) || is_nan(b)) return not_a_number(a, b);
    if (infinity_times_zero(a, b)) return not_a_number(0, 0, 0, true);
    if (is_infinite(a) || is_infinite(b)) return {((a ^ b) & SIGN) | INFINITE, 0};
    return rounded(product(a, b), mode);
}

/// a times b, plus c.
inline Result fused(u32 a, u32 b, u32 c, u32 mode) {
    const bool invalid = infinity_times_zero(a, b);
    if (invalid || is_nan(a) || is_nan(b) || is_nan(c)) return not_a_number(a, b, c, invalid);
    if (is_infinite(a) || is_infinite(b)) {
        const u32 infinite = ((a ^ b) & SIGN) | INFINITE;
        if (is_infinite(c) && c != infinite) return not_a_number(0, 0, 0, true);
        return {infinite, 0};
    }
    if (is_infinite(c)) return {c, 0};
    return sum(product(a, b), number(c), mode);
}

inline Result divide(u32 a, u32 b, u32 mode) {
    const u32 sign = (a ^ b) & SIGN;
    if (is_nan(a) || is_nan(b)) return not_a_number(a, b);
    if ((is_infinite(a) && is_infinite(b)) || (is_zero(a) && is_zero(b)))
        return not_a_number(0, 0, 0, true);
    if (is_infinite(a)) return {sign | INFINITE, 0};
    if (is_zero(a) || is_infinite(b)) return {sign, 0};
    if (is_zero(b)) return {sign | INFINITE, BY_ZERO};
    const Number x = normalised(number(a)), y = number(b);
    const u64 quotient = x.significand / y.significand, rest = x.significand % y.significand;
    return rounded({sign, quotient << 1 | (rest != 0), x.power - y.power - 1}, mode);
}

inline Result root(u32 a, u32 mode) {
    if (is_nan(a)) return not_a_number(a);
    if (is_zero(a)) return {a, 0};
    if (a & SIGN) return not_a_number(0, 0, 0, true);
    if (is_infinite(a)) return {a, 0};
    Number x = normalised(number(a));
    if (x.power & 1) {
        x.significand >>= 1;
        ++x.power;
    }
    // The highest bit of the root of 62 or 63 bits is bit 30. Each step finds a bit.
    u64 root = 0;
    for (int bit = 31; bit >= 0; --bit) {
        const u64 more = root | u64{1} << bit;
        if (more * more <= x.significand) root = more;
    }
    return rounded({0, root << 1 | (root * root != x.significand), x.power / 2 - 1}, mode);
}

inline Result to_integer(u32 a, u32 mode, bool is_unsigned) {
    const u32 most = is_unsigned ? ~0u : ~SIGN, least = is_unsigned ? 0 : SIGN;
    if (is_nan(a)) return {most, INVALID};
    const Number x = number(a);
    if (is_infinite(a) || x.power > 8) return {x.sign ? least : most, INVALID};
    // Two bits below the integer; a significand has 24 bits.
    const u64 bits = x.power >= 0 ? x.significand << (x.power + 2)
                                  : shifted(x.significand << 2, -x.power);
    const u64 magnitude = (bits >> 2) + rounds_up(mode, x.sign, bits >> 2 & 1, bits & 2, bits & 1);
    if (magnitude > (x.sign ? is_unsigned ? 0 : u64{SIGN} : u64{most}))
        return {x.sign ? least : most, INVALID};
    const u32 word = static_cast<u32>(magnitude);
    return {x.sign ? -word : word, bits & 3 ? u32{INEXACT} : 0};
}

inline Result from_integer(u32 a, u32 mode, bool is_unsigned) {
    const u32 sign = is_unsigned ? 0 : a & SIGN;
    return rounded({sign, sign ? -a : a, 0}, mode);
}

/// A key that is ordered as the numbers, with -0 below +0.
inline i32 order(u32 a) { return static_cast<i32>(a & SIGN ? ~(a & ~SIGN) : a); }

inline Result select(u32 a, u32 b, bool largest) {
    const u32 flags = signals(a) || signals(b) ? u32{INVALID} : 0;
    if (is_nan(a)) return {is_nan(b) ? CANONICAL : b, flags};
    if (is_nan(b)) return {a, flags};
    return {(order(a) < order(b)) != largest ? a : b, flags};
}

inline bool equal(u32 a, u32 b) { return a == b || (is_zero(a) && is_zero(b)); }

/// Whether a is less than b, or with `or_equal` equal to it.
inline Result less(u32 a, u32 b, bool or_equal) {
    if (is_nan(a) || is_nan(b)) return {0, INVALID};
    return {equal(a, b) ? or_equal : order(a) < order(b), 0};
}

inline Result equals(u32 a, u32 b) {
    if (is_nan(a) || is_nan(b)) return {0, not_a_number(a, b).flags};
    return {equal(a, b), 0};
}

/// A bit for the class of a, from minus infinity to plus infinity, then NaNs.
inline Result classify(u32 a) {
    if (is_nan(a)) return {signals(a) ? 1u << 8 : 1u << 9, 0};
    const u32 magnitude = a & ~SIGN;
    const u32 place = is_infinite(a) ? 0 : !magnitude ? 3 : magnitude >= 0x800000 ? 1 : 2;
    return {1u << (a & SIGN ? place : 7 - place), 0};
}

/// The result of an operation.
inline Result perform(Op op, u32 a, u32 b, u32 c, u32 mode) {
    switch (op) {
    case Op::FMADD_S: return fused(a, b, c, mode);
    case Op::FMSUB_S: return fused(a, b, c ^ SIGN, mode);
    case Op::FNMSUB_S: return fused(a ^ SIGN, b, c, mode);
    case Op::FNMADD_S: return fused(a ^ SIGN, b, c ^ SIGN, mode);
    case Op::FADD_S: return add(a, b, mode);
    case Op::FSUB_S: return add(a, b ^ SIGN, mode);
    case Op::FMUL_S: return multiply(a, b, mode);
    case Op::FDIV_S: return divide(a, b, mode);
    case Op::FSQRT_S: return root(a, mode);
    case Op::FSGNJ_S: return {(a & ~SIGN) | (b & SIGN), 0};
    case Op::FSGNJN_S: return {(a & ~SIGN) | (~b & SIGN), 0};
    case Op::FSGNJX_S: return {a ^ (b & SIGN), 0};
    case Op::FMIN_S: return select(a, b, false);
    case Op::FMAX_S: return select(a, b, true);
    case Op::FLE_S: return less(a, b, true);
    case Op::FLT_S: return less(a, b, false);
    case Op::FEQ_S: return equals(a, b);
    case Op::FCVT_W_S: return to_integer(a, mode, false);
    case Op::FCVT_WU_S: return to_integer(a, mode, true);
    case Op::FCVT_S_W: return from_integer(a, mode, false);
    case Op::FCVT_S_WU: return from_integer(a, mode, true);
    default: return classify(a);
    }
}

}  // namespace floating
