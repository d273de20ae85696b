// jit/lane_runs.h: launches whose number of lanes follows from an array.
#pragma once
#include "jit/value.h"

namespace umbel::jit {

/// While it exists, launches of this thread that read an array from anywhere have a lane for each run of so many elements of it, the
/// last of which may be shorter: recordings (jit/recording.h) keep to that.
struct LaneForEachRun {
    LaneForEachRun(const Value &array, uint64_t elements);
    ~LaneForEachRun();
    LaneForEachRun(const LaneForEachRun &) = delete;

    const Buffer *const array;
    const uint64_t elements;
    const LaneForEachRun *const outer;
};

} // namespace umbel::jit
