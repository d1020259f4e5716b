# What a C program needs before main: a stack for each lane. Lane n of the device begins
# STACK_BYTES * n below the end of the stacks.
    .section .text.start
    .globl _start
_start:
    csrr    t0, 0xCC2           # core
    csrr    t1, 0xFC1           # warps of a core
    mul     t0, t0, t1
    csrr    t1, 0xCC1           # warp
    add     t0, t0, t1
    csrr    t1, 0xFC0           # lanes of a warp
    mul     t0, t0, t1
    csrr    t1, 0xCC0           # lane
    add     a0, t0, t1          # the lane's number in the device: main's argument
    li      t1, 1024
    mul     t0, a0, t1
    la      sp, __stacks_end
    sub     sp, sp, t0
    call    main
    .insn r 0x0B, 0, 0, x0, x0, x0      # TMC x0: the warp ends
