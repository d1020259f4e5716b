// The SDRAM model of the harness as C functions, for tb/hw/sdram/model.py.

#include "sdram.h"

extern "C" Sdram* sdram_new(std::uint8_t* memory, std::uint64_t bytes,
                            const SdramParameters* parameters) {
    return new Sdram{memory, bytes, *parameters};
}
extern "C" void sdram_delete(Sdram* sdram) { delete sdram; }
extern "C" void sdram_power_on(Sdram* sdram) { sdram->power_on(); }
extern "C" unsigned sdram_cycle(Sdram* sdram, const SdramPins* pins) { return sdram->cycle(*pins); }
extern "C" const char* sdram_error(const Sdram* sdram) { return sdram->error().c_str(); }
