// cli/progress.h: how far a render is: a bar on a terminal, lines elsewhere.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace umbel {

class Progress {
public:
    enum class Show { Nothing, Result, All }; // Result: one line at the end
    /// `samples`: of the whole, or 0 for work that is not counted in samples. `done`: the fraction that was finished before.
    Progress(std::string title, uint64_t samples, Show show, double done = 0);
    /// `fraction` from 0 to 1.
    void update(double fraction);
    void finish(const std::string &file, double fraction);

private:
    double seconds() const;

    std::string m_title;
    uint64_t m_samples;
    Show m_show;
    bool m_terminal;
    std::chrono::steady_clock::time_point m_start;
    double m_last = -1, m_done;
};

} // namespace umbel
