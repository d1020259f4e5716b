// The environment in which the public riscv-tests run here: `#include "riscv_test.h"` in a test
// finds this file. One lane of one warp runs the test. Its result goes to tohost: 1 if it passed,
// else twice the number of the case that failed, plus 1.

#pragma once

#define RVTEST_RV32U
#define RVTEST_RV32M
#define RVTEST_RV64U
#define RVTEST_RV64M
#define RVTEST_RV32UF
#define RVTEST_RV64UF
#define TESTNUM gp

// The tests of floats are written for registers of their own. With Zfinx, floats lie in integer
// registers, here in some that the tests leave free; their loads, stores and moves are integer ones.
#ifdef __riscv_zfinx
#define f0  s0
#define f1  s1
#define f2  s2
#define f3  s3
#define f10 s4
#define f11 s5
#define f12 s6
#define f13 s7

.macro flw to, address, temporary
        lw      \to, \address
.endm
.macro fsw from, address
        sw      \from, \address
.endm
.macro fmv.s.x to, from
        mv      \to, \from
.endm
.macro fmv.x.s to, from
        mv      \to, \from
.endm
#endif

#define RVTEST_END .insn r 0x0B, 0, 0, x0, x0, x0       /* TMC x0: the warp ends */

#define RVTEST_CODE_BEGIN                                                   \
        .section .text.start;                                               \
        .globl _start;                                                      \
_start: csrr    t0, 0xCC2;                                                  \
        csrr    t1, 0xCC1;                                                  \
        or      t0, t0, t1;                                                 \
        beqz    t0, 1f;                                                     \
        RVTEST_END;                                                         \
1:      li      t0, 1;                                                      \
        .insn r 0x0B, 0, 0, x0, t0, x0;         /* TMC: lane 0 alone */     \
        li      TESTNUM, 0;

#define RVTEST_CODE_END

#define RVTEST_PASS                                                         \
        li      TESTNUM, 1;                                                 \
        la      t0, tohost;                                                 \
        sw      TESTNUM, 0(t0);                                             \
        RVTEST_END;

#define RVTEST_FAIL                                                         \
        slli    TESTNUM, TESTNUM, 1;                                        \
        ori     TESTNUM, TESTNUM, 1;                                        \
        la      t0, tohost;                                                 \
        sw      TESTNUM, 0(t0);                                             \
        RVTEST_END;

#define EXTRA_DATA

#define RVTEST_DATA_BEGIN                                                   \
        EXTRA_DATA                                                          \
        .pushsection .data.tohost, "aw", @progbits;                         \
        .align  6;                                                          \
        .globl  tohost;                                                     \
tohost: .word   0, 0;                                                       \
        .popsection;                                                        \
        .align  4;                                                          \
        .globl  begin_signature;                                            \
begin_signature:

#define RVTEST_DATA_END                                                     \
        .align  4;                                                          \
        .globl  end_signature;                                              \
end_signature:
