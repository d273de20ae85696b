// fuzzer/coverage.h: which code a run has reached, and with which numbers it compared what it read.
//
// Sources that are built with GCC's -fsanitize-coverage=trace-pc,trace-cmp (CMake: UMBEL_COVERAGE) report here. Without them
// nothing is ever new, and damage is all there is.
#pragma once
#include <cstdint>
#include <random>
#include <string>

namespace umbel::test {

/// Forgets the last run.
void begin_coverage();
/// Whether the run since then reached code, or reached it in numbers, that no run before it did.
bool end_coverage();
/// Places reached so far.
size_t covered_places();

/// Puts a number that the last runs compared something with where that something may be in the bytes.
void use_comparison(std::string &bytes, std::mt19937 &random);

} // namespace umbel::test
