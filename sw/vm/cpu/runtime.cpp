// Threads, sets of vertices and the choice of a direction: all parts of the machine that are the
// same for every program.
#include "machine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace {

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Threads that wait for work. A turn begins with a piece of work, which all threads may do at once,
// and ends when those that began it have done it. So a thread that the system keeps from running
// delays nobody. The caller is one of the threads, with number 0.
class Pool {
public:
    explicit Pool(unsigned threads)
        : spins(threads <= std::thread::hardware_concurrency() ? 2000 : 0) {
        for (unsigned i = 1; i < threads; ++i) workers.emplace_back([this, i] { serve(i); });
    }

    ~Pool() {
        begin(nullptr);
        for (auto &worker : workers) worker.join();
    }

    unsigned threads() const { return workers.size() + 1; }

    void run(const std::function<void(unsigned)> &next) {
        begin(&next);
        next(0);
        const unsigned entered = state.fetch_or(CLOSED, std::memory_order_acq_rel) & (CLOSED - 1);
        for (unsigned spun = 0; left.load(std::memory_order_acquire) != entered;) {
            if (++spun < spins) pause();
            else std::this_thread::yield();
        }
    }

private:
    // `state` is the number of the turn, whether the turn is closed, and how many threads entered.
    static constexpr wide TURN = (wide)1 << 32, CLOSED = (wide)1 << 31;

    void begin(const std::function<void(unsigned)> *next) {
        work = next;
        left.store(0, std::memory_order_relaxed);
        {
            std::lock_guard<std::mutex> guard(lock);
            state.store((state.load() / TURN + 1) * TURN, std::memory_order_release);
        }
        wake.notify_all();
    }

    void serve(unsigned number) {
        wide seen = 0;
        const auto open = [&] {
            const wide now = state.load(std::memory_order_acquire);
            return now / TURN != seen && !(now & CLOSED);
        };
        for (;;) {
            for (unsigned spun = 0; spun < spins && !open(); ++spun) pause();
            if (!open()) {
                std::unique_lock<std::mutex> guard(lock);
                wake.wait(guard, open);
            }
            wide now = state.load(std::memory_order_acquire);
            if (now & CLOSED || !state.compare_exchange_strong(now, now + 1)) continue;
            seen = now / TURN;
            if (!work) return;
            (*work)(number);
            left.fetch_add(1, std::memory_order_release);
        }
    }

    const unsigned spins;
    std::vector<std::thread> workers;
    const std::function<void(unsigned)> *work = nullptr;
    std::atomic<wide> state{CLOSED};
    std::atomic<unsigned> left{0};
    std::mutex lock;
    std::condition_variable wake;
};

}

// An operator of edges, as Python describes it.
struct EdgeOperator {
    Kernel *push, *pull;
    Kernel *filter;                     // makes the bits of the filter, if it may fail
    const int32_t *copies, *sparse;     // vectors to copy, whole or where the sources are
    int32_t num_copies, num_sparse;
    int32_t transposed;
    int32_t direction;      // 0 to choose, 1 to push, 2 to pull
    int32_t owned, exits;   // whether pull needs no atomics, and leaves a row early
    int32_t result;         // 0 none, 1 without bits when it pulls, 2 always with bits
};

struct Machine {
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
    std::vector<wide> before, among, wanted, seen;
    bool by_bits = false;

    Machine(unsigned threads, word vertices, wide num_vectors)
        : num_vertices(vertices), pool(threads), workers(threads), starts(num_vectors),
          among(vertices / 64 + 1), wanted(vertices / 64 + 1), seen(vertices / 64 + 1) {
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
        made.along = out, made.against = in;
        made.out_offsets = out.offsets, made.in_offsets = in.offsets;
        made.vectors = vectors, made.starts = starts.data();
        made.uniforms = uniforms, made.literals = literals;
        made.list = list, made.count = count;
        made.seen = seen.data();
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

    void push(Task &task, Kernel *kernel, wide arcs) {
        parts(task, arcs, grain, [&](Worker &worker, wide first, wide last) {
            kernel(task, worker, first, last);
        });
    }

    // Threads take rows with about equally many vertices and arcs together.
    void pull(Task &task, Kernel *kernel) {
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
        const wide total = num_arcs + num_vertices;
        parts(task, total, grain, [&](Worker &worker, wide first, wide last) {
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

    // The number of vertices in the queues of all threads; -1 after an error.
    int64_t found() {
        if (failed()) return -1;
        int64_t count = 0;
        for (auto &worker : workers) count += worker.count;
        return count;
    }

    int64_t edges(const EdgeOperator &op, const word *list, wide count, const word *uniforms) {
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
        const wide arcs = op.direction == 2 ? 0 : count_arcs(now);
        const bool whole = !list || count > num_vertices / 4;
        copy(now, op.copies, op.num_copies, false);
        copy(now, op.sparse, op.num_sparse, !whole);
        // Pulling goes through all rows; but it leaves many early if it may.
        const bool pulls = op.direction ? op.direction == 2
            : op.owned && op.pull && (op.exits ? arcs * 14 : arcs * 2) > num_arcs + num_vertices;
        pulled = pulls;
        if (pulls) pull(now, op.pull);
        else push(now, op.push, arcs);
        by_bits = op.result > (pulls ? 1 : 0);
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

    // Forgets everything that an operator left that failed.
    void reset() {
        error = ~(wide)0;
        for (auto &worker : workers) worker = Worker{~(wide)0, 0, worker.found, 0, worker.room};
        std::fill(seen.begin(), seen.end(), 0);
    }
};

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
    Task task = machine->task(list, count, uniforms);
    machine->copy(task, copies, num_copies, false);
    machine->each_vertex(task, kernel);
    return machine->found();
}

// Returns 0 if there is no error.
int machine_total(Machine *machine, Kernel *kernel, const word *list, wide count,
                  const word *uniforms, wide *total) {
    Task task = machine->task(list, count, uniforms);
    machine->each_vertex(task, kernel);
    *total = 0;
    for (auto &worker : machine->workers) {
        *total += worker.total;
        worker.total = 0;
    }
    return machine->failed();
}

// The union of two sets. `to` has room for both.
wide machine_join(Machine *machine, const word *one, wide count, const word *other, wide others,
                  word *to) {
    auto &bits = machine->seen;
    memcpy(to, one, count * sizeof(word));
    wide size = count;
    for (wide i = 0; i < count; ++i) bits[one[i] >> 6] |= (wide)1 << (one[i] & 63);
    for (wide i = 0; i < others; ++i)
        if (!has(bits.data(), other[i])) to[size++] = other[i];
    Machine::clear(bits, one, count);
    return size;
}

// Parts a set: the vertices below the threshold from the front of `to`, the others from its end.
wide machine_split(const word *list, wide count, const word *vector, wide threshold, word *to) {
    wide front = 0, back = count;
    for (wide i = 0; i < count; ++i) {
        if (vector[list[i]] < threshold) to[front++] = list[i];
        else to[--back] = list[i];
    }
    return front;
}

word machine_least(const word *list, wide count, const word *vector) {
    word least = ~(word)0;
    for (wide i = 0; i < count; ++i) least = std::min(least, vector[list[i]]);
    return least;
}

}
