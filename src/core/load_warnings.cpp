// core/load_warnings.cpp: see load_warnings.h.
#include "core/load_warnings.h"
#include "core/warning.h"
#include <utility>

namespace umbel {

static thread_local LoadWarnings *t_collector = nullptr;

LoadWarnings::LoadWarnings() : m_outer(std::exchange(t_collector, this)) {}
LoadWarnings::~LoadWarnings() { t_collector = m_outer; }

void warn_while_loading(std::string text) {
    if (t_collector)
        t_collector->texts.push_back(std::move(text));
    else
        warn(text);
}

} // namespace umbel
