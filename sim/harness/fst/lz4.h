// What Verilator's FST writer asks of LZ4: a compressor to the LZ4 block format, so that waves need
// no library of the system.
//
// A block is a list of sequences: a token (literal count in the high nibble, match length - 4 in
// the low one; 15 means more bytes follow), the literals, the distance of the match as two bytes,
// little end first. The last sequence has literals only; the format wants the last five bytes of a
// block to be literals and no match to start in its last twelve bytes. Matches are found through a
// hash table of the last place at which each four bytes were seen.

#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

inline int LZ4_compressBound(int size) { return size + size / 255 + 16; }

namespace graphloom_lz4 {

inline std::uint32_t load(const std::uint8_t* at) {
    std::uint32_t word;
    std::memcpy(&word, at, 4);
    return word;
}

inline std::uint8_t* put_length(std::uint8_t* to, std::size_t length) {
    for (; length >= 255; length -= 255) *to++ = 255;
    *to++ = static_cast<std::uint8_t>(length);
    return to;
}

/// Writes a sequence; a match length of 0 is the last one.
inline std::uint8_t* put_sequence(std::uint8_t* to, const std::uint8_t* literals,
                                  std::size_t count, std::size_t distance, std::size_t match) {
    const std::size_t extra = match ? match - 4 : 0;
    *to++ = static_cast<std::uint8_t>((count < 15 ? count : 15) << 4 | (extra < 15 ? extra : 15));
    if (count >= 15) to = put_length(to, count - 15);
    if (count) std::memcpy(to, literals, count);
    to += count;
    if (match) {
        *to++ = static_cast<std::uint8_t>(distance);
        *to++ = static_cast<std::uint8_t>(distance >> 8);
        if (extra >= 15) to = put_length(to, extra - 15);
    }
    return to;
}

}  // namespace graphloom_lz4

/// Compresses to at most LZ4_compressBound(size) bytes, which the target must have room for.
/// Returns the size of the result.
inline int LZ4_compress_default(const char* source, char* target, int size, int /*room*/) {
    using namespace graphloom_lz4;
    constexpr unsigned HASH_BITS = 13;
    std::vector<std::uint32_t> table(std::size_t{1} << HASH_BITS, 0);  // position + 1
    const auto* begin = reinterpret_cast<const std::uint8_t*>(source);
    const std::uint8_t* const end = begin + size;
    const std::uint8_t* at = begin;
    const std::uint8_t* literals = begin;
    auto* to = reinterpret_cast<std::uint8_t*>(target);
    while (end - at > 12) {
        const std::uint32_t word = load(at);
        std::uint32_t& slot = table[word * 2654435761u >> (32 - HASH_BITS)];
        const std::uint8_t* const seen = slot ? begin + (slot - 1) : nullptr;
        slot = static_cast<std::uint32_t>(at - begin) + 1;
        if (!seen || at - seen > 65535 || load(seen) != word) {
            ++at;
            continue;
        }
        std::size_t match = 4;
        while (at + match < end - 5 && seen[match] == at[match]) ++match;
        to = put_sequence(to, literals, at - literals, at - seen, match);
        at += match;
        literals = at;
    }
    to = put_sequence(to, literals, end - literals, 0, 0);
    return static_cast<int>(to - reinterpret_cast<std::uint8_t*>(target));
}
