// cli/progress.h: how far renders are: a bar on a terminal, lines elsewhere. Several at a time share a line.
#pragma once
#include <chrono>
#include <string>

namespace umbel {

/// Prints a line to stderr that no bar writes over; what commands terminals in it is shown, not obeyed.
void say(const std::string &line);

class Progress {
public:
    enum class Show { Nothing, Result, All }; // Result: one line at the end
    Progress(std::string title, Show show);
    ~Progress();
    Progress(const Progress &) = delete;

    const std::string &title() const { return m_title; }
    /// Since it was made, or since restart().
    double seconds() const;
    void restart();
    /// `fraction`: from 0 to 1. `left`: in seconds; below 0: as the fraction says. `detail`: what else there is to say.
    void update(double fraction, double left = -1, const std::string &detail = {});
    /// Ends with a line about the result.
    void finish(const std::string &result);

private:
    std::string m_title;
    Show m_show;
    std::chrono::steady_clock::time_point m_start;
    double m_next_line = 3; // seconds; of a log
    double m_fraction = 0;
    std::string m_rest;

    friend struct Board;
};

/// `3.2 s`, `15 min`
std::string duration(double seconds);
/// `4.1 M samples/s`
std::string sample_rate(double samples, double seconds);

} // namespace umbel
