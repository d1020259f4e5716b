/* Accelerations among bodies on a plane, on one core: each lane takes bodies of its own. The sums of
   a body are one lane's, in the order of the bodies, so they do not depend on the number of lanes. */

#define BODIES 32

float ax[BODIES], ay[BODIES];
float x[BODIES], y[BODIES], mass[BODIES];

static inline unsigned lanes(void) {
    unsigned warps, threads;
    __asm__("csrr %0, 0xFC1" : "=r"(warps));
    __asm__("csrr %0, 0xFC0" : "=r"(threads));
    return warps * threads;
}

int main(int lane) {
    for (unsigned i = lane; i < BODIES; i += lanes()) {
        x[i] = (float)(i * i % 31) / 7.0f;
        y[i] = (float)(i * 5 % 29) / 3.0f;
        mass[i] = (float)(i % 4 + 1);
    }
    unsigned warps;
    __asm__("csrr %0, 0xFC1" : "=r"(warps));
    /* BAR: all warps of the core have written their bodies. */
    __asm__ volatile("fence\n .insn r 0x0B, 4, 0, x0, x0, %0\n fence" : : "r"(warps) : "memory");
    for (unsigned i = lane; i < BODIES; i += lanes()) {
        float sum_x = 0.0f, sum_y = 0.0f;
        for (unsigned j = 0; j < BODIES; ++j) {
            const float dx = x[j] - x[i], dy = y[j] - y[i];
            const float squared = dx * dx + dy * dy + 0.01f;
            const float pull = mass[j] / (squared * __builtin_sqrtf(squared));
            sum_x = sum_x + dx * pull;
            sum_y = sum_y + dy * pull;
        }
        ax[i] = sum_x;
        ay[i] = sum_y;
    }
    return 0;
}
