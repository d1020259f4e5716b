// Kernels of examples/c/kernels.py in floats, for hardware that has them. The sum of an element is
// one lane's, in a fixed order, and no multiplication is fused with an addition; so every word of a
// result is the same on any number of lanes, and the same as numpy's.

#include <graphloom.h>

#pragma STDC FP_CONTRACT OFF

void saxpy_floats(unsigned n, float a, const float *x, float *y) {
    for (unsigned i = graphloom_thread(); i < n; i += graphloom_threads()) y[i] += a * x[i];
}

// y = A x, of a matrix in rows.
void spmv_floats(unsigned n, const unsigned *rows, const unsigned *columns, const float *values,
                 const float *x, float *y) {
    for (unsigned i = graphloom_thread(); i < n; i += graphloom_threads()) {
        float sum = 0;
        for (unsigned e = rows[i]; e < rows[i + 1]; e++) sum += values[e] * x[columns[e]];
        y[i] = sum;
    }
}

// Accelerations among bodies on a plane.
void nbody(unsigned n, const float *x, const float *y, const float *mass, float *ax, float *ay) {
    for (unsigned i = graphloom_thread(); i < n; i += graphloom_threads()) {
        float sum_x = 0, sum_y = 0;
        for (unsigned j = 0; j < n; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i];
            float squared = dx * dx + dy * dy + 0.01f;
            float pull = mass[j] / (squared * __builtin_sqrtf(squared));
            sum_x += dx * pull;
            sum_y += dy * pull;
        }
        ax[i] = sum_x;
        ay[i] = sum_y;
    }
}

// A step of PageRank. The rows of the graph have the edges that lead to a vertex; share is what a
// vertex sends along each of its edges, and degrees says how many leave it.
void pagerank(unsigned n, const unsigned *rows, const unsigned *columns, const unsigned *degrees,
              const float *share, float *next, float *rank) {
    float base = 0.15f / n;
    for (unsigned v = graphloom_thread(); v < n; v += graphloom_threads()) {
        float sum = 0;
        for (unsigned e = rows[v]; e < rows[v + 1]; e++) sum += share[columns[e]];
        rank[v] = base + 0.85f * sum;
        next[v] = degrees[v] ? rank[v] / degrees[v] : 0;
    }
}
