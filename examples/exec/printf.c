// A small printf for programs that are linked without a C library: %d %i %u %x %X %c %s %p %f %%,
// with flags, a width and a precision, as in %-8s, %+d and %08.3f, and the sizes hh, h, l, ll and z.
// It calls _write once. Active lanes print one after another. %f has at most 18 places, the last
// one rounded, and numbers from 2^64 on as MANTISSApEXPONENT, of 2. Another conversion ends the
// text, as it stands.

#include <stdarg.h>

typedef unsigned long long u64;

int _write(int file, const char *text, int size);
void each_lane(void (*function)(void *), void *argument);   // console.c or start.S has it

struct print {
    const char *format;
    va_list arguments;
    volatile int written;       // in memory: a lane's own, while another lane prints
};

struct field {
    int width, precision, left, size;
    char fill, plus;
    char text[48], *start;      // what is printed, which begins at start and ends with text
};

// Divides by a small number, without the division of 64 bits that a library would have.
static unsigned divide(u64 *value, unsigned by) {
    unsigned high = *value >> 32, low = *value;
    unsigned middle = high % by << 16 | low >> 16, rest = middle % by << 16 | (low & 0xffff);
    *value = (u64)(high / by) << 32 | ((u64)(middle / by) << 16 | rest / by);
    return rest % by;
}

static void digits(struct field *field, u64 value, unsigned base, int least, char ten) {
    for (; value || least > 0; least--) {
        unsigned digit = divide(&value, base);
        *--field->start = digit < 10 ? '0' + digit : ten + digit - 10;
    }
}

// A double by its bits: no operation on floats.
static void real(struct field *field, u64 bits) {
    int exponent = (int)(bits >> 52 & 0x7ff) - 1075, places = field->precision;
    u64 mantissa = bits & ((1ull << 52) - 1), whole, part = 0;
    if (exponent == 0x7ff - 1075) {
        const char *text = mantissa ? "nan" : "inf";
        for (int i = 2; i >= 0; i--) *--field->start = text[i];
        field->fill = ' ';
        return;
    }
    if (exponent == -1075) exponent++; else mantissa |= 1ull << 52;
    if (exponent > 11) {
        digits(field, exponent, 10, 1, 0);
        *--field->start = 'p';
        digits(field, mantissa, 10, 1, 0);
        return;
    }
    if (exponent >= 0) {
        whole = mantissa << exponent;
    } else {
        whole = exponent > -64 ? mantissa >> -exponent : 0;     // and 64 bits behind the point
        part = exponent > -64 ? mantissa << (64 + exponent) :
            exponent > -128 ? mantissa >> (-64 - exponent) | 1 : mantissa != 0;
    }
    u64 fraction = 0;
    places = places < 0 ? 6 : places > 18 ? 18 : places;
    u64 scale = 1;
    for (int i = 0; i < places; i++) {
        u64 low = (part & 0xffffffff) * 10, high = (part >> 32) * 10 + (low >> 32);
        fraction = fraction * 10 + (high >> 32);
        part = high << 32 | (low & 0xffffffff);
        scale *= 10;
    }
    int odd = (places ? fraction : whole) & 1;
    if (part > 1ull << 63 || (part == 1ull << 63 && odd)) {
        if (++fraction == scale || !places) {
            fraction = 0;
            whole++;
        }
    }
    if (places) {
        digits(field, fraction, 10, places, 0);
        *--field->start = '.';
    }
    digits(field, whole, 10, 1, 0);
}

static char *put(char *place, char *last, char byte, int times) {
    while (times-- > 0 && place < last) *place++ = byte;
    return place;
}

static int number(const char **format) {
    int value = 0;
    for (; **format >= '0' && **format <= '9'; ++*format) value = 10 * value + **format - '0';
    return value;
}

// Reads what stands before the letter of a conversion.
static const char *read(struct field *field, const char *format, va_list *arguments) {
    for (;; format++) {
        if (*format == '-') field->left = 1;
        else if (*format == '+' || *format == ' ') field->plus = *format;
        else if (*format == '0') field->fill = '0';
        else break;
    }
    field->width = *format == '*' ? format++, va_arg(*arguments, int) : number(&format);
    if (*format == '.') {
        format++;
        field->precision = *format == '*' ? format++, va_arg(*arguments, int) : number(&format);
    }
    for (; *format == 'h' || *format == 'l' || *format == 'z'; format++)
        field->size += *format == 'l' ? 1 : *format == 'h' ? -1 : 0;
    return format;
}

static u64 integer(struct field *field, va_list *arguments, int with_sign) {
    if (field->size >= 2) return va_arg(*arguments, u64);
    unsigned value = va_arg(*arguments, unsigned);
    if (field->size == -1) value = with_sign ? (short)value : (unsigned short)value;
    if (field->size == -2) value = with_sign ? (signed char)value : (unsigned char)value;
    return with_sign ? (u64)(int)value : value;
}

static void print(void *argument) {
    struct print *print = argument;
    const char *format = print->format;
    char line[256], *place = line, *last = line + sizeof line;
    for (; *format; format++) {
        if (*format != '%') {
            place = put(place, last, *format, 1);
            continue;
        }
        const char *begin = format, *text;
        struct field field;
        field.precision = -1;
        field.left = field.size = field.plus = 0;
        field.fill = ' ';
        text = field.start = field.text + sizeof field.text;
        format = read(&field, format + 1, &print->arguments);
        char sign = 0, kind = *format;
        int count = -1, least = field.precision < 0 ? 1 : field.precision;
        if (kind == 'd' || kind == 'i') {
            u64 value = integer(&field, &print->arguments, 1);
            sign = value >> 63 ? '-' : field.plus;
            digits(&field, value >> 63 ? -value : value, 10, least, 0);
        } else if (kind == 'u' || kind == 'x' || kind == 'X') {
            digits(&field, integer(&field, &print->arguments, 0), kind == 'u' ? 10 : 16,
                   least, kind == 'X' ? 'A' : 'a');
        } else if (kind == 'p') {
            digits(&field, va_arg(print->arguments, unsigned), 16, 1, 'a');
            *--field.start = 'x';
            *--field.start = '0';
        } else if (kind == 'f') {
            u64 bits = va_arg(print->arguments, u64);
            sign = bits >> 63 ? '-' : field.plus;
            real(&field, bits);
        } else if (kind == 's') {
            text = va_arg(print->arguments, const char *);
            for (count = 0; count != field.precision && text[count];) count++;
        } else if (kind == 'c' || kind == '%') {
            *--field.start = kind == 'c' ? va_arg(print->arguments, int) : '%';
        } else {
            for (; *begin; begin++) place = put(place, last, *begin, 1);
            break;
        }
        if (count < 0) {
            count = text - field.start;
            text = field.start;
        }
        int more = field.width - count - (sign != 0), zeros = field.fill == '0' && !field.left;
        if (!field.left && !zeros) place = put(place, last, ' ', more);
        if (sign) place = put(place, last, sign, 1);
        if (zeros) place = put(place, last, '0', more);
        while (count-- > 0) place = put(place, last, *text++, 1);
        if (field.left) place = put(place, last, ' ', more);
    }
    print->written = _write(1, line, place - line);
}

int printf(const char *format, ...) {
    struct print whole;
    whole.format = format;
    va_start(whole.arguments, format);
    each_lane(print, &whole);
    va_end(whole.arguments);
    return whole.written;
}
