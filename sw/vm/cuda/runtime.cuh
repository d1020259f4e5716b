// The runtime of the GraphVM `cuda`: sets of vertices, reductions, the schedules of edges, and what
// fused loops need.
//
// A generated file defines VECTORS, UNIFORMS, LITERALS, BLOCKS, OPERATORS and FUSED_CTAS before this
// text. An operator of edges is a struct `Op` of static functions; see sw/vm/c_program.py. A `Call`
// has everything that a kernel needs; sw/vm/cuda/machine.py has the same struct. Every exported
// function gives a cudaError_t.
//
// A *phase* is a struct with a function `run` that all threads of the grid perform, for any size of
// the grid. A phase sees everything that the phases before it wrote: each is a kernel of its own,
// or in a fused loop a barrier of the grid is between them.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cuda_runtime.h>

typedef uint32_t word;
typedef unsigned long long wide;

#define DEVICE static __device__ __forceinline__
#define INLINE DEVICE

constexpr word NONE = 0xffffffffu;
constexpr word WARP = 32, CTA = 256;
constexpr word CHUNKS = 2048;       // most parts of the prefix sums of `strict`
constexpr word PIECE = 256;         // arcs of a piece of a row
constexpr word FAULT_BITS = 25;     // of a fault's number; above them is the order of the operator

// The result of an operator, all 0 before it begins. `fault` is the complement of the least fault
// (the order of its operator, its number and its detail), or 0. `output` and `rest` are sizes of
// sets: the arcs that leave a set in the upper half, if they are counted, and its vertices in the
// lower half. `most` is the complement of a smallest word. `turn` is for the host.
struct Status {
    wide fault, total, output, rest;
    word most, late, buckets[3], turn;
};

// Compressed rows. Arc `i` is in the row of vertex `owners[i]`; null without the schedule
// `edge_only`. Row `i` is of vertex `vertices[i]`; null: of vertex `i`.
struct Rows {
    const word *offsets, *neighbors, *weights, *owners, *vertices;
};

// Rows in blocks (EdgeBlocking). Block `i` has the rows from `rows_of[i]` to `rows_of[i + 1]`, and
// the arcs from `arcs_of[i]`; `host_…` are the same numbers in the host's memory.
struct Blocks {
    Rows rows;
    const word *rows_of, *arcs_of, *host_rows_of, *host_arcs_of;
    wide count;
};

enum Creation { FUSED, BITMAP, BOOLMAP };
enum Deduplication { COUNTERS, BITS, BYTES, NOTHING };

struct Call {
    Rows leaving, entering;
    Blocks blocks[BLOCKS];
    word *now[VECTORS];
    word *start[VECTORS];       // copies of the words at the start, where an operator needs them
    const word *queue;          // the vertices of the input; null: all vertices
    uint8_t *members;           // a bit or a byte for each vertex: whether it is in the input
    word *marks;                // a bit or a byte a vertex, all 0 between operators
    word *stamps;               // a vertex is in the output if it has the stamp
    word *output, *rest;
    word *buckets;              // of `twc`: three queues
    word *pieces;               // of rows with many arcs, in fused loops
    word *sums;                 // of `strict`: a sum for each vertex, then one for each chunk
    word *lost;                 // for each vector, bits of the vertices that lost a candidate
    word *wanted;               // bits of the vertices that a filter lets through, if it may fail
    Status *status;
    Status *answer;             // where the host waits for the status
    wide threshold;
    wide literals[LITERALS];
    word vertices, edges, count, stamp;
    word arcs;                  // that leave the input
    word weighs;                // whether the arcs that leave the output are counted
    word creation, deduplication;
    word members_shift;         // 3 for bits, 0 for bytes
    word marked;                // whether `members` has the input already
    word order;                 // of the operators for which the host has not waited yet
    word turn;                  // of the answer
    word most;                  // arcs and vertices of a set that a fused loop takes up
    word first, number, first_arc, last_arc;        // rows and arcs of a block
    word uniforms[UNIFORMS];
    word least[OPERATORS];      // of hybrid schedules: the sizes of inputs from which the second runs
};

// Errors and sets

DEVICE void report(const Call &call, word fault, word detail) {
    atomicMax(&call.status->fault, ~((wide)(call.order << FAULT_BITS | fault) << 32 | detail));
}

DEVICE word thread() { return blockIdx.x * CTA + threadIdx.x; }
DEVICE word threads() { return gridDim.x * CTA; }

DEVICE word degree(const Rows &rows, word vertex) {
    return __ldg(&rows.offsets[vertex + 1]) - __ldg(&rows.offsets[vertex]);
}

// Append a vertex to a queue; lanes that run together take their places at once.
DEVICE void append(const Call &call, word *queue, wide *size, word vertex) {
    const word lanes = __activemask();
    const word lane = threadIdx.x % WARP, leader = __ffs(lanes) - 1;
    const word arcs = call.weighs ? degree(call.leaving, vertex) : 0;
#if __CUDA_ARCH__ >= 800
    const word all = __reduce_add_sync(lanes, arcs);
#else
    word all = 0;
    for (word rest = lanes; rest; rest &= rest - 1) {
        all += __shfl_sync(lanes, arcs, __ffs(rest) - 1);
    }
#endif
    word place = 0;
    if (lane == leader) {
        place = static_cast<word>(atomicAdd(size, (wide)all << 32 | __popc(lanes)));
    }
    place = __shfl_sync(lanes, place, leader);
    queue[place + __popc(lanes & (1u << lane) - 1)] = vertex;
}

// Whether a vertex is in the input, of which marks were made unless it holds all vertices.
DEVICE bool member(const Call &call, word vertex) {
    const word place = vertex >> call.members_shift;
    return !call.queue || call.members[place] >> (vertex - (place << call.members_shift)) & 1;
}

// Sets bits of a mark. Returns whether none of them was set.
DEVICE bool set_mark(word *mark, word bits) {
    return !(__ldcg(mark) & bits) && !(atomicOr(mark, bits) & bits);
}

DEVICE bool first_change(const Call &call, word vertex) {
    switch (call.deduplication) {
        case COUNTERS:
            return __ldcg(&call.stamps[vertex]) != call.stamp &&
                   atomicExch(&call.stamps[vertex], call.stamp) != call.stamp;
        case BITS:
            return set_mark(&call.marks[vertex / 32], 1u << vertex % 32);
        case BYTES:
            return set_mark(&call.marks[vertex / 4], 1u << vertex % 4 * 8);
    }
    return true;
}

// A vertex changed. FUSED: it is appended if it is the first change; `once` says that there is but
// one. Otherwise it is only marked.
template <bool tracked, bool once = false> DEVICE void changed(const Call &call, word vertex) {
    if (!tracked) {
        return;
    }
    if (call.creation == BOOLMAP) {
        reinterpret_cast<uint8_t *>(call.marks)[vertex] = 1;
    } else if (call.creation == BITMAP) {
        set_mark(&call.marks[vertex / 32], 1u << vertex % 32);
    } else if (once || first_change(call, vertex)) {
        append(call, call.output, &call.status->output, vertex);
    }
}

// Words that other threads change, or read, at this moment.
DEVICE word fresh(const word *place) { return *place; }
DEVICE void put(word *place, word value) { *place = value; }

// Reductions. A word only moves one way, so a stale word costs an atomic at most. `whole` says that
// nobody else reduces this word: then no atomic is needed, and the vertex changes once. `same_…` are
// for elements that all calls reduce by one word: to store it again does no harm, and of atomics
// only the first changes the element, so a list needs no marks.
#define REDUCTION(name, better, atomic, result)                                                   \
    template <bool tracked, bool whole = false>                                                   \
    DEVICE void reduce_##name(const Call &call, word *words, word vertex, word value) {           \
        word old = __ldcg(&words[vertex]);                                                        \
        if (whole && (better)) {                                                                  \
            words[vertex] = result;                                                               \
            changed<tracked, true>(call, vertex);                                                 \
        } else if (!whole && (better)) {                                                          \
            old = atomic(&words[vertex], value);                                                  \
            if (better) {                                                                         \
                changed<tracked>(call, vertex);                                                   \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
    template <bool tracked>                                                                       \
    DEVICE void same_##name(const Call &call, word *words, word vertex, word value) {             \
        word old = __ldcg(&words[vertex]);                                                        \
        if (!(better)) {                                                                          \
            return;                                                                               \
        }                                                                                         \
        if (tracked && call.creation == FUSED) {                                                  \
            old = atomic(&words[vertex], value);                                                  \
        } else {                                                                                  \
            words[vertex] = result;                                                               \
        }                                                                                         \
        if (better) {                                                                             \
            changed<tracked, true>(call, vertex);                                                 \
        }                                                                                         \
    }

REDUCTION(min, value < old, atomicMin, value)
REDUCTION(max, value > old, atomicMax, value)
REDUCTION(or, value & ~old, atomicOr, old | value)

// A sum may reach `most`. A sum that passes it does so in one of the additions.
template <bool tracked, bool whole = false>
DEVICE void reduce_add(const Call &call, word *words, word vertex, wide value, word most,
                       word fault) {
    if (value == 0) {
        return;
    }
    word old = whole ? __ldcg(&words[vertex]) : 0;
    if (whole) {
        words[vertex] = old + static_cast<word>(value);
    } else {
        old = atomicAdd(&words[vertex], static_cast<word>(value));
    }
    if (old + value > most) {
        report(call, fault, vertex);
    }
    changed<tracked, whole>(call, vertex);
}

// Candidates of a minimum that do not fit (sw/lang/faults.py).

DEVICE word *lost_bits(const Call &call, word vector) {
    return call.lost + (wide)vector * (call.vertices / 32 + 1);
}

// The fault is reported by `settle`.
DEVICE void lose(const Call &call, word vector, word fault, word vertex) {
    set_mark(&lost_bits(call, vector)[vertex / 32], 1u << vertex % 32);
}

// Forgets the vertices that lost a candidate, and reports those at infinity.
template <word vector, word fault> struct settle {
    DEVICE void run(const Call &call) {
        word *const bits = lost_bits(call, vector);
        for (wide i = thread(); i <= call.vertices / 32; i += threads()) {
            word left = __ldcg(&bits[i]);
            if (left) {
                bits[i] = 0;
            }
            for (; left; left &= left - 1) {
                const word vertex = static_cast<word>(i) * 32 + __ffs(left) - 1;
                if (__ldcg(&call.now[vector][vertex]) == NONE) {
                    report(call, fault, vertex);
                }
            }
        }
    }
};

// Gathered values: the threads of a warp combine theirs.
struct OverWarp {
    template <class Value, class Gather>
    __device__ __forceinline__ void operator()(Value &all, Gather gather) const {
        for (int step = WARP / 2; step; step /= 2) {
            gather(all, __shfl_xor_sync(NONE, all, step));
        }
    }
};

// Groups of threads: a warp, or a CTA.

template <word GROUP> DEVICE void wait() {
    if (GROUP == WARP) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

// The sum of the values of the threads of a group up to this one.
template <word GROUP, class Value> DEVICE Value scan(Value value) {
    const word lane = threadIdx.x % WARP;
    for (word step = 1; step < WARP; step *= 2) {
        const Value other = __shfl_up_sync(NONE, value, step);
        value += lane >= step ? other : 0;
    }
    if (GROUP == WARP) {
        return value;
    }
    __shared__ Value sums[CTA / WARP];
    if (lane == WARP - 1) {
        sums[threadIdx.x / WARP] = value;
    }
    __syncthreads();
    for (word warp = 0; warp < threadIdx.x / WARP; warp++) {
        value += sums[warp];
    }
    __syncthreads();
    return value;
}

// What an operator of edges has in a direction. `rows` are the rows that it goes through, `number` of
// them; `place` is the place of each among the offsets, and `vertex` the vertex of a place.
template <bool pulling, bool transposed, bool all> struct Edges {
    static constexpr bool pull = pulling, every = all;
    static constexpr bool whole = true;     // a vertex has one row
    DEVICE const Rows &rows(const Call &call) {
        return pull == transposed ? call.leaving : call.entering;
    }
    DEVICE word number(const Call &call) { return pull ? call.vertices : call.count; }
    DEVICE word place(const Call &call, wide i) {
        return pull || !call.queue ? static_cast<word>(i) : call.queue[i];
    }
    DEVICE word vertex(const Call &, word place) { return place; }
    DEVICE bool dense(const Call &call) { return pull || !call.queue; }
    DEVICE wide first_arc(const Call &) { return 0; }
    DEVICE wide last_arc(const Call &call) { return call.edges; }
};

// Whether the filter lets a vertex through. If it may fail, `check` has made bits.
template <class Op> DEVICE bool passes(const Call &call, word vertex) {
    return !Op::tests || (Op::test_fails ? call.wanted[vertex / 32] >> vertex % 32 & 1
                                         : Op::passes(call, vertex));
}

// Whether any edge of a row counts.
template <class Op> DEVICE bool reached(const Call &call, word row) {
    return !Op::pull || passes<Op>(call, row);
}

// Schedules of edges. Later edges of a row change nothing once `local.done` is set.

// A word that is read once by lanes side by side: it takes no room in the L1.
DEVICE word passing(const word *place) {
    word found;
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(found) : "l"(place));
    return found;
}

template <class Op, bool side_by_side = false>
DEVICE void perform(const Call &call, word row, word arc, typename Op::Local &local) {
    const Rows &rows = Op::rows(call);
    const word neighbor = side_by_side ? passing(&rows.neighbors[arc])
                                       : __ldg(&rows.neighbors[arc]);
    if (Op::pull ? Op::every || member(call, neighbor) : passes<Op>(call, neighbor)) {
        Op::edge(call, Op::pull ? neighbor : row, Op::pull ? row : neighbor,
                 Op::weighted ? __ldg(&rows.weights[arc]) : 0, local);
    }
}

template <class Op> DEVICE word row_begin(const Call &call, word place) {
    return __ldg(&Op::rows(call).offsets[place]);
}

// A thread performs some arcs of a row; `whole` if there are no others.
template <bool whole, class Op>
DEVICE void alone(const Call &call, word row, word begin, word end) {
    typename Op::Local local;
    for (word arc = begin; arc < end && !local.done; arc++) {
        perform<Op>(call, row, arc, local);
    }
    Op::template finish<whole>(call, row, local);
}

// The lanes of a warp perform some arcs of a row together; `whole` if there are no others. They have
// arcs in order, so an edge that suffices is before those that come later.
template <bool whole, class Op>
DEVICE void together(const Call &call, word row, word begin, word end, word first, word step) {
    typename Op::Local local;
    begin += first - threadIdx.x % WARP;
    for (word arc = begin + threadIdx.x % WARP; begin < end; begin += step, arc += step) {
        if (arc < end) {
            perform<Op, true>(call, row, arc, local);
        }
        if (Op::exits && __any_sync(NONE, local.done)) {
            break;
        }
    }
    __syncwarp();
    if (Op::gathers) {
        Op::combine(local, OverWarp());
        if (threadIdx.x % WARP == 0) {
            Op::template finish<whole>(call, row, local);
        }
        __syncwarp();
    }
}

// A thread a vertex.
template <class Op> struct vertex_based {
    DEVICE void run(const Call &call) {
        for (wide i = thread(); i < Op::number(call); i += threads()) {
            const word place = Op::place(call, i), row = Op::vertex(call, place);
            if (reached<Op>(call, row)) {
                alone<Op::whole, Op>(call, row, row_begin<Op>(call, place), row_begin<Op>(call, place + 1));
            }
        }
    }
};

// Lists the pieces of a row: its place, and where a piece begins in the row.
DEVICE void cut(const Call &call, word place, word size) {
    word at = atomicAdd(&call.status->buckets[0], (size + PIECE - 1) / PIECE);
    for (word begin = 0; begin < size; begin += PIECE, at++) {
        call.pieces[2 * at] = place;
        call.pieces[2 * at + 1] = begin;
    }
}

// Performs arcs of several rows one by one: what was gathered for a row is reduced at its end.
template <class Op> struct Runs {
    typename Op::Local local;
    word row = NONE;

    __device__ __forceinline__ void end(const Call &call) {
        if (Op::gathers && row != NONE) {
            Op::template finish<false>(call, row, local);
        }
    }

    __device__ __forceinline__ void begin(const Call &call, word next) {
        end(call);
        row = next;
        local = typename Op::Local();
    }
};

// Each thread of a group takes a vertex, or if there are few vertices all groups take equally many;
// then the group shares the arcs of all of them. The sums of the rows' sizes give each arc a number,
// and the threads find the rows of their numbers.
// With `apart`, the arcs of a vertex with many are left to `pieces`.
template <class Op, word GROUP, bool apart = false> struct Mapping {
    DEVICE void run(const Call &call) {
        __shared__ word ends[CTA], begins[CTA], rows[CTA];
        const word lane = threadIdx.x % GROUP, group = threadIdx.x - lane;
        const word number = Op::number(call), groups = threads() / GROUP;
        const word each = number >= threads() ? GROUP : (number + groups - 1) / groups;
        for (wide base = (wide)(thread() / GROUP) * each; base < number;
             base += (wide)groups * each) {
            word size = 0, begin = 0, row = 0;
            if (lane < each && base + lane < number) {
                const word place = Op::place(call, base + lane);
                row = Op::vertex(call, place);
                if (reached<Op>(call, row)) {
                    begin = row_begin<Op>(call, place);
                    size = row_begin<Op>(call, place + 1) - begin;
                }
                if (apart && size > PIECE) {
                    cut(call, place, size);
                    size = 0;
                }
            }
            const word end = scan<GROUP>(size);
            ends[threadIdx.x] = end;
            begins[threadIdx.x] = begin - (end - size);
            rows[threadIdx.x] = row;
            wait<GROUP>();
            const word total = ends[group + GROUP - 1];
            Runs<Op> runs;
            word at = group;
            for (word i = lane; i < total; i += GROUP) {
                if (runs.row == NONE || i >= ends[at]) {
                    word high = group + GROUP - 1;
                    while (at < high) {
                        const word middle = (at + high) / 2;
                        if (ends[middle] <= i) {
                            at = middle + 1;
                        } else {
                            high = middle;
                        }
                    }
                    runs.begin(call, rows[at]);
                }
                if (!runs.local.done) {
                    perform<Op>(call, runs.row, begins[at] + i, runs.local);
                }
            }
            runs.end(call);
            wait<GROUP>();
        }
    }
};

template <class Op> struct wm : Mapping<Op, WARP> {};
template <class Op> struct cm : Mapping<Op, CTA> {};

// For short rounds of fused loops, if nobody chose: `wm`, but rows of many arcs are cut into pieces,
// which all warps share when the others are done.
template <class Op> struct spread : Mapping<Op, WARP, true> {};

template <class Op> struct pieces {
    DEVICE bool needed(const Call &call) { return __ldcg(&call.status->buckets[0]); }

    DEVICE void run(const Call &call) {
        const word number = __ldcg(&call.status->buckets[0]);
        for (word i = thread() / WARP; i < number; i += threads() / WARP) {
            const word place = __ldcg(&call.pieces[2 * i]);
            const word begin = row_begin<Op>(call, place) + __ldcg(&call.pieces[2 * i + 1]);
            together<false, Op>(call, Op::vertex(call, place), begin,
                                min(begin + PIECE, row_begin<Op>(call, place + 1)),
                                threadIdx.x % WARP, WARP);
        }
    }
};

// Threads, warps and CTAs (UGF, algorithm 1). Each thread of a CTA takes a vertex and splits its
// arcs: a multiple of CTA, a multiple of WARP, and the rest. Queues in shared memory hold the
// parts. Then a thread performs each part of the first stage, a warp each of the second, and all
// of the CTA each of the third. Where an edge may end its row, a thread tries the first few of its
// vertex before it gives the others away: mostly there are none left.
constexpr word TRIED = 4;

template <class Op> struct etwc {
    // Whether the arcs from `begin` to `end` are over with the first of them; `begin` moves behind
    // these.
    DEVICE bool tried(const Call &call, word row, word &begin, word end) {
        if (begin == end) {
            return true;
        }
        const word stop = min(end, begin + TRIED);
        typename Op::Local local;
        for (; begin < stop && !local.done; begin++) {
            perform<Op>(call, row, begin, local);
        }
        const bool over = local.done || begin == end;
        if (over) {
            Op::template finish<Op::whole>(call, row, local);
        } else {
            Op::template finish<false>(call, row, local);
        }
        return over;
    }

    DEVICE void run(const Call &call) {
        __shared__ word rows[3][CTA], begins[3][CTA], ends[3][CTA], sizes[3];
        __shared__ bool whole[CTA];     // of the first stage
        const word granularity[3] = {1, WARP, CTA};
        for (wide base = blockIdx.x * CTA; base < Op::number(call); base += threads()) {
            if (threadIdx.x < 3) {
                sizes[threadIdx.x] = 0;
            }
            __syncthreads();
            if (base + threadIdx.x < Op::number(call)) {
                const word from = Op::place(call, base + threadIdx.x);
                const word row = Op::vertex(call, from);
                if (reached<Op>(call, row)) {
                    word begin = row_begin<Op>(call, from);
                    word end = row_begin<Op>(call, from + 1);
                    const bool small = !Op::exits && end - begin < WARP;
                    if (Op::exits && tried(call, row, begin, end)) {
                        begin = end;
                    }
                    #pragma unroll
                    for (int stage = 2; stage >= 0; stage--) {
                        const word part = (end - begin) / granularity[stage] * granularity[stage];
                        if (part) {
                            const word place = atomicAdd(&sizes[stage], 1);
                            rows[stage][place] = row;
                            if (!stage) {
                                whole[place] = small;
                            }
                            begins[stage][place] = begin;
                            ends[stage][place] = begin += part;
                        }
                    }
                }
            }
            __syncthreads();
            for (word i = threadIdx.x; i < sizes[0]; i += CTA) {
                if (whole[i]) {
                    alone<Op::whole, Op>(call, rows[0][i], begins[0][i], ends[0][i]);
                } else {
                    alone<false, Op>(call, rows[0][i], begins[0][i], ends[0][i]);
                }
            }
            __syncwarp();
            for (word i = threadIdx.x / WARP; i < sizes[1]; i += CTA / WARP) {
                together<false, Op>(call, rows[1][i], begins[1][i], ends[1][i], threadIdx.x % WARP,
                                    WARP);
            }
            for (word i = 0; i < sizes[2]; i++) {
                together<false, Op>(call, rows[2][i], begins[2][i], ends[2][i], threadIdx.x, CTA);
            }
            __syncthreads();
        }
    }
};

// Threads, warps or CTAs (Merrill et al.): three queues in the GPU's memory have the rows of up to
// 31 arcs, of up to 255, and the others.
template <class Op> struct classify {
    DEVICE void run(const Call &call) {
        for (wide i = thread(); i < Op::number(call); i += threads()) {
            const word place = Op::place(call, i);
            const word size = row_begin<Op>(call, place + 1) - row_begin<Op>(call, place);
            if (!size || !reached<Op>(call, Op::vertex(call, place))) {
                continue;
            }
            #pragma unroll
            for (word bucket = 0; bucket < 3; bucket++) {
                if (bucket == (size >= WARP) + (size >= CTA)) {
                    const word lanes = __activemask();
                    const word lane = threadIdx.x % WARP, leader = __ffs(lanes) - 1;
                    word at = 0;
                    if (lane == leader) {
                        at = atomicAdd(&call.status->buckets[bucket], __popc(lanes));
                    }
                    at = __shfl_sync(lanes, at, leader) + __popc(lanes & (1u << lane) - 1);
                    call.buckets[(wide)bucket * call.vertices + at] = place;
                }
            }
        }
    }
};

template <class Op> struct twc {
    DEVICE void run(const Call &call) {
        const word *places = call.buckets;
        for (wide i = thread(); i < call.status->buckets[0]; i += threads()) {
            alone<Op::whole, Op>(call, Op::vertex(call, places[i]), row_begin<Op>(call, places[i]),
                            row_begin<Op>(call, places[i] + 1));
        }
        __syncwarp();
        places += call.vertices;
        for (wide i = thread() / WARP; i < call.status->buckets[1]; i += threads() / WARP) {
            together<Op::whole, Op>(call, Op::vertex(call, places[i]), row_begin<Op>(call, places[i]),
                               row_begin<Op>(call, places[i] + 1), threadIdx.x % WARP, WARP);
        }
        places += call.vertices;
        for (wide i = blockIdx.x; i < call.status->buckets[2]; i += gridDim.x) {
            together<false, Op>(call, Op::vertex(call, places[i]), row_begin<Op>(call, places[i]),
                                row_begin<Op>(call, places[i] + 1), threadIdx.x, CTA);
        }
    }
};

struct empty_buckets {
    DEVICE void run(const Call &call) {
        if (thread() < 3) {
            call.status->buckets[thread()] = 0;
        }
    }
};

// The same number of arcs for each thread. The sums of the rows' sizes give each arc a number. The
// rows of all vertices have them already: their offsets. For others, CTAs sum the rows of chunks;
// few rows are chunks of their own, which every CTA sums for itself.
template <class Op> DEVICE word chunk_size(const Call &call) {
    const word size = (word)(((wide)Op::number(call) + CHUNKS - 1) / CHUNKS);
    return size == 1 ? 1 : (size + CTA - 1) / CTA * CTA;
}

template <class Op> struct sum_chunks {
    DEVICE void run(const Call &call) {
        if (Op::dense(call) || Op::number(call) <= CHUNKS) {
            return;
        }
        __shared__ word all;
        const wide number = Op::number(call), size = chunk_size<Op>(call);
        for (wide chunk = blockIdx.x; chunk * size < number; chunk += gridDim.x) {
            word before = 0;
            const wide end = min((chunk + 1) * size, number);
            for (wide base = chunk * size; base < end; base += CTA) {
                word arcs = 0;
                if (base + threadIdx.x < end) {
                    const word place = Op::place(call, base + threadIdx.x);
                    arcs = row_begin<Op>(call, place + 1) - row_begin<Op>(call, place);
                }
                const word sum = before + scan<CTA>(arcs);
                if (base + threadIdx.x < end) {
                    call.sums[base + threadIdx.x] = sum;
                }
                if (threadIdx.x == CTA - 1) {
                    all = sum;
                }
                __syncthreads();
                before = all;
                __syncthreads();
            }
            if (threadIdx.x == 0) {
                call.sums[call.vertices + chunk] = before;
            }
        }
    }
};

template <class Op> struct strict {
    // The number of arcs up to a row and with it.
    DEVICE word end_of(const Call &call, const word *firsts, word size, word row) {
        if (Op::dense(call)) {
            return row_begin<Op>(call, Op::place(call, row) + 1) -
                   row_begin<Op>(call, Op::place(call, 0));
        }
        return size == 1 ? firsts[row + 1] : firsts[row / size] + call.sums[row];
    }

    DEVICE void run(const Call &call) {
        __shared__ word firsts[CHUNKS + 1];     // the arcs before each chunk
        const word number = Op::number(call);
        if (!number) {
            return;
        }
        const word size = chunk_size<Op>(call), chunks = (number - 1) / size + 1;
        if (!Op::dense(call)) {
            constexpr word EACH = CHUNKS / CTA;
            word own[EACH], sum = 0;
            for (word i = 0; i < EACH; i++) {
                const word chunk = threadIdx.x * EACH + i;
                own[i] = sum;
                if (chunk < chunks) {
                    const word place = size == 1 ? Op::place(call, chunk) : 0;
                    sum += size == 1 ? row_begin<Op>(call, place + 1) - row_begin<Op>(call, place)
                                     : call.sums[call.vertices + chunk];
                }
            }
            const word end = scan<CTA>(sum);
            for (word i = 0; i < EACH; i++) {
                firsts[threadIdx.x * EACH + i] = end - sum + own[i];
            }
            if (threadIdx.x == CTA - 1) {
                firsts[CHUNKS] = end;
            }
            __syncthreads();
        }
        const wide total = end_of(call, firsts, size, number - 1), warps = threads() / WARP;
        const wide share = (total + warps - 1) / warps, from = thread() / WARP * share;
        const wide to = min(from + share, total);
        Runs<Op> runs;
        word at = 0, end = 0, begin = 0;
        bool wanted = false;
        for (wide i = from + threadIdx.x % WARP; i < to; i += WARP) {
            if (i >= end) {
                // The row is at most twice as far as the steps that were taken.
                word step = 1;
                while (at + step < number && end_of(call, firsts, size, at + step - 1) <= i) {
                    at += step;
                    step *= 2;
                }
                word high = min(at + step, number) - 1;
                while (at < high) {
                    const word middle = (at + high) / 2;
                    if (end_of(call, firsts, size, middle) <= i) {
                        at = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                const word place = Op::place(call, at);
                end = end_of(call, firsts, size, at);
                begin = row_begin<Op>(call, place + 1) - end;
                runs.begin(call, Op::vertex(call, place));
                wanted = reached<Op>(call, runs.row);
            }
            if (wanted && !runs.local.done) {
                perform<Op>(call, runs.row, begin + (word)i, runs.local);
            }
        }
        runs.end(call);
        __syncthreads();
    }
};

// A thread an edge, with the row of each edge from memory.
template <class Op> struct edge_only {
    DEVICE void run(const Call &call) {
        for (wide arc = Op::first_arc(call) + thread(); arc < Op::last_arc(call);
             arc += threads()) {
            const word row = __ldg(&Op::rows(call).owners[arc]);
            if ((Op::pull || Op::every || member(call, row)) && reached<Op>(call, row)) {
                typename Op::Local local;
                perform<Op>(call, row, arc, local);
                Op::template finish<false>(call, row, local);
            }
        }
    }
};

// Phases around the edges

template <class... Parts> struct both {
    DEVICE void run(const Call &call) { (Parts::run(call), ...); }
};

// Copies a vector; where only words at sources are read, few sources are copied alone.
template <int vector, bool sources> struct keep {
    DEVICE void run(const Call &call) {
        const bool some = sources && call.queue && call.count < call.vertices / 4;
        for (wide i = thread(); i < (some ? call.count : call.vertices); i += threads()) {
            const word own = some ? call.queue[i] : static_cast<word>(i);
            call.start[vector][own] = call.now[vector][own];
        }
    }
};

// Makes the bits of a filter that may fail, as the reference evaluates it for all vertices.
template <class Op> struct check {
    DEVICE void run(const Call &call) {
        for (wide base = thread() - threadIdx.x % WARP; base < call.vertices; base += threads()) {
            const wide own = base + threadIdx.x % WARP;
            const bool passes = own < call.vertices && Op::passes(call, static_cast<word>(own));
            const word bits = __ballot_sync(NONE, passes);
            if (threadIdx.x % WARP == 0) {
                call.wanted[base / 32] = bits;
            }
        }
    }
};

// The marks of the input.
struct clear_members {
    DEVICE void run(const Call &call) {
        const word words = ((call.vertices >> call.members_shift) + 4ull) / 4;
        for (wide i = thread(); call.queue && !call.marked && i < words; i += threads()) {
            reinterpret_cast<word *>(call.members)[i] = 0;
        }
    }
};

struct set_members {
    DEVICE void run(const Call &call) {
        for (wide i = thread(); call.queue && !call.marked && i < call.count; i += threads()) {
            const word own = call.queue[i];
            if (call.members_shift) {
                atomicOr(&reinterpret_cast<word *>(call.members)[own / 32], 1u << own % 32);
            } else {
                call.members[own] = 1;
            }
        }
    }
};

// Makes the output from marks, and its bits in `members`, and clears the marks; or only clears those
// of the output.
struct collect {
    DEVICE void run(const Call &call) {
        const bool bits = call.creation == FUSED ? call.deduplication == BITS
                                                 : call.creation == BITMAP;
        uint8_t *bytes = reinterpret_cast<uint8_t *>(call.marks);
        if (call.creation == FUSED) {
            const word count = static_cast<word>(call.status->output);
            for (wide i = thread(); i < count; i += threads()) {
                const word own = call.output[i];
                if (bits) {
                    call.marks[own / 32] = 0;
                } else {
                    bytes[own] = 0;
                }
            }
            return;
        }
        // A thread has as many vertices as 16 bytes have marks, and a CTA one place for all of its.
        __shared__ wide place;
        for (wide base = (wide)blockIdx.x * CTA * EACH; base < call.vertices;
             base += (wide)threads() * EACH) {
            const wide first = base + threadIdx.x * EACH;
            const word found = first >= call.vertices ? 0 : bits ? taken_bits(call, first / EACH)
                                                                 : taken_bytes(call, first / EACH);
            if (first < call.vertices) {
                reinterpret_cast<uint16_t *>(call.members)[first / EACH] = (uint16_t)found;
            }
            word arcs = 0;
            for (word left = call.weighs ? found : 0; left; left &= left - 1) {
                arcs += degree(call.leaving, (word)first + __ffs(left) - 1);
            }
            const wide end = scan<CTA>((wide)arcs << 32 | __popc(found));
            if (threadIdx.x == CTA - 1) {
                place = end ? atomicAdd(&call.status->output, end) : 0;
            }
            __syncthreads();
            word at = (word)place + (word)end - __popc(found);
            for (word left = found; left; left &= left - 1) {
                call.output[at++] = (word)first + __ffs(left) - 1;
            }
        }
    }

private:
    static constexpr word EACH = 16;

    struct alignas(16) Bytes {
        wide first, second;
    };

    // The marks of a thread's vertices, a bit for each, which are cleared.
    DEVICE word taken_bits(const Call &call, wide place) {
        uint16_t &marks = reinterpret_cast<uint16_t *>(call.marks)[place];
        const word found = marks;
        if (found) {
            marks = 0;
        }
        return found;
    }

    DEVICE word taken_bytes(const Call &call, wide place) {
        Bytes &marks = reinterpret_cast<Bytes *>(call.marks)[place];
        const Bytes found = marks;
        if (!(found.first | found.second)) {
            return 0;
        }
        marks = Bytes{0, 0};
        return gathered(found.first) | gathered(found.second) << 8;
    }

    // The lowest bits of the bytes of a word, which have no others.
    DEVICE word gathered(wide bytes) { return (word)(bytes * 0x0102040810204080ull >> 56); }
};

// Operators of vertices

DEVICE word vertex(const Call &call, wide i) {
    return call.queue ? call.queue[i] : static_cast<word>(i);
}

template <class Op> struct each {
    DEVICE void run(const Call &call) {
        for (wide i = thread(); i < call.count; i += threads()) {
            Op::vertex(call, vertex(call, i));
        }
    }
};

template <class Op> struct where {
    DEVICE void run(const Call &call) {
        for (wide i = thread(); i < call.count; i += threads()) {
            const word own = vertex(call, i);
            if (Op::vertex(call, own)) {
                append(call, call.output, &call.status->output, own);
            }
        }
    }
};

template <class Op> struct total {
    DEVICE void run(const Call &call) {
        wide sum = 0;
        for (wide i = thread(); i < call.count; i += threads()) {
            sum += Op::vertex(call, vertex(call, i));
        }
        __syncwarp();
        OverWarp()(sum, [](wide &all, wide value) { all += value; });
        if (threadIdx.x % WARP == 0 && sum) {
            atomicAdd(&call.status->total, sum);
        }
    }
};

// Sets

struct join {
    DEVICE void run(const Call &call) {
        for (wide i = thread(); i < call.count; i += threads()) {
            changed<true>(call, call.queue[i]);
        }
    }
};

// The vertices whose word is below the threshold, and the rest.
template <int vector> struct split {
    DEVICE void run(const Call &call) {
        for (wide i = thread(); i < call.count; i += threads()) {
            const word own = vertex(call, i);
            if (call.now[vector][own] < call.threshold) {
                append(call, call.output, &call.status->output, own);
            } else {
                append(call, call.rest, &call.status->rest, own);
            }
        }
    }
};

// The smallest word, by its complement, since a status begins with zeros.
template <int vector> struct lowest {
    DEVICE void run(const Call &call) {
        word most = 0;
        for (wide i = thread(); i < call.count; i += threads()) {
            most = max(most, ~call.now[vector][vertex(call, i)]);
        }
        __syncwarp();
        OverWarp()(most, [](word &all, word value) { all = max(all, value); });
        if (threadIdx.x % WARP == 0) {
            atomicMax(&call.status->most, most);
        }
    }
};

// Fused loops (UGF, 5.2.1): all threads of one grid perform the host's part of the loop. Each phase
// ends with a barrier of the grid, whose CTAs run at the same time (a cooperative launch).

// `arrived` counts the CTAs at barriers. An operator has one of the statuses, in turn: at its begin
// it clears the next one, which nobody has read since the barrier before the last.
struct Loop {
    wide arrived;
    Status statuses[3];
};

// A set of a fused loop. `size` is as in a Status. Without a list it has all vertices.
struct Set {
    word *list;
    wide size;
};

// Memory for the sets that a loop makes: more places than it has sets.
template <int number> struct Places {
    word *at[number];

    // A place that no set uses.
    template <class... Sets> __device__ __forceinline__ word *unused(const Sets &...sets) const {
        word *found = nullptr;
        #pragma unroll
        for (int i = 0; i < number; i++) {
            if (!found && ((sets.list != at[i]) && ...)) {
                found = at[i];
            }
        }
        return found;
    }
};

DEVICE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
DEVICE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

constexpr wide LATE = 1000000000;       // nanoseconds after which a loop returns for a while

// What a CTA wrote is seen by those that have seen its arrival.
DEVICE void arrive(wide *place) {
    asm volatile("red.release.gpu.global.add.u64 [%0], 1;" : : "l"(place) : "memory");
}

DEVICE wide arrivals(const wide *place) {
    wide found;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(found) : "l"(place) : "memory");
    return found;
}

struct Grid {
    Call call;
    Loop *loop;
    wide target = 0, began = 0, count = 0;
    word turn = 0;
    bool entered = false, waited = false;

    __device__ __forceinline__ Grid(const Call &given, Loop *loop) : call(given), loop(loop) {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(began));
    }

    __device__ __forceinline__ void wait() {
        __syncthreads();
        target += gridDim.x;
        if (threadIdx.x == 0) {
            arrive(&loop->arrived);
            while (arrivals(&loop->arrived) < target) {
            }
        }
        __syncthreads();
        waited = true;
    }

    // Prepare an operator with this input.
    __device__ __forceinline__ void begin(const Set &input) {
        turn++;
        call.queue = input.list;
        call.count = static_cast<word>(input.size);
        call.arcs = static_cast<word>(input.size >> 32);
        call.stamp++;
        call.creation = FUSED;
        call.deduplication = COUNTERS;
        call.status = &loop->statuses[turn % 3];
        if (thread() == 0) {
            loop->statuses[(turn + 1) % 3] = Status();
            wide now;
            asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
            call.status->late = now - began > LATE;
        }
    }

    template <class Phase> __device__ __forceinline__ void run() {
        Phase::run(call);
        wait();
    }

    // The phases of an operator of edges that go through rows, for one block after the other.
    template <int blocks, class... Phases> __device__ __forceinline__ void run_blocks() {
        const Blocks &all = call.blocks[blocks];
        for (wide i = 0; i < all.count; i++) {
            call.first = __ldg(&all.rows_of[i]);
            call.number = __ldg(&all.rows_of[i + 1]) - call.first;
            call.first_arc = __ldg(&all.arcs_of[i]);
            call.last_arc = __ldg(&all.arcs_of[i + 1]);
            (run<Phases>(), ...);
        }
    }

    // The set that the last operator made.
    __device__ __forceinline__ Set made() const {
        return {call.output, __ldcg(&call.status->output)};
    }

    // Adds the vertices of a set to a queue.
    template <class Unused>
    __device__ __forceinline__ void join_queue(Set &queue, const Set &found, Unused unused) {
        if (!static_cast<word>(queue.size)) {
            queue = found;
        } else if (queue.list && static_cast<word>(found.size)) {
            begin(queue);
            call.output = unused(found.list);
            join::run(call);
            call.queue = found.list;
            call.count = static_cast<word>(found.size);
            run<join>();
            queue = made();
        }
    }

    __device__ __forceinline__ bool failed() const { return __ldcg(&call.status->fault); }

    // Whether the loop should return for a while, so that the host may see signals; it is asked
    // before each round, and performs at least one. All threads get the same answer, which is as
    // old as the last barrier.
    __device__ __forceinline__ bool late() {
        if (!entered) {
            entered = true;
            return false;
        }
        if (!waited) {
            begin(Set());
            wait();
        }
        waited = false;
        return __ldcg(&call.status->late) || call.stamp > NONE / 2;
    }

    // Whether a set is one for the host, whose kernels have more threads.
    __device__ __forceinline__ bool large(const Set &set) const {
        return call.most && max((word)(set.size >> 32), (word)set.size) > call.most;
    }

    // The input is one of a pulling operator, if nobody chose its direction.
    __device__ __forceinline__ bool pulls(word share) const {
        return call.arcs > call.edges / share;
    }

    // Moves the vertices that are ready from a queue to a set.
    template <int vector, class Unused>
    __device__ __forceinline__ void dequeue(int64_t delta, int64_t &threshold, Set &queue,
                                            Set &ready, Unused unused) {
        if (!delta || !static_cast<word>(queue.size)) {
            ready = queue;
            queue.size = 0;
            queue.list = unused();
            return;
        }
        for (;;) {
            begin(queue);
            call.output = unused();
            call.rest = unused(call.output);
            call.threshold = threshold;
            run<split<vector>>();
            const Set below = made();
            const Set others = {call.rest, __ldcg(&call.status->rest)};
            if (static_cast<word>(below.size)) {
                ready = below;
                queue = others;
                return;
            }
            begin(queue);
            run<lowest<vector>>();
            const int64_t least = NONE - __ldcg(&call.status->most);
            const int64_t steps = (least - threshold) / delta + 1;
            threshold = smaller(threshold + steps * delta, 1ll << 32);
        }
    }
};

// The host's side

template <class Phase> __global__ void __launch_bounds__(CTA)
kernel(const __grid_constant__ Call call) {
    Phase::run(call);
}

inline int processors() {
    static int found = 0;
    if (!found) {
        int device = 0;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, device);
    }
    return found > 0 ? found : 1;
}

// What the host has asked of the GPU since the library was loaded: kernels, and copies and clears.
struct Asked {
    wide kernels, transfers;
};
inline Asked asked = {0, 0};

// Perform a phase by enough CTAs for so many threads, but no more than 32 for each multiprocessor.
template <class Phase> void launch(wide wanted, const Call &call) {
    const wide most = 32ull * processors(), ctas = (wanted + CTA - 1) / CTA;
    if (wanted) {
        asked.kernels++;
        kernel<Phase><<<static_cast<word>(ctas < most ? ctas : most), CTA>>>(call);
    }
}

// The phases of an operator of edges that go through rows, for one block after the other.
template <int blocks, word each, class... Phases>
void launch_blocks(bool by_arcs, const Call &call) {
    const Blocks &all = call.blocks[blocks];
    Call part = call;
    for (wide i = 0; i < all.count; i++) {
        part.first = all.host_rows_of[i];
        part.number = all.host_rows_of[i + 1] - part.first;
        part.first_arc = all.host_arcs_of[i];
        part.last_arc = all.host_arcs_of[i + 1];
        const wide wanted = by_arcs ? part.last_arc - part.first_arc : (wide)part.number * each;
        (launch<Phases>(wanted, part), ...);
    }
}

// Gives the host the status, and clears it for the next operator.
struct answer {
    DEVICE void run(const Call &call) {
        if (thread() == 0) {
            *call.answer = *call.status;
            *call.status = Status();
            __threadfence_system();
            *static_cast<volatile word *>(&call.answer->turn) = call.turn;
        }
    }
};

// Clears the buckets of an operator whose status the host does not wait for.
inline void clear_buckets(const Call &call) { launch<empty_buckets>(3, call); }

// The end of an operator without a result: the host goes on meanwhile, and hears of a fault later.
inline int go_on(Status *status) {
    status->fault = 0;
    return cudaGetLastError();
}

// The end of any other operator: the host waits for its status, in memory of its own. If the GPU
// fails, it never comes, so the GPU is asked now and then.
inline int end(const Call &call, Status *status) {
    static word turn = 0;
    Call last = call;
    last.answer = status;
    last.turn = ++turn;
    launch<answer>(1, last);
    int error = cudaGetLastError();
    for (word tries = 1; !error && *static_cast<volatile word *>(&status->turn) != turn; tries++) {
        if (tries % 65536 == 0 && (error = cudaStreamQuery(0)) == cudaErrorNotReady) {
            error = 0;
        }
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    return error;
}

inline void make_output(const Call &call) {
    if (call.creation != FUSED) {
        launch<collect>(call.vertices / 16 + 1, call);
    } else if (call.deduplication == BITS || call.deduplication == BYTES) {
        launch<collect>(call.vertices / 16 + 1, call);
    }
}

// Perform a fused loop by as many CTAs as run at the same time, but no more than FUSED_CTAS for
// each multiprocessor.
template <class Parameter>
int launch_loop(void (*loop)(Call, Loop *, int64_t *, Parameter), const Call &call, Loop *state,
                int64_t *numbers, const Parameter &places) {
    int fitting = 0;
    int error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, loop, CTA, 0);
    if (error) {
        return error;
    }
    const int ctas = fitting < FUSED_CTAS ? fitting : FUSED_CTAS;
    void *arguments[] = {const_cast<Call *>(&call), &state, &numbers,
                         const_cast<Parameter *>(&places)};
    asked.transfers++;
    error = cudaMemsetAsync(state, 0, sizeof(Loop));
    if (!error) {
        asked.kernels++;
        error = cudaLaunchCooperativeKernel(reinterpret_cast<const void *>(loop),
                                            dim3(ctas * processors()), dim3(CTA), arguments);
    }
    return error ? error : cudaStreamSynchronize(0);
}

extern "C" {

const char *graphloom_message(int code) {
    return cudaGetErrorString(static_cast<cudaError_t>(code));
}

int graphloom_reserve(void **place, wide bytes) { return cudaMalloc(place, bytes); }

int graphloom_release(void *place) { return cudaFree(place); }

int graphloom_pin(void **place, wide bytes) { return cudaMallocHost(place, bytes); }

int graphloom_unpin(void *place) { return cudaFreeHost(place); }

void graphloom_asked(Asked *found) { *found = asked; }

int graphloom_clear(void *place, wide bytes) {
    asked.transfers++;
    return cudaMemset(place, 0, bytes);
}

int graphloom_copy(void *to, const void *from, wide bytes) {
    asked.transfers++;
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}

// Whether the GPU has work.
int graphloom_busy() { return cudaStreamQuery(0) == cudaErrorNotReady; }

int graphloom_wait(const Call *call, Status *status) { return end(*call, status); }

int graphloom_join(const Call *call, const word *other, word count, Status *status) {
    launch<join>(call->count, *call);
    Call more = *call;
    more.queue = other;
    more.count = count;
    launch<join>(count, more);
    return end(*call, status);
}

}
