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
#include <cstddef>
#include <cstdint>

#include <pthread.h>
#include <sched.h>
#include <time.h>

/// Rounds of JOBS jobs, each a call of a function with its number.
template <std::size_t JOBS, typename Job>
class ThreadPool {
public:
    /// Makes a pool of at most JOBS threads, including the caller's. If the system gives fewer
    /// threads, the others do their jobs.
    ThreadPool(std::size_t threads, Job job) : m_job{job} {
        for (m_size = 1; m_size < threads && m_size < JOBS; ++m_size) {
            Member& member = m_members[m_size];
            member = {this, m_size};
            if (pthread_create(&member.handle, nullptr, enter, &member)) break;
        }
    }
    ~ThreadPool() {
        set([this] { m_leaving = true; });
        for (std::size_t thread = 1; thread < m_size; ++thread)
            pthread_join(m_members[thread].handle, nullptr);
    }

    void begin() {
        m_open = m_size > 1;
        m_left = 0;
        m_begun = 0;
    }
    void end() {
        m_open = false;
        wake(false);
    }

    /// Does every job once. Returns when all jobs are done.
    void round() {
        if (m_open && m_left-- == 0) plan();
        if (!m_awake) {
            for (std::size_t job = 0; job < JOBS; ++job) m_job(job);
            return;
        }
        const std::uint64_t number = m_round.load(std::memory_order_relaxed) + 1;
        m_round.store(number, std::memory_order_release);
        work(0, number);
        const std::uint64_t done = number * JOBS;
        wait([&] { return m_done.load(std::memory_order_acquire) == done; });
    }

private:
    /// Number of rounds of a block, which are timed together, and number of blocks for each trial
    /// of the way that seems slower.
    static constexpr unsigned BLOCK = 128, BLOCKS = 16;

    struct alignas(64) Claim {
        std::atomic<std::uint64_t> round{0};    // the last round in which a thread took the job
    };

    struct Member {
        ThreadPool* pool;
        std::size_t number;
        pthread_t handle;
    };
    static void* enter(void* member) {
        const auto* self = static_cast<const Member*>(member);
        self->pool->follow(self->number);
        return nullptr;
    }

    /// The time in nanoseconds.
    static std::uint64_t clock() {
        timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return std::uint64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
    }

    /// Decides how the next block is done.
    void plan() {
        const std::uint64_t now = clock();
        if (m_begun) m_cost[m_awake] = now - m_begun;
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
        pthread_mutex_lock(&m_mutex);
        change();
        m_asleep = !m_awake || m_leaving;
        pthread_mutex_unlock(&m_mutex);
        pthread_cond_broadcast(&m_woken);
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
                sched_yield();
            }
        }
    }

    void work(std::size_t thread, std::uint64_t number) {
        const std::size_t first = thread * JOBS / m_size;
        for (std::size_t i = 0; i < JOBS; ++i) {
            const std::size_t job = (first + i) % JOBS;
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
            pthread_mutex_lock(&m_mutex);
            while (!m_awake && !m_leaving) pthread_cond_wait(&m_woken, &m_mutex);
            const bool leaving = m_leaving;
            pthread_mutex_unlock(&m_mutex);
            if (leaving) return;
            std::uint64_t number = seen;
            wait([&] {
                number = m_round.load(std::memory_order_acquire);
                return number != seen || m_asleep.load(std::memory_order_relaxed);
            });
            if (number != seen) work(thread, seen = number);
        }
    }

    const Job m_job;
    std::array<Claim, JOBS> m_claims;
    std::size_t m_size;
    alignas(64) std::atomic<std::uint64_t> m_round{0};
    alignas(64) std::atomic<std::uint64_t> m_done{0};
    std::atomic<bool> m_asleep{true};
    bool m_awake = false, m_leaving = false;    // changed by the caller's thread only
    bool m_open = false;
    unsigned m_left = 0, m_block = 0;
    std::uint64_t m_begun = 0;
    std::uint64_t m_cost[2] = {};    // of a block: with the caller alone, with all
    pthread_mutex_t m_mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t m_woken = PTHREAD_COND_INITIALIZER;
    std::array<Member, JOBS> m_members{};
};
