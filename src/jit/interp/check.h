// jit/interp/check.h: what the checking mode looks at around each step.
//
// Indices against the sizes of the arrays, NaNs at the place where they arise, and values that are
// read by a lane that never computed them. Each instruction is reported once a launch, and the
// launch goes on: an access out of range is skipped.
#pragma once
#include "jit/interp/executor.h"
#include <mutex>
#include <set>

namespace umbel::jit {

/// The instructions already reported; shared by all threads that run a kernel.
class Reported {
public:
    /// True for the first caller.
    bool insert(uint32_t function, uint32_t inst, int what);
    /// A new launch starts: it has another log, or runs the first lanes.
    void begin(const LaunchLog *log, uint64_t first_lane);

private:
    std::mutex m_mutex;
    std::set<std::pair<uint64_t, int>> m_seen;
    const LaunchLog *m_log = nullptr;
};

class Checker {
public:
    Checker(const Plan &plan, const Launch &launch, Reported &reported)
        : m_plan(plan), m_launch(launch), m_reported(reported) {}

    void before(const Frame &f, const Step &s, const StepOrigin &origin);
    void after(const Frame &f, const Step &s, const StepOrigin &origin);
    /// The mask of a memory access without the lanes that would leave their array; null for other
    /// steps.
    Operand<uint8_t> safe_lanes(const Frame &f, const Step &s, const StepOrigin &origin,
                                Arena &arena);
    /// All lanes of a register have a value.
    void written(const Frame &f, Loc loc) const;

private:
    enum What { Bounds, NotANumber, Uninitialized };
    void read(const Frame &f, const Step &s, const StepOrigin &origin, Loc loc, Loc mask,
              Loc chosen, bool chosen_value);
    void read(const Frame &f, const Step &s, const StepOrigin &origin, Loc loc, Loc mask) {
        read(f, s, origin, loc, mask, NoLoc, true);
    }
    void report(const Frame &f, const Step &s, const StepOrigin &origin, What what, uint32_t i,
                const std::string &text);

    const Plan &m_plan;
    const Launch &m_launch;
    Reported &m_reported;
    uint8_t m_nan_before
        [1024]; // lanes that had a NaN among the operands, which the result may overwrite
};

} // namespace umbel::jit
