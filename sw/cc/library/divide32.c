// What Clang calls to divide numbers of 32 bits, for hardware without a divider.

typedef unsigned u32;
typedef int i32;

static u32 divide(u32 dividend, u32 divisor, u32 *rest) {
    u32 quotient = 0, remainder = 0;
    for (int bit = 0; bit < 32; bit++) {
        u32 carry = remainder >> 31;
        remainder = remainder << 1 | dividend >> 31;
        dividend <<= 1;
        u32 fits = carry | (remainder >= divisor);
        quotient = quotient << 1 | fits;
        if (fits) remainder -= divisor;
    }
    *rest = remainder;
    return quotient;
}

u32 __udivsi3(u32 dividend, u32 divisor) {
    u32 rest;
    return divide(dividend, divisor, &rest);
}

u32 __umodsi3(u32 dividend, u32 divisor) {
    u32 rest;
    divide(dividend, divisor, &rest);
    return rest;
}

i32 __divsi3(i32 dividend, i32 divisor) {
    u32 rest, quotient = divide(dividend < 0 ? -(u32)dividend : dividend,
                                divisor < 0 ? -(u32)divisor : divisor, &rest);
    return divisor && (dividend < 0) != (divisor < 0) ? -quotient : quotient;
}

i32 __modsi3(i32 dividend, i32 divisor) {
    u32 rest;
    divide(dividend < 0 ? -(u32)dividend : dividend, divisor < 0 ? -(u32)divisor : divisor, &rest);
    return dividend < 0 ? -rest : rest;
}
