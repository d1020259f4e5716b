// Prints, and ends with an exit code.

int printf(const char *format, ...);

short halves[] = {1, -2, 3};
unsigned char bytes[5] = "hello";
unsigned long long large = 0x123456789abcdef0;

int main(void) {
    printf("%s, %c%c%c: %d, %u, 0x%08x, 100 %%\n", "Hello", 'R', 'T', 'L', -42, 3000000000u, 0xbeef);
    for (int i = 0; i < 3; i++) printf("%4d^2 = %d\n", halves[i], halves[i] * halves[i]);
    return 0;
}
