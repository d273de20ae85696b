// cli/progress.cpp: progress bars.
#include "cli/progress.h"
#include "core/printable.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <mutex>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

namespace umbel {

/// The last line of the terminal, which all renders share.
struct Board {
    static Board &instance() {
        static Board *b = new Board; // signals may end the program at any time
        return *b;
    }

    void print(const std::string &line) {
        std::fprintf(stderr, "%s%s\n", m_drawn ? "\r\033[K" : "", printable(line).c_str());
        m_drawn = false;
    }
    void show(const Progress &p) {
        if (std::find(m_shown.begin(), m_shown.end(), &p) == m_shown.end())
            m_shown.push_back(&p);
        auto now = std::chrono::steady_clock::now();
        if (now - m_last < std::chrono::milliseconds(100) && p.m_fraction < 1) // often enough
            return;
        m_last = now;
        draw();
    }
    void drop(const Progress &p) {
        if (std::erase(m_shown, &p) && m_drawn) {
            std::fprintf(stderr, "\r\033[K");
            m_drawn = false;
        }
    }

    std::mutex mutex; // of all methods
    const bool is_terminal = isatty(STDERR_FILENO);

private:
    void draw() {
        std::string line;
        if (m_shown.size() == 1) {
            const Progress &p = *m_shown[0];
            int filled = int(p.m_fraction * 30);
            line = fmt::format("{} [{:=<{}}{: <{}}] {:3.0f} %  {}", p.m_title, "", filled, "",
                               30 - filled, p.m_fraction * 100, p.m_rest);
        } else
            for (const Progress *p : m_shown)
                line += fmt::format("{}{} {:.0f} %", line.empty() ? "" : " | ", p->m_title,
                                    p->m_fraction * 100);
        winsize size{};
        if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
            line.resize(std::min(line.size(), size_t(size.ws_col - 1))); // it must not wrap
        std::fprintf(stderr, "\r%s\033[K", line.c_str());
        std::fflush(stderr);
        m_drawn = true;
    }

    std::vector<const Progress *> m_shown;
    std::chrono::steady_clock::time_point m_last;
    bool m_drawn = false;
};

void say(const std::string &line) {
    Board &board = Board::instance();
    std::lock_guard lock(board.mutex);
    board.print(line);
}

Progress::Progress(std::string title, Show show)
    : m_title(printable(title)), m_show(show), m_start(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
    Board &board = Board::instance();
    std::lock_guard lock(board.mutex);
    board.drop(*this);
}

double Progress::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count();
}

void Progress::restart() {
    m_start = std::chrono::steady_clock::now();
    m_next_line = 3;
}

void Progress::update(double fraction, double left, const std::string &detail) {
    if (m_show != Show::All)
        return;
    Board &board = Board::instance();
    std::lock_guard lock(board.mutex);
    double t = seconds();
    m_fraction = std::clamp(fraction, 0.0, 1.0);
    if (left < 0 && fraction > 0)
        left = t * (1 - fraction) / fraction;
    m_rest = detail;
    if (left >= 0 && left < 1e9)
        m_rest += fmt::format("{}{} left", detail.empty() ? "" : ", ", duration(left));
    if (board.is_terminal)
        board.show(*this);
    else if (t >= m_next_line) { // a log is told now and then
        m_next_line = t + 10;
        board.print(fmt::format("{}: {:.0f} %, {}", m_title, m_fraction * 100, m_rest));
    }
}

void Progress::finish(const std::string &result) {
    Board &board = Board::instance();
    std::lock_guard lock(board.mutex);
    board.drop(*this);
    if (m_show != Show::Nothing)
        board.print(fmt::format("{}: {}", m_title, result));
}

std::string duration(double s) {
    if (s < 0.1)
        return fmt::format("{:.0f} ms", s * 1000);
    if (s < 10)
        return fmt::format("{:.1f} s", s);
    if (s < 120)
        return fmt::format("{:.0f} s", s);
    if (s < 7200)
        return fmt::format("{:.0f} min", s / 60);
    return fmt::format("{:.1f} h", s / 3600);
}

std::string sample_rate(double samples, double seconds) {
    double rate = samples / std::max(seconds, 1e-9);
    return rate >= 1e6 ? fmt::format("{:.1f} M samples/s", rate / 1e6)
                       : fmt::format("{:.0f} k samples/s", rate / 1e3);
}

} // namespace umbel
