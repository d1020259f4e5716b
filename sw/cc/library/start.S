# What a C program needs before its first function: two stacks for each lane. That of frames begins
# at the top of the lane's block and grows down to a multiple of its size, so that the hardware
# notices a lane that leaves it. That of levels and masks begins at the bottom of the block, in tp,
# and grows up; it has room for what the frames of a full stack need (sw/cc/driver.py). Lane n of the
# device has the block that ends n blocks below the end of the stacks.
    .macro  set_up_lane
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
    lw      t2, 8(t1)
    lw      t1, 0(t1)
    mul     t2, t1, t2          # bytes of a block
    mul     t0, a0, t2
    neg     t1, t1
    la      t3, __stacks_end
    and     t3, t3, t1
    sub     t3, t3, t0          # the end of the lane's block
    sub     tp, t3, t2
    addi    t3, t3, -16
    li      t1, 1
    mul     sp, t3, t1          # a multiplication may move sp anywhere
    .endm

    .section .text.start,"ax",@progbits
    .globl  _start
    .type   _start, @function
_start:
    set_up_lane
    .weak   main
    la      t0, main
    jalr    t0
    .insn r 0x0B, 0, 0, x0, x0, x0      # TMC x0: the warp ends
    .size   _start, . - _start

# A kernel that the host launches: its address and up to eight arguments.
    .globl  graphloom_launch
    .type   graphloom_launch, @function
graphloom_launch:
    set_up_lane
    la      t0, graphloom_arguments
    lw      t1, 0(t0)
    lw      a0, 4(t0)
    lw      a1, 8(t0)
    lw      a2, 12(t0)
    lw      a3, 16(t0)
    lw      a4, 20(t0)
    lw      a5, 24(t0)
    lw      a6, 28(t0)
    lw      a7, 32(t0)
    jalr    t1
    .insn r 0x0B, 0, 0, x0, x0, x0
    .size   graphloom_launch, . - graphloom_launch

# Bytes of a stack of frames, a power of two, which `./graphloom exec --stack` changes; number of
# lanes' blocks, where 0 stands for one for each lane; stacks' sizes that a block has.
    .section .data
    .balign 4
    .globl  graphloom_stack
    .type   graphloom_stack, @object
    .size   graphloom_stack, 12
graphloom_stack:
    .word   graphloom_stack_bytes, 0, graphloom_stack_parts
    .globl  graphloom_arguments
    .type   graphloom_arguments, @object
    .size   graphloom_arguments, 36
graphloom_arguments:
    .zero   36
