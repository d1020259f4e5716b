// One core: its warps, its local memory, its unit that hands out edges, and their order.
// execute.h has the instructions.

#pragma once

#include <memory>

#include "gather.h"
#include "warp.h"

/// Why a core has stopped.
struct Failure {
    u32 cause, core, warp, lane, pc, address;
};

/// A core with any number of lanes.
class AnyCore {
public:
    virtual ~AnyCore() = default;

    /// Begin as after power on: registers and local memory are 0.
    virtual void power_on() = 0;
    /// Start every warp with all lanes.
    /// `checks` is the word of hw.registers.Checks.
    virtual void start(u32 entry, u32 argument, u32 checks) = 0;
    /// Execute a burst of instructions of one warp, fewer if it has to wait or the budget ends.
    /// Takes the number off the budget.
    virtual void run_warp(u32 warp, u64 burst, u64& budget) = 0;
    /// The same of each warp from number `next` on, as far as the budget goes. True if all warps
    /// have had their burst, or the core has stopped.
    virtual bool run_warps(u32& next, u64 burst, u64& budget) = 0;
    /// The registers of a warp: 33 rows of so many words.
    virtual u32* registers(u32 warp) = 0;
    virtual u32 lanes_of_a_register() const = 0;
    virtual u8* local() = 0;
    virtual bool ready(u32 warp) const = 0;
    virtual u32 pc(u32 warp) const = 0;
    virtual u32 mask(u32 warp) const = 0;

    bool running() const { return m_ready > 0; }
    /// Whether the core stands still because warps wait for work that no warp can register any more.
    bool stuck() const { return m_stuck; }

    u64 instructions = 0, lanes = 0;    // executed, and their active lanes, since cleared
    Failure failure{};                  // cause 0: none

    void clear_counters() {
        m_start -= instructions;
        instructions = lanes = 0;
    }

protected:
    u32 m_ready = 0;                    // warps that can execute an instruction
    bool m_stuck = false;
    u64 m_start = 0;                    // `instructions` at the launch
};

/// A core whose registers have L lanes; those beyond the configuration's are never active.
template <unsigned L>
class Core final : public AnyCore {
public:
    using V = Lanes<L>;
    using Vector = typename V::Vector;

    Core(const Config& config, u32 number, u8* global, const std::vector<Instruction>& program)
        : m_config{config}, m_number{number}, m_full{config.full()},
          m_stack_entries{config.threads > 2 ? config.threads - 1 : 1},
          m_local(config.local_bytes), m_program{program},
          m_memory{global, config.memory_bytes, m_local.data(), config.local_bytes},
          m_warps(config.warps), m_gather{make_gather_unit(config, m_memory)} {
        for (u32 warp = 0; warp < config.warps; ++warp) m_warps[warp].number = warp;
        power_on();
    }

    void power_on() override {
        std::memset(m_local.data(), 0, m_local.size());
        for (auto& warp : m_warps) {
            std::memset(static_cast<void*>(warp.registers), 0, sizeof warp.registers);
            warp.ready = warp.asks = warp.waits = false;
            warp.mask = warp.depth = warp.phase = warp.fcsr = warp.pc = 0;
        }
        m_ready = 0;
    }

    void start(u32 entry, u32 argument, u32 checks) override {
        m_argument = argument;
        m_checks_lanes = checks & 1;
        m_block = checks & ~1u & (m_config.memory_bytes - 1);
        m_start = instructions;
        m_stuck = false;
        failure = {};
        if (m_gather) m_gather->reset();
        m_ready = m_config.warps;
        for (auto& warp : m_warps) {
            warp.depth = warp.phase = warp.fcsr = 0;
            warp.pc = entry;
            warp.ready = true;
            warp.asks = warp.waits = false;
            set_mask(warp, m_full);
        }
    }

    void run_warp(u32 number, u64 burst, u64& budget) override {
        const u64 before = instructions;
        guarded(m_warps[number], burst < budget ? burst : budget);
        budget -= instructions - before;
    }

    bool run_warps(u32& next, u64 burst, u64& budget) override {
        const u64 last = instructions + budget;
        u64 left = budget;
        for (; next < m_warps.size(); ++next) {
            auto& warp = m_warps[next];
            if (!warp.ready) continue;
            if (!left) break;
            guarded(warp, burst < left ? burst : left);
            left = last - instructions;
            if (failure.cause || m_stuck) break;
        }
        budget = left;
        return next == m_warps.size() || failure.cause || m_stuck;
    }

    u32* registers(u32 warp) override { return reinterpret_cast<u32*>(m_warps[warp].registers); }
    u32 lanes_of_a_register() const override { return L; }
    u8* local() override { return m_local.data(); }
    bool ready(u32 warp) const override { return m_warps[warp].ready; }
    u32 pc(u32 warp) const override { return m_warps[warp].pc; }
    u32 mask(u32 warp) const override { return m_warps[warp].mask; }

private:
    /// As execute(), with errors kept.
    void guarded(Warp<L>& warp, u64 count) {
        try {
            execute(warp, count);
        } catch (const Trap& trap) {
            fail({trap.cause, m_number, warp.number, trap.lane, warp.pc, trap.address});
        } catch (const Failure& found) {
            fail(found);
        }
    }

    /// Execute at most `count` instructions of a warp, fewer if it waits or ends.
    void execute(Warp<L>& warp, u64 count);
    void check_lanes(const Warp<L>& warp, const Instruction& ins) const;
    void check_stack(Warp<L>& warp, const Vector& before);
    void load(Warp<L>& warp, const Instruction& ins);
    void store(Warp<L>& warp, const Instruction& ins);
    template <typename F>
    void atomic(Warp<L>& warp, const Instruction& ins, F combine);
    void locate(const Warp<L>& warp, const Instruction& ins, u32 size, u32 misaligned, u32 unmapped,
                u8** places) const;
    bool all_global(const Warp<L>& warp, const Vector& relative, u32 size) const;
    void compute_floats(Warp<L>& warp, const Instruction& ins);
    void vote(Warp<L>& warp, const Instruction& ins);
    void shuffle(Warp<L>& warp, const Instruction& ins);
    void csr(Warp<L>& warp, const Instruction& ins);
    void split(Warp<L>& warp, const Instruction& ins);
    u32 join(Warp<L>& warp, const Instruction& ins);
    void barrier(Warp<L>& warp, const Instruction& ins);
    bool hand_out(Warp<L>& warp, const Instruction& ins);

    /// Change the active lanes. A warp without active lanes ends.
    void set_mask(Warp<L>& warp, u32 mask) {
        warp.mask = mask;
        if (!mask) {
            warp.ready = false;
            warp.depth = 0;
            if (!--m_ready) check_deadlock();
            return;
        }
        warp.active_lanes = V::of_mask(mask);
        warp.lowest = __builtin_ctz(mask);
        warp.active = __builtin_popcount(mask);
    }

    /// The unit that hands out edges was told something: warps that wait for it ask again.
    void wake() {
        for (auto& warp : m_warps) {
            if (!warp.asks) continue;
            warp.asks = false;
            warp.ready = true;
            ++m_ready;
        }
    }

    /// No warp can execute an instruction: that is an error unless all have ended.
    void check_deadlock() {
        for (const auto& warp : m_warps)
            if (warp.asks) {
                m_stuck = true;
                return;
            }
        for (const auto& warp : m_warps)
            if (warp.waits)
                throw Failure{cause::BARRIER_DEADLOCK, m_number, warp.number, 0, warp.waits_pc,
                              warp.barrier};
    }

    static Vector read(const u32* words) {
        Vector found;
        std::memcpy(&found, words, sizeof found);
        return found;
    }

    void fail(const Failure& found) {
        failure = found;
        for (auto& warp : m_warps) warp.ready = false;
        m_ready = 0;
    }

    const Config m_config;
    const u32 m_number, m_full, m_stack_entries;
    u32 m_argument = 0;
    bool m_checks_lanes = false;        // whether lanes must agree at branches
    u32 m_block = 0;                    // bits of the stack pointer that must stay
    std::vector<u8> m_local;
    const std::vector<Instruction>& m_program;
    const Memory m_memory;
    std::vector<Warp<L>> m_warps;
    std::unique_ptr<GatherUnit> m_gather;
};
