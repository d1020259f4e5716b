// Included first in every file, so that the output of Verilated code (failed assertions above all)
// goes to the machine's message and never to the standard output.

#pragma once

#ifdef __cplusplus
extern "C" int graphloom_print(const char* format, ...) __attribute__((format(printf, 1, 2)));
#endif

#define VL_PRINTF graphloom_print
#define VL_USER_FINISH
#define VL_USER_STOP
#define VL_USER_FATAL
