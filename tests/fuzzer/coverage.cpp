// tests/fuzzer/coverage.cpp: where readers tell libFuzzer which code they reach.
//
// GCC has them call __sanitizer_cov_trace_pc, which libFuzzer refuses to hear of (it counts in arrays that only Clang makes);
// the linker's --wrap sends those calls here. Comparisons go to libFuzzer itself.
#ifdef UMBEL_LIBFUZZER
#include "fuzzer/fuzzer.h"

extern "C" const char __executable_start;

namespace umbel::test {

uint8_t *reached = nullptr; // Shared::reached

// libFuzzer takes what is in this section for counters. Threads write without a lock: a count that is lost costs nothing.
[[gnu::section("__libfuzzer_extra_counters"),
  gnu::aligned(64)]] static uint8_t hits[Shared::Places];

} // namespace umbel::test

extern "C" {
void __wrap___sanitizer_cov_trace_pc() {
    using namespace umbel::test;
    auto pc = uintptr_t(__builtin_return_address(0)) - uintptr_t(&__executable_start);
    size_t i = (pc ^ pc >> 18) % Shared::Places;
    if (hits[i] == 0 && reached)
        reached[i] = 1;
    hits[i] = uint8_t(hits[i] + (hits[i] != 255));
}
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}
}
#endif
