// core/warning.cpp: see core/warning.h.
#include "core/warning.h"
#include "jit/remark.h"
#include <cstdio>
#include <mutex>

namespace umbel {

namespace {
std::mutex g_mutex;
std::function<void(const std::string &)> g_sink;
// The compiler's remarks go the same way
[[maybe_unused]] const bool g_has_remarks = (jit::set_remark_sink(warn), true);
} // namespace

void warn(const std::string &text) noexcept {
    try {
        std::lock_guard lock(g_mutex);
        if (g_sink)
            return g_sink(text);
        std::fprintf(stderr, "umbel: %s\n", text.c_str());
    } catch (...) {
    }
}

void set_warning_sink(std::function<void(const std::string &)> sink) {
    std::lock_guard lock(g_mutex);
    g_sink = std::move(sink);
}

} // namespace umbel
