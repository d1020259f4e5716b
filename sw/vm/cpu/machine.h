// The machine as the kernels of a program see it. The generated text of a program includes this
// file and nothing else, so that it compiles quickly.
#pragma once
#include <stdint.h>
#include <stdlib.h>

typedef uint32_t word;
typedef uint64_t wide;

#define INLINE [[maybe_unused]] static inline __attribute__((always_inline))
#define BODY __attribute__((always_inline))
#define ERRORS Worker &

// Compressed rows: the arcs of vertex v are offsets[v] to offsets[v + 1] - 1.
struct Rows {
    const word *offsets, *neighbors, *weights;
};

// The results of one thread. `error` is the least report: a fault above, its detail below.
struct alignas(128) Worker {
    wide error, total;
    word *found;
    wide count, room;
};

// An operator while it runs. `list` is its set of vertices, null for all of them. `before[i]` is
// the number of arcs of list[0] to list[i - 1]. `starts` are the vectors as they were at the start.
// With `blocked`, the list has the rows of all blocks, and the arcs of a row begin at `before`.
struct Task {
    Rows along, against;
    const word *out_offsets, *in_offsets;
    word *const *vectors;
    const word *const *starts;
    const word *uniforms;
    const wide *literals;
    const word *list;
    const wide *before;
    const wide *among;      // bits of the sources, if they are not all vertices
    wide *wanted;           // bits of the destinations that a filter lets through, if made before
    wide *seen;             // bits of the vertices in the queues of all threads
    wide *lost;             // for each vector, bits of the vertices that lost a candidate
    word *lost_faults;      // for each vector, the fault of such a vertex
    wide count;             // vertices of the set
    word num_vertices;
    bool blocked;
    bool shared;            // whether several threads run
};

// A queue of a fused loop: the number of its vector, and 0 for `delta` if it has no order.
struct Waiting {
    int64_t vector, delta, threshold;
};

// The functions of the runtime that fused loops call. Sets are numbered; `target` is -1 if there is
// no result. Those that return bool, but for questions, return whether there was no error.
struct Machine;
struct EdgeOperator;
typedef void Kernel(const Task &, Worker &, wide first, wide last);
struct Calls {
    int64_t (*size)(const Machine *, int32_t set);
    bool (*is_vertex)(const Machine *, int64_t value);
    bool (*late)(const Machine *), (*stopped)(Machine *);
    void (*move)(Machine *, int32_t source, int32_t target);
    void (*dequeue)(Machine *, Waiting &, int32_t queue, int32_t target);
    bool (*edges)(Machine *, const EdgeOperator *, int32_t source, int32_t target, bool joins,
                  const word *uniforms);
    bool (*vertices)(Machine *, Kernel *, const int32_t *copies, int32_t num_copies,
                     int32_t source, int32_t target, const word *uniforms);
    bool (*total)(Machine *, Kernel *, int32_t source, const word *uniforms, int64_t &total);
    bool (*settle)(Machine *);
};

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

INLINE void report(Worker &errors, word fault, word detail) {
    const wide found = (wide)fault << 32 | detail;
    if (found < errors.error) errors.error = found;
}

INLINE bool has(const wide *bits, word vertex) { return bits[vertex >> 6] >> (vertex & 63) & 1; }

[[maybe_unused]] static __attribute__((noinline)) void more_room(Worker &worker) {
    worker.room = worker.room ? 2 * worker.room : 1024;
    worker.found = (word *)realloc(worker.found, worker.room * sizeof(word));
    if (!worker.found) abort();
}

INLINE void append(Worker &worker, word vertex) {
    if (worker.count == worker.room) more_room(worker);
    worker.found[worker.count++] = vertex;
}

// Appends a vertex that no thread has appended yet.
INLINE void append_new(const Task &task, Worker &worker, word vertex) {
    wide *const bits = task.seen + (vertex >> 6), bit = (wide)1 << (vertex & 63);
    if (__atomic_load_n(bits, __ATOMIC_RELAXED) & bit) return;
    if (!task.shared) *bits |= bit;
    else if (__atomic_fetch_or(bits, bit, __ATOMIC_RELAXED) & bit) return;
    append(worker, vertex);
}

// Notes that a vertex lost a candidate of a reduction of a vector (sw/lang/faults.py).
[[maybe_unused]] static __attribute__((noinline)) void lose(const Task &task, word vector,
                                                            word fault, word vertex) {
    const wide words = (wide)task.num_vertices / 64 + 1, bit = (wide)1 << (vertex & 63);
    __atomic_fetch_or(task.lost + vector * words + (vertex >> 6), bit, __ATOMIC_RELAXED);
    __atomic_store_n(task.lost_faults + vector, fault, __ATOMIC_RELAXED);
}

// A word that another thread may write, or read, at this moment.
INLINE word fresh(const word *place) { return __atomic_load_n(place, __ATOMIC_RELAXED); }
INLINE void put(word *place, word value) { __atomic_store_n(place, value, __ATOMIC_RELAXED); }

// Puts a word, which other threads put, too, at this moment.
INLINE bool put_new(word *place, word value) {
    if (fresh(place) == value) return false;
    put(place, value);
    return true;
}

// Reductions return whether the word changed.
INLINE bool replace_if(bool shared, word *place, word value, bool less) {
    word old = fresh(place);
    while (less ? value < old : value > old) {
        if (!shared) {
            *place = value;
            return true;
        }
        if (__atomic_compare_exchange_n(place, &old, value, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) return true;
    }
    return false;
}

INLINE bool reduce_min(bool shared, word *place, word value) {
    return replace_if(shared, place, value, true);
}

INLINE bool reduce_max(bool shared, word *place, word value) {
    return replace_if(shared, place, value, false);
}

INLINE bool reduce_or(bool shared, word *place, word value) {
    const word old = fresh(place);
    if ((old | value) == old) return false;
    if (!shared) {
        *place = old | value;
        return true;
    }
    const word before = __atomic_fetch_or(place, value, __ATOMIC_RELAXED);
    return (before | value) != before;
}

// A sum may reach `most`.
INLINE bool reduce_sum(bool shared, word *vector, word index, word value, word most, Worker &errors,
                       word fault) {
    if (!value) return false;
    word *const place = vector + index;
    const word old = shared ? __atomic_fetch_add(place, value, __ATOMIC_RELAXED) : *place;
    if (!shared) *place = old + value;
    if ((wide)old + value > most) report(errors, fault, index);
    return true;
}

// Calls visit(source, place in `along`) for the arcs `first` to `last - 1` of a set.
template <class Visit>
INLINE void each_arc(const Task &task, wide first, wide last, Visit visit) {
    const word *const offsets = task.along.offsets;
    wide low = 0, high = task.count;        // low's arcs begin at or before the first
    while (high - low > 1) {
        const wide middle = (low + high) / 2;
        const wide arcs = task.before ? task.before[middle] : offsets[middle];
        if (arcs <= first) low = middle;
        else high = middle;
    }
    for (wide place = low; first < last; ++place) {
        const word source = task.list ? task.list[place] : (word)place;
        wide begin = first, end = 0;
        if (task.blocked) {
            end = task.before[place + 1];
        } else {
            begin = offsets[source] + first - (task.before ? task.before[place] : offsets[place]);
            end = offsets[source + 1];
        }
        if (end - begin > last - first) end = begin + last - first;
        for (wide arc = begin; arc < end; ++arc) visit(source, arc);
        first += end - begin;
    }
}
