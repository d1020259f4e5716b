// What the kernels of a program consist of, beside its own structs (sw/vm/c_program.py). The
// generated text of a program includes this file and nothing else, so that it compiles quickly. It
// defines VECTORS, UNIFORMS, LITERALS, and GIVEN: what a Call takes from a Task, word by word.
#pragma once
#include "machine.h"

#include <stdlib.h>

// A Task as the code of an operator sees it. It is a kernel's own and no function keeps its address,
// so the compiler has the words in registers.
struct Call {
    const Task &task;
    Worker &worker;
    const Rows leaving, entering;
    const word vertices;
    const bool shared;
    word *const now[VECTORS];
    const word *const start[VECTORS];
    const word uniforms[UNIFORMS];
    const wide literals[LITERALS];

    INLINE_MEMBER Call(const Task &task, Worker &worker)
        : task(task), worker(worker), leaving(task.leaving), entering(task.entering),
          vertices(task.num_vertices), shared(task.shared), GIVEN {}
};

#define KERNEL(name, ...)                                                                         \
    extern "C" void name(const Task &task, Worker &worker, wide first, wide last) {               \
        const Call call(task, worker);                                                            \
        __VA_ARGS__(call, first, last);                                                           \
    }

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

INLINE void report(const Call &call, word fault, word detail) {
    const wide found = (wide)fault << 32 | detail;
    if (found < call.worker.error) call.worker.error = found;
}

INLINE word degree(const Rows &rows, word vertex) {
    return rows.offsets[vertex + 1] - rows.offsets[vertex];
}

// Sets

[[maybe_unused]] static __attribute__((noinline)) void more_room(Worker &worker) {
    worker.room = worker.room ? 2 * worker.room : 1024;
    worker.found = (word *)realloc(worker.found, worker.room * sizeof(word));
    if (!worker.found) abort();
}

INLINE void append(Worker &worker, word vertex) {
    if (worker.count == worker.room) more_room(worker);
    worker.found[worker.count++] = vertex;
}

// A vertex changed, which is in the result if the words of this vector are `tracked`. It is appended
// unless a thread has done so; `once` says that it changes once.
template <bool tracked, bool once = false> INLINE void changed(const Call &call, word vertex) {
    if (!tracked) return;
    wide *const bits = call.task.seen + (vertex >> 6), bit = (wide)1 << (vertex & 63);
    if (!once) {
        if (__atomic_load_n(bits, __ATOMIC_RELAXED) & bit) return;
        if (!call.shared) *bits |= bit;
        else if (__atomic_fetch_or(bits, bit, __ATOMIC_RELAXED) & bit) return;
    }
    append(call.worker, vertex);
}

// Notes that a vertex lost a candidate of a reduction of a vector (sw/lang/faults.py).
[[maybe_unused]] static __attribute__((noinline)) void note_lost(const Task &task,
                                                                 word vector, word fault,
                                                                 word vertex) {
    const wide words = (wide)task.num_vertices / 64 + 1, bit = (wide)1 << (vertex & 63);
    __atomic_fetch_or(task.lost + vector * words + (vertex >> 6), bit, __ATOMIC_RELAXED);
    __atomic_store_n(task.lost_faults + vector, fault, __ATOMIC_RELAXED);
}

INLINE void lose(const Call &call, word vector, word fault, word vertex) {
    note_lost(call.task, vector, fault, vertex);
}

// A word that another thread may write, or read, at this moment.
INLINE word fresh(const word *place) { return __atomic_load_n(place, __ATOMIC_RELAXED); }
INLINE void put(word *place, word value) { __atomic_store_n(place, value, __ATOMIC_RELAXED); }

// Reductions. `whole` says that nobody else reduces this word: then no atomic is needed, and the
// vertex changes once. `same_...` are for elements that all calls reduce by one word, so that it
// does no harm to store it again.
#define REDUCTION(name, better, result)                                                           \
    template <bool tracked, bool whole = false>                                                   \
    INLINE void reduce_##name(const Call &call, word *words, word vertex, word value) {           \
        word old = whole ? words[vertex] : fresh(words + vertex);                                 \
        while (better) {                                                                          \
            if (whole || !call.shared) put(words + vertex, result);                               \
            else if (!__atomic_compare_exchange_n(words + vertex, &old, result, true,             \
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;  \
            return changed<tracked, whole>(call, vertex);                                         \
        }                                                                                         \
    }                                                                                             \
    template <bool tracked>                                                                       \
    INLINE void same_##name(const Call &call, word *words, word vertex, word value) {             \
        const word old = fresh(words + vertex);                                                   \
        if (!(better)) return;                                                                    \
        put(words + vertex, result);                                                              \
        changed<tracked>(call, vertex);                                                           \
    }

REDUCTION(min, value < old, value)
REDUCTION(max, value > old, value)
REDUCTION(or, value & ~old, old | value)

// A sum may reach `most`. A sum that passes it does so in one of the additions.
template <bool tracked, bool whole = false>
INLINE void reduce_add(const Call &call, word *words, word vertex, wide value, word most,
                       word fault) {
    if (!value) return;
    word *const place = words + vertex;
    const bool alone = whole || !call.shared;
    const word old = alone ? *place : __atomic_fetch_add(place, (word)value, __ATOMIC_RELAXED);
    if (alone) put(place, old + (word)value);
    if (old + value > most) report(call, fault, vertex);
    changed<tracked, whole>(call, vertex);
}

// Operators of vertices: they go through the vertices `first` to `last - 1` of a set.

template <class Visit> INLINE void each_vertex(const Task &task, wide first, wide last,
                                               Visit visit) {
    for (wide i = first; i < last; ++i) visit(task.list ? task.list[i] : (word)i);
}

template <class Op> INLINE void each(const Call &call, wide first, wide last) {
    each_vertex(call.task, first, last, [&](word vertex) BODY { Op::vertex(call, vertex); });
}

template <class Op> INLINE void where(const Call &call, wide first, wide last) {
    each_vertex(call.task, first, last, [&](word vertex) BODY {
        if (Op::vertex(call, vertex)) append(call.worker, vertex);
    });
}

template <class Op> INLINE void total(const Call &call, wide first, wide last) {
    each_vertex(call.task, first, last, [&](word vertex) BODY {
        call.worker.total += Op::vertex(call, vertex);
    });
}

// Operators of edges

template <bool pulls, bool transposed, bool all> struct Edges {
    static constexpr bool every = all;
};

// Makes the bits of a filter that may fail, as the reference evaluates it for all vertices.
template <class Op> INLINE void check(const Call &call, wide first, wide last) {
    for (wide i = first; i < last; ++i)
        call.task.wanted[i >> 6] |= (wide)(Op::passes(call, (word)i) != 0) << (i & 63);
}

template <class Op> INLINE bool passes(const Call &call, word vertex) {
    return !Op::tests || (Op::test_fails ? has(call.task.wanted, vertex)
                                         : Op::passes(call, vertex));
}

// Calls visit(source, its arcs in `along`) for the arcs `first` to `last - 1` of a set.
template <class Visit>
INLINE void each_row(const Task &task, wide first, wide last, Visit visit) {
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
        visit(source, begin, end);
        first += end - begin;
    }
}

template <class Op> INLINE void push(const Call &call, wide first, wide last) {
    const word *const neighbors = call.task.along.neighbors;
    const word *const weights = call.task.along.weights;
    each_row(call.task, first, last, [&](word source, wide begin, wide end) BODY {
        typename Op::Local local;
        for (wide arc = begin; arc < end; ++arc) {
            const word target = neighbors[arc];
            if (passes<Op>(call, target))
                Op::edge(call, source, target, Op::weighted ? weights[arc] : 0, local);
        }
        Op::template finish<false>(call, source, local);
    });
}

// The rows `first` to `last - 1`, along the arcs from the vertices `among`, or from all.
template <class Op, bool every>
INLINE void pull_rows(const Call &call, const wide *among, wide first, wide last) {
    const word *const offsets = call.task.against.offsets;
    const word *const neighbors = call.task.against.neighbors;
    const word *const weights = call.task.against.weights;
    for (word row = first; row < last; ++row) {
        const wide begin = offsets[row], end = offsets[row + 1];
        if (begin == end || !passes<Op>(call, row)) continue;
        typename Op::Local local;
        for (wide arc = begin; arc < end; ++arc) {
            const word source = neighbors[arc];
            if (!every && !has(among, source)) continue;
            Op::edge(call, source, row, Op::weighted ? weights[arc] : 0, local);
            if (Op::exits && local.done) break;
        }
        Op::template finish<true>(call, row, local);
    }
}

template <class Op> INLINE void pull(const Call &call, wide first, wide last) {
    const wide *const among = call.task.among;
    if (Op::every || !among) pull_rows<Op, true>(call, among, first, last);
    else pull_rows<Op, false>(call, among, first, last);
}
