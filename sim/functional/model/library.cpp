// The GPU without time: cores that take turns, the Stream Compaction Unit, and the C functions that
// sim/functional/machine.py calls.

#include <memory>

#include "core.h"
#include "scu.h"
#include "units.h"

#define EXPORT __attribute__((visibility("default")))

std::unique_ptr<AnyCore> make_core_8(const Config&, u32, u8*, const std::vector<Instruction>&);
std::unique_ptr<AnyCore> make_core_16(const Config&, u32, u8*, const std::vector<Instruction>&);
std::unique_ptr<AnyCore> make_core_32(const Config&, u32, u8*, const std::vector<Instruction>&);

/// The core of a configuration. `program` has all words of instruction memory.
std::unique_ptr<AnyCore> make_core(const Config& config, u32 number, u8* global,
                                   const std::vector<Instruction>& program) {
    const auto make = config.threads <= 8    ? make_core_8
                      : config.threads <= 16 ? make_core_16
                                             : make_core_32;
    return make(config, number, global, program);
}

/// Why fn_run returned. sim/functional/library.py has the same numbers.
enum Status : int {
    RUNNING = 0,    ///< the instructions are used up
    DONE = 1,       ///< every warp has ended
    FAILED = 2,     ///< a core has stopped with an error
    STUCK = 3,      ///< warps wait for work, and no warp is left to register any
};

/// The GPU. Cores and warps take turns in the order of their numbers, or with a seed at random.
class Gpu {
public:
    Gpu(const Config& config, u8* memory, u64 seed, u64 burst)
        : m_config{config}, m_scu{config, memory}, m_seed{seed}, m_burst{burst} {
        program.resize(config.imem_bytes / 4);
        for (u32 core = 0; core < config.cores; ++core)
            cores.push_back(make_core(config, core, memory, program));
    }

    void power_on() {
        for (auto& core : cores) core->power_on();
    }

    void start(u32 entry, u32 argument, u32 checks) {
        for (auto& core : cores) core->start(entry, argument, checks);
        m_turn = 0;
        m_core = m_warp = 0;
        if (m_seed) scramble();
    }

    /// Execute at most `count` instructions.
    Status run(u64 count) {
        while (count) {
            const Status status = m_seed ? random_turn(count) : next_turn(count);
            if (status != RUNNING) return status;
        }
        return anything_left() ? RUNNING : DONE;
    }

    ScuOutcome compact(const u32* registers) { return m_scu.run(registers); }

    std::vector<Instruction> program;
    std::vector<std::unique_ptr<AnyCore>> cores;

private:
    bool anything_left() const {
        for (const auto& core : cores)
            if (core->running()) return true;
        return false;
    }

    /// What has become of a core after a warp's burst.
    static Status state(const AnyCore& core) {
        return core.failure.cause ? FAILED : core.stuck() ? STUCK : RUNNING;
    }

    /// A burst of every warp of every core that was running when the turn began. A turn that is cut
    /// short by the count goes on where it was.
    Status next_turn(u64& count) {
        if (!m_turn) {
            for (u32 core = 0; core < cores.size(); ++core)
                m_turn |= u32{cores[core]->running()} << core;
            m_core = m_warp = 0;
            if (!m_turn) return DONE;
        }
        for (; m_core < cores.size(); ++m_core, m_warp = 0) {
            if (!(m_turn >> m_core & 1)) continue;
            auto& core = *cores[m_core];
            const bool whole = core.run_warps(m_warp, m_burst, count);
            if (const Status status = state(core); status != RUNNING) return status;
            if (!whole) return RUNNING;
        }
        m_turn = 0;
        return RUNNING;
    }

    /// A burst of 1 to 32 instructions of a warp that is ready.
    Status random_turn(u64& count) {
        m_able.clear();
        for (u32 core = 0; core < cores.size(); ++core)
            if (cores[core]->running()) m_able.push_back(core);
        if (m_able.empty()) return DONE;
        auto& core = *cores[any_able()];
        m_able.clear();
        for (u32 warp = 0; warp < m_config.warps; ++warp)
            if (core.ready(warp)) m_able.push_back(warp);
        const u32 warp = any_able();
        core.run_warp(warp, u64{1} << random() % 6, count);
        return state(core);
    }

    u32 any_able() { return m_able[random() % m_able.size()]; }

    /// Arbitrary registers, which expose a kernel that reads one that it has not written.
    void scramble() {
        for (auto& core : cores)
            for (u32 warp = 0; warp < m_config.warps; ++warp) {
                const u32 lanes = core->lanes_of_a_register();
                u32* const registers = core->registers(warp);
                for (u32 i = lanes; i < 32 * lanes; ++i) registers[i] = static_cast<u32>(random());
            }
    }

    /// splitmix64
    u64 random() {
        u64 z = m_state += 0x9E37'79B9'7F4A'7C15;
        z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9;
        z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EB;
        return z ^ z >> 31;
    }

    const Config m_config;
    Scu m_scu;
    const u64 m_seed, m_burst;
    u64 m_state = m_seed;
    std::vector<u32> m_able;    // the cores, or the warps, of which one gets a turn
    u32 m_turn = 0, m_core = 0, m_warp = 0;     // cores of the turn, and how far it is
};

/// What the host may ask about a core.
struct CoreReport {
    u64 instructions, lanes;
    Failure failure;
};

extern "C" {

/// `seed` 0: warps take turns in order, bursts of `burst` instructions.
EXPORT Gpu* fn_create(const Config* config, u8* memory, u64 seed, u64 burst) {
    return new Gpu{*config, memory, seed, burst};
}

EXPORT void fn_destroy(Gpu* gpu) { delete gpu; }

EXPORT void fn_power_on(Gpu* gpu) { gpu->power_on(); }

/// All words of instruction memory.
EXPORT void fn_program(Gpu* gpu, const Instruction* words) {
    std::memcpy(gpu->program.data(), words, gpu->program.size() * sizeof *words);
}

EXPORT void fn_start(Gpu* gpu, u32 entry, u32 argument, u32 checks) {
    gpu->start(entry, argument, checks);
}

EXPORT int fn_run(Gpu* gpu, u64 count) { return gpu->run(count); }

EXPORT void fn_compact(Gpu* gpu, const u32* registers, ScuOutcome* outcome) {
    *outcome = gpu->compact(registers);
}

EXPORT void fn_report(Gpu* gpu, u32 core, CoreReport* report) {
    const AnyCore& found = *gpu->cores[core];
    *report = {found.instructions, found.lanes, found.failure};
}

EXPORT void fn_clear_counters(Gpu* gpu) {
    for (auto& core : gpu->cores) core->clear_counters();
}

/// A warp's registers: 33 rows, of as many words as it returns. Row 32 is of no register.
EXPORT u32 fn_registers(Gpu* gpu, u32 core, u32 warp, u32** registers) {
    *registers = gpu->cores[core]->registers(warp);
    return gpu->cores[core]->lanes_of_a_register();
}

EXPORT void fn_local(Gpu* gpu, u32 core, u8** memory) { *memory = gpu->cores[core]->local(); }

/// The PC and the thread mask of a warp; mask 0 if the warp has ended.
EXPORT void fn_position(Gpu* gpu, u32 core, u32 warp, u32* pc, u32* mask) {
    *pc = gpu->cores[core]->pc(warp);
    *mask = gpu->cores[core]->mask(warp);
}

}  // extern "C"
