# What an ordinary C program needs before main: one lane of one warp of one core, with a stack. All
# other warps end at once. When main returns, the exit code goes to tohost.
    .section .text.start
    .globl _start
_start:
    csrr    t0, 0xCC2           # core
    csrr    t1, 0xCC1           # warp
    or      t0, t0, t1
    bnez    t0, 1f
    li      t0, 1
    .insn r 0x0B, 0, 0, x0, t0, x0      # TMC: lane 0 alone
    la      t1, graphloom_stack
    lw      t1, 0(t1)
    neg     t1, t1
    la      t2, __stacks_end
    and     t2, t2, t1
    addi    t2, t2, -16
    mul     sp, t2, t0          # t0 is 1; a multiplication may move sp anywhere
    li      a0, 0               # argc
    li      a1, 0               # argv
    call    main
    .weak   exit                # of a C library, which writes what it still keeps
    la      t0, exit
    beqz    t0, _exit
    jalr    t0
    .globl  _exit
_exit:
    slli    a0, a0, 1
    ori     a0, a0, 1
    la      t0, tohost
    sw      a0, 0(t0)
1:  .insn r 0x0B, 0, 0, x0, x0, x0      # TMC x0: the warp ends
    j       1b

    .section .data
    .balign 8
    .globl  tohost
    .type   tohost, @object
    .size   tohost, 8
tohost:
    .word   0, 0

# Bytes of a stack, a power of two; `./graphloom exec --stack` sets another number. Number of stacks.
# How many times these bytes each takes.
    .balign 4
    .globl  graphloom_stack
    .type   graphloom_stack, @object
    .size   graphloom_stack, 12
graphloom_stack:
    .word   65536, 1, 1
