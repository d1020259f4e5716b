// The machine as the kernels of a program see it.
#pragma once
#include <stdint.h>

typedef uint32_t word;
typedef uint64_t wide;

#define INLINE [[maybe_unused]] static inline __attribute__((always_inline))
#define INLINE_MEMBER __attribute__((always_inline)) inline
#define BODY __attribute__((always_inline))

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
    Rows leaving, entering;
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

// What fused loops ask the machine for. Sets are numbered; `target` is -1 if there is no result. Those
// that return bool, but for questions, return whether there was no error.
struct EdgeOperator;
typedef void Kernel(const Task &, Worker &, wide first, wide last);
struct LoopMachine {
    virtual int64_t size(int32_t set) = 0;
    virtual bool is_vertex(int64_t value) = 0;
    virtual bool late() = 0;
    virtual bool stopped() = 0;
    virtual void move(int32_t source, int32_t target) = 0;
    virtual void dequeue(Waiting &, int32_t queue, int32_t target) = 0;
    virtual bool edges(const EdgeOperator *, int32_t source, int32_t target, bool joins,
                       const word *uniforms) = 0;
    virtual bool vertices(Kernel *, const int32_t *copies, int32_t num_copies, int32_t source,
                          int32_t target, const word *uniforms) = 0;
    virtual bool total(Kernel *, int32_t source, const word *uniforms, int64_t &total) = 0;
    virtual bool settle() = 0;
};

INLINE bool has(const wide *bits, word vertex) { return bits[vertex >> 6] >> (vertex & 63) & 1; }
