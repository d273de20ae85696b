// jit/interp/loops_v4.cpp: the loops for x86-64-v4; compiled with -march=x86-64-v4.
#include "jit/interp/loops.h"

#if defined(__AVX512BW__)
#define UMBEL_LOOPS loops_of_v4
#include "jit/interp/loops.inc"
#endif

namespace umbel::jit {

const LoopTable *loops_v4() {
#if defined(UMBEL_LOOPS)
    static const LoopTable *table = []() -> const LoopTable * {
        if (!__builtin_cpu_supports("x86-64-v4"))
            return nullptr;
        static LoopTable t;
        UMBEL_LOOPS::fill(t);
        t.name = "x86-64-v4";
        return &t;
    }();
    return table;
#else
    return nullptr;
#endif
}

} // namespace umbel::jit
