// A pool of threads that does a round of jobs again and again, thousands of rounds a second.
//
// Each thread begins with its own jobs, so that their data stay in its processor's cache. Then it
// takes over jobs that another thread has not begun, because that thread may have been interrupted.
// A job must not depend on the other jobs of its round. Between rounds the threads wait actively,
// and outside of begin() to end() they sleep.
//
// On a busy machine a thread without a processor makes the others wait. So the pool sometimes
// compares the time of rounds with all threads and with the caller's thread alone, and goes on with
// the faster way.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class ThreadPool {
public:
    /// Makes a pool of threads, including the caller's, for rounds of a number of jobs.
    ThreadPool(std::size_t threads, std::size_t jobs, std::function<void(std::size_t)> job)
        : m_job{std::move(job)}, m_claims(jobs), m_size{threads} {
        for (std::size_t thread = 1; thread < threads; ++thread)
            m_threads.emplace_back([this, thread] { follow(thread); });
    }
    ~ThreadPool() {
        set([this] { m_leaving = true; });
        for (auto& thread : m_threads) thread.join();
    }

    void begin() {
        m_open = m_size > 1;
        m_left = 0;
        m_begun = {};
    }
    void end() {
        m_open = false;
        wake(false);
    }

    /// Does every job once. Returns when all jobs are done.
    void round() {
        if (m_open && m_left-- == 0) plan();
        if (!m_awake) {
            for (std::size_t job = 0; job < m_claims.size(); ++job) m_job(job);
            return;
        }
        const std::uint64_t number = m_round.load(std::memory_order_relaxed) + 1;
        m_round.store(number, std::memory_order_release);
        work(0, number);
        const std::uint64_t done = number * m_claims.size();
        wait([&] { return m_done.load(std::memory_order_acquire) == done; });
    }

private:
    using Clock = std::chrono::steady_clock;

    /// Number of rounds of a block, which are timed together, and number of blocks for each trial
    /// of the way that seems slower.
    static constexpr unsigned BLOCK = 128, BLOCKS = 16;

    struct alignas(64) Claim {
        std::atomic<std::uint64_t> round{0};    // the last round in which a thread took the job
    };

    /// Decides how the next block is done.
    void plan() {
        const auto now = Clock::now();
        if (m_begun != Clock::time_point{}) m_cost[m_awake] = now - m_begun;
        const bool better = m_cost[true] <= m_cost[false];
        wake(++m_block % BLOCKS == 0 ? !better : better);
        m_left = BLOCK - 1;
        m_begun = now;
    }

    void wake(bool awake) {
        if (awake != m_awake) set([=] { m_awake = awake; });
    }

    template <typename F>
    void set(F change) {
        {
            const std::lock_guard lock{m_mutex};
            change();
            m_asleep = !m_awake || m_leaving;
        }
        m_woken.notify_all();
    }

    /// Waits actively for an event that is about to happen; lets others run if it takes longer.
    template <typename F>
    static void wait(F happened) {
        for (unsigned tries = 0; !happened(); ++tries) {
            if (tries < 4000) {
#if defined(__x86_64__) || defined(__i386__)
                __builtin_ia32_pause();
#endif
            } else {
                std::this_thread::yield();
            }
        }
    }

    void work(std::size_t thread, std::uint64_t number) {
        const std::size_t jobs = m_claims.size(), first = thread * jobs / m_size;
        for (std::size_t i = 0; i < jobs; ++i) {
            const std::size_t job = (first + i) % jobs;
            std::uint64_t before = number - 1;
            if (m_claims[job].round.compare_exchange_strong(before, number,
                                                            std::memory_order_acq_rel)) {
                m_job(job);
                m_done.fetch_add(1, std::memory_order_release);
            }
        }
    }

    void follow(std::size_t thread) {
        std::uint64_t seen = 0;
        for (;;) {
            {
                std::unique_lock lock{m_mutex};
                m_woken.wait(lock, [this] { return m_awake || m_leaving; });
                if (m_leaving) return;
            }
            std::uint64_t number = seen;
            wait([&] {
                number = m_round.load(std::memory_order_acquire);
                return number != seen || m_asleep.load(std::memory_order_relaxed);
            });
            if (number != seen) work(thread, seen = number);
        }
    }

    const std::function<void(std::size_t)> m_job;
    std::vector<Claim> m_claims;
    const std::size_t m_size;
    alignas(64) std::atomic<std::uint64_t> m_round{0};
    alignas(64) std::atomic<std::uint64_t> m_done{0};
    std::atomic<bool> m_asleep{true};
    bool m_awake = false, m_leaving = false;    // changed by the caller's thread only
    bool m_open = false;
    unsigned m_left = 0, m_block = 0;
    Clock::time_point m_begun{};
    std::array<Clock::duration, 2> m_cost{};    // of a block: with the caller alone, with all
    std::mutex m_mutex;
    std::condition_variable m_woken;
    std::vector<std::thread> m_threads;
};
