// What Clang calls to shift and multiply numbers of 64 bits, where it makes small code.

typedef unsigned long long u64;
typedef long long i64;

union words {
    u64 whole;
    unsigned half[2];
};

u64 __ashldi3(u64 value, int count) {
    union words in = {value}, out;
    if (count & 32) {
        out.half[0] = 0;
        out.half[1] = in.half[0] << (count & 31);
    } else {
        out.half[0] = in.half[0] << count;
        out.half[1] = in.half[1] << count | (in.half[0] >> 1) >> (31 - count);
    }
    return out.whole;
}

u64 __lshrdi3(u64 value, int count) {
    union words in = {value}, out;
    if (count & 32) {
        out.half[1] = 0;
        out.half[0] = in.half[1] >> (count & 31);
    } else {
        out.half[1] = in.half[1] >> count;
        out.half[0] = in.half[0] >> count | (in.half[1] << 1) << (31 - count);
    }
    return out.whole;
}

i64 __ashrdi3(i64 value, int count) {
    union words in = {value}, out;
    int high = in.half[1];
    if (count & 32) {
        out.half[1] = high >> 31;
        out.half[0] = high >> (count & 31);
    } else {
        out.half[1] = high >> count;
        out.half[0] = in.half[0] >> count | (in.half[1] << 1) << (31 - count);
    }
    return out.whole;
}

u64 __muldi3(u64 first, u64 second) {
    union words a = {first}, b = {second}, out;
    unsigned high;
    __asm__("mulhu %0, %1, %2" : "=r"(high) : "r"(a.half[0]), "r"(b.half[0]));
    out.half[0] = a.half[0] * b.half[0];
    out.half[1] = high + a.half[0] * b.half[1] + a.half[1] * b.half[0];
    return out.whole;
}
