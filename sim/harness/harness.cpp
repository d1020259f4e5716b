// The machine: the Verilated GPU, its clock, a DRAM model at each of its memory ports, and the C
// functions that sim/native.py calls. Compiled with
//   GPU_LINE_BYTES  bytes of a line
//   GPU_SECTOR_BYTES  bytes of a sector, or of a line that is not divided
//   GPU_PORTS  the memory ports: PINS(name of a port at the top), ...
//   GPU_TRACE_CORES  if there are trace ports; see trace.h
//   GPU_PAGE  for the live page, whose functions are in page.cpp
// and the definitions of models.h.
//
// The tops of the models (sim/wrapper.py) have a register at most inputs: a value that is set
// before a rising edge is seen in the cycle after the edge. So after a cycle() the whole next cycle
// has settled, and the GPU's requests and its readiness are known.
//
// Only Verilated models throw exceptions. So a library of compiled models needs no C++ library
// (runtime.h).

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "glue.h"
#include "memory_port.h"
#include "models.h"
#if defined(COMPILED)
#include "runtime.h"
#endif
#if defined(GPU_PAGE)
#include "page.h"
#else
#include "trace.h"
#endif

namespace {

/// Why gl_run and its like returned. sim/native.py has the same numbers.
enum Status : int {
    RUNNING = 0,   ///< the cycles are used up
    IDLE = 1,      ///< the GPU is not busy
    MEMORY = 2,    ///< a request outside the memory
    BROKEN = 3,    ///< an assertion failed, or the memory port's rules were broken
    WAVE = 4,      ///< the wave could not be written
};

constexpr std::size_t LINE_BYTES = GPU_LINE_BYTES;
constexpr unsigned RESET_CYCLES = 4;

auto pins_of(Vgpu& gpu) { return std::array{GPU_PORTS}; }

constexpr std::size_t PORTS = std::tuple_size_v<decltype(pins_of(std::declval<Vgpu&>()))>;

}  // namespace

/// Numbers of a machine; sim/native.py has the same structure.
struct Report {
    std::uint64_t cycles;         ///< since power on
    std::uint64_t bytes_read;     ///< of all ports
    std::uint64_t bytes_written;
    std::uint64_t fault_address;  ///< of the request outside the memory
    std::uint64_t fault_write;
    std::uint64_t slow_bytes_read;
    std::uint64_t slow_bytes_written;
};

class Machine {
public:
    Machine(std::uint8_t* memory, std::uint64_t bytes, std::uint64_t base,
            const DramTiming& fast, const DramTiming& slow, const DeviceParameters* device,
            std::uint32_t threads)
        : models{threads} {
        for (auto& port : m_ports)
            port = std::make_unique<Port>(memory, bytes,
                                          static_cast<std::uint32_t>(base / LINE_BYTES), fast, slow,
                                          device);
    }

    /// A new GPU, as after power on, out of reset and idle.
    void power_on() {
        models.power_on();
        m_pins = pins_of(models.gpu());
        for (auto& port : m_ports) port->power_on();
#if defined(GPU_TRACE_CORES)
        trace.power_on();
#endif
        report = {};
        m_outside = false;
        m_reset = true;
        models.gpu().rst = 1;
        for (unsigned i = 0; i < RESET_CYCLES && cycle(); ++i) {}
        models.gpu().rst = 0;
        cycle();
        m_reset = false;
    }

    void write(std::uint32_t address, const std::uint32_t* words, std::uint32_t count) {
        Vgpu& gpu = models.gpu();
        gpu.host_write = 1;
        for (std::uint32_t i = 0; i < count; ++i) {
            gpu.host_addr = address + 4 * i;
            gpu.host_wdata = words[i];
            if (!cycle()) return;
        }
        gpu.host_write = 0;
        cycle();    // in which the GPU sees the last word
    }

    /// Reads a word per cycle. A word is ready in the cycle after the GPU saw its address.
    void read(std::uint32_t address, std::uint32_t* words, std::uint32_t count) {
        Vgpu& gpu = models.gpu();
        gpu.host_read = 1;
        for (std::uint32_t i = 0; i <= count; ++i) {
            if (i == count) gpu.host_read = 0;
            gpu.host_addr = address + 4 * i;
            if (!cycle()) return;
            if (i > 0) words[i - 1] = gpu.host_rdata;
        }
    }

    /// Runs until the GPU is idle. Whether it is, end() says.
    void run(std::uint64_t cycles) {
        const Models::Shift shift{models};
        const Vgpu& gpu = models.gpu();
        for (; cycles && gpu.busy; --cycles) {
#if defined(GPU_TRACE_CORES)
            if (trace.full()) break;
#endif
            if (!cycle()) return;
        }
    }

    /// Before a function: nothing has happened yet.
    void begin() {
        log.clear();
        m_outside_now = false;
    }
    /// After a function: what it came to.
    Status end() {
        return log.stopped() ? BROKEN : m_outside_now ? MEMORY : models.wave_failed() ? WAVE :
               models.gpu().busy ? RUNNING : IDLE;
    }

    bool error() { return models.gpu().error; }

    /// Brings the counts of bytes up to date.
    const Report& numbers() {
        report.bytes_read = report.bytes_written = 0;
        report.slow_bytes_read = report.slow_bytes_written = 0;
        for (const auto& port : m_ports) {
            const auto &fast = port->dram.fast(), &slow = port->dram.slow();
            report.bytes_read += fast.bytes_read + slow.bytes_read;
            report.bytes_written += fast.bytes_written + slow.bytes_written;
            report.slow_bytes_read += slow.bytes_read;
            report.slow_bytes_written += slow.bytes_written;
        }
        return report;
    }
    /// What the channels of the devices have done; `counts` has room for those of all ports.
    void channels(ChannelCounts* counts) const {
        for (const auto& port : m_ports) {
            const DramDevice* device = port->dram.device();
            for (std::size_t c = 0; device && c < device->count(); ++c)
                *counts++ = device->counts(c);
        }
    }
    PortReport port_report(std::size_t port) const { return m_ports[port]->report(); }
    void clear_lines() {
        for (auto& port : m_ports) port->clear_report();
    }
    void place_slow(std::uint64_t address) {
        for (auto& port : m_ports) port->dram.place_slow(address / LINE_BYTES);
    }

    Models models;
#if defined(GPU_TRACE_CORES)
    ::Trace<GPU_TRACE_CORES, GPU_TRACE_LANES, GPU_TRACE_WARPS> trace;
#endif
    Report report{};
    Log log;

private:
    /// From one settled cycle to the next. Returns whether there may be another one.
    bool cycle() {
        const std::uint64_t now = report.cycles;
        if (!m_reset && !m_outside)
            for (std::size_t p = 0; p < PORTS; ++p)
                if (!take(p, now)) return false;
        for (std::size_t p = 0; p < PORTS; ++p) m_ports[p]->show(m_pins[p], now + 1, !m_outside);
        models.edge(now);
        if (log.stopped() || models.wave_failed()) return false;
        ++report.cycles;
#if defined(GPU_TRACE_CORES)
        if (!m_reset) trace.sample(models.trace_words());
#endif
        return true;
    }

    /// Takes what the GPU shows at a port. Returns whether there may be another cycle.
    bool take(std::size_t p, std::uint64_t now) {
        const Port::Outcome outcome = m_ports[p]->take(m_pins[p], now);
        if (outcome == Port::Outcome::OUTSIDE) {
            report.fault_address = std::uint64_t{*m_pins[p].line} * LINE_BYTES;
            report.fault_write = *m_pins[p].request_write;
            m_outside = m_outside_now = true;
        }
        return outcome == Port::Outcome::OK;
    }

    using Port = MemoryPort<LINE_BYTES, GPU_SECTOR_BYTES>;

    std::array<std::unique_ptr<Port>, PORTS> m_ports;
    decltype(pins_of(std::declval<Vgpu&>())) m_pins{};
    bool m_reset = true;         // in the current cycle
    bool m_outside = false;      // a request was outside the memory: from then on none is accepted
    bool m_outside_now = false;  // that was in the present function
};

namespace {

/// Runs a function of a machine, and returns what it came to.
template <typename F>
int logged(Machine* machine, F function) {
    machine->begin();
    current_log = &machine->log;
    function();
    current_log = nullptr;
    return machine->end();
}

}  // namespace

extern "C" {

/// `slow` is null if there is no slow region, `device` for the simple model.
EXPORT Machine* gl_create(std::uint8_t* memory, std::uint64_t bytes, std::uint64_t base,
                          const DramTiming* fast, const DramTiming* slow,
                          const DeviceParameters* device, std::uint32_t threads) {
    return new Machine{memory, bytes, base, *fast, slow ? *slow : NO_REGION, device, threads};
}

EXPORT void gl_destroy(Machine* machine) { delete machine; }

EXPORT int gl_power_on(Machine* machine) {
    return logged(machine, [=] { machine->power_on(); });
}

EXPORT int gl_write(Machine* machine, std::uint32_t address, const std::uint32_t* words,
                    std::uint32_t count) {
    return logged(machine, [=] { machine->write(address, words, count); });
}

EXPORT int gl_read(Machine* machine, std::uint32_t address, std::uint32_t* words,
                   std::uint32_t count) {
    return logged(machine, [=] { machine->read(address, words, count); });
}

EXPORT int gl_run(Machine* machine, std::uint64_t cycles) {
    return logged(machine, [=] { machine->run(cycles); });
}

EXPORT int gl_error(Machine* machine) { return machine->error(); }

EXPORT void gl_report(Machine* machine, Report* report) { *report = machine->numbers(); }

EXPORT void gl_channels(Machine* machine, ChannelCounts* counts) { machine->channels(counts); }

EXPORT void gl_port_report(Machine* machine, std::uint32_t port, PortReport* report) {
    *report = machine->port_report(port);
}

EXPORT void gl_clear_lines(Machine* machine) { machine->clear_lines(); }

/// All lines from an address on become slow, or none if it is behind the memory.
EXPORT void gl_place_slow(Machine* machine, std::uint64_t address) {
    machine->place_slow(address);
}

/// What the last function printed, and why the simulation stopped.
EXPORT const char* gl_message(Machine* machine) { return machine->log.text(); }

EXPORT int gl_wave_open(Machine* machine, int descriptor) {
    return logged(machine, [=] { machine->models.wave_open(descriptor); });
}

#if defined(GPU_TRACE_CORES) && !defined(GPU_PAGE)
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

EXPORT void gl_wave_flush(Machine* machine) { machine->models.wave_flush(); }

EXPORT int gl_wave_close(Machine* machine) { return machine->models.wave_close(); }

}  // extern "C"
