// What Clang calls to copy, fill and compare memory.

typedef __SIZE_TYPE__ size_t;

void *memcpy(void *target, const void *source, size_t count) {
    char *to = target;
    const char *from = source;
    while (count--) *to++ = *from++;
    return target;
}

void *memmove(void *target, const void *source, size_t count) {
    char *to = target;
    const char *from = source;
    if (to <= from)
        while (count--) *to++ = *from++;
    else
        while (count--) to[count] = from[count];
    return target;
}

void *memset(void *target, int value, size_t count) {
    char *to = target;
    while (count--) *to++ = value;
    return target;
}

int memcmp(const void *first, const void *second, size_t count) {
    const unsigned char *a = first, *b = second;
    for (; count--; a++, b++)
        if (*a != *b) return *a - *b;
    return 0;
}

size_t strlen(const char *text) {
    const char *end = text;
    while (*end) end++;
    return end - text;
}
