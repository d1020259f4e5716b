// The models of the GPU and their clock edges. Compiled with
//   COMPILED  for models of sim/compiler in place of Verilated models; they have no waves
//   GPU_CORES  cores that are models of their own; 0 if they are inside the GPU's model
//   GPU_TRACE_CORES  if there are trace ports; see trace.h
//   WAVE_FST or WAVE_VCD  for a build with waves
//
// If the cores are separate models, a cycle has three steps. First comes the rising edge of the
// GPU, which settles all values that the cores see in the new cycle. Then comes the rising edge of
// the cores, one by one or at the same time. Last, the GPU evaluates the outputs of the cores.
//
// After a failed assertion the log (glue.h) says that the simulation has stopped. After that the
// models are not used again.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#if defined(COMPILED)
#include "compiled.h"
#include "gpu.h"
using Vgpu = Compiled<gpu::State, gpu::Ports>;
#if GPU_CORES
#include "core.h"
using Vcore = Compiled<core::State, core::Ports>;
#endif
#else
#include "Vgpu.h"
#if GPU_CORES
#include "Vcore.h"
#endif
#include "verilated.h"
#endif
#include "glue.h"
#if GPU_CORES
#include "thread_pool.h"
#include "links.h"
#endif
#include "wave.h"

class Models {
#if GPU_CORES
    struct Edge {
        Models* models;
        void operator()(std::size_t core) const { models->edge_of_core(core); }
    };
    using Pool = ThreadPool<GPU_CORES, Edge>;
#endif

public:
    /// Sets the number of threads that evaluate the cores, if the cores are separate models.
    explicit Models([[maybe_unused]] std::uint32_t threads)
#if GPU_CORES
        : m_pool{threads, Edge{this}}
#endif
    {}
    ~Models() { wave_close(); }

    /// Makes new models, before their first edge. An open wave file ends.
    void power_on() {
        wave_close();
        m_gpu.reset();
#if GPU_CORES
        for (auto& core : m_cores) {
            core.model.reset();
            core.log.clear();
        }
#endif
#if defined(COMPILED)
        m_gpu = std::make_unique<Vgpu>();
#if GPU_CORES
        for (auto& core : m_cores) core.model = std::make_unique<Vcore>();
#endif
#else
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
#endif
        evaluate(*m_gpu);
#if GPU_CORES
        for (std::size_t c = 0; c < GPU_CORES; ++c) {
            LINKS[c].forward(*m_gpu, *m_cores[c].model);
            evaluate(*m_cores[c].model);
            LINKS[c].back(*m_gpu, *m_cores[c].model);
        }
        evaluate(*m_gpu);
#endif
    }

    /// The ports of the top.
    Vgpu& gpu() { return *m_gpu; }

#if defined(GPU_TRACE_CORES)
    /// The records of each core.
    auto trace_words() const {
#if GPU_CORES
        std::array<const std::uint32_t*, GPU_CORES> words;
        for (std::size_t c = 0; c < GPU_CORES; ++c) words[c] = &m_cores[c].model->trace_words[0];
        return words;
#else
        static_assert(GPU_TRACE_CORES == 1);
        return std::array<const std::uint32_t*, 1>{&m_gpu->trace_words[0]};
#endif
    }
#endif

    /// The rising edge of cycle `now`, and all its consequences. With waves the clock falls before
    /// it; without waves the clock falls when a model is evaluated anyway.
#if GPU_CORES
    void edge(std::uint64_t now) {
        Vgpu& gpu = *m_gpu;
#if WAVES
        fall(now);
#endif
        for (std::size_t c = 0; c < GPU_CORES; ++c) LINKS[c].late(gpu, *m_cores[c].model);
        gpu.clk = 1;
        evaluate(gpu);
        m_pool.round();
        for (auto& core : m_cores)
            if (core.log.stopped()) return stop(core.log.text());
        gpu.clk = WAVES;
        evaluate(gpu);
        for (std::size_t c = 0; c < GPU_CORES; ++c)
            if (const char* input = LINKS[c].missed(gpu, *m_cores[c].model))
                stop("core ", c, ": ", input,
                     " depends on what the cores do in the same cycle");
        wave(10 * now + 10);
    }

    /// Announces many edges: the pool is awake during the lifetime of the object.
    struct Shift {
        explicit Shift(Models& models) : pool{models.m_pool} { pool.begin(); }
        ~Shift() { pool.end(); }
        Pool& pool;
    };
#else
    void edge(std::uint64_t now) {
        m_gpu->clk = 0;
        evaluate(*m_gpu);
        wave(10 * now + 5);
        m_gpu->clk = 1;
        evaluate(*m_gpu);
        wave(10 * now + 10);
    }

    struct Shift {
        explicit Shift(Models&) {}
    };
#endif

    /// Whether the wave could not be written.
    bool wave_failed() const {
#if WAVES
        return m_wave && m_wave->error();
#else
        return false;
#endif
    }

    /// Begins a wave in an open file, which stays open after the wave.
    void wave_open([[maybe_unused]] int descriptor) {
#if WAVES
        wave_close();
        m_wave = std::make_unique<Wave>(descriptor, [this](Wave::Writer* writer) {
            m_gpu->trace(writer, 99);
#if GPU_CORES
            for (auto& core : m_cores) core.model->trace(writer, 99);
#endif
        });
#else
        stop("built without waves");
#endif
    }
    void wave_flush() {
#if WAVES
        if (m_wave) m_wave->flush();
#endif
    }
    /// Ends the wave. Returns errno of the first write that failed, or 0.
    int wave_close() {
        int error = 0;
#if WAVES
        if (m_wave) error = m_wave->close();
        m_wave.reset();
#endif
        return error;
    }

private:
#if GPU_CORES
    struct Core {
        std::unique_ptr<Vcore> model;
        Log log;
    };


    /// A core's part of an edge. Different cores may be evaluated at the same time.
    void edge_of_core(std::size_t c) {
        Core& core = m_cores[c];
        Log* const before = current_log;
        current_log = &core.log;
        LINKS[c].forward(*m_gpu, *core.model);
        core.model->clk = 1;
        evaluate(*core.model);
#if !WAVES
        core.model->clk = 0;
        evaluate(*core.model);
#endif
        LINKS[c].back(*m_gpu, *core.model);
        current_log = before;
    }

    void fall([[maybe_unused]] std::uint64_t now) {
        m_gpu->clk = 0;
        for (auto& core : m_cores) {
            core.model->clk = 0;
            evaluate(*core.model);
        }
        evaluate(*m_gpu);
        wave(10 * now + 5);
    }
#endif

    void wave([[maybe_unused]] std::uint64_t time) {
#if WAVES
        if (m_wave && !m_wave->error()) m_wave->dump(time);
#endif
    }

#if !defined(COMPILED)
    std::unique_ptr<VerilatedContext> m_context;
#endif
    std::unique_ptr<Vgpu> m_gpu;
#if GPU_CORES
    std::array<Core, GPU_CORES> m_cores;
    Pool m_pool;
#endif
#if WAVES
    std::unique_ptr<Wave> m_wave;
#endif
};
