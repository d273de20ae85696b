// jit/warning.cpp: see jit/warning.h.
#include "jit/warning.h"
#include <cstdio>
#include <mutex>

namespace umbel::jit {

namespace {

struct Sink {
    std::mutex mutex;
    std::function<void(const std::string &)> function;
};

Sink &sink() {
    static Sink *s = new Sink; // threads may warn while the process ends
    return *s;
}

} // namespace

void warn(const std::string &text) noexcept {
    try {
        std::lock_guard lock(sink().mutex);
        if (sink().function)
            return sink().function(text);
        std::fprintf(stderr, "umbel: %s\n", text.c_str());
    } catch (...) {
    }
}

void set_warning_sink(std::function<void(const std::string &)> function) {
    std::lock_guard lock(sink().mutex);
    sink().function = std::move(function);
}

} // namespace umbel::jit
