// Threads that share work.
#pragma once
#include "machine.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

inline void pause() {
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
