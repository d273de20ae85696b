// core/warning.cpp: see core/warning.h.
#include "core/warning.h"
#include "core/printable.h"
#include "jit/warning.h"

namespace umbel {

void warn(const std::string &text) noexcept {
    try {
        jit::warn(printable(text)); // with names from files
    } catch (...) {
    }
}

void set_warning_sink(std::function<void(const std::string &)> sink) {
    jit::set_warning_sink(std::move(sink));
}

} // namespace umbel
