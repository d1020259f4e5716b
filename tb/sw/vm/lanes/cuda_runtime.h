// What a program in CUDA C needs to run without a GPU: the lanes of a CTA take turns on one thread of
// the host, in an order that changes from turn to turn. A lane's turn ends where it waits for others,
// and now and then where it reads a word that others change, so that a missing atomic is noticed.
// CTAs run one after another, so the grid of a cooperative kernel has one. Lanes that wait for each
// other for ever, as at different barriers, end the process.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(threads)
#define __shared__ static

struct Index { unsigned x; };
static Index threadIdx, blockIdx, gridDim;

namespace lanes {

constexpr unsigned NUMBER = 256, SIZE = 32, STACK = 1 << 16;
enum State { READY, AT_WARP, AT_CTA, DONE };

static ucontext_t host, contexts[NUMBER];
static State states[NUMBER];
static uint64_t values[NUMBER];
static std::function<void()> body;
static unsigned own;

static void enter() {
    body();
    states[own] = DONE;
    swapcontext(&contexts[own], &host);
}

static void wait(State state) {
    const unsigned lane = own;
    states[lane] = state;
    swapcontext(&contexts[lane], &host);
}

// A turn may end here.
static void pause() {
    static unsigned number = 1;
    number = number * 1664525 + 1013904223;
    if (number >> 30 == 0) wait(READY);
}

// Lets lanes go on that have all come. Returns whether any is ready.
static bool release() {
    const auto all = [](unsigned first, unsigned last, State state) {
        bool any = false;
        for (unsigned i = first; i < last; i++) {
            if (states[i] != DONE && states[i] != state) return;
            any |= states[i] == state;
        }
        for (unsigned i = first; any && i < last; i++)
            if (states[i] == state) states[i] = READY;
    };
    for (unsigned warp = 0; warp < NUMBER; warp += SIZE) all(warp, warp + SIZE, AT_WARP);
    all(0, NUMBER, AT_CTA);
    return std::find(states, states + NUMBER, READY) != states + NUMBER;
}

static void run(unsigned ctas, std::function<void()> kernel) {
    static std::vector<char> stacks(NUMBER * STACK);
    body = std::move(kernel);
    gridDim.x = ctas;
    unsigned turn = 0;
    for (blockIdx.x = 0; blockIdx.x < ctas; blockIdx.x++) {
        for (unsigned i = 0; i < NUMBER; i++) {
            getcontext(&contexts[i]);
            contexts[i].uc_stack.ss_sp = &stacks[i * STACK];
            contexts[i].uc_stack.ss_size = STACK;
            makecontext(&contexts[i], enter, 0);
            states[i] = READY;
        }
        while (release()) {
            turn = turn * 1664525 + 1013904223;
            for (unsigned i = 0; i < NUMBER; i++) {
                own = threadIdx.x = (i * (turn | 1) + (turn >> 16)) % NUMBER;
                if (states[own] == READY) swapcontext(&host, &contexts[own]);
            }
        }
        if (std::count(states, states + NUMBER, DONE) != NUMBER) {
            fprintf(stderr, "lanes wait for each other\n");
            abort();
        }
    }
}

// The value of another lane of the warp. A lane alone has only its own.
template <class Value> Value exchange(unsigned mask, Value value, unsigned from) {
    if (mask != ~0u) return value;
    const unsigned lane = threadIdx.x;
    values[lane] = value;
    wait(AT_WARP);
    const Value found = values[lane / SIZE * SIZE + from % SIZE];
    wait(AT_WARP);
    return found;
}

static uint64_t nanoseconds() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

template <class Value, class Change> Value atomic(Value *place, Change change) {
    const Value old = *place;
    *place = change(old);
    return old;
}

}

static inline void __syncthreads() { lanes::wait(lanes::AT_CTA); }
static inline void __syncwarp() { lanes::wait(lanes::AT_WARP); }
static inline void __threadfence_system() {}
static inline unsigned __activemask() { return 1u << threadIdx.x % lanes::SIZE; }
static inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
static inline int __ffs(unsigned bits) { return __builtin_ffs(bits); }
template <class Value> Value __ldg(const Value *place) { return *place; }
template <class Value> Value __ldcg(const Value *place) {
    const Value found = *place;
    lanes::pause();
    return found;
}
template <class Value> Value __shfl_sync(unsigned mask, Value value, unsigned from) {
    return lanes::exchange(mask, value, from);
}
template <class Value> Value __shfl_up_sync(unsigned mask, Value value, unsigned step) {
    const unsigned lane = threadIdx.x % lanes::SIZE;
    return lanes::exchange(mask, value, lane < step ? lane : lane - step);
}
template <class Value> Value __shfl_xor_sync(unsigned mask, Value value, unsigned step) {
    return lanes::exchange(mask, value, threadIdx.x % lanes::SIZE ^ step);
}
static inline unsigned __ballot_sync(unsigned, bool value) {
    const unsigned lane = threadIdx.x, first = lane / lanes::SIZE * lanes::SIZE;
    lanes::values[lane] = value;
    lanes::wait(lanes::AT_WARP);
    unsigned found = 0;
    for (unsigned i = 0; i < lanes::SIZE; i++) found |= (unsigned)lanes::values[first + i] << i;
    lanes::wait(lanes::AT_WARP);
    return found;
}
static inline bool __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value); }

template <class Value, class Other> Value atomicAdd(Value *place, Other value) {
    return lanes::atomic(place, [&](Value old) { return old + (Value)value; });
}
template <class Value> Value atomicMin(Value *place, Value value) {
    return lanes::atomic(place, [&](Value old) { return std::min(old, value); });
}
template <class Value> Value atomicMax(Value *place, Value value) {
    return lanes::atomic(place, [&](Value old) { return std::max(old, value); });
}
template <class Value> Value atomicOr(Value *place, Value value) {
    return lanes::atomic(place, [&](Value old) { return old | value; });
}
template <class Value> Value atomicExch(Value *place, Value value) {
    return lanes::atomic(place, [&](Value) { return value; });
}
using std::max;
using std::min;

// The host's side

typedef int cudaError_t;
enum { cudaErrorNotReady = 600, cudaDevAttrMultiProcessorCount, cudaMemcpyDefault, cudaMemcpyDeviceToHost };

static inline int cudaGetDevice(int *device) { return *device = 0; }
static inline int cudaDeviceGetAttribute(int *found, int, int) { return *found = 1, 0; }
static inline int cudaGetLastError() { return 0; }
static inline int cudaStreamSynchronize(int) { return 0; }
static inline int cudaStreamQuery(int) { return 0; }
static inline const char *cudaGetErrorString(int) { return "no error"; }
static inline int cudaMalloc(void **place, uint64_t bytes) {
    *place = malloc(bytes);
    return !*place;
}
static inline int cudaMallocHost(void **place, uint64_t bytes) { return cudaMalloc(place, bytes); }
static inline int cudaFree(void *place) { return free(place), 0; }
static inline int cudaFreeHost(void *place) { return free(place), 0; }
static inline int cudaMemset(void *place, int word, uint64_t bytes) {
    return memset(place, word, bytes), 0;
}
static inline int cudaMemsetAsync(void *place, int word, uint64_t bytes) {
    return cudaMemset(place, word, bytes);
}
static inline int cudaMemcpy(void *to, const void *from, uint64_t bytes, int) {
    return memcpy(to, from, bytes), 0;
}
static inline int cudaMemcpyAsync(void *to, const void *from, uint64_t bytes, int kind) {
    return cudaMemcpy(to, from, bytes, kind);
}
