// The cores with LANES lanes a register.

#include "execute.h"

#define JOINED(first, second) first##second
#define NAMED(first, second) JOINED(first, second)

std::unique_ptr<AnyCore> NAMED(make_core_, LANES)(const Config& config, u32 number, u8* global,
                                                  const std::vector<Instruction>& program) {
    return std::make_unique<Core<LANES>>(config, number, global, program);
}
