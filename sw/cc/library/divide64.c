// What Clang calls to divide numbers of 64 bits. Divided by 0, every bit of a quotient is 1 and the
// remainder is the dividend, as for numbers of 32 bits.

typedef unsigned long long u64;
typedef long long i64;

u64 __udivmoddi4(u64 dividend, u64 divisor, u64 *rest) {
    u64 quotient = 0, remainder = 0;
    for (int bit = 0; bit < 64; bit++) {
        unsigned carry = remainder >> 63;
        remainder = remainder << 1 | dividend >> 63;
        dividend <<= 1;
        unsigned fits = carry | (remainder >= divisor);
        quotient = quotient << 1 | fits;
        if (fits) remainder -= divisor;
    }
    if (rest) *rest = remainder;
    return quotient;
}

u64 __udivdi3(u64 dividend, u64 divisor) { return __udivmoddi4(dividend, divisor, 0); }

u64 __umoddi3(u64 dividend, u64 divisor) {
    u64 rest;
    __udivmoddi4(dividend, divisor, &rest);
    return rest;
}

i64 __divdi3(i64 dividend, i64 divisor) {
    u64 quotient = __udivdi3(dividend < 0 ? -(u64)dividend : dividend,
                             divisor < 0 ? -(u64)divisor : divisor);
    return divisor && (dividend < 0) != (divisor < 0) ? -quotient : quotient;
}

i64 __moddi3(i64 dividend, i64 divisor) {
    u64 rest = __umoddi3(dividend < 0 ? -(u64)dividend : dividend,
                         divisor < 0 ? -(u64)divisor : divisor);
    return dividend < 0 ? -rest : rest;
}
