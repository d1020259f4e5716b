// errno of the C library, one word for all lanes.

int *__errno_location(void) {
    static int number;
    return &number;
}
