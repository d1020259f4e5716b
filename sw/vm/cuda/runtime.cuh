// The runtime of the GraphVM `cuda`: sets of vertices, reductions, and the schedules of edges.
//
// A generated file defines VECTORS, UNIFORMS and LITERALS before this text. An operator of edges is
// a struct `Op` of static functions; see sw/vm/cuda/text.py. A `Call` has everything that a kernel
// needs; sw/vm/cuda/machine.py has the same struct. Every exported function gives a cudaError_t.

#include <cstdint>
#include <cuda_runtime.h>

typedef uint32_t word;
typedef unsigned long long wide;

constexpr word NONE = 0xffffffffu;
constexpr word WARP = 32, CTA = 256;

// The result of an operator. `fault` is the complement of the least fault in the upper half and its
// detail in the lower half, or 0. `most` is the complement of a smallest word.
struct Status {
    wide fault, total;
    word count, rest, most, unused;
};

// Compressed rows. Arc `i` is in row `owners[i]`; null without the schedule `edge_only`.
struct Rows {
    const word *offsets, *neighbors, *weights, *owners;
};

struct Call {
    Rows leaving, entering;
    word *now[VECTORS];
    word *start[VECTORS];       // copies of the words at the start, where an operator needs them
    const word *queue;          // the vertices of the input; null: all vertices
    word *bitmap;               // memory for a bit a vertex
    word *stamps;               // a vertex is in the output if it has the stamp
    word *output;
    Status *status;
    wide literals[LITERALS];
    word vertices, edges, count, stamp;
    word weighs;                    // whether `total` becomes the arcs that leave the output
    word uniforms[UNIFORMS];
};

// Errors and sets

__device__ inline void report(const Call &call, word fault, word detail) {
    atomicMax(&call.status->fault, ~((wide)fault << 32 | detail));
}

__device__ inline word degree(const Rows &rows, word vertex) {
    return __ldg(&rows.offsets[vertex + 1]) - __ldg(&rows.offsets[vertex]);
}

// Append a vertex to a queue; lanes that run together take their places at once.
__device__ inline void append(word *queue, word *count, word vertex) {
    const word lanes = __activemask();
    const word lane = threadIdx.x % WARP, leader = __ffs(lanes) - 1;
    word place = 0;
    if (lane == leader) {
        place = atomicAdd(count, __popc(lanes));
    }
    place = __shfl_sync(lanes, place, leader);
    queue[place + __popc(lanes & (1u << lane) - 1)] = vertex;
}

// Whether a vertex is in the input, of which a bitmap was made unless it holds all vertices.
__device__ inline bool member(const Call &call, word vertex) {
    return !call.queue || (__ldg(&call.bitmap[vertex / 32]) >> vertex % 32 & 1);
}

enum Output { UNTRACKED, FUSED, UNFUSED };

// A vertex changed. FUSED: it is appended if it is the first change. UNFUSED: it is only marked.
template <Output output> __device__ inline void changed(const Call &call, word vertex) {
    if (output == UNTRACKED || __ldcg(&call.stamps[vertex]) == call.stamp) {
        return;
    }
    if (output == UNFUSED) {
        call.stamps[vertex] = call.stamp;
    } else if (atomicExch(&call.stamps[vertex], call.stamp) != call.stamp) {
        append(call.output, &call.status->count, vertex);
    }
}

// Reductions. A word only moves one way, so a stale word costs an atomic at most.

template <Output output> __device__ inline void reduce_min(const Call &call, word *words,
                                                           word vertex, word value) {
    if (value < __ldcg(&words[vertex]) && value < atomicMin(&words[vertex], value)) {
        changed<output>(call, vertex);
    }
}

template <Output output> __device__ inline void reduce_max(const Call &call, word *words,
                                                           word vertex, word value) {
    if (value > __ldcg(&words[vertex]) && value > atomicMax(&words[vertex], value)) {
        changed<output>(call, vertex);
    }
}

template <Output output> __device__ inline void reduce_or(const Call &call, word *words,
                                                          word vertex, word value) {
    if ((value & ~__ldcg(&words[vertex])) && (value & ~atomicOr(&words[vertex], value))) {
        changed<output>(call, vertex);
    }
}

// The sum is too large exactly if one of the additions wraps around.
template <Output output> __device__ inline void reduce_add(const Call &call, word *words,
                                                           word vertex, wide value,
                                                           word fault) {
    if (value == 0) {
        return;
    }
    const word low = static_cast<word>(value), old = atomicAdd(&words[vertex], low);
    if (value > NONE || old + low < old) {
        report(call, fault, vertex);
    }
    changed<output>(call, vertex);
}

// Gathered reductions: threads combine the values for the vertex of a row before they reduce.

__device__ inline void gather_min(word &all, word value) { all = min(all, value); }
__device__ inline void gather_max(word &all, word value) { all = max(all, value); }
__device__ inline void gather_or(word &all, word value) { all |= value; }
__device__ inline void gather_add(wide &all, wide value) { all += value; }

template <class Value, class Gather>
__device__ inline void over_warp(Value &all, Gather gather) {
    for (int step = WARP / 2; step; step /= 2) {
        gather(all, __shfl_xor_sync(NONE, all, step));
    }
}

// Schedules of edges. `Op::rows` are the rows that it goes through, `Op::number` of them, and
// `Op::row` is the vertex of each; `Op::wanted` is whether any edge of the row counts. `Op::edge`
// performs an edge, and sets `local.done` if later edges of the row change nothing. `Op::finish`
// reduces what was gathered for the row.

__device__ inline word thread() { return blockIdx.x * CTA + threadIdx.x; }
__device__ inline word threads() { return gridDim.x * CTA; }

template <class Op> __device__ inline void perform(const Call &call, word row, word arc,
                                                   typename Op::Local &local) {
    const Rows &rows = Op::rows(call);
    Op::edge(call, row, __ldg(&rows.neighbors[arc]),
             Op::weighted ? __ldg(&rows.weights[arc]) : 0, local);
}

// A thread a vertex.
template <class Op>
__global__ void __launch_bounds__(CTA) vertex_based(const __grid_constant__ Call call) {
    for (wide i = thread(); i < Op::number(call); i += threads()) {
        const word row = Op::row(call, i);
        if (!Op::wanted(call, row)) {
            continue;
        }
        typename Op::Local local;
        const word end = __ldg(&Op::rows(call).offsets[row + 1]);
        for (word arc = __ldg(&Op::rows(call).offsets[row]); arc < end && !local.done; arc++) {
            perform<Op>(call, row, arc, local);
        }
        Op::finish(call, row, local);
    }
}

// The lanes of a warp perform some arcs of a row together.
template <class Op> __device__ inline void together(const Call &call, word row, word begin,
                                                    word end, word first, word step) {
    typename Op::Local local;
    for (word arc = begin + first; arc < end && !local.done; arc += step) {
        perform<Op>(call, row, arc, local);
    }
    __syncwarp();
    if (Op::gathers) {
        Op::combine(local);
        if (threadIdx.x % WARP == 0) {
            Op::finish(call, row, local);
        }
        __syncwarp();
    }
}

// A warp a vertex.
template <class Op> __global__ void __launch_bounds__(CTA) wm(const __grid_constant__ Call call) {
    for (wide i = thread() / WARP; i < Op::number(call); i += threads() / WARP) {
        const word row = Op::row(call, i);
        if (!__any_sync(NONE, Op::wanted(call, row))) {
            continue;
        }
        const word *offsets = &Op::rows(call).offsets[row];
        together<Op>(call, row, __ldg(offsets), __ldg(offsets + 1), threadIdx.x % WARP, WARP);
    }
}

// Threads, warps and CTAs (UGF, algorithm 1). Each thread of a CTA takes a vertex and splits its
// arcs: a multiple of CTA, a multiple of WARP, and the rest. Queues in shared memory hold the
// parts. Then a thread performs each part of the first stage, a warp each of the second, and all
// of the CTA each of the third.
template <class Op> __global__ void __launch_bounds__(CTA) etwc(const __grid_constant__ Call call) {
    __shared__ word rows[3][CTA], begins[3][CTA], ends[3][CTA], sizes[3];
    const word granularity[3] = {1, WARP, CTA};
    for (wide base = blockIdx.x * CTA; base < Op::number(call); base += threads()) {
        if (threadIdx.x < 3) {
            sizes[threadIdx.x] = 0;
        }
        __syncthreads();
        if (base + threadIdx.x < Op::number(call)) {
            const word row = Op::row(call, base + threadIdx.x);
            if (Op::wanted(call, row)) {
                word begin = __ldg(&Op::rows(call).offsets[row]);
                const word end = __ldg(&Op::rows(call).offsets[row + 1]);
                #pragma unroll
                for (int stage = 2; stage >= 0; stage--) {
                    const word part = (end - begin) / granularity[stage] * granularity[stage];
                    if (part) {
                        const word place = atomicAdd(&sizes[stage], 1);
                        rows[stage][place] = row;
                        begins[stage][place] = begin;
                        ends[stage][place] = begin += part;
                    }
                }
            }
        }
        __syncthreads();
        for (word i = threadIdx.x; i < sizes[0]; i += CTA) {
            typename Op::Local local;
            for (word arc = begins[0][i]; arc < ends[0][i] && !local.done; arc++) {
                perform<Op>(call, rows[0][i], arc, local);
            }
            Op::finish(call, rows[0][i], local);
        }
        __syncwarp();
        for (word i = threadIdx.x / WARP; i < sizes[1]; i += CTA / WARP) {
            together<Op>(call, rows[1][i], begins[1][i], ends[1][i], threadIdx.x % WARP, WARP);
        }
        for (word i = 0; i < sizes[2]; i++) {
            together<Op>(call, rows[2][i], begins[2][i], ends[2][i], threadIdx.x, CTA);
        }
        __syncthreads();
    }
}

// A thread an edge, with the row of each edge from memory.
template <class Op>
__global__ void __launch_bounds__(CTA) edge_only(const __grid_constant__ Call call) {
    for (wide arc = thread(); arc < call.edges; arc += threads()) {
        const word row = __ldg(&Op::rows(call).owners[arc]);
        if (Op::active(call, row) && Op::wanted(call, row)) {
            typename Op::Local local;
            perform<Op>(call, row, arc, local);
            Op::finish(call, row, local);
        }
    }
}

// Operators of vertices

__device__ inline word vertex(const Call &call, wide i) {
    return call.queue ? __ldg(&call.queue[i]) : static_cast<word>(i);
}

template <class Op> __global__ void __launch_bounds__(CTA) each(const __grid_constant__ Call call) {
    for (wide i = thread(); i < call.count; i += threads()) {
        Op::vertex(call, vertex(call, i));
    }
}

template <class Op>
__global__ void __launch_bounds__(CTA) where(const __grid_constant__ Call call) {
    for (wide i = thread(); i < call.count; i += threads()) {
        const word own = vertex(call, i);
        if (Op::result(call, own)) {
            append(call.output, &call.status->count, own);
        }
    }
}

template <class Op>
__global__ void __launch_bounds__(CTA) total(const __grid_constant__ Call call) {
    wide sum = 0;
    for (wide i = thread(); i < call.count; i += threads()) {
        sum += Op::result(call, vertex(call, i));
    }
    __syncwarp();
    over_warp(sum, gather_add);
    if (threadIdx.x % WARP == 0 && sum) {
        atomicAdd(&call.status->total, sum);
    }
}

// Calls a filter for all vertices, and keeps only its errors.
template <class Op>
__global__ void __launch_bounds__(CTA) check(const __grid_constant__ Call call) {
    for (wide i = thread(); i < call.vertices; i += threads()) {
        Op::result(call, static_cast<word>(i));
    }
}

// Sets

__global__ void __launch_bounds__(CTA) set_bits(const __grid_constant__ Call call) {
    for (wide i = thread(); i < call.count; i += threads()) {
        const word own = call.queue[i];
        atomicOr(&call.bitmap[own / 32], 1u << own % 32);
    }
}

// Appends the vertices that have the stamp.
__global__ void __launch_bounds__(CTA) collect(const __grid_constant__ Call call) {
    for (wide i = thread(); i < call.vertices; i += threads()) {
        if (call.stamps[i] == call.stamp) {
            append(call.output, &call.status->count, static_cast<word>(i));
        }
    }
}

__global__ void __launch_bounds__(CTA) join(const __grid_constant__ Call call) {
    for (wide i = thread(); i < call.count; i += threads()) {
        changed<FUSED>(call, call.queue[i]);
    }
}

__global__ void __launch_bounds__(CTA) split(const __grid_constant__ Call call,
                                             const word *words, wide threshold,
                                             word *rest) {
    for (wide i = thread(); i < call.count; i += threads()) {
        const word own = vertex(call, i);
        if (words[own] < threshold) {
            append(call.output, &call.status->count, own);
        } else {
            append(rest, &call.status->rest, own);
        }
    }
}

// The smallest word, by its complement, since a status begins with zeros.
__global__ void __launch_bounds__(CTA) lowest(const __grid_constant__ Call call,
                                             const word *words) {
    word most = 0;
    for (wide i = thread(); i < call.count; i += threads()) {
        most = max(most, ~words[vertex(call, i)]);
    }
    __syncwarp();
    over_warp(most, gather_max);
    if (threadIdx.x % WARP == 0) {
        atomicMax(&call.status->most, most);
    }
}

// The arcs that leave the output.
__global__ void __launch_bounds__(CTA) weigh(const __grid_constant__ Call call) {
    wide sum = 0;
    for (wide i = thread(); i < call.status->count; i += threads()) {
        sum += degree(call.leaving, call.output[i]);
    }
    __syncwarp();
    over_warp(sum, gather_add);
    if (threadIdx.x % WARP == 0 && sum) {
        atomicAdd(&call.status->total, sum);
    }
}

// The host's side

// Enough CTAs for so many threads, but no more than 32 for each multiprocessor.
inline word ctas(wide wanted) {
    static int processors = 0;
    if (!processors) {
        int device = 0;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    }
    const wide most = 32ull * (processors > 0 ? processors : 1);
    const wide ctas = (wanted + CTA - 1) / CTA;
    return static_cast<word>(ctas < most ? ctas : most);
}

template <class Kernel, class... More>
void launch(Kernel kernel, wide wanted, const Call &call, More... more) {
    if (wanted) {
        kernel<<<ctas(wanted), CTA>>>(call, more...);
    }
}

inline void begin(const Call &call) {
    cudaMemsetAsync(call.status, 0, sizeof(Status));
}

// The end of an operator that cannot fail and has no result: the host goes on meanwhile.
inline int go_on(Status *status) {
    status->fault = 0;
    return cudaGetLastError();
}

// The end of any other operator: the host waits for its status.
inline int end(const Call &call, Status *status) {
    if (call.weighs && call.output) {
        launch(weigh, call.vertices / 16 + 1, call);
    }
    cudaMemcpyAsync(status, call.status, sizeof(Status), cudaMemcpyDeviceToHost);
    cudaStreamSynchronize(0);
    return cudaGetLastError();
}

inline void keep(const Call &call, int vector) {
    cudaMemcpyAsync(call.start[vector], call.now[vector], 4ull * call.vertices,
                    cudaMemcpyDeviceToDevice);
}

inline void make_bitmap(const Call &call) {
    if (call.queue) {
        cudaMemsetAsync(call.bitmap, 0, (call.vertices + 31ull) / 32 * 4);
        launch(set_bits, call.count, call);
    }
}

extern "C" {

const char *graphloom_message(int code) {
    return cudaGetErrorString(static_cast<cudaError_t>(code));
}

int graphloom_reserve(void **place, wide bytes) { return cudaMalloc(place, bytes); }

int graphloom_release(void *place) { return cudaFree(place); }

int graphloom_pin(void **place, wide bytes) { return cudaMallocHost(place, bytes); }

int graphloom_unpin(void *place) { return cudaFreeHost(place); }

int graphloom_clear(void *place, wide bytes) { return cudaMemset(place, 0, bytes); }

int graphloom_copy(void *to, const void *from, wide bytes) {
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}

int graphloom_wait(Status *status) {
    status->fault = 0;
    return cudaStreamSynchronize(0);
}

int graphloom_join(const Call *call, const word *other, word count, Status *status) {
    begin(*call);
    launch(join, call->count, *call);
    Call more = *call;
    more.queue = other;
    more.count = count;
    launch(join, count, more);
    return end(*call, status);
}

int graphloom_split(const Call *call, word vector, wide threshold, word *rest,
                    Status *status) {
    begin(*call);
    launch(split, call->count, *call, const_cast<const word *>(call->now[vector]), threshold,
           rest);
    return end(*call, status);
}

int graphloom_least(const Call *call, word vector, Status *status) {
    begin(*call);
    launch(lowest, call->count, *call, const_cast<const word *>(call->now[vector]));
    return end(*call, status);
}

}
