// The board: the Verilated GPU with its link, its memory, and the other end of its serial line.
// sim/board_simulator.py calls the C functions. Compiled with
//   BOARD_DIVISOR  cycles of a bit on the line
// and the definitions of board_memory.h.
//
// Inputs are set before the clock falls. Before the clock rises, the outputs have settled, and the
// board's surroundings act on them.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>

#include "Vboard.h"
#include "board_memory.h"
#include "glue.h"

namespace {

/// Why bd_run returned. sim/board_simulator.py has the same numbers.
enum Status : int {
    RUNNING = 0,   ///< the cycles are used up
    QUIET = 1,     ///< nothing has happened for long
    BROKEN = 2,    ///< an assertion failed, or a rule of the memory was broken
};

constexpr unsigned DIVISOR = BOARD_DIVISOR;
constexpr unsigned RESET_CYCLES = 4;

/// Cycles with an idle line after which a board that is not busy does nothing by itself. The
/// longest request fills some thousand words of memory.
constexpr std::uint64_t QUIET_CYCLES = 200'000;

/// Sends bytes as the level of a line.
class Sender {
public:
    void push(const std::uint8_t* bytes, std::size_t count) {
        m_bytes.insert(m_bytes.end(), bytes, bytes + count);
    }
    std::size_t waiting() const { return m_bytes.size(); }
    /// The level in the next cycle.
    bool level() {
        if (!m_left) {
            if (m_bytes.empty()) return true;
            m_bits = m_bytes.front() << 1 | 1u << 9;
            m_bytes.pop_front();
            m_left = 10 * DIVISOR;
        }
        return m_bits >> (10 * DIVISOR - m_left--) / DIVISOR & 1;
    }

private:
    std::deque<std::uint8_t> m_bytes;
    unsigned m_bits = 0, m_left = 0;
};

/// Receives bytes from the level of a line.
class Receiver {
public:
    void sample(bool level) {
        if (m_left) {
            --m_left;
            const unsigned phase = 10 * DIVISOR - 1 - m_left;
            if (phase % DIVISOR == DIVISOR / 2) m_bits |= unsigned{level} << phase / DIVISOR;
            if (!m_left) m_bytes.push_back(m_bits >> 1);
        } else if (!level) {
            m_left = 10 * DIVISOR - 1;
            m_bits = 0;
        }
    }
    bool idle() const { return !m_left; }
    std::size_t take(std::uint8_t* bytes, std::size_t capacity) {
        const std::size_t count = std::min(capacity, m_bytes.size());
        std::copy_n(m_bytes.begin(), count, bytes);
        m_bytes.erase(m_bytes.begin(), m_bytes.begin() + count);
        return count;
    }

private:
    std::deque<std::uint8_t> m_bytes;
    unsigned m_bits = 0, m_left = 0;
};

}  // namespace

class Board {
public:
    Board(std::uint8_t* memory, std::uint64_t bytes, const MemoryParameters& parameters)
        : m_memory{memory, bytes, parameters} {}

    /// Sets the state after power on. Bytes on the line are lost, and memory stays.
    void power_on() {
        m_board.reset();
        m_context = std::make_unique<VerilatedContext>();
        m_board = std::make_unique<Vboard>(m_context.get());
        evaluate(*m_board);
        m_memory.power_on();
        to = {};
        from = {};
        m_now = m_quiet = 0;
        m_board->rst = 1;
        for (unsigned i = 0; i < RESET_CYCLES && cycle(); ++i) {}
        m_board->rst = 0;
    }

    Status run(std::uint64_t cycles) {
        for (; cycles; --cycles) {
            if (!cycle()) return BROKEN;
            if (m_quiet >= QUIET_CYCLES) return QUIET;
        }
        return RUNNING;
    }

    Sender to;
    Receiver from;
    Log log;
    std::uint64_t cycles() const { return m_now; }

private:
    /// Returns whether there may be another cycle.
    bool cycle() {
        Vboard& board = *m_board;
        board.rx = to.level();
        m_memory.before(board, m_now);
        if (log.stopped()) return false;
        board.clk = 0;
        evaluate(board);
        if (!log.stopped()) m_memory.after(board, m_now);
        if (log.stopped()) return false;
        board.clk = 1;
        evaluate(board);
        if (log.stopped()) return false;
        from.sample(board.tx);
        const bool active = board.busy || to.waiting() || !board.rx || !from.idle() || board.rst;
        m_quiet = active ? 0 : m_quiet + 1;
        ++m_now;
        return true;
    }

    std::unique_ptr<VerilatedContext> m_context;
    std::unique_ptr<Vboard> m_board;
    BoardMemory m_memory;
    std::uint64_t m_now = 0, m_quiet = 0;
};

namespace {

/// Runs a function of a board, and returns what it came to.
template <typename F>
int logged(Board* board, F function) {
    board->log.clear();
    current_log = &board->log;
    const int status = function();
    current_log = nullptr;
    return board->log.stopped() ? BROKEN : status;
}

}  // namespace

extern "C" {

EXPORT Board* bd_create(std::uint8_t* memory, std::uint64_t bytes,
                        const MemoryParameters* parameters) {
    return new Board{memory, bytes, *parameters};
}

EXPORT void bd_destroy(Board* board) { delete board; }

EXPORT int bd_power_on(Board* board) {
    return logged(board, [=] {
        board->power_on();
        return RUNNING;
    });
}

/// Puts bytes on the line to the board.
EXPORT void bd_send(Board* board, const std::uint8_t* bytes, std::uint32_t count) {
    board->to.push(bytes, count);
}

/// The number of these bytes that are not on their way yet.
EXPORT std::uint32_t bd_waiting(Board* board) { return board->to.waiting(); }

/// Takes bytes that have come from the board. Returns their number.
EXPORT std::uint32_t bd_take(Board* board, std::uint8_t* bytes, std::uint32_t capacity) {
    return board->from.take(bytes, capacity);
}

EXPORT int bd_run(Board* board, std::uint64_t cycles) {
    return logged(board, [=] { return board->run(cycles); });
}

EXPORT std::uint64_t bd_cycles(Board* board) { return board->cycles(); }

EXPORT const char* bd_message(Board* board) { return board->log.text(); }

}  // extern "C"
