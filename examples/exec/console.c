// Text for the host, and the functions that newlib asks a system for.
//
// The host shows graphloom_console: a count of bytes, and the bytes. A call takes room with one
// atomic addition, so its text stays together when several lanes write. What has no room is lost.
// Lanes write one after another, because their texts differ in length.

struct {
    unsigned count;
    char text[16 * 1024 - 4];
} graphloom_console;

// In one active lane after another; start.S has this function. Else there is only one lane.
__attribute__((weak)) void each_lane(void (*function)(void *), void *argument) { function(argument); }

struct text {
    const char *start;
    int size;
};

static void append(void *argument) {
    const struct text *text = argument;
    unsigned place = __atomic_fetch_add(&graphloom_console.count, text->size, __ATOMIC_RELAXED);
    for (int i = 0; i < text->size && place + i < sizeof graphloom_console.text; i++)
        graphloom_console.text[place + i] = text->start[i];
}

int _write(int file, const char *text, int size) {
    struct text whole = {text, size};
    each_lane(append, &whole);
    return size;
}

// The heap is between the end of the data and the stacks (graphloom_stack: bytes, number, and how
// many times the bytes a lane takes). Lanes take memory one after another, so each has its own.
extern char end[], __stacks_end[];
extern const unsigned graphloom_stack[3];

static unsigned room(void) {
    unsigned cores, warps, lanes, bytes = graphloom_stack[0], stacks = graphloom_stack[1];
    __asm__("csrr %0, 0xFC2" : "=r"(cores));
    __asm__("csrr %0, 0xFC1" : "=r"(warps));
    __asm__("csrr %0, 0xFC0" : "=r"(lanes));
    if (!stacks) stacks = cores * warps * lanes;
    return ((unsigned)__stacks_end & -bytes) - stacks * bytes * graphloom_stack[2] - (unsigned)end;
}

struct growth {
    int size;
    char *start;
};

static void grow(void *argument) {
    static unsigned taken, mutex;
    struct growth *growth = argument;
    while (__atomic_exchange_n(&mutex, 1, __ATOMIC_ACQUIRE));
    unsigned before = __atomic_fetch_add(&taken, growth->size, __ATOMIC_RELAXED);
    if (before + growth->size <= room()) {
        growth->start = end + before;
    } else {
        __atomic_fetch_sub(&taken, growth->size, __ATOMIC_RELAXED);
        growth->start = (char *)-1;
    }
    __atomic_store_n(&mutex, 0, __ATOMIC_RELEASE);
}

void *_sbrk(int size) {
    struct growth growth = {size};
    each_lane(grow, &growth);
    return growth.start;
}

// There are no files but the console, and no other processes.
int _read(int file, char *text, int size) { return 0; }
int _close(int file) { return -1; }
int _lseek(int file, int offset, int from) { return 0; }
int _fstat(int file, void *status) { return -1; }
int _isatty(int file) { return 1; }
int _kill(int process, int signal) { return -1; }
int _getpid(void) { return 1; }
