// fuzzer/fuzzer.h: what the program and its workers have in common.
#pragma once
#include "fuzz/samples.h"
#include "fuzzer/slot.h"
#include <filesystem>
#include <string>
#include <vector>

namespace umbel::test {

struct Options {
    double minutes = 0; // 0: as long as `count` takes
    int64_t count = 0;  // 0: as many as fit `minutes`
    uint32_t seed = 0;
    int jobs = 2;
    std::string format; // empty: all of them
    std::filesystem::path corpus,
        work; // where findings go; what reached new code, kept between runs
};

/// All samples, or those of a name or ending.
std::vector<Sample> chosen_samples(const std::string &format);
std::string short_hash(const std::string &bytes);
/// A worker process, to its end.
[[noreturn]] void run_worker(const Options &options, Shared &shared, int number);

/// Where a worker notes which code was reached: Shared::reached.
extern uint8_t *reached;

} // namespace umbel::test
