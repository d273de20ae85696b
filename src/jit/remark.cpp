// jit/remark.cpp: see jit/remark.h.
#include "jit/remark.h"
#include <atomic>
#include <cstdio>

namespace umbel::jit {

using Sink = void (*)(const std::string &) noexcept;
static std::atomic<Sink> g_sink{ nullptr }; // set before anything is remarked, whatever the order of static objects

void remark(const std::string &text) noexcept {
    if (Sink sink = g_sink)
        return sink(text);
    std::fprintf(stderr, "umbel: %s\n", text.c_str());
}

void set_remark_sink(Sink sink) noexcept { g_sink = sink; }

} // namespace umbel::jit
