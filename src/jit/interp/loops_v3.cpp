// jit/interp/loops_v3.cpp: the loops for x86-64-v3; compiled with -march=x86-64-v3.
#include "jit/interp/loops.h"

#if defined(__AVX2__)
#define UMBEL_LOOPS loops_of_v3
#include "jit/interp/loops.inc"
#endif

namespace umbel::jit {

const LoopTable *loops_v3() {
#if defined(UMBEL_LOOPS)
    static const LoopTable *table = []() -> const LoopTable * {
        if (!__builtin_cpu_supports("x86-64-v3"))
            return nullptr;
        static LoopTable t;
        UMBEL_LOOPS::fill(t);
        t.name = "x86-64-v3";
        return &t;
    }();
    return table;
#else
    return nullptr;
#endif
}

} // namespace umbel::jit
