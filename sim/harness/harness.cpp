// The machine: the Verilated GPU, its clock, the DRAM model at its memory port, and the C functions
// that sim/native.py calls. Compiled with
//   GPU_LINE_BYTES  bytes of a line
//   GPU_CORES  cores that are models of their own; 0 if they are inside the GPU's model
//   WAVE_FST or WAVE_VCD  for a build with waves
//   GPU_TRACE_CORES  if there are trace ports; see trace.h
//
// The tops of the models (sim/wrapper.py) have a register at most inputs: what is set before a
// rising edge is seen in the cycle after it. What the memory answers in a cycle depends on earlier
// cycles only, so nothing comes later for it, and after a cycle() everything of the next cycle has
// settled: what the GPU offers and accepts is known.
//
// With cores as models of their own, a cycle is: the rising edge of the GPU, after which all that
// the cores see of it in the new cycle is known; the rising edge of the cores, one by one or at the
// same time; and what the GPU makes of their outputs.
//
// An assertion that fails ends in an exception out of the Verilated code, after which the model is
// not used again.

#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "Vgpu.h"
#if GPU_CORES
#include "Vcore.h"
#include "crew.h"
#include "links.h"
#endif
#include "verilated.h"
#if defined(WAVE_FST)
#include "verilated_fst_c.h"
using Wave = VerilatedFstC;
#define WAVES 1
#elif defined(WAVE_VCD)
#include "verilated_vcd_c.h"
using Wave = VerilatedVcdC;
#define WAVES 1
#endif

#if !defined(WAVES)
#define WAVES 0
#endif

#include "dram.h"
#include "trace.h"

namespace {

/// Why gl_run and its like returned. sim/native.py has the same numbers.
enum Status : int {
    RUNNING = 0,   ///< the cycles are used up
    IDLE = 1,      ///< the GPU is not busy
    MEMORY = 2,    ///< a request outside the memory
    BROKEN = 3,    ///< an assertion failed, or the memory port's rules were broken
};

constexpr std::size_t LINE_BYTES = GPU_LINE_BYTES;
constexpr unsigned RESET_CYCLES = 4;
constexpr std::size_t PRINT_LIMIT = 4000;

thread_local std::string* printed = nullptr;

struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
};

Mask<LINE_BYTES> mask_of(std::uint64_t bits) { return {{bits}}; }
template <std::size_t WORDS>
Mask<LINE_BYTES> mask_of(const VlWide<WORDS>& bits) {
    Mask<LINE_BYTES> mask;
    std::memcpy(mask.bits, &bits[0], sizeof mask.bits);
    return mask;
}

}  // namespace

extern "C" int graphloom_print(const char* format, ...) {
    char text[1024];
    std::va_list arguments;
    va_start(arguments, format);
    const int size = std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (printed && printed->size() < PRINT_LIMIT) *printed += text;
    return size;
}

void vl_finish(const char* file, int line, const char*) {
    throw Stop("$finish at " + std::string(file) + ":" + std::to_string(line));
}
void vl_stop(const char* file, int line, const char*) {
    throw Stop("stopped at " + std::string(file) + ":" + std::to_string(line));
}
void vl_fatal(const char* file, int line, const char*, const char* message) {
    throw Stop(std::string(message) + " at " + file + ":" + std::to_string(line));
}

/// Numbers of a machine; sim/native.py has the same structure.
struct Report {
    std::uint64_t cycles;         ///< since power on
    std::uint64_t lines_read;
    std::uint64_t lines_written;
    std::uint64_t fault_address;  ///< of the request outside the memory
    std::uint64_t fault_write;
};

class Machine {
public:
    Machine(std::uint8_t* memory, std::uint64_t bytes, std::uint64_t base,
            std::uint32_t occupancy, std::uint32_t latency, std::uint32_t queue,
            [[maybe_unused]] std::uint32_t threads)
        : m_dram{memory, bytes, static_cast<std::uint32_t>(base / LINE_BYTES), occupancy, latency,
                 queue}
#if GPU_CORES
        , m_crew{threads, GPU_CORES, [this](std::size_t core) { edge_of_core(core); }}
#endif
    {}
    ~Machine() { wave_close(); }

    /// A new GPU, as after power on, out of reset and idle.
    void power_on() {
        wave_close();
        m_gpu.reset();
#if GPU_CORES
        for (auto& core : m_cores) core.model.reset();
#endif
        m_context = std::make_unique<VerilatedContext>();
#if WAVES
        m_context->traceEverOn(true);
#endif
        m_gpu = std::make_unique<Vgpu>(m_context.get(), GPU_CORES ? "gpu" : "");
#if GPU_CORES
        for (std::size_t c = 0; c < GPU_CORES; ++c)
            m_cores[c].model = std::make_unique<Vcore>(m_context.get(),
                                                       ("core_" + std::to_string(c)).c_str());
#endif
        settle();
        m_dram.clear();
#if defined(GPU_TRACE_CORES)
        trace.power_on();
#endif
        report = {};
        m_ready = m_shown = m_offered = m_outside = false;
        m_reset = true;
        m_gpu->rst = 1;
        for (unsigned i = 0; i < RESET_CYCLES; ++i) cycle();
        m_gpu->rst = 0;
        cycle();
        m_reset = false;
    }

    void write(std::uint32_t address, const std::uint32_t* words, std::uint32_t count) {
        m_gpu->host_write = 1;
        for (std::uint32_t i = 0; i < count; ++i) {
            m_gpu->host_addr = address + 4 * i;
            m_gpu->host_wdata = words[i];
            cycle();
        }
        m_gpu->host_write = 0;
        cycle();    // in which the GPU sees the last one
    }

    /// A word a cycle: each is there in the cycle after the GPU saw its address.
    void read(std::uint32_t address, std::uint32_t* words, std::uint32_t count) {
        m_gpu->host_read = 1;
        for (std::uint32_t i = 0; i <= count; ++i) {
            if (i == count) m_gpu->host_read = 0;
            m_gpu->host_addr = address + 4 * i;
            cycle();
            if (i > 0) words[i - 1] = m_gpu->host_rdata;
        }
    }

    Status run(std::uint64_t cycles) {
#if GPU_CORES
        const Shift shift{m_crew};
#endif
        for (; cycles && m_gpu->busy; --cycles) {
#if defined(GPU_TRACE_CORES)
            if (trace.full()) break;
#endif
            cycle();
        }
        return m_gpu->busy ? RUNNING : IDLE;
    }

    bool error() const { return m_gpu->error; }

    void wave_open(const char* path) {
#if WAVES
        wave_close();
        m_wave = std::make_unique<Wave>();
        m_gpu->trace(m_wave.get(), 99);
#if GPU_CORES
        for (auto& core : m_cores) core.model->trace(m_wave.get(), 99);
#endif
        m_wave->open(path);
        if (!m_wave->isOpen()) {
            m_wave.reset();
            throw std::runtime_error(std::string("cannot write ") + path);
        }
#else
        throw std::logic_error(std::string("built without waves: ") + path);
#endif
    }
    void wave_flush() {
#if WAVES
        if (m_wave) m_wave->flush();
#endif
    }
    void wave_close() {
#if WAVES
        if (m_wave) m_wave->close();
        m_wave.reset();
#endif
    }

    /// Brings the line counts up to date.
    const Report& numbers() {
        report.lines_read = m_dram.lines_read;
        report.lines_written = m_dram.lines_written;
        return report;
    }
    void clear_lines() { m_dram.lines_read = m_dram.lines_written = 0; }

#if defined(GPU_TRACE_CORES)
    ::Trace<GPU_TRACE_CORES, GPU_TRACE_LANES, GPU_TRACE_WARPS> trace;
#endif
    Report report{};
    std::string message;
    std::string output;

    /// Thrown for a request outside the memory.
    struct Outside {};

private:
    /// From one settled cycle to the next.
    void cycle() {
        Vgpu& gpu = *m_gpu;
        const std::uint64_t now = report.cycles;
        if (!m_reset && !m_outside) {
            if (m_shown && gpu.mem_rsp_ready) {
                m_dram.taken();
                m_shown = false;
            }
            if (gpu.mem_req_valid) {
                request(now);
            } else if (m_offered) {
                throw Stop("a memory request was withdrawn before it was accepted");
            }
        }
        m_ready = !m_outside && m_dram.ready(now + 1);
        gpu.mem_req_ready = m_ready;
        if (!m_shown) {
            const auto* response = m_dram.response(now + 1);
            if (response) {
                gpu.mem_rsp_tag = response->tag;
                std::memcpy(&gpu.mem_rsp_data[0], response->data, LINE_BYTES);
            }
            gpu.mem_rsp_valid = m_shown = response;
        }
        edge(now);
        ++report.cycles;
#if defined(GPU_TRACE_CORES)
        if (!m_reset) {
#if GPU_CORES
            std::array<const std::uint32_t*, GPU_CORES> words;
            for (std::size_t c = 0; c < GPU_CORES; ++c) words[c] = &m_cores[c].model->trace[0];
            trace.sample(words);
#else
            trace.sample({&m_gpu->trace_words[0]});
#endif
        }
#endif
    }


    /// A rising edge, and all that follows from it. The clock falls before it where waves show
    /// that, and otherwise when a model is evaluated anyway.
#if GPU_CORES
    void edge(std::uint64_t now) {
        Vgpu& gpu = *m_gpu;
#if WAVES
        fall(now);
#endif
        for (std::size_t c = 0; c < GPU_CORES; ++c) LINKS[c].late(gpu, *m_cores[c].model);
        gpu.clk = 1;
        gpu.eval();
        m_crew.round();
        for (auto& core : m_cores) {
            if (!core.problem) continue;
            *printed += core.output;
            std::rethrow_exception(std::exchange(core.problem, nullptr));
        }
        gpu.clk = WAVES;
        gpu.eval();
        for (std::size_t c = 0; c < GPU_CORES; ++c)
            if (const char* input = LINKS[c].missed(gpu, *m_cores[c].model))
                throw Stop("core " + std::to_string(c) + ": " + input +
                           " depends on what the cores do in the same cycle");
        wave(10 * now + 10);
    }

    /// A core's part of it. Different cores may be evaluated at the same time.
    void edge_of_core(std::size_t c) {
        Core& core = m_cores[c];
        std::string* const before = std::exchange(printed, &core.output);
        try {
            LINKS[c].forward(*m_gpu, *core.model);
            core.model->clk = 1;
            core.model->eval();
#if !WAVES
            core.model->clk = 0;
            core.model->eval();
#endif
            LINKS[c].back(*m_gpu, *core.model);
        } catch (...) {
            core.problem = std::current_exception();
        }
        printed = before;
    }

    void fall([[maybe_unused]] std::uint64_t now) {
        m_gpu->clk = 0;
        for (auto& core : m_cores) {
            core.model->clk = 0;
            core.model->eval();
        }
        m_gpu->eval();
        wave(10 * now + 5);
    }

    /// Brings all models to the state before their first edge.
    void settle() {
        m_gpu->eval();
        for (std::size_t c = 0; c < GPU_CORES; ++c) {
            LINKS[c].forward(*m_gpu, *m_cores[c].model);
            m_cores[c].model->eval();
            LINKS[c].back(*m_gpu, *m_cores[c].model);
        }
        m_gpu->eval();
    }

    /// While it lasts, the crew is awake.
    struct Shift {
        explicit Shift(Crew& crew) : crew{crew} { crew.begin(); }
        ~Shift() { crew.end(); }
        Crew& crew;
    };
#else
    void edge(std::uint64_t now) {
        m_gpu->clk = 0;
        m_gpu->eval();
        wave(10 * now + 5);
        m_gpu->clk = 1;
        m_gpu->eval();
        wave(10 * now + 10);
    }

    void settle() { m_gpu->eval(); }
#endif

    void request(std::uint64_t now) {
        const Vgpu& gpu = *m_gpu;
        const std::uint32_t line = gpu.mem_req_line;
        if (m_offered && line != m_offered_line)
            throw Stop("a memory request changed before it was accepted");
        m_offered = !m_ready;
        m_offered_line = line;
        if (!m_ready) return;
        if (!m_dram.inside(line)) {
            report.fault_address = std::uint64_t{line} * LINE_BYTES;
            report.fault_write = gpu.mem_req_write;
            m_outside = true;
            throw Outside{};
        }
        if (gpu.mem_req_write) {
            m_dram.write(now, line, &gpu.mem_req_data[0], mask_of(gpu.mem_req_mask));
        } else {
            if (m_dram.waiting(gpu.mem_req_tag))
                throw Stop("a memory read has the tag of one that was not answered yet");
            m_dram.read(now, line, gpu.mem_req_tag);
        }
    }

    void wave([[maybe_unused]] std::uint64_t time) {
#if WAVES
        if (m_wave) m_wave->dump(time);
#endif
    }

    std::unique_ptr<VerilatedContext> m_context;
    std::unique_ptr<Vgpu> m_gpu;
#if GPU_CORES
    struct Core {
        std::unique_ptr<Vcore> model;
        std::string output;            // what it printed in a cycle,
        std::exception_ptr problem;    // and what it threw
    };

    std::array<Core, GPU_CORES> m_cores;
    Crew m_crew;
#endif
#if WAVES
    std::unique_ptr<Wave> m_wave;
#endif
    Dram<LINE_BYTES> m_dram;
    // At the GPU in the current cycle:
    bool m_reset = true;
    bool m_ready = false;    // mem_req_ready
    bool m_shown = false;    // mem_rsp_valid
    // From the cycle before:
    bool m_offered = false;  // a request was not accepted
    bool m_outside = false;  // one was outside the memory: from then on none is accepted
    std::uint32_t m_offered_line = 0;
};

namespace {

/// Runs a function of a machine with what it prints and throws turned into its message.
template <typename F>
int guarded(Machine* machine, F function) {
    machine->output.clear();
    printed = &machine->output;
    int status = BROKEN;
    try {
        status = function();
    } catch (const Machine::Outside&) {
        status = MEMORY;
    } catch (const std::exception& problem) {
        machine->message = machine->output + problem.what();
    }
    printed = nullptr;
    return status;
}

}  // namespace

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT Machine* gl_create(std::uint8_t* memory, std::uint64_t bytes, std::uint64_t base,
                          std::uint32_t occupancy, std::uint32_t latency,
                          std::uint32_t queue, std::uint32_t threads) {
    return new Machine{memory, bytes, base, occupancy, latency, queue, threads};
}

EXPORT void gl_destroy(Machine* machine) { delete machine; }

EXPORT int gl_power_on(Machine* machine) {
    return guarded(machine, [=] {
        machine->power_on();
        return IDLE;
    });
}

EXPORT int gl_write(Machine* machine, std::uint32_t address, const std::uint32_t* words,
                    std::uint32_t count) {
    return guarded(machine, [=] {
        machine->write(address, words, count);
        return IDLE;
    });
}

EXPORT int gl_read(Machine* machine, std::uint32_t address, std::uint32_t* words,
                   std::uint32_t count) {
    return guarded(machine, [=] {
        machine->read(address, words, count);
        return IDLE;
    });
}

EXPORT int gl_run(Machine* machine, std::uint64_t cycles) {
    return guarded(machine, [=] { return machine->run(cycles); });
}

EXPORT int gl_error(Machine* machine) { return machine->error(); }

EXPORT void gl_report(Machine* machine, Report* report) { *report = machine->numbers(); }

EXPORT void gl_clear_lines(Machine* machine) { machine->clear_lines(); }

EXPORT const char* gl_message(Machine* machine) { return machine->message.c_str(); }

EXPORT int gl_wave_open(Machine* machine, const char* path) {
    return guarded(machine, [=] {
        machine->wave_open(path);
        return IDLE;
    });
}

#if defined(GPU_TRACE_CORES)
EXPORT void gl_trace_start(Machine* machine, std::uint32_t streams, std::uint64_t first,
                           std::uint64_t last, std::uint64_t bytes) {
    machine->trace.start(streams, first, last, bytes);
}

EXPORT std::uint64_t gl_trace_words(Machine* machine, std::uint32_t stream,
                                    const std::uint32_t** words) {
    const auto& buffer = machine->trace.buffer(stream);
    *words = buffer.data();
    return buffer.size();
}

EXPORT void gl_trace_clear(Machine* machine) { machine->trace.clear(); }
#endif

EXPORT void gl_wave_flush(Machine* machine) { machine->wave_flush(); }

EXPORT void gl_wave_close(Machine* machine) { machine->wave_close(); }

}  // extern "C"
