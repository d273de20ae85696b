// cli/progress.cpp: progress bars.
#include "cli/progress.h"
#include <fmt/format.h>
#include <unistd.h>

namespace umbel {

namespace {

std::string duration(double s) {
    if (s < 10)
        return fmt::format("{:.1f} s", s);
    if (s < 120)
        return fmt::format("{:.0f} s", s);
    if (s < 7200)
        return fmt::format("{:.0f} min", s / 60);
    return fmt::format("{:.1f} h", s / 3600);
}

std::string rate(double per_second) {
    return per_second >= 1e6 ? fmt::format("{:.1f} M samples/s", per_second / 1e6)
                             : fmt::format("{:.0f} k samples/s", per_second / 1e3);
}

} // namespace

Progress::Progress(std::string title, uint64_t samples, Show show, double done)
    : m_title(std::move(title)), m_samples(samples), m_show(show), m_terminal(isatty(2)),
      m_start(std::chrono::steady_clock::now()), m_done(done) {}

double Progress::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count();
}

void Progress::update(double fraction) {
    double t = seconds();
    // A terminal is updated often, a log now and then.
    if (m_show != Show::All || t - m_last < (m_terminal ? 0.1 : 10) ||
        (!m_terminal && m_last < 0 && t < 10))
        return;
    m_last = t;
    double here = fraction - m_done, left = here > 0 ? t * (1 - fraction) / here : 0;
    std::string rest = duration(left) + " left";
    if (m_samples)
        rest = rate(double(m_samples) * here / std::max(t, 1e-9)) + ", " + rest;
    if (m_terminal) {
        int filled = int(fraction * 30);
        fmt::print(stderr, "\r{} [{:=<{}}{: <{}}] {:3.0f} %  {} \033[K", m_title, "", filled, "",
                   30 - filled, fraction * 100, rest);
    } else
        fmt::print(stderr, "{}: {:.0f} %, {}\n", m_title, fraction * 100, rest);
}

void Progress::finish(const std::string &file, double fraction) {
    if (m_show == Show::Nothing)
        return;
    double t = seconds();
    fmt::print(stderr, "{}{}: {} in {}, {}\n", m_terminal ? "\r\033[K" : "", m_title, file,
               duration(t), rate(double(m_samples) * (fraction - m_done) / std::max(t, 1e-9)));
}

} // namespace umbel
