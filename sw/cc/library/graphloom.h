// What C kernels for all lanes ask the hardware for (docs/c.md). Everything here is inline, so a
// program has no more than what it uses.

#ifndef GRAPHLOOM_H
#define GRAPHLOOM_H

#define GRAPHLOOM_INLINE static inline __attribute__((always_inline, unused))

int printf(const char *format, ...);

// Numbers. A lane's number in the device counts cores, then warps, then lanes. Each use reads them
// anew: keep in a variable what a loop needs.

#define GRAPHLOOM_CSR(name, number)                               \
    GRAPHLOOM_INLINE unsigned graphloom_##name(void) {            \
        unsigned value;                                           \
        __asm__("csrr %0, " #number : "=r"(value));               \
        return value;                                             \
    }

GRAPHLOOM_CSR(lane, 0xCC0)      // of the warp
GRAPHLOOM_CSR(warp, 0xCC1)      // of the core
GRAPHLOOM_CSR(core, 0xCC2)
GRAPHLOOM_CSR(lanes, 0xFC0)     // of a warp
GRAPHLOOM_CSR(warps, 0xFC1)     // of a core
GRAPHLOOM_CSR(cores, 0xFC2)

GRAPHLOOM_INLINE unsigned graphloom_thread(void) {
    return (graphloom_core() * graphloom_warps() + graphloom_warp()) * graphloom_lanes()
        + graphloom_lane();
}

GRAPHLOOM_INLINE unsigned graphloom_threads(void) {
    return graphloom_cores() * graphloom_warps() * graphloom_lanes();
}

GRAPHLOOM_INLINE unsigned graphloom_cycle(void) {
    unsigned value;
    __asm__ volatile("csrr %0, cycle" : "=r"(value) :: "memory");
    return value;
}

// kernel(index, argument) for each index below count, in all lanes of the device.
GRAPHLOOM_INLINE void graphloom_spawn(unsigned count, void (*kernel)(unsigned, void *),
                                      void *argument) {
    unsigned threads = graphloom_threads();
    for (unsigned index = graphloom_thread(); index < count; index += threads)
        kernel(index, argument);
}

// Order. A fence orders a warp's accesses, and lets its core see what other cores have written. All
// warps of a core wait at a barrier for each other; their accesses before it come before those
// behind it, for this core. No lane may have parted there.

GRAPHLOOM_INLINE void graphloom_fence(void) { __asm__ volatile("fence" ::: "memory"); }

GRAPHLOOM_INLINE void graphloom_barrier(void) {
    __asm__ volatile("fence\n\t.insn r 0x0B, 4, 0, x0, %0, %1"
                     :: "r"(0), "r"(graphloom_warps()) : "memory");
}

// Votes of the active lanes.

#define GRAPHLOOM_VOTE(name, number)                                                \
    GRAPHLOOM_INLINE unsigned graphloom_##name(int condition) {                     \
        unsigned result;                                                            \
        __asm__ volatile(".insn r 0x0B, " #number ", 1, %0, %1, x0"                 \
                         : "=r"(result) : "r"(condition != 0));                     \
        return result;                                                              \
    }

GRAPHLOOM_VOTE(all, 0)
GRAPHLOOM_VOTE(any, 1)
GRAPHLOOM_VOTE(agree, 2)        // whether the condition is the same in all
GRAPHLOOM_VOTE(ballot, 3)       // a bit for each lane

// Values of other lanes of the warp, which have to be active or to have the value already. A lane
// for which there is no such lane gets its own.

#define GRAPHLOOM_SHUFFLE(name, number)                                             \
    GRAPHLOOM_INLINE unsigned graphloom_##name(unsigned value, unsigned lane) {     \
        unsigned result;                                                            \
        __asm__ volatile(".insn r 0x0B, " #number ", 1, %0, %1, %2"                 \
                         : "=r"(result) : "r"(value), "r"((lane & 63) | 63 << 6));  \
        return result;                                                              \
    }

GRAPHLOOM_SHUFFLE(shuffle_up, 4)        // of the lane so many below
GRAPHLOOM_SHUFFLE(shuffle_down, 5)      // of the lane so many above
GRAPHLOOM_SHUFFLE(shuffle_xor, 6)       // of the lane whose number is this one's ^ lane
GRAPHLOOM_SHUFFLE(shuffle, 7)           // of that lane

// Atomics of words in memory or in the scratchpad. They return the old word.

#define GRAPHLOOM_ATOMIC(name, type)                                                \
    GRAPHLOOM_INLINE type graphloom_atomic_##name(type *place, type value) {        \
        return __atomic_fetch_##name(place, value, __ATOMIC_RELAXED);               \
    }

GRAPHLOOM_ATOMIC(add, int)
GRAPHLOOM_ATOMIC(and, unsigned)
GRAPHLOOM_ATOMIC(or, unsigned)
GRAPHLOOM_ATOMIC(xor, unsigned)
GRAPHLOOM_ATOMIC(min, int)
GRAPHLOOM_ATOMIC(max, int)

GRAPHLOOM_INLINE int graphloom_atomic_exchange(int *place, int value) {
    return __atomic_exchange_n(place, value, __ATOMIC_RELAXED);
}

// Writes value if the word is expected.
GRAPHLOOM_INLINE int graphloom_atomic_replace(int *place, int expected, int value) {
    __atomic_compare_exchange_n(place, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

// The scratchpad of a core, local_bytes of it, which its warps share.

#define GRAPHLOOM_SCRATCHPAD ((void *)0x10000000)

// Stops the device if a condition does not hold, and says in which lane.

#define graphloom_assert(condition) \
    ((condition) ? (void)0 : graphloom_fail(#condition, __FILE__, __LINE__))

GRAPHLOOM_INLINE void graphloom_fail(const char *condition, const char *file, int line) {
    printf("%s:%d: core %u, warp %u, lane %u: not %s\n", file, line, graphloom_core(),
           graphloom_warp(), graphloom_lane(), condition);
    graphloom_fence();
    __asm__ volatile("ebreak");
}

// Units that hand out edges (docs/weaver.md, docs/eghw.md, docs/graphpeg.md). Each lane registers a
// vertex with the place of its first edge and the number of its edges. All lanes of a warp then ask
// for work together: each gets the vertex of an edge, or GRAPHLOOM_NO_WORK; when all lanes of a
// warp get that, nothing is left. The pass lets all lanes go on, with work or without.

#define GRAPHLOOM_NO_WORK 0xffffffffu

GRAPHLOOM_INLINE void graphloom_register(unsigned vertex, unsigned first, unsigned count) {
    __asm__ volatile(".insn r4 0x2B, 0, 1, x0, %0, %1, %2"
                     :: "r"(vertex), "r"(first), "r"(count) : "memory");
}

GRAPHLOOM_INLINE void graphloom_skip(unsigned vertex) {
    __asm__ volatile(".insn r 0x2B, 0, 2, x0, %0, x0" :: "r"(vertex) : "memory");
}

#define GRAPHLOOM_UNIT(name, number)                                                \
    GRAPHLOOM_INLINE unsigned graphloom_##name(void) {                              \
        unsigned result;                                                            \
        __asm__ volatile(".insn r 0x0B, 0, " #number ", %0, x0, x0"                 \
                         : "=r"(result) :: "memory");                               \
        return result;                                                              \
    }

GRAPHLOOM_UNIT(next_vertex, 7)  // asks for work
GRAPHLOOM_UNIT(edge, 8)         // the place of the edge of the last work
GRAPHLOOM_UNIT(neighbor, 9)     // what it leads to, of a unit that reads edges
GRAPHLOOM_UNIT(weight, 10)
GRAPHLOOM_UNIT(pop_vertex, 11)  // the next vertex of the unit's input list

GRAPHLOOM_INLINE void graphloom_push_vertex(unsigned vertex) {
    __asm__ volatile(".insn r 0x2B, 0, 3, x0, %0, x0" :: "r"(vertex) : "memory");
}

// A setting of the unit, by its number, which has to be a constant.
#define graphloom_set(number, value)                                                \
    __asm__ volatile(".insn r 0x2B, 0, 0, x%c0, %1, x0" :: "i"(number), "r"(value) : "memory")

#endif
