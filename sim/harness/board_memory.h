// The memory of a simulated board: an SDRAM at its pins, or the DRAM model at its memory port.
// Compiled with
//   GPU_LINE_BYTES  bytes of a line
//   GPU_SECTOR_BYTES  bytes of a sector, or of a line that is not divided
//   BOARD_SDRAM  if there is an SDRAM

#pragma once

#include <cstdint>
#include <cstring>

#include "Vboard.h"
#include "glue.h"
#if defined(BOARD_SDRAM)
#include "sdram.h"

using MemoryParameters = SdramParameters;

class BoardMemory {
public:
    BoardMemory(std::uint8_t* memory, std::uint64_t bytes, const MemoryParameters& parameters)
        : m_sdram{memory, bytes, parameters} {}

    void power_on() { m_sdram.power_on(); }

    /// Sets the board's inputs of a cycle. Its pins are registers, with the values of the cycle.
    void before(Vboard& board, std::uint64_t) {
        SdramPins pins{};
        pins.clk_en = board.sdram_clk_en;
        pins.cs = board.sdram_cs;
        pins.ras = board.sdram_ras;
        pins.cas = board.sdram_cas;
        pins.we = board.sdram_we;
        pins.ba = board.sdram_ba;
        pins.a = board.sdram_a;
        pins.dqm = board.sdram_dqm;
        pins.dq_o = board.sdram_dq_o;
        pins.dq_oe = board.sdram_dq_oe;
        board.sdram_dq_i = m_sdram.cycle(pins);
        if (!m_sdram.error().empty()) stop("SDRAM: ", m_sdram.error().c_str());
    }

    /// Acts on the board's outputs, when the inputs have settled.
    void after(const Vboard&, std::uint64_t) {}

private:
    Sdram m_sdram;
};
#else
#include "dram.h"

/// sim/board_simulator.py has the same structure.
struct MemoryParameters {
    std::uint64_t base;              ///< address of the first byte
    DramTiming timing;
    const DeviceParameters* device;  ///< null for the simple model
};

class BoardMemory {
public:
    static constexpr std::size_t LINE_BYTES = GPU_LINE_BYTES;

    BoardMemory(std::uint8_t* memory, std::uint64_t bytes, const MemoryParameters& parameters)
        : m_dram{memory, bytes, static_cast<std::uint32_t>(parameters.base / LINE_BYTES),
                 parameters.timing, NO_REGION, parameters.device} {}

    void power_on() {
        m_dram.clear();
        m_shown = nullptr;
    }

    void before(Vboard& board, std::uint64_t now) {
        board.mem_req_ready = m_dram.ready(now);
        if (!m_shown) {
            m_shown = m_dram.response(now);
            if (m_shown) {
                board.mem_rsp_tag = m_shown->tag;
                std::memcpy(&board.mem_rsp_data[0], m_shown->data, LINE_BYTES);
            }
        }
        board.mem_rsp_valid = m_shown != nullptr;
    }

    void after(const Vboard& board, std::uint64_t now) {
        if (board.rst) return;
        if (board.mem_req_valid && board.mem_req_ready) request(board, now);
        if (m_shown && board.mem_rsp_ready) {
            m_dram.taken();
            m_shown = nullptr;
        }
    }

private:
    void request(const Vboard& board, std::uint64_t now) {
        const std::uint32_t line = board.mem_req_line;
        const Mask<LINE_BYTES> mask = mask_of<LINE_BYTES>(board.mem_req_mask);
        if (!m_dram.inside(line)) {
            stop("a memory request outside the memory");
        } else if (board.mem_req_write) {
            m_dram.write(now, line, &board.mem_req_data[0], mask);
        } else if (m_dram.waiting(board.mem_req_tag)) {
            stop("a memory read has the tag of one that was not answered yet");
        } else {
            m_dram.read(now, line, board.mem_req_tag, mask);
        }
    }

    using Memory = Dram<LINE_BYTES, GPU_SECTOR_BYTES>;
    Memory m_dram;
    const Memory::Read* m_shown = nullptr;    // the answer on offer
};
#endif
