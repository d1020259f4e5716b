// Sets of vertices, the parts of threads and the choice of a direction: all of the machine that is
// the same for every program.
#include "machine.h"
#include "pool.h"

#include <algorithm>
#include <chrono>
#include <cstring>

// Arcs in blocks (EdgeBlocking). Row i is of vertex owners[i], its arcs are offsets[i] to
// offsets[i + 1] - 1. Block b has the rows rows[b] to rows[b + 1] - 1, and the arcs to `size`
// vertices.
struct Blocks {
    const word *owners, *neighbors, *weights;
    const wide *offsets, *rows;
    wide count, size;
};

// Vectors to copy before an operator, whole and where the sources are.
struct Copies {
    const int32_t *whole, *sparse;
    int32_t num_whole, num_sparse;
};

// An operator of edges, as Python describes it.
struct EdgeOperator {
    Kernel *push, *pull;
    Kernel *filter;                     // makes the bits of the filter, if it may fail
    const Copies *push_copies, *pull_copies;
    int32_t transposed;
    int32_t direction;      // 0 to choose, 1 to push, 2 to pull
    int32_t owned;          // whether a pulling row's changes are its own
    int32_t share;          // pulls for more than one of so many vertices and arcs
    int32_t result;         // 0 none, 1 without bits when it pulls, 2 always with bits
    int32_t by_vertices;    // whether threads take equally many vertices, not arcs
    int32_t deferred;       // whether the end of its loop settles what was lost
    const Blocks *blocks;   // null without EdgeBlocking
    const EdgeOperator *other;      // of a hybrid schedule, for sets of `least` vertices and more
    wide least;
};

// A set of a fused loop. Without a list it has all vertices.
struct Set {
    const word *list;
    wide count;
    std::vector<word> own;
};

struct Machine final : LoopMachine {
    Rows out, in;
    word num_vertices;
    wide num_arcs, grain;
    word *const *vectors;
    word *const *copies;
    const wide *literals;
    wide error = ~(wide)0;
    int pulled = 0;
    Pool pool;
    std::vector<Worker> workers;
    std::vector<const word *> starts;
    std::vector<wide> before, among, wanted, seen, lost;
    std::vector<word> lost_faults;
    bool by_bits = false;
    bool deferring = false;             // whether the end of a loop settles what was lost
    std::vector<Set> sets;
    std::vector<word> spare;
    std::chrono::steady_clock::time_point began;
    int (*ask)() = nullptr;             // whether the host wants a fused loop to stop

    Machine(unsigned threads, word vertices, wide num_vectors)
        : num_vertices(vertices), pool(threads), workers(threads), starts(num_vectors),
          among(vertices / 64 + 1), wanted(vertices / 64 + 1), seen(vertices / 64 + 1),
          lost(num_vectors * (vertices / 64 + 1)), lost_faults(num_vectors, ~(word)0) {
        for (auto &worker : workers) worker = Worker{~(wide)0, 0, nullptr, 0, 0};
    }

    ~Machine() {
        for (auto &worker : workers) free(worker.found);
    }

    // Calls body(worker, first, last) for parts of 0 to total - 1. `task.shared` says whether
    // several threads do so.
    template <class Body>
    void parts(Task &task, wide total, wide least_part, Body body) {
        task.shared = pool.threads() > 1 && total > least_part;
        if (!task.shared) {
            if (total) body(workers[0], (wide)0, total);
            return;
        }
        wide part = std::max(least_part, total / (16 * pool.threads()));
        part = (part + 63) / 64 * 64;
        if (least_part < 64) part = least_part;
        std::atomic<wide> next{0};
        const std::function<void(unsigned)> work = [&](unsigned thread) {
            for (;;) {
                const wide first = next.fetch_add(part, std::memory_order_relaxed);
                if (first >= total) return;
                body(workers[thread], first, std::min(first + part, total));
            }
        };
        pool.run(work);
    }

    Task task(const word *list, wide count, const word *uniforms) {
        for (size_t i = 0; i < starts.size(); ++i) starts[i] = vectors[i];
        Task made{};
        made.along = made.leaving = out, made.against = made.entering = in;
        made.vectors = vectors, made.starts = starts.data();
        made.uniforms = uniforms, made.literals = literals;
        made.list = list, made.count = count;
        made.seen = seen.data();
        made.lost = lost.data(), made.lost_faults = lost_faults.data();
        made.num_vertices = num_vertices;
        by_bits = false;
        return made;
    }

    void copy(Task &task, const int32_t *numbers, int32_t count, bool listed) {
        for (int32_t i = 0; i < count; ++i) {
            const word *const from = vectors[numbers[i]];
            word *const to = copies[numbers[i]];
            if (listed) {
                parts(task, task.count, grain, [&](Worker &, wide first, wide last) {
                    for (wide j = first; j < last; ++j) to[task.list[j]] = from[task.list[j]];
                });
            } else {
                parts(task, num_vertices, 8 * grain, [&](Worker &, wide first, wide last) {
                    memcpy(to + first, from + first, (last - first) * sizeof(word));
                });
            }
            starts[numbers[i]] = to;
        }
    }

    void each_vertex(Task &task, Kernel *kernel) {
        parts(task, task.count, grain, [&](Worker &worker, wide first, wide last) {
            kernel(task, worker, first, last);
        });
    }

    // The arcs of a set; also makes `before`, one more number than vertices.
    wide count_arcs(Task &task) {
        if (!task.list) return num_arcs;
        const word *const offsets = task.along.offsets;
        if (before.size() < task.count + 1) before.resize(task.count + 1);
        // Threads count the arcs of equal parts of the set, and then add the arcs before a part.
        const wide part = std::max(8 * grain, task.count / (4 * pool.threads()) + 1);
        const wide number = (task.count + part - 1) / part;
        std::vector<wide> sums(number + 1, 0);
        const auto each = [&](auto body) {
            parts(task, number, 1, [&](Worker &, wide from, wide to) {
                for (wide i = from; i < to; ++i)
                    body(i, i * part, std::min((i + 1) * part, task.count));
            });
        };
        each([&](wide number, wide first, wide last) {
            wide sum = 0;
            for (wide i = first; i < last; ++i) {
                before[i] = sum;
                sum += offsets[task.list[i] + 1] - offsets[task.list[i]];
            }
            sums[number + 1] = sum;
        });
        for (wide i = 0; i < number; ++i) sums[i + 1] += sums[i];
        if (number > 1) {
            each([&](wide number, wide first, wide last) {
                for (wide i = first; i < last; ++i) before[i] += sums[number];
            });
        }
        before[task.count] = sums[number];
        task.before = before.data();
        return sums[number];
    }

    void push_vertices(Task &task, Kernel *kernel) {
        const auto arc = [&](wide i) -> wide {
            return task.before ? task.before[i] : task.along.offsets[i];
        };
        parts(task, task.count, grain, [&](Worker &worker, wide first, wide last) {
            kernel(task, worker, arc(first), arc(last));
        });
    }

    // If only a block's own vertices are reduced, each block is of one thread, which needs no
    // atomics. Otherwise the threads share one block after the other.
    void push_blocks(Task &task, const EdgeOperator &op) {
        const Blocks &blocks = *op.blocks;
        task.along = {nullptr, blocks.neighbors, blocks.weights};
        task.list = blocks.owners, task.before = blocks.offsets;
        task.count = blocks.rows[blocks.count], task.blocked = true;
        const auto arc = [&](wide block) { return blocks.offsets[blocks.rows[block]]; };
        if (op.owned && (!op.result || blocks.size % 64 == 0)) {
            Task own = task;
            own.shared = false;
            parts(task, blocks.count, 1, [&](Worker &worker, wide first, wide last) {
                for (wide i = first; i < last; ++i) op.push(own, worker, arc(i), arc(i + 1));
            });
            return;
        }
        for (wide i = 0; i < blocks.count; ++i) {
            const wide begin = arc(i);
            parts(task, arc(i + 1) - begin, grain, [&](Worker &worker, wide first, wide last) {
                op.push(task, worker, begin + first, begin + last);
            });
        }
    }

    void push(Task &task, Kernel *kernel, wide arcs) {
        parts(task, arcs, grain, [&](Worker &worker, wide first, wide last) {
            kernel(task, worker, first, last);
        });
    }

    // Threads take rows with about equally many vertices and arcs together, or equally many rows.
    void pull(Task &task, Kernel *kernel, bool by_vertices) {
        if (task.list) {
            for (wide i = 0; i < task.count; ++i)
                among[task.list[i] >> 6] |= (wide)1 << (task.list[i] & 63);
            task.among = among.data();
        }
        const word *const offsets = task.against.offsets;
        const auto row = [&](wide work) {
            wide low = 0, high = num_vertices;
            while (low < high) {
                const wide middle = (low + high) / 2;
                if (offsets[middle] + middle < work) low = middle + 1;
                else high = middle;
            }
            return low;
        };
        const wide total = by_vertices ? num_vertices : num_arcs + num_vertices;
        parts(task, total, grain, [&](Worker &worker, wide first, wide last) {
            if (by_vertices) return kernel(task, worker, first, last);
            const wide end = last == total ? num_vertices : row(last);
            kernel(task, worker, row(first), end);
        });
        if (task.list) clear(among, task.list, task.count);
    }

    static void clear(std::vector<wide> &bits, const word *list, wide count) {
        if (count > bits.size()) std::fill(bits.begin(), bits.end(), 0);
        else for (wide i = 0; i < count; ++i) bits[list[i] >> 6] = 0;
    }

    bool failed() {
        for (auto &worker : workers) {
            error = std::min(error, worker.error);
            worker.error = ~(wide)0;
        }
        return error != ~(wide)0;
    }

    // Forgets the vertices that lost a candidate. Returns whether none of them is at infinity.
    bool settle() override {
        deferring = false;
        const wide words = num_vertices / 64 + 1;
        for (size_t vector = 0; vector < lost_faults.size(); ++vector) {
            if (lost_faults[vector] == ~(word)0) continue;
            for (wide i = 0; i < words; ++i) {
                wide &bits = lost[vector * words + i];
                for (; bits; bits &= bits - 1) {
                    const wide vertex = i * 64 + __builtin_ctzll(bits);
                    if (vectors[vector][vertex] == ~(word)0)
                        error = std::min(error, (wide)lost_faults[vector] << 32 | vertex);
                }
            }
            lost_faults[vector] = ~(word)0;
        }
        return error == ~(wide)0;
    }

    // The number of vertices in the queues of all threads; -1 after an error.
    int64_t found() {
        if (failed() || (!deferring && !settle())) return -1;
        int64_t count = 0;
        for (auto &worker : workers) count += worker.count;
        return count;
    }

    int64_t edges(const EdgeOperator &op, const word *list, wide count, const word *uniforms) {
        if (op.other && count >= op.least) return edges(*op.other, list, count, uniforms);
        Task now = task(list, count, uniforms);
        if (op.transposed) std::swap(now.along, now.against);
        if (op.filter) {
            Task filter = now;
            filter.list = nullptr, filter.count = num_vertices;
            filter.uniforms = uniforms, filter.wanted = wanted.data();
            std::fill(wanted.begin(), wanted.end(), 0);
            parts(filter, num_vertices, std::max(grain, (wide)64),
                  [&](Worker &worker, wide first, wide last) {
                      op.filter(filter, worker, first, last);
                  });
            if (failed()) return -1;
            now.wanted = wanted.data();
        }
        const wide arcs = op.direction == 2 || op.blocks ? 0 : count_arcs(now);
        const bool whole = !list || count > num_vertices / 4;
        const bool pulls = op.blocks ? false : op.direction ? op.direction == 2
            : arcs * op.share > num_arcs + num_vertices;
        pulled = pulls;
        const Copies &kept = pulls ? *op.pull_copies : *op.push_copies;
        copy(now, kept.whole, kept.num_whole, false);
        copy(now, kept.sparse, kept.num_sparse, !whole);
        if (op.blocks) push_blocks(now, op);
        else if (pulls) pull(now, op.pull, op.by_vertices);
        else if (op.by_vertices) push_vertices(now, op.push);
        else push(now, op.push, arcs);
        by_bits = op.result > (pulls ? 1 : 0);
        deferring |= op.deferred;
        return found();
    }

    int64_t vertices(Kernel *kernel, const int32_t *numbers, int32_t num_copies, const word *list,
                     wide count, const word *uniforms) {
        Task now = task(list, count, uniforms);
        copy(now, numbers, num_copies, false);
        each_vertex(now, kernel);
        return found();
    }

    // Moves the vertices in the queues of all threads to an array.
    void take(word *to, wide count) {
        if (by_bits && count > num_vertices / 32) {
            // The bits are all there, and in order.
            for (wide i = 0; i < seen.size(); ++i) {
                for (wide left = seen[i]; left; left &= left - 1)
                    *to++ = i * 64 + __builtin_ctzll(left);
                seen[i] = 0;
            }
            for (auto &worker : workers) worker.count = 0;
            return;
        }
        for (auto &worker : workers) {
            if (worker.count) memcpy(to, worker.found, worker.count * sizeof(word));
            if (by_bits) clear(seen, worker.found, worker.count);
            to += worker.count;
            worker.count = 0;
        }
    }

    // Makes the vertices in `spare` a set of a fused loop.
    void become(Set &set) {
        std::swap(set.own, spare);
        set.count = set.own.size();
        // The place of an empty set's list is never read.
        set.list = set.count == num_vertices ? nullptr
            : set.count ? set.own.data() : &num_vertices;
    }

    void take(Set &set, wide count, bool joins) {
        spare.resize(count);
        take(spare.data(), count);
        if (joins && set.count) {
            if (!set.list || !count) return;
            for (wide i = 0; i < count; ++i) seen[spare[i] >> 6] |= (wide)1 << (spare[i] & 63);
            for (wide i = 0; i < set.count; ++i)
                if (!has(seen.data(), set.list[i])) spare.push_back(set.list[i]);
            clear(seen, spare.data(), count);
        }
        become(set);
    }

    // Moves the vertices that are ready from a queue to a set.
    void dequeue(Waiting &waiting, int32_t source, int32_t target) override {
        Set &queue = sets[source], &ready = sets[target];
        const word *const words = vectors[waiting.vector];
        const auto vertex = [&](wide i) { return queue.list ? queue.list[i] : (word)i; };
        if (waiting.delta && queue.count) {
            word least = ~(word)0;
            for (wide i = 0; i < queue.count; ++i) least = std::min(least, words[vertex(i)]);
            if (least >= waiting.threshold) {
                const int64_t steps = (least - waiting.threshold) / waiting.delta + 1;
                waiting.threshold = std::min(waiting.threshold + steps * waiting.delta,
                                             (int64_t)1 << 32);
            }
        }
        std::vector<word> rest;
        spare.clear();
        for (wide i = 0; i < queue.count; ++i) {
            const bool now = !waiting.delta || words[vertex(i)] < waiting.threshold;
            (now ? spare : rest).push_back(vertex(i));
        }
        become(ready);
        spare.swap(rest);
        become(queue);
    }

    // The sum of a function over a set. Returns false after an error.
    bool sum(Kernel *kernel, const word *list, wide count, const word *uniforms, wide &total) {
        Task now = task(list, count, uniforms);
        each_vertex(now, kernel);
        total = 0;
        for (auto &worker : workers) {
            total += worker.total;
            worker.total = 0;
        }
        return !failed();
    }

    // What fused loops ask for

    int64_t size(int32_t set) override { return sets[set].count; }

    bool is_vertex(int64_t value) override { return value >= 0 && value < num_vertices; }

    bool late() override {
        return std::chrono::steady_clock::now() - began > std::chrono::milliseconds(100);
    }

    // Asks the host from time to time whether the loop must stop.
    bool stopped() override {
        if (!late()) return false;
        began = std::chrono::steady_clock::now();
        return ask();
    }

    // Gives a set another name.
    void move(int32_t from, int32_t to) override {
        const Set &source = sets[from];
        Set &target = sets[to];
        if (from == to) return;
        const bool owns = source.list && source.list == source.own.data() && source.count;
        if (owns) target.own = source.own;
        target.count = source.count;
        target.list = owns ? target.own.data() : source.list;
    }

    bool made(int64_t count, int32_t target, bool joins) {
        if (count < 0) return false;
        if (target >= 0) take(sets[target], count, joins);
        return true;
    }

    bool edges(const EdgeOperator *op, int32_t source, int32_t target, bool joins,
               const word *uniforms) override {
        const Set &set = sets[source];
        return made(edges(*op, set.list, set.count, uniforms), target, joins);
    }

    bool vertices(Kernel *kernel, const int32_t *numbers, int32_t num_copies, int32_t source,
                  int32_t target, const word *uniforms) override {
        const Set &set = sets[source];
        return made(vertices(kernel, numbers, num_copies, set.list, set.count, uniforms), target,
                    false);
    }

    bool total(Kernel *kernel, int32_t source, const word *uniforms, int64_t &total) override {
        const Set &set = sets[source];
        wide found = 0;
        const bool fine = sum(kernel, set.list, set.count, uniforms, found);
        total = (int64_t)found;
        return fine;
    }

    // Forgets everything that an operator left that failed.
    void reset() {
        error = ~(wide)0, deferring = false;
        for (auto &worker : workers) worker = Worker{~(wide)0, 0, worker.found, 0, worker.room};
        std::fill(seen.begin(), seen.end(), 0);
        std::fill(lost.begin(), lost.end(), 0);
        std::fill(lost_faults.begin(), lost_faults.end(), ~(word)0);
    }
};

typedef int64_t Loop(LoopMachine &, const EdgeOperator *const *, int64_t *, const int64_t *,
                     const word *, Waiting *, wide &);

extern "C" {

Machine *machine_new(uint32_t threads, word num_vertices, wide num_arcs, const Rows *out,
                     const Rows *in, wide num_vectors, word *const *vectors, word *const *copies,
                     wide grain) {
    Machine *const machine = new Machine(threads, num_vertices, num_vectors);
    machine->out = *out, machine->in = *in;
    machine->num_arcs = num_arcs, machine->grain = grain;
    machine->vectors = vectors, machine->copies = copies;
    return machine;
}

void machine_free(Machine *machine) { delete machine; }

void machine_start(Machine *machine, const wide *literals) {
    machine->literals = literals;
    machine->reset();
}

wide machine_error(const Machine *machine) { return machine->error; }

int machine_pulled(const Machine *machine) { return machine->pulled; }

int64_t machine_edges(Machine *machine, const EdgeOperator *op, const word *list, wide count,
                      const word *uniforms) {
    return machine->edges(*op, list, count, uniforms);
}

void machine_take(Machine *machine, word *to, wide count) { machine->take(to, count); }

// Also makes the set of a filter, which is in the queues then.
int64_t machine_vertices(Machine *machine, Kernel *kernel, const int32_t *copies,
                         int32_t num_copies, const word *list, wide count, const word *uniforms) {
    return machine->vertices(kernel, copies, num_copies, list, count, uniforms);
}

// Gives a fused loop its sets, or takes them back: a null list is the set of all vertices.
void machine_put(Machine *machine, int32_t set, const word *list, wide count) {
    auto &sets = machine->sets;
    if (sets.size() <= (size_t)set) sets.resize(set + 1);
    sets[set].list = list, sets[set].count = count;
}

const word *machine_get(const Machine *machine, int32_t set, wide *count) {
    *count = machine->sets[set].count;
    return machine->sets[set].list;
}

int64_t machine_loop(Machine *machine, Loop *loop, const EdgeOperator *const *operators,
                     int64_t *numbers, const int64_t *constants, const word *words,
                     Waiting *queues, wide *count, int (*ask)()) {
    machine->ask = ask;
    machine->began = std::chrono::steady_clock::now();
    return loop(*machine, operators, numbers, constants, words, queues, *count);
}

// Returns 0 if there is no error.
int machine_settle(Machine *machine) { return !machine->settle(); }

// Returns 0 if there is no error.
int machine_total(Machine *machine, Kernel *kernel, const word *list, wide count,
                  const word *uniforms, wide *total) {
    return !machine->sum(kernel, list, count, uniforms, *total);
}

}
