# What a C program needs before main: a stack for each lane. Lane n of the device begins at the top of
# the block of memory that ends n times graphloom_stack below the end of the stacks. Each block is a
# multiple of its size, so that `./graphloom exec` can see a lane leave its block.
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
    la      t1, graphloom_stack
    lw      t1, 0(t1)
    mul     t0, a0, t1
    neg     t1, t1
    la      t2, __stacks_end
    and     t2, t2, t1
    sub     t2, t2, t0
    addi    t2, t2, -16
    li      t1, 1
    mul     sp, t2, t1          # a multiplication may move sp anywhere
    call    main
    .insn r 0x0B, 0, 0, x0, x0, x0      # TMC x0: the warp ends

# each_lane(function, argument): calls function(argument) in one active lane after another, from the
# lowest on, each with its own arguments. So branches in the function may differ between lanes.
    .globl  each_lane
each_lane:
    addi    sp, sp, -32
    sw      ra, 28(sp)
    sw      s0, 24(sp)
    sw      s1, 20(sp)
    sw      s2, 16(sp)
    sw      s3, 12(sp)
    mv      s0, a0
    mv      s1, a1
    csrr    s2, 0xCC4           # the active lanes
    mv      s3, s2              # those whose turn has not come; the same in all lanes
1:  neg     t0, s3
    and     t0, t0, s3
    .insn r 0x0B, 0, 0, x0, t0, x0      # TMC: the lowest of them alone
    mv      a0, s1
    jalr    s0
    .insn r 0x0B, 0, 0, x0, s2, x0      # TMC: all again
    addi    t0, s3, -1
    and     s3, s3, t0
    bnez    s3, 1b
    lw      ra, 28(sp)
    lw      s0, 24(sp)
    lw      s1, 20(sp)
    lw      s2, 16(sp)
    lw      s3, 12(sp)
    addi    sp, sp, 32
    ret

# Bytes of a stack, a power of two; `./graphloom exec --stack` sets another number. Number of stacks:
# 0 stands for one for each lane. How many times these bytes each takes.
    .section .data
    .balign 4
    .globl  graphloom_stack
    .type   graphloom_stack, @object
    .size   graphloom_stack, 12
graphloom_stack:
    .word   1024, 0, 1
