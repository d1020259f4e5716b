// The instructions of a core: each is executed as a whole, all active lanes at once. An instruction
// that fails throws a Trap before it has changed anything.

#pragma once

#include "core.h"
#include "float.h"

template <unsigned L>
void Core<L>::execute(Warp<L>& warp, u64 count) {
    auto* const r = warp.registers;
    const u32 full = m_full, imem_bytes = m_config.imem_bytes;
    const Instruction* const program = m_program.data();
    const bool checks_lanes = m_checks_lanes, checks_stack = m_block != 0;
    u32 pc = warp.pc;

// The result of an instruction, of all lanes; only active lanes take it.
#define RESULT(value) warp.set(ins.rd, (value), full); break
#define FIRST r[ins.rs1]
#define SECOND r[ins.rs2]
#define SIGNED(vector) ((typename V::Signed)(vector))
#define JUMP_IF(type, compare) \
    if (static_cast<type>(warp.scalar(ins.rs1)) compare static_cast<type>(warp.scalar(ins.rs2))) \
        next = ins.imm; \
    break
#define DIVIDE(function) { \
        Vector quotients{}; \
        each_lane(warp.mask, [&](unsigned lane) { \
            quotients[lane] = function(FIRST[lane], SECOND[lane]); \
        }); \
        RESULT(quotients); \
    }
#define ATOMIC(expression) \
    atomic(warp, ins, [&](u32 old, u32 value, u32 expected) -> u32 { \
        (void)old; (void)value; (void)expected; \
        return expression; \
    }); \
    break

    for (; count; --count) {
        warp.pc = pc;
        ++instructions;
        lanes += warp.active;
        if ((pc & 3) || pc >= imem_bytes) throw Trap{cause::FETCH_ACCESS, pc};
        const Instruction& ins = program[pc >> 2];
        u32 next = pc + 4;
        if (checks_lanes) check_lanes(warp, ins);
        Vector pointer;
        if (checks_stack) pointer = r[abi::STACK_POINTER];
        switch (ins.op) {
        case Op::LUI: case Op::AUIPC: RESULT(V::all(ins.imm));

        case Op::ADDI: RESULT(FIRST + ins.imm);
        case Op::XORI: RESULT(FIRST ^ ins.imm);
        case Op::ORI: RESULT(FIRST | ins.imm);
        case Op::ANDI: RESULT(FIRST & ins.imm);
        case Op::SLTI: RESULT((Vector)(SIGNED(FIRST) < SIGNED(V::all(ins.imm))) & 1);
        case Op::SLTIU: RESULT((Vector)(FIRST < V::all(ins.imm)) & 1);
        case Op::SLLI: RESULT(FIRST << ins.imm);
        case Op::SRLI: RESULT(FIRST >> ins.imm);
        case Op::SRAI: RESULT((Vector)(SIGNED(FIRST) >> static_cast<i32>(ins.imm)));

        case Op::ADD: RESULT(FIRST + SECOND);
        case Op::SUB: RESULT(FIRST - SECOND);
        case Op::XOR: RESULT(FIRST ^ SECOND);
        case Op::OR: RESULT(FIRST | SECOND);
        case Op::AND: RESULT(FIRST & SECOND);
        case Op::SLT: RESULT((Vector)(SIGNED(FIRST) < SIGNED(SECOND)) & 1);
        case Op::SLTU: RESULT((Vector)(FIRST < SECOND) & 1);
        case Op::SLL: RESULT(FIRST << (SECOND & 31));
        case Op::SRL: RESULT(FIRST >> (SECOND & 31));
        case Op::SRA: RESULT((Vector)(SIGNED(FIRST) >> SIGNED(SECOND & 31)));

        case Op::MUL: RESULT(FIRST * SECOND);
        case Op::MULH: RESULT((V::template high_product<i32, i32>(FIRST, SECOND)));
        case Op::MULHSU: RESULT((V::template high_product<i32, u32>(FIRST, SECOND)));
        case Op::MULHU: RESULT((V::template high_product<u32, u32>(FIRST, SECOND)));
        case Op::DIV: DIVIDE(divide)
        case Op::DIVU: DIVIDE(divide_unsigned)
        case Op::REM: DIVIDE(remainder)
        case Op::REMU: DIVIDE(remainder_unsigned)

        case Op::JAL:
            next = ins.imm;
            RESULT(V::all(pc + 4));
        case Op::JALR:
            next = (warp.scalar(ins.rs1) + ins.imm) & ~1u;
            RESULT(V::all(pc + 4));
        case Op::BEQ: JUMP_IF(u32, ==);
        case Op::BNE: JUMP_IF(u32, !=);
        case Op::BLT: JUMP_IF(i32, <);
        case Op::BGE: JUMP_IF(i32, >=);
        case Op::BLTU: JUMP_IF(u32, <);
        case Op::BGEU: JUMP_IF(u32, >=);

        case Op::LB: case Op::LH: case Op::LW: case Op::LBU: case Op::LHU:
        case Op::LW_NT: case Op::LBU_NT: case Op::LHU_NT:
            load(warp, ins);
            break;
        case Op::SB: case Op::SH: case Op::SW:
            store(warp, ins);
            break;
        case Op::FENCE: break;     // there are no caches, and accesses keep their order
        case Op::AMOADD_W: ATOMIC(old + value);
        case Op::AMOSWAP_W: ATOMIC(value);
        case Op::AMOXOR_W: ATOMIC(old ^ value);
        case Op::AMOOR_W: ATOMIC(old | value);
        case Op::AMOAND_W: ATOMIC(old & value);
        case Op::AMOMIN_W: ATOMIC(static_cast<i32>(value) < static_cast<i32>(old) ? value : old);
        case Op::AMOMAX_W: ATOMIC(static_cast<i32>(value) > static_cast<i32>(old) ? value : old);
        case Op::AMOMINU_W: ATOMIC(value < old ? value : old);
        case Op::AMOMAXU_W: ATOMIC(value > old ? value : old);
        case Op::AMOCAS_W: ATOMIC(old == expected ? value : old);

        case Op::CSRRW: case Op::CSRRS: case Op::CSRRC:
        case Op::CSRRWI: case Op::CSRRSI: case Op::CSRRCI:
            csr(warp, ins);
            break;

        case Op::FMADD_S: case Op::FMSUB_S: case Op::FNMSUB_S: case Op::FNMADD_S:
        case Op::FADD_S: case Op::FSUB_S: case Op::FMUL_S: case Op::FDIV_S: case Op::FSQRT_S:
        case Op::FSGNJ_S: case Op::FSGNJN_S: case Op::FSGNJX_S: case Op::FMIN_S: case Op::FMAX_S:
        case Op::FLE_S: case Op::FLT_S: case Op::FEQ_S: case Op::FCLASS_S:
        case Op::FCVT_W_S: case Op::FCVT_WU_S: case Op::FCVT_S_W: case Op::FCVT_S_WU:
            compute_floats(warp, ins);
            break;

        case Op::VOTE_ALL: case Op::VOTE_ANY: case Op::VOTE_UNI: case Op::VOTE_BALLOT:
            vote(warp, ins);
            break;
        case Op::SHFL_UP: case Op::SHFL_DOWN: case Op::SHFL_BFLY: case Op::SHFL_IDX:
            shuffle(warp, ins);
            break;

        case Op::TMC:
            set_mask(warp, warp.scalar(ins.rs1) & full);
            break;
        case Op::PRED: {
            const u32 passing = V::nonzero(FIRST) & warp.mask;
            set_mask(warp, passing ? passing : warp.scalar(ins.rs2) & full);
            break;
        }
        case Op::SPLIT:
            split(warp, ins);
            break;
        case Op::JOIN:
            next = join(warp, ins);
            break;
        case Op::BAR:
            barrier(warp, ins);
            break;
        case Op::ECALL: throw Trap{cause::ECALL, ins.word};
        case Op::EBREAK: throw Trap{cause::BREAKPOINT, ins.word};

        case Op::GATHER_SET:
            if (warp.mask & 1) {
                m_gather->set(ins.imm, FIRST[0]);
                wake();
            }
            break;
        case Op::WEAVER_REG:
            m_gather->enter(warp.number, ins.imm, warp.mask, warp.lanes(ins.rs1),
                            warp.lanes(ins.rs2), warp.lanes(ins.rs3));
            wake();
            break;
        case Op::WEAVER_SKIP:
            m_gather->skip(warp.number, warp.mask, warp.lanes(ins.rs1));
            wake();
            break;
        case Op::GRAPHPEG_PUSH_VERT:
            m_gather->push(warp.mask, warp.lanes(ins.rs1));
            break;
        case Op::WEAVER_DEC_ID: case Op::WEAVER_DEC: case Op::GRAPHPEG_POP_VERT:
            if (!hand_out(warp, ins)) next = pc;
            break;
        case Op::WEAVER_DEC_LOC: RESULT(read(m_gather->locations(warp.number)));
        case Op::GRAPHPEG_NEIGHBOR: RESULT(read(m_gather->neighbors(warp.number)));
        case Op::GRAPHPEG_WEIGHT: RESULT(read(m_gather->weights(warp.number)));

        case Op::ILLEGAL: throw Trap{cause::ILLEGAL, ins.word};
        }
        if (checks_stack && ins.sets_sp) check_stack(warp, pointer);
        pc = next;
        if (!warp.ready) break;
    }
    warp.pc = pc;

#undef RESULT
#undef FIRST
#undef SECOND
#undef SIGNED
#undef JUMP_IF
#undef DIVIDE
#undef ATOMIC
}

// Checks of lanes

/// Fails where active lanes disagree at a branch or jump. If the lowest lane's jump leaves
/// instruction memory, that is the error, and the fetch behind it tells.
template <unsigned L>
void Core<L>::check_lanes(const Warp<L>& warp, const Instruction& ins) const {
    const Vector& first = warp.registers[ins.rs1];
    const Vector& second = warp.registers[ins.rs2];
    using Signed = typename V::Signed;
    Vector holds;
    switch (ins.op) {
    case Op::BEQ: holds = (Vector)(first == second); break;
    case Op::BNE: holds = (Vector)(first != second); break;
    case Op::BLT: holds = (Vector)((Signed)first < (Signed)second); break;
    case Op::BGE: holds = (Vector)((Signed)first >= (Signed)second); break;
    case Op::BLTU: holds = (Vector)(first < second); break;
    case Op::BGEU: holds = (Vector)(first >= second); break;
    case Op::JALR: holds = first; break;
    default: return;
    }
    const u32 decided = holds[warp.lowest];
    const u32 wrong = V::nonzero(holds ^ V::all(decided)) & warp.mask;
    const u32 next = ins.op == Op::JALR ? (decided + ins.imm) & ~1u : decided ? ins.imm : 0;
    if (wrong && !(next & 3) && next < m_config.imem_bytes)
        throw Trap{cause::LANES_DISAGREE, wrong};
}

/// Fails where the stack pointer of an active lane is in another block than before.
template <unsigned L>
void Core<L>::check_stack(Warp<L>& warp, const Vector& before) {
    Vector& pointer = warp.registers[abi::STACK_POINTER];
    const u32 wrong = V::nonzero((before ^ pointer) & m_block) & warp.mask;
    if (!wrong) return;
    pointer = before;
    throw Trap{cause::LANE_STACK, wrong, static_cast<u32>(__builtin_ctz(wrong))};
}

// Memory

/// Whether all active lanes' addresses, relative to global memory, are aligned and inside.
template <unsigned L>
bool Core<L>::all_global(const Warp<L>& warp, const Vector& relative, u32 size) const {
    const Vector wrong = (relative & (size - 1)) |
                         (Vector)(relative >= V::all(m_config.memory_bytes));
    return !V::any(wrong & warp.active_lanes);
}

/// The place of each active lane's access, wherever it lies. The lowest lane that fails is told,
/// misalignment before access.
template <unsigned L>
void Core<L>::locate(const Warp<L>& warp, const Instruction& ins, u32 size, u32 misaligned,
                     u32 unmapped, u8** places) const {
    each_lane(warp.mask, [&](unsigned lane) {
        const u32 address = warp.registers[ins.rs1][lane] + ins.imm;
        if (address & (size - 1)) throw Trap{misaligned, address, lane};
        places[lane] = m_memory.place(address);
        if (!places[lane]) throw Trap{unmapped, address, lane};
    });
}

template <typename T>
inline u32 item_at(const u8* place) {
    T item;
    std::memcpy(&item, place, sizeof item);
    return static_cast<u32>(item);
}

template <unsigned L>
void Core<L>::load(Warp<L>& warp, const Instruction& ins) {
    const auto each = [&](auto kind) {
        using Item = decltype(kind);
        Vector found{};
        Vector relative = warp.registers[ins.rs1] + (ins.imm - memory_map::GLOBAL);
        if (all_global(warp, relative, sizeof kind)) {
            relative &= warp.active_lanes;      // inactive lanes read the first item
            const u8* const global = m_memory.global;
            for (unsigned lane = 0; lane < L; ++lane)
                found[lane] = item_at<Item>(global + relative[lane]);
        } else {
            u8* places[MOST_LANES];
            locate(warp, ins, sizeof kind, cause::LOAD_MISALIGNED, cause::LOAD_ACCESS, places);
            each_lane(warp.mask,
                      [&](unsigned lane) { found[lane] = item_at<Item>(places[lane]); });
        }
        warp.set(ins.rd, found, m_full);
    };
    switch (ins.op) {
    case Op::LB: each(std::int8_t{}); break;
    case Op::LH: each(std::int16_t{}); break;
    case Op::LBU: case Op::LBU_NT: each(u8{}); break;
    case Op::LHU: case Op::LHU_NT: each(u16{}); break;
    default: each(u32{}); break;
    }
}

template <unsigned L>
void Core<L>::store(Warp<L>& warp, const Instruction& ins) {
    const u32 size = ins.op == Op::SB ? 1 : ins.op == Op::SH ? 2 : 4;
    const Vector& data = warp.registers[ins.rs2];
    const Vector relative = warp.registers[ins.rs1] + (ins.imm - memory_map::GLOBAL);
    // Of lanes with the same address the highest stores last. The lowest bytes come first here.
    if (all_global(warp, relative, size)) {
        u8* const global = m_memory.global;
        const auto each = [&](auto kind) {
            each_lane(warp.mask, [&](unsigned lane) {
                kind = static_cast<decltype(kind)>(data[lane]);
                std::memcpy(global + relative[lane], &kind, sizeof kind);
            });
        };
        if (size == 4) each(u32{});
        else if (size == 2) each(u16{});
        else each(u8{});
        return;
    }
    u8* places[MOST_LANES];
    locate(warp, ins, size, cause::STORE_MISALIGNED, cause::STORE_ACCESS, places);
    each_lane(warp.mask, [&](unsigned lane) {
        const u32 word = data[lane];
        std::memcpy(places[lane], &word, size);
    });
}

/// An atomic. Lanes go in ascending order: the old value of a lane is what the lanes below left.
template <unsigned L>
template <typename F>
void Core<L>::atomic(Warp<L>& warp, const Instruction& ins, F combine) {
    const Vector data = warp.registers[ins.rs2], expected = warp.registers[ins.rs3];
    const Vector relative = warp.registers[ins.rs1] + (ins.imm - memory_map::GLOBAL);
    Vector& result = warp.registers[ins.rd];
    const auto lane_at = [&](unsigned lane, u8* place) {
        const u32 old = item_at<u32>(place);
        const u32 value = combine(old, data[lane], expected[lane]);
        std::memcpy(place, &value, 4);
        result[lane] = old;
    };
    if (all_global(warp, relative, 4)) {
        each_lane(warp.mask, [&](unsigned lane) { lane_at(lane, m_memory.global + relative[lane]); });
        return;
    }
    u8* places[MOST_LANES];
    locate(warp, ins, 4, cause::STORE_MISALIGNED, cause::STORE_ACCESS, places);
    each_lane(warp.mask, [&](unsigned lane) { lane_at(lane, places[lane]); });
}

// Floating point

/// The flags of all active lanes gather in the warp's FFLAGS.
template <unsigned L>
void Core<L>::compute_floats(Warp<L>& warp, const Instruction& ins) {
    const Vector &a = warp.registers[ins.rs1], &b = warp.registers[ins.rs2],
                 &c = warp.registers[ins.rs3];
    const u32 own_mode = ins.csr;               // decode.py puts the rounding mode there
    const u32 mode = own_mode == floating::DYNAMIC ? warp.fcsr >> 5 : own_mode;
    Vector found{};
    u32 flags = 0;
    each_lane(warp.mask, [&](unsigned lane) {
        const floating::Result result = floating::perform(ins.op, a[lane], b[lane], c[lane], mode);
        found[lane] = result.word;
        flags |= result.flags;
    });
    warp.set(ins.rd, found, m_full);
    warp.fcsr |= flags;
}

// Between the lanes

template <unsigned L>
void Core<L>::vote(Warp<L>& warp, const Instruction& ins) {
    const u32 ayes = V::nonzero(warp.registers[ins.rs1] & 1) & warp.mask;
    const u32 value = ins.op == Op::VOTE_ALL   ? ayes == warp.mask
                      : ins.op == Op::VOTE_ANY ? ayes != 0
                      : ins.op == Op::VOTE_UNI ? ayes == 0 || ayes == warp.mask
                                               : ayes;
    warp.set(ins.rd, V::all(value), m_full);
}

template <unsigned L>
void Core<L>::shuffle(Warp<L>& warp, const Instruction& ins) {
    const Vector how = warp.registers[ins.rs2], lane = V::numbers();
    const Vector b = how & 63, c = how >> 6 & 63, segment = how >> 12 & 63;
    const Vector first = lane & segment, last = first | (c & ~segment);
    // A lane below 0 is a large number here.
    Vector from, reads;
    switch (ins.op) {
    case Op::SHFL_UP:
        from = lane - b;
        reads = (Vector)((typename V::Signed)from >= (typename V::Signed)first);
        break;
    case Op::SHFL_DOWN:
        from = lane + b;
        reads = (Vector)(from <= last);
        break;
    case Op::SHFL_BFLY:
        from = lane ^ b;
        reads = (Vector)(from <= last);
        break;
    default:
        from = first | (b & ~segment);
        reads = (Vector)(from <= last);
    }
    reads &= (Vector)(from < V::all(m_config.threads));
    from = V::blend(reads, from, lane);
    Vector found{};
    for (unsigned i = 0; i < L; ++i) found[i] = warp.registers[ins.rs1][from[i]];
    warp.set(ins.rd, found, m_full);
}

template <unsigned L>
void Core<L>::csr(Warp<L>& warp, const Instruction& ins) {
    const u64 elapsed = instructions - 1 - m_start;
    Vector value{};
    switch (ins.csr) {
    case csr::FFLAGS: value += warp.fcsr & 0x1f; break;
    case csr::FRM: value += warp.fcsr >> 5; break;
    case csr::FCSR: value += warp.fcsr; break;
    case csr::MSCRATCH: value += m_argument; break;
    case csr::PHASE: value += warp.phase; break;
    case csr::CYCLE: case csr::INSTRET: value += static_cast<u32>(elapsed); break;
    case csr::CYCLEH: case csr::INSTRETH: value += static_cast<u32>(elapsed >> 32); break;
    case csr::THREAD_ID: value = V::numbers(); break;
    case csr::WARP_ID: value += warp.number; break;
    case csr::CORE_ID: value += m_number; break;
    case csr::ACTIVE_WARPS: {
        u32 warps = 0;
        for (const auto& other : m_warps) {
            if (other.number < 32) warps |= u32{other.mask != 0} << other.number;
        }
        value += warps;
        break;
    }
    case csr::ACTIVE_MASK: value += warp.mask; break;
    case csr::NUM_THREADS: value += m_config.threads; break;
    case csr::NUM_WARPS: value += m_config.warps; break;
    case csr::NUM_CORES: value += m_config.cores; break;
    }
    // decode.py lets only these be written.
    const auto write = [&](u32& target, u32 shift, u32 bits) {
        const bool immediate = ins.op == Op::CSRRWI || ins.op == Op::CSRRSI || ins.op == Op::CSRRCI;
        const u32 operand = immediate ? ins.imm : warp.scalar(ins.rs1), old = target >> shift;
        const bool writes = ins.op == Op::CSRRW || ins.op == Op::CSRRWI;
        const bool sets = ins.op == Op::CSRRS || ins.op == Op::CSRRSI;
        const u32 written = writes ? operand : sets ? old | operand : old & ~operand;
        target = (target & ~(bits << shift)) | (written & bits) << shift;
    };
    if (ins.csr == csr::PHASE) write(warp.phase, 0, 7);
    if (ins.csr == csr::FFLAGS) write(warp.fcsr, 0, 0x1f);
    if (ins.csr == csr::FRM) write(warp.fcsr, 5, 7);
    if (ins.csr == csr::FCSR) write(warp.fcsr, 0, 0xff);
    warp.set(ins.rd, value, m_full);
}

// Warps

template <unsigned L>
void Core<L>::split(Warp<L>& warp, const Instruction& ins) {
    const u32 passing = V::nonzero(warp.registers[ins.rs1]) & warp.mask;
    const u32 depth = warp.depth;
    if (passing && passing != warp.mask) {
        if (depth == m_stack_entries) throw Trap{cause::STACK_OVERFLOW, ins.word};
        warp.set(ins.rd, V::all(depth), m_full);
        warp.stack[warp.depth++] = {warp.mask, warp.mask & ~passing, warp.pc + 4, false};
        set_mask(warp, passing);
        return;
    }
    warp.set(ins.rd, V::all(depth), m_full);
}

template <unsigned L>
u32 Core<L>::join(Warp<L>& warp, const Instruction& ins) {
    if (warp.scalar(ins.rs1) == warp.depth) return warp.pc + 4;
    if (!warp.depth) throw Trap{cause::STACK_UNDERFLOW, ins.word};
    Divergence& top = warp.stack[warp.depth - 1];
    if (top.switched) {
        --warp.depth;
        set_mask(warp, top.mask);
        return warp.pc + 4;
    }
    top.switched = true;
    set_mask(warp, top.others);
    return top.resume;
}

template <unsigned L>
void Core<L>::barrier(Warp<L>& warp, const Instruction& ins) {
    const u32 number = warp.scalar(ins.rs1), wanted = warp.scalar(ins.rs2);
    if (number >= m_config.barriers) throw Trap{cause::BARRIER_ID, number};
    u32 arrived = 1;
    for (const auto& other : m_warps) arrived += other.waits && other.barrier == number;
    // The number that the last warp gives decides.
    if (arrived >= wanted) {
        for (auto& other : m_warps) {
            if (!other.waits || other.barrier != number) continue;
            other.waits = false;
            other.ready = true;
            ++m_ready;
        }
        return;
    }
    warp.waits = true;
    warp.barrier = number;
    warp.waits_pc = warp.pc;
    warp.ready = false;
    if (!--m_ready) check_deadlock();
}

/// An instruction whose answer sets the thread mask. False if the warp waits: it asks again later.
template <unsigned L>
bool Core<L>::hand_out(Warp<L>& warp, const Instruction& ins) {
    Answer answer{};
    const bool answered = ins.op == Op::GRAPHPEG_POP_VERT ? m_gather->pop(warp.number, answer)
                                                          : m_gather->decode(warp.number, answer);
    if (!answered) {
        --instructions;
        lanes -= warp.active;
        warp.asks = true;
        warp.ready = false;
        if (!--m_ready) check_deadlock();
        return false;
    }
    if (ins.op == Op::WEAVER_DEC) warp.registers[ins.rs2] = read(answer.places);
    warp.registers[ins.rd] = read(answer.ids);
    set_mask(warp, answer.mask);
    return true;
}
