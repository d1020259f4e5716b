// A small printf for programs that are linked without a C library: %d %u %x %c %s %%, with a width
// and zeros, as in %08x. It calls _write once. Active lanes print one after another.

#include <stdarg.h>

int _write(int file, const char *text, int size);

// In one active lane after another; start.S has this function. Else there is only one lane.
__attribute__((weak)) void each_lane(void (*function)(void *), void *argument) { function(argument); }

static char *number(char *place, unsigned value, unsigned base, int width, char fill, int minus) {
    char digits[12];
    int count = 0;
    do digits[count++] = "0123456789abcdef"[value % base]; while (value /= base);
    if (minus && fill == '0') *place++ = '-';
    for (int i = count + minus; i < width; i++) *place++ = fill;
    if (minus && fill != '0') *place++ = '-';
    while (count) *place++ = digits[--count];
    return place;
}

struct print {
    const char *format;
    va_list arguments;
    volatile int written;       // in memory: a lane's own, while another lane prints
};

static void print(void *argument) {
    struct print *print = argument;
    const char *format = print->format;
    char line[256], *place = line, *last = line + sizeof line - 48;
    for (; *format && place < last; format++) {
        if (*format != '%') {
            *place++ = *format;
            continue;
        }
        char fill = *++format == '0' ? '0' : ' ';
        int width = 0;
        for (; *format >= '0' && *format <= '9'; format++) width = 10 * width + *format - '0';
        if (width > 32) width = 32;
        if (*format == 'd') {
            int value = va_arg(print->arguments, int);
            place = number(place, value < 0 ? -(unsigned)value : value, 10, width, fill, value < 0);
        } else if (*format == 'u' || *format == 'x') {
            unsigned value = va_arg(print->arguments, unsigned);
            place = number(place, value, *format == 'x' ? 16 : 10, width, fill, 0);
        } else if (*format == 's') {
            for (const char *text = va_arg(print->arguments, const char *); *text && place < last;)
                *place++ = *text++;
        } else if (*format == 'c') {
            *place++ = va_arg(print->arguments, int);
        } else {
            *place++ = *format;
        }
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
