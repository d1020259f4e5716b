// Kernels of examples/c/kernels.py. Each runs in every lane of the device.

#include <graphloom.h>

void vector_add(unsigned n, const int *x, const int *y, int *z) {
    for (unsigned i = graphloom_thread(); i < n; i += graphloom_threads()) z[i] = x[i] + y[i];
}

void saxpy(unsigned n, int a, const int *x, int *y) {
    for (unsigned i = graphloom_thread(); i < n; i += graphloom_threads()) y[i] += a * x[i];
}

// c = a b, of n x n. Each warp calculates a row of as many elements as it has lanes; the rows of a
// are brought to the scratchpad, a tile as wide as the warp at a time.
void matrix_multiply(unsigned n, const int *a, const int *b, int *c) {
    unsigned lane = graphloom_lane(), lanes = graphloom_lanes();
    int *tile = (int *)GRAPHLOOM_SCRATCHPAD + graphloom_warp() * lanes;
    unsigned strips = (n + lanes - 1) / lanes;
    unsigned first = graphloom_core() * graphloom_warps() + graphloom_warp();
    for (unsigned task = first; task < n * strips; task += graphloom_cores() * graphloom_warps()) {
        unsigned row = task / strips, column = task % strips * lanes + lane;
        int sum = 0;
        for (unsigned k = 0; k < n; k += lanes) {
            unsigned count = n - k < lanes ? n - k : lanes;
            tile[lane] = lane < count ? a[row * n + k + lane] : 0;
            if (column < n)
                for (unsigned j = 0; j < count; j++) sum += tile[j] * b[(k + j) * n + column];
        }
        if (column < n) c[row * n + column] = sum;
    }
}

// The sum of x, by shuffles within a warp and one atomic for each.
void reduction(unsigned n, const int *x, int *total) {
    int sum = 0;
    for (unsigned i = graphloom_thread(); i < n; i += graphloom_threads()) sum += x[i];
    for (unsigned step = graphloom_lanes() / 2; step; step /= 2)
        sum += graphloom_shuffle_down(sum, step);
    if (graphloom_lane() == 0) graphloom_atomic_add(total, sum);
}

// How often each of 64 values occurs: in the scratchpad of each core first.
void histogram(unsigned n, const unsigned char *x, int *counts) {
    int *own = GRAPHLOOM_SCRATCHPAD;
    unsigned threads = graphloom_warps() * graphloom_lanes();
    unsigned thread = graphloom_warp() * graphloom_lanes() + graphloom_lane();
    for (unsigned i = thread; i < 64; i += threads) own[i] = 0;
    graphloom_barrier();
    for (unsigned i = graphloom_thread(); i < n; i += graphloom_threads())
        graphloom_atomic_add(&own[x[i] & 63], 1);
    graphloom_barrier();
    for (unsigned i = thread; i < 64; i += threads) graphloom_atomic_add(&counts[i], own[i]);
}

// sums[i] = x[0] + ... + x[i], by the warps of one core.
void prefix_sum(unsigned n, const int *x, int *sums) {
    int *totals = GRAPHLOOM_SCRATCHPAD;         // of the warps, and of what came before
    unsigned lane = graphloom_lane(), warp = graphloom_warp(), warps = graphloom_warps();
    if (graphloom_core()) return;
    int before = 0;
    for (unsigned start = 0; start < n; start += warps * graphloom_lanes()) {
        unsigned i = start + warp * graphloom_lanes() + lane;
        int sum = i < n ? x[i] : 0;
        for (unsigned step = 1; step < graphloom_lanes(); step *= 2) {
            int below = graphloom_shuffle_up(sum, step);
            if (lane >= step) sum += below;
        }
        if (lane == graphloom_lanes() - 1) totals[warp] = sum;
        graphloom_barrier();
        for (unsigned other = 0; other < warp; other++) sum += totals[other];
        if (i < n) sums[i] = before + sum;
        for (unsigned other = 0; other < warps; other++) before += totals[other];
        graphloom_barrier();
    }
}

// Sorts n values, a power of two, by the warps of one core.
void bitonic_sort(unsigned n, int *x) {
    unsigned thread = graphloom_warp() * graphloom_lanes() + graphloom_lane();
    if (graphloom_core()) return;
    for (unsigned size = 2; size <= n; size *= 2)
        for (unsigned step = size / 2; step; step /= 2) {
            for (unsigned i = thread; i < n; i += graphloom_warps() * graphloom_lanes()) {
                unsigned other = i ^ step;
                if (other <= i) continue;
                int low = x[i], high = x[other];
                if ((low > high) == !(i & size)) {
                    x[i] = high;
                    x[other] = low;
                }
            }
            graphloom_barrier();
        }
}

// y = A x, of a matrix in rows, in fixed point with 16 bits behind the point.
void spmv(unsigned n, const unsigned *rows, const unsigned *columns, const int *values,
          const int *x, int *y) {
    for (unsigned i = graphloom_thread(); i < n; i += graphloom_threads()) {
        long long sum = 0;
        for (unsigned e = rows[i]; e < rows[i + 1]; e++)
            sum += (long long)values[e] * x[columns[e]];
        y[i] = sum >> 16;
    }
}

// A level of a breadth-first search: neighbours of vertices at this level get the next one. Each
// lane goes through the edges of its vertices.
void bfs(unsigned n, const unsigned *rows, const unsigned *columns, int *depth, int level,
         int *found) {
    for (unsigned v = graphloom_thread(); v < n; v += graphloom_threads()) {
        if (depth[v] != level) continue;
        for (unsigned e = rows[v]; e < rows[v + 1]; e++)
            if (depth[columns[e]] < 0) {
                depth[columns[e]] = level + 1;
                *found = 1;
            }
    }
}

// The same, where the Weaver hands out the edges.
void bfs_weaver(unsigned n, const unsigned *rows, const unsigned *columns, int *depth, int level,
                int *found) {
    for (unsigned start = 0; start < n; start += graphloom_threads()) {
        unsigned v = start + graphloom_thread(), here = v < n && depth[v] == level;
        unsigned first = here ? rows[v] : 0;
        graphloom_register(v, first, here ? rows[v + 1] - first : 0);
        for (;;) {
            unsigned work = graphloom_next_vertex();
            if (graphloom_all(work == GRAPHLOOM_NO_WORK)) break;
            unsigned e = graphloom_edge();
            if (work != GRAPHLOOM_NO_WORK && depth[columns[e]] < 0) {
                depth[columns[e]] = level + 1;
                *found = 1;
            }
        }
    }
}
