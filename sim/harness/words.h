// Values of many bits, and operators that C++ does not have, for code of sim/compiler.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// The parts of a design go into large functions. JavaScript engines make slow code of those, so in
/// the live page each group of parts is a function.
#ifdef GPU_PAGE
#define GROUP static __attribute__((noinline))
#define PART static inline __attribute__((always_inline))
#else
#define GROUP static inline
#define PART static inline
#endif

/// The words of a wide value, the lowest first.
template <std::size_t N>
using Words = std::array<u64, N>;

/// Reports a failed assertion. The evaluation goes on to its end.
void failed(const char* what);

inline u64 shift_left(u64 value, u64 by) { return by < 64 ? value << by : 0; }
inline u64 shift_right(u64 value, u64 by) { return by < 64 ? value >> by : 0; }
inline std::int64_t signed_(u64 value, unsigned width) {
    return static_cast<std::int64_t>(value << (64 - width)) >> (64 - width);
}
inline u64 shift_signed(u64 value, u64 by, unsigned width) {
    return static_cast<u64>(signed_(value, width) >> (by < 63 ? by : 63));
}

template <std::size_t N>
Words<N> add(const Words<N>& a, const Words<N>& b) {
    Words<N> sum;
    unsigned __int128 carry = 0;
    for (std::size_t i = 0; i < N; ++i) {
        carry += static_cast<unsigned __int128>(a[i]) + b[i];
        sum[i] = static_cast<u64>(carry);
        carry >>= 64;
    }
    return sum;
}

template <std::size_t N>
Words<N> subtract(const Words<N>& a, const Words<N>& b) {
    Words<N> difference;
    bool borrow = false;
    for (std::size_t i = 0; i < N; ++i) {
        const u64 wanted = b[i] + borrow;
        const bool next = (borrow && wanted == 0) || a[i] < wanted;
        difference[i] = a[i] - wanted;
        borrow = next;
    }
    return difference;
}

/// The lowest bit that is set, if `enable` is set.
template <std::size_t N>
Words<N> lowest(const Words<N>& value, u64 enable) {
    Words<N> result{};
    for (std::size_t i = 0; i < N && enable; ++i)
        if (value[i]) {
            result[i] = value[i] & (0 - value[i]);
            break;
        }
    return result;
}

template <std::size_t N>
Words<N> multiply(const Words<N>& a, const Words<N>& b) {
    Words<N> product{};
    for (std::size_t i = 0; i < N; ++i) {
        unsigned __int128 carry = 0;
        for (std::size_t j = 0; i + j < N; ++j) {
            carry += static_cast<unsigned __int128>(a[i]) * b[j] + product[i + j];
            product[i + j] = static_cast<u64>(carry);
            carry >>= 64;
        }
    }
    return product;
}

/// A signed value of `width` bits whose sign fills the last word.
template <std::size_t N>
Words<N> extended(Words<N> value, unsigned width) {
    if (width % 64) value[N - 1] = static_cast<u64>(signed_(value[N - 1], width % 64));
    return value;
}

/// Below, equal or above: -1, 0, 1. Signed values are extended.
template <std::size_t N>
int compare(const Words<N>& a, const Words<N>& b, bool is_signed = false) {
    const u64 flip = is_signed ? u64{1} << 63 : 0;
    if (a[N - 1] != b[N - 1]) return (a[N - 1] ^ flip) < (b[N - 1] ^ flip) ? -1 : 1;
    for (std::size_t i = N - 1; i-- > 0;)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

template <std::size_t N>
Words<N> left(const Words<N>& value, u64 by) {
    Words<N> result{};
    const u64 words = by / 64, bits = by % 64;
    for (std::size_t i = N; i-- > words;) {
        result[i] = value[i - words] << bits;
        if (bits && i > words) result[i] |= value[i - words - 1] >> (64 - bits);
    }
    return result;
}

/// M words of a value from bit `offset * stride` on. Behind the value are zeros, or its sign if the
/// value is signed and extended.
template <std::size_t M, std::size_t N>
Words<M> part(const Words<N>& value, u64 offset, u64 stride, bool is_signed) {
    const u64 beyond = is_signed && value[N - 1] >> 63 ? ~u64{0} : 0;
    Words<M> result;
    const bool inside = offset < N * 64;
    const u64 at = inside ? offset * stride : 0, word = at / 64, bits = at % 64;
    for (std::size_t i = 0; i < M; ++i) {
        const u64 low = inside && word + i < N ? value[word + i] : beyond;
        const u64 high = inside && word + i + 1 < N ? value[word + i + 1] : beyond;
        result[i] = bits ? low >> bits | high << (64 - bits) : low;
    }
    return result;
}

template <std::size_t N>
Words<N> right(const Words<N>& value, u64 by) {
    return part<N>(value, by, 1, false);
}

/// Element `index` of an array in words.
template <typename T>
inline u64 element(const void* array, std::size_t index) {
    T value;
    std::memcpy(&value, static_cast<const char*>(array) + index * sizeof(T), sizeof(T));
    return value;
}

/// Bit i tells whether element i of an array equals a value.
template <std::size_t N, typename T>
inline u64 equals(const void* array, T value) {
#ifdef __clang__
    constexpr std::size_t SIZE = N <= 8 ? 8 : N <= 16 ? 16 : N <= 32 ? 32 : 64;
    typedef T Vector __attribute__((ext_vector_type(SIZE)));
    typedef bool Bits __attribute__((ext_vector_type(SIZE)));
    Vector elements{};
    std::memcpy(&elements, array, N * sizeof(T));
    const Bits equal = __builtin_convertvector(elements == value, Bits);
    u64 result = 0;
    std::memcpy(&result, &equal, SIZE / 8);
    return result & (~u64{0} >> (64 - N));
#else
    u64 result = 0;
    for (std::size_t i = 0; i < N; ++i) result |= u64{element<T>(array, i) == value} << i;
    return result;
#endif
}

/// The OR of the elements of an array whose bits in a mask are set.
template <typename T>
inline u64 selected(u64 mask, const void* array) {
    u64 result = 0;
    for (; mask; mask &= mask - 1) result |= element<T>(array, __builtin_ctzll(mask));
    return result;
}
