// Which of x86-64-v2, v3 and v4 this machine has. __builtin_cpu_supports does not link with zig.
#pragma once
#ifdef __x86_64__
#include <cpuid.h>

static int x86_level() {
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX) || !(c & bit_FMA))
        return 2;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  // the registers that the system saves
    if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 2;
    if (!(b & bit_AVX2) || !(b & bit_BMI) || !(b & bit_BMI2)) return 2;
    const unsigned wide = bit_AVX512F | bit_AVX512VL | bit_AVX512DQ | bit_AVX512BW | bit_AVX512CD;
    return (low & 0xe0) == 0xe0 && (b & wide) == wide ? 4 : 3;
}
#endif
