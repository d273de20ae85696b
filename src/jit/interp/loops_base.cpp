// jit/interp/loops_base.cpp: the loops for any CPU, and the choice among the tables.
#define UMBEL_LOOPS loops_of_base
#include "jit/interp/loops.inc"

namespace umbel::jit {

const LoopTable *loops_base() {
    static const LoopTable table = [] {
        LoopTable t;
        UMBEL_LOOPS::fill(t);
        t.name = "base";
        return t;
    }();
    return &table;
}

const LoopTable &loops() {
    static const LoopTable &best = []() -> const LoopTable & {
        const LoopTable *table = loops_v4();
        table = table ? table : loops_v3();
        return table ? *table : *loops_base();
    }();
    return best;
}

} // namespace umbel::jit
